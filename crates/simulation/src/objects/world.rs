//! The world: processes, links, clocks and the store in one thread, moved by one queue of events.
//!
//! Invariant: everything that happens follows from the seed.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use iolite_machine::{Instant, Machine, Now};
use iolite_objects::{Class, DeviceInput, Kernel, Ticket};
use iolite_values::{Id, NodeId, ObjectEpoch, ObjectName, StoreIncarnation};
use sha2::{Digest, Sha256};

use super::app::App;
use super::clock::Clock;
use super::commits::Rows;
use super::device_node::DeviceNode;
use super::disks::Disks;
use super::happened::ObjectEvent;
use super::kinds::{self, Kind};
use super::links::Links;
use super::members::Members;
use super::names::{At, objects_of};
use super::peers::Peers;
use super::queue::{Event, NodeEvent, Queue};
use super::roughness::{MILLISECOND, Roughness};
use super::server_node::ServerNode;
use super::serving::Serving;
use super::store::Store;
use super::told::Told;
use crate::broken::Broken;
use crate::checker::{Invariant, Violation};
use crate::counts::Counts;
use crate::history::Moment;
use crate::random::Random;

pub struct World {
    pub broken: Broken,
    pub random: Random,
    pub rough: Roughness,
    pub moment: Moment,
    pub queue: Queue,
    pub servers: Vec<ServerNode>,
    pub devices: Vec<DeviceNode>,
    pub links: Links,
    pub peers: Peers,
    pub store: Store,
    pub rows: Rows,
    pub serving: Serving,
    pub told: Told,
    pub members: Members,
    pub events: Counts<ObjectEvent>,
    /// When another store took the place of the first one.
    pub restored: Moment,
    /// The classes of this run, and all objects.
    pub kinds: Vec<Kind>,
    pub disks: Disks,
    pub objects: Vec<ObjectName>,
    /// When everything had come to rest.
    pub rested: Moment,
    /// Answers to creations, once clients do nothing by themselves.
    pub created: BTreeMap<(At, Ticket), Result<(), String>>,
    /// Clients do things by themselves.
    pub works: bool,
    /// Faults are over.
    pub healing: bool,
    pub steps: u64,
    /// The first promise that was broken.
    pub wrong: Option<Violation>,
    trace: Sha256,
    /// Everything that happens, in words, if somebody wants to know.
    log: Option<VecDeque<String>>,
    /// Steps since time went by.
    still_for: u64,
}

/// The part that all processes of this world have.
pub struct Host {
    pub clock: Clock,
    /// Counts its processes.
    pub life: u64,
    /// The process stands still, and this waits for it.
    pub waiting: Option<Vec<NodeEvent>>,
    pub app: App,
    /// When it went on.
    pub resumed: Moment,
    /// The store that its objects belong to.
    pub store: Option<StoreIncarnation>,
    /// The epochs in which it has served objects last, under which store.
    pub epochs: BTreeMap<ObjectName, (StoreIncarnation, ObjectEpoch)>,
}

impl Host {
    pub fn new(clock: Clock) -> Host {
        let (app, epochs) = (App::default(), BTreeMap::new());
        Host { clock, life: 0, waiting: None, resumed: 0, app, store: None, epochs }
    }

    /// Another process begins.
    pub fn begin(&mut self, clock: Clock) {
        let life = self.life + 1;
        *self = Host { life, ..Host::new(clock) };
    }
}

/// More steps than this at one moment are a loop.
const STEPS_AT_ONCE: u64 = 100_000;
/// How many of the last lines are kept, and how many characters of each.
const LINES: usize = 400;
const LINE: usize = 300;

impl World {
    pub fn new(seed: u64, broken: Broken, is_told: bool) -> World {
        let mut random = Random::from_seed(seed);
        let rough = Roughness::random(&mut random);
        let kinds = kinds::drawn(&mut random);
        let store = Store::new(StoreIncarnation(Id::from_u128(random.id())));
        let mut world = World {
            broken,
            rough,
            moment: 1,
            queue: Queue::default(),
            servers: Vec::new(),
            devices: Vec::new(),
            links: Links::default(),
            peers: Peers::default(),
            store,
            rows: Rows::default(),
            serving: Serving::default(),
            told: Told::default(),
            members: Members::new(seed, broken),
            events: Counts::default(),
            restored: 0,
            objects: kinds.iter().copied().flat_map(objects_of).collect(),
            kinds,
            disks: Disks::new(seed, rough.devices),
            rested: Moment::MAX,
            created: BTreeMap::new(),
            works: true,
            healing: false,
            steps: 0,
            wrong: None,
            trace: Sha256::new(),
            log: is_told.then(VecDeque::new),
            still_for: 0,
            random,
        };
        world.furnish();
        world
    }

