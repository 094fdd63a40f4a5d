//! Managers at this node: the chains that calls go through, and what their tasks ask.
//!
//! Invariants: a call goes through the proxies of the node at which it is made, once, and then through the instance managers of the node that has the
//! object; a task's answer goes to whom its call came from, once.

use std::sync::Arc;
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{DeviceRight, NodeId, ObjectName};
use iolite_wire::objects::{Answer, CallFailure, CallMode, Component, NotRun, Rpc, RpcId};

use super::calls::CallKey;
use super::instances::{Source, What};
use super::turns::Turns;
use super::{Kernel, MoveAsker};
use crate::executor::{Executor, OpId, TaskId};
use crate::limits::LOCATIONS_MAX;
use crate::managers::{
    AnyManager, Aside, Ask, Chain, Kit, Layered, Layers, ManagersProblem, Message, Reply, Side, To, check_known,
    message, parse,
};
use crate::table::Table;

pub(super) type Tasks = Executor<(Layered, Ask), Reply, End, Option<Answer>>;

/// The end that the result of a task is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A call that this node makes.
    Call(CallKey),
    /// A call that has come to an object which is here.
    Came(Source, ObjectName),
    /// A message for a proxy.
    Said(Source),
    /// Work of a coordinator.
    Coordinates(ObjectName),
    Nobody,
}

#[derive(Debug)]
pub(super) struct Chains {
    pub tasks: Tasks,
    known: Vec<Arc<dyn AnyManager>>,
    /// The managers of the objects that this node calls or has copies of, and their layers.
    callers: Table<ObjectName, (String, Layers)>,
    timers: Table<(Instant, OpId), ()>,
    turns: Turns,
    last_message: u64,
}

/// How long a component waits for the reply to a message.
const MESSAGE_TIME: Duration = Duration::from_secs(10);

impl Chains {
    pub fn new(now: Instant, managers: &[Arc<dyn AnyManager>]) -> Chains {
        let mut known = crate::managers::built_in();
        known.extend(managers.iter().cloned());
        Chains {
            tasks: Executor::new(now),
            known,
            callers: Table::default(),
            timers: Table::default(),
            turns: Turns::default(),
            last_message: 0,
        }
    }

    /// The layers of an object with these managers.
    pub fn layers(&self, managers: &str) -> Result<Layers, ManagersProblem> {
        parse(managers, &self.known).map(|declared| Layers::of(&declared))
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|((at, _), ())| *at)
    }

    /// Tasks beside an object that wait for their turn.
    pub fn waiting(&self, object: &ObjectName) -> usize {
        self.turns.waiting(object)
    }
}

impl Kernel {
    /// Looks at those managers of a text that this node knows.
    pub(crate) fn check_managers(&self, managers: &str) -> Result<(), NotRun> {
        check_known(managers, &self.chains.known).map_err(|problem| NotRun::BadArguments(problem.to_string()))
    }

    /// Begins a call at the proxies of its object's managers. False: it has none.
    pub(super) fn through_proxies(&mut self, key: CallKey, managers: &str, rpc: &Rpc) -> Result<bool, NotRun> {
        if managers.is_empty() {
            return Ok(false);
        }
        let layers = self.layers_of_caller(&rpc.object, managers)?;
        if layers.proxies.iter().all(Option::is_none) {
            return Ok(false);
        }
        let kit = self.kit(&rpc.object, Chain::Proxy(layers.proxies.into()));
        self.chains.tasks.spawn(End::Call(key), answer(kit.begin(rpc.clone())));
        Ok(true)
    }

    /// The app says something to the proxy of one layer. False: it has none.
    pub(super) fn through_own_proxy(
        &mut self,
        key: CallKey,
        managers: &str,
        layer: u8,
        rpc: &Rpc,
    ) -> Result<bool, NotRun> {
        let layers = self.layers_of_caller(&rpc.object, managers)?;
        let Some(proxy) = layers.proxies.get(usize::from(layer)).cloned().flatten() else { return Ok(false) };
        let kit = Kit { layer, ..self.kit(&rpc.object, Chain::Proxy(layers.proxies.into())) };
        let reply = proxy.on_app(kit, rpc.arguments.clone());
        let task = async move { Some(reply.await.map_or_else(Answer::Failed, Answer::Returned)) };
        self.chains.tasks.spawn(End::Call(key), Box::pin(task));
        Ok(true)
    }

