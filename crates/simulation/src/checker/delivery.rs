//! Delivery: what is told as delivered, everybody in the set has applied.
//!
//! The promise ([docs/protocols/delivery.md](../../../../docs/protocols/delivery.md)), as it is seen from the outside. Let a gateway tell an author, at X, that a commit is
//! delivered, and let F be when the feed brought that commit to this gateway. Then each of the following holds of every other client M:
//! - M's session began before F, and the gateway tells the commit to M in it, sooner or later: then M has run all that the commit asks of it before X;
//! - unless more than 2 s lie between F and X, or M was out of the gateway's set at some moment between them;
//! - unless M's process ended between them: what its app showed is gone with it;
//! - unless M had no session at some moment between them, and some commit came to the gateway in the 2 s before F or since, and is 2 s old at X: with that one
//!   all debts of a client without a session end.
//!
//! A client is not out of the set without having owed something for 2 s: some commit was that old when M was taken out.
//! In the end each mutation that a life of a client was told to be confirmed is told to be delivered to the same life, once.
//! Gateways are looked at one by one: with several, each waits for its own sessions only.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Cell, ClientId, StoreIncarnation, Timestamp};

use super::{Commits, Invariant, Violation};
use crate::app::chairs;
use crate::history::{Applied, History, Moment, Out, Said, Spell, Told, When};
use crate::world::World;

/// For so long a commit waits for a member (`DELIVERED_WITHIN` of the gateway).
const WITHIN: Moment = 2_000_000_000;

/// A commit to a table with the delivered view.
struct Own {
    at: Timestamp,
    author: ClientId,
    cells: BTreeSet<Cell>,
}

/// # Errors
/// A commit that was told as delivered and was not, or a client that is out of the set without a reason.
pub fn check(history: &History, store: StoreIncarnation, commits: &Commits) -> Result<(), Violation> {
    let own: Vec<Own> = own_commits(commits);
    check_out(history, store, &own)?;
    let mut through: BTreeMap<(usize, ClientId), Timestamp> = BTreeMap::new();
    for said in history.delivery.said.iter().filter(|said| said.store == store) {
        let earlier = through.entry((said.front, said.client)).or_default();
        let is_new = |own: &&Own| own.author == said.client && own.at > *earlier && own.at <= said.through;
        for commit in own.iter().filter(is_new) {
            check_told(history, store, &own, commit, said)?;
        }
        *earlier = said.through.max(*earlier);
    }
    Ok(())
}

fn own_commits(commits: &Commits) -> Vec<Own> {
    let of = |(at, completed): (&Timestamp, &super::commits::Completed)| {
        let writes = completed.writes.iter().flatten().filter(|write| write.cell.table == chairs::table());
        let cells: BTreeSet<Cell> = writes.map(|write| write.cell.clone()).collect();
        (!cells.is_empty()).then_some(Own { at: *at, author: completed.transaction.client, cells })
    };
    commits.by_time.iter().filter_map(of).collect()
}

fn check_told(
    history: &History,
    store: StoreIncarnation,
    all: &[Own],
    commit: &Own,
    said: &Said,
) -> Result<(), Violation> {
    let log = &history.delivery;
    let Some(fed) = log.fed.get(&(store, said.front, commit.at)).copied() else { return Ok(()) };
    let is_member = |told: &&Told| {
        let began = log.sessions.get(&told.session).is_some_and(|session| session.spell.from < fed);
        let is_of_it = told.from < commit.at && commit.at <= told.to && !told.cells.is_disjoint(&commit.cells);
        (told.store, told.front) == (store, said.front) && told.client != commit.author && is_of_it && began
    };
    for told in log.told.iter().filter(is_member) {
        let is_excused = said.when.moment >= fed.moment + WITHIN
            || has_applied(history, store, told.client, commit.at, said.when)
            || has_ended(history, told.client, fed, said.when)
            || was_out(history, said.front, told.client, fed, said.when)
            || was_away(history, store, all, told, fed, said.when);
        if !is_excused {
            let what = format!(
                "the commit of {:?} at {:?}, which the feed brought at {fed:?}, was told as delivered at {:?}, and {:?} of {told:?} has applied {:?}",
                commit.author,
                commit.at,
                said.when,
                history.identities.get(&told.client),
                last_applied(history, told.client, said.when),
            );
            return Err(Violation::new(Invariant::Delivery, what));
        }
    }
    Ok(())
}

