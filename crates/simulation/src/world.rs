//! The world of a run: processes, links, clocks and disks in one thread, moved by one queue of events.
//!
//! Invariant: everything that happens follows from the seed. Nothing here reads a clock, a file or a hash map's order.

mod apps;
mod centre_faults;
mod centre_links;
mod checked;
mod client_node;
mod client_process;
mod data_centres;
mod device;
mod disks;
mod editing;
mod events;
mod faults_made;
mod frames;
mod front_node;
mod game;
mod handling;
mod hostile;
mod links;
mod merging;
mod operators;
mod people;
mod rooms;
mod server;
mod sessions;
mod splitting;
mod standing;
mod steps;
mod store_node;
mod tab_node;
mod tabs;
mod telling;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;
use std::time::Duration;

use iolite_client::View;
use iolite_engine::MemoryDisk;
use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_replication::node::{Group, ReplicaId};
use iolite_replication::{Replica, Retention, ShardMap};
use sha2::{Digest, Sha256};

use crate::app::chairs::OfRoom;
use crate::app::{Call, Letters, PAGES, SchemaVersion, Watcher};
use crate::broken::Broken;
use crate::centres::{CentreEvent, Views};
use crate::counts::Counts;
use crate::faults::Fault;
use crate::habits::{Calls, Habits};
use crate::history::{ClientIndex, History, Moment};
use crate::needs::Needs;
use crate::occasions::Occasion;
use crate::random::Random;
use crate::rights::RightsEvent;
use crate::roughness::Roughness;
use crate::rows::RowEvent;
use crate::topology::Topology;

pub use client_node::ClientNode;
use client_node::ClientSettings;
pub use data_centres::CENTRES;
use data_centres::DataCentres;
pub use editing::PagesShown;
use events::{Event, Events, ServerEvent, TabEvent};
use front_node::FrontNode;
pub use front_node::TOKEN;
pub use game::{Score, Victim};
use hostile::Hostile;
use links::Links;
use operators::Operating;
pub use operators::Operators;
pub use rooms::is_denial;
use server::{End, Store};
use steps::Step;
use store_node::Place;
use tab_node::TabNode;

/// Wall clocks begin here (September 2020), give or take their skew.
pub const EPOCH_MICROS: u64 = 1_600_000_000_000_000;

/// A process that may be down.
enum Process<T, Remains> {
    Up(Box<T>),
    Down(Remains),
}

pub struct World {
    broken: Broken,
    needs: Needs,
    random: Random,
    roughness: Roughness,
    habits: Habits,
    /// Faults are over, and everything is to come to rest.
    healing: bool,
    moment: Moment,
    events: Events,
    topology: Topology,
    /// If there are several.
    centres: Option<DataCentres>,
    /// The shards and their groups, as operators know them: what gateways are started with.
    map: ShardMap,
    operating: Operating,
    retention: Retention,
    stores: BTreeMap<ReplicaId, Store>,
    /// Links within the server that lose everything, until then.
    cuts: BTreeMap<(End, End), Moment>,
    /// The next gateway that comes to one of these steps ends there.
    traps: BTreeSet<Step>,
    /// Processes of the server that stand still, until then.
    still: BTreeMap<End, Moment>,
    fronts: Vec<Process<FrontNode, ()>>,
    /// Counts the lives of each front.
    front_lives: Vec<u64>,
    pub clients: Vec<ClientNode>,
    /// By how much each process's wall clock is wrong, in microseconds: fronts, clients.
    skews: Vec<i64>,
    links: Links,
    last_tab: u64,
    calls_left: Vec<u32>,
    next_element: i64,
    letters: Letters,
    pub history: History,
    pub faults: Counts<Fault>,
    pub occasions: Counts<Occasion>,
    /// Parts for tables that sync.
    pub row_events: Counts<RowEvent>,
    /// Parts for tables that merge.
    pub centre_events: Counts<CentreEvent>,
    /// Parts for users with rights.
    pub rights_events: Counts<RightsEvent>,
    hostile: Hostile,
    deployments: u64,
    pub steps: u64,
    trace: Sha256,
}

/// How large a run is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub clients: usize,
    pub fronts: usize,
    pub calls_each: u32,
}

impl Size {
    fn random(random: &mut Random) -> Size {
        let (clients, fronts) = (random.between(2, 5) as usize, random.between(1, 2) as usize);
        Size { clients, fronts, calls_each: random.between(30, 130) as u32 }
    }

    /// Each of several data centres has a gateway and a client.
    fn in_centres(self, are_several: bool) -> Size {
        if are_several { Size { clients: self.clients.max(CENTRES), fronts: CENTRES, ..self } } else { self }
    }
}

