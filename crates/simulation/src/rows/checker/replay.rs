//! Replays the commits: what strong calls came to, and what reactive transactions saw of the confirmed rows.

use iolite_client::View;
use iolite_values::{StoreIncarnation, Timestamp};

use super::States;
use crate::app::{Call, Model};
use crate::checker::{Commits, Invariant, Violation, by_row};
use crate::history::{Called, History, Sighting};

/// # Errors
/// A strong commit that its closure does not come to on the confirmed rows; a confirmed view of other rows.
pub fn check(history: &History, store: StoreIncarnation, commits: &Commits) -> Result<States, Violation> {
    let is_own = |sighting: &&Sighting| sighting.store == Some(store) && sighting.view == View::Confirmed;
    let mut sightings: Vec<&Sighting> = history.sightings.iter().filter(is_own).collect();
    sightings.sort_by_key(|sighting| sighting.at);
    let mut sightings = sightings.into_iter().peekable();
    let (mut model, mut states) = (Model::default(), States::default());
    for (at, completed) in &commits.by_time {
        while let Some(sighting) = sightings.next_if(|sighting| sighting.at < *at) {
            check_sighting(&model, sighting)?;
        }
        let called = completed.mutation.and_then(|mutation| history.calls.get(&mutation));
        if let (Some(Call::Rows(call)), Some(writes)) = (called.map(|called| &called.call), &completed.writes) {
            let mut attempt = model.clone();
            let result = call.run(&mut attempt);
            let written = attempt.take_written();
            if call.is_kept() || result.is_err() || by_row(&written) != by_row(writes) {
                let what = format!(
                    "{:?} {call:?} at {at:?} had to come to {result:?} with {written:?}, and came to {writes:?}",
                    completed.mutation
                );
                return Err(Violation::new(Invariant::Serializability, what));
            }
        }
        let writes = completed.writes.as_deref().unwrap_or_default();
        model.apply(writes);
        states.apply(*at, writes);
    }
    sightings.try_for_each(|sighting| check_sighting(&model, sighting))?;
    check_order(history, commits)?;
    Ok(states)
}

fn check_sighting(model: &Model, sighting: &Sighting) -> Result<(), Violation> {
    let seen = sighting.watcher.run(&mut model.clone()).expect("nothing is missing in a model");
    if seen == sighting.text {
        return Ok(());
    }
    let what = format!("{sighting:?} should have seen {seen}");
    Err(Violation::new(Invariant::ReactiveSnapshot, what))
}

/// Strong calls of a client take effect in the order of their counters.
fn check_order(history: &History, commits: &Commits) -> Result<(), Violation> {
    let mut last: std::collections::BTreeMap<_, (iolite_values::Counter, Timestamp)> = Default::default();
    for (at, completed) in &commits.by_time {
        let called = completed.mutation.and_then(|mutation| history.calls.get(&mutation));
        // A call that is kept after all may be closed late.
        if called.is_none_or(Called::is_kept) {
            continue;
        }
        let counter = completed.transaction.counter;
        if let Some((earlier, before)) = last.insert(completed.transaction.client, (counter, *at))
            && earlier > counter
        {
            let what = format!("{counter:?} at {at:?} comes after {earlier:?} at {before:?} of the same client");
            return Err(Violation::new(Invariant::ClientOrder, what));
        }
    }
    Ok(())
}
