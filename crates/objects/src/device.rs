//! A node that dials a server: a kernel, and its connection to `/objects`.
//!
//! Invariants:
//! - what was sent on a connection is answered on it or not at all;
//! - a node keeps its life for as long as its process lives, unless another process has taken its name.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use iolite_machine::{Backoff, Instant, Machine, Now};
use iolite_values::{Id, NodeLife, StoreIncarnation};
use iolite_wire::message::Goodbye;
use iolite_wire::objects::{DeviceHello, DeviceWelcome, FromDevice, OBJECTS_PROTOCOL_VERSION, OfferedClass, ToDevice};

use crate::kernel::{IncomingId, Kernel, KernelInput, KernelOutput, KernelSettings};
use crate::{Class, FromApp, ToApp};

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
    pub classes: Vec<Class>,
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
    store: Option<StoreIncarnation>,
    backoff: Backoff,
    /// Calls and objects that came by the connection that is open, by the kernel's name for them.
    incoming: BTreeMap<IncomingId, u64>,
    last_incoming: u64,
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

    pub fn new(now: Now, settings: DeviceSettings) -> Device {
        let kernel = KernelSettings {
            id: settings.kernel,
            classes: settings.classes.clone(),
            // Its server writes for whom it calls.
            caller: String::new(),
        };
        let seed = settings.kernel.as_u128() as u64;
        Device {
            now,
            kernel: Kernel::new(now, kernel),
            link: Link::Down { until: now.instant },
            life: NodeLife::default(),
            store: None,
            backoff: Backoff::new(Device::RETRY_FIRST, Device::RETRY_LAST, seed),
            incoming: BTreeMap::new(),
            last_incoming: 0,
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
        let hello = DeviceHello {
            oldest_version: OBJECTS_PROTOCOL_VERSION,
            newest_version: OBJECTS_PROTOCOL_VERSION,
            token: self.settings.token.clone(),
            device: self.settings.device,
            life: self.life,
            serves: self.settings.serves,
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
            ToDevice::Hold { number, begin, epoch, state } => {
                let id = self.came(number);
                self.kernel.handle(self.now, KernelInput::Hold { id, begin, epoch, state });
            }
            ToDevice::Answer { number, answer } => {
                self.kernel.handle(self.now, KernelInput::Answered(number, answer));
            }
            ToDevice::Told { number, answer } => self.kernel.handle(self.now, KernelInput::Told(number, answer)),
            ToDevice::Serve { object, epoch } => self.kernel.handle(self.now, KernelInput::Serve { object, epoch }),
            ToDevice::Drop { object, epoch } => self.kernel.handle(self.now, KernelInput::Drop { object, epoch }),
            ToDevice::Goodbye(goodbye) => self.on_goodbye(goodbye),
        }
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
        self.kernel.handle(self.now, KernelInput::Registered(welcome.device));
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
            return self.emit(DeviceOutput::Send(message));
        }
        match message {
            FromDevice::Call { number, .. } => self.kernel.handle(self.now, KernelInput::NotSent(number)),
            FromDevice::Find { number, .. } | FromDevice::Create { number, .. } => {
                self.kernel.handle(self.now, KernelInput::NotSent(number));
            }
            // It is asked again when there is a connection.
            FromDevice::Begin { .. } => {}
            FromDevice::Hello(_) | FromDevice::Answer { .. } | FromDevice::Held { .. } => {}
        }
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
        [retry, self.kernel.deadline()].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.now = now;
        if let Link::Down { until } = self.link
            && until <= now.instant
        {
            self.link = Link::Connecting;
            self.emit(DeviceOutput::Connect);
        }
        self.kernel.on_deadline(now);
        self.settle();
    }

    fn validate(&self) {
        self.kernel.validate();
    }
}
