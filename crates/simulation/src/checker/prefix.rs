//! Prefixes: what the delivered view of a client shows is the confirmed state as of D, and D never goes back.
//!
//! D is the client's own confirmed state before the one that contains its first commit to a table with the delivered view that is not delivered yet;
//! with no such commit it is the confirmed state. Each of these states is one at a timestamp, so the view is the confirmed one with changes taken
//! off its end. A commit is delivered once the client has told its app so. One that the client contained already when its process began is
//! delivered once a gateway has told so: the app is told nothing of it.

use std::collections::BTreeMap;

use iolite_client::View;
use iolite_values::{Counter, StoreIncarnation, Timestamp};

use super::commits::Completed;
use super::{Commits, Invariant, Violation};
use crate::app::chairs;
use crate::history::{CalledAs, History, Issued, Life, Said, Sighting};

/// The timestamps of the states that sightings show.
#[derive(Debug, Default)]
pub struct Places(BTreeMap<(Life, Timestamp, usize), Timestamp>);

impl Places {
    /// # Errors
    /// A delivered view that went back.
    pub fn of(history: &History, store: StoreIncarnation, commits: &Commits) -> Result<Places, Violation> {
        check_beginnings(history, store, commits)?;
        let mut places = Places::default();
        let mut last: BTreeMap<Life, Timestamp> = BTreeMap::new();
        let own = |sighting: &&Sighting| sighting.store == Some(store) && sighting.view == View::Delivered;
        for sighting in history.sightings.iter().filter(own) {
            let place = place(history, commits, sighting);
            let earlier = last.entry(life(sighting)).or_default();
            if place < *earlier {
                let what = format!("{sighting:?} shows the state as of {place:?}, and an earlier one {earlier:?}");
                return Err(Violation::new(Invariant::ViewPrefix, what));
            }
            *earlier = place;
            places.0.insert(key(sighting), place);
        }
        Ok(places)
    }

    pub fn of_sighting(&self, sighting: &Sighting) -> Timestamp {
        if sighting.view != View::Delivered {
            return sighting.at;
        }
        self.0.get(&key(sighting)).copied().unwrap_or(sighting.at)
    }
}

/// All that a place depends on.
fn key(sighting: &Sighting) -> (Life, Timestamp, usize) {
    (life(sighting), sighting.at, sighting.heard.len())
}

fn life(sighting: &Sighting) -> Life {
    (sighting.client, sighting.life, sighting.store)
}

fn place(history: &History, commits: &Commits, sighting: &Sighting) -> Timestamp {
    let first = commits.by_time.range(..=sighting.at).find(|(at, completed)| {
        completed.mutation.is_some_and(|own| is_awaited(history, sighting, **at, own)) && is_followed(completed)
    });
    let before = first.and_then(|(at, _)| history.delivery.before(life(sighting), *at));
    before.unwrap_or(sighting.at)
}

fn is_followed(completed: &Completed) -> bool {
    completed.writes.iter().flatten().any(|write| write.cell.table == chairs::table())
}

/// Whether a commit is the client's own, and the app waits to hear that it is delivered.
fn is_awaited(history: &History, sighting: &Sighting, at: Timestamp, mutation: Issued) -> bool {
    let own_life = life(sighting);
    if mutation.0 != sighting.client || sighting.heard.contains(&mutation.1) {
        return false;
    }
    // A process knows nothing of the closures that the one before it left behind.
    let Some(called) = history.calls.get(&mutation) else { return false };
    let is_left_behind = called.called_as == CalledAs::Closure && called.life < sighting.life;
    history.delivery.before(own_life, at).is_some() && !is_left_behind
}

/// A life that contained own commits when it began shows nothing in the delivered view before it was told of each of them, or an earlier life was.
fn check_beginnings(history: &History, store: StoreIncarnation, commits: &Commits) -> Result<(), Violation> {
    let log = &history.delivery;
    for (life, shown) in log.shown.iter().filter(|(life, _)| life.2 == Some(store)) {
        let began = log.began(*life).unwrap_or(Timestamp::ZERO);
        let own = commits.by_time.range(..=began).filter(|(_, completed)| is_followed(completed));
        for (at, completed) in own {
            let Some(mutation) = completed.mutation.filter(|mutation| mutation.0 == life.0) else { continue };
            let by_life = |(heard, counter): &(Life, Counter)| {
                (heard.0, heard.2, *counter) == (life.0, life.2, mutation.1) && heard.1 < life.1
            };
            let by_gateway = |said: &Said| {
                let is_own = history.identities.get(&said.client) == Some(&life.0) && said.store == store;
                is_own && said.through >= *at && said.when.order <= *shown
            };
            if !log.heard.iter().any(by_life) && !log.said.iter().any(by_gateway) {
                let what = format!(
                    "{life:?} shows the delivered view, and nobody said that {mutation:?} at {at:?} is delivered"
                );
                return Err(Violation::new(Invariant::ViewPrefix, what));
            }
        }
    }
    Ok(())
}
