//! Transactions that only read.

use std::sync::Arc;

use iolite_values::{Attempt, CellState, Decision, Operation, Read, Timestamp, Value};

use super::Behaviour;
use super::driver::{Driver, TABLE, life, range, read, write};
use crate::{CommitReply, Completion, Refusal, Reply, Request, Validity};

pub const BEHAVIOURS: &[Behaviour] = &[
    ("reads that are true still are valid", unchanged),
    ("reads that are true no more are not valid", changed),
    ("a row that appears in a range that was read makes the reads invalid", phantom),
    ("an acknowledged write makes what was read before it invalid at once", acknowledged_write),
    ("reads of nothing are valid", nothing),
    ("what is not resolved is not validated", not_resolved),
    ("validating uses up no name and is no commit", no_trace),
];

/// The question whether these reads, at what is resolved now, are true still.
fn question(driver: &mut Driver, reads: Vec<Read>) -> Request {
    let reader = driver.transaction(reads, Decision::Commit(Vec::new()));
    Request::Validate {
        transaction: reader.id,
        attempt: Attempt(1),
        snapshot: reader.snapshot,
        reads: reader.reads.into(),
        floor: Timestamp::ZERO,
    }
}

/// Of these reads, after another transaction committed these writes; and when it did.
fn after(driver: &mut Driver, reads: Vec<Read>, writes: Vec<iolite_values::Write>) -> (Validity, Timestamp) {
    let question = question(driver, reads);
    let at = driver.commit(writes);
    (driver.validate(question), at)
}

fn assert_changed(driver: &mut Driver, (validity, at): (Validity, Timestamp)) {
    let Validity::Changed { at_least } = validity else { panic!("reads from before {at:?} are called valid") };
    assert!(at_least >= at, "{at_least:?} shows nothing of the commit at {at:?}");
    assert!(driver.resolved() >= at_least, "the feed reaches what a client needs to read again");
}

fn put(row: i64, value: i64) -> iolite_values::Write {
    write(row, Operation::Put(Value::Int(value)))
}

fn unchanged(driver: &mut Driver) {
    driver.commit(vec![put(1, 1)]);
    assert_eq!(after(driver, vec![read(1)], vec![put(2, 2)]).0, Validity::Valid);
}

fn changed(driver: &mut Driver) {
    driver.commit(vec![put(1, 1)]);
    let found = after(driver, vec![read(2), read(1)], vec![put(1, 2)]);
    assert_changed(driver, found);
}

fn phantom(driver: &mut Driver) {
    let whole = || vec![Read::Range { table: TABLE, range: range(1, 5) }];
    let found = after(driver, whole(), vec![life(3, Operation::Create)]);
    assert_changed(driver, found);
    assert_eq!(after(driver, whole(), vec![life(5, Operation::Create)]).0, Validity::Valid);
}

/// Before the feed has told of it.
fn acknowledged_write(driver: &mut Driver) {
    let question = question(driver, vec![read(1)]);
    let writer = driver.transaction(Vec::new(), Decision::Commit(vec![put(1, 1)]));
    let commit = driver.begin(Request::Commit { transaction: writer, floor: Timestamp::ZERO, within: None });
    let Reply::Commit(CommitReply::Completed(Completion { at, .. })) = driver.reply(commit) else {
        panic!("nothing is in its way");
    };
    let found = (driver.validate(question), at);
    assert_changed(driver, found);
}

fn nothing(driver: &mut Driver) {
    driver.commit(vec![put(1, 1)]);
    assert_eq!(after(driver, Vec::new(), vec![put(1, 2)]).0, Validity::Valid);
}

fn not_resolved(driver: &mut Driver) {
    let Request::Validate { transaction, attempt, floor, .. } = question(driver, Vec::new()) else { unreachable!() };
    let (snapshot, reads) = (Timestamp::MAX, Arc::from([read(1)]));
    let reply = driver.ask(Request::Validate { transaction, attempt, snapshot, reads, floor });
    assert!(matches!(reply, Reply::Refused(Refusal::NotResolved { asked, .. }) if asked == snapshot), "{reply:?}");
}

fn no_trace(driver: &mut Driver) {
    let mut transaction = driver.transaction(vec![read(1)], Decision::Commit(vec![write(1, Operation::Add(1))]));
    let reads: Arc<[Read]> = transaction.reads.clone().into();
    for attempt in [1, 1, 2] {
        let (snapshot, floor) = (transaction.snapshot, Timestamp::ZERO);
        let (id, reads) = (transaction.id, reads.clone());
        let question = Request::Validate { transaction: id, attempt: Attempt(attempt), snapshot, reads, floor };
        assert_eq!(driver.validate(question), Validity::Valid);
    }
    assert_eq!(driver.told(), vec![]);
    transaction.attempt = Attempt(1);
    driver.commit_of(&transaction);
    assert_eq!(driver.cell(1), Some(CellState::Counter(1)), "the name was free");
}
