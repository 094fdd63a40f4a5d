//! The reactions that read a row, so that a change looks at those only.
//!
//! Invariant: every read that may be answered otherwise when a row changes is found by that row. Ranges whose keys all begin with the range's lower bound
//! (single rows, prefixes) are found by the beginnings of the row's key. Other ranges and queries are found by their table.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_values::{Digest, KeyRange, Read, RowKey, TableId};

use super::ReactionId;

#[derive(Debug, Default)]
pub(super) struct Readers {
    by_beginning: BTreeMap<TableId, BTreeMap<Arc<[u8]>, BTreeSet<ReactionId>>>,
    by_table: BTreeMap<TableId, BTreeSet<ReactionId>>,
}

/// Where a read is found.
enum Place {
    Beginning(Arc<[u8]>),
    Table,
}

impl Readers {
    pub(super) fn add(&mut self, reaction: ReactionId, reads: &[(Read, Digest)]) {
        for (read, _) in reads {
            let readers = match place_of(read) {
                (table, Place::Beginning(key)) => self.by_beginning.entry(table).or_default().entry(key).or_default(),
                (table, Place::Table) => self.by_table.entry(table).or_default(),
            };
            readers.insert(reaction);
        }
    }

    pub(super) fn remove(&mut self, reaction: ReactionId, reads: &[(Read, Digest)]) {
        for (read, _) in reads {
            match place_of(read) {
                (table, Place::Beginning(key)) => {
                    let Some(of_table) = self.by_beginning.get_mut(&table) else { continue };
                    take_out(of_table, &key, reaction);
                    if of_table.is_empty() {
                        self.by_beginning.remove(&table);
                    }
                }
                (table, Place::Table) => take_out(&mut self.by_table, &table, reaction),
            }
        }
    }

    /// Adds the reactions that a change of this row may concern.
    pub(super) fn collect(&self, (table, key): &(TableId, RowKey), found: &mut BTreeSet<ReactionId>) {
        found.extend(self.by_table.get(table).into_iter().flatten());
        let Some(of_table) = self.by_beginning.get(table) else { return };
        let bytes = key.as_bytes();
        for length in 0..=bytes.len() {
            found.extend(of_table.get(&bytes[..length]).into_iter().flatten());
        }
    }
}

fn take_out<K: Ord>(all: &mut BTreeMap<K, BTreeSet<ReactionId>>, key: &K, reaction: ReactionId) {
    if let Some(readers) = all.get_mut(key) {
        readers.remove(&reaction);
        if readers.is_empty() {
            all.remove(key);
        }
    }
}

fn place_of(read: &Read) -> (TableId, Place) {
    match read {
        Read::Cell { cell, element: _ } => (cell.table, Place::Beginning(cell.row.as_bytes().into())),
        Read::Range { table, range } if has_one_beginning(range) => (*table, Place::Beginning(range.lower.clone())),
        Read::Range { table, range: _ } => (*table, Place::Table),
        Read::Query(query) => (query.table, Place::Table),
    }
}

/// Whether all keys of a range begin with its lower bound.
fn has_one_beginning(KeyRange { lower, upper }: &KeyRange) -> bool {
    let mut behind = lower.to_vec();
    // The least key behind those that begin with `lower`. Without one, they are all keys from there on.
    while behind.last() == Some(&u8::MAX) {
        behind.pop();
    }
    let Some(last) = behind.last_mut() else { return lower.is_empty() };
    *last += 1;
    upper.as_ref().is_some_and(|upper| **upper <= *behind)
}

#[cfg(test)]
mod tests {
    use iolite_values::{Cell, ColumnId, Element, Value};
    use proptest::prelude::*;

    use super::*;
    use crate::view::Changed;

    fn any_read() -> impl Strategy<Value = Read> {
        let bytes = || prop::collection::vec(prop_oneof![0u8..4, 254u8..=255], 0..4);
        let table = || (0u32..2).prop_map(TableId);
        let range = (bytes(), prop::option::of(bytes()))
            .prop_map(|(lower, upper)| KeyRange { lower: lower.into(), upper: upper.map(Arc::from) });
        let one = bytes().prop_map(|key| KeyRange::one(&RowKey::bound(&key)));
        let prefix = (0i64..3).prop_map(|first| KeyRange::prefix(&[Value::Int(first)]).expect("a good key"));
        let cell = (table(), bytes()).prop_map(|(table, key)| Read::Cell {
            cell: Cell { table, row: RowKey::bound(&key), column: ColumnId(7) },
            element: Element::Whole,
        });
        let ranges = (table(), prop_oneof![range, one, prefix]).prop_map(|(table, range)| Read::Range { table, range });
        prop_oneof![cell, ranges]
    }

    proptest! {
        #[test]
        fn who_read_a_row_is_found_by_it_until_taken_out(
            reads in prop::collection::vec((any_read(), any::<bool>()), 0..12),
            key in prop::collection::vec(prop_oneof![0u8..4, 254u8..=255], 0..4),
            first in prop::option::of(0i64..3),
        ) {
            let mut readers = Readers::default();
            let digest = || Digest::of(b"");
            for (number, (read, _)) in (0u64..).zip(&reads) {
                readers.add(ReactionId(number), &[(read.clone(), digest())]);
            }
            for (number, (read, _)) in (0u64..).zip(&reads).filter(|(_, (_, stays))| !stays) {
                readers.remove(ReactionId(number), &[(read.clone(), digest())]);
            }
            let key = first.map_or(RowKey::bound(&key), |first| RowKey::new(&[Value::Int(first)]).expect("a good key"));
            let row = (TableId(1), key);
            let mut found = BTreeSet::new();
            readers.collect(&row, &mut found);
            let changed = Changed::Rows([row].into());
            for (number, (read, stays)) in (0u64..).zip(&reads) {
                let is_found = found.contains(&ReactionId(number));
                prop_assert!(is_found || !stays || !changed.concerns(read), "{read:?}");
                prop_assert!(*stays || !is_found, "{read:?} was taken out");
            }
        }
    }

    #[test]
    fn a_row_finds_its_own_readers_among_many() {
        let mut readers = Readers::default();
        for number in 0..1000 {
            let key = RowKey::new(&[Value::Int(number)]).expect("a good key");
            let range = KeyRange::one(&key);
            readers.add(ReactionId(number as u64), &[(Read::Range { table: TableId(1), range }, Digest::of(b""))]);
        }
        let mut found = BTreeSet::new();
        readers.collect(&(TableId(1), RowKey::new(&[Value::Int(500)]).expect("a good key")), &mut found);
        assert_eq!(found, BTreeSet::from([ReactionId(500)]));
    }
}
