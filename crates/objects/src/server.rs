//! A node that devices dial: a kernel, and the sessions of `/objects`. It carries calls between all of them.
//!
//! Invariants:
//! - for whom a call is made is what the server at which it entered says, whatever a device has written;
//! - an answer is passed on once, and only from the node that the call was sent to;
//! - a call that was sent to a node whose session ends is in doubt; one that was not is not run.

mod creating;
mod relays;
mod sessions;

use std::collections::{BTreeMap, VecDeque};

use iolite_machine::{Instant, Machine, Now};
use iolite_values::{CoordinatorId, Id, NodeId, NodeLife, NodeName, ObjectName, StoreIncarnation};
use iolite_wire::objects::{Begin, FromDevice, NotRun, OfferedClass, ToDevice, TrackAnswer};

use crate::kernel::{IncomingId, Kernel, KernelInput, KernelOutput, KernelSettings};
use crate::{Class, FromApp, ToApp};

use self::creating::Creations;
use self::relays::Relays;
use self::sessions::Sessions;

/// The settings that a server is started with.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// The gateway's number.
    pub gateway: CoordinatorId,
    /// Drawn when the process started.
    pub kernel: Id,
    /// Classes of the process itself.
    pub classes: Vec<Class>,
}

/// A session of `/objects`. Never used again in this process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionId(pub u64);

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

/// A question to tracking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackAsk {
    Find(ObjectName),
    /// An object begins at this node.
    Begin {
        begin: Begin,
        at: NodeId,
    },
    /// A node is there. Answered with [`ServerInput::Registered`].
    Register {
        name: NodeName,
        /// The life that it had. 0: it has none yet.
        known: NodeLife,
        serves: bool,
        classes: Vec<OfferedClass>,
    },
}

/// For whom a session speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetIn {
    pub caller: String,
    /// Whether it may be part of the service.
    pub may_serve: bool,
}

/// An input of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerInput {
    /// Tracking can be asked, and is that of this store.
    Ready(StoreIncarnation),
    Session(SessionId, SessionEvent),
    /// Answers [`ServerOutput::Check`]. For people: why it is not let in.
    Checked(SessionId, Result<LetIn, String>),
    /// Answers a question to tracking.
    Told(AskId, TrackAnswer),
    Registered(AskId, NodeId),
    /// Tracking has not answered, and what was asked may have happened.
    InDoubt(AskId),
    App(FromApp),
}

/// An output of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerOutput {
    Send(SessionId, ToDevice),
    /// Close the connection once its messages are sent.
    Close(SessionId),
    /// Asks whose token this is.
    Check(SessionId, String),
    Ask(AskId, TrackAsk),
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
    creations: Creations,
    asked: BTreeMap<AskId, (Asked, TrackAsk)>,
    /// Questions whose change may have happened. They are asked again when tracking is there.
    in_doubt: Vec<(Asked, TrackAsk)>,
    last_ask: u64,
    last_incoming: u64,
    outputs: VecDeque<ServerOutput>,
}

/// The part that waits for tracking.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    /// A question of the kernel's, or of a device's: the answer is passed on.
    By(Asker),
    /// Somebody wants to create an object that may be there. If it is not, its node has no room.
    IsThere(Asker),
    /// This node registers.
    Own,
    /// A device registers.
    Device(SessionId),
    /// An object begins where the server has placed it.
    Placed(ObjectName),
}

/// An asker, and its own number of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    Kernel(u64),
    Session(SessionId, u64),
}

impl Server {
    /// The caller of methods that no session has called.
    const OWN_CALLER: &str = "server";

