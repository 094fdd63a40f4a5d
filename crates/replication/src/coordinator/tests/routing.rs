//! Which shards are asked for the answers of a query.

use std::collections::BTreeSet;
use std::sync::Arc;

use iolite_machine::Machine;
use iolite_store::{ReadLimit, Request, RequestId};
use iolite_values::{ColumnId, Field, Interest, KeyRange, Query, Read, RowKey, TableId, Timestamp, Value};

use super::two_shards::Bench;
use crate::coordinator::CoordinatorInput;
use crate::node::{Ask, Epoch, Group, ReplicaId, ShardId, Split};
use crate::tapir::split_reads;

const TABLE: TableId = TableId(1 << 31 | 1);

fn key(number: i64) -> RowKey {
    RowKey::new(&[Value::Int(number)]).expect("short")
}

fn between(lower: i64, upper: i64) -> KeyRange {
    KeyRange { lower: key(lower).as_bytes().into(), upper: Some(key(upper).as_bytes().into()) }
}

fn group(shard: u32) -> Group {
    let members = [0, 1, 2].map(|own| ReplicaId(u64::from(shard) * 3 + own));
    Group::new(ShardId(shard), Epoch(0), &members).expect("an odd group")
}

fn split(shard: u32, at: i64) -> Split {
    Split::new(group(shard), (TABLE, key(at)), group(shard + 1), group(shard + 2)).expect("two parts")
}

/// By the primary key: these rows.
fn by_key(range: KeyRange) -> Query {
    Query { range, ..Query::all(TABLE, false) }
}

/// By a column, of these rows.
fn by_column(keys: KeyRange) -> Query {
    Query { index: vec![Field::Cell { column: ColumnId(1), absent: Value::Null }], keys, ..Query::all(TABLE, false) }
}

impl Bench {
    fn end(&mut self, split: Split) {
        self.coordinator.handle(self.now, CoordinatorInput::Ended(split));
        self.listen();
    }

    fn read(&mut self, query: Query) -> BTreeSet<ShardId> {
        let before = self.told.len();
        let interest = Interest::Query(Arc::new(query));
        let request = Request::ReadAt { interest, at: Timestamp::ZERO, limit: ReadLimit::NONE };
        self.coordinator.handle(self.now, CoordinatorInput::Request(RequestId(1), request));
        self.listen();
        self.read_from(before)
    }

    /// The shards that were asked for rows since then.
    fn read_from(&self, before: usize) -> BTreeSet<ShardId> {
        let asked = self.told[before..].iter().filter(|(_, message)| matches!(message.ask, Ask::ReadAt { .. }));
        asked.map(|(to, _)| ShardId(to.0 as u32 / 3)).collect()
    }
}

/// Shard 4 has the rows below 10, shard 5 those to 19, shard 3 the others.
fn split_twice() -> Bench {
    let mut bench = Bench::new();
    bench.open([(5, 100), (1, 100)]);
    bench.end(split(1, 20));
    bench.end(Split::new(group(2), (TABLE, key(10)), group(4), group(5)).expect("two parts"));
    bench
}

/// The shards of [`split_twice`] in which these rows are.
fn shards_of(keys: &KeyRange) -> BTreeSet<ShardId> {
    let parts = [(between(-9, 10), 4), (between(10, 20), 5), (between(20, 99), 3)];
    parts.into_iter().filter(|(part, _)| !part.within(keys).is_empty()).map(|(_, shard)| ShardId(shard)).collect()
}

#[test]
fn a_query_that_says_primary_keys_is_put_to_the_shards_that_have_them() {
    for keys in [KeyRange::one(&key(12)), between(3, 5), between(20, 30), between(5, 11), between(9, 21)] {
        for query in [by_key(keys.clone()), by_column(keys.clone())] {
            assert_eq!(split_twice().read(query.clone()), shards_of(&keys), "{query:?}");
        }
    }
    assert_eq!(split_twice().read(by_key(between(15, 12))).len(), 1, "somebody has to say that it is empty");
}

#[test]
fn a_query_that_was_read_is_validated_where_its_rows_can_be() {
    let bench = split_twice();
    for keys in [KeyRange::one(&key(12)), between(5, 11), between(9, 21)] {
        for query in [by_key(keys.clone()), by_column(keys.clone())] {
            let parts = split_reads(&bench.coordinator.settings.shards, &[Read::Query(Arc::new(query))]);
            assert_eq!(parts.keys().copied().collect::<BTreeSet<_>>(), shards_of(&keys));
        }
    }
}

#[test]
fn a_query_whose_shard_ends_goes_on_in_the_part_that_has_its_rows() {
    for (row, part) in [(12, 2), (25, 3)] {
        let mut bench = Bench::new();
        bench.open([(5, 100), (1, 100)]);
        assert_eq!(bench.read(by_key(KeyRange::one(&key(row)))), [ShardId(1)].into());
        let before = bench.told.len();
        bench.end(split(1, 20));
        assert_eq!(bench.read_from(before), [ShardId(part)].into());
    }
}
