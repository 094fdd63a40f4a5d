//! Lives of coordinators: a later one ends what earlier ones can do.

use iolite_values::Timestamp;

use super::bench::{Bench, STORE, Said, add, at, close, prepare};
use crate::node::{Answer, Ask, Life, Opened, Term};

/// The answer to a life.
fn told(bench: &mut Bench, term: u32, life: u64, ask: Ask) -> Answer {
    match bench.ask_in(Some(STORE), Term(term), Life(life), ask).pop() {
        Some(Said::Answer(_, answer)) => answer,
        other => panic!("no answer: {other:?}"),
    }
}

#[test]
fn an_earlier_life_is_told_of_the_later_one_whatever_it_asks() {
    let mut bench = Bench::new();
    assert_eq!(told(&mut bench, 2, 7, Ask::Begin), Answer::Begun);
    let superseded = Answer::Superseded { term: Term(2) };
    for ask in [Ask::Begin, prepare(&add(1, 1), at(5)), close(at(5), Timestamp::ZERO)] {
        assert_eq!(told(&mut bench, 1, 1, ask), superseded);
    }
    // Open asks for it.
    assert_eq!(
        told(&mut bench, 1, 1, Ask::Open),
        Answer::Opened(Opened { term: Term(2), complete: Timestamp::ZERO, latest: Timestamp::ZERO })
    );
    assert!(matches!(told(&mut bench, 2, 7, close(at(5), Timestamp::ZERO)), Answer::Closed(Ok(_))));
    assert_eq!(told(&mut bench, 2, 8, Ask::Begin), superseded, "a term has one life");
}