impl World {
    /// With a rule taken out, in a world that perhaps shows it.
    pub fn new(seed: u64, broken: Broken, needs: Needs) -> World {
        let mut random = Random::from_seed(seed);
        let (roughness, habits) = (Roughness::random(&mut random), Habits::random(&mut random));
        let centres = DataCentres::of(seed, needs, broken);
        let size = needs.size(Size::random(&mut random)).in_centres(centres.is_some());
        let age = Duration::from_millis(random.between(200, 20_000));
        let retention = Retention { age, operations_max: 5_000 };
        let topology = needs.topology(Topology::random(&mut random));
        let drawn = if topology.is_alone() { Operators::None } else { Operators::random(&mut random) };
        let map = topology.map();
        let mut world = World {
            broken,
            needs,
            roughness: needs.roughness(roughness),
            habits: data_centres::with_guests(needs.habits(habits), seed, broken),
            healing: false,
            moment: 0,
            events: Events::default(),
            topology,
            centres,
            operating: Operating::new(needs.operators(drawn), &map),
            map,
            retention,
            stores: BTreeMap::new(),
            cuts: BTreeMap::new(),
            traps: BTreeSet::new(),
            still: BTreeMap::new(),
            fronts: Vec::new(),
            front_lives: vec![0; size.fronts],
            clients: Vec::new(),
            skews: skews(needs, size, &mut random),
            links: Links::default(),
            last_tab: 0,
            calls_left: vec![size.calls_each; size.clients],
            next_element: 0,
            letters: Letters::default(),
            history: History::default(),
            faults: Counts::default(),
            occasions: Counts::default(),
            row_events: Counts::default(),
            centre_events: Counts::default(),
            rights_events: Counts::default(),
            hostile: Hostile::default(),
            deployments: 0,
            steps: 0,
            trace: Sha256::new(),
            random,
        };
        world.history.has_several_centres = world.centres.is_some();
        world.start_replicas();
        world.populate(size);
        world
    }

    fn start_replicas(&mut self) {
        let (retention, broken, is_alone) = (self.retention, self.broken, self.topology.is_alone());
        let place = |(id, group): (ReplicaId, Group)| {
            let extent = self.map.extent(group.shard).expect("a shard of the map");
            Place { id, group, extent, origin: None, retention, broken, is_alone }
        };
        let places: Vec<Place> = match self.centres {
            Some(_) => self.places_of_centres(),
            None => self.topology.replicas().into_iter().map(place).collect(),
        };
        for place in places {
            let skew = self.needs.other_clock(skew(&mut self.random));
            self.start_first(place, skew);
        }
    }

    fn populate(&mut self, size: Size) {
        for number in 0..size.fronts {
            let now = self.now_of_front(number);
            let front = self.new_front(number, now);
            self.fronts.push(Process::Up(Box::new(front)));
        }
        for index in 0..size.clients {
            let now = self.now_of_client(ClientIndex(index));
            let (known, centres) =
                if self.centres.is_some() { (1, self.centres_known()) } else { (size.fronts as u16, 1) };
            let gateways = NonZeroU16::new(known).expect("a run has gateways");
            let batch = self.habits.batch_period(&mut self.random);
            let settings = ClientSettings { limits: self.habits.client_limits, gateways, centres, batch };
            let version = self.habits.calls.first_version();
            let start = (ClientIndex(index), version);
            let mut client = ClientNode::start(start, settings, now, self.broken, &mut self.random);
            let calls = self.habits.calls;
            add_watchers(&mut |watcher, view| client.watch(watcher, view), calls, &mut self.random);
            watch_chairs(&mut client, self.habits.watches_chairs, &mut self.random);
            self.history.versions.insert(client.index, client.version);
            self.history.note_device(client.client.identity(), client.index);
            self.clients.push(client);
            self.events.add(0, Event::Work(ClientIndex(index)));
            for at in [1_000_000, 40_000_000] {
                self.events.add(at, Event::Tab(ClientIndex(index), TabEvent::Open));
            }
        }
        self.open_accounts(Now::default());
        self.open_rooms();
        self.open_to_guests();
        self.plan_faults();
        self.plan_centre_faults();
        (0..size.fronts).for_each(|front| self.dial_all_centres(front));
        self.events.add(1_000_000, Event::Server(ServerEvent::Checkpoint));
    }

    /// The app's first call, in each history of the store.
    fn open_accounts(&mut self, now: Now) {
        if self.habits.calls.first_version() == SchemaVersion::First {
            self.clients[0].call(now, self.moment, Call::Open, &mut self.history);
        }
    }

