//! One fault in a valid random history is found: each is made so that no order of transactions could explain it.

use iolite_histories::{Commit, History, List, Operation, Outcome, Report, Set, Transaction, Value, judge};

use super::random::Random;
use super::serial::{Kinds, Shape, Stamps, history};

/// What is done to a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// A read misses what was acknowledged before it began.
    StaleRead,
    /// An acknowledged append is in no read.
    LostAppend,
    /// An append is there twice from some read on.
    DoubledAppend,
    /// A reader sees one write of a transaction, and not another.
    TornTransaction,
    /// Two appends are in the opposite order of their times, for everybody.
    RealTimeInversion,
    /// A write of unknown outcome is seen, and gone for those who come later.
    UnknownVanishes,
}

pub const ALL: [Made; 6] = [
    Made::StaleRead,
    Made::LostAppend,
    Made::DoubledAppend,
    Made::TornTransaction,
    Made::RealTimeInversion,
    Made::UnknownVanishes,
];

/// Makes a fault somewhere; whether there was a place for it.
pub fn make(made: Made, history: &mut History, seed: u64) -> bool {
    let mut random = Random::new(seed);
    (0..20).any(|_| match made {
        Made::StaleRead => stale_read(history, &mut random),
        Made::LostAppend => lost_append(history, &mut random),
        Made::DoubledAppend => doubled_append(history, &mut random),
        Made::TornTransaction => torn_transaction(history, &mut random),
        Made::RealTimeInversion => real_time_inversion(history, &mut random),
        Made::UnknownVanishes => unknown_vanishes(history, &mut random),
    })
}

/// Who appended or inserted what, by transaction.
fn writes(history: &History, wanted: impl Fn(&Transaction) -> bool) -> Vec<(usize, Operation)> {
    let transactions = history.transactions.iter().enumerate().filter(|(_, one)| wanted(one));
    let operations =
        transactions.flat_map(|(place, one)| one.operations.iter().map(move |operation| (place, operation)));
    let writes = operations.filter(|(_, one)| matches!(one, Operation::Append { .. } | Operation::Insert { .. }));
    writes.map(|(place, operation)| (place, operation.clone())).collect()
}

fn is_committed(transaction: &Transaction) -> bool {
    matches!(transaction.outcome, Outcome::Committed(_))
}

/// The values of reads of a list or set, of all transactions that committed.
fn reads(history: &mut History, of: impl Fn(&Operation) -> bool) -> Vec<(usize, &mut Vec<Value>)> {
    let all = history.transactions.iter_mut().chain(&mut history.last).enumerate().filter(|(_, one)| is_committed(one));
    let operations = all.flat_map(|(place, one)| one.operations.iter_mut().map(move |operation| (place, operation)));
    let reads = operations.filter(|(_, operation)| of(operation)).filter_map(|(place, operation)| match operation {
        Operation::ReadList { values, .. } | Operation::ReadSet { values, .. } => Some((place, values)),
        _other => None,
    });
    reads.collect()
}

fn of_list(list: List) -> impl Fn(&Operation) -> bool {
    move |operation| matches!(operation, Operation::ReadList { list: read, .. } if *read == list)
}

fn of_set(set: Set) -> impl Fn(&Operation) -> bool {
    move |operation| matches!(operation, Operation::ReadSet { set: read, .. } if *read == set)
}

fn is_removed(history: &History, wanted: Value) -> bool {
    let mut operations = history.transactions.iter().flat_map(|one| &one.operations);
    operations.any(|operation| matches!(operation, Operation::Remove { value, .. } if *value == wanted))
}

fn pick<T: Clone>(random: &mut Random, from: &[T]) -> Option<T> {
    from.get(random.index(from.len())).cloned()
}

