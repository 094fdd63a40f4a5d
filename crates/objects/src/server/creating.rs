//! Objects that begin where the server places them: held there, committed, then served.
//!
//! Invariant: the node that holds an object is told to serve it after the commit, and to drop it if there is none.

use std::collections::BTreeMap;

use iolite_values::{NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Begin, NotRun, OfferedClass, TrackAnswer};

use super::asking::Asked;
use super::holds::{HoldFor, Spot, ToHold};
use super::{Asker, Server, TrackAsk, Tracked};

#[derive(Debug, Default)]
pub(super) struct Creations {
    open: BTreeMap<ObjectName, Creation>,
    /// Counts the objects that were placed, so that nodes take turns.
    turn: usize,
}

#[derive(Debug)]
struct Creation {
    asker: Asker,
    begin: Begin,
    /// The node that holds it.
    node: Option<NodeId>,
    /// Others that want the same object.
    others: Vec<Asker>,
}

/// The epoch for which a new object is held: its row says which.
const NEW: ObjectEpoch = ObjectEpoch(0);

impl Server {
    /// Places an object at a node of the service that runs its class: this one, one that has dialled it, or one behind another server.
    pub(super) fn place(&mut self, asker: Asker, begin: Begin, state: Vec<u8>) {
        if let Some(creation) = self.creations.open.get_mut(&begin.object) {
            creation.others.push(asker);
            return;
        }
        let class = OfferedClass { name: begin.object.class().to_owned(), declared: begin.declared.clone() };
        let elsewhere = || self.peers.serving(&class).map(|link| Spot::Peer(link, None));
        let spot = self.serving_here(&class).or_else(elsewhere);
        self.creations.turn = self.creations.turn.wrapping_add(1);
        let Some(spot) = spot else {
            return self.tell(asker, TrackAnswer::Refused(NotRun::NoHostForClass));
        };
        let object = begin.object.clone();
        let creation = Creation { asker, begin: begin.clone(), node: None, others: Vec::new() };
        self.creations.open.insert(object.clone(), creation);
        self.hold_at(spot, HoldFor::Creation(object), ToHold { begin, epoch: NEW, state });
    }

    /// A node of the service that runs this class, and that this server reaches by itself.
    pub(super) fn serving_here(&self, class: &OfferedClass) -> Option<Spot> {
        let is_own = self.settings.classes.iter().any(|own| own.name == class.name && own.declared == class.declared);
        if is_own && self.kernel.node().is_some() {
            return Some(Spot::Kernel);
        }
        self.sessions.serving(class, self.creations.turn).map(Spot::Session)
    }

    pub(super) fn creation_held(&mut self, object: &ObjectName, held: Result<NodeId, NotRun>) {
        let Some(creation) = self.creations.open.get_mut(object) else { return };
        match held {
            Ok(at) => {
                creation.node = Some(at);
                let begin = creation.begin.clone();
                self.ask(Asked::Placed(object.clone()), TrackAsk::Begin { begin, at });
            }
            Err(NotRun::Busy) => self.ask_whether_there(object),
            Err(why) => self.end_creation(object, TrackAnswer::Refused(why)),
        }
    }

    /// The node has the object already, or has no room for it.
    fn ask_whether_there(&mut self, object: &ObjectName) {
        let Some(creation) = self.creations.open.remove(object) else { return };
        for asker in creation.others.into_iter().chain([creation.asker]) {
            self.ask(Asked::IsThere(asker), TrackAsk::Find(object.clone()));
        }
    }

    /// Tracking has answered whether the object begins.
    pub(super) fn placed_told(&mut self, object: &ObjectName, answer: TrackAnswer) {
        let Some(node) = self.creations.open.get(object).and_then(|creation| creation.node) else { return };
        let answer = match answer {
            // An earlier answer was lost: the row is this creation's own.
            TrackAnswer::Found(placed) if placed.places == [node] => TrackAnswer::Begun(placed),
            TrackAnswer::Found(_)
            | TrackAnswer::Begun(_)
            | TrackAnswer::Unknown
            | TrackAnswer::Lost
            | TrackAnswer::Refused(_) => answer,
        };
        match &answer {
            TrackAnswer::Begun(placed) => self.decided(node, object.clone(), placed.epoch, true),
            TrackAnswer::Found(_) | TrackAnswer::Unknown | TrackAnswer::Lost | TrackAnswer::Refused(_) => {
                self.decided(node, object.clone(), NEW, false);
            }
        }
        self.end_creation(object, answer);
    }

    /// The row named the node before the object began there: an earlier answer was lost, or the row is of an object that is gone, and somebody is about to
    /// remove it. A commit decides. Whether it was so.
    pub(super) fn claims_row(&mut self, object: &ObjectName, tracked: &Tracked) -> bool {
        let (Some(node), Tracked::Track(TrackAnswer::Found(placed)) | Tracked::Stands(placed)) =
            (self.creations.open.get(object).and_then(|creation| creation.node), tracked)
        else {
            return false;
        };
        if placed.places != [node] {
            return false;
        }
        let (object, from) = (object.clone(), placed.epoch);
        self.ask(Asked::Placed(object.clone()), TrackAsk::Move { object, from, to: node });
        true
    }

    fn end_creation(&mut self, object: &ObjectName, answer: TrackAnswer) {
        let Some(creation) = self.creations.open.remove(object) else { return };
        // Who came later finds the object as it is.
        let for_others = match &answer {
            TrackAnswer::Begun(placed) => TrackAnswer::Found(placed.clone()),
            TrackAnswer::Found(_) | TrackAnswer::Unknown | TrackAnswer::Lost | TrackAnswer::Refused(_) => {
                answer.clone()
            }
        };
        self.tell(creation.asker, answer);
        for other in creation.others {
            self.tell(other, for_others.clone());
        }
    }
}