fn applied_of(history: &History, client: ClientId) -> &[Applied] {
    let own = history.identities.get(&client).and_then(|index| history.delivery.applied.get(index));
    own.map_or(&[], Vec::as_slice)
}

fn last_applied(history: &History, client: ClientId, when: When) -> Option<&Applied> {
    applied_of(history, client).iter().rfind(|applied| applied.when < when)
}

fn has_applied(history: &History, store: StoreIncarnation, client: ClientId, at: Timestamp, when: When) -> bool {
    let before = applied_of(history, client).iter().take_while(|applied| applied.when < when);
    before.into_iter().any(|applied| applied.store == Some(store) && applied.at >= at)
}

/// Whether the client's process ended meanwhile.
fn has_ended(history: &History, client: ClientId, from: When, until: When) -> bool {
    let life = |when| last_applied(history, client, when).map(|applied| applied.life);
    life(from) != life(until)
}

fn was_out(history: &History, front: usize, client: ClientId, from: When, until: When) -> bool {
    let of = |out: &Out| (out.front, out.client) == (front, client);
    history.delivery.out.iter().any(|out| of(out) && out.spell.meets(from, until))
}

fn was_away(history: &History, store: StoreIncarnation, all: &[Own], told: &Told, from: When, until: When) -> bool {
    let log = &history.delivery;
    let own = log.sessions.values().filter(|own| (own.front, own.client) == (told.front, told.client));
    let is_there_all_the_time = own.into_iter().any(|own| own.spell.covers(from, until));
    let ages = |other: &Own| {
        let fed = log.fed.get(&(store, told.front, other.at));
        fed.is_some_and(|fed| fed.moment + WITHIN >= from.moment && fed.moment + WITHIN <= until.moment)
    };
    !is_there_all_the_time && all.iter().any(ages)
}

fn check_out(history: &History, store: StoreIncarnation, all: &[Own]) -> Result<(), Violation> {
    let log = &history.delivery;
    for out in log.out.iter().filter(|out| out.store == store) {
        let Spell { from, .. } = out.spell;
        let is_old = |own: &Own| {
            let fed = log.fed.get(&(store, out.front, own.at));
            own.author != out.client && fed.is_some_and(|fed| fed.moment + WITHIN <= from.moment)
        };
        // A life of a gateway may learn of a commit when it starts, and of none before.
        if !all.iter().any(is_old) {
            return Err(Violation::new(Invariant::Delivery, format!("{out:?} owed nothing for so long")));
        }
    }
    Ok(())
}

/// The end: everything that a client's last life was told to be confirmed, it was told to be delivered.
///
/// # Errors
/// A mutation of which it was told never, or twice.
pub fn check_last(world: &World) -> Result<(), Violation> {
    let history = &world.history;
    let mut heard = BTreeSet::new();
    for (life, counter) in &history.delivery.heard {
        if !heard.insert((*life, *counter)) {
            let what = format!("{counter:?} was told to be delivered twice in {life:?}");
            return Err(Violation::new(Invariant::Delivery, what));
        }
    }
    for node in &world.clients {
        let life = node.life();
        let own = history.calls.iter().filter(|((client, _), _)| *client == node.index);
        let never = own
            .into_iter()
            .find(|((_, counter), _)| node.has_confirmed(*counter) && !heard.contains(&(life, *counter)));
        if let Some(((_, counter), called)) = never {
            let what = format!("{counter:?} {called:?} of {life:?} was confirmed and never told to be delivered");
            return Err(Violation::new(Invariant::Delivery, what));
        }
    }
    Ok(())
}
