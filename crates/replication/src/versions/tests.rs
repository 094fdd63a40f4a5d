//! Rows and log against a model: all commits in timestamp order, folded from nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use iolite_store::{Commit, ReadLimit, RowAt, TooOld};
use iolite_values::{
    Cell, CellState, ColumnId, CoordinatorId, Direction, Interest, KeyRange, Operation, Read, Row, RowKey, TableId,
    Timestamp, TransactionId, Value, Write, observes,
};
use proptest::prelude::*;

use super::{Logged, Retention, Versions};
use crate::scans::Scans;

const TABLE: TableId = TableId(1);

fn at(micros: u64) -> Timestamp {
    Timestamp::new(micros, CoordinatorId::default())
}

fn logged(commit: Commit) -> Logged {
    Logged {
        commit,
        attempt: iolite_values::Attempt(1),
        level: iolite_values::Level::Strict,
        is_abort: false,
        is_home: true,
    }
}

fn key(row: u8) -> RowKey {
    RowKey::new(&[Value::Int(row.into())]).unwrap()
}

fn write() -> impl Strategy<Value = Write> {
    let operation = prop_oneof![
        1 => Just((ColumnId::ROW, Operation::Create)),
        1 => Just((ColumnId::ROW, Operation::Delete)),
        4 => (0i64..4).prop_map(|value| (ColumnId(1), Operation::Put(Value::Int(value)))),
        4 => (1i64..4).prop_map(|amount| (ColumnId(2), Operation::Add(amount))),
    ];
    (0u8..3, operation)
        .prop_map(|(row, (column, operation))| Write { cell: Cell { table: TABLE, row: key(row), column }, operation })
}

/// Commits at distinct timestamps, in the order in which they arrive.
fn commits() -> impl Strategy<Value = Vec<Commit>> {
    let writes = proptest::collection::vec(proptest::collection::vec(write(), 0..4), 1..12);
    let commits = writes.prop_map(|transactions| {
        let commit = |(number, writes): (u64, Vec<Write>)| Commit {
            at: at(number * 10),
            transaction: TransactionId::default(),
            writes: Arc::from(writes),
        };
        (1..).zip(transactions).map(commit).collect::<Vec<_>>()
    });
    commits.prop_shuffle()
}

fn everything() -> Interest {
    Interest::Range { table: TABLE, range: KeyRange::all() }
}

fn model(commits: &[Commit], through: Timestamp) -> Vec<RowAt> {
    let mut rows: BTreeMap<RowKey, Row> = BTreeMap::new();
    let mut in_order: Vec<&Commit> = commits.iter().filter(|commit| commit.at <= through).collect();
    in_order.sort_by_key(|commit| commit.at);
    for write in in_order.iter().flat_map(|commit| commit.writes.iter()) {
        rows.entry(write.cell.row.clone()).or_default().apply(write.cell.column, &write.operation).unwrap();
    }
    rows.into_iter().filter(|(_, row)| !row.is_empty()).map(|(key, row)| RowAt { table: TABLE, key, row }).collect()
}

fn with(commits: &[Commit]) -> Versions {
    let mut versions = Versions::default();
    for commit in commits {
        versions.apply(logged(commit.clone())).unwrap();
        versions.validate();
    }
    versions
}