    pub fn new(now: Now, settings: ServerSettings) -> Server {
        let kernel = KernelSettings {
            id: settings.kernel,
            classes: settings.classes.clone(),
            caller: Server::OWN_CALLER.to_owned(),
        };
        Server {
            now,
            kernel: Kernel::new(now, kernel),
            settings,
            store: None,
            sessions: Sessions::default(),
            relays: Relays::default(),
            creations: Creations::default(),
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

    /// Sessions that are open.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    fn emit(&mut self, output: ServerOutput) {
        self.outputs.push_back(output);
    }

    fn ask(&mut self, asked: Asked, question: TrackAsk) {
        self.last_ask += 1;
        let id = AskId(self.last_ask);
        self.asked.insert(id, (asked, question.clone()));
        self.emit(ServerOutput::Ask(id, question));
    }

    fn incoming(&mut self) -> IncomingId {
        self.last_incoming += 1;
        IncomingId(self.last_incoming)
    }

    fn on_ready(&mut self, store: StoreIncarnation) {
        let is_other = self.store.replace(store).is_some_and(|before| before != store);
        if is_other {
            self.kernel.handle(self.now, KernelInput::Fence);
        }
        // A store whose apps have no objects gets no rows of them.
        if !self.settings.classes.is_empty() || self.sessions.is_waiting() || self.kernel.node().is_some() {
            self.register_own();
        }
    }

    /// Registers this node, unless that is under way or the store is not there.
    fn register_own(&mut self) {
        if self.store.is_none() || self.asked.values().any(|(asked, _)| *asked == Asked::Own) {
            return;
        }
        let offered = |class: &Class| OfferedClass { name: class.name.clone(), declared: class.declared.clone() };
        let classes = self.settings.classes.iter().map(offered).collect();
        let (name, known) = (NodeName::Server(self.settings.gateway), self.life());
        self.ask(Asked::Own, TrackAsk::Register { name, known, serves: true, classes });
    }

    fn life(&self) -> NodeLife {
        self.kernel.node().map(|node| node.life).unwrap_or_default()
    }

    fn on_registered(&mut self, id: AskId, node: NodeId) {
        match self.asked.remove(&id) {
            Some((Asked::Own, _)) => {
                self.kernel.handle(self.now, KernelInput::Registered(node));
                for (asked, question) in std::mem::take(&mut self.in_doubt) {
                    self.ask(asked, question);
                }
                self.register_waiting();
            }
            Some((Asked::Device(session), _)) => self.device_registered(session, node),
            Some((Asked::By(_) | Asked::IsThere(_) | Asked::Placed(_), _)) | None => {}
        }
    }

    fn on_told(&mut self, id: AskId, answer: TrackAnswer) {
        match self.asked.remove(&id) {
            Some((Asked::By(asker), _)) => self.tell(asker, answer),
            Some((Asked::IsThere(asker), _)) => {
                let is_there = answer != TrackAnswer::Unknown;
                self.tell(asker, if is_there { answer } else { TrackAnswer::Refused(NotRun::Busy) });
            }
            Some((Asked::Placed(object), _)) => self.placed_told(&object, answer),
            Some((Asked::Own, _)) => self.refuse_waiting(),
            None => {}
            Some((Asked::Device(session), _)) => self.not_registered(session),
        }
    }

    /// An object may have begun: nobody is told anything before that is known.
    fn on_in_doubt(&mut self, id: AskId) {
        let refused = TrackAnswer::Refused(NotRun::Unreachable);
        match self.asked.get(&id) {
            Some((_, TrackAsk::Begin { .. })) => self.in_doubt.extend(self.asked.remove(&id)),
            Some((_, TrackAsk::Find(_) | TrackAsk::Register { .. })) => self.on_told(id, refused),
            None => {}
        }
    }

    fn tell(&mut self, asker: Asker, answer: TrackAnswer) {
        match asker {
            Asker::Kernel(number) => self.kernel.handle(self.now, KernelInput::Told(number, answer)),
            Asker::Session(session, number) if self.sessions.is_open(session) => {
                self.send(session, ToDevice::Told { number, answer });
            }
            Asker::Session(..) => {}
        }
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
                KernelOutput::Call { number, to, rpc } => self.relay(Asker::Kernel(number), to, rpc),
                KernelOutput::Answer(id, answer) => self.kernel_answered(id, answer),
                KernelOutput::Held(id, held) => self.kernel_held(id, held),
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
            ServerInput::Told(id, answer) => self.on_told(id, answer),
            ServerInput::InDoubt(id) => self.on_in_doubt(id),
            ServerInput::Registered(id, node) => self.on_registered(id, node),
            ServerInput::App(input) => self.kernel.handle(now, KernelInput::App(input)),
        }
        self.settle();
    }

    fn poll(&mut self) -> Option<ServerOutput> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        self.kernel.deadline()
    }

    fn on_deadline(&mut self, now: Now) {
        self.now = now;
        self.kernel.on_deadline(now);
        self.settle();
    }

    fn validate(&self) {
        self.kernel.validate();
    }
}
