//! One server, its devices, a tracking that is a map, and apps that count: all in one thread, and nothing is lost that a test does not lose.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_objects::{
    AskId, Call, CallError, CallResult, Class, Created, Device, DeviceInput, DeviceOutput, DeviceSettings, Ended,
    FromApp, LetIn, LinkState, Placing, Run, RunId, Server, ServerInput, ServerOutput, ServerSettings, SessionEvent,
    SessionId, Ticket, ToApp, TrackAsk,
};
use iolite_values::{
    CoordinatorId, DeviceRight, Id, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName, StoreIncarnation,
};
use iolite_wire::objects::{Begin, CallMode, Declared, FromDevice, Placed, ToDevice, TrackAnswer};

/// A node of the world: the server, or a device by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    Server,
    Device(usize),
}

pub struct World {
    now: Now,
    pub server: Server,
    pub devices: Vec<Peer>,
    pub rows: BTreeMap<ObjectName, Placed>,
    lives: BTreeMap<NodeName, NodeLife>,
    apps: BTreeMap<At, App>,
    last_ticket: u64,
    last_session: u64,
    /// Answers of tracking are kept back, as those of a slow store.
    pub tracking_waits: bool,
    asked: VecDeque<(AskId, TrackAsk)>,
    /// Messages that the server has sent to sessions of no device.
    pub strangers: Vec<(SessionId, ToDevice)>,
}

pub struct Peer {
    pub device: Device,
    session: Option<SessionId>,
    pub states: Vec<LinkState>,
}

/// Objects are numbers. `add` writes, `get` reads, `wait` and `look` stay open until they are ended by hand.
#[derive(Default)]
pub struct App {
    pub objects: BTreeMap<ObjectName, u64>,
    pub open: BTreeMap<RunId, Run>,
    pub answered: BTreeMap<Ticket, CallResult>,
    pub created: BTreeMap<Ticket, Result<Created, CallError>>,
    pub found: BTreeMap<Ticket, Result<Option<Placed>, CallError>>,
    pub callers: Vec<String>,
}

pub fn object(id: &str) -> ObjectName {
    ObjectName::new("Counter", id).expect("a name")
}

pub fn declared(devices: DeviceRight) -> Declared {
    Declared { version: 1, managers: String::new(), devices }
}

fn class(devices: DeviceRight) -> Class {
    let reads = ["get", "look"].map(str::to_owned).into();
    Class { name: "Counter".into(), declared: declared(devices), reads }
}

impl World {
    /// A server, with the class or without it, and no device.
    pub fn new(server_has_class: bool) -> World {
        let now = Now { instant: Instant::from_nanos(1), wall: WallTime::from_micros(1) };
        let classes = if server_has_class { vec![class(DeviceRight::Hold)] } else { Vec::new() };
        let gateway = CoordinatorId::new(3).expect("small");
        let server = Server::new(now, ServerSettings { gateway, kernel: Id::from_u128(1), classes });
        let mut world = World {
            now,
            server,
            devices: Vec::new(),
            rows: BTreeMap::new(),
            lives: BTreeMap::new(),
            apps: BTreeMap::new(),
            last_ticket: 0,
            last_session: 0,
            tracking_waits: false,
            asked: VecDeque::new(),
            strangers: Vec::new(),
        };
        world.server.handle(now, ServerInput::Ready(StoreIncarnation(Id::from_u128(9))));
        world.settle();
        world
    }

    /// Adds a device that is let in.
    pub fn device(&mut self, serves: bool, has_class: bool) -> At {
        let at = self.devices.len();
        let device = Device::new(
            self.now,
            DeviceSettings {
                device: Id::from_u128(100 + at as u128),
                kernel: Id::from_u128(1000 + at as u128),
                token: "token".into(),
                serves,
                classes: if has_class { vec![class(DeviceRight::Hold)] } else { Vec::new() },
            },
        );
        self.devices.push(Peer { device, session: None, states: Vec::new() });
        self.settle();
        At::Device(at)
    }

    pub fn app(&mut self, at: At) -> &mut App {
        self.apps.entry(at).or_default()
    }

    pub fn node(&self, at: At) -> NodeId {
        match at {
            At::Server => self.server.kernel().node().expect("registered"),
            At::Device(at) => self.devices[at].device.kernel().node().expect("registered"),
        }
    }

    fn tell(&mut self, at: At, input: FromApp) {
        match at {
            At::Server => self.server.handle(self.now, ServerInput::App(input)),
            At::Device(at) => self.devices[at].device.handle(self.now, DeviceInput::App(input)),
        }
        self.settle();
    }

