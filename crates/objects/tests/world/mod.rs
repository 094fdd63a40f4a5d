//! One server or two, their devices, a tracking that is a map, and apps that count: all in one thread, and nothing is lost that a test does not lose.

mod devices;
mod tracking;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_objects::{
    AskId, Broken, Call, CallError, CallResult, Class, Created, Device, DeviceInput, DeviceOutput, DeviceSettings,
    Ended, FromApp, KeptObject, LinkState, MayId, PeerEvent, PeerLink, Placing, Resumed, Right, Run, RunId, Server,
    ServerInput, ServerOutput, ServerSettings, SessionEvent, SessionId, Ticket, ToApp, TokenSource, TrackAsk, Tracked,
};
use iolite_values::{
    Bucket, CoordinatorId, DeviceRight, Id, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName, StoreIncarnation,
};
use iolite_wire::objects::{
    Answer, Begin, CallMode, Component, Declared, DeviceHello, FromDevice, OBJECTS_PROTOCOL_VERSION, Placed, Rpc,
    RpcId, ToDevice,
};

/// A node of the world: a server, or a device by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    Server,
    /// The second server, where there are two.
    Second,
    Device(usize),
}

pub struct World {
    now: Now,
    /// The token of devices that are added, or go on, from now on.
    pub token: TokenSource,
    pub servers: Vec<Server>,
    pub devices: Vec<Peer>,
    pub rows: BTreeMap<ObjectName, Placed>,
    nodes: BTreeMap<NodeName, NodeRow>,
    apps: BTreeMap<At, App>,
    last_ticket: u64,
    last_session: u64,
    /// For whom each session was let in.
    callers: BTreeMap<SessionId, String>,
    /// Answers of tracking are kept back, as those of a slow store.
    pub tracking_waits: bool,
    asked: VecDeque<(usize, AskId, TrackAsk)>,
    /// Counts what tracking was asked.
    pub questions: u64,
    /// Messages that the first server has sent to sessions of no device.
    pub strangers: Vec<(SessionId, ToDevice)>,
    /// Classes to which the door says no, and how often it was asked.
    pub closed: BTreeSet<String>,
    pub knocks: u64,
    /// The rights that the door was asked for, in order.
    pub asked_rights: Vec<Right>,
    /// The door does not answer questions for this right yet.
    pub slow_right: Option<Right>,
    waiting_at_door: Vec<(usize, MayId)>,
    /// Messages between the servers are lost.
    pub peers_are_deaf: bool,
    /// The rule that devices leave out which come from now on.
    pub broken: Broken,
    /// The managers of the class, as nodes that come from now on know it.
    pub managers: String,
    /// The server that coordinates all objects, and their memories.
    coordinates: usize,
    memories: BTreeMap<ObjectName, Vec<u8>>,
    /// Messages to devices that are kept back.
    kept: BTreeMap<usize, Vec<ToDevice>>,
}

/// The row of a node.
#[derive(Clone, Copy, Debug, Default)]
struct NodeRow {
    life: NodeLife,
    at: usize,
    serves: bool,
    is_lost: bool,
    lapses: u64,
    connection: u64,
}

pub struct Peer {
    pub device: Device,
    /// The server that it dials.
    pub home: usize,
    /// The device reaches no server.
    pub is_away: bool,
    session: Option<SessionId>,
    pub states: Vec<LinkState>,
    /// How often it has asked for a token.
    pub wants: usize,
}

/// Objects are numbers. `add` writes, `get` reads, `wait` and `look` stay open until they are ended by hand.
#[derive(Default)]
pub struct App {
    pub objects: BTreeMap<ObjectName, u64>,
    /// The epochs of objects whose states are kept, and what is on the disk.
    pub epochs: BTreeMap<ObjectName, ObjectEpoch>,
    pub kept: BTreeMap<ObjectName, (ObjectEpoch, u64)>,
    pub open: BTreeMap<RunId, Run>,
    pub answered: BTreeMap<Ticket, CallResult>,
    pub created: BTreeMap<Ticket, Result<Created, CallError>>,
    pub found: BTreeMap<Ticket, Result<Option<Placed>, CallError>>,
    pub moved: BTreeMap<Ticket, Result<Placed, CallError>>,
    /// Bytes of a state that is saved.
    pub padding: usize,
    pub callers: Vec<String>,
    /// The app makes objects later, when it is told to.
    pub is_slow: bool,
    pub late: Vec<ObjectName>,
}

