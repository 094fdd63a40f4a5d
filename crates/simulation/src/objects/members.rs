//! Rights of users to call objects, which come and go while everybody works. The world stands for the gateway: it says yes or no, and withdraws a yes.
//!
//! Invariants: a user has every right once faults are over; a method runs for the device of a user only if that user had the right to call the object at some
//! moment from a little before the call to its start. The little is how long a yes may live on that is withdrawn.

use std::collections::{BTreeMap, BTreeSet};

use iolite_objects::{MayId, Right, ServerInput, SessionId};
use iolite_values::ObjectName;

use super::happened::ObjectEvent;
use super::links::LinkId;
use super::names::At;
use super::queue::Event;
use super::roughness::{MILLISECOND, SECOND};
use super::told::RunTold;
use super::world::World;
use crate::broken::Broken;
use crate::checker::Invariant;
use crate::history::Moment;
use crate::random::Random;

/// A yes that is withdrawn is known to its server by then.
const WITHDRAWN_WITHIN: Moment = SECOND;
const CHANGE_WITHIN: Moment = SECOND;

/// A user, by the device, and an object.
type Key = (usize, ObjectName);

#[derive(Debug)]
pub struct Members {
    pub is_on: bool,
    /// A stream of its own: all else that a seed draws does not depend on it.
    random: Random,
    /// When a right went and came, in turns. Everybody begins with all of them.
    changes: BTreeMap<Key, Vec<Moment>>,
    /// The yeses of each server, which it may keep.
    yeses: BTreeSet<(usize, SessionId, ObjectName, Right)>,
}

impl Members {
    /// Every other seed has rights, and all seeds of the variant that needs them.
    pub fn new(seed: u64, broken: Broken) -> Members {
        let is_on = match broken {
            Broken::Nothing => seed.is_multiple_of(2),
            other => other == Broken::CallUnjudged,
        };
        let (changes, yeses) = (BTreeMap::new(), BTreeSet::new());
        Members { is_on, random: Random::from_seed(!seed), changes, yeses }
    }

    fn has_right(&self, key: &Key) -> bool {
        self.changes.get(key).is_none_or(|changes| changes.len().is_multiple_of(2))
    }

    /// Whether the right was there at some moment from then on.
    fn had_right_since(&self, key: &Key, since: Moment) -> bool {
        let Some(changes) = self.changes.get(key) else { return true };
        let before = changes.partition_point(|change| *change <= since);
        before.is_multiple_of(2) || before < changes.len()
    }
}

impl World {
    /// The door: of calls the user has to be a member. Copies and objects may be at any device here.
    pub fn may(&mut self, server: usize, id: MayId, (session, object, right): (SessionId, ObjectName, Right)) {
        let device = self.links.all.get(&LinkId(session.0)).map(|link| link.device);
        let is_call = matches!(right, Right::Call { .. });
        let may = match device {
            Some(device) if is_call && self.members.is_on => self.members.has_right(&(device, object.clone())),
            Some(_) | None => true,
        };
        if !may {
            self.happened(ObjectEvent::Denied);
        } else if is_call && self.members.is_on {
            self.members.yeses.insert((server, session, object, right));
        }
        self.tell_objects(server, ServerInput::May(id, may));
    }

    /// A right comes or goes, while there are faults. In the end everybody has all of them.
    pub fn change_rights(&mut self) {
        if self.healing {
            for changes in self.members.changes.values_mut().filter(|changes| !changes.len().is_multiple_of(2)) {
                changes.push(self.moment);
            }
            return;
        }
        let after = self.members.random.between(20 * MILLISECOND, CHANGE_WITHIN);
        self.queue.add(self.moment + after, Event::Rights);
        let users: Vec<usize> = (0..self.devices.len()).filter(|device| !self.devices[*device].serves).collect();
        let (Some(users_most), objects_most) = (users.len().checked_sub(1), self.objects.len() as u64 - 1) else {
            return;
        };
        let device = users[self.members.random.between(0, users_most as u64) as usize];
        let object = self.objects[self.members.random.between(0, objects_most) as usize].clone();
        let key = (device, object.clone());
        self.members.changes.entry(key.clone()).or_default().push(self.moment);
        if !self.members.has_right(&key) {
            self.withdraw(device, &object);
        }
    }

    fn withdraw(&mut self, device: usize, object: &ObjectName) {
        let is_of =
            |session: SessionId| self.links.all.get(&LinkId(session.0)).is_some_and(|link| link.device == device);
        let yeses = self.members.yeses.iter().filter(|(_, session, own, _)| own == object && is_of(*session));
        for (server, session, object, right) in yeses.cloned().collect::<Vec<_>>() {
            self.members.yeses.remove(&(server, session, object.clone(), right.clone()));
            self.tell_objects(server, ServerInput::Withdrawn(session, object, right));
            self.happened(ObjectEvent::Withdrawn);
        }
    }

    /// A method begins to run.
    pub fn judge_rights(&mut self, run: &RunTold) {
        let call = &self.told.calls[run.call.0];
        let At::Device(device) = call.at else { return };
        // A device runs for itself what is at it.
        if !self.members.is_on || self.devices[device].serves || run.at == call.at {
            return;
        }
        let since = call.asked.saturating_sub(WITHDRAWN_WITHIN);
        if !self.members.had_right_since(&(device, call.object.clone()), since) {
            let what = format!("device {device} had no right to call since {since}, at {}: {call:?}", self.moment);
            self.broke(Invariant::Allowed, what);
        }
    }
}