    /// The layer of an object's manager, by its name.
    pub(super) fn layer_of(&self, managers: &str, name: &str) -> Result<u8, NotRun> {
        let wrong = |problem: String| NotRun::BadArguments(problem);
        let declared = parse(managers, &self.chains.known).map_err(|problem| wrong(problem.to_string()))?;
        let at = declared.iter().position(|declared| declared.manager.kind().name == name);
        at.map(|at| at as u8).ok_or_else(|| wrong(format!("the object has no manager {name}: it has {managers:?}")))
    }

    fn layers_of_caller(&mut self, object: &ObjectName, managers: &str) -> Result<Layers, NotRun> {
        if let Some((_, layers)) = self.chains.callers.get(object).filter(|(own, _)| own == managers) {
            return Ok(layers.clone());
        }
        let layers = self.chains.layers(managers).map_err(|problem| NotRun::BadArguments(problem.to_string()))?;
        if self.chains.callers.len() >= LOCATIONS_MAX {
            // The managers of a copy know what it is good for.
            self.chains.callers.retain(|object| self.instances.is_copy(object));
        }
        self.chains.callers.insert(object.clone(), (managers.to_owned(), layers.clone()));
        Ok(layers)
    }

    pub(super) fn kit(&self, object: &ObjectName, chain: Chain) -> Kit {
        let node = self.node.unwrap_or(NOBODY);
        let reads = self.class(object.class()).map(|class| class.reads.clone());
        let (is_owner, has_copy) = (self.instances.is_own(object), self.instances.is_copy(object));
        let epoch = self.instances.standing(object).map(|(_, epoch)| epoch).unwrap_or_default();
        let (desk, broken) = (self.chains.tasks.desk(), self.settings.broken);
        Kit { desk, object: object.clone(), node, chain, layer: 0, reads, is_owner, has_copy, epoch, broken }
    }

    /// A call has come to an object that is here and serves. False: it has no instance managers.
    pub(super) fn through_instance(
        &mut self,
        source: Source,
        layers: &Layers,
        devices: DeviceRight,
        rpc: &Rpc,
    ) -> bool {
        let object = &rpc.object;
        let chain = Chain::Instance(layers.instances.clone().into());
        let kit = self.kit(object, chain);
        let end = End::Came(source, object.clone());
        let task = match rpc.component {
            Component::Method if layers.instances.iter().all(Option::is_none) => return false,
            Component::Method => self.chains.tasks.spawn(end, answer(kit.begin(rpc.clone()))),
            Component::Instance(layer) => {
                let component = layers.instances.get(usize::from(layer)).cloned().flatten();
                let (Some(component), Some(from)) = (component, rpc.from) else {
                    self.answer(source, Answer::Failed(CallFailure::NotRun(NotRun::NoSuchMethod)));
                    return true;
                };
                if rpc.by_device && rpc.claim > devices {
                    self.answer(source, Answer::Failed(CallFailure::NotRun(NotRun::NotPermitted)));
                    return true;
                }
                let message = Message { from, claim: rpc.claim, body: rpc.arguments.clone() };
                let reply = component.on_message(Kit { layer, ..kit }, message);
                self.chains.tasks.spawn(end, Box::pin(async move { Some(of_message(reply.await)) }))
            }
            Component::Proxy(_) | Component::Coordinator(_) => return false,
        };
        self.instances.task_begins(object, task);
        true
    }

    /// A message has come for a proxy of this node, or a call of a method at the copy that it has.
    pub(super) fn at_proxy(&mut self, source: Source, rpc: &Rpc, layer: u8) {
        let component = self.proxies_here(&rpc.object).and_then(|layers| {
            let proxies = layers.proxies.clone();
            Some((proxies.get(usize::from(layer))?.clone()?, layers))
        });
        let (Some((component, layers)), Some(from)) = (component, rpc.from) else {
            return self.answer(source, Answer::NotHere);
        };
        let kit = Kit { layer, ..self.kit(&rpc.object, Chain::Proxy(layers.proxies.into())) };
        if !rpc.method.is_empty() {
            let task = answer(component.on_call(kit, rpc.clone()));
            self.chains.tasks.spawn(End::Said(source), task);
            return;
        }
        if !self.may_speak_to_proxies(rpc) {
            return self.answer(source, Answer::NotHere);
        }
        let reply = component.on_message(kit, Message { from, claim: rpc.claim, body: rpc.arguments.clone() });
        self.chains.tasks.spawn(End::Said(source), Box::pin(async move { Some(of_message(reply.await)) }));
    }

