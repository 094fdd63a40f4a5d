//! The kernel: instances that are here, calls of objects wherever they are, and where those were when last heard of.
//!
//! It knows no connection: what carries its calls says what became of them.

mod calls;
mod creating;
mod instances;
mod locations;

use std::collections::VecDeque;

use iolite_machine::{Instant, Machine, Now};
use iolite_values::{Id, NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Answer, Begin, NotRun, Rpc, TrackAnswer};

use crate::{Class, FromApp, ToApp};

use self::calls::Calls;
use self::creating::Creating;
use self::instances::Instances;
use self::locations::Locations;

/// The settings that a kernel is started with.
#[derive(Clone, Debug)]
pub struct KernelSettings {
    /// Drawn when the process started: ids of calls begin with it.
    pub id: Id,
    pub classes: Vec<Class>,
    /// For whom this node's own calls are made: a server writes its own, and that of a device is replaced by its server.
    pub caller: String,
}

/// Names a call that came from elsewhere. Chosen by what carries it, and never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IncomingId(pub u64);

/// An input of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelInput {
    /// The node is registered: it is this life of it. In another life than before, what was here is gone.
    Registered(NodeId),
    /// The connection is lost: the kernel's open questions are not going to be answered.
    Unlinked,
    /// This was not sent: there is no connection.
    NotSent(u64),
    /// The instances that are here are this node's no more.
    Fence,
    App(FromApp),
    /// Answers a `Find`, a `Begin`, a `Create`.
    Told(u64, TrackAnswer),
    /// Answers a `Call`.
    Answered(u64, Answer),
    /// A call of an object that may be here.
    Incoming(IncomingId, Rpc),
    /// Take an object, and do not serve it yet.
    Hold {
        id: IncomingId,
        begin: Begin,
        epoch: ObjectEpoch,
        state: Vec<u8>,
    },
    /// This epoch is committed.
    Serve {
        object: ObjectName,
        epoch: ObjectEpoch,
    },
    /// This epoch is not going to be committed.
    Drop {
        object: ObjectName,
        epoch: ObjectEpoch,
    },
}

/// An output of a kernel. Its numbers are used once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelOutput {
    App(ToApp),
    /// Where is this object?
    Find(u64, ObjectName),
    /// The object begins here.
    Begin(u64, Begin),
    /// The object begins at a node that the server chooses.
    Create(u64, Begin, Vec<u8>),
    Call {
        number: u64,
        to: NodeId,
        rpc: Rpc,
    },
    /// Answers [`KernelInput::Incoming`].
    Answer(IncomingId, Answer),
    /// Answers [`KernelInput::Hold`].
    Held(IncomingId, Result<(), NotRun>),
}

/// The kernel of a node.
#[derive(Debug)]
pub struct Kernel {
    now: Instant,
    settings: KernelSettings,
    /// None: it is not registered yet.
    node: Option<NodeId>,
    /// The last number that it gave to what it asks.
    last: u64,
    calls: Calls,
    locations: Locations,
    instances: Instances,
    creating: Creating,
    outputs: VecDeque<KernelOutput>,
}

impl Kernel {
    pub fn new(now: Now, settings: KernelSettings) -> Kernel {
        Kernel {
            now: now.instant,
            settings,
            node: None,
            last: 0,
            calls: Calls::default(),
            locations: Locations::default(),
            instances: Instances::default(),
            creating: Creating::default(),
            outputs: VecDeque::new(),
        }
    }

    /// The node, once it is registered.
    pub fn node(&self) -> Option<NodeId> {
        self.node
    }

    /// Instances that are here.
    pub fn instances(&self) -> usize {
        self.instances.len()
    }

    fn class(&self, name: &str) -> Option<&Class> {
        self.settings.classes.iter().find(|class| class.name == name)
    }

    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn emit(&mut self, output: KernelOutput) {
        self.outputs.push_back(output);
    }

    fn on_registered(&mut self, node: NodeId) {
        let before = self.node.replace(node);
        if before.is_some_and(|before| before != node) {
            self.fence_all();
        }
        self.begin_again();
    }

    fn on_unlinked(&mut self) {
        self.creations_unlinked();
        self.calls_unlinked();
    }

    fn on_not_sent(&mut self, number: u64) {
        if self.calls.is_sent(number) {
            self.call_not_sent(number);
        } else {
            self.on_told(number, TrackAnswer::Refused(NotRun::Unreachable));
        }
    }

    fn on_app(&mut self, input: FromApp) {
        match input {
            FromApp::Call(ticket, call) => self.on_call(ticket, call),
            FromApp::Create { ticket, begin, state, placing } => self.on_create(ticket, begin, state, placing),
            FromApp::Find { ticket, object } => self.on_find(ticket, object),
            FromApp::Restored { object, restored } => self.on_restored(&object, restored),
            FromApp::Ended { run, ended } => self.on_ended(run, ended),
        }
    }
}

impl Machine for Kernel {
    type Input = KernelInput;
    type Output = KernelOutput;

    fn handle(&mut self, now: Now, input: KernelInput) {
        self.now = now.instant;
        match input {
            KernelInput::Registered(node) => self.on_registered(node),
            KernelInput::Unlinked => self.on_unlinked(),
            KernelInput::NotSent(number) => self.on_not_sent(number),
            KernelInput::Fence => self.fence_all(),
            KernelInput::App(input) => self.on_app(input),
            KernelInput::Told(number, answer) => self.on_told(number, answer),
            KernelInput::Answered(number, answer) => self.on_answered(number, answer),
            KernelInput::Incoming(id, rpc) => self.on_incoming(id, rpc),
            KernelInput::Hold { id, begin, epoch, state } => self.on_hold(id, begin, epoch, state),
            KernelInput::Serve { object, epoch } => self.on_serve(&object, epoch),
            KernelInput::Drop { object, epoch } => self.on_drop(&object, epoch),
        }
    }

    fn poll(&mut self) -> Option<KernelOutput> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        self.calls.deadline()
    }

    fn on_deadline(&mut self, now: Now) {
        self.now = now.instant;
        self.calls_overdue();
    }

    fn validate(&self) {
        self.instances.validate();
    }
}