    fn ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    pub fn start_create(&mut self, at: At, id: &str, placing: Placing) -> Ticket {
        let ticket = self.ticket();
        let begin = Begin { object: object(id), declared: declared(DeviceRight::Hold) };
        self.tell(at, FromApp::Create { ticket, begin, state: vec![0], placing });
        ticket
    }

    pub fn create(&mut self, at: At, id: &str, placing: Placing) -> Result<Created, CallError> {
        let ticket = self.start_create(at, id, placing);
        self.app(at).created.remove(&ticket).expect("it has an answer")
    }

    pub fn start(&mut self, at: At, id: &str, method: &str) -> Ticket {
        self.start_within(at, None, id, method)
    }

    pub fn start_within(&mut self, at: At, within: Option<RunId>, id: &str, method: &str) -> Ticket {
        let ticket = self.ticket();
        let call = Call {
            object: object(id),
            version: 1,
            method: method.into(),
            mode: CallMode::Write,
            arguments: Vec::new(),
            within,
            time: Duration::from_secs(10),
        };
        self.tell(at, FromApp::Call(ticket, call));
        ticket
    }

    pub fn answer(&mut self, at: At, ticket: Ticket) -> Option<CallResult> {
        self.app(at).answered.remove(&ticket)
    }

    /// Calls, and returns what was answered at once.
    pub fn call(&mut self, at: At, id: &str, method: &str) -> CallResult {
        let ticket = self.start(at, id, method);
        self.answer(at, ticket).expect("it has an answer")
    }

    /// The oldest run that is open at a node.
    pub fn run(&mut self, at: At) -> RunId {
        *self.app(at).open.keys().next().expect("a method runs")
    }

    pub fn end(&mut self, at: At, run: RunId) {
        self.app(at).open.remove(&run).expect("it runs");
        self.tell(at, FromApp::Ended { run, ended: Ended::Returned(vec![42]) });
    }

    /// The connection of a device breaks.
    pub fn cut(&mut self, device: usize) {
        let peer = &mut self.devices[device];
        let session = peer.session.take().expect("it has a connection");
        peer.device.handle(self.now, DeviceInput::LinkLost);
        self.server.handle(self.now, ServerInput::Session(session, SessionEvent::Closed));
        self.settle();
    }

    pub fn pass(&mut self, time: Duration) {
        self.now.instant = self.now.instant + time;
        self.settle();
    }

    /// A session that is no device: what it says is said by hand.
    pub fn stranger(&mut self) -> SessionId {
        self.last_session += 1;
        let session = SessionId(1000 + self.last_session);
        self.server.handle(self.now, ServerInput::Session(session, SessionEvent::Opened));
        session
    }

    /// Takes the messages that a session of no device was sent.
    pub fn hears(&mut self, session: SessionId) -> Vec<ToDevice> {
        let all = std::mem::take(&mut self.strangers);
        all.into_iter().filter(|(to, _)| *to == session).map(|(_, message)| message).collect()
    }

    pub fn says(&mut self, session: SessionId, message: FromDevice) -> Vec<ToDevice> {
        self.server.handle(self.now, ServerInput::Session(session, SessionEvent::Message(message)));
        self.settle();
        self.hears(session)
    }

    /// Tracking answers what it was asked, as it stands now, or not at all.
    pub fn track(&mut self, answers: bool) {
        self.tracking_waits = !answers;
        while let Some((id, question)) = self.asked.pop_front() {
            self.tracking(id, question);
            self.settle();
        }
    }

    /// The store begins anew, and what it was asked is not answered.
    pub fn lose_answers(&mut self, happened: bool) {
        for (id, question) in std::mem::take(&mut self.asked) {
            if happened && let TrackAsk::Begin { begin, at } = &question {
                self.begin(begin.clone(), *at);
            }
            self.server.handle(self.now, ServerInput::InDoubt(id));
        }
        self.tracking_waits = false;
        self.server.handle(self.now, ServerInput::Ready(StoreIncarnation(Id::from_u128(9))));
        self.settle();
    }

    fn begin(&mut self, begin: Begin, at: NodeId) -> TrackAnswer {
        if let Some(placed) = self.rows.get(&begin.object) {
            return TrackAnswer::Found(placed.clone());
        }
        let placed = Placed { declared: begin.declared, epoch: ObjectEpoch(1), places: vec![at] };
        self.rows.insert(begin.object, placed.clone());
        TrackAnswer::Begun(placed)
    }

    fn tracking(&mut self, id: AskId, question: TrackAsk) {
        let input = match question {
            TrackAsk::Find(object) => {
                let found = self.rows.get(&object).cloned();
                ServerInput::Told(id, found.map_or(TrackAnswer::Unknown, TrackAnswer::Found))
            }
            TrackAsk::Begin { begin, at } => ServerInput::Told(id, self.begin(begin, at)),
            TrackAsk::Register { name, known, .. } => {
                let life = self.lives.entry(name).or_default();
                if known == NodeLife(0) || known != *life {
                    *life = NodeLife(life.0 + 1);
                }
                ServerInput::Registered(id, NodeId { name, life: *life })
            }
        };
        self.server.handle(self.now, input);
    }

