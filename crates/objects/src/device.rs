//! A node that dials a server: a kernel, and its connection to `/objects`.
//!
//! Invariants:
//! - what was sent on a connection is answered on it or not at all;
//! - a node keeps its life for as long as its process lives, unless another process has taken its name. A process that goes on with the life of an
//!   earlier one has all that this one kept;
//! - a device has one name, which its first welcome said. Under the token of another user it would have another one: it ends, and nothing that is here
//!   goes to that user.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use iolite_machine::{Backoff, Instant, Machine, Now};
use iolite_values::{Id, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName, StoreIncarnation};
use iolite_wire::message::{Goodbye, GoodbyeReason};
use iolite_wire::objects::{
    Begin, DeviceHello, DeviceWelcome, FromDevice, NotRun, OBJECTS_PROTOCOL_VERSION, OfferedClass, ToDevice,
};

use crate::kernel::{IncomingId, Kernel, KernelInput, KernelOutput, KernelSettings};
use crate::managers::AnyManager;
use crate::parts::{self, Parts};
use crate::table::Table;
use crate::tokens::Tokens;
use crate::{Broken, Class, FromApp, KeptObject, ToApp, TokenSource};

/// How long a node of the service may rely on its connection, from when it asked whether that stands.
pub const DEVICE_LEASE: Duration = Duration::from_secs(10);

/// The life that an earlier process of the node has left, for one that goes on with it.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// The name that the welcome said.
    pub name: Id,
    pub life: NodeLife,
    pub store: StoreIncarnation,
    /// At least as many as the earlier processes have made.
    pub connections: u64,
    /// The objects that it kept. The app has made them again.
    pub kept: Vec<KeptObject>,
    /// Objects that the app could not make, with the versions of their classes. They stay this node's, and nobody reaches them.
    pub left: Vec<(ObjectName, u32)>,
}

/// The settings that a device is started with.
#[derive(Clone, Debug)]
pub struct DeviceSettings {
    /// Drawn once, and kept for as long as the node keeps objects.
    pub device: Id,
    /// Drawn when the process started.
    pub kernel: Id,
    pub token: TokenSource,
    /// The node is part of the service, and no device of a user.
    pub serves: bool,
    /// None: the process begins a new life.
    pub resumed: Option<Resumed>,
    pub classes: Vec<Class>,
    /// Managers beside those that are built in.
    pub managers: Vec<Arc<dyn AnyManager>>,
    pub broken: Broken,
}

/// An input of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceInput {
    /// The connection that was asked for is open.
    Linked,
    /// The connection is not open, or no longer.
    LinkLost,
    Message(ToDevice),
    /// A token: the answer to [`DeviceOutput::TokenWanted`].
    Token(String),
    /// The host has no token now. For people: why.
    TokenFailed(String),
    App(FromApp),
}

/// An output of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceOutput {
    Connect,
    Disconnect,
    Send(FromDevice),
    /// The host is to give a token, or to say that it has none.
    TokenWanted,
    App(ToApp),
    /// The connection has changed.
    Link(LinkState),
}

/// Where the connection of a device stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// The connection is open, and calls go out.
    Open(DeviceWelcome),
    /// The connection is lost. The device tries again by itself.
    Lost,
    /// The device has no good token, and asks its host again by itself. For people: why.
    Refused(String),
    /// The server has sent it away, and trying again is of no use.
    Ended(Goodbye),
}

/// A node that dials a server.
#[derive(Debug)]
pub struct Device {
    now: Now,
    settings: DeviceSettings,
    kernel: Kernel,
    tokens: Tokens,
    link: Link,
    /// None: no server has let it in.
    name: Option<Id>,
    life: NodeLife,
    /// Connections so far.
    connections: u64,
    lease: DeviceLease,
    /// How often the server took it for lost, in its life.
    lapses: u64,
    store: Option<StoreIncarnation>,
    backoff: Backoff,
    /// Calls and objects that came by the connection that is open, by the kernel's name for them.
    incoming: Table<IncomingId, u64>,
    last_incoming: u64,
    parts: Parts,
    outputs: VecDeque<DeviceOutput>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Link {
    /// The connection is tried again then.
    Down {
        until: Instant,
    },
    Connecting,
    Greeting,
    Open,
    Ended,
}

impl Device {
    /// The first pause after a lost connection, and the longest one.
    const RETRY_FIRST: Duration = Duration::from_millis(100);
    const RETRY_LAST: Duration = Duration::from_secs(5);
    /// How often a node of the service asks whether its connection stands.
    const PING_EVERY: Duration = Duration::from_secs(3);

