//! Replays the completions in timestamp order, and compares what everybody saw on the way.

use std::collections::{BTreeMap, BTreeSet};

use iolite_client::View;
use iolite_values::{Level, StoreIncarnation, Timestamp, Write};

use super::commits::Completed;
use super::levels::States;
use super::prefix::Places;
use super::{Commits, Invariant, Violation, room};
use crate::app::{Model, Stop, run_call};
use crate::history::{ClientIndex, End, EndedAs, History, PendingThen, Refusal, Sighting};

/// Of so many rows it is tried which ones a client does not know whole.
const PARTLY_KNOWN_MAX: usize = 12;

/// And of so many which ones it has not heard of.
const UNHEARD_OF_MAX: usize = 6;

/// # Errors
/// The first transaction or sighting that does not fit.
pub fn check(history: &History, store: StoreIncarnation, commits: &Commits) -> Result<Model, Violation> {
    let own = history.sightings.iter().filter(|sighting| sighting.store == Some(store));
    let mut sightings: Vec<&Sighting> = own.collect();
    let places = Places::of(history, store, commits)?;
    sightings.sort_by_key(|sighting| places.of_sighting(sighting));
    let mut sightings = sightings.into_iter().peekable();
    let own = history.refusals.iter().filter(|refusal| refusal.store == Some(store));
    let mut refusals: Vec<&Refusal> = own.collect();
    refusals.sort_by_key(|refusal| refusal.at);
    let mut refusals = refusals.into_iter().peekable();
    let (mut model, mut states) = (Model::default(), States::new());
    for (at, completed) in &commits.by_time {
        while let Some(sighting) = sightings.next_if(|sighting| places.of_sighting(sighting) < *at) {
            check_sighting(history, commits, &model, sighting)?;
        }
        while let Some(refusal) = refusals.next_if(|refusal| refusal.at < *at) {
            room::check(&model, refusal)?;
        }
        replay(history, store, &mut model, &states, *at, completed)?;
        // A closure that its process left behind may come late, and its client does not know of it.
        let called = completed.mutation.and_then(|mutation| history.calls.get(&mutation));
        states.note(*at, completed, called.is_none_or(|called| called.is_lost()), &model);
    }
    sightings.try_for_each(|sighting| check_sighting(history, commits, &model, sighting))?;
    refusals.try_for_each(|refusal| room::check(&model, refusal))?;
    Ok(model)
}

fn replay(
    history: &History,
    store: StoreIncarnation,
    model: &mut Model,
    states: &States,
    at: Timestamp,
    completed: &Completed,
) -> Result<(), Violation> {
    let called = completed.mutation.and_then(|mutation| Some((mutation.0, history.calls.get(&mutation)?)));
    let Some((client, called)) = called else {
        model.apply(completed.writes.as_deref().unwrap_or_default());
        model.take_written();
        return Ok(());
    };
    let mut attempt = model.clone();
    let result = run_call(&called.call, &mut attempt);
    let written = attempt.take_written();
    let fits = match (&result, &completed.writes) {
        // Its client gave it up.
        (_, None) if called.has_no_room => true,
        (_, _) if completed.level != Level::Strict => states.explain(&called.call, completed),
        (Ok(()), Some(writes)) => by_row(&written) == by_row(writes),
        // Its client was started again with a version of the app in which it cannot run.
        (_, None) if !called.call.runs_in(history.versions[&client]) => true,
        (Err(Stop::Abort(reason)), None) => match called.ends.get(&Some(store)) {
            // A client that was started again counts its attempts anew, and knows the reasons of the new ones only.
            Some(End { how: EndedAs::Rejected(told), life, .. }) => told == reason || *life > called.life,
            _ => true,
        },
        (Ok(()) | Err(_), _) => false,
    };
    if !fits {
        let what = format!(
            "{:?} {:?} at {at:?} had to come to {result:?} with {written:?}, and came to {:?}, told {:?}",
            completed.mutation, called.call, completed.writes, called.ends
        );
        return Err(Violation::new(Invariant::Serializability, what));
    }
    model.apply(completed.writes.as_deref().unwrap_or_default());
    Ok(())
}

/// Writes of different shards are in no order among each other.
pub fn by_row(writes: &[Write]) -> Vec<&Write> {
    let mut writes: Vec<&Write> = writes.iter().collect();
    writes.sort_by_key(|write| (write.cell.table, &write.cell.row));
    writes
}

fn check_sighting(history: &History, commits: &Commits, model: &Model, sighting: &Sighting) -> Result<(), Violation> {
    check_own_writes(history, commits, sighting)?;
    check_pending(history, commits, sighting)?;
    let mut expected = with_pending(history, model.clone(), sighting);
    let text = sighting.watcher.run(&mut expected).expect("nothing is missing in a model");
    let may_know_less = || !sighting.watcher.reads_texts() && is_seen_without_having_heard(history, model, sighting);
    if text != sighting.text && !may_know_less() {
        let called = |pending: &PendingThen| history.calls.get(&(sighting.client, pending.counter));
        let calls: Vec<_> = sighting.pending.iter().filter_map(|own| Some((own.counter, called(own)?))).collect();
        let what = format!("{sighting:?} should have seen {text}; pending were {calls:?}");
        let invariant =
            if sighting.view == View::Delivered { Invariant::ViewPrefix } else { Invariant::ReactiveSnapshot };
        return Err(Violation::new(invariant, what));
    }
    Ok(())
}

