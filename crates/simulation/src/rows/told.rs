//! News that clients were shown and told of rows that sync: the bases of kept calls, conflicts, and what people decided.
//!
//! Invariant: the base of a kept call is the row that its run saw, or the server's row before a person who then kept the device's. Nothing here asks a client
//! what it takes for the base.

use std::collections::{BTreeMap, BTreeSet};

use iolite_client::{Base, Conflict, Keep};
use iolite_values::{ColumnId, Counter, Row, RowKey, StoreIncarnation, Timestamp};
use serde::Serialize;

use super::app::{COLUMNS, Did, Effect, Synced, number};
use crate::history::{ClientIndex, Issued};

/// A row of a client.
pub type RowOf = (ClientIndex, Synced, RowKey);

#[derive(Debug, Default)]
pub struct RowsTold {
    pub calls: BTreeMap<Issued, Keeps>,
    pub conflicts: Vec<ConflictTold>,
    /// The calls that people decided against, and by which decisions. If its process ends before a client tells that one is overruled, nobody is told.
    pub decided_against: BTreeMap<Issued, BTreeSet<Counter>>,
    /// The calls that a restart did not find pending. If one had nothing to send, its process may have ended before the client told so.
    pub gone_at_restart: BTreeSet<Issued>,
    /// The values of notes that people kept with a local row: by client and row. They may be of a call that was refused before, which the row still shows.
    pub kept_local: BTreeSet<(ClientIndex, RowKey, ColumnId, i64)>,
    /// Ends of one call that were told with two timestamps.
    pub told_twice: Vec<(Issued, Timestamp, Timestamp)>,
    /// The faults that showed at once, in words.
    pub wrong: Vec<String>,
    next_place: u64,
}

/// The effects of a kept call.
#[derive(Clone, Debug, Default)]
pub struct Keeps {
    pub effects: Vec<Effect>,
    /// The confirmed state of the client when it ran.
    pub at: Timestamp,
    pub store: Option<StoreIncarnation>,
    pub rests: BTreeMap<(Synced, RowKey), Rests>,
    /// A person kept a local row that has a value which the server does not take, of whichever call.
    pub keeps_refused: bool,
}

/// The row that an effect rests on.
#[derive(Clone, Debug)]
pub struct Rests {
    /// Effects of a row stand in the order of their places.
    place: u64,
    /// The bases it ever had. The last one counts.
    pub bases: Vec<(From, Row)>,
}

/// Where a base is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The run saw it.
    Run,
    /// A person who decided saw it.
    Decision(Counter),
    /// This call was taken back, which had been before it.
    TakenBack(Counter),
}

/// A conflict, as a client listed it.
#[derive(Clone, Debug)]
pub struct ConflictTold {
    pub client: ClientIndex,
    pub store: Option<StoreIncarnation>,
    /// Rows of the confirmed state.
    pub at: Timestamp,
    pub conflict: Conflict,
}

/// Events that a run of this world has to meet, or it proves little.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowEvent {
    /// A call was kept without a connection.
    KeptOffline,
    KeptLocal,
    KeptServer,
    KeptValues,
    /// A call ended overruled.
    Overruled,
    /// A call of a causal table ended refused, as the server takes no such value.
    Refused,
    /// A call of an eventual table ended refused, as its row was gone.
    Gone,
    /// A kept call was taken back.
    TakenBack,
    /// A process ended while calls were kept.
    RestartedKeeping,
    /// A process ended while a set was open.
    RestartedSending,
}

impl RowEvent {
    pub const ALL: [RowEvent; 10] = [
        RowEvent::KeptOffline,
        RowEvent::KeptLocal,
        RowEvent::KeptServer,
        RowEvent::KeptValues,
        RowEvent::Overruled,
        RowEvent::Refused,
        RowEvent::Gone,
        RowEvent::TakenBack,
        RowEvent::RestartedKeeping,
        RowEvent::RestartedSending,
    ];
}

impl RowsTold {
    /// A closure ran. If it runs again, this run counts no more.
    pub fn note_run(&mut self, call: Issued, at: Timestamp, store: Option<StoreIncarnation>, effects: Vec<Effect>) {
        let mut keeps = Keeps { at, store, ..Keeps::default() };
        for effect in effects {
            self.next_place += 1;
            let rests = Rests { place: self.next_place, bases: vec![(From::Run, effect.saw.clone())] };
            keeps.rests.insert((effect.table, effect.key.clone()), rests);
            keeps.effects.push(Effect { place: self.next_place, ..effect });
        }
        self.calls.insert(call, keeps);
    }