    /// Lets the next thing happen. False when nothing ever will.
    pub fn step(&mut self) -> bool {
        let deadline = self.next_deadline();
        let event = self.events.next_moment();
        let Some(moment) = [deadline, event].into_iter().flatten().min() else { return false };
        self.moment = self.moment.max(moment);
        self.history.timeline.set_now(self.moment);
        self.steps += 1;
        if event.is_some_and(|event| event <= self.moment) {
            if let Some(event) = self.events.take() {
                self.trace.update(self.moment.to_be_bytes());
                self.trace.update(event.digest());
                self.on_event(event);
            }
        } else {
            self.expire();
        }
        self.settle();
        self.validate();
        true
    }

    pub fn moment(&self) -> Moment {
        self.moment
    }

    /// No more calls are to come.
    pub fn work_is_done(&self) -> bool {
        self.calls_left.iter().all(|left| *left == 0)
    }

    /// Ends all faults and gives up the calls that are left, so that everything comes to rest.
    pub fn heal(&mut self) {
        self.healing = true;
        self.calls_left.fill(0);
        for index in 0..self.clients.len() {
            let now = self.now_of_client(ClientIndex(index));
            self.clients[index].end_haste();
            self.clients[index].go_on(now, &mut self.history);
            self.clients[index].go_online(now.instant);
            self.sign_in_again(ClientIndex(index));
        }
        self.links.speed_up();
        self.heal_centres();
        for id in self.stores.keys().copied().collect::<Vec<_>>() {
            self.make_room(id);
        }
    }

    /// Every client is online, on a link that is whole and has brought what a slow socket left on it; and so are its tabs. One may think that it is online
    /// for a while on a link that is gone, because what says so was lost.
    pub fn is_linked(&self) -> bool {
        let is_linked = |node: &ClientNode| node.is_online() && self.links.is_clear_for(node.index, self.moment);
        self.clients.iter().all(|node| is_linked(node) && node.tabs.values().all(TabNode::is_up_to_date))
    }

    /// Everything that was called has ended, and is stored as ended.
    pub fn is_at_rest(&self) -> bool {
        self.clients.iter().all(ClientNode::is_quiet)
    }

    /// The replicas that are up.
    pub fn replicas(&self) -> impl Iterator<Item = &Replica> {
        self.stores.values().filter_map(|store| match &store.process {
            Process::Up(node) => Some(&*node.replica),
            Process::Down(_) => None,
        })
    }

    /// A hash of everything that happened.
    pub fn trace_hash(&self) -> [u8; 32] {
        self.trace.clone().finalize().into()
    }

    /// Adds what the disks counted.
    pub fn count_disk_faults(&mut self) {
        for disk in self.stores.values().map(|store| store.disk().clone()).collect::<Vec<_>>() {
            self.count_faults_of(&disk);
        }
    }

    fn count_faults_of(&mut self, disk: &MemoryDisk) {
        use iolite_engine::CrashFault;
        let fired = disk.faults_fired();
        let of = |faults: &[CrashFault]| faults.iter().filter_map(|fault| fired.get(fault)).sum();
        self.faults.add(Fault::LostUnsynced, of(&[CrashFault::LostWrites, CrashFault::LostLaterWrites]));
        let torn = [CrashFault::CutWrite, CrashFault::LostSectors, CrashFault::GarbledSectors];
        self.faults.add(Fault::TornWrite, of(&torn));
        self.faults.add(Fault::LostNameChange, of(&[CrashFault::LostNameChange]));
    }

    fn now(&self, skew: i64) -> Now {
        let wall = (EPOCH_MICROS + self.moment / 1000).saturating_add_signed(skew);
        Now { instant: Instant::from_nanos(self.moment), wall: WallTime::from_micros(wall) }
    }

    fn now_of_replica(&self, id: ReplicaId) -> Now {
        self.now(self.stores.get(&id).map_or(0, |store| store.skew))
    }

    fn now_of_front(&self, front: usize) -> Now {
        self.now(self.skews[front])
    }

    fn now_of_client(&self, client: ClientIndex) -> Now {
        self.now(self.skews[self.front_lives.len() + client.0])
    }

    fn next_deadline(&self) -> Option<Moment> {
        let awake = |node: &&ClientNode| !node.is_busy(self.moment);
        let clients = self.clients.iter().filter(awake).filter_map(|node| node.client.deadline());
        let awake = |tab: &&TabNode| tab.frozen_until <= self.moment;
        let tabs = self.clients.iter().flat_map(|node| node.tabs.values().filter(awake));
        let tabs = tabs.filter_map(|tab| tab.follower.deadline());
        let fronts = self.fronts.iter().enumerate().filter_map(|(number, front)| match front {
            Process::Up(front) if !self.is_still(End::Front(number)) => front.deadline(),
            Process::Up(_) | Process::Down(()) => None,
        });
        let stores = self.stores.iter().filter_map(|(id, store)| match &store.process {
            Process::Up(node) if !self.is_still(End::Replica(*id)) => node.deadline(),
            Process::Up(_) | Process::Down(_) => None,
        });
        clients.chain(tabs).chain(fronts).chain(stores).min().map(Instant::as_nanos)
    }