/// The confirmed state with the mutations on top that a view shows.
fn with_pending(history: &History, mut expected: Model, sighting: &Sighting) -> Model {
    let visible = sighting.pending.iter().filter(|pending| match sighting.view {
        View::Optimistic => !pending.is_hidden,
        View::Durable => pending.durable && !pending.is_hidden,
        View::Confirmed | View::Delivered => false,
    });
    for pending in visible {
        let Some(called) = history.calls.get(&(sighting.client, pending.counter)) else { continue };
        // Edits and all other calls have nothing to do with each other.
        let concerns = called.call.edits_texts() == sighting.watcher.reads_texts();
        if !concerns || !called.call.runs_in(sighting.version) {
            continue;
        }
        let mut attempt = expected.clone();
        match run_call(&called.call, &mut attempt) {
            Ok(()) => expected = attempt,
            Err(_) => expected.note_found_there(&attempt),
        }
    }
    expected
}

/// Whether it is what is seen by a client that does not know all of some rows which its pending mutations change: none of these is an answer of a query
/// until it is confirmed. What else a client holds, nobody here knows, so any of these rows may be such; and a pending mutation that queries may have run
/// when fewer of them were known than when the watcher did, so what it wrote is not judged before it is confirmed.
fn is_seen_in_part(history: &History, model: &Model, sighting: &Sighting, expected: &Model) -> bool {
    let asks = |pending: &PendingThen| {
        history.calls.get(&(sighting.client, pending.counter)).is_some_and(|called| called.call.asks())
    };
    if !expected.changed_in_part() {
        return false;
    }
    if sighting.pending.iter().any(asks) {
        return true;
    }
    let candidates = expected.rows_changed();
    let sets = 1..1_u32 << candidates.len().min(PARTLY_KNOWN_MAX);
    sets.into_iter().any(|set| {
        let unknown = candidates.iter().enumerate().filter(|(place, _)| set >> place & 1 == 1);
        let model = model.without_knowing(unknown.map(|(_, id)| id.clone()).collect());
        let mut expected = with_pending(history, model, sighting);
        sighting.watcher.run(&mut expected).expect("nothing is missing in a model") == sighting.text
    })
}

/// Whether it is what is seen, perhaps in part, by a client that has not heard of some rows which its pending mutations create: it learns that they are there when it sends
/// these. What it has heard of, nobody here knows: perhaps all.
fn is_seen_without_having_heard(history: &History, model: &Model, sighting: &Sighting) -> bool {
    let mut tried = BTreeSet::new();
    let mut open = vec![BTreeSet::new()];
    while let Some(unheard_of) = open.pop() {
        let model = model.without_having_heard_of(unheard_of.clone());
        let mut expected = with_pending(history, model.clone(), sighting);
        let text = sighting.watcher.run(&mut expected).expect("nothing is missing in a model");
        if text == sighting.text || is_seen_in_part(history, &model, sighting, &expected) {
            return true;
        }
        // Behind one that is created, others may be.
        let more = expected.found_there().map(|id| unheard_of.iter().chain([id]).cloned().collect::<BTreeSet<_>>());
        open.extend(more.filter(|more| more.len() <= UNHEARD_OF_MAX && tried.insert(more.clone())));
    }
    false
}

/// In the optimistic view a client sees every mutation of its own that it called and that did not end without effect: pending or confirmed.
/// What it asked to take back is not visible any more, although its end is told later.
fn check_own_writes(history: &History, commits: &Commits, sighting: &Sighting) -> Result<(), Violation> {
    for counter in &sighting.alive {
        let pending = sighting.pending.iter().any(|pending| pending.counter == *counter);
        let contained = commits.by_mutation.get(&(sighting.client, *counter)).is_some_and(|at| *at <= sighting.at);
        let asked_back = history.was_asked_back((sighting.client, *counter));
        if !pending && !contained && !asked_back {
            let called = history.calls.get(&(sighting.client, *counter));
            let what = format!("{called:?} is neither pending nor confirmed in {sighting:?}");
            return Err(Violation::new(Invariant::OwnWritesVisible, what));
        }
    }
    Ok(())
}

/// What the confirmed state contains is not pending any more, or it would be seen twice.
fn check_pending(history: &History, commits: &Commits, sighting: &Sighting) -> Result<(), Violation> {
    for PendingThen { counter, .. } in &sighting.pending {
        let mutation = (sighting.client, *counter);
        let contained = commits.recorded(mutation).filter(|(at, took_effect)| *took_effect && *at <= sighting.at);
        if let Some((at, _)) = contained {
            let called = history.calls.get(&mutation);
            let what = format!("{called:?} took effect at {at:?} and is pending in {sighting:?}");
            return Err(Violation::new(Invariant::PendingOnce, what));
        }
    }
    Ok(())
}

/// The confirmed state of a client's life never goes back.
pub fn check_monotonic(history: &History) -> Result<(), Violation> {
    let mut last: BTreeMap<(ClientIndex, u64, Option<StoreIncarnation>), Timestamp> = BTreeMap::new();
    for sighting in &history.sightings {
        let at = last.entry((sighting.client, sighting.life, sighting.store)).or_default();
        if sighting.at < *at {
            let what = format!("{sighting:?} stands before {at:?}");
            return Err(Violation::new(Invariant::MonotonicReads, what));
        }
        *at = sighting.at;
    }
    Ok(())
}
