//! The end: all clients and the store are equal, lack no call, and are what a plain model of all effects says.

use std::collections::BTreeMap;

use iolite_values::{RowKey, StoreIncarnation, TableId, TransactionId, Write};

use super::effects::Effects;
use crate::centres::app::{PEOPLE, WALL};
use crate::centres::guests;
use crate::centres::names::Name;
use crate::centres::snapshot::Snapshot;
use crate::centres::told::Views;
use crate::checker::{Commits, Invariant, Violation, check_replicas, rows_of_stores};
use crate::history::{ClientIndex, EndedAs, History, StoreHistory};
use crate::world::{World, is_denial};

const ALL: [&str; 4] = [PEOPLE, WALL, "guests", "notes"];

/// # Errors
/// The first [`Violation`] that is found.
pub fn check(world: &World) -> Result<(), Violation> {
    let history = &world.history;
    if let Some(wrong) = &history.centres.wrong {
        return Err(wrong.clone());
    }
    let mut merging = BTreeMap::new();
    let mut stores = Vec::new();
    for (store, own) in &history.stores {
        let commits = Commits::collect(history, own)?;
        commits.check_reports(history.store_calls(*store))?;
        check_ended(history, *store, &commits)?;
        if goes_on(world, own) {
            note_effects(&commits, &mut merging)?;
        }
        stores.push(commits);
    }
    guests::check(history, &stores)?;
    let mut effects = Effects::default();
    let added: Result<(), String> = merging.values().flatten().try_for_each(|write| effects.add(write));
    added.map_err(|what| Violation::new(Invariant::Merged, what))?;
    let last = Snapshot::of(effects.rows(TableId::of(PEOPLE)), effects.rows(TableId::of(WALL)));
    check_stores(world, &last)?;
    check_clients(world, &last)?;
    check_names(world, &last)?;
    check_replicas(world)
}

/// Whether the replica of a store was not destroyed.
fn goes_on(world: &World, store: &StoreHistory) -> bool {
    world.replicas().any(|replica| store.replicas.contains_key(&replica.id()))
}

/// Effects of each transaction, which are the same in all data centres.
fn note_effects(commits: &Commits, merging: &mut BTreeMap<TransactionId, Vec<Write>>) -> Result<(), Violation> {
    let is_of_app = |write: &&Write| ALL.map(TableId::of).contains(&write.cell.table);
    for own in commits.by_time.values() {
        let Some(writes) = &own.writes else { continue };
        let mut effects: Vec<Write> = writes.iter().filter(is_of_app).cloned().collect();
        effects.sort_by(|one, other| one.cell.cmp(&other.cell));
        if merging.get(&own.transaction).is_some_and(|other| *other != effects) {
            let what = format!(
                "{:?} did {effects:?} in one data centre, and {:?} in another",
                own.transaction,
                merging.get(&own.transaction)
            );
            return Err(Violation::new(Invariant::ExactlyOnce, what));
        }
        merging.insert(own.transaction, effects);
    }
    Ok(())
}

/// Ends that were told are those that the store recorded, and nothing took effect that was not on its device first.
fn check_ended(history: &History, store: StoreIncarnation, commits: &Commits) -> Result<(), Violation> {
    for (mutation, called) in &history.calls {
        let recorded = commits.recorded(*mutation);
        let ends = called.ends.iter().map(|(own, end)| (*own, &end.how));
        let fits = |(own, how): (Option<StoreIncarnation>, &EndedAs)| match how {
            EndedAs::Confirmed(at) => own.is_some_and(|own| own != store) || recorded == Some((*at, true)),
            // It gave up at the device. If it was stored before it ran, as what it needs was not there, the store records that.
            EndedAs::Rejected(_) => recorded.is_none_or(|(_, has_effect)| !has_effect),
            EndedAs::Cancelled(_) => recorded.is_none(),
            // A denial is not recorded: the call may come to a data centre that has not heard of it.
            EndedAs::Quarantined(why) => called.is_of_guests() && is_denial(why) && recorded.is_none(),
            EndedAs::Overruled => false,
        };
        let is_durable = called.durable || recorded.is_none();
        if !is_durable || !ends.into_iter().all(fits) {
            let what = format!("{mutation:?} {called:?} is in the store as {recorded:?}");
            return Err(Violation::new(Invariant::Durability, what));
        }
    }
    Ok(())
}