    fn furnish(&mut self) {
        for server in 0..self.rough.servers {
            let clock = Clock::random(&mut self.random, self.moment);
            self.servers.push(ServerNode::new(clock));
            self.queue.add(self.moment + self.random.below(500) * MILLISECOND, Event::Start(At::Server(server)));
            self.queue.add(self.moment, Event::Feed(server));
        }
        for device in 0..self.rough.devices {
            let clock = Clock::random(&mut self.random, self.moment);
            let serves = device < self.rough.serving;
            // The last device is a user's.
            let lies = !serves && device + 1 == self.rough.devices;
            self.devices.push(DeviceNode::new(clock, serves, lies));
            self.queue.add(self.moment + self.random.below(2_000) * MILLISECOND, Event::Start(At::Device(device)));
        }
        let first = self.moment + 3_000 * MILLISECOND;
        self.queue.add(first, Event::Fault);
        if self.members.is_on {
            self.queue.add(first, Event::Rights);
        }
    }

    pub fn all(&self) -> Vec<At> {
        (0..self.servers.len()).map(At::Server).chain((0..self.devices.len()).map(At::Device)).collect()
    }

    pub fn host(&self, at: At) -> &Host {
        match at {
            At::Server(server) => &self.servers[server].host,
            At::Device(device) => &self.devices[device].host,
        }
    }

    pub fn host_mut(&mut self, at: At) -> &mut Host {
        match at {
            At::Server(server) => &mut self.servers[server].host,
            At::Device(device) => &mut self.devices[device].host,
        }
    }

    /// The kernel of a process that is up.
    pub fn kernel(&self, at: At) -> Option<&Kernel> {
        match at {
            At::Server(server) => self.servers[server].process.as_ref().map(|own| own.server.kernel()),
            At::Device(device) => self.devices[device].process.as_ref().map(|own| own.kernel()),
        }
    }

    pub fn node(&self, at: At) -> Option<NodeId> {
        self.kernel(at)?.node()
    }

    pub fn now(&self, at: At) -> Now {
        self.host(at).clock.now(self.moment)
    }

    pub fn is_up(&self, at: At) -> bool {
        self.kernel(at).is_some()
    }

    pub fn is_still(&self, at: At) -> bool {
        self.host(at).waiting.is_some()
    }

    pub fn happened(&mut self, event: ObjectEvent) {
        self.events.add(event, 1);
    }

    /// Writes something down, if somebody wants to know.
    pub fn note(&mut self, at: impl fmt::Debug, what: &str, of: impl fmt::Debug) {
        let Some(log) = &mut self.log else { return };
        if log.len() >= LINES {
            log.pop_front();
        }
        let line: String = format!("{:>9} {at:?} {what} {of:?}", self.moment / 1_000).chars().take(LINE).collect();
        log.push_back(line);
    }

    /// The last words.
    pub fn timeline(self) -> String {
        self.log.map(Vec::from).unwrap_or_default().join("\n")
    }

    pub fn broke(&mut self, invariant: Invariant, what: impl Into<String>) {
        if self.wrong.is_none() {
            let seconds = self.moment / MILLISECOND;
            self.wrong = Some(Violation::new(invariant, format!("at {seconds} ms: {}", what.into())));
        }
    }

    pub fn later(&mut self, at: At, after: Moment, event: NodeEvent) {
        let life = self.host(at).life;
        self.queue.add(self.moment + after, Event::Node(at, life, event));
    }

    pub fn trace_hash(&self) -> [u8; 32] {
        self.trace.clone().finalize().into()
    }

    /// The next thing happens.
    ///
    /// # Errors
    /// The first promise that was broken.
    pub fn step(&mut self) -> Result<(), Violation> {
        let due = self.next_deadline();
        let before = self.moment;
        let is_deadline = due.is_some_and(|(at, _)| self.queue.next().is_none_or(|next| at < next));
        match due.filter(|_| is_deadline) {
            Some((moment, at)) => {
                self.moment = moment.max(self.moment);
                self.trace.update(self.moment.to_le_bytes());
                self.on_deadline(at);
            }
            None => {
                let (moment, event) = self.queue.take().expect("servers are always fed");
                self.moment = moment.max(self.moment);
                self.trace.update(self.moment.to_le_bytes());
                self.on_event(event);
            }
        }
        self.steps += 1;
        self.still_for = if self.moment == before { self.still_for + 1 } else { 0 };
        if self.still_for > STEPS_AT_ONCE {
            let due = self.next_deadline();
            self.broke(Invariant::Liveness, format!("everybody is busy, and time does not go by: {due:?}"));
        }
        self.check_serving();
        self.wrong.clone().map_or(Ok(()), Err)
    }

