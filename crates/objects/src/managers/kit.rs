//! The means of a manager: what a component can have its kernel do for its object (the paper's Table 2.3).

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{DeviceRight, NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Answer, CallFailure, CallMode, NotRun, Placed, Rpc};

use super::coordinating::{CoordinatorAsk, CoordinatorTold};
use super::{InstanceManager, Proxy};
use crate::Broken;
use crate::executor::{Later, OpId, SharedDesk};

/// The means of one component of one object.
#[derive(Clone)]
pub struct Kit {
    pub(crate) desk: SharedDesk<(Layered, Ask), Reply>,
    pub(crate) object: ObjectName,
    pub(crate) node: NodeId,
    pub(crate) chain: Chain,
    pub(crate) layer: u8,
    /// The methods that only read. None: this node has not the class.
    pub(crate) reads: Option<Arc<[String]>>,
    pub(crate) is_owner: bool,
    pub(crate) has_copy: bool,
    pub(crate) epoch: ObjectEpoch,
    pub(crate) broken: Broken,
}

/// The component that asks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Layered {
    pub object: ObjectName,
    pub side: Side,
    pub layer: u8,
}

/// The side of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Proxy,
    Instance,
    Coordinator,
}

/// The components of a side, from the outermost.
#[derive(Clone)]
pub(crate) enum Chain {
    Proxy(Arc<[Option<Arc<dyn Proxy>>]>),
    Instance(Arc<[Option<Arc<dyn InstanceManager>>]>),
    Coordinator,
}

/// A state that a manager gives to an object.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub state: Vec<u8>,
    /// The object has it for a while only, and has its own again after that.
    pub is_aside: bool,
}

/// Something that a component asks its kernel.
#[derive(Debug)]
pub(crate) enum Ask {
    /// Run the method at the object that is here.
    Invoke(Rpc),
    /// Send the call to the object, wherever it is.
    Forward(Rpc),
    /// Send the call to the copy at this node.
    CallAt(NodeId, Rpc),
    /// Say which nodes have copies.
    Replicas,
    /// Something that only a coordinator asks.
    Coordinate(CoordinatorAsk),
    /// Have the object go on at a node with this state, if its row is this one.
    Put { to: NodeId, row: Placed, state: Vec<u8> },
    /// Say something to another component of the same layer.
    Say(To, DeviceRight, Vec<u8>),
    /// Keep a copy of this state, in place of the one that is here.
    Copy(Vec<u8>),
    /// Forget the copy.
    Discard,
    /// Say the state of what is here.
    Save,
    /// Give what is here another state.
    Load(Loaded),
    /// Wait.
    Sleep(Instant),
    /// Do this beside the task that asks.
    Spawn(Aside),
    /// Have the object go to another node.
    Move(NodeId),
    /// Wait for the component's turn.
    Turn,
    /// The turn is over, or is not waited for any more.
    TurnEnds(OpId),
}

/// Work of a component for which nobody waits.
pub(crate) struct Aside(pub Later<()>);

impl std::fmt::Debug for Aside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Aside")
    }
}

/// The component that a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// The instance manager at the object's owner.
    Owner,
    /// The proxy at this node.
    Proxy(NodeId),
    /// The coordinator, wherever it is.
    Coordinator,
}

/// The answer of a kernel to its component.
#[derive(Debug)]
pub(crate) enum Reply {
    Answer(Answer),
    Moved(Result<Placed, NotRun>),
    /// The state, or why there is none. For people.
    State(Result<Vec<u8>, String>),
    Coordinated(CoordinatorTold),
    Done,
}

impl Kit {
    /// The time on this node's clock, which only goes forward.
    pub fn now(&self) -> Instant {
        self.desk.now()
    }

    /// This node (`getNode`).
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The object that the manager manages.
    pub fn object(&self) -> &ObjectName {
        &self.object
    }

    fn side(&self) -> Side {
        match self.chain {
            Chain::Proxy(_) => Side::Proxy,
            Chain::Instance(_) => Side::Instance,
            Chain::Coordinator => Side::Coordinator,
        }
    }

    fn own(&self) -> Layered {
        Layered { object: self.object.clone(), side: self.side(), layer: self.layer }
    }

    pub(super) async fn ask(&self, ask: Ask) -> Reply {
        self.desk.ask((self.own(), ask)).await
    }

    pub(super) async fn ask_answer(&self, ask: Ask) -> Answer {
        match self.ask(ask).await {
            Reply::Answer(answer) => answer,
            Reply::Moved(_) | Reply::State(_) | Reply::Coordinated(_) | Reply::Done => {
                unreachable!("a call is answered with an answer")
            }
        }
    }

