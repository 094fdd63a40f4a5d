//! The small worlds that are explored.
//!
//! Source: the configurations (a) to (g) of docs/models.md.

use iolite_replication::Broken;
use iolite_values::Transaction;

use crate::plan::{Bounds, Closes, Plan, Submission, Submits};
use crate::transactions::{Place, append, asks, first_page, reads, transaction, writes, writes_row};

fn write(number: u8) -> Transaction {
    transaction(number, Place::First, &[], &[writes(Place::First, number.into())])
}

/// One shard; the transactions come from as many coordinators, each with a clock of its own.
fn one_shard(replicas: u64, transactions: Vec<Transaction>) -> Plan {
    let clocks = (1..).take(transactions.len()).map(|number| number * 10).collect();
    let submissions = transactions.into_iter().enumerate();
    Plan {
        shards: 1,
        replicas,
        clocks,
        opening: Vec::new(),
        submissions: submissions.map(|(coordinator, transaction)| Submission { coordinator, transaction }).collect(),
        submits: Submits::AtOnce,
        closes: Closes::Lost,
        bounds: Bounds::default(),
        broken: Broken::Nothing,
    }
}

/// f = 1, one transaction, no view change.
pub fn one_transaction() -> Plan {
    one_shard(3, vec![write(0)])
}

/// f = 1, one transaction, a view change. No time passes, so only the fast path and what follows a view change is met.
pub fn one_transaction_and_a_view_change() -> Plan {
    let bounds = Bounds { view_changes: 1, coordinator_deadlines: 0, ..Bounds::default() };
    Plan { bounds, ..one_transaction() }
}

/// The same, and time passes once.
pub fn one_transaction_and_both_paths() -> Plan {
    let bounds = Bounds { view_changes: 1, ..Bounds::default() };
    Plan { bounds, ..one_transaction() }
}

/// (a) f = 1, two transactions that conflict, one view change, one crash of a coordinator and one of a replica.
pub fn two_that_conflict() -> Plan {
    let bounds = Bounds { view_changes: 1, coordinator_crashes: 1, replica_crashes: 1, ..Bounds::default() };
    Plan { bounds, ..one_shard(3, vec![write(0), write(1)]) }
}

/// f = 1: what one reads, the other one writes. As in flaw 3.
pub fn reader_and_writer() -> Plan {
    let reader = transaction(0, Place::First, &[reads(Place::First)], &[writes(Place::Last, 1)]);
    let bounds = Bounds { view_changes: 1, ..Bounds::default() };
    Plan { bounds, ..one_shard(3, vec![reader, write(1)]) }
}

/// f = 1: the same transaction by two coordinators, for its client has moved from one to the other. As in flaw 5.
pub fn one_transaction_twice() -> Plan {
    one_shard(3, vec![write(0), write(0)])
}

/// f = 1: two writes of one cell, at any time, one perhaps after the other was reported. As in flaw 2.
pub fn one_after_the_other() -> Plan {
    Plan { submits: Submits::Whenever, ..one_shard(3, vec![write(0), write(1)]) }
}

/// f = 1: what one reads, the other one writes, perhaps after that was reported, and at a higher timestamp. As in flaw 2, its stale read.
pub fn a_reader_after_a_writer() -> Plan {
    let reader = transaction(1, Place::First, &[reads(Place::First)], &[writes(Place::Last, 1)]);
    Plan { submits: Submits::Whenever, clocks: vec![20, 10], ..one_shard(3, vec![write(0), reader]) }
}

/// (b) Two shards of one replica, three transactions, in one of the six orders of their clocks: those of the inversion in flaw 2.
pub fn two_shards_in_order(clocks: [u64; 3]) -> Plan {
    let across = transaction(2, Place::Last, &[reads(Place::First)], &[writes(Place::Last, 2)]);
    let other = transaction(1, Place::Last, &[], &[writes(Place::Last, 1)]);
    Plan {
        shards: 2,
        submits: Submits::Whenever,
        clocks: clocks.to_vec(),
        ..one_shard(1, vec![write(0), other, across])
    }
}

/// All orders of three clocks.
pub const ORDERS: [[u64; 3]; 6] = [[10, 20, 30], [10, 30, 20], [20, 10, 30], [20, 30, 10], [30, 10, 20], [30, 20, 10]];

