//! What a question to a table costs, by the size of the table.

#![expect(clippy::disallowed_macros, clippy::disallowed_types, reason = "it measures and prints")]

use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use iolite_replication::{Logged, Versions};
use iolite_store::{Commit, ReadLimit};
use iolite_values::{
    Attempt, Cell, ColumnId, CoordinatorId, Field, IndexRange, Interest, Level, Operation, Query, RowKey, TableId,
    Timestamp, TransactionId, Value, Write,
};

const TABLE: TableId = TableId(1);
const SCORE: ColumnId = ColumnId(1);
const CHANGES: i64 = 200;

fn at(micros: i64) -> Timestamp {
    Timestamp::new(micros.unsigned_abs(), CoordinatorId::default())
}

fn commit(number: i64, row: i64, operations: Vec<(ColumnId, Operation)>) -> Logged {
    let key = RowKey::new(&[Value::Int(row)]).expect("short");
    let write = |(column, operation)| Write { cell: Cell { table: TABLE, row: key.clone(), column }, operation };
    let writes = operations.into_iter().map(write).collect::<Vec<_>>().into();
    let commit = Commit { at: at(number), transaction: TransactionId::default(), writes };
    Logged { commit, attempt: Attempt(1), level: Level::Strict, is_abort: false, is_home: true }
}

/// The ten rows with the highest scores, in tables of three sizes.
#[test]
#[ignore = "prints times: cargo test --release -p iolite-replication --test queries -- --ignored --nocapture"]
fn what_a_question_costs() {
    println!("{:>10}{:>18}{:>22}{:>22}", "rows", "first question", "a change, applied", "question after it");
    for rows in [10, 10_000, 1_000_000] {
        let mut versions = Versions::default();
        for row in 0..rows {
            let put = (SCORE, Operation::Put(Value::Int(row)));
            versions.apply(commit(row + 1, row, vec![(ColumnId::ROW, Operation::Create), put])).expect("it fits");
        }
        versions.collect_through(at(rows));
        let index = vec![Field::Cell { column: SCORE, absent: Value::Null }];
        let range = IndexRange::new(&[], Bound::Included(&Value::Int(rows - 10)), Bound::Unbounded).range;
        let best = Interest::Query(Arc::new(Query { index, range, ..Query::all(TABLE, false) }));
        let begun = Instant::now();
        assert_eq!(versions.read_at(&best, at(rows), ReadLimit::NONE, usize::MAX).expect("kept").reply.rows.len(), 10);
        let first = begun.elapsed();
        let (mut applied, mut asked) = (Vec::new(), Vec::new());
        for change in 1..=CHANGES {
            let begun = Instant::now();
            let put = (SCORE, Operation::Put(Value::Int(rows + change)));
            versions.apply(commit(rows + change, change % rows, vec![put])).expect("it fits");
            applied.push(begun.elapsed());
            let begun = Instant::now();
            let some = ReadLimit { rows: 9, ..ReadLimit::NONE };
            assert_eq!(
                versions.read_at(&best, at(rows + change), some, usize::MAX).expect("kept").reply.rows.len(),
                10
            );
            asked.push(begun.elapsed());
        }
        applied.sort();
        asked.sort();
        println!("{rows:>10}{first:>18.1?}{:>22.1?}{:>22.1?}", applied[applied.len() / 2], asked[asked.len() / 2]);
    }
}
