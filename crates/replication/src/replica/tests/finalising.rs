//! Finalise, asked again.

use super::bench::{at, put};
use super::group::{Trio, id_of};
use crate::node::{Answer, Ask, Ballot, View, Vote};

#[test]
fn a_finalise_that_comes_again_is_answered_again_and_recorded_once() {
    let mut trio = Trio::new();
    let transaction = put(1, 1);
    trio.prepare(&[0, 1], &transaction, at(5));
    let id = id_of(&transaction, at(5));
    let finalise = Ask::Finalise { id, view: View::default(), ballot: Ballot::FIRST, vote: Vote::Ok, proposal: None };
    let before = trio.records[0].len();
    let first = trio.ask(0, finalise.clone());
    assert!(matches!(&first, Some(Answer::Voted(voted)) if voted.finalised == Some(Ballot::FIRST)), "{first:?}");
    assert_eq!(trio.records[0].len(), before + 1);
    assert_eq!(trio.ask(0, finalise), first);
    assert_eq!(trio.records[0].len(), before + 1, "it is in the journal already");
}
