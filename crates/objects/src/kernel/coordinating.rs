//! Coordinators that run at this node: a server has them of the objects that are its to coordinate.
//!
//! Invariant: what a coordinator had under way is given up when the object is not this node's to coordinate any more.

use std::sync::Arc;

use iolite_values::{DeviceRight, NodeId, ObjectName};
use iolite_wire::objects::{Answer, Begin, Component, NotRun, Placed, Rpc, TrackAnswer};

use super::chains::{End, of_message};
use super::instances::Source;
use super::{Kernel, KernelOutput};
use crate::executor::{Later, OpId};
use crate::managers::{
    Chain, Coordinator, CoordinatorAsk, CoordinatorTold, Kit, Message, Reply, message, of_ref_request,
};
use crate::table::Table;

type Components = Arc<[Option<Arc<dyn Coordinator>>]>;

#[derive(Default)]
pub(super) struct Coordinating {
    all: Table<ObjectName, Components>,
    /// Questions of coordinators, by their numbers.
    asked: Table<u64, OpId>,
    /// Objects that are put somewhere, by the number of the question.
    put: Table<u64, OpId>,
}

impl std::fmt::Debug for Coordinating {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.all.keys()).finish()
    }
}

/// The method of a message that asks which nodes have copies.
pub(crate) const REF_REQUEST: &str = "onRefRequest";

impl Kernel {
    /// This node coordinates an object from now on. One that it coordinates already has begun anew, perhaps with other managers.
    pub(super) fn coordinate(&mut self, object: &ObjectName, managers: &str) {
        self.coordinate_no_more(object);
        // A manager that this server does not know coordinates nothing here.
        let Ok(layers) = self.chains.layers(managers) else { return };
        if layers.coordinators.iter().all(Option::is_none) {
            return;
        }
        self.coordinating.all.insert(object.clone(), layers.coordinators.into());
        self.tell_coordinators(object, |coordinator, kit| coordinator.on_create(kit));
    }

    pub(super) fn coordinate_no_more(&mut self, object: &ObjectName) {
        if self.coordinating.all.remove(object).is_some() {
            self.chains.tasks.cancel(&End::Coordinates(object.clone()));
        }
    }

    pub(super) fn coordinate_nothing(&mut self) {
        let all: Vec<ObjectName> = self.coordinating.all.keys().cloned().collect();
        all.iter().for_each(|object| self.coordinate_no_more(object));
    }

    pub(super) fn node_dead(&mut self, node: NodeId) {
        let all: Vec<ObjectName> = self.coordinating.all.keys().cloned().collect();
        for object in &all {
            self.tell_coordinators(object, |coordinator, kit| coordinator.on_failure(kit, node));
        }
    }

    fn tell_coordinators(&mut self, object: &ObjectName, upcall: impl Fn(Arc<dyn Coordinator>, Kit) -> Later<()>) {
        let Some(components) = self.coordinating.all.get(object).cloned() else { return };
        for (at, component) in components.iter().enumerate() {
            if let Some(component) = component.clone() {
                let kit = Kit { layer: at as u8, ..self.kit(object, Chain::Coordinator) };
                let task = upcall(component, kit);
                let task = async move {
                    task.await;
                    None
                };
                self.chains.tasks.spawn(End::Coordinates(object.clone()), Box::pin(task));
            }
        }
    }

    /// A message has come for a coordinator.
    pub(super) fn at_coordinator(&mut self, source: Source, rpc: &Rpc, layer: u8) {
        let components = self.coordinating.all.get(&rpc.object);
        let component = components.and_then(|all| all.get(usize::from(layer)).cloned().flatten());
        let (Some(component), Some(from)) = (component, rpc.from) else {
            return self.answer(source, Answer::NotHere);
        };
        let kit = Kit { layer, ..self.kit(&rpc.object, Chain::Coordinator) };
        if rpc.method == REF_REQUEST {
            let nodes = component.on_ref_request(kit);
            self.chains.tasks.spawn(End::Said(source), Box::pin(async move { Some(of_ref_request(nodes.await)) }));
            return;
        }
        let reply = component.on_message(kit, Message { from, claim: DeviceRight::Call, body: rpc.arguments.clone() });
        self.chains.tasks.spawn(End::Said(source), Box::pin(async move { Some(of_message(reply.await)) }));
    }

    /// A component asks its object's coordinator, which may be here.
    pub(super) fn ask_coordinator(&mut self, op: OpId, layer: u8, object: &ObjectName, body: Option<Vec<u8>>) {
        let method = if body.is_some() { String::new() } else { REF_REQUEST.to_owned() };
        let body = match message::fit(body.unwrap_or_default()) {
            Ok(body) => body,
            Err(why) => return self.chains.tasks.answer(op, Reply::Answer(of_message(Err(why)))),
        };
        let rpc = self.message(object.clone(), Component::Coordinator(layer), DeviceRight::Call, body);
        let rpc = Rpc { method, ..rpc };
        match self.node {
            _ if self.coordinating.all.contains_key(object) => self.at_coordinator(Source::Task(op), &rpc, layer),
            // Servers know which of them it is, whatever the caller names.
            Some(node) => self.send_pinned(op, rpc, node),
            None => self.chains.tasks.answer(op, Reply::Answer(of_message(Err(NotRun::Unreachable)))),
        }
    }

    pub(super) fn ask_of_coordinator(&mut self, op: OpId, ask: CoordinatorAsk) {
        let number = self.number();
        self.coordinating.asked.insert(number, op);
        self.emit(KernelOutput::Coordinate(number, ask));
    }

    pub(super) fn coordinated(&mut self, number: u64, told: CoordinatorTold) {
        if let Some(op) = self.coordinating.asked.remove(&number) {
            self.chains.tasks.answer(op, Reply::Coordinated(told));
        }
    }

    /// A coordinator has an object go on at a node, with the state of a copy.
    pub(super) fn put(&mut self, op: OpId, object: ObjectName, to: NodeId, row: Placed, state: Vec<u8>) {
        let number = self.number();
        self.coordinating.put.insert(number, op);
        let (begin, from) = (Begin { object, declared: row.declared }, row.epoch);
        self.emit(KernelOutput::Take { number, begin, from, to, state });
    }

    /// Tracking has answered whether an object was put somewhere. Whether it was asked that.
    pub(super) fn put_told(&mut self, number: u64, answer: &TrackAnswer) -> bool {
        let Some(op) = self.coordinating.put.remove(&number) else { return false };
        let moved = match answer {
            TrackAnswer::Found(placed) | TrackAnswer::Begun(placed) => Ok(placed.clone()),
            TrackAnswer::Unknown | TrackAnswer::Lost => Err(NotRun::Conflict),
            TrackAnswer::Refused(why) => Err(why.clone()),
        };
        self.chains.tasks.answer(op, Reply::Moved(moved));
        true
    }
}
