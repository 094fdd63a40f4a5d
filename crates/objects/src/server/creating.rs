//! Objects that begin where the server places them: held there, committed, then served.
//!
//! Invariant: the node that holds an object is told to serve it after the commit, and to drop it if there is none.

use std::collections::BTreeMap;

use iolite_machine::Machine;
use iolite_values::{NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Begin, NotRun, OfferedClass, ToDevice, TrackAnswer};

use super::{Asked, Asker, Server, SessionId, TrackAsk};
use crate::kernel::{IncomingId, KernelInput};

#[derive(Debug, Default)]
pub(super) struct Creations {
    open: BTreeMap<ObjectName, Creation>,
}

#[derive(Debug)]
struct Creation {
    asker: Asker,
    begin: Begin,
    target: Target,
    node: NodeId,
    /// Others that want the same object.
    others: Vec<Asker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Kernel(IncomingId),
    Session(SessionId, u64),
}

const FIRST: ObjectEpoch = ObjectEpoch(1);

impl Server {
    /// Places an object at a node of the service that runs its class: this one, or one that has dialled it.
    pub(super) fn place(&mut self, asker: Asker, begin: Begin, state: Vec<u8>) {
        if let Some(creation) = self.creations.open.get_mut(&begin.object) {
            creation.others.push(asker);
            return;
        }
        let class = OfferedClass { name: begin.object.class().to_owned(), declared: begin.declared.clone() };
        let object = begin.object.clone();
        let is_own = self.settings.classes.iter().any(|own| own.name == class.name && own.declared == class.declared);
        if let (true, Some(node)) = (is_own, self.kernel.node()) {
            let id = self.incoming();
            let target = Target::Kernel(id);
            let creation = Creation { asker, begin: begin.clone(), target, node, others: Vec::new() };
            self.creations.open.insert(object, creation);
            return self.kernel.handle(self.now, KernelInput::Hold { id, begin, epoch: FIRST, state });
        }
        let serving = self.sessions.serving(&class);
        let Some((session, node)) = serving.and_then(|own| self.sessions.node(own).map(|node| (own, node))) else {
            return self.tell(asker, TrackAnswer::Refused(NotRun::NoHostForClass));
        };
        let number = self.sessions.next_number(session);
        let target = Target::Session(session, number);
        let creation = Creation { asker, begin: begin.clone(), target, node, others: Vec::new() };
        self.creations.open.insert(object, creation);
        self.send(session, ToDevice::Hold { number, begin, epoch: FIRST, state });
    }

    pub(super) fn kernel_held(&mut self, id: IncomingId, held: Result<(), NotRun>) {
        self.held(Target::Kernel(id), held);
    }

    /// A device has answered. False: it was not asked, or has answered before.
    pub(super) fn session_held(&mut self, session: SessionId, number: u64, held: Result<(), NotRun>) -> bool {
        self.held(Target::Session(session, number), held)
    }

    fn held(&mut self, target: Target, held: Result<(), NotRun>) -> bool {
        let found = self.creations.open.values().find(|creation| creation.target == target);
        let Some((begin, at)) = found.map(|creation| (creation.begin.clone(), creation.node)) else { return false };
        match held {
            Ok(()) => self.ask(Asked::Placed(begin.object.clone()), TrackAsk::Begin { begin, at }),
            Err(NotRun::Busy) => self.ask_whether_there(&begin.object),
            Err(why) => self.end_creation(&begin.object, TrackAnswer::Refused(why)),
        }
        true
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
        let Some(creation) = self.creations.open.get(object) else { return };
        let answer = match answer {
            // An earlier answer was lost: the row is this creation's own.
            TrackAnswer::Found(placed) if placed.epoch == FIRST && placed.places == [creation.node] => {
                TrackAnswer::Begun(placed)
            }
            TrackAnswer::Found(_) | TrackAnswer::Begun(_) | TrackAnswer::Unknown | TrackAnswer::Refused(_) => answer,
        };
        let (target, begun) = (creation.target, matches!(answer, TrackAnswer::Begun(_)));
        let object_name = object.clone();
        match target {
            Target::Kernel(_) if begun => {
                self.kernel.handle(self.now, KernelInput::Serve { object: object_name, epoch: FIRST });
            }
            Target::Kernel(_) => {
                self.kernel.handle(self.now, KernelInput::Drop { object: object_name, epoch: FIRST });
            }
            Target::Session(session, _) if !self.sessions.is_open(session) => {}
            Target::Session(session, _) if begun => {
                self.send(session, ToDevice::Serve { object: object_name, epoch: FIRST });
            }
            Target::Session(session, _) => {
                self.send(session, ToDevice::Drop { object: object_name, epoch: FIRST });
            }
        }
        self.end_creation(object, answer);
    }

    fn end_creation(&mut self, object: &ObjectName, answer: TrackAnswer) {
        let Some(creation) = self.creations.open.remove(object) else { return };
        // Who came later finds the object as it is.
        let for_others = match &answer {
            TrackAnswer::Begun(placed) => TrackAnswer::Found(placed.clone()),
            TrackAnswer::Found(_) | TrackAnswer::Unknown | TrackAnswer::Refused(_) => answer.clone(),
        };
        self.tell(creation.asker, answer);
        for other in creation.others {
            self.tell(other, for_others.clone());
        }
    }

    /// A session has ended: what it was to hold, and does not hold yet, begins nowhere.
    pub(super) fn creations_closed(&mut self, session: SessionId) {
        let is_its = |creation: &&Creation| matches!(creation.target, Target::Session(own, _) if own == session);
        let objects: Vec<ObjectName> =
            self.creations.open.values().filter(is_its).map(|creation| creation.begin.object.clone()).collect();
        for object in objects {
            // The commit of one that it holds may be under way: tracking's answer ends it.
            let is_asked = |(asked, _): &(Asked, TrackAsk)| *asked == Asked::Placed(object.clone());
            if !self.asked.values().chain(&self.in_doubt).any(is_asked) {
                self.end_creation(&object, TrackAnswer::Refused(NotRun::Unreachable));
            }
        }
    }
}
