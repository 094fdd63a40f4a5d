//! A whole store in one value: a coordinator and its replicas, whose records are durable at once in memory. For tests and examples.
//!
//! It has no clock: each request takes a microsecond, and [`Local::pass`] lets time go by.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_store::{Event, Request, RequestId, Store};
use iolite_values::{CoordinatorId, StoreIncarnation};

use crate::node::{Boot, Epoch, Group, Life, ReplicaId, ShardId};
use crate::{
    Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings, Place, Replica, ReplicaInput, ReplicaOutput,
    ReplicaSettings, Retention, ShardMap,
};

/// Nothing that is asked of a store without faults takes longer.
const REQUESTS_WITHIN: Duration = Duration::from_secs(10);

/// A store of one coordinator and the replicas of some shards.
#[derive(Debug)]
pub struct Local {
    now: Now,
    coordinator: Coordinator,
    replicas: BTreeMap<ReplicaId, Replica>,
    records: Vec<Vec<u8>>,
    events: std::collections::VecDeque<Event>,
}

impl Local {
    /// A new, empty store of one replica, when the clock shows `start`.
    pub fn new(start: WallTime, store: StoreIncarnation, retention: Retention) -> Local {
        Local::with(start, ReplicaSettings::alone(store, Boot(1), retention))
    }

    /// The same with a replica of these settings, which is a group of its own.
    pub fn with(start: WallTime, settings: ReplicaSettings) -> Local {
        Local::cluster(start, [(Place::first(), settings.group.clone())], &settings)
    }

    /// Shards that begin at the given places, with replicas of these settings but for group and id.
    ///
    /// # Panics
    /// When the shards are no map.
    pub fn cluster(
        start: WallTime,
        shards: impl IntoIterator<Item = (Place, Group)>,
        settings: &ReplicaSettings,
    ) -> Local {
        let map = ShardMap::new(shards).expect("the caller gives a map");
        let now = Now { instant: Instant::from_nanos(0), wall: start };
        let replica = |group: &Group, id| {
            let extent = map.extent(group.shard).expect("it is a shard of the map");
            Replica::new(ReplicaSettings { id, group: group.clone(), extent, ..settings.clone() })
        };
        let replicas = map.groups().flat_map(|group| group.members().iter().map(|id| (*id, replica(group, *id))));
        let replicas = replicas.collect();
        let coordinator = Coordinator::new(now, CoordinatorSettings::new(CoordinatorId::default(), Life(1), map));
        Local { now, coordinator, replicas, records: Vec::new(), events: std::collections::VecDeque::new() }
    }

    /// The groups of as many shards, each of so many replicas.
    pub fn groups(shards: u32, replicas: u64) -> Vec<Group> {
        let members = |shard: u64| (0..replicas).map(|number| ReplicaId(shard * replicas + number)).collect::<Vec<_>>();
        let group = |shard: u32| Group::new(ShardId(shard), Epoch(0), &members(shard.into()));
        (0..shards).map(|shard| group(shard).expect("an odd number of replicas")).collect()
    }

    /// Lets time go by: an idle store closes now and then.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now.instant + time;
        self.settle();
        while self.work_until(end) {}
        self.move_clock(end.since(self.now.instant));
    }

    /// Goes to the next deadline, unless it is after `end`.
    fn work_until(&mut self, end: Instant) -> bool {
        let replicas = self.replicas.values().filter_map(Replica::deadline);
        let Some(next) = replicas.chain(self.coordinator.deadline()).min().filter(|next| *next <= end) else {
            return false;
        };
        self.move_clock(next.since(self.now.instant));
        self.coordinator.on_deadline(self.now);
        self.replicas.values_mut().for_each(|replica| replica.on_deadline(self.now));
        self.settle();
        true
    }

    /// From now on nothing comes from this replica, and nothing gets there.
    pub fn silence(&mut self, replica: ReplicaId) {
        self.replicas.remove(&replica);
    }

    pub fn replicas(&self) -> impl Iterator<Item = &Replica> {
        self.replicas.values()
    }

    /// Everything that was journalled.
    pub fn records(&self) -> &[Vec<u8>] {
        &self.records
    }

    fn move_clock(&mut self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.now.instant = self.now.instant + time;
        self.now.wall = WallTime::from_micros(self.now.wall.as_micros().saturating_add(micros));
    }

    /// Carries messages until nobody has anything to say.
    fn settle(&mut self) {
        loop {
            let mut quiet = true;
            while let Some(output) = self.coordinator.poll() {
                quiet = false;
                match output {
                    CoordinatorOutput::Event(event) => self.events.push_back(event),
                    CoordinatorOutput::ToReplica { to, message } => {
                        if let Some(replica) = self.replicas.get_mut(&to) {
                            replica.handle(self.now, ReplicaInput::FromCoordinator(message));
                        }
                    }
                    CoordinatorOutput::Superseded { term } => panic!("there is one coordinator: {term:?}"),
                }
            }
            let now = self.now;
            let is_due = |replica: &&mut Replica| replica.deadline().is_some_and(|at| at <= now.instant);
            self.replicas.values_mut().filter(is_due).for_each(|replica| replica.on_deadline(now));
            for id in self.replicas.keys().copied().collect::<Vec<_>>() {
                while let Some(output) = self.replicas.get_mut(&id).and_then(Machine::poll) {
                    quiet = false;
                    self.perform(output);
                }
            }
            if quiet {
                break;
            }
        }
        self.coordinator.validate();
    }

    fn perform(&mut self, output: ReplicaOutput) {
        match output {
            ReplicaOutput::Persist { id: _, record } => self.records.push(record),
            ReplicaOutput::Reply { after: _, message } => {
                self.coordinator.handle(self.now, CoordinatorInput::FromReplica(message));
            }
            ReplicaOutput::ToPeer { after: _, message } => {
                if let Some(peer) = self.replicas.get_mut(&message.to) {
                    peer.handle(self.now, ReplicaInput::FromPeer(message));
                }
            }
        }
    }
}

impl Store for Local {
    fn request(&mut self, id: RequestId, request: Request) {
        self.move_clock(Duration::from_micros(1));
        self.coordinator.handle(self.now, CoordinatorInput::Request(id, request));
    }

    /// Lets time go by only for requests that are not answered, so an idle store has no next event.
    fn next_event(&mut self) -> Option<Event> {
        self.settle();
        let end = self.now.instant + REQUESTS_WITHIN;
        while self.events.is_empty() && self.coordinator.open_requests() > 0 && self.work_until(end) {}
        self.events.pop_front()
    }
}
