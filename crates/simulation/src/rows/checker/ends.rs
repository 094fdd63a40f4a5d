//! How calls ended: each once, and in the way that clients were told.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Counter, StoreIncarnation, Timestamp};

use super::States;
use crate::app::Call;
use crate::checker::{Commits, Invariant, Violation};
use crate::history::{Called, ClientIndex, End, EndedAs, History, Issued, Moment};
use crate::rows::OfRows;
use crate::rows::app::{Did, Effect, Synced, number};
use crate::rows::told::{Keeps, RowOf};

/// # Errors
/// A call whose end in this history of the store is not what the store has.
pub fn check(history: &History, store: StoreIncarnation, commits: &Commits, states: &States) -> Result<(), Violation> {
    for (call, called) in &history.calls {
        if !called.is_kept() {
            commits.check_end(store, *call, called)?;
        } else if let Some(recorded @ (_, true)) = commits.recorded(*call) {
            let what = format!("{call:?} {:?} is kept, and the store has {recorded:?} under its counter", called.call);
            return Err(Violation::new(Invariant::ExactlyOnce, what));
        } else if let (Some(end), Some(keeps)) = (called.ends.get(&Some(store)), history.rows.calls.get(call)) {
            check_kept(history, (store, *call), (called, end), keeps, states)?;
        }
    }
    check_refused_groups(history, store)?;
    for (call, first, second) in &history.rows.told_twice {
        if [first, second]
            .into_iter()
            .any(|at| commits.by_time.get(at).is_some_and(|own| own.mutation.is_some_and(|own| own.0 == call.0)))
        {
            let what = format!("{call:?} was confirmed at {first:?}, and at {second:?}");
            return Err(Violation::new(Invariant::ExactlyOnce, what));
        }
    }
    Ok(())
}

/// # Errors
/// A call that was promised to be sent, and never ended.
pub fn check_all(history: &History, states: &States) -> Result<(), Violation> {
    let is_lost = |(call, called): &(&Issued, &Called)| {
        let is_decided = history.rows.decided_against.contains_key(call) || called.call == Call::Rows(OfRows::Decide);
        let is_silent = history.rows.gone_at_restart.contains(call) && had_nothing_to_send(history, **call, states);
        called.durable && called.ends.is_empty() && !history.was_asked_back(**call) && !is_decided && !is_silent
    };
    let Some((call, called)) = history.calls.iter().find(is_lost) else { return Ok(()) };
    let what = format!("{call:?} {:?} was durable and never ended", called.call);
    Err(Violation::new(Invariant::Durability, what))
}

/// Whether all that a call wrote was deleted again by the same client, or deleted a row that was gone.
fn had_nothing_to_send(history: &History, call: Issued, states: &States) -> bool {
    let Some(keeps) = history.rows.calls.get(&call) else { return false };
    let own = || history.rows.calls.iter().filter(|(other, _)| other.0 == call.0).flat_map(|(_, keeps)| &keeps.effects);
    keeps.effects.iter().all(|effect| match effect.did {
        Did::Delete => states.was_gone(effect.table.table(), &effect.key, keeps.at, Timestamp::MAX),
        Did::Insert(..) | Did::Put(..) => own().any(|later| {
            later.did == Did::Delete
                && (later.table, &later.key) == (effect.table, &effect.key)
                && later.place > effect.place
        }),
    })
}