    /// A closure gave up: an earlier run counts no more.
    pub fn note_abort(&mut self, call: Issued) {
        self.calls.remove(&call);
    }

    /// The first of these calls that has written a row, with what it rests on.
    fn first(&self, (client, table, key): &RowOf, pending: &BTreeSet<Counter>) -> Option<(Issued, &Rests)> {
        let own = pending.iter().filter_map(|counter| {
            let call = (*client, *counter);
            Some((call, self.calls.get(&call)?.rests.get(&(*table, key.clone()))?))
        });
        own.min_by_key(|(_, rests)| rests.place)
    }

    /// The changes that all calls of a client made of a row, and whether they are pending, for people.
    fn all_of(
        &self,
        (client, table, key): &RowOf,
        pending: &BTreeSet<Counter>,
    ) -> Vec<(Counter, bool, Vec<&Effect>, &Rests)> {
        let own = self.calls.iter().filter(|(call, _)| call.0 == *client);
        let of_row = own.filter_map(|(call, keeps)| {
            let rests = keeps.rests.get(&(*table, key.clone()))?;
            let effects = keeps.effects.iter().filter(|effect| effect.table == *table && effect.key == *key);
            Some((call.1, pending.contains(&call.1), effects.collect(), rests))
        });
        of_row.collect()
    }

    /// The base of a row that pending calls have written.
    pub fn base(&self, row: &RowOf, pending: &BTreeSet<Counter>) -> Option<&Row> {
        Some(&self.first(row, pending)?.1.bases.last()?.1)
    }

    /// Rows that pending calls of a client have written.
    pub fn rows_of(&self, client: ClientIndex, pending: &BTreeSet<Counter>) -> BTreeSet<RowOf> {
        let calls = pending.iter().filter_map(|counter| self.calls.get(&(client, *counter)));
        calls.flat_map(|keeps| keeps.rests.keys()).map(|(table, key)| (client, *table, key.clone())).collect()
    }

    pub fn note_conflicts(
        &mut self,
        client: ClientIndex,
        (store, at): (Option<StoreIncarnation>, Timestamp),
        conflicts: Vec<Conflict>,
        pending: &BTreeSet<Counter>,
    ) {
        for conflict in conflicts {
            let row = (client, Synced::Notes, conflict.key.clone());
            let base = self.base(&row, pending).cloned();
            if base.clone().map(Base::Row).as_ref() != Some(&conflict.base) {
                self.wrong.push(format!(
                    "{client:?} tells of {conflict:?}, whose calls had read {base:?}: {:?}",
                    self.all_of(&row, pending)
                ));
            }
            self.conflicts.push(ConflictTold { client, store, at, conflict });
        }
    }

    /// A person decided, under a counter.
    pub fn note_decision(&mut self, client: ClientIndex, by: Counter, chosen: &[(Conflict, Keep)]) {
        let mut own = self.calls.remove(&(client, by)).unwrap_or_default();
        let is_overruled = |call: &Counter| {
            chosen.iter().any(|(conflict, keep)| !matches!(keep, Keep::Local) && conflict.calls.contains(call))
        };
        for (conflict, keep) in chosen {
            let id = (Synced::Notes, conflict.key.clone());
            let server = conflict.server.clone().unwrap_or_default();
            self.next_place += 1;
            let place = self.next_place;
            let rests = Rests { place, bases: vec![(From::Run, server.clone())] };
            match keep {
                Keep::Local => {
                    let columns = COLUMNS.map(ColumnId::of).into_iter();
                    let values: Vec<(ColumnId, i64)> = columns
                        .filter_map(|column| Some((column, number(conflict.local.as_ref()?, column)?)))
                        .collect();
                    own.keeps_refused |= values.iter().any(|(_, value)| *value < 0);
                    let kept = |(column, value)| (client, conflict.key.clone(), column, value);
                    self.kept_local.extend(values.into_iter().map(kept));
                    for call in &conflict.calls {
                        let rests = self.calls.get_mut(&(client, *call)).and_then(|own| own.rests.get_mut(&id));
                        rests.into_iter().for_each(|rests| rests.bases.push((From::Decision(by), server.clone())));
                    }
                    own.rests.entry(id).or_insert(rests);
                }
                Keep::Server => {}
                Keep::Values(cells) => {
                    own.rests.insert(id, rests);
                    own.effects.extend(cells.iter().filter_map(|(column, value)| {
                        let iolite_values::Value::Int(value) = value else { return None };
                        let (column, value) = (*column, Some(*value).filter(|value| *value != 0)?);
                        let did = if server.exists() { Did::Put(column, value) } else { Did::Insert(column, value) };
                        let (table, key, saw) = (Synced::Notes, conflict.key.clone(), server.clone());
                        Some(Effect { place, table, key, saw, did })
                    }));
                }
            }
        }
        let overruled: BTreeSet<Counter> =
            chosen.iter().flat_map(|(conflict, _)| conflict.calls.iter().copied()).filter(is_overruled).collect();
        for call in overruled {
            self.decided_against.entry((client, call)).or_default().insert(by);
            self.inherit(&mut own, client, call, chosen);
        }
        self.calls.insert((client, by), own);
    }