    fn next_deadline(&self) -> Option<(Moment, At)> {
        let due = |at: At| {
            let deadline = self.deadline(at).filter(|_| !self.is_still(at))?;
            Some((self.host(at).clock.moment(deadline), at))
        };
        self.all().into_iter().filter_map(due).min()
    }

    fn deadline(&self, at: At) -> Option<Instant> {
        match at {
            At::Server(server) => {
                let own = self.servers[server].process.as_ref()?;
                [own.server.deadline(), own.tracking.deadline()].into_iter().flatten().min()
            }
            At::Device(device) => self.devices[device].process.as_ref()?.deadline(),
        }
    }

    fn on_deadline(&mut self, at: At) {
        let now = self.now(at);
        match at {
            At::Server(server) => {
                let Some(own) = &mut self.servers[server].process else { return };
                own.tracking.on_deadline(now);
                own.server.on_deadline(now);
            }
            At::Device(device) => {
                let Some(own) = &mut self.devices[device].process else { return };
                own.on_deadline(now);
            }
        }
        self.carry(at);
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Start(at) => self.start(at),
            Event::Resume(at) => self.resume(at),
            Event::Node(at, life, event) => self.on_node(at, life, event),
            Event::Asked(server, life, store, id, request) => self.on_asked(server, life, store, id, request),
            Event::Late(store, transaction) => self.on_late(store, &transaction),
            Event::Feed(server) => self.on_feed(server),
            Event::Fault => self.on_fault(),
            Event::Rights => self.change_rights(),
            Event::OpenPeers(pair) => self.open_peers(pair),
            Event::ClosePeers(pair, generation) => self.close_peers(pair, generation),
            Event::EndLink(link) => self.end_link(link, 0, 0),
        }
    }

    pub fn start(&mut self, at: At) {
        if self.is_up(at) {
            return;
        }
        self.note(at, "starts", ());
        match at {
            At::Server(server) => self.start_server(server),
            At::Device(device) => self.start_device(device),
        }
        let after = self.random.between(50, 1_000) * MILLISECOND;
        self.later(at, after, NodeEvent::Work);
        self.carry(at);
    }

    pub fn resume(&mut self, at: At) {
        self.note(at, "goes on", ());
        let (life, moment) = (self.host(at).life, self.moment);
        self.host_mut(at).resumed = moment;
        for event in self.host_mut(at).waiting.take().unwrap_or_default() {
            self.queue.add(self.moment, Event::Node(at, life, event));
        }
    }

    fn on_node(&mut self, at: At, life: u64, event: NodeEvent) {
        if !self.is_up(at) || self.host(at).life != life {
            return;
        }
        if let Some(waiting) = &mut self.host_mut(at).waiting {
            waiting.push(event);
            return;
        }
        match event {
            NodeEvent::Work => self.on_work(at),
            NodeEvent::Again(object, times) => self.again(at, object, times),
            NodeEvent::Script(object) => self.go_on(at, object),
            NodeEvent::EndRun(run) => self.end_run(at, run),
            NodeEvent::Made(object, said) => self.made(at, &object, said),
            NodeEvent::Kept(object, state, said) => self.kept(at, object, state, said),
            NodeEvent::KeptNoMore(object) => self.kept_no_more(at, &object),
            NodeEvent::Save(object) => self.save(at, object),
            NodeEvent::Linked(link) => self.on_linked(link),
            NodeEvent::NotLinked => self.on_not_linked(at),
            NodeEvent::Lost(link) => self.lost(link),
            NodeEvent::Down(link, generation, frame) => self.came_down(link, generation, &frame),
            NodeEvent::Opened(link) => self.opened(link),
            NodeEvent::Closed(link) => self.closed(link),
            NodeEvent::Up(link, generation, frame) => self.came_up(link, generation, &frame),
            NodeEvent::Peer(end, happened) => self.on_peer(end, happened),
            NodeEvent::Objects(input) => {
                let At::Server(server) = at else { return };
                self.give_objects(server, input);
            }
            NodeEvent::Tracking(input) => {
                let At::Server(server) = at else { return };
                self.give_tracking(server, input);
            }
        }
    }

    /// Carries what a process says until it has nothing more to say.
    pub fn carry(&mut self, at: At) {
        match at {
            At::Server(server) => self.carry_server(server),
            At::Device(device) => self.carry_device(device),
        }
    }

    fn on_not_linked(&mut self, at: At) {
        if let At::Device(device) = at {
            self.give_device(device, DeviceInput::LinkLost);
        }
    }

    /// The classes of this run that a node has.
    pub fn classes(&self, has: impl Fn(Kind) -> bool) -> Vec<Class> {
        self.kinds.iter().copied().filter(|kind| has(*kind)).map(Kind::class).collect()
    }

    pub fn is_known_node(&self, node: NodeId) -> Option<At> {
        self.all().into_iter().find(|at| self.node(*at) == Some(node))
    }
}