    pub fn new(now: Now, mut settings: DeviceSettings) -> Device {
        let kernel = KernelSettings {
            id: settings.kernel,
            classes: settings.classes.clone(),
            // Its server writes for whom it calls.
            caller: String::new(),
            needs_lease: settings.serves,
            managers: settings.managers.clone(),
            broken: settings.broken,
        };
        let seed = settings.kernel.as_u128() as u64;
        let mut kernel = Kernel::new(now, kernel);
        let source = std::mem::replace(&mut settings.token, TokenSource::Asked);
        let (mut name, mut life, mut connections, mut store) = (None, NodeLife::default(), 0, None);
        if let Some(resumed) = settings.resumed.take() {
            (name, life, connections) = (Some(resumed.name), resumed.life, resumed.connections);
            store = Some(resumed.store);
            let node = NodeId { name: NodeName::Device(resumed.name), life };
            kernel.handle(now, KernelInput::Resumed { node, kept: resumed.kept, left: resumed.left });
        }
        Device {
            now,
            kernel,
            tokens: Tokens::new(source, seed),
            link: Link::Down { until: now.instant },
            name,
            life,
            connections,
            lease: DeviceLease::default(),
            lapses: 0,
            store,
            backoff: Backoff::new(Device::RETRY_FIRST, Device::RETRY_LAST, seed),
            incoming: Table::default(),
            last_incoming: 0,
            parts: Parts::default(),
            outputs: VecDeque::new(),
            settings,
        }
    }

    /// The kernel, for figures.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn emit(&mut self, output: DeviceOutput) {
        self.outputs.push_back(output);
    }

    /// Connects, once there is a good token.
    fn connect(&mut self) {
        if self.tokens.is_good(self.now.instant) {
            self.link = Link::Connecting;
            self.emit(DeviceOutput::Connect);
        } else if self.tokens.ask() {
            self.emit(DeviceOutput::TokenWanted);
        }
    }

    fn hello(&mut self) {
        let Some(token) = self.tokens.say(self.now.instant) else {
            self.emit(DeviceOutput::Disconnect);
            return self.on_lost();
        };
        let offered = |class: &Class| OfferedClass { name: class.name.clone(), declared: class.declared.clone() };
        self.connections += 1;
        self.lease.asks(self.now.instant, 0);
        let hello = DeviceHello {
            oldest_version: OBJECTS_PROTOCOL_VERSION,
            newest_version: OBJECTS_PROTOCOL_VERSION,
            token,
            device: self.settings.device,
            life: self.life,
            serves: self.settings.serves,
            connection: self.connections,
            classes: self.settings.classes.iter().map(offered).collect(),
        };
        self.link = Link::Greeting;
        self.emit(DeviceOutput::Send(FromDevice::Hello(hello)));
    }

    fn on_lost(&mut self) {
        if self.link == Link::Ended {
            return;
        }
        let was_open = self.link == Link::Open;
        self.link = Link::Down { until: self.now.instant + self.backoff.next_pause() };
        self.incoming.clear();
        self.parts.clear();
        self.lease.unlinked();
        self.kernel.handle(self.now, KernelInput::Unlinked);
        if was_open {
            self.emit(DeviceOutput::Link(LinkState::Lost));
        }
    }

    fn on_message(&mut self, message: ToDevice) {
        match message {
            ToDevice::Welcome(welcome) => self.on_welcome(welcome),
            ToDevice::Run { number, rpc } => {
                let id = self.came(number);
                self.kernel.handle(self.now, KernelInput::Incoming(id, rpc));
            }
            ToDevice::Hold { number, begin, epoch, state } => self.on_hold(number, begin, epoch, state),
            ToDevice::Part { number, part } => {
                // A part that is missing shows at the end, where the object is refused.
                let _ = self.parts.add(number, &part);
            }
            ToDevice::Pong { number } => self.on_pong(number),
            ToDevice::Answer { number, answer } => {
                self.kernel.handle(self.now, KernelInput::Answered(number, answer));
            }
            ToDevice::Told { number, answer } => self.kernel.handle(self.now, KernelInput::Told(number, answer)),
            ToDevice::Serve { object, epoch } => self.kernel.handle(self.now, KernelInput::Serve { object, epoch }),
            ToDevice::Drop { object, epoch } => self.kernel.handle(self.now, KernelInput::Drop { object, epoch }),
            ToDevice::Goodbye(goodbye) => self.on_goodbye(goodbye),
            ToDevice::Renewed(left) => self.tokens.taken(self.now.instant, left),
        }
    }

    fn on_hold(&mut self, number: u64, begin: Begin, epoch: ObjectEpoch, state: Vec<u8>) {
        match self.parts.end(number, state) {
            Ok(state) => {
                let id = self.came(number);
                self.kernel.handle(self.now, KernelInput::Hold { id, begin, epoch, state });
            }
            Err(problem) => {
                let held = Err(NotRun::TooLarge(problem.to_owned()));
                self.emit(DeviceOutput::Send(FromDevice::Held { number, held }));
            }
        }
    }

