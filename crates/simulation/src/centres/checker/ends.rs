//! The end: all clients and the store are equal, lack no call, and are what a plain model of all effects says.

use std::collections::BTreeMap;

use iolite_values::TableId;

use super::effects::Effects;
use crate::centres::app::{PEOPLE, WALL};
use crate::centres::names::Name;
use crate::centres::snapshot::Snapshot;
use crate::centres::told::Views;
use crate::checker::{Commits, Invariant, Violation, check_replicas, rows_of_store};
use crate::history::{ClientIndex, EndedAs, History};
use crate::world::World;

/// # Errors
/// The first [`Violation`] that is found.
pub fn check(world: &World) -> Result<(), Violation> {
    let history = &world.history;
    if let Some(wrong) = &history.centres.wrong {
        return Err(wrong.clone());
    }
    let mut effects = Effects::default();
    for (store, own) in &history.stores {
        let commits = Commits::collect(history, own)?;
        commits.check_reports(history.store_calls(*store))?;
        check_ended(history, &commits)?;
        let writes = commits.by_time.values().filter_map(|own| own.writes.as_ref()).flatten();
        let merging = writes.filter(|write| [PEOPLE, WALL].map(TableId::of).contains(&write.cell.table));
        let added: Result<(), String> = merging.into_iter().try_for_each(|write| effects.add(write));
        added.map_err(|what| Violation::new(Invariant::Merged, what))?;
    }
    let last = Snapshot::of(effects.rows(TableId::of(PEOPLE)), effects.rows(TableId::of(WALL)));
    check_store(world, &last)?;
    check_clients(world, &last)?;
    check_names(history, &last)?;
    check_replicas(world)
}

/// Ends that were told are those that the store recorded, and nothing took effect that was not on its device first.
fn check_ended(history: &History, commits: &Commits) -> Result<(), Violation> {
    for (mutation, called) in &history.calls {
        let recorded = commits.recorded(*mutation);
        let ends = called.ends.values().map(|end| &end.how);
        let fits = |how: &EndedAs| match how {
            EndedAs::Confirmed(at) => recorded == Some((*at, true)),
            // It gave up at the device. If it was stored before it ran, as what it needs was not there, the store records that.
            EndedAs::Rejected(_) => recorded.is_none_or(|(_, has_effect)| !has_effect),
            EndedAs::Cancelled(_) => recorded.is_none(),
            EndedAs::Quarantined(_) | EndedAs::Overruled => false,
        };
        let is_durable = called.durable || recorded.is_none();
        if !is_durable || !ends.into_iter().all(fits) {
            let what = format!("{mutation:?} {called:?} is in the store as {recorded:?}");
            return Err(Violation::new(Invariant::Durability, what));
        }
    }
    Ok(())
}

fn check_store(world: &World, last: &Snapshot) -> Result<(), Violation> {
    let rows = rows_of_store(world);
    let of = |name: &str| {
        let own = rows.iter().filter(|((table, _), row)| *table == TableId::of(name) && row.exists());
        own.map(|((_, key), row)| (key.clone(), (*row).clone())).collect()
    };
    same("the store has", &Snapshot::of(of(PEOPLE), of(WALL)), last)
}

fn check_clients(world: &World, last: &Snapshot) -> Result<(), Violation> {
    for client in (0..world.clients.len()).map(ClientIndex) {
        for view in Views::ALL {
            let Some(shown) = world.history.centres.last.get(&(client, view)) else {
                return Err(Violation::new(Invariant::LastState, format!("{client:?} was shown nothing in {view:?}")));
            };
            same(&format!("{client:?} in its view {view:?} was shown last"), shown, last)?;
        }
    }
    Ok(())
}

fn same(who: &str, own: &Snapshot, last: &Snapshot) -> Result<(), Violation> {
    if own == last {
        return Ok(());
    }
    let what = format!("{who} {own:?}, and all effects come to {last:?}");
    Err(Violation::new(Invariant::LastState, what))
}

/// Every call that was on a device or confirmed is in all rows that it wrote.
fn check_names(history: &History, last: &Snapshot) -> Result<(), Violation> {
    let told = &history.centres;
    let durable: BTreeMap<Name, ClientIndex> =
        told.clients.iter().flat_map(|(client, own)| own.durable.iter().map(|name| (name, *client))).collect();
    for (name, client) in durable {
        let did = told.calls.get(&name).and_then(|call| call.did.as_ref());
        let rows = did.into_iter().flat_map(|did| &did.rows);
        let lacks = |id: &i64| last.people.get(id).is_none_or(|person| !person.seen.has(name));
        if let Some((id, _)) = rows.into_iter().find(|(id, _)| lacks(id)) {
            let what = format!("call {name} of {client:?} was on its device, and person {id} lacks it at the end");
            return Err(Violation::new(Invariant::Durability, what));
        }
    }
    Ok(())
}
