//! The rules of one snapshot.
//!
//! Source: Zawirski 2013, 2.1 and 3.1: causally consistent snapshots, atomic, monotonic, with the client's own changes.

use std::collections::BTreeSet;

use crate::centres::app::{Did, STAYING};
use crate::centres::names::{Name, Names};
use crate::centres::snapshot::{Person, Snapshot};
use crate::centres::told::{CentresTold, Views};
use crate::checker::{Invariant, Violation};
use crate::history::ClientIndex;

/// # Errors
/// The first promise that the snapshot breaks.
pub fn judge(told: &CentresTold, client: ClientIndex, view: Views, snapshot: &Snapshot) -> Result<(), Violation> {
    let own = told.clients.get(&client).cloned().unwrap_or_default();
    let rules = [
        (Invariant::MonotonicReads, own.shown_in(view)),
        (Invariant::OwnWritesVisible, own.required(view)),
        (Invariant::Causality, past_of(told, snapshot)),
    ];
    let broken = rules.iter().find_map(|(invariant, required)| Some((*invariant, lacking(told, snapshot, required)?)));
    let broken = broken.map(|(invariant, (row, name))| (invariant, describe(told, snapshot, row, name)));
    let broken = broken.or_else(|| first_unlike(told, snapshot));
    let Some((invariant, what)) = broken else { return Ok(()) };
    let what = format!("{client:?} was shown this in its view {view:?}: {what}. The snapshot: {snapshot:?}");
    Err(Violation::new(invariant, what))
}

/// A missing name in words, with a call that shows that it had to be there.
fn describe(told: &CentresTold, snapshot: &Snapshot, row: i64, name: Name) -> String {
    let calls = snapshot.names().iter().filter_map(|shown| Some((shown, told.calls.get(&shown)?))).collect::<Vec<_>>();
    let after = calls.iter().find(|(_, call)| call.past.has(name));
    format!("person {row} lacks call {name}, {:?}, before {after:?}", told.calls.get(&name))
}

/// With each name that is shown, those that its author had seen or done before.
fn past_of(told: &CentresTold, snapshot: &Snapshot) -> Names {
    let names = snapshot.names();
    let mut past = names.clone();
    names.iter().filter_map(|name| told.calls.get(&name)).for_each(|call| past.add(&call.past));
    past
}

/// The first row, and a name that had to be in it.
fn lacking(told: &CentresTold, snapshot: &Snapshot, required: &Names) -> Option<(i64, Name)> {
    let none = Names::default();
    (0..STAYING).find_map(|row| {
        let seen = snapshot.people.get(&row).map_or(&none, |person| &person.seen);
        let name = required.first_lacking(told.wrote.get(&row)?, seen)?;
        Some((row, name))
    })
}

/// The first value that is not what the shown calls come to.
fn first_unlike(told: &CentresTold, snapshot: &Snapshot) -> Option<(Invariant, String)> {
    let mut people = snapshot.staying();
    people.find_map(|(id, person)| unlike_person(told, id, person)).or_else(|| unlike_wall(told, snapshot))
}

fn unlike_person(told: &CentresTold, id: i64, person: &Person) -> Option<(Invariant, String)> {
    if let Some(name) = person.seen.iter().find(|name| did(told, *name).is_none_or(|did| !did.has_written(id))) {
        return Some((Invariant::Durability, format!("person {id} has call {name}, which did not write them")));
    }
    let calls: Vec<(Name, &Did)> = person.seen.iter().filter_map(|name| Some((name, did(told, name)?))).collect();
    let visits: i64 = calls.iter().flat_map(|(_, did)| &did.visits).filter(|(of, _)| *of == id).map(|own| own.1).sum();
    if visits != person.visits {
        let what = format!("person {id} has {} visits, and the calls shown made {visits}", person.visits);
        return Some((Invariant::ExactlyOnce, what));
    }
    let status = statuses(&calls, id);
    if !status.contains(&person.status) {
        let what =
            format!("person {id} has status {}, and of the calls shown one of {status:?} is last", person.status);
        return Some((Invariant::Merged, what));
    }
    let friends = friends(&calls, id);
    (friends != person.friends).then(|| {
        let what = format!("person {id} has friends {:?}, and by the calls shown {friends:?}", person.friends);
        (Invariant::Merged, what)
    })
}

/// The assignments of a status that no other one had seen.
fn statuses(calls: &[(Name, &Did)], id: i64) -> BTreeSet<Name> {
    let said = || calls.iter().filter(|(_, did)| did.said.contains(&id));
    let is_last = |name: Name| !said().any(|(other, did)| *other != name && did.saw(id, name));
    said().map(|(name, _)| *name).filter(|name| is_last(*name)).collect()
}

/// Friends whom somebody made whose doing no parting had seen.
fn friends(calls: &[(Name, &Did)], id: i64) -> BTreeSet<i64> {
    let made = calls.iter().flat_map(|(name, did)| did.befriended.iter().map(move |own| (*name, *own)));
    let stays = |(name, pair): &(Name, (i64, i64))| {
        !calls.iter().any(|(_, did)| did.parted.contains(pair) && did.saw(id, *name))
    };
    made.filter(|(_, (of, _))| *of == id).filter(stays).map(|(_, (_, friend))| friend).collect()
}