fn check_kept(
    history: &History,
    (store, call): (StoreIncarnation, Issued),
    (called, end): (&Called, &End),
    keeps: &Keeps,
    states: &States,
) -> Result<(), Violation> {
    let wrong = |what: String| {
        let what = format!("{call:?} with {keeps:?} ended as {end:?}: {what}");
        Err(Violation::new(Invariant::Durability, what))
    };
    match &end.how {
        EndedAs::Confirmed(at) => {
            if *at > end.confirmed_through {
                return wrong("that is later than the confirmed state".into());
            }
            for effect in &keeps.effects {
                let is_lost = !is_there(effect, *at, states)
                    && !is_covered(history, store, call, effect, *at)
                    && !is_undone(history, store, call, effect, *at);
                if is_lost {
                    let rows = states.of(effect.table.table(), &effect.key);
                    let others = calls_of(history, (call.0, effect.table, effect.key.clone()));
                    return wrong(format!("{effect:?} is not in {rows:?}, of the calls {others:?}"));
                }
            }
            Ok(())
        }
        EndedAs::Overruled | EndedAs::Rejected(_) | EndedAs::Cancelled(_) | EndedAs::Quarantined(_) => {
            if let EndedAs::Rejected(_) = end.how
                && !was_refusable(keeps, store, called, end, states)
            {
                let rows: Vec<_> =
                    keeps.effects.iter().map(|effect| states.of(effect.table.table(), &effect.key)).collect();
                let others =
                    keeps.effects.first().map(|first| calls_of(history, (call.0, first.table, first.key.clone())));
                return wrong(format!(
                    "neither does the server refuse it, nor was a row gone that it updates: {rows:?}, of the calls {others:?}"
                ));
            }
            let is_wrong = |effect: &&Effect| {
                end.how != EndedAs::Overruled
                    && was_ever(effect, states)
                    && !was_kept_by_person(history, call.0, effect)
            };
            match keeps.effects.iter().find(is_wrong) {
                Some(effect) => {
                    let rows = states.of(effect.table.table(), &effect.key);
                    let others = calls_of(history, (call.0, effect.table, effect.key.clone()));
                    wrong(format!("{effect:?} was in the store all the same: {rows:?}, of the calls {others:?}"))
                }
                None => Ok(()),
            }
        }
    }
}

/// All kept calls that have written a row of a client, with how they ended, for people.
fn calls_of(history: &History, (client, table, key): RowOf) -> Vec<(Counter, Vec<&Effect>, Option<&Called>)> {
    let of_client = history.rows.calls.iter().filter(|(call, _)| call.0 == client);
    let of_row = of_client.map(|(call, keeps)| {
        let own = keeps.effects.iter().filter(|effect| effect.table == table && effect.key == key);
        (call.1, own.collect(), history.calls.get(call))
    });
    of_row.filter(|(_, effects, _): &(Counter, Vec<&Effect>, _)| !effects.is_empty()).collect()
}

/// Whether a row shows an effect.
fn is_there(effect: &Effect, at: Timestamp, states: &States) -> bool {
    let row = states.at(effect.table.table(), &effect.key, at);
    match effect.did.value() {
        Some((column, value)) => number(&row, column) == Some(value),
        None => !row.exists(),
    }
}

/// Whether a person kept a local row that shows an effect.
fn was_kept_by_person(history: &History, client: ClientIndex, effect: &Effect) -> bool {
    effect.did.value().is_some_and(|(column, value)| {
        effect.table == Synced::Notes && history.rows.kept_local.contains(&(client, effect.key.clone(), column, value))
    })
}

fn was_ever(effect: &Effect, states: &States) -> bool {
    let Some((column, value)) = effect.did.value() else { return false };
    states.ever(effect.table.table()).any(|(key, row)| *key == effect.key && number(row, column) == Some(value))
}

/// The calls of a client that were told to be confirmed with one.
fn together(history: &History, store: StoreIncarnation, call: Issued, at: Timestamp) -> impl Iterator<Item = &Keeps> {
    let went_along = move |(other, _): &(&Issued, &Keeps)| {
        let end = history.calls.get(other).and_then(|called| called.ends.get(&Some(store)));
        end.is_some_and(|end| end.how == EndedAs::Confirmed(at))
    };
    let of_client = history.rows.calls.range((call.0, Counter(0))..=(call.0, Counter(u64::MAX)));
    of_client.filter(went_along).map(|(_, keeps)| keeps)
}

/// Whether it deletes a row that calls which went with it had inserted: there is nothing to send then.
fn is_undone(history: &History, store: StoreIncarnation, call: Issued, effect: &Effect, at: Timestamp) -> bool {
    let id = (effect.table, effect.key.clone());
    let mut rests = together(history, store, call, at).filter_map(|keeps| keeps.rests.get(&id));
    effect.did == Did::Delete && rests.any(|rests| rests.bases.last().is_some_and(|(_, base)| !base.exists()))
}

