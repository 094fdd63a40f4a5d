//! The only replica that has learned of the next group is lost for good: what gateways heard of it brings the others there.
//!
//! Invariant: as long as a majority of a shard's group is there, the shard goes on (docs/decisions/0009-sealed-epochs.md).

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_replication::node::{
    Ask, BetweenReplicas, Boot, Configuration, Epoch, FromReplica, Group, Life, ReplicaId, ShardId, ToReplica,
};
use iolite_replication::{
    Broken, Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings, Extent, Replica, ReplicaInput,
    ReplicaOutput, ReplicaSettings, Retention, ShardMap, configuration_write,
};
use iolite_store::{CommitReply, Event, Reply, Request, RequestId};
use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, CoordinatorId, Counter, Decision, Id, Level, Operation, RowKey,
    StoreIncarnation, TableId, Timestamp, Transaction, TransactionId, Value, Write,
};

const STEP: Duration = Duration::from_millis(1);
/// Alone of the group before, it learns of the next one.
const LOST: ReplicaId = ReplicaId(1);

enum Message {
    ToReplica(ReplicaId, ToReplica),
    FromReplica(FromReplica),
    Between(BetweenReplicas),
}

impl Message {
    /// What would tell others than the one that is lost that the group was chosen.
    fn tells(&self) -> bool {
        match self {
            Message::ToReplica(to, message) => {
                *to != LOST && matches!(message.ask, Ask::Outcome { .. } | Ask::Resolved { .. })
            }
            Message::FromReplica(_) => false,
            Message::Between(message) => message.from == LOST,
        }
    }
}

/// A shard and a gateway. Each message takes a millisecond.
struct Stage {
    instant: Instant,
    replicas: BTreeMap<ReplicaId, Replica>,
    gateway: Coordinator,
    life: u64,
    sent: Vec<Message>,
    committed: u64,
}

fn group(members: &[u64]) -> Group {
    let members: Vec<ReplicaId> = members.iter().copied().map(ReplicaId).collect();
    Group::new(ShardId(0), Epoch(0), &members).expect("an odd number of them")
}

fn gateway(now: Now, life: u64, group: Group) -> Coordinator {
    let id = CoordinatorId::new(0).expect("the first");
    Coordinator::new(now, CoordinatorSettings::new(id, Life(life), ShardMap::one(group)))
}

impl Stage {
    /// The first three keep the shard, and the gateway has it open.
    fn new(replicas: u64) -> Stage {
        let replica = |id: u64| {
            let settings = ReplicaSettings {
                id: ReplicaId(id),
                group: group(&[0, 1, 2]),
                extent: Extent::everything(),
                origin: None,
                store: StoreIncarnation(Id::from_u128(7)),
                boot: Boot(1),
                retention: Retention::default(),
                broken: Broken::Nothing,
            };
            (ReplicaId(id), Replica::new(settings))
        };
        let instant = Instant::from_nanos(0);
        let mut stage = Stage {
            instant,
            replicas: (0..replicas).map(replica).collect(),
            gateway: gateway(at(instant), 1, group(&[0, 1, 2])),
            life: 1,
            sent: Vec::new(),
            committed: 0,
        };
        stage.pass(Duration::from_millis(300));
        stage
    }

    fn pass(&mut self, time: Duration) {
        self.pass_without(time, |_| false);
    }

    fn pass_without(&mut self, time: Duration, is_lost: impl Fn(&Message) -> bool) {
        let end = self.instant + time;
        while self.instant < end {
            self.step(&is_lost);
        }
    }

    fn step(&mut self, is_lost: impl Fn(&Message) -> bool) {
        let now = at(self.instant);
        for message in std::mem::take(&mut self.sent).into_iter().filter(|message| !is_lost(message)) {
            self.deliver(now, message);
        }
        if self.gateway.deadline().is_some_and(|at| at <= now.instant) {
            self.gateway.on_deadline(now);
        }
        for replica in self.replicas.values_mut() {
            if replica.deadline().is_some_and(|at| at <= now.instant) {
                replica.on_deadline(now);
            }
            replica.validate();
        }
        self.listen();
        self.instant = self.instant + STEP;
    }

    fn deliver(&mut self, now: Now, message: Message) {
        let (to, input) = match message {
            Message::ToReplica(to, message) => (to, ReplicaInput::FromCoordinator(message)),
            Message::Between(message) => (message.to, ReplicaInput::FromPeer(message)),
            Message::FromReplica(message) => {
                return self.gateway.handle(now, CoordinatorInput::FromReplica(message));
            }
        };
        if let Some(replica) = self.replicas.get_mut(&to) {
            replica.handle(now, input);
        }
    }