    /// The managers of this node for an object. One that it has not called may get a copy here.
    fn proxies_here(&mut self, object: &ObjectName) -> Option<Layers> {
        if let Some((_, layers)) = self.chains.callers.get(object) {
            return Some(layers.clone());
        }
        let managers = self.class(object.class())?.declared.managers.clone();
        self.layers_of_caller(object, &managers).ok()
    }

    /// A device speaks for an object only if it owns the object. Nodes of the service are believed.
    fn may_speak_to_proxies(&mut self, rpc: &Rpc) -> bool {
        let owner = self.locations.of(&rpc.object).map(|(owner, _)| owner);
        if !rpc.by_device || owner == rpc.from {
            return true;
        }
        // It may have come to own it: the next call finds out.
        self.locations.forget(&rpc.object);
        false
    }

    /// The object serves here for the first time.
    pub(super) fn created(&mut self, object: &ObjectName, layers: &Layers) {
        for (at, component) in layers.instances.iter().enumerate() {
            if let Some(component) = component.clone() {
                let kit = self.kit(object, Chain::Instance(layers.instances.clone().into()));
                self.spawn_aside(component.on_create(Kit { layer: at as u8, ..kit }));
            }
        }
    }

    fn spawn_aside(&mut self, task: crate::executor::Later<()>) {
        let task = async move {
            task.await;
            None
        };
        self.chains.tasks.spawn(End::Nobody, Box::pin(task));
    }

    /// Whether the managers of this node let the object itself come here.
    pub(super) fn may_come(&self, object: &ObjectName) -> Result<(), NotRun> {
        // Without a copy there is nothing that could be lost.
        if !self.instances.is_copy(object) {
            return Ok(());
        }
        let proxies =
            self.chains.callers.get(object).into_iter().flat_map(|(_, layers)| layers.proxies.iter().flatten());
        proxies.into_iter().try_for_each(|proxy| proxy.may_come())
    }

    /// Runs all tasks that can go on, and does what they ask, until all of them wait.
    pub(super) fn run_tasks(&mut self) {
        loop {
            // A task that was given up asks too: its turn ends.
            while let Some((op, task, (own, ask))) = self.chains.tasks.asked() {
                self.perform(op, task, own, ask);
            }
            match self.chains.tasks.step() {
                Some(Some((task, end, result))) => self.task_ended(task, end, result),
                Some(None) => {}
                None => return,
            }
        }
    }

    fn task_ended(&mut self, task: TaskId, end: End, result: Option<Answer>) {
        match (end, result) {
            (End::Call(key), Some(answer)) => self.chain_answered(key, answer),
            (End::Came(source, object), Some(answer)) => {
                self.answer(source, answer);
                self.instances.task_ends(&object, task);
                self.save_if_drained(&object);
            }
            (End::Said(source), Some(answer)) => self.answer(source, answer),
            (End::Call(_) | End::Came(..) | End::Said(_) | End::Coordinates(_) | End::Nobody, _) => {}
        }
    }

    fn perform(&mut self, op: OpId, task: TaskId, own: Layered, ask: Ask) {
        let (source, object) = (Source::Task(op), own.object.clone());
        match ask {
            // Proxies act on their copy, and the object has come here meanwhile; or the other way round.
            Ask::Invoke(_) if !self.is_on_side(&own) => self.answer(source, Answer::NotHere),
            Ask::Save | Ask::Load(_) if !self.is_on_side(&own) => {
                self.chains.tasks.answer(op, Reply::State(Err("the object is not here".to_owned())));
            }
            Ask::Invoke(rpc) => self.enqueue(source, rpc),
            Ask::Forward(rpc) => self.forward(op, rpc),
            Ask::CallAt(node, rpc) => self.send_to_proxy(op, own.layer, node, rpc),
            Ask::Replicas => self.ask_coordinator(op, own.layer, &object, None),
            Ask::Coordinate(ask) => self.ask_of_coordinator(op, ask),
            Ask::Put { to, row, state } => self.put(op, object, to, row, state),
            Ask::Say(to, claim, body) => self.say(op, &own, to, claim, body),
            Ask::Copy(state) => self.make_copy(op, &object, state),
            Ask::Discard => self.discard_copy(&object),
            Ask::Save => self.enqueue_state(op, &object, What::Save),
            Ask::Load(state) => self.enqueue_state(op, &object, What::Load(state)),
            Ask::Sleep(until) if until <= self.now => self.chains.tasks.answer(op, Reply::Done),
            Ask::Sleep(until) => self.chains.timers.insert((until, op), ()),
            Ask::Spawn(Aside(aside)) => {
                self.spawn_aside(aside);
                self.chains.tasks.answer(op, Reply::Done);
            }
            Ask::Move(to) => {
                // The task that asks does not keep the object here.
                self.instances.task_ends(&object, task);
                self.begin_move(MoveAsker::Task(op), object, to);
            }
            Ask::Turn => {
                if self.chains.turns.ask(own, op) {
                    self.chains.tasks.answer(op, Reply::Done);
                }
            }
            Ask::TurnEnds(turn) => self.turn_ends(&own, turn),
        }
    }

