//! Replicas that fall silent while a transaction of several shards is voted on.

use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_store::{Request, RequestId};
use iolite_values::{
    Cell, ClientId, ColumnId, Counter, Decision, Id, Operation, RowKey, TableId, Timestamp, Transaction, Value, Write,
};

use super::bench::{START_MICROS, STORE, opened, own_id, transaction};
use crate::ShardMap;
use crate::coordinator::{Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings};
use crate::node::{
    Answer, Ask, Ballot, Boot, Epoch, FromReplica, Group, Life, ReplicaId, ShardId, ToReplica, View, Vote, Voted,
};
use crate::shards::Place;

/// Two shards of three replicas: 0 to 2 and 3 to 5.
struct Bench {
    coordinator: Coordinator,
    now: Now,
    told: Vec<(ReplicaId, ToReplica)>,
}

fn shard_of(replica: ReplicaId) -> ShardId {
    ShardId(u32::from(replica.0 >= 3))
}

impl Bench {
    fn new() -> Bench {
        let now = Now { instant: Instant::from_nanos(0), wall: WallTime::from_micros(START_MICROS) };
        let group = |shard: u32| {
            let members = [0, 1, 2].map(|own| ReplicaId(u64::from(shard) * 3 + own));
            Group::new(ShardId(shard), Epoch::default(), &members).expect("an odd group")
        };
        let upper = Place { table: TableId(1 << 31), key: RowKey::bound(&[]) };
        let shards = ShardMap::new([(Place::first(), group(0)), (upper, group(1))]).expect("two shards");
        let coordinator = Coordinator::new(now, CoordinatorSettings::new(own_id(), Life(3), shards));
        Bench { coordinator, now, told: Vec::new() }
    }

    fn listen(&mut self) {
        self.coordinator.validate();
        while let Some(output) = self.coordinator.poll() {
            if let CoordinatorOutput::ToReplica { to, message } = output {
                self.told.push((to, message));
            }
        }
    }

    /// The replica answers the last question of the kind.
    fn answer(&mut self, replica: u64, which: impl Fn(&Ask) -> bool, answer: Answer) {
        self.listen();
        let from = ReplicaId(replica);
        let own = self.told.iter().rev().find(|(to, message)| *to == from && which(&message.ask));
        let (_, message) = own.expect("it was asked");
        let message = FromReplica {
            to: own_id(),
            from,
            shard: shard_of(from),
            id: message.id,
            boot: Boot(1),
            store: STORE,
            view: View::default(),
            highest: Timestamp::ZERO,
            limit: Timestamp::MAX,
            answer,
        };
        self.coordinator.handle(self.now, CoordinatorInput::FromReplica(message));
        self.listen();
    }

    /// Lets time go by, with every deadline in it.
    fn pass(&mut self, micros: u64) {
        let end = self.now.instant + Duration::from_micros(micros);
        while let Some(deadline) = self.coordinator.deadline().filter(|at| *at <= end) {
            self.go_to(deadline.max(self.now.instant));
            self.coordinator.on_deadline(self.now);
            self.listen();
        }
        self.go_to(end);
    }

    fn go_to(&mut self, at: Instant) {
        let time = at.since(self.now.instant);
        self.now.instant = at;
        self.now.wall = WallTime::from_micros(self.now.wall.as_micros() + time.as_micros() as u64);
    }

    /// Opens the store. Those at the end are that many microseconds away.
    fn open(&mut self, far: [(u64, u64); 2]) {
        for (which, answer) in [
            ((|ask: &Ask| matches!(ask, Ask::Open)) as fn(&Ask) -> bool, opened(Timestamp::ZERO)),
            (|ask: &Ask| matches!(ask, Ask::Begin), Answer::Begun),
        ] {
            // The farther ones first: the others make a majority, and then nobody waits for them.
            for (replica, micros) in far {
                self.pass(micros);
                self.answer(replica, which, answer.clone());
            }
            for replica in [0, 2, 3, 4] {
                self.answer(replica, which, answer.clone());
            }
        }
    }

    fn vote(&mut self, replica: u64) {
        let vote = Voted {
            view: View::default(),
            vote: Vote::Ok,
            finalised: None,
            promised: Ballot::FIRST,
            outcome: None,
            objection: None,
            proposal: None,
        };
        self.answer(replica, |ask| matches!(ask, Ask::Prepare { .. }), Answer::Voted(vote));
    }

    fn is_finalising(&self, shard: u32) -> bool {
        let is_one = |(to, message): &(ReplicaId, ToReplica)| {
            shard_of(*to) == ShardId(shard) && matches!(message.ask, Ask::Finalise { .. })
        };
        self.told.iter().any(is_one)
    }
}

fn of_two_shards() -> Request {
    let write = |table: u32| {
        let row = RowKey::new(&[Value::Int(1)]).expect("short");
        Write { cell: Cell { table: TableId(table), row, column: ColumnId(1) }, operation: Operation::Add(1) }
    };
    let decision = Decision::Commit(vec![write(1), write(1 << 31 | 1)]);
    Request::Commit { transaction: Transaction { decision, ..transaction(1) }, floor: Timestamp::ZERO, within: None }
}

/// The third of one shard is gone, and waited for longer than that of the other, which comes in time.
#[test]
fn the_slow_path_of_each_shard_begins_in_its_time() {
    let mut bench = Bench::new();
    bench.open([(5, 2_500), (1, 2_500)]);
    bench.coordinator.handle(bench.now, CoordinatorInput::Request(RequestId(1), of_two_shards()));
    bench.listen();
    bench.pass(3_000);
    bench.vote(0);
    bench.vote(2);
    bench.vote(3);
    bench.vote(4);
    assert!(!bench.is_finalising(0) && !bench.is_finalising(1), "the others may come in time");
    bench.vote(5);
    bench.pass(7_500);
    assert!(bench.is_finalising(0), "replica 1 is waited for no longer than twice its usual time");
}

/// Or there would be more and more of them while one is down.
#[test]
fn no_acknowledgement_waits_for_a_replica_that_is_down() {
    let mut bench = Bench::new();
    bench.open([(5, 100), (1, 100)]);
    for counter in 1..=50 {
        let (id, client) = (RequestId(counter), ClientId(Id::from_u128(1)));
        let request = Request::Acknowledge { client, through: Counter(counter) };
        bench.coordinator.handle(bench.now, CoordinatorInput::Request(id, request));
        bench.listen();
        let (last, _) = bench.told.last().expect("all of a shard are told");
        for replica in if shard_of(*last) == ShardId(0) { [0, 2] } else { [3, 4] } {
            bench.answer(replica, |ask| matches!(ask, Ask::Acknowledge { .. }), Answer::Acknowledged);
        }
    }
    let before = bench.told.len();
    bench.pass(1_000_000);
    let again = bench.told[before..].iter().filter(|(_, message)| matches!(message.ask, Ask::Acknowledge { .. }));
    assert_eq!(again.count(), 0);
}
