//! The second oracle: as of each moment a user sees what the user may read of what was asked for, no more and no less.
//!
//! Invariant: what may be seen is said by [`State::seen_by`], by closures over whole rows under the rights that are in effect at that moment. New rights end
//! sessions, so nobody is told anything of a moment by the rights before it.

use std::collections::BTreeMap;

use iolite_client::View;
use iolite_values::{StoreIncarnation, Timestamp};

use super::app::Regime;
use super::person::Speaker;
use super::rules::State;
use crate::app::Watcher;
use crate::checker::{Commits, Invariant, Violation};
use crate::history::{History, Sighting};

/// Checks what clients have shown of one history of the store. Returns how often somebody was shown some messages, and not all that there were.
///
/// # Errors
/// The first sighting that shows something else.
pub fn check(
    history: &History,
    store: StoreIncarnation,
    commits: &Commits,
    regimes: &BTreeMap<Timestamp, Regime>,
) -> Result<u64, Violation> {
    let is_own =
        |own: &&Sighting| own.store == Some(store) && own.view == View::Confirmed && own.watcher == Watcher::Rights;
    let mut sightings: Vec<&Sighting> = history.sightings.iter().filter(is_own).collect();
    sightings.sort_by_key(|own| own.at);
    let (mut state, mut in_part) = (State::default(), 0);
    let mut commits = commits.by_time.iter().peekable();
    for own in sightings {
        while let Some((_, completed)) = commits.next_if(|(at, _)| **at <= own.at) {
            state.apply(completed.writes.as_deref().unwrap_or_default());
        }
        let speaker = Speaker::of(own.client);
        let regime = regimes.range(..=own.at).next_back().map(|(_, regime)| *regime);
        let (text, hides) = state.seen_by(speaker, regime);
        if own.text != text {
            let what = format!(
                "{speaker:?} saw {} as of {:?} under {regime:?}, and should have seen {text}",
                own.text, own.at
            );
            return Err(Violation::new(Invariant::Sight, what));
        }
        in_part += u64::from(hides);
    }
    Ok(in_part)
}