    fn listen(&mut self) {
        while let Some(output) = self.gateway.poll() {
            match output {
                CoordinatorOutput::ToReplica { to, message } => self.sent.push(Message::ToReplica(to, message)),
                CoordinatorOutput::Event(Event::Reply(_, Reply::Commit(CommitReply::Completed(_)))) => {
                    self.committed += 1;
                }
                CoordinatorOutput::Event(_) => {}
                CoordinatorOutput::Superseded { term } => panic!("nobody has its id: {term:?}"),
            }
        }
        for replica in self.replicas.values_mut() {
            while let Some(output) = replica.poll() {
                match output {
                    ReplicaOutput::Persist { .. } => {}
                    ReplicaOutput::Reply { message, .. } => self.sent.push(Message::FromReplica(message)),
                    ReplicaOutput::ToPeer { message, .. } => self.sent.push(Message::Between(message)),
                }
            }
        }
    }

    fn commit(&mut self, counter: u64, write: Write) {
        let transaction = Transaction {
            id: TransactionId { client: ClientId(Id::from_u128(1)), counter: Counter(counter) },
            attempt: Attempt(1),
            snapshot: Timestamp::ZERO,
            reads: Vec::new(),
            decision: Decision::Commit(vec![write]),
            level: Level::Strict,
        };
        let request = Request::Commit { transaction, floor: Timestamp::ZERO, within: None };
        self.gateway.handle(at(self.instant), CoordinatorInput::Request(RequestId(counter), request));
        self.listen();
    }

    /// The next group is chosen, and one replica goes over, tells the gateway, and is gone.
    fn lose_the_one_that_knows(&mut self, members: &[u64]) -> Group {
        let members: Vec<ReplicaId> = members.iter().copied().map(ReplicaId).collect();
        let next = Configuration::after(&group(&[0, 1, 2]), &members).expect("an odd number of them");
        self.commit(1, configuration_write(&next));
        while self.gateway.map().group(ShardId(0)) != Some(next.group()) {
            assert!(self.instant < Instant::from_nanos(10_000_000_000), "the gateway is told of the group");
            self.step(Message::tells);
        }
        self.replicas.remove(&LOST);
        self.sent.retain(|message| !message.tells());
        let epochs = self.replicas.values().map(|replica| replica.group().epoch);
        assert!(epochs.max() == Some(Epoch(0)), "nobody else knows");
        next.group().clone()
    }

    /// All that is there of a group takes part, and the shard serves.
    fn goes_on_in(&mut self, group: &Group) {
        self.pass(Duration::from_secs(10));
        for replica in self.replicas.values() {
            let standing = (replica.group(), replica.takes_part());
            assert_eq!(standing, (group, group.contains(replica.id())), "{:?}", replica.id());
        }
        let before = self.committed;
        let row = RowKey::new(&[Value::Int(1)]).expect("short");
        let cell = Cell { table: TableId(1), row, column: ColumnId(1) };
        self.commit(2, Write { cell, operation: Operation::Add(1) });
        self.pass(Duration::from_secs(2));
        assert_eq!(self.committed, before + 1);
    }
}

fn at(instant: Instant) -> Now {
    Now { instant, wall: WallTime::from_micros(1_700_000_000_000_000 + instant.as_nanos() / 1_000) }
}

/// Of so many replicas, three are the group before.
fn the_shard_goes_on_in(replicas: u64, members: &[u64]) {
    let mut stage = Stage::new(replicas);
    let next = stage.lose_the_one_that_knows(members);
    stage.goes_on_in(&next);
}

#[test]
fn a_group_goes_on_when_the_only_one_of_it_that_knew_of_it_is_lost() {
    the_shard_goes_on_in(4, &[0, 1, 3]);
}

#[test]
fn a_group_goes_on_when_the_only_one_that_knew_of_it_was_to_be_replaced_and_is_lost() {
    the_shard_goes_on_in(4, &[0, 2, 3]);
}

#[test]
fn a_shard_moves_when_the_only_one_that_knew_that_it_does_is_lost() {
    the_shard_goes_on_in(6, &[3, 4, 5]);
}

/// It was written into the directory once it was known to be chosen, and whoever wrote that is gone as well.
#[test]
fn a_gateway_that_knows_the_group_from_its_directory_alone_brings_the_others_there() {
    for members in [[0, 2, 3], [3, 4, 5]] {
        let mut stage = Stage::new(6);
        let next = stage.lose_the_one_that_knows(&members);
        stage.life += 1;
        stage.gateway = gateway(at(stage.instant), stage.life, next.clone());
        stage.goes_on_in(&next);
    }
}
