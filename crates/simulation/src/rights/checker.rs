//! Decides whether the rights held. It sees the store's journals, and what gateways were given and told.
//!
//! - the id of a client belongs to one speaker, and what a device has queued never commits under another one's (`OneSubject`);
//! - each commit is judged at its timestamp by [`rules`](super::rules), under the rights as of the position at which its gateway handed it over (`Allowed`);
//! - a mutation of which somebody was told that it is denied never commits (`DeniedForGood`);
//! - no conflict tells of rows that are hidden (`Hidden`);
//! - users see what they may read, no more and no less (`Sight`, [`sights`](super::sights));
//! - clients are told what the store has recorded, once, and mutations of a client commit in its order.

use std::collections::BTreeMap;

use iolite_catalog::Catalog;
use iolite_values::{ColumnId, Operation, StoreIncarnation, Timestamp, Value};

use super::app::Regime;
use super::person::Speaker;
use super::rules::{self, State};
use super::sights;
use super::told::{Origin, RightsTold};
use crate::checker::{Commits, Completed, Invariant, Violation, check_order};
use crate::history::History;

/// Checks a run. Returns how often a user was shown some messages, and not all that there were.
///
/// # Errors
/// The first [`Violation`] that is found.
pub fn check(history: &History) -> Result<u64, Violation> {
    check_subjects(&history.rights)?;
    let mut in_part = 0;
    for (store, own) in &history.stores {
        let commits = Commits::collect(history, own)?;
        check_senders(&history.rights, &commits)?;
        let regimes = regimes(&commits);
        check_allowed(&history.rights, &commits, &regimes)?;
        check_denied(&history.rights, *store, &commits)?;
        check_as_told(history, *store, &commits)?;
        in_part += sights::check(history, *store, &commits, &regimes)?;
    }
    match history.rights.revealed.first() {
        None => Ok(in_part),
        Some((probe, attempt, at)) => {
            let what = format!("{probe:?} {attempt:?} reads hidden rows, and was told of a conflict at {at:?}");
            Err(Violation::new(Invariant::Hidden, what))
        }
    }
}

fn check_as_told(history: &History, store: StoreIncarnation, commits: &Commits) -> Result<(), Violation> {
    commits.check_ends(history, store)?;
    commits.check_reports(history.store_calls(store))?;
    check_order(history, commits)
}

fn check_subjects(told: &RightsTold) -> Result<(), Violation> {
    for (client, welcomed) in &told.welcomed {
        let first = told.speaker(*client);
        if let Some((other, _)) = welcomed.iter().find(|(speaker, _)| Some(*speaker) != first) {
            let what = format!("{client:?} was {first:?} and {other:?}");
            return Err(Violation::new(Invariant::OneSubject, what));
        }
    }
    Ok(())
}

/// The queue of a device never commits as somebody else.
fn check_senders(told: &RightsTold, commits: &Commits) -> Result<(), Violation> {
    for (at, completed) in writing(commits) {
        let welcomed = told.welcomed.get(&completed.transaction.client).into_iter().flatten();
        let is_other = |(speaker, origin): &&(Speaker, Origin)| match origin {
            Origin::Device(index) => Speaker::of(*index) != *speaker,
            Origin::Hostile => false,
        };
        if let Some((speaker, origin)) = welcomed.filter(|_| completed.writes.is_some()).find(is_other) {
            let what = format!("{:?} at {at:?} is {speaker:?}'s, and came from {origin:?}", completed.transaction);
            return Err(Violation::new(Invariant::OneSubject, what));
        }
    }
    Ok(())
}

fn check_allowed(told: &RightsTold, commits: &Commits, regimes: &BTreeMap<Timestamp, Regime>) -> Result<(), Violation> {
    let (mut before, mut after) = (State::default(), State::default());
    for (at, completed) in writing(commits) {
        let writes = completed.writes.as_deref().unwrap_or_default();
        after.apply(writes);
        if let Some(speaker) = told.speaker(completed.transaction.client) {
            let handed = told.handed.get(&(completed.transaction, completed.attempt)).into_iter().flatten();
            let in_effect = |position: &Timestamp| regimes.range(..=*position).next_back().map(|(_, regime)| *regime);
            let mut denials = handed.map(|position| match in_effect(position) {
                Some(regime) => rules::denied(speaker, regime, &before, &after, writes),
                None if speaker == Speaker::Operator => None,
                None => Some("there were no rights".to_owned()),
            });
            // It may have been handed over several times. One of these was allowed.
            let denial = denials.try_fold(String::new(), |_, denial| denial);
            if let Some(why) = denial {
                let what = format!("{:?} of {speaker:?} at {at:?}: {why}: {writes:?}", completed.transaction);
                return Err(Violation::new(Invariant::Allowed, what));
            }
        }
        before.apply(writes);
    }
    Ok(())
}

fn check_denied(told: &RightsTold, store: StoreIncarnation, commits: &Commits) -> Result<(), Violation> {
    match writing(commits).find(|(_, completed)| told.denied.contains(&(store, completed.transaction))) {
        None => Ok(()),
        Some((at, completed)) => {
            let what = format!("{:?} was said to be denied, and took effect at {at:?}", completed.transaction);
            Err(Violation::new(Invariant::DeniedForGood, what))
        }
    }
}

/// The rights that come into effect, by when they do.
fn regimes(commits: &Commits) -> BTreeMap<Timestamp, Regime> {
    writing(commits).filter_map(|(at, completed)| Some((*at, deployed(completed)?))).collect()
}

/// Commits, without the aborts.
fn writing(commits: &Commits) -> impl Iterator<Item = (&Timestamp, &Completed)> {
    commits.by_time.iter().filter(|(_, completed)| completed.writes.is_some())
}

/// The rights that a version of the catalog brings.
fn deployed(completed: &Completed) -> Option<Regime> {
    let writes = completed.writes.iter().flatten();
    let mut own = writes.filter(|write| write.cell.table == Catalog::table());
    own.find_map(|write| match &write.operation {
        Operation::Put(Value::String(json)) if write.cell.column == ColumnId::of("rights") => Regime::of_json(json),
        _ => None,
    })
}
