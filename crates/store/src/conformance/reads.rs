//! Reading at a timestamp, and the changes between two.

use iolite_values::{Cell, CellState, Interest, KeyRange, Operation, Timestamp, Value};

use super::Behaviour;
use super::driver::{Driver, TABLE, cell, key, life, range, write};
use crate::{ChangesError, Commit, ReadLimit, Refusal, Reply, Request};

pub const BEHAVIOURS: &[Behaviour] = &[
    ("an older timestamp shows the older state", older_state),
    ("a range shows its rows in key order and no others", ranges),
    ("a cell is read with the life of its row and without its other cells", cells),
    ("a read ends with the row that passes its limit", a_read_ends_past_its_limit),
    ("what is not resolved is not read", not_resolved),
    ("changes are the feed filtered by interest", changes),
    ("changes that are more than is wanted are not told", too_many_changes),
];

fn older_state(driver: &mut Driver) {
    let empty = driver.resolved();
    let first = driver.commit(vec![write(1, Operation::Put(Value::Int(1)))]);
    let second = driver.commit(vec![write(1, Operation::Put(Value::Int(2)))]);
    assert!(first < second);
    assert_eq!(driver.cell_at(1, empty), None);
    assert_eq!(driver.cell_at(1, first), Some(CellState::Scalar(Value::Int(1))));
    assert_eq!(driver.cell_at(1, second), Some(CellState::Scalar(Value::Int(2))));
}

fn ranges(driver: &mut Driver) {
    driver.commit([3, 1, 9, -2].map(|row| life(row, Operation::Create)).into());
    let mut keys = |range: KeyRange| {
        let at = driver.resolved();
        let rows = driver.read_at(Interest::Range { table: TABLE, range }, at).rows;
        rows.into_iter().map(|row| row.key).collect::<Vec<_>>()
    };
    assert_eq!(keys(KeyRange::all()), [-2, 1, 3, 9].map(key));
    assert_eq!(keys(range(1, 9)), [1, 3].map(key));
    assert_eq!(keys(range(4, 9)), vec![]);
}

fn cells(driver: &mut Driver) {
    let mut other = write(1, Operation::Add(5));
    other.cell.column.0 += 1;
    driver.commit(vec![life(1, Operation::Create), write(1, Operation::Add(1)), other]);
    let at = driver.resolved();
    let rows = driver.read_at(Interest::Cell(cell(1)), at).rows;
    assert_eq!(rows.len(), 1);
    assert!(rows[0].row.exists());
    let cells: Vec<_> = rows[0].row.cells().collect();
    assert_eq!(cells, vec![(cell(1).column, &CellState::Counter(1))]);
}

fn a_read_ends_past_its_limit(driver: &mut Driver) {
    for row in 1..5 {
        driver.commit(vec![life(row, Operation::Create), write(row, Operation::Add(1))]);
    }
    let (everything, at) = (Interest::Range { table: TABLE, range: range(1, 5) }, driver.resolved());
    let all = driver.read_at(everything.clone(), at).rows;
    let bytes = all[0].row.size_bytes();
    let limits = [
        (ReadLimit { rows: 2, ..ReadLimit::NONE }, 3, true),
        (ReadLimit { rows: 4, ..ReadLimit::NONE }, 4, false),
        (ReadLimit { bytes, ..ReadLimit::NONE }, 2, true),
        (ReadLimit { bytes: bytes - 1, ..ReadLimit::NONE }, 1, true),
    ];
    for (limit, count, is_cut) in limits {
        let reply = driver.read_some(everything.clone(), at, limit);
        assert_eq!((&reply.rows[..], reply.is_cut), (&all[..count], is_cut), "{limit:?}");
    }
}

fn not_resolved(driver: &mut Driver) {
    let at = Timestamp::MAX;
    let reply = driver.ask(Request::ReadAt { interest: Interest::Cell(cell(1)), at, limit: ReadLimit::NONE });
    assert!(matches!(reply, Reply::Refused(Refusal::NotResolved { asked, .. }) if asked == at), "{reply:?}");
}

fn changes(driver: &mut Driver) {
    let after = driver.commit(vec![write(1, Operation::Add(1))]);
    driver.commit(vec![write(1, Operation::Add(2))]);
    driver.commit(vec![write(2, Operation::Add(3))]);
    driver.commit(vec![life(1, Operation::Delete)]);
    let through = driver.commit(vec![write(5, Operation::Add(4))]);
    driver.commit(vec![write(1, Operation::Add(5))]);
    let interests = vec![Interest::Cell(cell(1)), Interest::Range { table: TABLE, range: range(4, 6) }];
    let reply = driver.ask(Request::Changes { interests: interests.clone(), after, through, bytes_max: usize::MAX });
    let concerns = |cell: &Cell| interests.iter().any(|interest| interest.includes(cell));
    let told = driver.told().into_iter().filter(|commit| commit.at > after && commit.at <= through);
    let expected: Vec<_> = told.filter(|commit| commit.writes.iter().any(|write| concerns(&write.cell))).collect();
    assert_eq!(expected.len(), 3);
    assert_eq!(reply, Reply::Changes(Ok(expected)));
}

fn too_many_changes(driver: &mut Driver) {
    let after = driver.commit(vec![write(1, Operation::Add(1))]);
    driver.commit(vec![write(1, Operation::Add(2)), write(1, Operation::Add(2))]);
    let through = driver.commit(vec![write(1, Operation::Add(3))]);
    let told = driver.told().into_iter().filter(|commit| commit.at > after && commit.at <= through);
    let told: Vec<_> = told.collect();
    let bytes: usize = told.iter().map(Commit::size_bytes).sum();
    for (bytes_max, expected) in [(bytes, Ok(told)), (bytes - 1, Err(ChangesError::TooMuch))] {
        let interests = vec![Interest::Cell(cell(1))];
        let reply = driver.ask(Request::Changes { interests, after, through, bytes_max });
        assert_eq!(reply, Reply::Changes(expected), "{bytes_max} bytes");
    }
}
