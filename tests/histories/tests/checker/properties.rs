//! Random histories that are valid by construction pass.

use iolite_histories::{History, judge};

use super::serial::{Kinds, Shape, Stamps, history};

#[track_caller]
fn passes(history: &History, what: &str) {
    let report = judge(history).expect("random histories are well formed");
    assert!(report.is_clean() && report.is_whole(), "{what}\n{report}");
}

#[test]
fn valid_histories_of_all_types_pass() {
    for seed in 0..600 {
        for stamps in [Stamps::Given, Stamps::None] {
            passes(&history(seed, Shape::small(Kinds::All, stamps)), &format!("seed {seed}, {stamps:?}"));
        }
    }
}

#[test]
fn valid_histories_of_few_objects_and_many_clients_pass() {
    for seed in 0..300 {
        let kinds = [Kinds::Lists, Kinds::Registers, Kinds::ListsAndSets, Kinds::All][seed as usize % 4];
        for stamps in [Stamps::Given, Stamps::None] {
            let shape =
                Shape { clients: 12, objects: 1, unknown: 25, transactions: 120, ..Shape::small(kinds, stamps) };
            passes(&history(seed, shape), &format!("seed {seed}, {kinds:?}, {stamps:?}"));
        }
    }
}

#[test]
fn a_history_without_transactions_passes() {
    let report = judge(&History::default()).unwrap();
    assert!(report.is_clean());
    assert!(!report.is_whole(), "nobody read the last state");
}
