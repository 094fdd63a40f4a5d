//! Some trackers over one store, and everything that they said.

use std::collections::BTreeSet;
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_replication::{Local, Retention};
use iolite_store::{Asking, CommitReply, Completion, Event, ReadLimit, Reply, Request, RequestId, Store};
use iolite_values::{
    ClientId, CoordinatorId, Counter, DeviceRight, Id, Interest, KeyRange, NodeId, NodeLife, NodeName, ObjectEpoch,
    ObjectName, Row, StoreIncarnation, Timestamp,
};
use iolite_wire::objects::{Begin, Declared, NotRun, OfferedClass, Placed, TrackAnswer};

use crate::tables::Place;
use crate::{Ask, AskId, Bucket, Input, News, Output, Settings, Told, Tracking};

pub const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(0x5707e));
const START: WallTime = WallTime::from_micros(1_790_000_000_000_000);

pub struct World {
    store: Local,
    asking: Asking<(usize, RequestId)>,
    pub trackers: Vec<Tracker>,
    pub now: Now,
    /// How far the store's feed is.
    resolved: Timestamp,
}

pub struct Tracker {
    pub tracking: Tracking,
    pub told: Vec<(u64, Told)>,
    /// Until when each lease holds that it was told of.
    pub leases: Vec<Instant>,
    /// The nodes that are dead, and when it was told so.
    pub dead: Vec<(NodeId, Instant)>,
    /// The addresses of servers that it was told.
    pub servers: Vec<(NodeId, String)>,
    /// The holders of buckets, as it was told of each.
    pub holders: Vec<(Bucket, Option<NodeId>)>,
    /// The objects that have begun in its buckets, and their managers.
    pub begun: Vec<(ObjectName, String)>,
    /// The buckets that it coordinates, by its own account.
    pub coordinates: BTreeSet<Bucket>,
    /// Whether it does nothing at its deadlines.
    pub is_stopped: bool,
    /// Commits that do not reach the store yet.
    pub held_commits: Option<Vec<(RequestId, Request)>>,
    /// The feed stops here, in these segments.
    held: Option<Vec<Event>>,
    /// How the next commits come to be in doubt.
    pub doubts: Vec<Doubt>,
}

/// A commit whose reply is `InDoubt`.
#[derive(Clone, Copy)]
pub enum Doubt {
    /// The store never had it.
    Lost,
    /// The commit has happened.
    Done,
}

impl World {
    pub fn new(trackers: u128) -> World {
        let mut world = World {
            store: Local::new(START, STORE, Retention::default()),
            asking: Asking::default(),
            trackers: (0..trackers).map(Tracker::new).collect(),
            now: Now::default(),
            resolved: Timestamp::ZERO,
        };
        world.settle();
        world
    }

    /// Devices 1 to so many have registered too, by their first connection, at server 7.
    pub fn with_devices(trackers: u128, devices: u128) -> World {
        let mut world = World::new(trackers);
        for number in 1..=devices {
            assert_eq!(world.answer(0, register(number, 0, 7)), registered(node(number, 1), 0));
        }
        world
    }

    /// Asks without letting anybody work.
    pub fn ask(&mut self, tracker: usize, id: u64, ask: Ask) {
        self.trackers[tracker].tracking.handle(self.now, Input::Ask(AskId(id), ask));
    }

    /// Asks, and lets everybody work. Returns the only answer.
    pub fn answer(&mut self, tracker: usize, ask: Ask) -> Told {
        self.ask(tracker, u64::MAX, ask);
        self.settle();
        let told = self.take(tracker);
        let [(u64::MAX, told)] = &told[..] else { panic!("{told:?}") };
        told.clone()
    }

    pub fn take(&mut self, tracker: usize) -> Vec<(u64, Told)> {
        std::mem::take(&mut self.trackers[tracker].told)
    }

    /// The process of this tracker starts again: it comes when the store has been there for long.
    pub fn start_again(&mut self, tracker: usize) {
        self.trackers[tracker] = Tracker::new(1_000 + tracker as u128);
        self.begin_anew(tracker);
    }

    /// The store is there for this tracker, as if it had begun anew.
    pub fn begin_anew(&mut self, tracker: usize) {
        let ready = Event::Ready { store: STORE, resolved: self.resolved };
        self.trackers[tracker].tracking.handle(self.now, Input::Store(ready));
        self.settle();
    }

    /// The server of this tracker is alone in its store.
    pub fn goes_without_leases(&mut self, tracker: usize) {
        let number = 2_000 + tracker as u128;
        let settings = Settings { client: client(number), has_leases: false };
        self.trackers[tracker] = Tracker { tracking: Tracking::new(settings), ..Tracker::new(number) };
        self.begin_anew(tracker);
    }

