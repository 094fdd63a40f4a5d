//! Gateways with clocks of their own and the three replicas of a shard, with a network of fixed delay and nothing that fails.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_replication::node::{BetweenReplicas, Boot, FromReplica, Life, ReplicaId, ToReplica};
use iolite_replication::{
    Broken, Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings, Extent, Local, Place, Replica,
    ReplicaInput, ReplicaOutput, ReplicaSettings, Retention, ShardMap,
};
use iolite_store::{Event, Reply, Request, RequestId};
use iolite_values::{CoordinatorId, Id, StoreIncarnation, Timestamp};

pub const START_MICROS: i64 = 1_700_000_000_000_000;

enum Message {
    ToReplica(ReplicaId, ToReplica),
    FromReplica(FromReplica),
    Between(BetweenReplicas),
}

pub struct Gateway {
    coordinator: Coordinator,
    clock_offset_micros: i64,
    pub resolved: Timestamp,
    last_request: u64,
    /// It has ended, with everything that it had to say.
    is_gone: bool,
}

pub struct Stage {
    pub instant: Instant,
    delay: Duration,
    map: ShardMap,
    pub gateways: Vec<Gateway>,
    pub replicas: BTreeMap<ReplicaId, Replica>,
    network: BTreeMap<(Instant, u64), Message>,
    sent: u64,
    replies: Vec<(usize, RequestId, Reply)>,
}

impl Stage {
    pub fn new(delay: Duration) -> Stage {
        let groups = Local::groups(1, 3);
        let (retention, broken) = (Retention::default(), Broken::Nothing);
        let store = StoreIncarnation(Id::from_u128(7));
        let replica = |id: &ReplicaId| {
            let settings = ReplicaSettings {
                id: *id,
                group: groups[0].clone(),
                extent: Extent::everything(),
                origin: None,
                store,
                boot: Boot(1),
                retention,
                broken,
            };
            (*id, Replica::new(settings))
        };
        Stage {
            instant: Instant::from_nanos(0),
            delay,
            replicas: groups[0].members().iter().map(replica).collect(),
            map: ShardMap::new([(Place::first(), groups[0].clone())]).unwrap(),
            gateways: Vec::new(),
            network: BTreeMap::new(),
            sent: 0,
            replies: Vec::new(),
        }
    }

    /// Another gateway, with the store open.
    pub fn add_gateway(&mut self, clock_offset_micros: i64) -> usize {
        let number = self.gateways.len();
        let id = CoordinatorId::new(number as u16).unwrap();
        let settings = CoordinatorSettings::new(id, Life(number as u64 + 1), self.map.clone());
        let coordinator = Coordinator::new(self.now(clock_offset_micros), settings);
        let (resolved, last_request, is_gone) = (Timestamp::ZERO, 0, false);
        self.gateways.push(Gateway { coordinator, clock_offset_micros, resolved, last_request, is_gone });
        self.settle();
        self.pass(self.delay * 8);
        number
    }

    pub fn end_gateway(&mut self, index: usize) {
        self.gateways[index].is_gone = true;
    }

    pub fn request(&mut self, index: usize, request: Request) -> RequestId {
        let now = self.gateway_now(index);
        let gateway = &mut self.gateways[index];
        gateway.last_request += 1;
        let id = RequestId(gateway.last_request);
        gateway.coordinator.handle(now, CoordinatorInput::Request(id, request));
        self.settle();
        id
    }

    /// What was answered since the last call.
    pub fn replies(&mut self) -> Vec<(usize, RequestId, Reply)> {
        std::mem::take(&mut self.replies)
    }

    /// Lets this much time go by.
    pub fn pass(&mut self, time: Duration) {
        let end = self.instant + time;
        while self.step(end) {}
        self.instant = end;
    }

    /// To the next thing that happens, unless it is after `end`.
    pub fn step(&mut self, end: Instant) -> bool {
        let message = self.network.first_key_value().map(|((at, _), _)| *at);
        let coordinators = self.gateways.iter().filter(|own| !own.is_gone).filter_map(|own| own.coordinator.deadline());
        let replicas = self.replicas.values().filter_map(Replica::deadline);
        let Some(next) = coordinators.chain(replicas).chain(message).min().filter(|next| *next <= end) else {
            return false;
        };
        self.instant = self.instant.max(next);
        for index in (0..self.gateways.len()).filter(|index| !self.gateways[*index].is_gone).collect::<Vec<_>>() {
            let now = self.gateway_now(index);
            let coordinator = &mut self.gateways[index].coordinator;
            if coordinator.deadline().is_some_and(|at| at <= now.instant) {
                coordinator.on_deadline(now);
            }
        }
        let now = self.now(0);
        self.replicas.values_mut().filter(|own| own.deadline().is_some_and(|at| at <= now.instant)).for_each(|own| {
            own.on_deadline(now);
        });
        while let Some(first) = self.network.first_entry().filter(|first| first.key().0 <= self.instant) {
            let message = first.remove();
            self.deliver(message);
        }
        self.settle();
        true
    }

    fn deliver(&mut self, message: Message) {
        let now = self.now(0);
        match message {
            Message::ToReplica(to, message) => {
                self.replicas.get_mut(&to).unwrap().handle(now, ReplicaInput::FromCoordinator(message));
            }
            Message::Between(message) => {
                self.replicas.get_mut(&message.to).unwrap().handle(now, ReplicaInput::FromPeer(message));
            }
            Message::FromReplica(message) => {
                let index = usize::from(message.to.number());
                let now = self.gateway_now(index);
                let gateway = &mut self.gateways[index];
                if !gateway.is_gone {
                    gateway.coordinator.handle(now, CoordinatorInput::FromReplica(message));
                }
            }
        }
    }

    fn settle(&mut self) {
        let mut said = Vec::new();
        for replica in self.replicas.values_mut() {
            while let Some(output) = replica.poll() {
                match output {
                    ReplicaOutput::Persist { .. } => {}
                    ReplicaOutput::Reply { message, .. } => said.push(Message::FromReplica(message)),
                    ReplicaOutput::ToPeer { message, .. } => said.push(Message::Between(message)),
                }
            }
        }
        for (index, gateway) in self.gateways.iter_mut().enumerate().filter(|(_, gateway)| !gateway.is_gone) {
            while let Some(output) = gateway.coordinator.poll() {
                match output {
                    CoordinatorOutput::ToReplica { to, message } => said.push(Message::ToReplica(to, message)),
                    CoordinatorOutput::Event(Event::Ready { resolved, .. }) => gateway.resolved = resolved,
                    CoordinatorOutput::Event(Event::Feed(segment)) => gateway.resolved = segment.to,
                    CoordinatorOutput::Event(Event::Reply(id, reply)) => self.replies.push((index, id, reply)),
                    CoordinatorOutput::Superseded { term } => panic!("nobody has its id: {term:?}"),
                }
            }
        }
        for message in said {
            self.sent += 1;
            self.network.insert((self.instant + self.delay, self.sent), message);
        }
    }

    fn gateway_now(&self, index: usize) -> Now {
        self.now(self.gateways[index].clock_offset_micros)
    }

    fn now(&self, offset_micros: i64) -> Now {
        let elapsed = i64::try_from(self.instant.as_nanos() / 1_000).unwrap();
        Now { instant: self.instant, wall: WallTime::from_micros((START_MICROS + elapsed + offset_micros) as u64) }
    }
}