    fn perform(&mut self, at: At, output: ToApp) {
        let app = self.apps.entry(at).or_default();
        match output {
            ToApp::Restore { object, state } => {
                app.objects.insert(object.clone(), state[0].into());
                self.tell(at, FromApp::Restored { object, restored: Ok(()) });
            }
            ToApp::Forget { object } => drop(app.objects.remove(&object)),
            ToApp::Run(run, of) => {
                app.callers.push(of.caller.clone());
                let number = app.objects.get_mut(&of.object).expect("it is here");
                let ended = match of.method.as_str() {
                    "add" => {
                        *number += 1;
                        Ended::Returned(vec![*number as u8])
                    }
                    "get" => Ended::Returned(vec![*number as u8]),
                    "wait" | "look" => {
                        app.open.insert(run, of);
                        return;
                    }
                    _other => Ended::NoSuchMethod,
                };
                self.tell(at, FromApp::Ended { run, ended });
            }
            ToApp::Answered(ticket, result) => {
                assert!(app.answered.insert(ticket, result).is_none(), "a call is answered once");
            }
            ToApp::Created(ticket, created) => drop(app.created.insert(ticket, created)),
            ToApp::Found(ticket, found) => drop(app.found.insert(ticket, found)),
        }
    }

    /// Carries everything until nobody has anything to say.
    pub fn settle(&mut self) {
        loop {
            let mut quiet = true;
            if self.server.deadline().is_some_and(|at| at <= self.now.instant) {
                self.server.on_deadline(self.now);
            }
            while let Some(output) = self.server.poll() {
                quiet = false;
                self.of_server(output);
            }
            for at in 0..self.devices.len() {
                if self.devices[at].device.deadline().is_some_and(|due| due <= self.now.instant) {
                    self.devices[at].device.on_deadline(self.now);
                }
                while let Some(output) = self.devices[at].device.poll() {
                    quiet = false;
                    self.of_device(at, output);
                }
            }
            // It looks at every instance.
            if self.server.kernel().instances() < 100 {
                self.server.validate();
            }
            if quiet {
                return;
            }
        }
    }

    fn of_server(&mut self, output: ServerOutput) {
        match output {
            ServerOutput::Send(session, message) => {
                match self.devices.iter_mut().find(|peer| peer.session == Some(session)) {
                    Some(peer) => peer.device.handle(self.now, DeviceInput::Message(message)),
                    None => self.strangers.push((session, message)),
                }
            }
            ServerOutput::Close(session) => {
                if let Some(peer) = self.devices.iter_mut().find(|peer| peer.session == Some(session)) {
                    peer.session = None;
                    peer.device.handle(self.now, DeviceInput::LinkLost);
                }
                self.server.handle(self.now, ServerInput::Session(session, SessionEvent::Closed));
            }
            ServerOutput::Check(session, token) => {
                let let_in = LetIn { caller: "ann".into(), may_serve: true };
                let checked = if token == "token" { Ok(let_in) } else { Err("the token is wrong".to_owned()) };
                self.server.handle(self.now, ServerInput::Checked(session, checked));
            }
            ServerOutput::Ask(id, question) if self.tracking_waits => self.asked.push_back((id, question)),
            ServerOutput::Ask(id, question) => self.tracking(id, question),
            ServerOutput::App(output) => self.perform(At::Server, output),
        }
    }

    fn of_device(&mut self, at: usize, output: DeviceOutput) {
        match output {
            DeviceOutput::Connect => {
                self.last_session += 1;
                let session = SessionId(self.last_session);
                self.devices[at].session = Some(session);
                self.server.handle(self.now, ServerInput::Session(session, SessionEvent::Opened));
                self.devices[at].device.handle(self.now, DeviceInput::Linked);
            }
            DeviceOutput::Disconnect => {
                if let Some(session) = self.devices[at].session.take() {
                    self.server.handle(self.now, ServerInput::Session(session, SessionEvent::Closed));
                }
            }
            DeviceOutput::Send(message) => {
                let peer = &self.devices[at];
                if let Some(session) = peer.session {
                    let event = SessionEvent::Message(message);
                    self.server.handle(self.now, ServerInput::Session(session, event));
                }
            }
            DeviceOutput::App(output) => self.perform(At::Device(at), output),
            DeviceOutput::Link(state) => self.devices[at].states.push(state),
        }
    }
}