    /// Time goes by, a tenth of a second at a time.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now.instant + time;
        while self.now.instant < end {
            self.now.instant = self.now.instant + Duration::from_millis(100);
            for tracker in self.trackers.iter_mut().filter(|tracker| !tracker.is_stopped) {
                if tracker.tracking.deadline().is_some_and(|deadline| deadline <= self.now.instant) {
                    tracker.tracking.on_deadline(self.now);
                }
            }
            self.settle();
            self.expect_one_coordinator();
        }
    }

    /// No two processes that have a lease coordinate the same bucket.
    fn expect_one_coordinator(&self) {
        let now = self.now.instant;
        let holds = |tracker: &&Tracker| tracker.leases.last().is_some_and(|until| *until > now);
        let all: Vec<Bucket> = self.trackers.iter().filter(holds).flat_map(|own| own.coordinates.clone()).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "at {now:?}");
    }

    /// The commits of this tracker reach the store late.
    pub fn hold_commits(&mut self, tracker: usize) {
        self.trackers[tracker].held_commits = Some(Vec::new());
    }

    pub fn release_commits(&mut self, tracker: usize) {
        for (id, request) in self.trackers[tracker].held_commits.take().unwrap_or_default() {
            self.carry_request(tracker, id, request);
        }
        self.settle();
    }

    /// The feed to this tracker stops.
    pub fn hold_feed(&mut self, tracker: usize) {
        self.trackers[tracker].held = Some(Vec::new());
    }

    /// This tracker hears the feed that is held, up to where it is told that a node is dead.
    pub fn release_feed_until_death(&mut self, tracker: usize) {
        let before = self.trackers[tracker].dead.len();
        while self.trackers[tracker].dead.len() == before {
            let event = self.trackers[tracker].held.as_mut().expect("it is held").remove(0);
            self.trackers[tracker].tracking.handle(self.now, Input::Store(event));
            self.carry_outputs(tracker);
        }
    }

    pub fn release_feed(&mut self, tracker: usize) {
        for event in self.trackers[tracker].held.take().unwrap_or_default() {
            self.trackers[tracker].tracking.handle(self.now, Input::Store(event));
        }
        self.settle();
    }

    pub fn settle(&mut self) {
        loop {
            (0..self.trackers.len()).for_each(|number| self.carry_outputs(number));
            let Some(event) = self.store.next_event() else { return };
            match event {
                Event::Reply(number, reply) => {
                    if let Some((tracker, id)) = self.asking.answered(number) {
                        let input = Input::Store(Event::Reply(id, reply));
                        self.trackers[tracker].tracking.handle(self.now, input);
                    }
                }
                Event::Ready { resolved, .. } => {
                    self.resolved = resolved;
                    self.tell_all(&event);
                }
                Event::Feed(ref segment) => {
                    self.resolved = segment.to;
                    self.tell_all(&event);
                }
            }
        }
    }

    fn tell_all(&mut self, event: &Event) {
        for tracker in &mut self.trackers {
            match &mut tracker.held {
                Some(held) => held.push(event.clone()),
                None => tracker.tracking.handle(self.now, Input::Store(event.clone())),
            }
        }
    }

    fn carry_outputs(&mut self, number: usize) {
        while let Some(output) = self.trackers[number].tracking.poll() {
            match output {
                Output::Request(id, request) => self.carry_request(number, id, request),
                Output::GiveUp(id) => drop(self.asking.give_up((number, id))),
                Output::News(News::Told(AskId(id), told)) => self.trackers[number].told.push((id, told)),
                Output::News(News::Ready(store)) => assert_eq!(store, STORE),
                Output::News(News::Lease { own: _, until }) => self.trackers[number].leases.push(until),
                Output::News(News::Coordinates(bucket, is_own)) => {
                    let own = &mut self.trackers[number].coordinates;
                    assert!(if is_own { own.insert(bucket) } else { own.remove(&bucket) }, "it is news");
                }
                Output::News(News::Begun { object, managers }) => {
                    self.trackers[number].begun.push((object, managers));
                }
                Output::News(News::Holder(bucket, holder)) => self.trackers[number].holders.push((bucket, holder)),
                Output::News(News::Server { own, address }) => self.trackers[number].servers.push((own, address)),
                Output::News(News::NodeDead(node)) => self.trackers[number].dead.push((node, self.now.instant)),
            }
        }
        self.trackers[number].tracking.validate();
    }

    /// A request of a tracker reaches the store.
    pub fn carry_request(&mut self, tracker: usize, id: RequestId, request: Request) {
        if let (Request::Commit { .. }, Some(held)) = (&request, &mut self.trackers[tracker].held_commits) {
            return held.push((id, request));
        }
        let doubt = match &request {
            Request::Commit { transaction, .. } => {
                self.trackers[tracker].doubts.pop().map(|doubt| (doubt, transaction))
            }
            _ => None,
        };
        let Some((doubt, transaction)) = doubt else {
            return self.store.request(self.asking.begin((tracker, id)), request);
        };
        let in_doubt = CommitReply::InDoubt { transaction: transaction.id, attempt: transaction.attempt };
        if matches!(doubt, Doubt::Done) {
            let number = self.asking.begin((tracker, id));
            self.store.request(number, request);
            self.asking.give_up((tracker, id));
        }
        let reply = Event::Reply(id, Reply::Commit(in_doubt));
        self.trackers[tracker].tracking.handle(self.now, Input::Store(reply));
    }

    /// The store's answer to a question of the test's own.
    fn reply(&mut self, request: Request) -> Reply {
        let number = self.asking.begin((usize::MAX, RequestId(0)));
        self.store.request(number, request);
        match self.store.next_event() {
            Some(Event::Reply(of, reply)) if self.asking.answered(of).is_some() => reply,
            other => panic!("a reply was waited for, and {other:?} came"),
        }
    }

    /// The row of a node, or of an object, as the store has it.
    pub fn row(&mut self, place: &Place) -> Option<Row> {
        let interest = Interest::Range { table: place.table, range: KeyRange::one(&place.key) };
        let request = Request::ReadAt { interest, at: self.resolved, limit: ReadLimit::NONE };
        let Reply::ReadAt(Ok(reply)) = self.reply(request) else { panic!("a row is read") };
        reply.rows.into_iter().next().map(|row| row.row)
    }

    /// The outcomes that the store keeps for a tracker.
    pub fn outcomes(&mut self, tracker: u128) -> Vec<(Counter, Completion)> {
        let (client, at) = (client(tracker), self.resolved);
        let request = Request::Completions { client, after: Counter(0), at, most: usize::MAX };
        let Reply::Completions(Ok(outcomes)) = self.reply(request) else { panic!("outcomes are read") };
        outcomes
    }
}

