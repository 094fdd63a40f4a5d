//! Coordinators, replicas of some shards and clients in one thread, with a network and disks that fail.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_replication::node::{
    Ask, BetweenReplicas, Epoch, FromReplica, Group, Life, ReplicaId, ShardId, Split, ToReplica,
};
use iolite_replication::{
    Broken, Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings, Local, Place, ReplicaInput, ShardMap,
};
use iolite_store::{Event, Request, RequestId, Segment};
use iolite_values::{Attempt, ClientId, CoordinatorId, Id, RowKey, Timestamp, TransactionId, Value};

use super::checker::Violation;
use super::client::Client;
use super::counts::Counts;
use super::levels::Levels;
use super::random::Random;
use super::reconfiguring::Operators;
use super::store_node::{Host, Said, StoreNode};
use super::workload;

/// How large a cluster is, and what goes wrong in it.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    pub shards: u32,
    pub replicas: u64,
    pub broken: Broken,
    pub host: Host,
    pub operators: Operators,
    pub levels: Levels,
}

/// A gateway: its coordinator, its clock, and what the feed told it.
pub struct Gateway {
    coordinator: Coordinator,
    clock_offset_micros: i64,
    requests: BTreeMap<RequestId, (usize, Option<(TransactionId, Attempt)>)>,
    last_request: u64,
    pub ready: Option<Timestamp>,
    pub segments: Vec<Segment>,
}

impl Gateway {
    fn new(now: Now, number: u16, life: u64, shards: ShardMap, clock_offset_micros: i64) -> Gateway {
        let settings = CoordinatorSettings::new(CoordinatorId::new(number).unwrap(), Life(life), shards);
        Gateway {
            coordinator: Coordinator::new(now, settings),
            clock_offset_micros,
            requests: BTreeMap::new(),
            last_request: 0,
            ready: None,
            segments: Vec::new(),
        }
    }

    pub fn knows(&self, group: &Group) -> bool {
        self.coordinator.map().group(group.shard) == Some(group)
    }

    pub fn map(&self) -> &ShardMap {
        self.coordinator.map()
    }

    pub fn resolved(&self) -> Option<Timestamp> {
        self.segments.last().map(|segment| segment.to).or(self.ready)
    }
}

#[derive(Clone)]
enum Message {
    ToReplica(ReplicaId, ToReplica),
    FromReplica(FromReplica),
    Between(BetweenReplicas),
}

/// Where a message is from and to: coordinators by their numbers, replicas behind them.
type Link = (u64, u64);

const FIRST_REPLICA: u64 = 1 << 32;

/// Clients that do what apps do. Those behind them are operators.
pub const CLIENTS: usize = 6;

pub struct Cluster {
    pub random: Random,
    pub scene: Scene,
    pub step: u64,
    instant: Instant,
    lives: u64,
    pub map: ShardMap,
    pub nodes: BTreeMap<ReplicaId, StoreNode>,
    /// Those that were replaced, with what is on their disks.
    pub turned_off: Vec<StoreNode>,
    /// Those that have been in a group.
    pub served: BTreeSet<ReplicaId>,
    pub last_replica: u64,
    pub last_shard: u32,
    /// Those that were tried.
    pub splits: Vec<Split>,
    /// The epochs that somebody has tried to end.
    pub changed: BTreeSet<(ShardId, Epoch)>,
    network: Vec<Message>,
    /// Links that lose everything, until a step.
    cut: BTreeMap<Link, u64>,
    faulty: bool,
    /// Some histories hardly ever close, so that proposals meet commits that nobody has closed at.
    closes_get_lost: bool,
    pub gateways: Vec<Gateway>,
    pub clients: Vec<Client>,
    pub counts: Counts,
}

const START_MICROS: i64 = 1_700_000_000_000_000;
const TEN_YEARS_MICROS: i64 = 10 * 365 * 24 * 3_600_000_000;

