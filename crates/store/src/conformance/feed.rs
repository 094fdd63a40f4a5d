//! The feed. (That its segments join, and hold every commit once and in order, the driver checks in every behaviour.)

use iolite_values::{Decision, Operation, Timestamp, Write};

use super::Behaviour;
use super::driver::{Driver, write};
use crate::Request;

pub const BEHAVIOURS: &[Behaviour] = &[
    ("the feed tells each commit with its transaction, and the writes of each row in order", whole_commits),
    ("nothing commits at or below what is resolved", nothing_below_resolved),
    ("the feed reaches every commit of many at once", many_at_once),
];

fn whole_commits(driver: &mut Driver) {
    let writes = vec![write(2, Operation::Add(1)), write(1, Operation::Add(2)), write(2, Operation::Add(3))];
    let transaction = driver.transaction(Vec::new(), Decision::Commit(writes.clone()));
    let at = driver.commit_of(&transaction);
    let told = driver.told();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].at, told[0].transaction), (at, transaction.id));
    let by_row = |writes: &[Write]| {
        let mut writes = writes.to_vec();
        writes.sort_by(|a, b| a.cell.row.cmp(&b.cell.row));
        writes
    };
    assert_eq!(by_row(&told[0].writes), by_row(&writes));
}

fn nothing_below_resolved(driver: &mut Driver) {
    for row in 0..20 {
        let resolved = driver.resolved();
        assert!(driver.commit(vec![write(row, Operation::Add(1))]) > resolved);
    }
}

fn many_at_once(driver: &mut Driver) {
    let writes = |row: i64| -> Vec<Write> { vec![write(row % 7, Operation::Add(1))] };
    let mut begun = Vec::new();
    for row in 0..100 {
        let transaction = driver.transaction(Vec::new(), Decision::Commit(writes(row)));
        begun.push(driver.begin(Request::Commit { transaction, floor: Timestamp::ZERO, within: None }));
    }
    for id in begun {
        driver.reply(id);
    }
    assert_eq!(driver.told().len(), 100);
}