    /// The server has answered a question whether the connection stands.
    fn on_pong(&mut self, number: u64) {
        let Some(asked) = self.lease.answered(number) else { return };
        let from = if self.settings.broken == Broken::CountFromReceipt { self.now.instant } else { asked };
        self.kernel.handle(self.now, KernelInput::Lease(from + DEVICE_LEASE));
    }

    fn on_welcome(&mut self, welcome: DeviceWelcome) {
        if self.link != Link::Greeting {
            return;
        }
        if let Some(problem) = self.other_user(&welcome) {
            return self.end(Goodbye { reason: GoodbyeReason::OtherUser, message: problem.into(), retry_after: None });
        }
        self.link = Link::Open;
        self.backoff.reset();
        self.tokens.taken(self.now.instant, welcome.token_left);
        self.life = welcome.device.life;
        // Epochs mean something under one store only: after another one has taken its place, nothing that is here is anybody's.
        let is_other = self.store.replace(welcome.store).is_some_and(|before| before != welcome.store);
        if is_other {
            self.kernel.handle(self.now, KernelInput::Fence);
        }
        let was_lost = std::mem::replace(&mut self.lapses, welcome.lapses) != welcome.lapses;
        if was_lost && self.kernel.node() == Some(welcome.device) {
            self.kernel.handle(self.now, KernelInput::LookAtRows);
        }
        self.kernel.handle(self.now, KernelInput::Registered(welcome.device));
        self.on_pong(0);
        self.emit(DeviceOutput::Link(LinkState::Open(welcome)));
        self.say_newer_token();
    }

    /// Why a device does not go on, whose name is another one under the token that it said.
    fn other_user(&mut self, welcome: &DeviceWelcome) -> Option<&'static str> {
        let NodeName::Device(name) = welcome.device.name else { return None };
        let before = *self.name.get_or_insert(name);
        (before != name).then_some(
            "the token is of another user than before, and the objects here are that one's: sign in as the user before, or connect anew for this one",
        )
    }

    fn say_newer_token(&mut self) {
        if self.link == Link::Open
            && let Some(token) = self.tokens.say_newer()
        {
            self.emit(DeviceOutput::Send(FromDevice::Token(token)));
        }
    }

    fn on_token(&mut self, token: String) {
        match self.tokens.given(self.now.instant, token) {
            Ok(()) => self.say_newer_token(),
            Err(problem) => self.has_no_token(problem),
        }
    }

    fn on_token_failed(&mut self, problem: String) {
        self.tokens.failed(self.now.instant);
        self.has_no_token(problem);
    }

    /// A connection that is open goes on until its server ends it.
    fn has_no_token(&mut self, problem: String) {
        if self.link != Link::Open && !self.tokens.is_good(self.now.instant) {
            self.emit(DeviceOutput::Link(LinkState::Refused(problem)));
        }
    }

    fn on_goodbye(&mut self, goodbye: Goodbye) {
        if goodbye.retry_after.is_some() {
            self.emit(DeviceOutput::Disconnect);
            return self.on_lost();
        }
        if goodbye.reason == GoodbyeReason::Unauthorized && self.tokens.is_asked() {
            self.emit(DeviceOutput::Disconnect);
            self.on_lost();
            self.tokens.refused(self.now.instant);
            return self.has_no_token(goodbye.message);
        }
        self.end(goodbye);
    }

    fn end(&mut self, goodbye: Goodbye) {
        self.on_lost();
        self.link = Link::Ended;
        self.emit(DeviceOutput::Disconnect);
        self.emit(DeviceOutput::Link(LinkState::Ended(goodbye)));
    }

    fn came(&mut self, number: u64) -> IncomingId {
        self.last_incoming += 1;
        let id = IncomingId(self.last_incoming);
        self.incoming.insert(id, number);
        id
    }

    fn settle(&mut self) {
        while let Some(output) = self.kernel.poll() {
            match output {
                KernelOutput::App(output) => self.emit(DeviceOutput::App(output)),
                KernelOutput::Find(number, object) => self.send_asked(FromDevice::Find { number, object }),
                KernelOutput::Begin(number, begin) => self.send_asked(FromDevice::Begin { number, begin }),
                KernelOutput::Create(number, begin, state) => {
                    self.send_asked(FromDevice::Create { number, begin, state });
                }
                KernelOutput::Call { number, to, rpc } => self.send_asked(FromDevice::Call { number, to, rpc }),
                KernelOutput::Move { number, begin, from, to, state } => {
                    self.send_asked(FromDevice::Move { number, begin, epoch: from, to, state });
                }
                KernelOutput::Coordinate(..) | KernelOutput::Take { .. } => {
                    unreachable!("only servers have coordinators")
                }
                KernelOutput::Keep { number, object, epoch } => {
                    self.send_asked(FromDevice::Keep { number, object, epoch });
                }
                KernelOutput::Missing(object, epoch) => self.send_asked(FromDevice::Missing { object, epoch }),
                KernelOutput::Answer(id, answer) => {
                    if let Some(number) = self.incoming.remove(&id) {
                        self.emit(DeviceOutput::Send(FromDevice::Answer { number, answer }));
                    }
                }
                KernelOutput::Held(id, held) => {
                    if let Some(number) = self.incoming.remove(&id) {
                        self.emit(DeviceOutput::Send(FromDevice::Held { number, held }));
                    }
                }
            }
        }
    }

    /// Sends what the kernel asks; without a connection, the kernel hears that nobody has it.
    fn send_asked(&mut self, message: FromDevice) {
        if self.link == Link::Open {
            return self.send(message);
        }
        match message {
            FromDevice::Call { number, .. }
            | FromDevice::Find { number, .. }
            | FromDevice::Create { number, .. }
            | FromDevice::Move { number, .. } => self.kernel.handle(self.now, KernelInput::NotSent(number)),
            // It is asked again when there is a connection.
            FromDevice::Begin { .. } | FromDevice::Keep { .. } | FromDevice::Missing { .. } => {}
            FromDevice::Hello(_)
            | FromDevice::Answer { .. }
            | FromDevice::Held { .. }
            | FromDevice::Ping { .. }
            | FromDevice::Part { .. }
            | FromDevice::Token(_) => {}
        }
    }

    /// Sends a message, with the parts of a long state before it.
    fn send(&mut self, mut message: FromDevice) {
        if let FromDevice::Create { number, state, .. } | FromDevice::Move { number, state, .. } = &mut message {
            let (parts, rest) = parts::cut(std::mem::take(state));
            let number = *number;
            *state = rest;
            for part in parts {
                self.emit(DeviceOutput::Send(FromDevice::Part { number, part }));
            }
        }
        self.emit(DeviceOutput::Send(message));
    }

    fn ping_due(&self) -> Option<Instant> {
        self.lease.next.filter(|_| self.settings.serves && self.link == Link::Open)
    }

    fn ping(&mut self) {
        let number = self.lease.next(self.now.instant);
        self.emit(DeviceOutput::Send(FromDevice::Ping { number }));
    }
}

