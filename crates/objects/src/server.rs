//! A node that devices dial: a kernel, and the sessions of `/objects`. It carries calls between all of them.
//!
//! Invariants:
//! - for whom a call is made is what the server at which it entered says, whatever a device has written;
//! - an answer is passed on once, and only from the node that the call was sent to;
//! - a call that was sent to a node whose session ends is in doubt; one that was not is not run.

mod absent;
mod asking;
mod coordinators;
mod creating;
mod holds;
mod moving;
mod peers;
mod relays;
mod rights;
mod routes;
mod sessions;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_values::{Bucket, CoordinatorId, Id, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName, StoreIncarnation};
use iolite_wire::objects::{Begin, FromDevice, OfferedClass, PeerMessage, Placed, ToDevice, TrackAnswer};

use crate::kernel::{IncomingId, Kernel, KernelInput, KernelOutput, KernelSettings};
use crate::managers::{AnyManager, Recalled};
use crate::{Broken, Class, FromApp, ToApp};

use self::absent::Absent;
use self::asking::Asked;
use self::coordinators::Coordinators;
use self::creating::Creations;
use self::holds::{HoldKey, Holds};
use self::moving::Moves;
use self::peers::Peers;
use self::relays::Relays;
use self::rights::Rights;
use self::routes::Routes;
use self::sessions::Sessions;

pub use self::rights::Right;

/// The settings that a server is started with.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// The gateway's number.
    pub gateway: CoordinatorId,
    /// Drawn when the process started.
    pub kernel: Id,
    /// Classes of the process itself.
    pub classes: Vec<Class>,
    /// Other servers have the same store: this one serves only while it has a lease.
    pub has_leases: bool,
    /// Managers beside those that are built in.
    pub managers: Vec<Arc<dyn AnyManager>>,
    pub broken: Broken,
}

/// A session of `/objects`. Never used again in this process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionId(pub u64);

/// A link with another server. Never used again in this process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerLink(pub u64);

/// Names a question to the door of rights.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MayId(pub u64);

/// Names a question to tracking.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AskId(pub u64);

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all are messages, and a box would be an allocation for each; in wasm they are small enough"
)]
pub enum SessionEvent {
    Opened,
    Message(FromDevice),
    /// A frame that is no message, and why.
    Garbled(String),
    /// The socket took this many more messages.
    Drained(usize),
    Closed,
}

/// An event of a link with another server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "nearly all are messages, and a box would be an allocation for each")]
pub enum PeerEvent {
    Opened(CoordinatorId),
    Message(PeerMessage),
    Closed,
}

/// A question to tracking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackAsk {
    Find(ObjectName),
    /// An object begins at this node.
    Begin {
        begin: Begin,
        at: NodeId,
    },
    /// An object goes from the places that it has in this epoch to one node.
    Move {
        object: ObjectName,
        from: ObjectEpoch,
        to: NodeId,
    },
    /// An object whose owner is over goes on at another node.
    Take {
        object: ObjectName,
        from: ObjectEpoch,
        at: NodeId,
    },
    /// An object ends, if its row is of this epoch.
    Remove {
        object: ObjectName,
        from: ObjectEpoch,
    },
    /// The server that a device is connected to.
    Where(NodeId),
    /// A node is there.
    Register {
        name: NodeName,
        /// The life that it had. 0: it has none yet.
        known: NodeLife,
        serves: bool,
        /// The number of a device's connection. 0 of a server.
        connection: u64,
        classes: Vec<OfferedClass>,
    },
    /// A device has been away for long since this connection.
    Gone {
        device: NodeId,
        connection: u64,
    },
    /// The objects of a bucket.
    List(Bucket),
    /// The row of an object, also if its owner is over, and the memory of its coordinator.
    Recall(ObjectName),
    /// Another memory, if it is this one in this epoch.
    Remember {
        object: ObjectName,
        from: ObjectEpoch,
        was: Vec<u8>,
        memory: Vec<u8>,
    },
}

/// The answer of tracking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tracked {
    /// Also of a question that changed nothing, as it could not be served.
    Track(TrackAnswer),
    /// The row of an object after its move.
    Moved(Placed),
    /// The row of an object that was neither moved nor removed.
    Stands(Placed),
    Removed,
    At(Option<CoordinatorId>),
    /// The node in the life that it has, and how often it was taken for lost in it.
    Registered(NodeId, u64),
    Lost,
    Listed(Vec<(ObjectName, Placed)>),
    /// Also of a memory that was another one.
    Recalled(Recalled),
    Remembered,
    /// The device is not this server's any more.
    Elsewhere,
    /// Tracking has not answered, and what was asked may have happened.
    InDoubt,
}

