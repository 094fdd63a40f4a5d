//! Nodes that serve objects, looked at after every step; and what has to hold when a method starts.
//!
//! Invariants: at most one node serves an object; no method starts in an epoch below one in which a method of the object has started; a method runs once a call,
//! for the user for whom the call was made.

use std::collections::BTreeMap;

use iolite_values::{ObjectEpoch, ObjectName, StoreIncarnation};
use iolite_wire::objects::Placed;

use super::happened::ObjectEvent;
use super::kinds::Kind;
use super::names::{At, user};
use super::told::{CallTold, RunTold};
use super::world::World;
use crate::checker::Invariant;
use crate::history::Moment;

#[derive(Debug, Default)]
pub struct Serving {
    /// The highest epoch in which a method of an object has started.
    started: BTreeMap<(StoreIncarnation, ObjectName), ObjectEpoch>,
}

impl World {
    pub fn check_serving(&mut self) {
        let mut owners: BTreeMap<(StoreIncarnation, ObjectName), (At, ObjectEpoch)> = BTreeMap::new();
        for at in self.all() {
            let now = self.now(at).instant;
            let Some(store) = self.host(at).store.filter(|_| !self.is_still(at)) else { continue };
            let Some(kernel) = self.kernel(at) else { continue };
            for (object, epoch) in kernel.serving_at(now) {
                if self.host_mut(at).epochs.insert(object.clone(), (store, epoch)) != Some((store, epoch)) {
                    self.note(at, "serves", (&object, epoch));
                    self.note_birth(at, store, &object, epoch);
                }
                let earlier = owners.insert((store, object.clone()), (at, epoch));
                if let Some((other, other_epoch)) = earlier {
                    let what = format!("{object} is served by {other:?} in {other_epoch:?} and by {at:?} in {epoch:?}");
                    self.broke(Invariant::OneOwner, what);
                }
            }
        }
    }

    /// The first number of a list says which beginning of its object it is.
    fn note_birth(&mut self, at: At, store: StoreIncarnation, object: &ObjectName, epoch: ObjectEpoch) {
        let birth = self.host(at).app.objects.get(object).and_then(|list| list.first().copied());
        let begun = self.rows.begun(store, object, epoch).map(|row| row.at);
        let (Some(birth), Some(begun)) = (birth, begun) else { return };
        let births = self.told.births.entry((store, object.clone())).or_default();
        if *births.entry(birth).or_insert(begun) != begun {
            self.broke(Invariant::KeptWrites, format!("{object} began twice with one list: {birth}, at {at:?}"));
        }
    }

    /// Whether a method of the object has started.
    pub fn has_started(&self, object: &ObjectName) -> bool {
        self.serving.started.contains_key(&(self.store.id, object.clone()))
    }

    /// A method starts.
    pub fn judge_start(&mut self, run: &RunTold) {
        let call = self.told.calls[run.call.0].clone();
        if !call.runs.is_empty() && Kind::of(&call.object).repeats() {
            self.happened(ObjectEvent::Repeated);
        } else if !call.runs.is_empty() {
            self.broke(Invariant::ExactlyOnce, format!("the method of one call runs twice: {call:?}, then {run:?}"));
        }
        self.judge_caller(&call, run);
        let (Some(store), Some(epoch)) = (run.store, run.epoch) else { return };
        let last = self.serving.started.entry((store, call.object.clone())).or_default();
        let before = *last;
        *last = before.max(epoch);
        if epoch < before {
            let what = format!("{} runs a method at {:?} in {epoch:?}, after {before:?}", call.object, run.at);
            self.broke(Invariant::OneOwner, what);
        }
    }

    /// The user is that of the session at which the call entered.
    fn judge_caller(&mut self, call: &CallTold, run: &RunTold) {
        let expected = match call.at {
            at if at == run.at => call.entry.clone(),
            At::Server(_) => call.entry.clone(),
            At::Device(device) if self.devices[device].serves && !call.entry.is_empty() => call.entry.clone(),
            At::Device(device) => user(device),
        };
        if run.caller != expected {
            self.broke(Invariant::Caller, format!("{:?} runs for {:?}, and not for {expected:?}", call, run.caller));
        }
    }

    /// The row that was found was that of the object at a moment between question and answer.
    pub fn judge_found(&mut self, at: At, object: &ObjectName, asked: Moment, placed: &Placed) {
        let Some(store) = self.host(at).store.filter(|store| *store == self.store.id) else { return };
        let Some(rows) = self.rows.objects.get(&(store, object.clone())) else { return };
        // Rows of the store before may have been told to who knows of this one already.
        if asked < self.restored {
            return;
        }
        let was_there = (0..rows.len()).any(|index| {
            let until = rows.get(index + 1).map_or(Moment::MAX, |next| next.at);
            rows[index].epoch == placed.epoch && rows[index].places == placed.places && until >= asked
        });
        if !was_there {
            self.broke(Invariant::Epochs, format!("{object} is found at {placed:?}, and was not there since {asked}"));
        }
    }
}
