//! A coordinator of two shards of three replicas on a bench, with time.

use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_values::{RowKey, StoreIncarnation, TableId, Timestamp};

use super::bench::{START_MICROS, STORE, opened, own_id};
use crate::ShardMap;
use crate::coordinator::{Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings};
use crate::node::{
    Answer, Ask, Ballot, Boot, Epoch, FromReplica, Group, Life, ReplicaId, ShardId, ToReplica, View, Vote, Voted,
};
use crate::shards::Place;

/// Two shards of three replicas: 0 to 2 and 3 to 5.
pub struct Bench {
    pub coordinator: Coordinator,
    pub now: Now,
    pub told: Vec<(ReplicaId, ToReplica)>,
}

pub fn shard_of(replica: ReplicaId) -> ShardId {
    ShardId(u32::from(replica.0 >= 3))
}

impl Bench {
    pub fn new() -> Bench {
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

    pub fn listen(&mut self) {
        self.coordinator.validate();
        while let Some(output) = self.coordinator.poll() {
            if let CoordinatorOutput::ToReplica { to, message } = output {
                self.told.push((to, message));
            }
        }
    }

    /// The replica answers the last question of the kind.
    pub fn answer(&mut self, replica: u64, which: impl Fn(&Ask) -> bool, answer: Answer) {
        self.answer_in(View::default(), replica, which, answer);
    }

    pub fn answer_in(&mut self, view: View, replica: u64, which: impl Fn(&Ask) -> bool, answer: Answer) {
        self.answer_of(STORE, view, replica, which, answer);
    }

    /// As a replica of another history.
    pub fn answer_of(
        &mut self,
        store: StoreIncarnation,
        view: View,
        replica: u64,
        which: impl Fn(&Ask) -> bool,
        answer: Answer,
    ) {
        self.listen();
        let from = ReplicaId(replica);
        let own = self.told.iter().rev().find(|(to, message)| *to == from && which(&message.ask));
        let (_, message) = own.expect("it was asked");
        let message = FromReplica {
            to: own_id(),
            from,
            shard: message.shard,
            id: message.id,
            boot: Boot(1),
            store,
            view,
            highest: Timestamp::ZERO,
            limit: Timestamp::MAX,
            answer,
        };
        self.coordinator.handle(self.now, CoordinatorInput::FromReplica(message));
        self.listen();
    }

    /// Lets time go by, with every deadline in it.
    pub fn pass(&mut self, micros: u64) {
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
    pub fn open(&mut self, far: [(u64, u64); 2]) {
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

    pub fn vote(&mut self, replica: u64) {
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

    pub fn is_finalising(&self, shard: u32) -> bool {
        let is_one = |(to, message): &(ReplicaId, ToReplica)| {
            shard_of(*to) == ShardId(shard) && matches!(message.ask, Ask::Finalise { .. })
        };
        self.told.iter().any(is_one)
    }
}
