//! Coordinators, a replica and clients in one thread, with a network and a disk that fail.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::{Gate, Instant, Machine, Now, WallTime};
use iolite_replication::messages::{Ask, Boot, FromReplica, Life, ToReplica};
use iolite_replication::{
    Broken, Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings, Replica, ReplicaOutput,
    ReplicaSettings, Retention,
};
use iolite_store::{Event, Request, RequestId, Segment};
use iolite_values::{Attempt, CoordinatorId, Id, StoreIncarnation, Timestamp, TransactionId};

use super::checker::{self, Violation};
use super::client::Client;
use super::counts::Counts;
use super::disk::Disk;
use super::random::Random;

/// Whether answers wait for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    WaitsForSync,
    DoesNotWait,
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
    fn new(now: Now, number: u16, clock_offset_micros: i64) -> Gateway {
        let settings = CoordinatorSettings::new(CoordinatorId::new(number).unwrap(), Life(u64::from(number)));
        Gateway {
            coordinator: Coordinator::new(now, settings),
            clock_offset_micros,
            requests: BTreeMap::new(),
            last_request: 0,
            ready: None,
            segments: Vec::new(),
        }
    }

    pub fn resolved(&self) -> Option<Timestamp> {
        self.segments.last().map(|segment| segment.to).or(self.ready)
    }
}

enum Message {
    ToReplica(ToReplica),
    FromReplica(FromReplica),
}

pub struct Cluster {
    random: Random,
    broken: Broken,
    host: Host,
    step: u64,
    instant: Instant,
    boot: u64,
    pub replica: Replica,
    replica_clock_offset_micros: i64,
    pub disk: Disk,
    gate: Gate<FromReplica>,
    network: Vec<Message>,
    faulty: bool,
    /// Some histories hardly ever close, so that proposals meet commits that nobody has closed at.
    closes_get_lost: bool,
    pub gateways: Vec<Gateway>,
    pub clients: Vec<Client>,
    pub counts: Counts,
}

const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(7));
const START_MICROS: i64 = 1_700_000_000_000_000;
const TEN_YEARS_MICROS: i64 = 10 * 365 * 24 * 3_600_000_000;

fn settings(boot: u64, broken: Broken) -> ReplicaSettings {
    let retention = Retention { age: Duration::from_secs(3), operations_max: 60 };
    ReplicaSettings { store: STORE, boot: Boot(boot), retention, broken }
}

impl Cluster {
    pub fn new(seed: u64, broken: Broken, host: Host) -> Cluster {
        let mut random = Random::new(seed);
        let now = Now { instant: Instant::from_nanos(0), wall: WallTime::from_micros(START_MICROS as u64) };
        let skew = |random: &mut Random| random.below(10_000_000) as i64 - 5_000_000;
        let mut gateways: Vec<Gateway> =
            (0..3).map(|number| Gateway::new(now, number, if number == 0 { 0 } else { skew(&mut random) })).collect();
        if random.percent(12) {
            gateways[2].clock_offset_micros = TEN_YEARS_MICROS;
        }
        let closes_get_lost = random.percent(40);
        let clients = (0..6).map(|number| Client::new(number, number as usize % 3)).collect();
        Cluster {
            replica_clock_offset_micros: skew(&mut random),
            random,
            broken,
            host,
            step: 0,
            instant: now.instant,
            boot: 1,
            replica: Replica::new(settings(1, broken)),
            disk: Disk::default(),
            gate: Gate::new(),
            network: Vec::new(),
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
            self.settle();
            self.validate();
        }
        Ok(())
    }

    /// No more faults and no more transactions: what is under way has to come to an end.
    pub fn heal(&mut self) -> Result<(), Violation> {
        self.faulty = false;
        for _ in 0..600 {
            self.step += 1;
            while !self.network.is_empty() {
                self.deliver(0);
                self.settle();
                self.sync();
                self.settle();
            }
            self.sync();
            self.settle();
            self.pass(Duration::from_millis(50));
            self.settle();
            for client in 0..self.clients.len() {
                if !self.clients[client].is_idle() {
                    self.begin(client);
                    self.settle();
                }
            }
            self.validate();
            let last = self.replica.versions().last_commit().unwrap_or_default();
            let told = self.gateways.iter().all(|gateway| gateway.resolved().is_some_and(|resolved| resolved >= last));
            if told && self.clients.iter().all(Client::is_idle) && self.network.is_empty() {
                return Ok(());
            }
        }
        Err(Violation::Stuck(format!(
            "{} clients busy",
            self.clients.iter().filter(|client| !client.is_idle()).count()
        )))
    }

