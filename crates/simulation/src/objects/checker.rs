//! The check of a whole run: numbers that were put in and acknowledged are there, in one order, and what did not run did not run.
//!
//! The lists of one beginning of an object are prefixes of each other. A later list is never shorter, and has all that was acknowledged before it was asked for.
//! Another beginning comes after it, and then none of the first one's numbers was acknowledged that was put in later.

use std::collections::BTreeMap;

use iolite_objects::CallError;
use iolite_values::{ObjectName, StoreIncarnation};

use super::app::list_of;
use super::names::READ;
use super::told::{CallTold, RunTold};
use super::world::World;
use crate::checker::{Invariant, Violation};
use crate::history::Moment;

/// An object under one store.
type Key = (StoreIncarnation, ObjectName);

/// A list that was read.
struct Seen {
    asked: Moment,
    answered: Moment,
    birth: u64,
    list: Vec<u64>,
}

/// A number that was put in, and acknowledged.
struct Kept {
    answered: Moment,
    ended: Moment,
    birth: u64,
    number: u64,
}

#[derive(Default)]
struct OfObject {
    seen: Vec<Seen>,
    kept: Vec<Kept>,
    /// When each beginning was, by its row.
    births: BTreeMap<u64, Moment>,
}

/// Checks a run that has ended.
///
/// # Errors
/// The first [`Violation`] that is found.
pub fn check(world: &World) -> Result<(), Violation> {
    let mut all: BTreeMap<Key, OfObject> = BTreeMap::new();
    for call in &world.told.calls {
        let run = call.run.map(|run| &world.told.runs[run.0]);
        check_not_run(call, run)?;
        if let Some(run) = run {
            collect(world, &mut all, call, run)?;
        }
    }
    for ((_, object), of) in &all {
        check_order(object, &of.seen)?;
        check_kept(object, of)?;
    }
    Ok(())
}

/// Returns how many lists were read, and how many numbers were put in and acknowledged.
pub fn counts(world: &World) -> (u64, u64) {
    let answered = |call: &&CallTold| call.answered.as_ref().is_some_and(|(_, result)| result.is_ok());
    let (reads, puts): (Vec<&CallTold>, Vec<&CallTold>) =
        world.told.calls.iter().filter(answered).partition(|call| call.method == READ);
    (reads.len() as u64, puts.len() as u64)
}

fn wrong<T>(invariant: Invariant, what: String) -> Result<T, Violation> {
    Err(Violation::new(invariant, what))
}

/// An answer that says that a method did not run is right; so is one that says that it did.
fn check_not_run(call: &CallTold, run: Option<&RunTold>) -> Result<(), Violation> {
    let Some((_, result)) = &call.answered else { return Ok(()) };
    match (result, run) {
        (Ok(_), None) => wrong(Invariant::ExactlyOnce, format!("a method that did not run returned: {call:?}")),
        // A read that ran and whose answer is of no use has done nothing.
        (Err(CallError::NotRun(_) | CallError::Gone), Some(run)) if call.method != READ => {
            wrong(Invariant::ExactlyOnce, format!("a method ran that was said not to: {call:?}: {run:?}"))
        }
        (Ok(_) | Err(_), _) => Ok(()),
    }
}

fn collect(world: &World, all: &mut BTreeMap<Key, OfObject>, call: &CallTold, run: &RunTold) -> Result<(), Violation> {
    let (Some(store), Some(epoch)) = (run.store, run.epoch) else { return Ok(()) };
    let of = all.entry((store, call.object.clone())).or_default();
    if let Some(begun) = world.rows.begun(store, &call.object, epoch)
        && *of.births.entry(run.birth).or_insert(begun.at) != begun.at
    {
        return wrong(Invariant::KeptWrites, format!("{} began twice with one list: {run:?}", call.object));
    }
    let Some((answered, Ok(result))) = &call.answered else { return Ok(()) };
    let (asked, answered, birth) = (call.asked, *answered, run.birth);
    if call.method == READ {
        let list = list_of(result).expect("a read returns a list");
        of.seen.push(Seen { asked, answered, birth, list });
    } else {
        let ended = run.ended.expect("it has returned");
        of.kept.push(Kept { answered, ended, birth, number: call.number });
    }
    Ok(())
}

fn check_order(object: &ObjectName, seen: &[Seen]) -> Result<(), Violation> {
    let mut by_length: Vec<&Seen> = seen.iter().collect();
    by_length.sort_by_key(|seen| (seen.birth, seen.list.len()));
    for pair in by_length.windows(2) {
        let [shorter, longer] = pair else { continue };
        if shorter.birth == longer.birth && !longer.list.starts_with(&shorter.list) {
            let (shorter, longer) = (&shorter.list, &longer.list);
            return wrong(Invariant::KeptWrites, format!("{object} was {shorter:?}, and {longer:?}"));
        }
    }
    for (earlier, later) in seen.iter().flat_map(|one| seen.iter().map(move |other| (one, other))) {
        let is_before = earlier.answered < later.asked && earlier.birth == later.birth;
        if is_before && later.list.len() < earlier.list.len() {
            let (earlier, later) = (&earlier.list, &later.list);
            return wrong(Invariant::KeptWrites, format!("{object} was {earlier:?}, and later {later:?}"));
        }
    }
    Ok(())
}

fn check_kept(object: &ObjectName, of: &OfObject) -> Result<(), Violation> {
    let begun = |birth: u64| of.births.get(&birth).copied();
    for kept in &of.kept {
        for seen in of.seen.iter().filter(|seen| seen.asked > kept.answered) {
            let is_there = seen.list.contains(&kept.number);
            if seen.birth == kept.birth && !is_there {
                let what =
                    format!("{} was put into {object} and acknowledged, and not read: {:?}", kept.number, seen.list);
                return wrong(Invariant::KeptWrites, what);
            }
            if seen.birth != kept.birth && begun(seen.birth) < begun(kept.birth) {
                let what = format!("{object} is read as it was before it began anew: {:?}", seen.list);
                return wrong(Invariant::KeptWrites, what);
            }
        }
        let next = of.births.values().copied().filter(|at| Some(*at) > begun(kept.birth)).min();
        if next.is_some_and(|next| kept.ended > next) {
            let what = format!("{} was put into {object} and acknowledged, after it had begun anew", kept.number);
            return wrong(Invariant::KeptWrites, what);
        }
    }
    Ok(())
}