    /// The effects of an overruled call on rows that were not decided against become a part of the decision.
    fn inherit(&self, own: &mut Keeps, client: ClientIndex, call: Counter, chosen: &[(Conflict, Keep)]) {
        let Some(gone) = self.calls.get(&(client, call)) else { return };
        let is_against =
            |key: &RowKey| chosen.iter().any(|(conflict, keep)| conflict.key == *key && !matches!(keep, Keep::Local));
        own.keeps_refused |= gone.keeps_refused;
        own.effects.extend(gone.effects.iter().filter(|effect| !is_against(&effect.key)).cloned());
        for (id, rests) in gone.rests.iter().filter(|((_, key), _)| !is_against(key)) {
            let earlier = own.rests.get(id).is_none_or(|known| rests.place < known.place);
            if earlier {
                own.rests.insert(id.clone(), rests.clone());
            }
        }
    }

    /// Whether a person kept a local row with what a call wrote. That stays, even if the call is taken back.
    pub fn is_decided(&self, call: Issued) -> bool {
        let rests = self.calls.get(&call).into_iter().flat_map(|keeps| keeps.rests.values());
        rests.flat_map(|rests| &rests.bases).any(|(from, _)| matches!(from, From::Decision(_)))
    }

    /// A call was taken back: the next one of a row rests on what it rested on.
    pub fn note_taken_back(&mut self, (client, counter): Issued, pending: &BTreeSet<Counter>) {
        let Some(gone) = self.calls.get(&(client, counter)).cloned() else { return };
        for ((table, key), rests) in gone.rests {
            let behind = pending.iter().copied().filter(|other| *other != counter).collect::<BTreeSet<_>>();
            let after = behind.into_iter().filter_map(|other| {
                let next = self.calls.get(&(client, other))?.rests.get(&(table, key.clone()))?;
                (next.place > rests.place).then_some((next.place, other))
            });
            let Some((_, next)) = after.min() else { continue };
            let next = self.calls.get_mut(&(client, next)).and_then(|own| own.rests.get_mut(&(table, key.clone())));
            let (Some(next), Some((_, base))) = (next, rests.bases.last()) else { continue };
            next.bases.push((From::TakenBack(counter), base.clone()));
        }
    }

    /// A client started again with these calls, of which others have ended otherwise than overruled. Decisions that are not among them were lost, and so was the taking back of those that are.
    pub fn note_restart(
        &mut self,
        client: ClientIndex,
        pending: &BTreeSet<Counter>,
        has_ended: impl Fn(Counter) -> bool,
    ) {
        let of_client = self.calls.range((client, Counter(0))..=(client, Counter(u64::MAX)));
        self.gone_at_restart.extend(of_client.map(|(call, _)| *call).filter(|call| !pending.contains(&call.1)));
        let against = &self.decided_against;
        // A decision that another one overruled is left if that one is.
        let is_left = |by: &Counter| {
            let (mut looked, mut next) = (BTreeSet::new(), vec![*by]);
            while let Some(by) = next.pop() {
                if pending.contains(&by) || has_ended(by) {
                    return true;
                }
                if looked.insert(by) {
                    next.extend(against.get(&(client, by)).into_iter().flatten());
                }
            }
            false
        };
        for counter in pending {
            let Some(own) = self.calls.get_mut(&(client, *counter)) else { continue };
            for rests in own.rests.values_mut() {
                rests.bases.retain(|(from, _)| match from {
                    From::Run => true,
                    From::Decision(by) => is_left(by),
                    From::TakenBack(call) => !pending.contains(call),
                });
            }
        }
    }
}