/// Shards that cut the few rows, and completion records, apart.
fn map(scene: Scene) -> ShardMap {
    let row = |row| Place { table: workload::TABLE, key: RowKey::new(&[Value::Int(row)]).unwrap() };
    let client = Place::of_client(ClientId(Id::from_u128(4)));
    let mut places = [Place::first(), row(2), client][..scene.shards as usize].to_vec();
    places.sort();
    ShardMap::new(places.into_iter().zip(Local::groups(scene.shards, scene.replicas))).unwrap()
}

impl Cluster {
    pub fn new(seed: u64, scene: Scene) -> Cluster {
        let mut random = Random::new(seed);
        let now = Now { instant: Instant::from_nanos(0), wall: WallTime::from_micros(START_MICROS as u64) };
        let skew = |random: &mut Random| random.below(10_000_000) as i64 - 5_000_000;
        let map = map(scene);
        let gateway = |number: u16, offset| Gateway::new(now, number, u64::from(number) + 1, map.clone(), offset);
        let mut gateways: Vec<Gateway> =
            (0..3).map(|number| gateway(number, if number == 0 { 0 } else { skew(&mut random) })).collect();
        if random.percent(12) {
            gateways[2].clock_offset_micros = TEN_YEARS_MICROS;
        }
        let closes_get_lost = random.percent(40);
        let clients = (0..CLIENTS as u64).map(|number| Client::new(number, number as usize % 3, scene.levels));
        let clients =
            clients.chain([8, 9].map(|number| Client::operator(number, number as usize % 3, scene.levels))).collect();
        let mut nodes = BTreeMap::new();
        for group in map.groups() {
            for id in group.members() {
                let offset = skew(&mut random);
                let kept = (group.clone(), map.extent(group.shard).expect("a shard of the map"), None);
                nodes.insert(*id, StoreNode::new(*id, kept, scene.broken, scene.host, offset));
            }
        }
        Cluster {
            random,
            scene,
            step: 0,
            instant: now.instant,
            lives: 3,
            map,
            last_replica: nodes.len() as u64,
            last_shard: scene.shards,
            splits: Vec::new(),
            nodes,
            turned_off: Vec::new(),
            served: BTreeSet::new(),
            changed: BTreeSet::new(),
            network: Vec::new(),
            cut: BTreeMap::new(),
            faulty: true,
            closes_get_lost,
            gateways,
            clients,
            counts: Counts::default(),
        }
    }

    pub fn run(&mut self, steps: u64) -> Result<(), Violation> {
        for _ in 0..steps {
            self.step += 1;
            self.act()?;
            if self.scene.operators == Operators::SplitAndLose && self.random.percent(3) {
                self.lose_a_disk_while_draining();
            }
            self.settle();
            self.validate();
        }
        Ok(())
    }

    /// No more faults and no more transactions: what is under way has to come to an end.
    pub fn heal(&mut self) -> Result<(), Violation> {
        self.faulty = false;
        self.cut.clear();
        for _ in 0..2_000 {
            self.step += 1;
            while !self.network.is_empty() {
                self.deliver(0);
                self.settle();
                self.sync_all();
                self.settle();
            }
            self.sync_all();
            self.settle();
            // Nobody's clocks tick together.
            let micros = self.random.below(40_000) + 1;
            self.pass(Duration::from_micros(micros));
            self.settle();
            for client in 0..self.clients.len() {
                if !self.clients[client].is_idle() {
                    self.begin(client);
                    self.settle();
                }
            }
            self.validate();
            self.follow_operators();
            let members: Vec<&StoreNode> = self.nodes.values().filter(|node| self.is_member(node)).collect();
            // What a client was told may have reached no replica yet.
            let told = self.clients.iter().filter_map(Client::last_told);
            let last = members.iter().filter_map(|node| node.replica.versions().last_commit()).chain(told).max();
            let last = last.unwrap_or_default();
            let told = self.gateways.iter().all(|gateway| gateway.resolved().is_some_and(|resolved| resolved >= last));
            let complete = members.iter().all(|node| node.replica.complete() >= last && node.replica.takes_part());
            if told && complete && self.clients.iter().all(Client::is_idle) && self.network.is_empty() {
                return Ok(());
            }
        }
        let busy = self.clients.iter().filter(|client| !client.is_idle()).count();
        let points: Vec<_> =
            self.nodes.values().map(|node| (node.replica.complete(), node.replica.record_len())).collect();
        let feeds: Vec<_> = self.gateways.iter().map(Gateway::resolved).collect();
        Err(Violation::Stuck(format!("{busy} clients busy, feeds at {feeds:?}, replicas at {points:?}")))
    }