    /// Passes a call on to the next layer: at last it is sent to the object, or run (`invoke`).
    pub fn next(self, call: Rpc) -> Later<Answer> {
        let inner = |layer: usize| Kit { layer: layer as u8, ..self.clone() };
        let from = usize::from(self.layer) + 1;
        self.pass(from, call, inner)
    }

    /// Begins a call at the outermost layer.
    pub(crate) fn begin(self, call: Rpc) -> Later<Answer> {
        let inner = |layer: usize| Kit { layer: layer as u8, ..self.clone() };
        self.pass(0, call, inner)
    }

    fn pass(&self, from: usize, call: Rpc, inner: impl Fn(usize) -> Kit) -> Later<Answer> {
        let kit = self.clone();
        match &self.chain {
            Chain::Proxy(layers) => {
                let next = layers.iter().enumerate().skip(from).find_map(|(at, layer)| Some((at, layer.clone()?)));
                match next {
                    Some((at, layer)) => layer.on_rpc(inner(at), call),
                    None => Box::pin(async move { kit.ask_answer(Ask::Forward(call)).await }),
                }
            }
            Chain::Instance(layers) => {
                let next = layers.iter().enumerate().skip(from).find_map(|(at, layer)| Some((at, layer.clone()?)));
                match next {
                    Some((at, layer)) => layer.on_rpc(inner(at), call),
                    None => Box::pin(async move { kit.ask_answer(Ask::Invoke(call)).await }),
                }
            }
            Chain::Coordinator => Box::pin(async { Answer::NotHere }),
        }
    }

    /// Says something to this manager's component beside the object, and waits for its reply.
    ///
    /// # Errors
    /// [`CallFailure`]: as of a call.
    pub async fn ask_owner(&self, body: Vec<u8>) -> Result<Vec<u8>, CallFailure> {
        self.say(To::Owner, DeviceRight::Call, body).await
    }

    /// Asks the owner for a copy that reads, or that writes. Servers look whether this node may have it.
    ///
    /// # Errors
    /// [`CallFailure`]: as of a call.
    pub async fn claim(&self, claim: DeviceRight, body: Vec<u8>) -> Result<Vec<u8>, CallFailure> {
        self.say(To::Owner, claim, body).await
    }

    /// Says something to this manager's proxy at a node that calls the object, and waits for its reply.
    ///
    /// # Errors
    /// [`CallFailure`]: as of a call.
    pub async fn ask_proxy(&self, node: NodeId, body: Vec<u8>) -> Result<Vec<u8>, CallFailure> {
        self.say(To::Proxy(node), DeviceRight::Call, body).await
    }

    /// Says something to this manager's coordinator, and waits for its reply.
    ///
    /// # Errors
    /// [`CallFailure`]: as of a call. `Unreachable`: no server coordinates the object at the moment.
    pub async fn ask_coordinator(&self, body: Vec<u8>) -> Result<Vec<u8>, CallFailure> {
        self.say(To::Coordinator, DeviceRight::Call, body).await
    }

    /// Sends a call to the copy at a node, where this manager's proxy takes it with `on_call` (`invoke` of a replica).
    pub async fn call_at(&self, node: NodeId, call: Rpc) -> Answer {
        self.ask_answer(Ask::CallAt(node, call)).await
    }

    async fn say(&self, to: To, claim: DeviceRight, body: Vec<u8>) -> Result<Vec<u8>, CallFailure> {
        said(self.ask_answer(Ask::Say(to, claim, body)).await)
    }

    /// Whether the object itself was here when the component was asked.
    pub fn is_owner(&self) -> bool {
        self.is_owner
    }

    /// Whether a copy was here when the component was asked.
    pub fn has_copy(&self) -> bool {
        self.has_copy
    }

    /// The epoch of what is here. Beside the object: a later component of the same object, at any node, has a later one. Without anything here: 0.
    pub fn epoch(&self) -> ObjectEpoch {
        self.epoch
    }

    /// Whether this node can run the methods of the class.
    pub fn has_class(&self) -> bool {
        self.reads.is_some()
    }

    /// Whether a call only reads: as the class says it, or, where that is not here, its caller.
    pub fn reads(&self, call: &Rpc) -> bool {
        match &self.reads {
            Some(reads) => reads.contains(&call.method),
            None => call.mode == CallMode::Read,
        }
    }

    /// Runs a method at what is here: the object itself, or the copy (`invoke`).
    pub async fn run(&self, call: Rpc) -> Answer {
        self.ask_answer(Ask::Invoke(call)).await
    }

    async fn ask_state(&self, ask: Ask) -> Result<Vec<u8>, String> {
        match self.ask(ask).await {
            Reply::State(state) => state,
            Reply::Answer(_) | Reply::Moved(_) | Reply::Coordinated(_) | Reply::Done => {
                unreachable!("a state is answered with a state")
            }
        }
    }

