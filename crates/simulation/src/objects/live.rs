//! One run of this world: work among faults, healing, and a look at every object from everywhere.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_objects::{CallError, Created, Placing, Ticket};
use iolite_values::{NodeName, ObjectName};

use super::app::Asked;
use super::asking::Wanted;
use super::checker;
use super::kinds::{Kind, Promise};
use super::names::At;
use super::roughness::SECOND;
use super::told::CallIndex;
use super::world::World;
use crate::broken::Broken;
use crate::checker::{Invariant, Violation};
use crate::counts::Counts;
use crate::history::Moment;
use crate::run::{Outcome, catching};

/// How long everybody goes on to work when faults are over.
const WORK_ON: Moment = 10 * SECOND;
/// After this without faults every object can be reached: leases have ended, and what nobody decided is forgotten.
const REST: Moment = 80 * SECOND;
/// How long it may take then.
const REACHED_WITHIN: Moment = 40 * SECOND;
/// The time between two tries of a node that got no answer.
const TRY_EVERY: Moment = 2 * SECOND;
/// No call waits longer.
const ANSWERED_WITHIN: Moment = 25 * SECOND;

/// Runs a seed.
pub fn run(seed: u64, broken: Broken) -> Outcome {
    let mut world = World::new(seed, broken, false);
    let violation = catching(|| live(&mut world)).err();
    let timeline = violation.is_some().then(|| tell_again(seed, broken));
    let (sightings, confirmed) = checker::counts(&world);
    Outcome {
        seed,
        violation,
        steps: world.steps,
        confirmed,
        sightings,
        faults: Counts::default(),
        occasions: Counts::default(),
        row_events: Counts::default(),
        rights_events: Counts::default(),
        centre_events: Counts::default(),
        object_events: world.events.clone(),
        trace_hash: world.trace_hash(),
        timeline,
    }
}

/// The same run once more, of which the last words are written down.
fn tell_again(seed: u64, broken: Broken) -> String {
    let mut world = World::new(seed, broken, true);
    // How it ends is known.
    drop(catching(|| live(&mut world)));
    world.timeline()
}

fn live(world: &mut World) -> Result<(), Violation> {
    world.pass(world.rough.work_for)?;
    world.heal();
    world.pass(WORK_ON)?;
    world.works = false;
    world.pass(REST)?;
    world.rested = world.moment;
    world.reach_all()?;
    world.pass(ANSWERED_WITHIN)?;
    world.check_answered()?;
    world.check_copies()?;
    checker::check(world)
}

/// Answers of those who try to reach objects, in the end.
type Reached<Key> = BTreeMap<Key, Result<(), String>>;

/// How far every object is reached: its creation first, and then a call from each node.
struct Reach {
    objects: Vec<ObjectName>,
    nodes: Vec<At>,
    created: Reached<ObjectName>,
    called: Reached<(ObjectName, At)>,
    /// Questions that were asked last.
    creations: BTreeMap<ObjectName, (At, Ticket)>,
    calls: BTreeMap<(ObjectName, At), CallIndex>,
}

impl World {
    /// Time goes by.
    fn pass(&mut self, time: Moment) -> Result<(), Violation> {
        let end = self.moment + time;
        let mut looked = self.moment;
        while self.moment < end {
            self.step()?;
            if self.moment > looked + SECOND {
                looked = self.moment;
                self.check_deadlines()?;
            }
        }
        Ok(())
    }

    /// No call is open past its deadline, at a process that runs.
    fn check_deadlines(&self) -> Result<(), Violation> {
        for at in self.all() {
            if !self.is_up(at) || self.is_still(at) || self.moment < self.host(at).resumed + SECOND {
                continue;
            }
            let now = self.now(at).instant;
            for asked in self.host(at).app.tickets.values() {
                let (deadline, what) = match asked {
                    Asked::Call { call, .. } => {
                        (self.told.calls[call.0].deadline, format!("{:?}", self.told.calls[call.0]))
                    }
                    Asked::Word(word) => (self.told.words[word.0].deadline, format!("{:?}", self.told.words[word.0])),
                    Asked::Create | Asked::Find(..) | Asked::Move => continue,
                };
                if deadline + Duration::from_secs(1) < now {
                    let what = format!("at {at:?} there is no answer, at {now:?}: {what}");
                    return Err(Violation::new(Invariant::Answered, what));
                }
            }
        }
        Ok(())
    }

    /// Everything that was asked is answered.
    fn check_answered(&self) -> Result<(), Violation> {
        for at in self.all().into_iter().filter(|at| self.is_up(*at)) {
            if let Some(asked) = self.host(at).app.tickets.values().next() {
                let what = format!("{at:?} has no answer long after faults have ended: {asked:?}");
                return Err(Violation::new(Invariant::Answered, what));
            }
        }
        Ok(())
    }