/// Whether a later call that went with it has written the same.
fn is_covered(history: &History, store: StoreIncarnation, call: Issued, effect: &Effect, at: Timestamp) -> bool {
    let others = together(history, store, call, at).flat_map(|keeps| &keeps.effects);
    let same = |own: &&Effect| own.table == effect.table && own.key == effect.key && own.place > effect.place;
    others.filter(same).any(|own| match effect.did.value() {
        Some((column, _)) => own.did.covers(column),
        None => true,
    })
}

/// Whether the server refuses a value of a call, or a row was gone that it updates.
fn was_refusable(keeps: &Keeps, store: StoreIncarnation, called: &Called, end: &End, states: &States) -> bool {
    let from = if keeps.store == Some(store) { keeps.at } else { Timestamp::ZERO };
    // A client that was started again may show an older state than the one in which the call ended.
    let to = if called.life == end.life { end.confirmed_through } else { Timestamp::MAX };
    // Others of its group may be why (`check_refused_groups`).
    let of_notes = keeps.rests.keys().any(|(table, _)| *table == Synced::Notes);
    let updates = keeps.effects.iter().filter(|effect| !matches!(effect.did, Did::Insert(..)));
    of_notes || updates.into_iter().any(|effect| states.was_gone(effect.table.table(), &effect.key, from, to))
}

/// Notes that a client was told at one moment to be refused: each is joined by rows to one of which the server refuses a value.
fn check_refused_groups(history: &History, store: StoreIncarnation) -> Result<(), Violation> {
    let mut unknown: BTreeSet<(ClientIndex, Moment)> = BTreeSet::new();
    let mut refused: BTreeMap<(ClientIndex, Moment), Vec<(Issued, &Keeps)>> = BTreeMap::new();
    for (call, keeps) in &history.rows.calls {
        let Some(called) = history.calls.get(call) else { continue };
        let Some(End { at, how: EndedAs::Rejected(_), life, .. }) = called.ends.get(&Some(store)) else { continue };
        // At a restart the app looks at what was refused, and decisions that were refused with it are not there.
        if *life != called.life {
            unknown.insert((call.0, *at));
        }
        // A decision for the local row has no effects of its own.
        if keeps.rests.keys().any(|(table, _)| *table == Synced::Notes) {
            refused.entry((call.0, *at)).or_default().push((*call, keeps));
        }
    }
    refused.retain(|place, _| !unknown.contains(place));
    for together in refused.into_values() {
        let is_refused = |keeps: &Keeps| keeps.keeps_refused || keeps.effects.iter().any(is_of_no_such_value);
        let mut rows: BTreeSet<_> = together
            .iter()
            .filter(|(_, keeps)| is_refused(keeps))
            .flat_map(|(_, keeps)| keeps.rests.keys().cloned())
            .collect();
        for _ in 0..together.len() {
            let joined = together.iter().filter(|(_, keeps)| keeps.rests.keys().any(|row| rows.contains(row)));
            let more: Vec<_> = joined.flat_map(|(_, keeps)| keeps.rests.keys().cloned()).collect();
            rows.extend(more);
        }
        if let Some((call, keeps)) =
            together.iter().find(|(_, keeps)| !keeps.rests.keys().any(|row| rows.contains(row)))
        {
            let ends = together.iter().map(|(call, keeps)| (call, keeps, &history.calls[call].ends));
            let ends: Vec<_> = ends.collect();
            let what = format!(
                "{call:?} with {keeps:?} was refused, and shares no row with what the server refuses: {ends:?}"
            );
            return Err(Violation::new(Invariant::Durability, what));
        }
    }
    Ok(())
}

fn is_of_no_such_value(effect: &Effect) -> bool {
    effect.table == Synced::Notes && effect.did.value().is_some_and(|(_, value)| value < 0)
}