/// The lease of a node of the service: it serves only while its server answers. A device of a user has none.
#[derive(Debug, Default)]
struct DeviceLease {
    last: u64,
    /// When each question was sent that has no answer yet.
    asked: Vec<(u64, Instant)>,
    next: Option<Instant>,
}

impl DeviceLease {
    fn asks(&mut self, now: Instant, number: u64) {
        self.asked.push((number, now));
        self.next = Some(now + Device::PING_EVERY);
    }

    fn next(&mut self, now: Instant) -> u64 {
        self.last += 1;
        self.asks(now, self.last);
        self.last
    }

    /// When the question was sent.
    fn answered(&mut self, number: u64) -> Option<Instant> {
        let at = self.asked.iter().position(|(asked, _)| *asked == number)?;
        Some(self.asked.swap_remove(at).1)
    }

    fn unlinked(&mut self) {
        self.asked.clear();
        self.next = None;
    }
}

impl Machine for Device {
    type Input = DeviceInput;
    type Output = DeviceOutput;

    fn handle(&mut self, now: Now, input: DeviceInput) {
        self.now = now;
        match input {
            DeviceInput::Linked if self.link == Link::Connecting => self.hello(),
            DeviceInput::Linked => {}
            DeviceInput::LinkLost => self.on_lost(),
            DeviceInput::Message(message) => self.on_message(message),
            DeviceInput::Token(token) => self.on_token(token),
            DeviceInput::TokenFailed(problem) => self.on_token_failed(problem),
            DeviceInput::App(input) => self.kernel.handle(now, KernelInput::App(input)),
        }
        self.settle();
    }

    fn poll(&mut self) -> Option<DeviceOutput> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let retry = match self.link {
            Link::Down { until } if self.tokens.is_good(self.now.instant) || !self.tokens.is_waiting() => Some(until),
            Link::Down { .. } | Link::Connecting | Link::Greeting | Link::Open | Link::Ended => None,
        };
        let token = self.tokens.deadline().filter(|_| self.link != Link::Ended);
        [retry, token, self.ping_due(), self.kernel.deadline()].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.now = now;
        if let Link::Down { until } = self.link
            && until <= now.instant
        {
            self.connect();
        }
        if self.link != Link::Ended && self.tokens.overdue(now.instant) {
            self.emit(DeviceOutput::TokenWanted);
        }
        if self.ping_due().is_some_and(|due| due <= now.instant) {
            self.ping();
        }
        self.kernel.on_deadline(now);
        self.settle();
    }

    fn validate(&self) {
        self.kernel.validate();
    }
}