    /// An object whose calls go to three copies has so many, as far as there are nodes for them.
    fn check_copies(&self) -> Result<(), Violation> {
        let serves = |at: &At| match at {
            At::Server(_) => true,
            At::Device(device) => self.devices[*device].serves,
        };
        let nodes: Vec<At> = self.all().into_iter().filter(|at| self.is_up(*at)).collect();
        let may_have_copies =
            |object: &&ObjectName| Kind::of(object).promise() == Promise::Copies && !self.is_out_of_reach(object);
        for object in self.objects.iter().filter(may_have_copies) {
            let Some(row) = self.rows.last(self.store.id, object).filter(|row| !row.places.is_empty()) else {
                continue;
            };
            let copies = nodes.iter().filter(|at| self.host(**at).app.objects.contains_key(object)).count();
            let wanted = nodes.iter().filter(|at| serves(at)).count().min(3);
            if copies < wanted {
                let what = format!("{object} has {copies} copies in place of {wanted}, and its row is {row:?}");
                return Err(Violation::new(Invariant::Liveness, what));
            }
        }
        Ok(())
    }

    /// Every object that can have an owner is created, if it is not there, and called from everywhere.
    fn reach_all(&mut self) -> Result<(), Violation> {
        let end = self.moment + REACHED_WITHIN;
        let mut reach = Reach {
            objects: self.objects.iter().filter(|object| self.can_begin(object)).cloned().collect(),
            nodes: self.all().into_iter().filter(|at| self.is_up(*at)).collect(),
            created: BTreeMap::new(),
            called: BTreeMap::new(),
            creations: BTreeMap::new(),
            calls: BTreeMap::new(),
        };
        loop {
            self.try_again(&mut reach);
            self.pass(TRY_EVERY)?;
            self.take_answers(&mut reach);
            match self.missing(&reach) {
                None => return Ok(()),
                Some(what) if self.moment > end => return Err(Violation::new(Invariant::Liveness, what)),
                Some(_) => {}
            }
        }
    }

    /// Whether some node that is up may own the object.
    fn can_begin(&self, object: &ObjectName) -> bool {
        let is_service_up = || self.devices.iter().any(|device| device.serves && device.process.is_some());
        Kind::of(object) != Kind::Hosted || is_service_up()
    }

    /// An object is out of reach for good if its device never comes back and is a user's, or nobody marks it. So is one that never moves, if its process
    /// has ended.
    fn is_out_of_reach(&self, object: &ObjectName) -> bool {
        let Some(row) = self.rows.last(self.store.id, object) else { return false };
        if Kind::of(object) == Kind::InPlace {
            return row.places.first().is_some_and(|owner| self.is_known_node(*owner).is_none());
        }
        match row.places.first().map(|node| (node, node.name)) {
            Some((node, NodeName::Device(id))) => {
                self.device_of(id).is_some_and(|device| self.devices[device].is_gone && !self.is_replaced(*node))
            }
            Some((_, NodeName::Server(_))) | None => false,
        }
    }

    fn try_again(&mut self, reach: &mut Reach) {
        (reach.creations, reach.calls) = (BTreeMap::new(), BTreeMap::new());
        for object in &reach.objects {
            if reach.created.get(object) != Some(&Ok(())) {
                let at = reach.nodes[self.random.below(reach.nodes.len() as u64) as usize];
                let ticket = self.create(at, object.clone(), Placing::AtServer);
                reach.creations.insert(object.clone(), (at, ticket));
                self.carry(at);
                continue;
            }
            for at in &reach.nodes {
                let key = (object.clone(), *at);
                if reach.called.get(&key) != Some(&Ok(())) {
                    let call = self.call(*at, Wanted::read(object.clone(), Duration::from_millis(1_500)));
                    reach.calls.insert(key, call);
                    self.carry(*at);
                }
            }
        }
    }

    /// Takes note of a creation's answer.
    pub fn probe_created(&mut self, at: At, ticket: Ticket, created: Result<Created, CallError>) {
        if !self.works {
            self.created.insert((at, ticket), created.map(|_| ()).map_err(|error| format!("{error:?}")));
        }
    }

    fn take_answers(&mut self, reach: &mut Reach) {
        for (object, asked) in &reach.creations {
            let answer = self.created.remove(asked).unwrap_or_else(|| Err("no answer".to_owned()));
            reach.created.insert(object.clone(), answer);
        }
        for (key, call) in &reach.calls {
            let answer = match &self.told.calls[call.0].answered {
                Some((_, Ok(_))) => Ok(()),
                Some((_, Err(error))) => {
                    // A row that names its node by chance, or for an earlier process of it, is removed by the first call. Then the object may begin anew.
                    if *error == CallError::Gone {
                        reach.created.remove(&key.0);
                    }
                    Err(format!("{error:?}"))
                }
                None => Err("no answer".to_owned()),
            };
            reach.called.insert(key.clone(), answer);
        }
    }

    /// The first object that is not reached yet, in words.
    fn missing(&self, reach: &Reach) -> Option<String> {
        for object in reach.objects.iter().filter(|object| !self.is_out_of_reach(object)) {
            if let Some(Err(error)) = reach.created.get(object) {
                return Some(format!("{object} cannot be created: {error}; its row is {}", self.row_of(object)));
            }
            for at in &reach.nodes {
                let called = reach.called.get(&(object.clone(), *at));
                if called != Some(&Ok(())) {
                    let row = self.row_of(object);
                    return Some(format!("{object} cannot be called from {at:?}: {called:?}; its row is {row}"));
                }
            }
        }
        None
    }

    fn row_of(&self, object: &ObjectName) -> String {
        format!("{:?}", self.rows.last(self.store.id, object))
    }
}