impl App {
    fn keep(&mut self, object: &ObjectName) {
        if let (Some(epoch), Some(number)) = (self.epochs.get(object), self.objects.get(object)) {
            self.kept.insert(object.clone(), (*epoch, *number));
        }
    }
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

const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(9));

impl World {
    /// A server, with the class or without it, and no device.
    pub fn new(server_has_class: bool) -> World {
        World::of(&[server_has_class], false)
    }

    /// Two servers with leases, that are linked.
    pub fn two(has_class: [bool; 2]) -> World {
        let mut world = World::of(&has_class, true);
        for (at, other) in [(0, 1), (1, 0)] {
            let event = PeerEvent::Opened(gateway(other));
            world.servers[at].handle(world.now, ServerInput::Peer(PeerLink(1), event));
        }
        world.settle();
        world
    }

    fn of(has_class: &[bool], has_leases: bool) -> World {
        let now = Now { instant: Instant::from_nanos(1), wall: WallTime::from_micros(1) };
        let server = |(at, has_class): (usize, &bool)| {
            let classes = if *has_class { vec![class(DeviceRight::Hold)] } else { Vec::new() };
            let (kernel, broken) = (Id::from_u128(1 + at as u128), Broken::Nothing);
            Server::new(
                now,
                ServerSettings { gateway: gateway(at), kernel, classes, has_leases, managers: Vec::new(), broken },
            )
        };
        let mut world = World {
            now,
            token: TokenSource::Fixed("token".to_owned()),
            servers: has_class.iter().enumerate().map(server).collect(),
            devices: Vec::new(),
            rows: BTreeMap::new(),
            nodes: BTreeMap::new(),
            apps: BTreeMap::new(),
            last_ticket: 0,
            last_session: 0,
            callers: BTreeMap::new(),
            tracking_waits: false,
            asked: VecDeque::new(),
            questions: 0,
            strangers: Vec::new(),
            closed: BTreeSet::new(),
            knocks: 0,
            asked_rights: Vec::new(),
            slow_right: None,
            waiting_at_door: Vec::new(),
            peers_are_deaf: false,
            broken: Broken::Nothing,
            managers: String::new(),
            coordinates: 0,
            memories: BTreeMap::new(),
            kept: BTreeMap::new(),
        };
        for at in 0..world.servers.len() {
            world.servers[at].handle(now, ServerInput::Ready(STORE));
            world.lease(at, Duration::from_secs(3600));
        }
        world.settle();
        world
    }

    /// A server has a lease for so long.
    pub fn lease(&mut self, server: usize, time: Duration) {
        self.servers[server].handle(self.now, ServerInput::Lease(self.now.instant + time));
        self.settle();
    }

    /// Another server coordinates all objects from now on.
    pub fn coordinate_at(&mut self, server: usize) {
        for bucket in Bucket::all() {
            self.servers[self.coordinates].handle(self.now, ServerInput::Coordinates(bucket, false));
        }
        self.coordinates = server;
        self.tell_buckets();
        self.settle();
    }

    fn tell_buckets(&mut self) {
        let holder = self.servers[self.coordinates].kernel().node();
        for bucket in Bucket::all() {
            self.servers[self.coordinates].handle(self.now, ServerInput::Coordinates(bucket, true));
            for server in &mut self.servers {
                server.handle(self.now, ServerInput::Holder(bucket, holder));
            }
        }
    }

    /// Adds a device that is let in.
    pub fn device(&mut self, serves: bool, has_class: bool) -> At {
        self.device_at(0, serves, has_class)
    }