fn check_stores(world: &World, last: &Snapshot) -> Result<(), Violation> {
    let mut first: Option<Vec<_>> = None;
    for rows in rows_of_stores(world) {
        let of = |name: &str| {
            let own = rows.iter().filter(|((table, _), row)| *table == TableId::of(name) && row.exists());
            own.map(|((_, key), row)| (key.clone(), (*row).clone())).collect()
        };
        let standing = world.standing_of_centres();
        same(&format!("a store has ({standing})"), &Snapshot::of(of(PEOPLE), of(WALL)), last)?;
        // Also what no plain value shows.
        let is_of_app = |(table, _): &(TableId, RowKey)| ALL.map(TableId::of).contains(table);
        let own: Vec<_> = rows.into_iter().filter(|(place, _)| is_of_app(place)).collect();
        if let Some(first) = first.as_ref().filter(|first| **first != own) {
            let what = format!("one data centre has {first:?}, and another one {own:?}");
            return Err(Violation::new(Invariant::LastState, what));
        }
        first = Some(own);
    }
    Ok(())
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
fn check_names(world: &World, last: &Snapshot) -> Result<(), Violation> {
    let told = &world.history.centres;
    let mut kept: BTreeMap<Name, ClientIndex> = BTreeMap::new();
    for (client, own) in &told.clients {
        kept.extend(own.promised.iter().map(|name| (name, *client)));
        kept.extend(own.durable.iter().map(|name| (name, *client)));
    }
    for (name, client) in kept {
        let did = told.calls.get(&name).and_then(|call| call.did.as_ref());
        let rows = did.into_iter().flat_map(|did| &did.rows);
        let lacks = |id: &i64| last.people.get(id).is_none_or(|person| !person.seen.has(name));
        if let Some((id, _)) = rows.into_iter().find(|(id, _)| lacks(id)) {
            let what = format!("{client:?} was promised call {name}, and person {id} lacks it at the end");
            return Err(Violation::new(Invariant::Durability, what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use iolite_values::{
        Attempt, Cell, ClientId, ColumnId, Counter, Effect, Id, Level, Mark, Operation, Timestamp, Value,
    };

    use super::*;
    use crate::checker::Completed;

    /// A data centre in which a transaction inserted a friend.
    fn centre(at: u64, friend: i64) -> Commits {
        let cell = Cell {
            table: TableId::of(PEOPLE),
            row: RowKey::new(&[Value::Int(1)]).expect("short"),
            column: ColumnId::of("friends"),
        };
        let effect = Effect::Insert { value: Value::Int(friend), mark: Mark(7) };
        let write = Write { cell, operation: Operation::Merge(effect.into()) };
        let transaction = TransactionId { client: ClientId(Id::from_u128(1)), counter: Counter(1) };
        let writes = Some(vec![write]);
        let own = Completed { transaction, attempt: Attempt(1), mutation: None, writes, level: Level::Strict };
        Commits { by_time: [(Timestamp::from_u64(at), own)].into(), ..Commits::default() }
    }

    #[test]
    fn one_id_with_two_contents_is_found() {
        let mut merging = BTreeMap::new();
        assert_eq!(note_effects(&centre(1, 3), &mut merging), Ok(()));
        assert_eq!(note_effects(&centre(2, 3), &mut merging), Ok(()), "the same at another time");
        assert_eq!(merging.len(), 1, "its effects count once");
        let found = note_effects(&centre(3, 4), &mut merging).map_err(|violation| violation.invariant);
        assert_eq!(found, Err(Invariant::ExactlyOnce));
    }
}