    /// The state of what is here, once no method writes (`copy`).
    ///
    /// # Errors
    /// For people: why there is none.
    pub async fn save(&self) -> Result<Vec<u8>, String> {
        self.ask_state(Ask::Save).await
    }

    /// Gives what is here another state, once no method runs (`sync`).
    ///
    /// # Errors
    /// For people: why there is no object of such a state.
    pub async fn load(&self, state: Vec<u8>) -> Result<(), String> {
        self.ask_state(Ask::Load(Loaded { state, is_aside: false })).await.map(drop)
    }

    /// The same for a while, until another state is loaded: the object's node does not keep it over its end.
    pub(crate) async fn load_aside(&self, state: Vec<u8>) -> Result<(), String> {
        self.ask_state(Ask::Load(Loaded { state, is_aside: true })).await.map(drop)
    }

    /// Keeps a copy of this state at this node, in place of the one that it has (`setReplica`).
    ///
    /// # Errors
    /// For people: why there is none. The object itself is here, or its class is not.
    pub async fn keep_copy(&self, state: Vec<u8>) -> Result<(), String> {
        self.ask_state(Ask::Copy(state)).await.map(drop)
    }

    /// Forgets the copy.
    pub fn discard_copy(&self) {
        self.desk.tell((self.own(), Ask::Discard));
    }

    /// Waits so long.
    pub async fn sleep(&self, time: Duration) {
        self.sleep_until(self.now() + time).await;
    }

    /// Waits until then.
    pub async fn sleep_until(&self, until: Instant) {
        self.ask(Ask::Sleep(until)).await;
    }

    /// Has something done beside the task that asks. It has begun when this returns: what it says first is said before what the asker says next.
    pub async fn spawn(&self, aside: Later<()>) {
        self.ask(Ask::Spawn(Aside(aside))).await;
    }

    /// Waits for something until then at the latest. None: it has not come.
    pub async fn within<T>(&self, until: Instant, mut wait: Later<T>) -> Option<T> {
        let mut over = Box::pin(self.sleep_until(until));
        poll_fn(|context| match wait.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => over.as_mut().poll(context).map(|()| None),
        })
        .await
    }

    /// Has the object go to another node (`pin`). The component that asks is there no more when it has gone; its task ends all the same.
    ///
    /// # Errors
    /// [`NotRun`]: it stays.
    pub async fn move_to(&self, node: NodeId) -> Result<Placed, NotRun> {
        self.ask_moved(Ask::Move(node)).await
    }

    pub(super) async fn ask_moved(&self, ask: Ask) -> Result<Placed, NotRun> {
        match self.ask(ask).await {
            Reply::Moved(moved) => moved,
            Reply::Answer(_) | Reply::State(_) | Reply::Coordinated(_) | Reply::Done => {
                unreachable!("a move is answered with the row")
            }
        }
    }

    /// Waits until no other task of this component has its turn. The turn ends when it is dropped. A task that is given up while it waits leaves the row.
    pub async fn turn(&self) -> Turn {
        let waits = self.desk.ask((self.own(), Ask::Turn));
        let turn = Turn { kit: self.clone(), op: waits.id() };
        waits.await;
        turn
    }

    /// Waits for its turn with a call, which has less time left afterwards.
    ///
    /// # Errors
    /// [`NotRun::WouldDeadlock`] at once: a method of the object waits for this call, and has the turn. [`NotRun::Busy`]: the caller waits no longer.
    pub async fn turn_for(&self, call: Rpc) -> Result<(Turn, Rpc), CallFailure> {
        if call.chain.contains(&self.object) {
            let round = call.chain.iter().chain([&self.object]).cloned().collect();
            return Err(CallFailure::NotRun(NotRun::WouldDeadlock(round)));
        }
        let until = self.now() + call.time_left;
        let turn = self.turn().await;
        let time_left = until.since(self.now());
        if time_left.is_zero() {
            return Err(CallFailure::NotRun(NotRun::Busy));
        }
        Ok((turn, Rpc { time_left, ..call }))
    }
}

/// The reply to a message.
pub(super) fn said(answer: Answer) -> Result<Vec<u8>, CallFailure> {
    match answer {
        Answer::Returned(reply) => Ok(reply),
        Answer::Failed(failure) => Err(failure),
        Answer::Threw(_) => Err(CallFailure::InDoubt),
        Answer::NotHere | Answer::Moved { .. } => Err(CallFailure::NotRun(NotRun::Unreachable)),
    }
}

/// Waits for all of these at once.
pub(crate) async fn all(mut waits: Vec<Later<()>>) {
    poll_fn(|context| {
        waits.retain_mut(|wait| wait.as_mut().poll(context).is_pending());
        if waits.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// The turn of a task at its component.
pub struct Turn {
    kit: Kit,
    op: OpId,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let own = self.kit.own();
        self.kit.desk.tell((own, Ask::TurnEnds(self.op)));
    }
}