/// Reads of other transactions that hold a value, with the place in the history.
fn readers(history: &mut History, write: &(usize, Operation)) -> Vec<usize> {
    let (writer, value) = (write.0, value_of(&write.1));
    let of: Box<dyn Fn(&Operation) -> bool> = match write.1 {
        Operation::Append { list, .. } => Box::new(of_list(list)),
        Operation::Insert { set, .. } => Box::new(of_set(set)),
        _ => unreachable!("only writes of lists and sets are picked"),
    };
    let reads = reads(history, of).into_iter().filter(|(place, values)| *place != writer && values.contains(&value));
    reads.map(|(place, _)| place).collect()
}

fn value_of(operation: &Operation) -> Value {
    match operation {
        Operation::Append { value, .. } | Operation::Insert { value, .. } => *value,
        _ => unreachable!("only writes of lists and sets are picked"),
    }
}

fn transaction(history: &History, place: usize) -> &Transaction {
    history.transactions.iter().chain(&history.last).nth(place).expect("places are of this history")
}

/// Takes a value out of the reads of some transactions; for lists all after it too, as if they had come later.
fn hide(history: &mut History, write: &(usize, Operation), from: &[usize]) {
    let value = value_of(&write.1);
    for (place, values) in reads(history, |_| true) {
        if from.contains(&place) {
            let Some(found) = values.iter().position(|one| *one == value) else { continue };
            match write.1 {
                Operation::Append { .. } => values.truncate(found),
                _ => drop(values.remove(found)),
            }
        }
    }
    // What asks for single members is of another type of read: it stays, and would only show the fault more.
}

fn stale_read(history: &mut History, random: &mut Random) -> bool {
    let all = writes(history, is_committed);
    let Some(write) = pick(random, &all).filter(|(_, write)| !is_removed(history, value_of(write))) else {
        return false;
    };
    let acknowledged = history.transactions[write.0].completed;
    let late = readers(history, &write).into_iter().filter(|place| *place < history.transactions.len());
    let late: Vec<usize> = late.filter(|place| transaction(history, *place).invoked > acknowledged).collect();
    let Some(reader) = pick(random, &late) else { return false };
    // Its own appends, which a list would end with, are in the way.
    let reads_only = !transaction(history, reader).writes();
    if reads_only {
        hide(history, &write, &[reader]);
    }
    reads_only
}

fn lost_append(history: &mut History, random: &mut Random) -> bool {
    let all = writes(history, is_committed);
    let Some((writer, Operation::Append { list, value })) = pick(random, &all) else { return false };
    for (place, values) in reads(history, of_list(list)) {
        if place != writer {
            values.retain(|one| *one != value);
        }
    }
    true
}

fn doubled_append(history: &mut History, random: &mut Random) -> bool {
    let all = writes(history, |one| one.outcome != Outcome::Aborted);
    let Some(write @ (_, Operation::Append { list, value })) = pick(random, &all) else { return false };
    let from = readers(history, &write);
    let mut is_made = false;
    for (_, values) in reads(history, of_list(list)).into_iter().filter(|(place, _)| from.contains(place)) {
        is_made = true;
        values.push(value);
    }
    is_made
}

/// Adds a reader after all others that sees of two writes of one transaction the first only.
fn torn_transaction(history: &mut History, random: &mut Random) -> bool {
    let all = writes(history, is_committed);
    let Some((writer, Operation::Append { list, value })) = pick(random, &all) else { return false };
    let others: Vec<_> = all.iter().filter(|(place, _)| *place == writer).collect();
    let other = others.iter().find_map(|(_, operation)| match operation {
        Operation::Append { list: other, value } if *other != list => Some((*other, *value)),
        _other => None,
    });
    let Some((other_list, other_value)) = other else { return false };
    let end = history.last[0].invoked;
    let read = |list: List| {
        let last = history.last[0].operations.iter();
        last.clone().find_map(|operation| match operation {
            Operation::ReadList { list: read, values } if *read == list => Some(values.clone()),
            _other => None,
        })
    };
    let (whole, mut cut) = (read(list).expect("all are read"), read(other_list).expect("all are read"));
    assert!(whole.contains(&value));
    cut.truncate(cut.iter().position(|one| *one == other_value).expect("all are read"));
    let operations =
        vec![Operation::ReadList { list, values: whole }, Operation::ReadList { list: other_list, values: cut }];
    // It runs during the whole history: only what it saw is wrong, and no time.
    let outcome = Outcome::Committed(Commit::Unstamped);
    let begin = iolite_histories::Moment(0);
    let client = iolite_histories::Client(2000);
    history.transactions.push(Transaction { client, invoked: begin, completed: end, operations, outcome });
    true
}