fn unlike_wall(told: &CentresTold, snapshot: &Snapshot) -> Option<(Invariant, String)> {
    let mut posts = BTreeSet::new();
    for (id, person) in snapshot.staying() {
        let calls = || person.seen.iter().filter_map(|name| Some((name, did(told, name)?)));
        let gone: BTreeSet<Name> = calls().filter_map(|(_, did)| did.unposted).map(|(_, post)| post).collect();
        let made = calls().filter_map(|(name, did)| Some((name, did.posted?)));
        posts.extend(made.filter(|(name, _)| !gone.contains(name)).map(|(name, (_, by))| ((id, name), by)));
    }
    let shown: BTreeSet<_> = snapshot.wall.iter().map(|(place, by)| (*place, *by)).collect();
    let other: Vec<_> = shown.symmetric_difference(&posts).collect();
    (!other.is_empty()).then(|| {
        (
            Invariant::Causality,
            format!("of these posts the wall shows one thing and the people's names another: {other:?}"),
        )
    })
}

fn did(told: &CentresTold, name: Name) -> Option<&Did> {
    told.calls.get(&name)?.did.as_ref()
}

impl Did {
    fn has_written(&self, id: i64) -> bool {
        self.rows.iter().any(|(row, _)| *row == id)
    }

    /// Whether the call saw another one in a row that it wrote.
    fn saw(&self, id: i64, name: Name) -> bool {
        self.rows.iter().any(|(row, saw)| *row == id && saw.has(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: ClientIndex = ClientIndex(0);

    /// Call 1 made 0 and 1 friends, and call 2 had seen that: it visited 1.
    fn told() -> CentresTold {
        let mut told = CentresTold::default();
        told.note_called(CLIENT, 1);
        let rows = vec![(0, Names::default()), (1, Names::default())];
        told.note_run(1, Did { rows, befriended: vec![(0, 1), (1, 0)], said: vec![0, 1], ..Did::default() });
        told.note_called(CLIENT, 2);
        let rows = vec![(1, [1].into_iter().collect())];
        told.note_run(2, Did { rows, visits: vec![(1, 5)], ..Did::default() });
        told
    }

    fn person(friend: i64, visits: i64, seen: &[Name]) -> Person {
        Person { status: 1, friends: [friend].into(), visits, seen: seen.iter().copied().collect() }
    }

    fn snapshot(one: Person, other: Person) -> Snapshot {
        Snapshot { people: [(0, one), (1, other)].into(), wall: [].into() }
    }

    fn found(told: &CentresTold, view: Views, snapshot: &Snapshot) -> Option<Invariant> {
        judge(told, CLIENT, view, snapshot).err().map(|violation| violation.invariant)
    }

    #[test]
    fn a_snapshot_of_all_or_of_the_first_call_is_right() {
        let told = told();
        let confirmed = |one, other| found(&told, Views::Confirmed, &snapshot(one, other));
        assert_eq!(confirmed(person(1, 0, &[1]), person(0, 5, &[1, 2])), None);
        assert_eq!(confirmed(person(1, 0, &[1]), person(0, 0, &[1])), None);
        assert_eq!(found(&told, Views::Confirmed, &Snapshot::default()), None);
    }

    #[test]
    fn half_of_a_call_and_a_call_without_its_past_are_found() {
        let told = told();
        let half = Snapshot { people: [(0, person(1, 0, &[1]))].into(), wall: [].into() };
        assert_eq!(found(&told, Views::Confirmed, &half), Some(Invariant::Causality));
        let later = Person { friends: [].into(), ..person(0, 5, &[2]) };
        let without = Snapshot { people: [(1, later)].into(), wall: [].into() };
        assert_eq!(found(&told, Views::Confirmed, &without), Some(Invariant::Causality));
    }

    #[test]
    fn what_was_shown_or_is_on_the_device_stays() {
        let mut told = told();
        told.note_durable(CLIENT, 2);
        let first = snapshot(person(1, 0, &[1]), person(0, 0, &[1]));
        assert_eq!(found(&told, Views::Optimistic, &first), Some(Invariant::OwnWritesVisible));
        assert_eq!(found(&told, Views::Confirmed, &first), None);
        told.note_snapshot(CLIENT, iolite_client::View::Confirmed, first);
        assert_eq!(found(&told, Views::Confirmed, &Snapshot::default()), Some(Invariant::MonotonicReads));
    }

    #[test]
    fn values_that_the_calls_shown_do_not_come_to_are_found() {
        let told = told();
        let with = |other| found(&told, Views::Confirmed, &snapshot(person(1, 0, &[1]), other));
        assert_eq!(with(person(0, 10, &[1, 2])), Some(Invariant::ExactlyOnce), "twice");
        assert_eq!(with(person(3, 5, &[1, 2])), Some(Invariant::Merged), "another friend");
        assert_eq!(with(Person { status: 2, ..person(0, 5, &[1, 2]) }), Some(Invariant::Merged), "no such status");
        assert_eq!(with(person(0, 5, &[1, 2, 3])), Some(Invariant::Durability), "no such call");
        let mut wall = snapshot(person(1, 0, &[1]), person(0, 0, &[1]));
        wall.wall.insert((0, 9), 1);
        assert_eq!(found(&told, Views::Confirmed, &wall), Some(Invariant::Causality), "a post of no call");
    }

    #[test]
    fn calls_of_others_and_confirmed_own_ones_are_promised() {
        const OTHER: ClientIndex = ClientIndex(1);
        let mut told = told();
        let both = snapshot(person(1, 0, &[1]), person(0, 5, &[1, 2]));
        let promised = |told: &CentresTold, client| told.clients[&client].promised.iter().collect::<Vec<_>>();
        told.note_snapshot(CLIENT, iolite_client::View::Optimistic, both.clone());
        assert!(promised(&told, CLIENT).is_empty(), "own ones are on its device");
        told.note_confirmed(CLIENT, 1);
        told.note_snapshot(OTHER, iolite_client::View::Optimistic, both);
        assert_eq!((promised(&told, CLIENT), promised(&told, OTHER)), (vec![1], vec![1, 2]));
    }
}