    fn act(&mut self) -> Result<(), Violation> {
        match self.random.below(100) {
            0..=54 if !self.network.is_empty() => {
                let index = self.random.index(self.network.len());
                self.deliver(index);
            }
            0..=73 => {
                let client = self.random.index(self.clients.len());
                self.begin(client);
            }
            74..=79 => self.sync(),
            80..=89 => {
                let micros = [1, 100, 5_000, 100_000, 400_000][self.random.index(5)];
                let time = Duration::from_micros(self.random.below(micros) + 1);
                self.pass(time);
            }
            90 => {
                let gateway = 1 + self.random.index(2);
                let jump = self.random.below(4_000_000) as i64 - 2_000_000;
                self.gateways[gateway].clock_offset_micros += jump;
            }
            91 | 92 => self.send_again(),
            93..=97 => self.checkpoint(),
            98 if self.random.percent(25) => self.crash()?,
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
        let client = self.random.index(self.clients.len());
        let coordinator = self.random.index(self.gateways.len());
        if let Some(request) = self.clients[client].submission() {
            self.clients[client].coordinator = coordinator;
            self.request(client, request);
        }
    }

    fn request(&mut self, client: usize, request: Request) {
        let index = self.clients[client].coordinator;
        let now = self.gateway_now(index);
        let gateway = &mut self.gateways[index];
        gateway.last_request += 1;
        let id = RequestId(gateway.last_request);
        let transaction = match &request {
            Request::Commit { transaction, .. } => Some((transaction.id, transaction.attempt)),
            Request::ReadAt { .. } | Request::Changes { .. } | Request::Acknowledge { .. } => None,
        };
        gateway.requests.insert(id, (client, transaction));
        gateway.coordinator.handle(now, CoordinatorInput::Request(id, request));
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
    }

    fn deliver(&mut self, index: usize) {
        let message = self.network.remove(index);
        let chance = if self.faulty { self.random.below(100) } else { 99 };
        if chance < 4 || (self.faulty && self.closes_get_lost && self.is_close(&message)) {
            self.counts.dropped += 1;
            return;
        }
        if chance < 10 {
            self.counts.duplicated += 1;
            self.network.push(match &message {
                Message::ToReplica(message) => Message::ToReplica(message.clone()),
                Message::FromReplica(message) => Message::FromReplica(message.clone()),
            });
        }
        match message {
            Message::ToReplica(message) => {
                let now = self.now(self.replica_clock_offset_micros);
                self.replica.handle(now, message);
            }
            Message::FromReplica(message) => {
                let index = usize::from(message.to.number());
                let now = self.gateway_now(index);
                self.gateways[index].coordinator.handle(now, CoordinatorInput::FromReplica(message));
            }
        }
    }

    fn is_close(&mut self, message: &Message) -> bool {
        let close = matches!(message, Message::ToReplica(ToReplica { ask: Ask::Close { .. }, .. }));
        close && self.random.percent(95)
    }

    fn sync(&mut self) {
        let persisted = self.disk.sync();
        self.gate.advance(persisted);
    }

    fn checkpoint(&mut self) {
        self.drain_replica();
        if !self.disk.is_checkpointing() {
            self.disk.begin_checkpoint();
            self.replica.begin_checkpoint();
            return;
        }
        let bytes_max = [1, 200, 2_000][self.random.index(3)];
        let chunk = self.replica.next_chunk(bytes_max);
        if self.disk.take_chunk(chunk) {
            self.counts.checkpoints += 1;
            self.sync();
        }
    }

    fn crash(&mut self) -> Result<(), Violation> {
        self.drain_replica();
        let unsynced = self.disk.unsynced();
        let kept = self.random.index(unsynced + 1);
        self.counts.crashes += 1;
        self.counts.records_lost += (unsynced - kept) as u64;
        self.disk.crash(kept);
        self.gate = Gate::new();
        self.boot += 1;
        let recovered = Replica::recover(
            settings(self.boot, self.broken),
            self.disk.chunks(),
            self.disk.records_since_checkpoint(),
        );
        let recovered = recovered.map_err(|error| Violation::Recovery(error.to_string()))?;
        let before = std::mem::replace(&mut self.replica, recovered);
        if kept == unsynced && self.broken == Broken::Nothing {
            checker::check_same_state(before, &mut self.replica)?;
        }
        Ok(())
    }

    fn drain_replica(&mut self) {
        while let Some(output) = self.replica.poll() {
            match output {
                ReplicaOutput::Persist { id, record } => self.disk.append(id, record),
                ReplicaOutput::Reply { after, message } => match self.host {
                    Host::WaitsForSync => self.gate.hold(after, message),
                    Host::DoesNotWait => self.network.push(Message::FromReplica(message)),
                },
            }
        }
        while let Some(message) = self.gate.release() {
            self.network.push(Message::FromReplica(message));
        }
    }

    fn settle(&mut self) {
        self.drain_replica();
        for index in 0..self.gateways.len() {
            while let Some(output) = self.gateways[index].coordinator.poll() {
                match output {
                    CoordinatorOutput::ToReplica(message) => self.network.push(Message::ToReplica(message)),
                    CoordinatorOutput::Event(event) => self.on_event(index, event),
                }
            }
        }
        if self.replica.low_watermark() > Timestamp::ZERO {
            self.counts.collected = 1;
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
        self.replica.validate();
        for gateway in &self.gateways {
            gateway.coordinator.validate();
        }
    }
}
