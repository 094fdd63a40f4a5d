//! Large histories are judged in time that grows with their size, valid ones and broken ones.

use std::time::{Duration, Instant};

use iolite_histories::{History, Report, judge};

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
fn two_hundred_thousand_transactions_are_judged_in_well_under_a_minute() {
    for stamps in [Stamps::None, Stamps::Given] {
        let history = large(203_000, stamps);
        assert!(history.transactions.len() > 200_000);
        let (report, took) = timed(&history);
        assert!(report.is_clean() && report.is_whole(), "{report}");
        assert!(took < Duration::from_secs(60), "{stamps:?}: {took:?}");
        println!("{stamps:?}: {took:?}\n{report}");
    }
}

#[test]
fn a_fault_in_a_large_history_is_found_and_explained_without_taking_much_longer() {
    for made in faults::ALL {
        let mut history = large(40_000, Stamps::None);
        assert!((0..100).any(|seed| faults::make(made, &mut history, seed)), "{made:?}: no place");
        let (report, took) = timed(&history);
        println!("{made:?}: {took:?}");
        assert!(!report.violations.is_empty(), "{made:?}");
        assert!(took < Duration::from_secs(60), "{made:?}: {took:?}");
    }
}
