//! The kernel: instances that are here, calls of objects wherever they are, and where those were when last heard of.
//!
//! It knows no connection: what carries its calls says what became of them.

mod calls;
mod chains;
pub(crate) mod coordinating;
mod copies;
mod creating;
mod holding;
mod instances;
mod kept;
mod locations;
mod moving;
mod runs;
mod standing;
mod turns;

use std::collections::VecDeque;
use std::sync::Arc;

use iolite_machine::{Instant, Machine, Now};
use iolite_values::{Id, NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Answer, Begin, NotRun, Rpc, TrackAnswer};

use crate::managers::{AnyManager, CoordinatorAsk, CoordinatorTold};
use crate::table::Table;
use crate::{Broken, Class, FromApp, KeptObject, ToApp};

use self::calls::Calls;
use self::chains::Chains;
use self::coordinating::Coordinating;
use self::creating::Creating;
use self::instances::Instances;
use self::locations::Locations;
use self::moving::{MoveAsker, Moving};
use self::standing::Standing;

/// The settings that a kernel is started with.
#[derive(Clone, Debug)]
pub struct KernelSettings {
    /// Drawn when the process started: ids of calls begin with it.
    pub id: Id,
    pub classes: Vec<Class>,
    /// For whom this node's own calls are made: a server writes its own, and that of a device is replaced by its server.
    pub caller: String,
    /// The node serves only while it has a lease.
    pub needs_lease: bool,
    /// Managers beside those that are built in.
    pub managers: Vec<Arc<dyn AnyManager>>,
    pub broken: Broken,
}

/// Names a call that came from elsewhere. Chosen by what carries it, and never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IncomingId(pub u64);

/// An input of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelInput {
    /// This process goes on with a life of an earlier one, and with what that has kept. Comes first.
    Resumed {
        node: NodeId,
        kept: Vec<KeptObject>,
        /// Objects that it cannot serve, with the versions of their classes.
        left: Vec<(ObjectName, u32)>,
    },
    /// The node is registered: it is this life of it. In another life than before, what was here is gone.
    Registered(NodeId),
    /// The connection is lost: the kernel's open questions are not going to be answered.
    Unlinked,
    /// This was not sent: there is no connection.
    NotSent(u64),
    /// The instances that are here are this node's no more.
    Fence,
    /// The instances that are here may be another node's by now: their rows are looked at before they are served.
    LookAtRows,
    /// The node may serve until then.
    Lease(Instant),
    App(FromApp),
    /// Answers a `Find`, a `Begin`, a `Create`, a `Move`, a `Keep`. For the last two: the row as it is now.
    Told(u64, TrackAnswer),
    /// Answers a `Call`.
    Answered(u64, Answer),
    /// A call of an object that may be here.
    Incoming(IncomingId, Rpc),
    /// Take an object, and do not serve it yet.
    Hold {
        id: IncomingId,
        begin: Begin,
        /// The epoch in which it is going to be served. 0: it is new, and its row says which.
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
    /// This node coordinates an object with these managers.
    Coordinate {
        object: ObjectName,
        managers: String,
    },
    /// This node coordinates an object no more.
    CoordinateNoMore(ObjectName),
    /// A node is lost, or has another life.
    NodeDead(NodeId),
    /// Answers a `Coordinate`.
    Coordinated(u64, CoordinatorTold),
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
    /// An object that is here in this epoch goes to another node.
    Move {
        number: u64,
        begin: Begin,
        from: ObjectEpoch,
        to: NodeId,
        state: Vec<u8>,
    },
    /// An object whose owner is over in this epoch goes on at a node, as its coordinator says.
    Take {
        number: u64,
        begin: Begin,
        from: ObjectEpoch,
        to: NodeId,
        state: Vec<u8>,
    },
    /// An object that was here in this epoch stays here, in a new one.
    Keep {
        number: u64,
        object: ObjectName,
        epoch: ObjectEpoch,
    },
    /// The row of an object names this node in this epoch, and there is none here: it is gone.
    Missing(ObjectName, ObjectEpoch),
    Call {
        number: u64,
        /// This node, if the call is for a coordinator.
        to: NodeId,
        rpc: Rpc,
    },
    /// A coordinator of this node asks. Only servers have some.
    Coordinate(u64, CoordinatorAsk),
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
    /// None: it is not registered yet, and goes on with no earlier life.
    node: Option<NodeId>,
    /// The last number that it gave to what it asks.
    last: u64,
    calls: Calls,
    locations: Locations,
    instances: Instances,
    creating: Creating,
    moving: Moving,
    chains: Chains,
    coordinating: Coordinating,
    standing: Standing,
    /// Objects that are this node's and that it cannot serve: their states stay where an earlier process has kept them.
    left: Table<ObjectName, u32>,
    /// The end of its lease.
    serves_until: Instant,
    outputs: VecDeque<KernelOutput>,
}