/// For whom a session speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetIn {
    pub caller: String,
    /// Whether it may be part of the service.
    pub may_serve: bool,
    /// The name of the node: it belongs to one user on one device.
    pub device: Id,
    /// When the token runs out. The door ends the session then.
    pub ends: Option<WallTime>,
}

/// An input of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerInput {
    /// Tracking can be asked, and is that of this store.
    Ready(StoreIncarnation),
    Session(SessionId, SessionEvent),
    /// Answers [`ServerOutput::Check`]. For people: why it is not let in.
    Checked(SessionId, Result<LetIn, String>),
    /// Answers [`ServerOutput::Renew`]: when the token runs out, or why it is refused. That ends the session.
    Renewed(SessionId, Result<Option<WallTime>, String>),
    /// The token of a session is good no more. For people: why.
    Ended(SessionId, String),
    /// Answers a question to tracking.
    Tracked(AskId, Tracked),
    /// Another server of the store is registered: this one takes part too, so that links are there before a device comes.
    Others,
    /// This server has a lease until then.
    Lease(Instant),
    Peer(PeerLink, PeerEvent),
    /// A node is lost, or has another life.
    NodeDead(NodeId),
    /// This server coordinates the objects of a bucket from now on, or no more.
    Coordinates(Bucket, bool),
    /// The server that coordinates the objects of a bucket, by its row.
    Holder(Bucket, Option<NodeId>),
    /// An object with these managers has begun, in a bucket that this server coordinates.
    Begun {
        object: ObjectName,
        managers: String,
    },
    /// Answers [`ServerOutput::May`].
    May(MayId, bool),
    /// The door's yes holds no more for this object and right of a session.
    Withdrawn(SessionId, ObjectName, Right),
    App(FromApp),
}

/// An output of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerOutput {
    Send(SessionId, ToDevice),
    /// Close the connection once its messages are sent.
    Close(SessionId),
    /// Asks whose token this is, and what the name of the node is that has drawn this.
    Check {
        session: SessionId,
        device: Id,
        token: String,
    },
    /// Asks whether a session may go on with this token.
    Renew(SessionId, String),
    Ask(AskId, TrackAsk),
    ToPeer(PeerLink, PeerMessage),
    /// Asks whether the user of this session may do that.
    May(MayId, SessionId, ObjectName, Right),
    App(ToApp),
}

/// A node that devices dial.
#[derive(Debug)]
pub struct Server {
    now: Now,
    settings: ServerSettings,
    kernel: Kernel,
    store: Option<StoreIncarnation>,
    sessions: Sessions,
    relays: Relays,
    peers: Peers,
    routes: Routes,
    rights: Rights,
    holds: Holds,
    creations: Creations,
    coordinators: Coordinators,
    moves: Moves,
    absent: Absent,
    /// How often this server was taken for lost, in its life.
    lapses: u64,
    lease_until: Option<Instant>,
    /// When it registers again, as it could not.
    register_at: Option<Instant>,
    /// Objects that it has moved, for figures.
    moved: u64,
    asked: BTreeMap<AskId, (Asked, TrackAsk)>,
    /// Questions whose change may have happened. They are asked again when tracking is there.
    in_doubt: Vec<(Asked, TrackAsk)>,
    last_ask: u64,
    last_incoming: u64,
    outputs: VecDeque<ServerOutput>,
}

/// An asker, and its own number of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    Kernel(u64),
    Session(SessionId, u64),
    /// Another server. It asks for calls only.
    Peer(PeerLink, u64),
}

impl Server {
    /// The caller of methods that no session has called.
    const OWN_CALLER: &str = "server";

    pub fn new(now: Now, settings: ServerSettings) -> Server {
        let kernel = KernelSettings {
            id: settings.kernel,
            classes: settings.classes.clone(),
            caller: Server::OWN_CALLER.to_owned(),
            needs_lease: settings.has_leases,
            managers: settings.managers.clone(),
            broken: settings.broken,
        };
        Server {
            now,
            kernel: Kernel::new(now, kernel),
            settings,
            store: None,
            sessions: Sessions::default(),
            relays: Relays::default(),
            peers: Peers::default(),
            routes: Routes::default(),
            rights: Rights::default(),
            holds: Holds::default(),
            creations: Creations::default(),
            coordinators: Coordinators::default(),
            moves: Moves::default(),
            absent: Absent::default(),
            lapses: 0,
            lease_until: None,
            register_at: None,
            moved: 0,
            asked: BTreeMap::new(),
            in_doubt: Vec::new(),
            last_ask: 0,
            last_incoming: 0,
            outputs: VecDeque::new(),
        }
    }

