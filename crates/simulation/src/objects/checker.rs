//! The check of a whole run: what did not run did not run, and each object keeps what its class promises.
//!
//! The numbers that were put in and acknowledged are there, in one order (`kept`). Managers that give copies or transactions promise less or other things,
//! and have checks of their own beside it.

mod forward;
mod kept;
mod own_copies;
mod transactions;

use std::collections::BTreeMap;

use iolite_objects::CallError;
use iolite_values::ObjectName;

use super::app::list_of;
use super::kinds::{Kind, Promise};
use super::names::{At, reads};
use super::told::{CallTold, Key, RunTold, Told, TransactionIndex};
use super::world::World;
use crate::checker::{Invariant, Violation};
use crate::history::Moment;

/// The process at which a client called.
type Process = (At, u64);

/// A list that was read.
#[derive(Clone)]
struct Seen {
    by: Process,
    asked: Moment,
    answered: Moment,
    birth: u64,
    list: Vec<u64>,
    /// The method ran at a copy.
    is_copy: bool,
    transaction: Option<TransactionIndex>,
}

/// A number that was put in, and acknowledged.
#[derive(Clone)]
struct Kept {
    by: Process,
    answered: Moment,
    ended: Moment,
    birth: u64,
    number: u64,
    is_copy: bool,
    transaction: Option<TransactionIndex>,
}

/// The knowledge of an object, from its calls.
#[derive(Default)]
struct OfObject {
    seen: Vec<Seen>,
    kept: Vec<Kept>,
    /// When each beginning was, by its row.
    births: BTreeMap<u64, Moment>,
}

impl OfObject {
    /// The same without the calls that ran at copies.
    fn beside(&self) -> OfObject {
        OfObject {
            seen: self.seen.iter().filter(|seen| !seen.is_copy).cloned().collect(),
            kept: self.kept.iter().filter(|kept| !kept.is_copy).cloned().collect(),
            births: self.births.clone(),
        }
    }
}

/// Checks a run that has ended.
///
/// # Errors
/// The first [`Violation`] that is found.
pub fn check(world: &World) -> Result<(), Violation> {
    let told = &world.told;
    let mut all: BTreeMap<Key, OfObject> = BTreeMap::new();
    for call in &told.calls {
        check_not_run(call)?;
        collect(told, &mut all, call);
    }
    for (key, births) in &told.births {
        all.entry(key.clone()).or_default().births.clone_from(births);
    }
    for ((store, object), of) in &all {
        match Kind::of(object).promise() {
            Promise::Linear => kept::check(object, of)?,
            Promise::Unchanged => check_unchanged(told, object, of)?,
            Promise::OwnCopies => own_copies::check(told, object, of)?,
            Promise::Forward => {
                forward::check(object, of)?;
                if *store == world.store.id {
                    forward::check_same(object, &of.seen, world.rested)?;
                }
            }
            Promise::Transactions => transactions::check(told, object, of)?,
            // What is put into one copy is in no other.
            Promise::Copies => {}
        }
    }
    Ok(())
}

/// Returns how many lists were read, and how many numbers were put in and acknowledged.
pub fn counts(world: &World) -> (u64, u64) {
    let answered = |call: &&CallTold| call.answered.as_ref().is_some_and(|(_, result)| result.is_ok());
    let (reads, puts): (Vec<&CallTold>, Vec<&CallTold>) =
        world.told.calls.iter().filter(answered).partition(|call| reads(call.method));
    (reads.len() as u64, puts.len() as u64)
}

fn wrong<T>(invariant: Invariant, what: String) -> Result<T, Violation> {
    Err(Violation::new(invariant, what))
}

/// An answer that says that a method did not run is right; so is one that says that it did.
fn check_not_run(call: &CallTold) -> Result<(), Violation> {
    let Some((_, result)) = &call.answered else { return Ok(()) };
    let has_run = !call.runs.is_empty();
    match result {
        Ok(_) | Err(CallError::Broke(_)) if !has_run => {
            wrong(Invariant::ExactlyOnce, format!("a method that did not run is said to have run: {call:?}"))
        }
        // A read that ran and whose answer is of no use has done nothing.
        Err(CallError::NotRun(_) | CallError::Gone) if has_run && !reads(call.method) => {
            wrong(Invariant::ExactlyOnce, format!("a method ran that was said not to: {call:?}"))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The run whose result the caller has got: of several, one at the object that the list is of, and the last of them that has ended.
fn answering<'a>(told: &'a Told, call: &CallTold, answered: Moment, birth: Option<u64>) -> Option<&'a RunTold> {
    let runs = call.runs.iter().map(|run| &told.runs[run.0]);
    let may_be = |run: &&RunTold| {
        run.ended.is_some_and(|ended| ended <= answered) && birth.is_none_or(|birth| run.birth == birth)
    };
    runs.filter(may_be).max_by_key(|run| run.ended)
}

fn collect(told: &Told, all: &mut BTreeMap<Key, OfObject>, call: &CallTold) {
    let Some((answered, Ok(result))) = &call.answered else { return };
    let (answered, by, transaction) = (*answered, (call.at, call.life), call.transaction);
    let list = reads(call.method).then(|| list_of(result).expect("a read returns a list"));
    let birth = list.as_ref().and_then(|list| list.first().copied());
    let Some(run) = answering(told, call, answered, birth) else { return };
    let (Some(store), Some(ended)) = (run.store, run.ended) else { return };
    let of = all.entry((store, call.object.clone())).or_default();
    let (birth, is_copy) = (run.birth, run.is_copy);
    match list {
        Some(list) => of.seen.push(Seen { by, asked: call.asked, answered, birth, list, is_copy, transaction }),
        None => of.kept.push(Kept { by, answered, ended, birth, number: call.number, is_copy, transaction }),
    }
}

/// Every list is the one with which its object began, and nothing was put in.
fn check_unchanged(told: &Told, object: &ObjectName, of: &OfObject) -> Result<(), Violation> {
    if let Some(kept) = of.kept.first() {
        return wrong(Invariant::Unchanged, format!("{} was put into {object}", kept.number));
    }
    let changed = of.seen.iter().find(|seen| told.begun_with.get(&seen.birth) != Some(&seen.list));
    changed.map_or(Ok(()), |seen| {
        let first = told.begun_with.get(&seen.birth);
        wrong(Invariant::Unchanged, format!("{object} began with {first:?}, and is read as {:?}", seen.list))
    })
}