impl Kernel {
    pub fn new(now: Now, settings: KernelSettings) -> Kernel {
        let chains = Chains::new(now.instant, &settings.managers);
        Kernel {
            now: now.instant,
            settings,
            node: None,
            last: 0,
            calls: Calls::default(),
            locations: Locations::default(),
            instances: Instances::default(),
            creating: Creating::default(),
            moving: Moving::default(),
            chains,
            coordinating: Coordinating::default(),
            standing: Standing::default(),
            left: Table::default(),
            serves_until: now.instant,
            outputs: VecDeque::new(),
        }
    }

    /// The node, once it is registered.
    pub fn node(&self) -> Option<NodeId> {
        self.node
    }

    /// The objects that this node would run methods of now, and their epochs. For checks.
    pub fn serving(&self) -> Vec<(ObjectName, ObjectEpoch)> {
        if self.may_serve() { self.instances.serving() } else { Vec::new() }
    }

    /// The same as of a later time. A kernel that hears nothing does not know how late it is.
    pub fn serving_at(&self, now: Instant) -> Vec<(ObjectName, ObjectEpoch)> {
        let may_serve = !self.settings.needs_lease || now < self.serves_until;
        if may_serve { self.instances.serving() } else { Vec::new() }
    }

    /// Whether what is here is a copy for a manager of this node, and not the object. For checks.
    pub fn has_copy(&self, object: &ObjectName) -> bool {
        self.instances.is_copy(object)
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
        self.ask_all_again();
        self.calls_linked();
    }

    fn on_unlinked(&mut self) {
        self.creations_unlinked();
        self.standing_unlinked();
        self.moves_unlinked();
        self.calls_unlinked();
    }

    fn on_not_sent(&mut self, number: u64) {
        if self.calls.is_sent(number) {
            self.call_not_sent(number);
        } else if !self.move_not_sent(number) {
            self.on_told(number, TrackAnswer::Refused(NotRun::Unreachable));
        }
    }

    fn on_app(&mut self, input: FromApp) {
        match input {
            FromApp::Call(ticket, call) => self.on_call(ticket, call),
            FromApp::Create { ticket, begin, state, placing } => self.on_create(ticket, begin, state, placing),
            FromApp::Find { ticket, object } => self.on_find(ticket, object),
            FromApp::Move { ticket, object, to } => self.begin_move(MoveAsker::App(ticket), object, to),
            FromApp::Manage { ticket, object, manager, body } => self.on_manage(ticket, object, manager, body),
            FromApp::Saved { object, state } => self.on_saved(&object, state),
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
        self.chains.tasks.set_now(self.now);
        match input {
            KernelInput::Resumed { node, kept, left } => self.resume(node, kept, left),
            KernelInput::Registered(node) => self.on_registered(node),
            KernelInput::Unlinked => self.on_unlinked(),
            KernelInput::NotSent(number) => self.on_not_sent(number),
            KernelInput::Fence => {
                // Epochs of another store say nothing here.
                self.locations = Locations::default();
                self.coordinate_nothing();
                self.fence_all();
            }
            KernelInput::LookAtRows => self.look_at_rows(),
            KernelInput::Lease(until) => self.on_lease(until),
            KernelInput::App(input) => self.on_app(input),
            KernelInput::Told(number, answer) => self.on_told(number, answer),
            KernelInput::Answered(number, answer) => self.on_answered(number, answer),
            KernelInput::Incoming(id, rpc) => self.on_incoming(id, rpc),
            KernelInput::Hold { id, begin, epoch, state } => self.on_hold(id, begin, epoch, state),
            KernelInput::Serve { object, epoch } => self.on_serve(&object, epoch),
            KernelInput::Drop { object, epoch } => self.on_drop(&object, epoch),
            KernelInput::Coordinate { object, managers } => self.coordinate(&object, &managers),
            KernelInput::CoordinateNoMore(object) => self.coordinate_no_more(&object),
            KernelInput::NodeDead(node) => self.node_dead(node),
            KernelInput::Coordinated(number, told) => self.coordinated(number, told),
        }
        self.run_tasks();
    }

    fn poll(&mut self) -> Option<KernelOutput> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let of_instances = self.instances.deadline().filter(|_| self.has_room());
        [self.calls.deadline(), of_instances, self.chains.deadline()].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.now = now.instant;
        self.chains.tasks.set_now(self.now);
        self.timers_overdue();
        self.calls_overdue();
        self.instances_overdue();
        self.run_tasks();
    }

    fn validate(&self) {
        self.instances.validate();
    }
}
