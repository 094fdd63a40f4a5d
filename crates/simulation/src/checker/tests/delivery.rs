//! The delivered view: what is told as delivered too early, and a view that shows what is not.

use iolite_client::View;
use iolite_gateway::SessionId;

use super::super::{Commits, delivery, prefix};
use super::*;
use crate::app::chairs::OfRoom;
use crate::history::{AtFront, Life, Told};

const MEMBER: ClientIndex = ClientIndex(1);
const SECOND: Moment = 1_000_000_000;
const SESSION: SessionId = SessionId(7);

fn member() -> ClientId {
    ClientId(Id::from_u128(78))
}

fn front() -> AtFront {
    (store(1), 0)
}

fn sat() -> Write {
    Write { cell: crate::app::cell("chairs", &[0], "sat"), operation: Operation::Add(1) }
}

fn life(client: ClientIndex) -> Life {
    (client, 1, Some(store(1)))
}

/// A commit of the first client at 10 that a gateway tells the other one, whose session is there.
fn told() -> History {
    let mut history = history(&[(1, CalledAs::Named), (2, CalledAs::Named)]);
    history.identities.insert(member(), MEMBER);
    add_record(&mut history, store(1), issued(1), Some(sat()), 10);
    let log = &mut history.delivery;
    log.note_applied(0, life(MEMBER), at(5));
    log.session_opened(0, 0, SESSION, member());
    log.note_fed(SECOND, front(), at(10));
    let (from, to, cells) = (at(5), at(12), [sat().cell].into());
    log.told.push(Told { store: store(1), front: 0, session: SESSION, client: member(), from, to, cells });
    history
}

fn commits(history: &History) -> Commits {
    Commits::collect(history, &history.stores[&store(1)]).expect("they are no two")
}

fn found(history: &History) -> Option<Invariant> {
    delivery::check(history, store(1), &commits(history)).err().map(|violation| violation.invariant)
}

fn say(history: &mut History, moment: Moment) {
    history.delivery.note_said(moment, front(), client(), at(10));
}

#[test]
fn what_a_member_has_not_applied_is_not_delivered() {
    let mut early = told();
    say(&mut early, SECOND);
    assert_eq!(found(&early), Some(Invariant::Delivery));
    early.delivery.note_applied(SECOND, life(MEMBER), at(12));
    assert_eq!(found(&early), Some(Invariant::Delivery), "it has by now, and had not then");
    let mut applied = told();
    applied.delivery.note_applied(SECOND, life(MEMBER), at(12));
    say(&mut applied, SECOND);
    assert_eq!(found(&applied), None);
}

/// Simulated seed 31: the member followed one cell of the row, and heard of that one in the same advance.
#[test]
fn a_member_owes_what_it_is_told_and_no_other_cell_of_the_row() {
    let mut history = told();
    history.delivery.told[0].cells = [crate::app::cell("chairs", &[0], "who")].into();
    say(&mut history, SECOND);
    assert_eq!(found(&history), None);
}

#[test]
fn a_member_is_waited_for_as_long_as_it_may_take() {
    for (after, expected) in [(2 * SECOND - 1, Some(Invariant::Delivery)), (2 * SECOND, None)] {
        let mut history = told();
        say(&mut history, SECOND + after);
        assert_eq!(found(&history), expected, "{after} ns after the feed");
    }
}

#[test]
fn who_came_later_or_whose_process_ended_is_no_member() {
    let mut restarted = told();
    restarted.delivery.note_applied(SECOND, (MEMBER, 2, Some(store(1))), at(5));
    say(&mut restarted, SECOND);
    assert_eq!(found(&restarted), None);
    let mut later = told();
    later.delivery.session_opened(SECOND, 0, SESSION, member());
    say(&mut later, SECOND);
    assert_eq!(found(&later), None, "the session began after the feed brought it");
}

#[test]
fn a_session_ends_with_the_process_of_its_gateway() {
    let after = |has_ended: bool| {
        let mut history = told();
        add_record(&mut history, store(1), issued(2), Some(sat()), 8);
        history.delivery.note_fed(SECOND / 2, front(), at(8));
        if has_ended {
            history.delivery.front_ended(2 * SECOND, front().1);
        }
        say(&mut history, SECOND / 2 * 5);
        found(&history)
    };
    assert_eq!(after(false), Some(Invariant::Delivery));
    assert_eq!(
        after(true),
        None,
        "no session is there when the commit at 8 is two seconds old, and with that all its debts end"
    );
}

#[test]
fn who_is_out_of_the_set_has_owed_something_for_two_seconds() {
    let mut history = told();
    history.delivery.note_out(2 * SECOND, front(), member());
    assert_eq!(found(&history), Some(Invariant::Delivery), "it is owed for one second");
    let mut history = told();
    history.delivery.note_out(3 * SECOND, front(), member());
    assert_eq!(found(&history), None);
}

/// The author has the chair in the delivered view as of some moment: nobody sat on it, or somebody did.
fn shows(sits: i64, at_micros: u64, heard: &[u64]) -> Sighting {
    let watcher = Watcher::Chairs(OfRoom::One { room: 0, chair: 0 });
    let mut model = Model::default();
    (0..sits).for_each(|_| model.apply(&[sat()]));
    let text = watcher.run(&mut model).expect("nothing is missing in a model");
    let heard = heard.iter().map(|counter| Counter(*counter)).collect();
    Sighting { watcher, text, heard, ..sighting(View::Delivered, at_micros, 0) }
}

#[test]
fn the_delivered_view_ends_before_the_first_own_commit_that_is_not_delivered() {
    let seen = |sits, heard: &[u64]| {
        let mut history = told();
        [at(5), at(12), at(20)].into_iter().for_each(|at| history.delivery.note_position(life(CLIENT), at));
        history.sightings = vec![shows(sits, 20, heard)];
        let commits = commits(&history);
        let places = prefix::Places::of(&history, store(1), &commits).expect("there is one");
        (places.of_sighting(&history.sightings[0]), sits)
    };
    assert_eq!(seen(0, &[]).0, at(5));
    assert_eq!(seen(1, &[1]).0, at(20));
}

#[test]
fn a_delivered_view_that_goes_back_is_found() {
    let mut history = told();
    [at(5), at(12), at(20)].into_iter().for_each(|at| history.delivery.note_position(life(CLIENT), at));
    history.sightings = vec![shows(1, 9, &[]), shows(0, 20, &[])];
    let violation = prefix::Places::of(&history, store(1), &commits(&history)).err();
    assert_eq!(violation.map(|violation| violation.invariant), Some(Invariant::ViewPrefix));
}

#[test]
fn a_life_shows_what_it_began_with_only_once_that_is_told_as_delivered() {
    let mut history = told();
    let second = (CLIENT, 2, Some(store(1)));
    history.delivery.note_position(second, at(12));
    history.delivery.note_shown(second);
    let check = |history: &History| prefix::Places::of(history, store(1), &commits(history)).is_err();
    assert!(check(&history), "nobody said so");
    let mut history = told();
    history.delivery.note_position(second, at(12));
    say(&mut history, 3 * SECOND);
    history.delivery.note_shown(second);
    assert!(!check(&history));
}