    /// Whether what is here is the component's own: of a proxy the copy, of an instance manager the object.
    fn is_on_side(&self, own: &Layered) -> bool {
        match own.side {
            Side::Proxy => self.instances.is_copy(&own.object),
            Side::Instance => !self.instances.is_copy(&own.object),
            Side::Coordinator => false,
        }
    }

    fn turn_ends(&mut self, own: &Layered, turn: OpId) {
        if let Some(next) = self.chains.turns.end(own, turn) {
            self.chains.tasks.answer(next, Reply::Done);
        }
    }

    fn say(&mut self, op: OpId, own: &Layered, to: To, claim: DeviceRight, body: Vec<u8>) {
        let body = match message::fit(body) {
            Ok(body) => body,
            Err(why) => return self.chains.tasks.answer(op, Reply::Answer(of_message(Err(why)))),
        };
        let object = own.object.clone();
        match to {
            To::Owner => {
                let rpc = self.message(object, Component::Instance(own.layer), claim, body);
                self.forward(op, rpc);
            }
            To::Proxy(node) => {
                let rpc = self.message(object, Component::Proxy(own.layer), claim, body);
                self.send_to_proxy(op, own.layer, node, rpc);
            }
            To::Coordinator => self.ask_coordinator(op, own.layer, &object, Some(body)),
        }
    }

    /// A message, or a call of a method, for the proxy of a node, which may be this one.
    fn send_to_proxy(&mut self, op: OpId, layer: u8, node: NodeId, rpc: Rpc) {
        let rpc = Rpc { component: Component::Proxy(layer), from: self.node, ..rpc };
        if Some(node) == self.node {
            self.at_proxy(Source::Task(op), &rpc, layer);
        } else {
            self.send_pinned(op, rpc, node);
        }
    }

    /// A message of a manager, as a call.
    pub(super) fn message(
        &mut self,
        object: ObjectName,
        component: Component,
        claim: DeviceRight,
        body: Vec<u8>,
    ) -> Rpc {
        self.chains.last_message += 1;
        // A copy is run by this node's methods.
        let version = self.class(object.class()).map_or(0, |class| class.declared.version);
        Rpc {
            id: RpcId { kernel: self.settings.id, counter: self.chains.last_message, path: vec![u32::MAX] },
            object,
            epoch: iolite_values::ObjectEpoch(0),
            version,
            method: String::new(),
            mode: CallMode::Write,
            chain: Vec::new(),
            time_left: MESSAGE_TIME,
            caller: self.settings.caller.clone(),
            arguments: body,
            from: self.node,
            component,
            claim,
            by_device: false,
        }
    }

    pub(super) fn timers_overdue(&mut self) {
        while let Some((&(at, op), ())) = self.chains.timers.first()
            && at <= self.now
        {
            self.chains.timers.remove(&(at, op));
            self.chains.tasks.answer(op, Reply::Done);
        }
    }
}

/// No node, before this one is registered. Nothing that serves asks for it.
const NOBODY: NodeId =
    NodeId { name: iolite_values::NodeName::Device(iolite_values::Id::from_u128(0)), life: iolite_values::NodeLife(0) };

fn answer(task: crate::executor::Later<Answer>) -> crate::executor::Later<Option<Answer>> {
    Box::pin(async move { Some(task.await) })
}

pub(super) fn of_message(result: Result<Vec<u8>, NotRun>) -> Answer {
    match result.and_then(message::fit) {
        Ok(reply) => Answer::Returned(reply),
        Err(why) => Answer::Failed(CallFailure::NotRun(why)),
    }
}