    pub fn device_at(&mut self, home: usize, serves: bool, has_class: bool) -> At {
        let at = self.devices.len();
        let mut settings = DeviceSettings { broken: self.broken, ..devices::settings(at, serves, has_class, 1000) };
        settings.classes.iter_mut().for_each(|class| class.declared.managers.clone_from(&self.managers));
        settings.token.clone_from(&self.token);
        let device = Device::new(self.now, settings);
        self.devices.push(Peer { device, home, is_away: false, session: None, states: Vec::new(), wants: 0 });
        self.settle();
        At::Device(at)
    }

    pub fn app(&mut self, at: At) -> &mut App {
        self.apps.entry(at).or_default()
    }

    pub fn node(&self, at: At) -> NodeId {
        match at {
            At::Server => self.servers[0].kernel().node().expect("registered"),
            At::Second => self.servers[1].kernel().node().expect("registered"),
            At::Device(at) => self.devices[at].device.kernel().node().expect("registered"),
        }
    }

    fn tell(&mut self, at: At, input: FromApp) {
        match at {
            At::Server => self.servers[0].handle(self.now, ServerInput::App(input)),
            At::Second => self.servers[1].handle(self.now, ServerInput::App(input)),
            At::Device(at) => self.devices[at].device.handle(self.now, DeviceInput::App(input)),
        }
        self.settle();
    }

    fn ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    pub fn start_create(&mut self, at: At, id: &str, placing: Placing) -> Ticket {
        self.start_create_as(at, id, placing, DeviceRight::Hold)
    }

    fn start_create_as(&mut self, at: At, id: &str, placing: Placing, devices: DeviceRight) -> Ticket {
        self.start_begin(at, id, placing, declared(devices))
    }

    /// Creates an object of a class with managers.
    pub fn create_under(&mut self, at: At, id: &str, managers: &str) -> Result<Created, CallError> {
        self.place_under(at, id, managers, Placing::Here)
    }

    pub fn place_under(&mut self, at: At, id: &str, managers: &str, placing: Placing) -> Result<Created, CallError> {
        let declared = Declared { managers: managers.to_owned(), ..declared(DeviceRight::Hold) };
        let ticket = self.start_begin(at, id, placing, declared);
        self.app(at).created.remove(&ticket).expect("it has an answer")
    }

    /// Says something to a manager, and returns what was answered at once.
    pub fn manage(&mut self, at: At, id: &str, manager: &str, body: &str) -> CallResult {
        let ticket = self.start_manage(at, id, manager, body);
        self.answer(at, ticket).expect("it has an answer")
    }

    pub fn start_manage(&mut self, at: At, id: &str, manager: &str, body: &str) -> Ticket {
        let ticket = self.ticket();
        let (manager, body) = (manager.to_owned(), body.as_bytes().to_vec());
        self.tell(at, FromApp::Manage { ticket, object: object(id), manager, body });
        ticket
    }

    pub fn start_begin(&mut self, at: At, id: &str, placing: Placing, declared: Declared) -> Ticket {
        let ticket = self.ticket();
        let begin = Begin { object: object(id), declared };
        self.tell(at, FromApp::Create { ticket, begin, state: vec![0], placing });
        ticket
    }

    pub fn create(&mut self, at: At, id: &str, placing: Placing) -> Result<Created, CallError> {
        self.create_as(at, id, placing, DeviceRight::Hold)
    }

    pub fn create_as(
        &mut self,
        at: At,
        id: &str,
        placing: Placing,
        devices: DeviceRight,
    ) -> Result<Created, CallError> {
        let ticket = self.start_create_as(at, id, placing, devices);
        self.app(at).created.remove(&ticket).expect("it has an answer")
    }

    /// Asks where an object is, and returns what was answered at once.
    pub fn find(&mut self, at: At, id: &str) -> Result<Option<Placed>, CallError> {
        let ticket = self.ticket();
        self.tell(at, FromApp::Find { ticket, object: object(id) });
        self.app(at).found.remove(&ticket).expect("it has an answer")
    }

