//! What commits on top of what was decided at once, and a merge of three of five that does not know how the first one ended (flaw 7).

use iolite_values::{Operation, Timestamp};

use super::bench::{at, close, put, read, reading, write};
use super::group::{Trio, id_of};
use crate::broken::Broken;
use crate::node::{Ask, Objection, Outcome, Vote};

/// Two hear how the first one ended, at 5.
fn tell_two(five: &mut Trio) {
    for replica in [0, 2] {
        let ended = Ask::Outcome { id: id_of(&put(1, 1), at(5)), outcome: Outcome::Committed, proposal: None };
        five.ask(replica, ended);
    }
}

#[test]
fn four_of_five_as_published_lose_what_they_decided_to_what_commits_after_it() {
    let mut five = Trio::broken(5, Broken::FastAsPublished);
    assert_eq!(five.prepare(&[0, 1, 2, 3], &put(1, 1), at(5)), [Vote::Ok; 4], "decided, as published");
    tell_two(&mut five);
    five.commit(&[0, 2, 4], &put(2, 1), at(10));
    five.merge();
    assert_eq!(five.vote(&put(1, 1), at(5)), Vote::No, "its client was told that it committed");
}

#[test]
fn nothing_commits_after_what_all_decided_before_a_majority_knows_how_that_ended() {
    let mut five = Trio::of(5);
    assert_eq!(five.prepare(&[0, 1, 2, 3, 4], &put(1, 1), at(5)), [Vote::Ok; 5]);
    tell_two(&mut five);
    assert_eq!(five.prepare(&[0, 2], &put(2, 1), at(10)), [Vote::Ok; 2]);
    let with = id_of(&put(1, 1), at(5));
    for replica in [1, 3, 4] {
        assert_eq!(five.objection(replica, &put(2, 1), at(10)), Some(Objection::Busy { with }));
    }
    five.merge();
    assert_eq!(five.vote(&put(1, 1), at(5)), Vote::Ok);
}

/// Who had voted for the reader is the one that gives the record, and the reader is settled.
fn merged_below_a_reader(broken: Broken) -> Vote {
    let mut five = Trio::broken(5, broken);
    assert_eq!(five.prepare(&[3, 4], &put(1, 1), at(10)), [Vote::Ok; 2]);
    let reader = reading(2, at(1), vec![read(1)], vec![write(2, Operation::Add(1))]);
    five.commit(&[0, 1, 2], &reader, at(20));
    five.ask(1, close(at(30), Timestamp::ZERO));
    five.merge();
    five.vote(&put(1, 1), at(10))
}

#[test]
fn a_write_does_not_come_to_stand_below_a_committed_transaction_that_read_what_it_writes() {
    assert_eq!(merged_below_a_reader(Broken::Nothing), Vote::No);
    assert_eq!(merged_below_a_reader(Broken::FastAsPublished), Vote::Ok, "two of three may have been a fast quorum");
}