proptest! {
    #[test]
    fn every_timestamp_shows_the_commits_up_to_it_whatever_order_they_came_in(commits in commits()) {
        let mut versions = with(&commits);
        for micros in (0..130).step_by(5) {
            let read = versions.read_at(&everything(), at(micros), ReadLimit::NONE, usize::MAX).unwrap();
            prop_assert_eq!(&read.reply.rows, &model(&commits, at(micros)));
            let (mut range, mut in_pieces) = (KeyRange::all(), Vec::new());
            loop {
                let interest = Interest::Range { table: TABLE, range: range.clone() };
                let piece = versions.read_at(&interest, at(micros), ReadLimit::NONE, 2).unwrap();
                in_pieces.extend(piece.reply.rows);
                let Some(place) = piece.looked_through else { break };
                range = range.behind(&place, Direction::Ascending);
            }
            prop_assert_eq!(in_pieces, read.reply.rows);
        }
    }

    #[test]
    fn what_is_collected_is_too_old_and_everything_else_is_as_before(commits in commits(), through in 0u64..130) {
        let mut versions = with(&commits);
        versions.collect_through(at(through));
        versions.validate();
        for micros in (0..130).step_by(5) {
            let read = versions.read_at(&everything(), at(micros), ReadLimit::NONE, usize::MAX);
            if micros < through {
                prop_assert_eq!(read, Err(TooOld { low_watermark: at(through) }));
            } else {
                prop_assert_eq!(read.unwrap().reply.rows, model(&commits, at(micros)));
            }
        }
    }

    #[test]
    fn applying_a_commit_again_changes_nothing(commits in commits(), through in 0u64..130) {
        let mut versions = with(&commits);
        versions.collect_through(at(through));
        let before = versions.clone();
        for commit in commits.iter().filter(|commit| commit.at > at(through)) {
            versions.apply(logged(commit.clone())).unwrap();
        }
        prop_assert_eq!(versions, before);
    }

    #[test]
    fn the_last_change_of_a_read_is_that_of_the_log(commits in commits(), snapshot in 0u64..130, end in 0u64..200, row in 0u8..3) {
        let versions = with(&commits);
        let cell = |column| Cell { table: TABLE, row: key(row), column };
        let element = iolite_values::Element::Whole;
        let reads = [
            Read::Cell { cell: cell(ColumnId(1)), element: element.clone() },
            Read::Cell { cell: cell(ColumnId::ROW), element },
            Read::Range { table: TABLE, range: KeyRange::all().from(&key(row)) },
        ];
        for read in &reads {
            let above = commits.iter().filter(|commit| commit.at > at(snapshot) && commit.at < at(end));
            let expected = above.filter(|commit| commit.writes.iter().any(|write| observes(read, write))).map(|commit| commit.at).max();
            let of_row = versions.last_change_of(read, at(snapshot), at(end)).unwrap();
            let of_scan = versions.last_change_of_scans(&Scans::of([read].into_iter()), at(snapshot), at(end), usize::MAX).unwrap();
            prop_assert_eq!(of_row.max(of_scan), expected);
        }
    }

    #[test]
    fn collection_goes_no_further_than_age_amount_and_resolved_ask(
        commits in commits(),
        resolved in 0u64..130,
        age in 0u64..130,
        operations_max in 0usize..20,
    ) {
        let mut versions = with(&commits);
        let retention = Retention { age: Duration::from_micros(age), operations_max };
        versions.collect(retention, at(resolved), usize::MAX);
        versions.validate();
        prop_assert!(versions.low_watermark() <= at(resolved));
        let kept: usize = versions.commits(versions.low_watermark(), Timestamp::MAX).unwrap().map(|commit| commit.writes.len()).sum();
        let old = commits.iter().filter(|commit| commit.at <= at(resolved.saturating_sub(age)));
        prop_assert!(old.map(|commit| commit.at).max() <= Some(versions.low_watermark()), "what is old is collected");
        let next = versions.commits(versions.low_watermark(), Timestamp::MAX).unwrap().next().map(|commit| commit.at);
        prop_assert!(kept <= operations_max || next.is_none_or(|next| next > at(resolved)), "what is too much is collected");
    }
}

/// One cell that changes once a microsecond.
fn hot(changes: u64) -> Versions {
    let cell = Cell { table: TABLE, row: key(1), column: ColumnId(2) };
    let writes: Arc<[Write]> = [Write { cell, operation: Operation::Add(1) }].into();
    let mut versions = Versions::default();
    for micros in 1..=changes {
        let transaction = TransactionId::default();
        versions.apply(logged(Commit { at: at(micros), transaction, writes: writes.clone() })).unwrap();
    }
    versions
}

/// Forgetting a version once cost as much as there were others: then this takes more than a minute, and a server with one hot cell stands still.
#[test]
fn a_cell_that_changes_all_the_time_is_forgotten_as_fast_as_it_changes() {
    let mut versions = hot(500_000);
    versions.collect_through(at(499_999));
    let row = versions.row(TABLE, &key(1)).unwrap();
    assert_eq!((row.history().count(), row.base_at()), (1, at(499_999)));
}

/// Readers ask for what is resolved, a little behind the latest. Folding the whole history for each, this takes half a minute.
#[test]
fn a_read_of_the_recent_past_of_a_hot_cell_does_not_begin_at_its_beginning() {
    let versions = hot(100_000);
    let row = versions.row(TABLE, &key(1)).unwrap();
    for read in 0..2_000 {
        let behind = read % 4;
        let state = row.at(at(100_000 - behind)).cell(ColumnId(2)).cloned();
        assert_eq!(state, Some(CellState::Counter(100_000 - i64::try_from(behind).unwrap())));
    }
}

#[test]
fn what_was_written_since_is_compared_with_scans_so_often_and_the_next_is_a_conflict() {
    let versions = hot(100);
    let elsewhere = Read::Range { table: TABLE, range: KeyRange::all().from(&key(2)) };
    let scans = Scans::of([&elsewhere].into_iter());
    let last_change = |looks| versions.last_change_of_scans(&scans, at(0), Timestamp::MAX, looks).unwrap();
    // Each costs one for the commit, and one for its write.
    assert_eq!([200, 199, 100, 0].map(last_change), [None, Some(at(1)), Some(at(50)), Some(at(100))]);
}

mod answers;
mod late;