    pub fn start_move(&mut self, at: At, id: &str, to: NodeId) -> Ticket {
        let ticket = self.ticket();
        self.tell(at, FromApp::Move { ticket, object: object(id), to });
        ticket
    }

    /// Moves an object, and returns what was answered at once.
    pub fn go(&mut self, at: At, id: &str, to: At) -> Result<Placed, CallError> {
        let to = self.node(to);
        let ticket = self.start_move(at, id, to);
        self.app(at).moved.remove(&ticket).expect("it has an answer")
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

    /// A slow app makes what it was asked to make.
    pub fn make_late(&mut self, at: At) {
        self.app(at).is_slow = false;
        for object in std::mem::take(&mut self.app(at).late) {
            self.tell(at, FromApp::Restored { object, restored: Ok(()) });
        }
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
        let (session, home) = (peer.session.take().expect("it has a connection"), peer.home);
        peer.device.handle(self.now, DeviceInput::LinkLost);
        self.servers[home].handle(self.now, ServerInput::Session(session, SessionEvent::Closed));
        self.settle();
    }

    /// From now on, what is sent to a device is kept back.
    pub fn keep(&mut self, device: usize) {
        self.kept.insert(device, Vec::new());
    }

    /// Sends what was kept back. What is sent from now on arrives.
    pub fn kept(&mut self, device: usize) -> Vec<ToDevice> {
        self.kept.remove(&device).unwrap_or_default()
    }

    pub fn deliver(&mut self, device: usize, message: ToDevice) {
        self.devices[device].device.handle(self.now, DeviceInput::Message(message));
        self.settle();
    }

    /// The device goes to another server.
    pub fn roam(&mut self, device: usize, home: usize) {
        let before = std::mem::replace(&mut self.devices[device].home, home);
        let peer = &mut self.devices[device];
        let session = peer.session.take().expect("it has a connection");
        peer.device.handle(self.now, DeviceInput::LinkLost);
        self.servers[before].handle(self.now, ServerInput::Session(session, SessionEvent::Closed));
        self.pass(Duration::from_secs(1));
    }

    /// The process of a device ends, and another one starts under its name.
    pub fn restart(&mut self, device: usize) {
        self.cut(device);
        let (settings, home) = (devices::settings(device, false, true, 5000), self.devices[device].home);
        let device_anew = Device::new(self.now, settings);
        self.devices[device] =
            Peer { device: device_anew, home, is_away: false, session: None, states: Vec::new(), wants: 0 };
        self.apps.remove(&At::Device(device));
        self.settle();
    }

    /// The process of a device ends without a word, and another one goes on with its life and with what it kept.
    pub fn resume(&mut self, device: usize) {
        self.resume_without(device, &[]);
    }

    /// The same, with an app that cannot make these objects again.
    pub fn resume_without(&mut self, device: usize, left: &[&str]) {
        let NodeId { name, life } = self.node(At::Device(device));
        let NodeName::Device(drawn) = name else { panic!("it is a device") };
        let serves = self.nodes.get(&name).is_some_and(|row| row.serves);
        let kept = std::mem::take(&mut self.app(At::Device(device)).kept);
        let named = |(object, (epoch, _)): (&ObjectName, &(ObjectEpoch, u64))| KeptObject {
            object: object.clone(),
            epoch: *epoch,
        };
        let left: Vec<_> = left.iter().map(|id| (object(id), 7)).collect();
        let is_made = |of: &(&ObjectName, &(ObjectEpoch, u64))| left.iter().all(|(left, _)| left != of.0);
        let made = kept.iter().filter(is_made).map(named).collect();
        let resumed = Resumed { life, store: STORE, connections: 1_000, name: drawn, kept: made, left: left.clone() };
        let kept_here = kept.iter().filter(is_made);
        let objects = kept_here.map(|(object, (_, number))| (object.clone(), *number)).collect();
        let epochs = kept.iter().map(|(object, (epoch, _))| (object.clone(), *epoch)).collect();
        let mut settings = DeviceSettings {
            resumed: Some(resumed),
            broken: self.broken,
            ..devices::settings(device, serves, true, 7000)
        };
        settings.classes.iter_mut().for_each(|class| class.declared.managers.clone_from(&self.managers));
        settings.token.clone_from(&self.token);
        self.devices[device].device = Device::new(self.now, settings);
        self.apps.insert(At::Device(device), App { objects, epochs, kept, ..App::default() });
        self.settle();
    }

    /// A server hears that its link with the other one has ended.
    pub fn unlink(&mut self, server: usize) {
        self.servers[server].handle(self.now, ServerInput::Peer(PeerLink(1), PeerEvent::Closed));
        self.settle();
    }

    /// A server finds another store than before.
    pub fn other_store(&mut self, server: usize) {
        let store = StoreIncarnation(Id::from_u128(10));
        self.servers[server].handle(self.now, ServerInput::Ready(store));
        self.settle();
    }

    pub fn pass(&mut self, time: Duration) {
        self.now.instant = self.now.instant + time;
        let micros = u64::try_from(time.as_micros()).expect("not for so long");
        self.now.wall = WallTime::from_micros(self.now.wall.as_micros() + micros);
        self.settle();
    }

    /// The host of a device gives it a token, or says why it has none.
    pub fn give_token(&mut self, device: usize, token: Result<&str, &str>) {
        let input = match token {
            Ok(token) => DeviceInput::Token(token.to_owned()),
            Err(why) => DeviceInput::TokenFailed(why.to_owned()),
        };
        self.devices[device].device.handle(self.now, input);
        self.settle();
    }

    /// The door closes for a device's session.
    pub fn close_door(&mut self, device: usize, why: &str) {
        let session = self.devices[device].session.expect("it has a connection");
        self.servers[self.devices[device].home].handle(self.now, ServerInput::Ended(session, why.to_owned()));
        self.settle();
    }

    /// A session that is no device: what it says is said by hand.
    pub fn stranger(&mut self) -> SessionId {
        self.last_session += 1;
        let session = SessionId(1000 + self.last_session);
        self.servers[0].handle(self.now, ServerInput::Session(session, SessionEvent::Opened));
        session
    }

    pub fn says(&mut self, session: SessionId, message: FromDevice) -> Vec<ToDevice> {
        self.servers[0].handle(self.now, ServerInput::Session(session, SessionEvent::Message(message)));
        self.settle();
        self.hears(session)
    }

    /// Tracking answers what it was asked, as it stands now, or not at all.
    pub fn track(&mut self, answers: bool) {
        self.tracking_waits = !answers;
        while let Some((server, id, question)) = self.asked.pop_front() {
            self.tracking(server, id, question);
            self.settle();
        }
    }

    /// Tracking answers the next question, and no other one.
    pub fn track_next(&mut self) {
        if let Some((server, id, question)) = self.asked.pop_front() {
            self.tracking(server, id, question);
            self.settle();
        }
    }

    /// Tracking answers until the next question is to keep a coordinator's memory.
    pub fn track_to_memory(&mut self) {
        while !matches!(self.asked.front().expect("a memory is to be kept").2, TrackAsk::Remember { .. }) {
            self.track_next();
        }
    }

    /// Tracking answers the last question, and no other one.
    pub fn track_last(&mut self) {
        if let Some((server, id, question)) = self.asked.pop_back() {
            self.tracking(server, id, question);
            self.settle();
        }
    }

    /// The store begins anew, and what it was asked is not answered.
    pub fn lose_answers(&mut self, happened: bool) {
        self.answer_in_doubt(happened);
        for server in &mut self.servers {
            server.handle(self.now, ServerInput::Ready(STORE));
        }
        self.settle();
    }

    /// The same, and no server hears that the store is there again.
    pub fn doubt_answers(&mut self, happened: bool) {
        self.answer_in_doubt(happened);
        self.settle();
    }

    fn answer_in_doubt(&mut self, happened: bool) {
        for (server, id, question) in std::mem::take(&mut self.asked) {
            if happened {
                self.tracked(server, question);
            }
            self.servers[server].handle(self.now, ServerInput::Tracked(id, Tracked::InDoubt));
        }
        self.tracking_waits = false;
    }

    /// Tracking never answers what it was asked so far.
    pub fn forget_questions(&mut self) {
        self.asked.clear();
    }

    fn perform(&mut self, at: At, output: ToApp) {
        let app = self.apps.entry(at).or_default();
        match output {
            ToApp::Restore { object, state, keep } => {
                app.objects.insert(object.clone(), state[0].into());
                app.epochs.remove(&object);
                if let Some(epoch) = keep {
                    app.epochs.insert(object.clone(), epoch);
                    app.keep(&object);
                }
                if app.is_slow {
                    return app.late.push(object);
                }
                self.tell(at, FromApp::Restored { object, restored: Ok(()) });
            }
            ToApp::Forget { object } => {
                app.objects.remove(&object);
                app.epochs.remove(&object);
                app.kept.remove(&object);
            }
            ToApp::Save { object } => {
                let mut state = vec![*app.objects.get(&object).expect("it is here") as u8];
                state.resize(state.len() + app.padding, 0);
                self.tell(at, FromApp::Saved { object, state: Ok(state) });
            }
            ToApp::Moved(ticket, moved) => drop(app.moved.insert(ticket, moved)),
            ToApp::Run(run, of) => {
                app.callers.push(of.caller.clone());
                let number = app.objects.get_mut(&of.object).expect("it is here");
                let ended = match of.method.as_str() {
                    "add" => {
                        *number += 1;
                        let number = *number as u8;
                        app.keep(&of.object);
                        Ended::Returned(vec![number])
                    }
                    "fail" => Ended::Threw(vec![13]),
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
            for at in 0..self.servers.len() {
                if self.servers[at].deadline().is_some_and(|due| due <= self.now.instant) {
                    self.servers[at].on_deadline(self.now);
                }
                while let Some(output) = self.servers[at].poll() {
                    quiet = false;
                    self.of_server(at, output);
                }
                // It looks at every instance.
                if self.servers[at].kernel().instances() < 100 {
                    self.servers[at].validate();
                }
            }
            for at in 0..self.devices.len() {
                if self.devices[at].device.deadline().is_some_and(|due| due <= self.now.instant) {
                    self.devices[at].device.on_deadline(self.now);
                }
                while let Some(output) = self.devices[at].device.poll() {
                    quiet = false;
                    self.of_device(at, output);
                }
                self.devices[at].device.validate();
            }
            if quiet {
                return;
            }
        }
    }

    fn of_server(&mut self, at: usize, output: ServerOutput) {
        match output {
            ServerOutput::Send(session, message) => {
                let at = self.devices.iter().position(|peer| peer.session == Some(session));
                match (at, at.and_then(|at| self.kept.get_mut(&at))) {
                    (_, Some(kept)) => kept.push(message),
                    (Some(at), None) => self.devices[at].device.handle(self.now, DeviceInput::Message(message)),
                    (None, None) => self.strangers.push((session, message)),
                }
            }
            ServerOutput::Close(session) => {
                if let Some(peer) = self.devices.iter_mut().find(|peer| peer.session == Some(session)) {
                    peer.session = None;
                    peer.device.handle(self.now, DeviceInput::LinkLost);
                }
                self.servers[at].handle(self.now, ServerInput::Session(session, SessionEvent::Closed));
            }
            ServerOutput::Check { session, device, token } => {
                let checked = devices::let_in(device, &token, self.now);
                if let Ok(let_in) = &checked {
                    self.callers.insert(session, let_in.caller.clone());
                }
                self.servers[at].handle(self.now, ServerInput::Checked(session, checked));
            }
            ServerOutput::Renew(session, token) => {
                let renewed = devices::let_in(Id::default(), &token, self.now).and_then(|let_in| {
                    let is_same = self.callers.get(&session) == Some(&let_in.caller);
                    if is_same { Ok(let_in.ends) } else { Err("the token is of another user".to_owned()) }
                });
                self.servers[at].handle(self.now, ServerInput::Renewed(session, renewed));
            }
            ServerOutput::Ask(id, question) if self.tracking_waits => self.asked.push_back((at, id, question)),
            ServerOutput::Ask(id, question) => self.tracking(at, id, question),
            ServerOutput::ToPeer(..) if self.peers_are_deaf => {}
            ServerOutput::ToPeer(link, message) => {
                // What goes from one server to the other is written and read as on a link.
                let bytes = message.encode().expect("it is small enough");
                let message = iolite_wire::objects::PeerMessage::decode(&bytes).expect("it was written so");
                self.servers[1 - at].handle(self.now, ServerInput::Peer(link, PeerEvent::Message(message)));
            }
            ServerOutput::May(id, _session, object, right) => {
                self.knocks += 1;
                let is_slow = self.slow_right.as_ref() == Some(&right);
                self.asked_rights.push(right);
                if is_slow {
                    return self.waiting_at_door.push((at, id));
                }
                let may = !self.closed.contains(object.class());
                self.servers[at].handle(self.now, ServerInput::May(id, may));
            }
            ServerOutput::App(output) => self.perform([At::Server, At::Second][at], output),
        }
    }

    fn of_device(&mut self, at: usize, output: DeviceOutput) {
        let home = self.devices[at].home;
        match output {
            DeviceOutput::Connect if self.devices[at].is_away => {
                self.devices[at].device.handle(self.now, DeviceInput::LinkLost);
            }
            DeviceOutput::Connect => {
                self.last_session += 1;
                let session = SessionId(self.last_session);
                self.devices[at].session = Some(session);
                self.servers[home].handle(self.now, ServerInput::Session(session, SessionEvent::Opened));
                self.devices[at].device.handle(self.now, DeviceInput::Linked);
            }
            DeviceOutput::Disconnect => {
                if let Some(session) = self.devices[at].session.take() {
                    self.servers[home].handle(self.now, ServerInput::Session(session, SessionEvent::Closed));
                }
            }
            DeviceOutput::Send(message) => {
                if let Some(session) = self.devices[at].session {
                    let event = SessionEvent::Message(message);
                    self.servers[home].handle(self.now, ServerInput::Session(session, event));
                }
            }
            DeviceOutput::App(output) => self.perform(At::Device(at), output),
            DeviceOutput::TokenWanted => self.devices[at].wants += 1,
            DeviceOutput::Link(state) => self.devices[at].states.push(state),
        }
    }
}

/// The hello of a session that is played by hand.
pub fn hello() -> FromDevice {
    FromDevice::Hello(DeviceHello {
        oldest_version: OBJECTS_PROTOCOL_VERSION,
        newest_version: OBJECTS_PROTOCOL_VERSION,
        token: "token".into(),
        device: Id::from_u128(666),
        life: NodeLife(0),
        serves: false,
        classes: Vec::new(),
        connection: 1,
    })
}

/// A call from that session, of somebody who knows this epoch.
pub fn call(to: NodeId, id: &str, epoch: ObjectEpoch) -> FromDevice {
    let rpc = Rpc {
        id: RpcId { kernel: Id::from_u128(666), counter: 1, path: Vec::new() },
        object: object(id),
        epoch,
        version: 1,
        method: "add".into(),
        mode: CallMode::Write,
        chain: Vec::new(),
        time_left: Duration::from_secs(10),
        caller: String::new(),
        arguments: Vec::new(),
        from: None,
        component: Component::Method,
        claim: DeviceRight::Call,
        by_device: false,
    };
    FromDevice::Call { number: 1, to, rpc }
}

/// The answer among these messages.
pub fn answer(replies: &[ToDevice]) -> Option<&Answer> {
    replies.iter().find_map(|reply| match reply {
        ToDevice::Answer { answer, .. } => Some(answer),
        _other => None,
    })
}

fn gateway(at: usize) -> CoordinatorId {
    CoordinatorId::new(3 + at as u16).expect("small")
}