    /// Whether it is of the latest group of its shard.
    fn is_member(&self, node: &StoreNode) -> bool {
        let shard = node.replica.group().shard;
        self.map.group(shard).is_some() && self.latest_group(shard).contains(node.replica.id())
    }

    fn follow_operators(&mut self) {
        match self.scene.operators {
            Operators::None => {}
            Operators::Replace | Operators::Resize => self.turn_off_replaced(),
            Operators::Split | Operators::SplitAndLose => {
                self.follow_splits();
                self.turn_off_ended();
            }
            Operators::Everything => {
                self.follow_splits();
                self.turn_off_replaced();
                self.turn_off_ended();
            }
        }
    }

    fn act(&mut self) -> Result<(), Violation> {
        match self.random.below(100) {
            0..=59 if !self.network.is_empty() => {
                let index = self.random.index(self.network.len());
                self.deliver(index);
            }
            0..=69 => {
                let client = self.random.index(CLIENTS);
                self.begin(client);
            }
            70..=78 => self.sync_all(),
            79..=88 => {
                let micros = [1, 100, 5_000, 100_000, 400_000][self.random.index(5)];
                let time = Duration::from_micros(self.random.below(micros) + 1);
                self.pass(time);
            }
            89 => {
                let gateway = 1 + self.random.index(2);
                let jump = self.random.below(4_000_000) as i64 - 2_000_000;
                self.gateways[gateway].clock_offset_micros += jump;
            }
            90 | 91 => self.send_again(),
            92..=96 => self.checkpoint(),
            97 if self.random.percent(50) => self.cut_link(),
            98 if self.random.percent(25) => self.crash()?,
            99 if self.random.percent(12) => self.restart_gateway(),
            99 if self.random.percent(8) => self.change_view(),
            97 | 98 if self.scene.operators != Operators::None => {
                if self.random.percent(50) {
                    match self.scene.operators {
                        Operators::Split | Operators::SplitAndLose => self.split(),
                        Operators::Everything if self.random.percent(50) => self.split(),
                        Operators::Everything => self.reconfigure(),
                        Operators::None | Operators::Replace | Operators::Resize => self.reconfigure(),
                    }
                }
                self.follow_operators();
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, client: usize) {
        let Some(resolved) = self.gateways[self.clients[client].coordinator].resolved() else { return };
        let request = self.clients[client].begin(&mut self.random, self.step, resolved);
        if let Some(request) = request {
            self.request(client, request);
        }
    }

    /// A client loses its gateway and sends its transaction to another one.
    fn send_again(&mut self) {
        let everybody = if self.scene.operators == Operators::None { CLIENTS } else { self.clients.len() };
        let client = self.random.index(everybody);
        let coordinator = self.random.index(self.gateways.len());
        if let Some(request) = self.clients[client].submission() {
            self.clients[client].coordinator = coordinator;
            self.request(client, request);
        }
    }

    pub fn request(&mut self, client: usize, request: Request) {
        let index = self.clients[client].coordinator;
        let now = self.gateway_now(index);
        let gateway = &mut self.gateways[index];
        gateway.last_request += 1;
        let id = RequestId(gateway.last_request);
        let transaction = match &request {
            Request::Commit { transaction, .. } => Some((transaction.id, transaction.attempt)),
            Request::Validate { transaction, attempt, .. } => Some((*transaction, *attempt)),
            Request::ReadAt { .. }
            | Request::Changes { .. }
            | Request::Completions { .. }
            | Request::LastOutcome { .. }
            | Request::Acknowledge { .. } => None,
        };
        gateway.requests.insert(id, (client, transaction));
        gateway.coordinator.handle(now, CoordinatorInput::Request(id, request));
    }

    /// A gateway ends, with everything that it knew, and another life of it begins.
    fn restart_gateway(&mut self) {
        let index = self.random.index(self.gateways.len());
        self.lives += 1;
        self.counts.gateways_restarted += 1;
        let (now, offset) = (self.gateway_now(index), self.gateways[index].clock_offset_micros);
        self.gateways[index] = Gateway::new(now, index as u16, self.lives, self.map.clone(), offset);
        for client in 0..self.clients.len() {
            if self.clients[client].coordinator == index
                && let Some(request) = self.clients[client].lose_gateway()
            {
                self.clients[client].coordinator = self.random.index(self.gateways.len());
                self.request(client, request);
            }
        }
    }

    fn change_view(&mut self) {
        let now = self.now(0);
        let index = self.random.index(self.nodes.len());
        if let Some(node) = self.nodes.values_mut().nth(index).filter(|node| node.down_until <= self.step) {
            node.replica.begin_view_change(now);
            self.counts.view_changes += 1;
        }
    }

    fn cut_link(&mut self) {
        let ends: Vec<u64> =
            (0..self.gateways.len() as u64).chain(self.nodes.keys().map(|replica| FIRST_REPLICA + replica.0)).collect();
        let link = (ends[self.random.index(ends.len())], ends[self.random.index(ends.len())]);
        let steps = [20, 100, 400][self.random.index(3)];
        self.cut.insert(link, self.step + steps);
    }

    fn gateway_now(&self, index: usize) -> Now {
        self.now(self.gateways[index].clock_offset_micros)
    }

    fn now(&self, offset_micros: i64) -> Now {
        let elapsed = i64::try_from(self.instant.as_nanos() / 1_000).unwrap();
        Now { instant: self.instant, wall: WallTime::from_micros((START_MICROS + elapsed + offset_micros) as u64) }
    }

    fn pass(&mut self, time: Duration) {
        self.instant = self.instant + time;
        for index in 0..self.gateways.len() {
            let now = self.gateway_now(index);
            let coordinator = &mut self.gateways[index].coordinator;
            if coordinator.deadline().is_some_and(|deadline| deadline <= now.instant) {
                coordinator.on_deadline(now);
            }
        }
        for id in self.nodes.keys().copied().collect::<Vec<_>>() {
            let now = self.now(self.nodes[&id].clock_offset_micros);
            let step = self.step;
            let Some(node) = self.nodes.get_mut(&id).filter(|node| node.down_until <= step) else { continue };
            if node.replica.deadline().is_some_and(|deadline| deadline <= now.instant) {
                node.replica.on_deadline(now);
            }
        }
    }

    fn link(message: &Message) -> Link {
        let replica = |id: ReplicaId| FIRST_REPLICA + id.0;
        match message {
            Message::ToReplica(to, message) => (message.from.number().into(), replica(*to)),
            Message::FromReplica(message) => (replica(message.from), message.to.number().into()),
            Message::Between(message) => (replica(message.from), replica(message.to)),
        }
    }

    fn deliver(&mut self, index: usize) {
        let message = self.network.remove(index);
        let chance = if self.faulty { self.random.below(100) } else { 99 };
        let is_cut = self.cut.get(&Cluster::link(&message)).is_some_and(|until| *until > self.step);
        if chance < 4 || is_cut || (self.faulty && self.closes_get_lost && self.is_close(&message)) {
            self.counts.dropped += 1;
            return;
        }
        if chance < 10 {
            self.counts.duplicated += 1;
            self.network.push(message.clone());
        }
        match message {
            Message::ToReplica(to, message) => self.deliver_to(to, ReplicaInput::FromCoordinator(message)),
            Message::Between(message) => self.deliver_to(message.to, ReplicaInput::FromPeer(message)),
            Message::FromReplica(message) => {
                let index = usize::from(message.to.number());
                let now = self.gateway_now(index);
                self.gateways[index].coordinator.handle(now, CoordinatorInput::FromReplica(message));
            }
        }
    }

    fn deliver_to(&mut self, to: ReplicaId, input: ReplicaInput) {
        let offset = self.nodes.get(&to).map_or(0, |node| node.clock_offset_micros);
        let (now, step) = (self.now(offset), self.step);
        match self.nodes.get_mut(&to).filter(|node| node.down_until <= step) {
            Some(node) => node.handle(now, input),
            None => self.counts.dropped += 1,
        }
    }

    fn is_close(&mut self, message: &Message) -> bool {
        let close = matches!(message, Message::ToReplica(_, ToReplica { ask: Ask::Close { .. }, .. }));
        close && self.random.percent(95)
    }

    fn sync_all(&mut self) {
        self.nodes.values_mut().for_each(StoreNode::sync);
    }

    fn checkpoint(&mut self) {
        self.settle();
        let index = self.random.index(self.nodes.len());
        let node = self.nodes.values_mut().nth(index).expect("there are so many");
        if node.checkpoint(&mut self.random) {
            self.counts.checkpoints += 1;
        }
    }

    /// One replica, or all at once; some stay away for a while.
    fn crash(&mut self) -> Result<(), Violation> {
        let all = self.random.percent(10);
        let one = self.random.index(self.nodes.len());
        let away = self.scene.replicas > 1 && self.random.percent(40);
        for (index, node) in self.nodes.values_mut().enumerate() {
            if all || index == one {
                self.counts.crashes += 1;
                self.counts.records_lost += node.crash(&mut self.random)?;
                node.down_until = if away && !all { self.step + self.random.below(300) } else { 0 };
            }
        }
        Ok(())
    }

    fn settle(&mut self) {
        for node in self.nodes.values_mut() {
            for said in node.said() {
                self.network.push(match said {
                    Said::ToCoordinator(message) => Message::FromReplica(message),
                    Said::ToPeer(message) => Message::Between(message),
                });
            }
            if node.replica.low_watermark() > Timestamp::ZERO {
                self.counts.collected = 1;
            }
        }
        for index in 0..self.gateways.len() {
            while let Some(output) = self.gateways[index].coordinator.poll() {
                match output {
                    CoordinatorOutput::ToReplica { to, message } => self.network.push(Message::ToReplica(to, message)),
                    CoordinatorOutput::Event(event) => self.on_event(index, event),
                    CoordinatorOutput::Superseded { term } => panic!("an earlier life is gone: {term:?}"),
                }
            }
        }
    }

    fn on_event(&mut self, index: usize, event: Event) {
        let gateway = &mut self.gateways[index];
        match event {
            Event::Ready { resolved, .. } => {
                gateway.ready = Some(resolved);
                gateway.segments.clear();
            }
            Event::Feed(segment) => {
                assert_eq!(Some(segment.from), gateway.resolved(), "segments join");
                gateway.segments.push(segment);
            }
            Event::Reply(id, reply) => {
                let (client, transaction) = gateway.requests.remove(&id).expect("a request is answered once");
                self.counts.count(&reply);
                let next = self.clients[client].on_reply(&mut self.random, self.step, transaction, reply);
                if let Some(request) = next {
                    self.request(client, request);
                }
            }
        }
    }

    fn validate(&self) {
        self.nodes.values().for_each(|node| node.replica.validate());
        self.gateways.iter().for_each(|gateway| gateway.coordinator.validate());
    }

    /// Prints where everybody stands.
    #[expect(clippy::disallowed_macros, reason = "for people at a terminal")]
    pub fn show(&self) {
        for gateway in &self.gateways {
            println!("{:#?}", gateway.coordinator);
        }
        for node in self.nodes.values() {
            println!("{:#?}", node.replica);
        }
    }
}