/// (c) Two shards of three replicas, one transaction over both, its coordinator may crash, and two others take it over.
pub fn two_take_over() -> Plan {
    let both = [writes(Place::First, 1), writes(Place::Last, 1)];
    let bounds = Bounds { coordinator_crashes: 1, coordinator_deadlines: 2, ..Bounds::default() };
    Plan {
        shards: 2,
        // The others' clocks are so far ahead that what they close has the transaction in it.
        clocks: vec![10, 1_000_000, 1_000_010],
        closes: Closes::Idle,
        bounds,
        ..one_shard(3, vec![transaction(0, Place::First, &[], &both)])
    }
}

/// (d) f = 2, one transaction, one view change.
pub fn five_replicas() -> Plan {
    let bounds = Bounds { view_changes: 1, coordinator_deadlines: 0, ..Bounds::default() };
    Plan { bounds, ..one_shard(5, vec![write(0)]) }
}

/// (e) f = 1, Close by two coordinators that also propose, a view change and a restart.
pub fn closing() -> Plan {
    let bounds =
        Bounds { view_changes: 1, restarts: 1, coordinator_deadlines: 2, replica_deadlines: 1, ..Bounds::default() };
    Plan { closes: Closes::OnDemand, bounds, ..one_shard(3, vec![write(0), write(1)]) }
}

/// (e) with transactions that do not conflict, so that only the barrier keeps one from committing below what the other one's feed has passed.
pub fn closing_apart() -> Plan {
    let other = transaction(1, Place::First, &[], &[writes(Place::Last, 1)]);
    let bounds = closing().bounds;
    Plan { closes: Closes::OnDemand, bounds, ..one_shard(3, vec![write(0), other]) }
}

/// The beginning of (e): one coordinator, no view change, no restart.
pub fn closing_quietly() -> Plan {
    let bounds = Bounds { coordinator_deadlines: 0, ..Bounds::default() };
    Plan { closes: Closes::OnDemand, bounds, ..one_shard(3, vec![write(0)]) }
}

/// (f) A row is among the answers of a query. One transaction asks, and writes in a second shard; another brings a row in, a third takes the first one out,
/// each at any time. All clocks are ahead of that of who committed the first row.
pub fn asking(replicas: u64, clocks: [u64; 3]) -> Plan {
    let asker = transaction(0, Place::First, &[asks(), reads(Place::First)], &[writes(Place::Last, 1)]);
    let enters = transaction(1, Place::First, &[], &[writes_row(Place::First, 2, 1)]);
    let leaves = transaction(2, Place::First, &[], &[writes(Place::First, 0)]);
    let mut plan = one_shard(replicas, vec![asker, enters, leaves]);
    plan.submissions.iter_mut().for_each(|submission| submission.coordinator += 1);
    let clocks = [1].into_iter().chain(clocks).collect();
    Plan { shards: 2, submits: Submits::Whenever, clocks, opening: vec![writes(Place::First, 1)], ..plan }
}

/// f = 1: two that ask, and each brings a row in if it found none.
pub fn both_ask() -> Plan {
    let row = |number: u8| writes_row(Place::First, number.into(), 1);
    let one = |number| transaction(number, Place::First, &[asks()], &[row(number)]);
    let bounds = Bounds { view_changes: 1, ..Bounds::default() };
    Plan { bounds, ..one_shard(3, vec![one(0), one(1)]) }
}

/// (g) The page of a log is there. One client appends to it, and two turn it, each at any time. All have seen the beginning. With `reads` they have read
/// that the page is open.
pub fn pages(replicas: u64, clocks: [u64; 3], reads: bool) -> Plan {
    let mut plan = one_shard(replicas, vec![append(0, 9, reads), append(1, 1, reads), append(2, 1, reads)]);
    plan.submissions.iter_mut().for_each(|submission| submission.coordinator += 1);
    let clocks = [1].into_iter().chain(clocks).collect();
    Plan { submits: Submits::Whenever, clocks, opening: vec![first_page()], ..plan }
}

pub fn broken(broken: Broken, plan: Plan) -> Plan {
    Plan { broken, ..plan }
}