    fn expire(&mut self) {
        self.expire_replicas();
        let due = |deadline: Option<Instant>, moment: Moment| deadline.is_some_and(|at| at.as_nanos() <= moment);
        for index in 0..self.fronts.len() {
            if self.is_still(End::Front(index)) {
                continue;
            }
            let now = self.now_of_front(index);
            if let Process::Up(front) = &mut self.fronts[index]
                && due(front.deadline(), self.moment)
            {
                front.on_deadline(now);
            }
        }
        for index in 0..self.clients.len() {
            let now = self.now_of_client(ClientIndex(index));
            let node = &mut self.clients[index];
            if !node.is_busy(self.moment) && due(node.client.deadline(), self.moment) {
                node.go_on(now, &mut self.history);
                node.client.on_deadline(now);
            }
            for tab in node.tabs.values_mut().filter(|tab| tab.frozen_until <= self.moment) {
                if due(tab.follower.deadline(), self.moment) {
                    tab.follower.on_deadline(now);
                }
            }
        }
    }

    fn validate(&mut self) {
        for store in self.stores.values_mut() {
            if let Process::Up(node) = &mut store.process {
                node.validate();
            }
        }
        for front in &mut self.fronts {
            if let Process::Up(front) = front {
                front.validate();
            }
        }
        for node in &mut self.clients {
            node.client.validate();
            node.tabs.values_mut().for_each(|tab| tab.follower.validate());
        }
    }
}

/// Some of anything that the app has, and perhaps one of a text, if it has some.
fn add_watchers(watch: &mut dyn FnMut(Watcher, View), calls: Calls, random: &mut Random) {
    let view = |random: &mut Random| [View::Optimistic, View::Durable, View::Confirmed][random.below(3) as usize];
    if calls == Calls::Rows {
        return (0..random.below(3)).for_each(|_| watch(Watcher::Rows, view(random)));
    }
    // All of them: one that shows nothing checks nothing.
    if matches!(calls, Calls::Centres { .. }) {
        return Views::ALL.into_iter().for_each(|own| watch(Watcher::Centres, own.view()));
    }
    if calls == Calls::Rights {
        return (0..random.below(3)).for_each(|_| watch(Watcher::Rights, view(random)));
    }
    for _ in 0..random.below(6) {
        let view = view(random);
        watch(Watcher::random(random), view);
    }
    if calls.edit() && random.chance(300) {
        let key = random.below(PAGES as u64) as i64;
        watch(Watcher::Page { key }, view(random));
    }
}

/// Something of the table with the delivered view, in that one and beside it in others, of which each is the one before it with changes taken off
/// its end.
fn watch_chairs(client: &mut ClientNode, watches: u64, random: &mut Random) {
    if !random.chance(watches) {
        return;
    }
    let watcher = Watcher::Chairs(OfRoom::random(random));
    let all = [View::Delivered, View::Confirmed, View::Durable, View::Optimistic];
    let views = random.between(1, all.len() as u64) as usize;
    all.into_iter().take(views).for_each(|view| client.watch(watcher, view));
}

/// Of fronts and clients.
fn skews(needs: Needs, size: Size, random: &mut Random) -> Vec<i64> {
    let of = |place: usize| match place < size.fronts {
        true => needs.clock_of_front(place, skew(random)),
        false => skew_of_client(needs, random),
    };
    (0..size.fronts + size.clients).map(of).collect()
}

/// Where tables merge, devices are also wrong by an hour, or by about as much as a gateway takes.
fn skew_of_client(needs: Needs, random: &mut Random) -> i64 {
    const SECOND: i64 = 1_000_000;
    if needs != Needs::Centres {
        return needs.other_clock(skew(random));
    }
    match random.below(5) {
        0 => [-3_600, 3_600][random.below(2) as usize] * SECOND,
        1 => random.between(8, 14) as i64 * SECOND,
        _ => skew(random),
    }
}

/// Some seconds either way; now and then ten years ahead.
fn skew(random: &mut Random) -> i64 {
    if random.chance(30) {
        return 10 * 365 * 86_400 * 1_000_000;
    }
    random.below(10_000_000) as i64 - 5_000_000
}