fn real_time_inversion(history: &mut History, random: &mut Random) -> bool {
    let all = writes(history, is_committed);
    let Some((first, Operation::Append { list, value })) = pick(random, &all) else { return false };
    // The next element, if it was appended later for sure, and nobody read in between or already holds one of both twice.
    let order = reads(history, of_list(list)).pop().map(|(_, values)| values.clone()).expect("the last read is of all");
    let place = order.iter().position(|one| *one == value).expect("the last read has all");
    let Some(&next) = order.get(place + 1) else { return false };
    let second = all.iter().find(|(_, write)| value_of(write) == next).map(|(place, _)| *place);
    let Some(second) = second else { return false };
    let (one, other) = (&history.transactions[first], &history.transactions[second]);
    if first == second || one.completed >= other.invoked {
        return false;
    }
    if reads(history, of_list(list)).iter().any(|(_, values)| values.len() == place + 1) {
        return false;
    }
    for (_, values) in reads(history, of_list(list)) {
        if values.len() > place + 1 {
            values.swap(place, place + 1);
        }
    }
    true
}

fn unknown_vanishes(history: &mut History, random: &mut Random) -> bool {
    let all = writes(history, |one| one.outcome == Outcome::Unknown);
    let Some(write) = pick(random, &all).filter(|(_, write)| !is_removed(history, value_of(write))) else {
        return false;
    };
    let saw = readers(history, &write);
    let first = saw.iter().map(|place| transaction(history, *place).completed).min();
    let Some(first) = first else { return false };
    let later: Vec<usize> = saw.into_iter().filter(|place| transaction(history, *place).invoked > first).collect();
    if later.is_empty() || later.iter().any(|place| transaction(history, *place).writes()) {
        return false;
    }
    for (place, values) in reads(history, |_| true) {
        if later.contains(&place) {
            values.retain(|one| *one != value_of(&write.1));
        }
    }
    true
}

/// Makes one fault in each of many histories; the reports of those that had a place for it.
fn reports(made: Made, kinds: Kinds, stamps: Stamps) -> Vec<(u64, Report)> {
    let mut reports = Vec::new();
    for seed in 0..400 {
        let mut history = history(seed, Shape::small(kinds, stamps));
        if make(made, &mut history, seed) {
            reports.push((seed, judge(&history).expect("still well formed")));
        }
    }
    reports
}

#[test]
fn each_fault_is_found_in_lists_by_both_checkers() {
    for made in ALL {
        let reports = reports(made, Kinds::Lists, Stamps::None);
        assert!(reports.len() >= 30, "{made:?}: only {} places", reports.len());
        for (seed, report) in reports {
            assert!(!report.violations.is_empty(), "{made:?}, seed {seed}: not found by ours\n{report}");
            let is_last_only = report.violations.keys().all(|class| *class == iolite_histories::Class::Lost);
            assert!(
                report.adya.found_violation() || is_last_only,
                "{made:?}, seed {seed}: not found by adya\n{report}"
            );
        }
    }
}

#[test]
fn each_fault_is_found_among_objects_of_all_types() {
    for made in ALL {
        for stamps in [Stamps::None, Stamps::Given] {
            let reports = reports(made, Kinds::All, stamps);
            assert!(reports.len() >= 3, "{made:?}: only {} places", reports.len());
            for (seed, report) in reports {
                assert!(!report.violations.is_empty(), "{made:?}, seed {seed}, {stamps:?}: not found\n{report}");
            }
        }
    }
}
