//! Large histories are judged in time that grows with their size, valid ones and broken ones.

use std::time::{Duration, Instant};

use iolite_histories::{Class, History, Report, judge};

use super::build::{append, committed, list};
use super::faults;
use super::serial::{Kinds, Shape, Stamps, history};

fn large(transactions: usize, stamps: Stamps) -> History {
    let shape = Shape {
        transactions,
        clients: 24,
        objects: 8,
        rotation: 2000,
        unknown: 3,
        aborted: 5,
        ..Shape::small(Kinds::All, stamps)
    };
    history(4711, shape)
}

fn timed(history: &History) -> (Report, Duration) {
    let start = Instant::now();
    let report = judge(history).expect("random histories are well formed");
    (report, start.elapsed())
}

#[test]
fn a_hundred_thousand_transactions_are_judged_in_well_under_a_minute() {
    judges_in_time(102_000, 100_000);
}

#[test]
#[ignore = "for `make soak`"]
fn soak_two_hundred_thousand_transactions() {
    judges_in_time(203_000, 200_000);
}

/// `made` are asked for; a few of them make no transaction.
fn judges_in_time(made: usize, at_least: usize) {
    for stamps in [Stamps::None, Stamps::Given] {
        let history = large(made, stamps);
        assert!(history.transactions.len() > at_least);
        let (report, took) = timed(&history);
        assert!(report.is_clean() && report.is_whole(), "{report}");
        assert!(took < Duration::from_secs(60), "{stamps:?}: {took:?}");
        println!("{stamps:?}: {took:?}\n{report}");
    }
}

#[test]
fn a_fault_in_a_large_history_is_found_and_explained_without_taking_much_longer() {
    for made in faults::ALL {
        let mut history = large(20_000, Stamps::None);
        assert!((0..100).any(|seed| faults::make(made, &mut history, seed)), "{made:?}: no place");
        let (report, took) = timed(&history);
        println!("{made:?}: {took:?}");
        assert!(!report.violations.is_empty(), "{made:?}");
        assert!(took < Duration::from_secs(60), "{made:?}: {took:?}");
    }
}

/// Everything lies between two reads that miss what the other's side appended: one large component, and no cycle of a worse class in it.
#[test]
fn a_cycle_around_a_large_history_is_found_in_bounded_time() {
    let shape = Shape { transactions: 10_000, ..Shape::small(Kinds::Lists, Stamps::None) };
    let mut history = history(4711, Shape { rotation: 1000, unknown: 0, ..shape });
    let (begin, end) = (history.transactions[0].invoked.0, history.last[0].invoked.0);
    let around = [
        committed(0, 1, vec![append(1_000_001, 1)]),
        committed(end - 1, end, vec![list(1_000_001, &[1]), list(1_000_002, &[])]),
        committed(0, end, vec![append(1_000_002, 2)]),
        committed(0, end, vec![list(1_000_002, &[2]), list(1_000_003, &[])]),
        committed(0, end, vec![append(1_000_003, 3)]),
        committed(2, begin - 1, vec![list(1_000_003, &[3])]),
    ];
    history.transactions.extend(around);
    let (report, took) = timed(&history);
    assert_eq!(report.violations.keys().copied().collect::<Vec<_>>(), [Class::G2RealTime], "{report}");
    assert_eq!(report.explained[0].transactions.len(), 5, "{report}");
    assert!(took < Duration::from_secs(60), "{took:?}");
    println!("{took:?}\n{report}");
}
