//! A node that dials a server: a kernel, and its connection to `/objects`.
//!
//! Invariants:
//! - what was sent on a connection is answered on it or not at all;
//! - a node keeps its life for as long as its process lives, unless another process has taken its name. A process that goes on with the life of an
//!   earlier one has all that this one kept.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use iolite_machine::{Backoff, Instant, Machine, Now};
use iolite_values::{Id, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName, StoreIncarnation};
use iolite_wire::message::Goodbye;
use iolite_wire::objects::{
    Begin, DeviceHello, DeviceWelcome, FromDevice, NotRun, OBJECTS_PROTOCOL_VERSION, OfferedClass, ToDevice,
};

use crate::kernel::{IncomingId, Kernel, KernelInput, KernelOutput, KernelSettings};
use crate::managers::AnyManager;
use crate::parts::{self, Parts};
use crate::table::Table;
use crate::{Broken, Class, FromApp, KeptObject, ToApp};

/// How long a node of the service may rely on its connection, from when it asked whether that stands.
pub const DEVICE_LEASE: Duration = Duration::from_secs(10);

/// The life that an earlier process of the node has left, for one that goes on with it.
#[derive(Clone, Debug)]
pub struct Resumed {
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
    pub token: String,
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
    App(FromApp),
}

/// An output of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceOutput {
    Connect,
    Disconnect,
    Send(FromDevice),
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
    /// The server has sent it away, and trying again is of no use.
    Ended(Goodbye),
}

/// A node that dials a server.
#[derive(Debug)]
pub struct Device {
    now: Now,
    settings: DeviceSettings,
    kernel: Kernel,
    link: Link,
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
        let (mut life, mut connections, mut store) = (NodeLife::default(), 0, None);
        if let Some(resumed) = settings.resumed.take() {
            (life, connections, store) = (resumed.life, resumed.connections, Some(resumed.store));
            let node = NodeId { name: NodeName::Device(settings.device), life };
            kernel.handle(now, KernelInput::Resumed { node, kept: resumed.kept, left: resumed.left });
        }
        Device {
            now,
            kernel,
            link: Link::Down { until: now.instant },
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

    fn hello(&mut self) {
        let offered = |class: &Class| OfferedClass { name: class.name.clone(), declared: class.declared.clone() };
        self.connections += 1;
        self.lease.asks(self.now.instant, 0);
        let hello = DeviceHello {
            oldest_version: OBJECTS_PROTOCOL_VERSION,
            newest_version: OBJECTS_PROTOCOL_VERSION,
            token: self.settings.token.clone(),
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
        self.link = Link::Open;
        self.backoff.reset();
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
    }

    fn on_goodbye(&mut self, goodbye: Goodbye) {
        if goodbye.retry_after.is_some() {
            self.emit(DeviceOutput::Disconnect);
            return self.on_lost();
        }
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
            | FromDevice::Part { .. } => {}
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
            DeviceInput::App(input) => self.kernel.handle(now, KernelInput::App(input)),
        }
        self.settle();
    }

    fn poll(&mut self) -> Option<DeviceOutput> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let retry = match self.link {
            Link::Down { until } => Some(until),
            Link::Connecting | Link::Greeting | Link::Open | Link::Ended => None,
        };
        [retry, self.ping_due(), self.kernel.deadline()].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.now = now;
        if let Link::Down { until } = self.link
            && until <= now.instant
        {
            self.link = Link::Connecting;
            self.emit(DeviceOutput::Connect);
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