impl Tracker {
    fn new(number: u128) -> Tracker {
        Tracker {
            tracking: Tracking::new(Settings { client: client(number), has_leases: true }),
            told: Vec::new(),
            leases: Vec::new(),
            dead: Vec::new(),
            servers: Vec::new(),
            holders: Vec::new(),
            begun: Vec::new(),
            coordinates: BTreeSet::new(),
            is_stopped: false,
            held_commits: None,
            held: None,
            doubts: Vec::new(),
        }
    }
}

fn client(number: u128) -> ClientId {
    ClientId(Id::from_u128(number + 1))
}

pub fn object(id: &str) -> ObjectName {
    ObjectName::new("Note", id).expect("a short name")
}

pub fn device(number: u128) -> NodeName {
    NodeName::Device(Id::from_u128(number))
}

pub fn node(number: u128, life: u64) -> NodeId {
    NodeId { name: device(number), life: NodeLife(life) }
}

pub fn server(number: u16) -> CoordinatorId {
    CoordinatorId::new(number).expect("a small number")
}

fn declared() -> Declared {
    Declared { version: 3, managers: "LeaseCaching { lease: 5 s }".into(), devices: DeviceRight::Hold }
}

pub fn begin(id: &str, at: NodeId) -> Ask {
    begin_with(declared().managers, id, at)
}

/// An object begins whose class has these managers.
pub fn begin_with(managers: String, id: &str, at: NodeId) -> Ask {
    Ask::Begin { begin: Begin { object: object(id), declared: Declared { managers, ..declared() } }, at }
}

/// A device of a user registers by its first connection.
pub fn register(number: u128, known: u64, at: u16) -> Ask {
    register_on(1, number, known, at)
}

pub fn register_on(connection: u64, number: u128, known: u64, at: u16) -> Ask {
    let classes = vec![OfferedClass { name: "To do".into(), declared: declared() }];
    let (known, at) = (NodeLife(known), server(at));
    Ask::Register { name: device(number), known, serves: false, at, connection, address: String::new(), classes }
}

/// A device that is part of the service registers.
pub fn register_serving(number: u128, known: u64, at: u16) -> Ask {
    let (known, at, address) = (NodeLife(known), server(at), String::new());
    Ask::Register { name: device(number), known, serves: true, at, connection: 1, address, classes: Vec::new() }
}

/// The first connection of a device, in its first life, has ended for good.
pub fn gone(number: u128, at: u16) -> Ask {
    Ask::Gone { device: node(number, 1), at: server(at), connection: 1 }
}

/// A server registers at its own tracker.
pub fn register_server(number: u16, known: u64) -> Ask {
    register_server_at("", number, known)
}

pub fn register_server_at(address: &str, number: u16, known: u64) -> Ask {
    let (at, known, address) = (server(number), NodeLife(known), address.to_owned());
    let (name, classes) = (NodeName::Server(at), Vec::new());
    Ask::Register { name, known, serves: true, at, connection: 0, address, classes }
}

pub fn server_node(number: u16, life: u64) -> NodeId {
    NodeId { name: NodeName::Server(server(number)), life: NodeLife(life) }
}

pub fn placed(epoch: u64, places: &[NodeId]) -> Placed {
    Placed { declared: declared(), epoch: ObjectEpoch(epoch), places: places.to_vec() }
}

pub fn registered(node: NodeId, lapses: u64) -> Told {
    Told::Registered(node, lapses)
}

pub fn found(placed: Placed) -> Told {
    Told::Track(TrackAnswer::Found(placed))
}

pub fn begun(placed: Placed) -> Told {
    Told::Track(TrackAnswer::Begun(placed))
}

pub fn unreachable() -> Told {
    Told::Track(TrackAnswer::Refused(NotRun::Unreachable))
}

pub fn unknown() -> Told {
    Told::Track(TrackAnswer::Unknown)
}