    /// The kernel, for figures.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Objects that this server has moved, for figures.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// Sessions that are open.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    fn emit(&mut self, output: ServerOutput) {
        self.outputs.push_back(output);
    }

    fn incoming(&mut self) -> IncomingId {
        self.last_incoming += 1;
        IncomingId(self.last_incoming)
    }

    fn on_ready(&mut self, store: StoreIncarnation) {
        let is_other = self.store.replace(store).is_some_and(|before| before != store);
        if is_other {
            self.kernel.handle(self.now, KernelInput::Fence);
            self.end_moves();
            self.end_asked();
            self.end_sessions();
            // Nodes of the store before are nobody's. Those of this one may have the same names and lives.
            self.absent = Absent::default();
        }
        // A store whose apps have no objects gets no rows of them.
        if !self.settings.classes.is_empty() || self.sessions.is_waiting() || self.kernel.node().is_some() {
            self.register_own();
        }
    }

    fn life(&self) -> NodeLife {
        self.kernel.node().map(|node| node.life).unwrap_or_default()
    }

    /// Carries what the kernel says until it has nothing more to say.
    fn settle(&mut self) {
        while let Some(output) = self.kernel.poll() {
            match output {
                KernelOutput::App(output) => self.emit(ServerOutput::App(output)),
                KernelOutput::Find(number, object) => {
                    self.ask(Asked::By(Asker::Kernel(number)), TrackAsk::Find(object));
                }
                KernelOutput::Begin(number, begin) => match self.kernel.node() {
                    Some(at) => self.ask(Asked::By(Asker::Kernel(number)), TrackAsk::Begin { begin, at }),
                    None => self.kernel.handle(self.now, KernelInput::NotSent(number)),
                },
                KernelOutput::Create(number, begin, state) => self.place(Asker::Kernel(number), begin, state),
                KernelOutput::Move { number, begin, from, to, state } => {
                    self.begin_move(Asker::Kernel(number), begin, from, to, state);
                }
                KernelOutput::Take { number, begin, from, to, state } => {
                    self.begin_take(Asker::Kernel(number), begin, from, to, state);
                }
                KernelOutput::Keep { number, object, epoch } => match self.kernel.node() {
                    Some(at) => self.keep(Asker::Kernel(number), object, epoch, at),
                    None => self.kernel.handle(self.now, KernelInput::NotSent(number)),
                },
                KernelOutput::Missing(object, epoch) => {
                    self.ask(Asked::Nobody, TrackAsk::Remove { object, from: epoch });
                }
                KernelOutput::Call { number, to, rpc } => self.relay(Asker::Kernel(number), to, rpc),
                KernelOutput::Coordinate(number, ask) => self.coordinator_asks(number, ask),
                KernelOutput::Answer(id, answer) => self.kernel_answered(id, answer),
                KernelOutput::Held(id, held) => self.kernel_held(HoldKey::Kernel(id), held),
            }
        }
    }
}

impl Machine for Server {
    type Input = ServerInput;
    type Output = ServerOutput;

    fn handle(&mut self, now: Now, input: ServerInput) {
        self.now = now;
        match input {
            ServerInput::Ready(store) => self.on_ready(store),
            ServerInput::Session(session, event) => self.on_session(session, event),
            ServerInput::Checked(session, checked) => self.on_checked(session, checked),
            ServerInput::Renewed(session, renewed) => self.on_renewed(session, renewed),
            ServerInput::Ended(session, problem) => self.on_ended(session, problem),
            ServerInput::Tracked(id, tracked) => self.on_tracked(id, tracked),
            ServerInput::Others => self.take_part(),
            ServerInput::Lease(until) => self.on_lease(until),
            ServerInput::Peer(link, event) => self.on_peer(link, event),
            ServerInput::NodeDead(node) => self.kernel.handle(now, KernelInput::NodeDead(node)),
            ServerInput::Coordinates(bucket, is_own) => self.on_coordinates(bucket, is_own),
            ServerInput::Holder(bucket, holder) => self.on_holder(bucket, holder),
            ServerInput::Begun { object, managers } => self.on_begun(object, managers),
            ServerInput::May(id, may) => self.on_may(id, may),
            ServerInput::Withdrawn(session, object, right) => self.on_withdrawn(session, &(object, right)),
            ServerInput::App(input) => self.kernel.handle(now, KernelInput::App(input)),
        }
        self.settle();
    }

    fn poll(&mut self) -> Option<ServerOutput> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let others = [self.absent.deadline(), self.relays.deadline(), self.coordinators.deadline(), self.register_at];
        others.into_iter().chain([self.kernel.deadline()]).flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.now = now;
        self.kernel.on_deadline(now);
        self.absent_overdue();
        self.registration_overdue();
        self.relays_overdue();
        self.lists_overdue();
        self.settle();
    }

    fn validate(&self) {
        self.kernel.validate();
    }
}
