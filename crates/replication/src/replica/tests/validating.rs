//! Validate: whether reads are true still, without a record and without waiting for one.

use std::sync::Arc;

use iolite_machine::PersistId;
use iolite_values::{Read, Timestamp};

use super::bench::{Bench, Said, at, put, read};
use super::group::Trio;
use crate::node::{Answer, Ask, Invalid, Outcome};

fn validate(row: i64, snapshot: Timestamp) -> Ask {
    Ask::Validate { snapshot, reads: Arc::from([read(row)]) as Arc<[Read]> }
}

#[test]
fn an_answer_waits_for_no_record_and_makes_none() {
    let mut bench = Bench::new();
    bench.commit(&put(1, 1), at(5));
    let changed = Answer::Valid(Err(Invalid::Changed(at(5))));
    assert_eq!(bench.ask(validate(1, at(4))), [Said::Answer(PersistId::START, changed)]);
    assert_eq!(bench.ask(validate(1, at(5))), [Said::Answer(PersistId::START, Answer::Valid(Ok(())))]);
    assert_eq!(bench.ask(validate(2, at(4))), [Said::Answer(PersistId::START, Answer::Valid(Ok(())))]);
}

#[test]
fn what_is_prepared_above_the_snapshot_is_in_the_way_until_it_is_decided() {
    let mut trio = Trio::new();
    trio.prepare(&[0, 1], &put(1, 1), at(5));
    let valid = |trio: &mut Trio, snapshot| trio.ask(0, validate(1, snapshot));
    assert_eq!(valid(&mut trio, at(4)), Some(Answer::Valid(Err(Invalid::UnderWay(at(5))))));
    assert_eq!(valid(&mut trio, at(5)), Some(Answer::Valid(Ok(()))), "what is settled is in the snapshot or dead");
    assert_eq!(trio.ask(2, validate(1, at(4))), Some(Answer::Valid(Ok(()))), "one replica may not know");
    let id = super::group::id_of(&put(1, 1), at(5));
    trio.ask(0, Ask::Outcome { id, outcome: Outcome::Aborted, proposal: None });
    assert_eq!(valid(&mut trio, at(4)), Some(Answer::Valid(Ok(()))));
    trio.commit(&[0], &put(2, 1), at(6));
    assert_eq!(valid(&mut trio, at(4)), Some(Answer::Valid(Err(Invalid::Changed(at(6))))));
}

#[test]
fn a_replica_on_the_way_to_another_view_answers_nothing() {
    let mut trio = Trio::new();
    let now = trio.now;
    trio.replicas[0].begin_view_change(now);
    assert_eq!(trio.ask(0, validate(1, at(4))), None);
}
