//! Opening while replicas come back with another history.

use iolite_values::{Id, StoreIncarnation, Timestamp};

use super::bench::{STORE, opened};
use super::two_shards::Bench;
use crate::node::{Answer, Ask, View};

const OTHER: StoreIncarnation = StoreIncarnation(Id::from_u128(6));

fn is_open(ask: &Ask) -> bool {
    matches!(ask, Ask::Open)
}

fn is_begin(ask: &Ask) -> bool {
    matches!(ask, Ask::Begin)
}

/// Says where it stands, in this history.
fn say_opened(bench: &mut Bench, store: StoreIncarnation, replica: u64) {
    bench.answer_of(store, View::default(), replica, is_open, opened(Timestamp::ZERO));
}

/// Whom it has asked so since the test looked last, once each.
fn asked(bench: &mut Bench, which: fn(&Ask) -> bool) -> Vec<u64> {
    bench.listen();
    let told = std::mem::take(&mut bench.told);
    let mut asked: Vec<u64> = told.iter().filter(|(_, message)| which(&message.ask)).map(|(to, _)| to.0).collect();
    asked.sort_unstable();
    asked.dedup();
    bench.told = told;
    asked
}

#[test]
fn replicas_that_come_back_with_another_history_before_the_store_is_open_are_opened_anew() {
    let mut bench = Bench::new();
    for replica in [0, 1, 3, 4] {
        say_opened(&mut bench, STORE, replica);
    }
    assert_eq!(asked(&mut bench, is_begin), [0, 1, 2, 3, 4, 5]);
    bench.told.retain(|(_, message)| !is_open(&message.ask));
    bench.answer_of(OTHER, View::default(), 0, is_begin, Answer::WrongStore);
    assert_eq!(asked(&mut bench, is_open), [0; 0], "a majority may have this history still");
    bench.answer_of(OTHER, View::default(), 1, is_begin, Answer::WrongStore);
    assert_eq!(asked(&mut bench, is_open), [0, 1, 2, 3, 4, 5]);
    bench.told.retain(|(_, message)| !is_begin(&message.ask));
    for replica in [0, 1, 3, 4] {
        say_opened(&mut bench, OTHER, replica);
    }
    assert_eq!(asked(&mut bench, is_begin), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn who_answered_before_it_came_back_with_another_history_is_asked_again() {
    let mut bench = Bench::new();
    for replica in [0, 3, 4] {
        say_opened(&mut bench, STORE, replica);
    }
    bench.told.clear();
    bench.pass(90_000);
    assert_eq!(asked(&mut bench, is_open), [0; 0]);
    bench.pass(20_000);
    assert_eq!(asked(&mut bench, is_open), [1, 2, 5], "these have not answered");
    say_opened(&mut bench, OTHER, 1);
    bench.told.clear();
    bench.pass(110_000);
    assert_eq!(asked(&mut bench, is_open), [0, 3, 4], "these are told of no other history before");
    for replica in [0, 3, 4] {
        say_opened(&mut bench, OTHER, replica);
    }
    assert_eq!(asked(&mut bench, is_begin), [0, 1, 2, 3, 4, 5]);
}
