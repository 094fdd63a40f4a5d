//! A shard of some replicas that ends, the two that go on with its rows, and a coordinator that says to each what a test wants.

use std::time::Duration;

use iolite_machine::Machine;
use iolite_values::{CoordinatorId, RowKey, Timestamp, Value};

use super::bench::{STORE, at, blind, cell, close, put, settings};
use super::group::{Trio, id_of};
use crate::node::{
    Answer, Ask, BetweenReplicas, Closed, Epoch, Group, Life, MessageId, Peer, ReplicaId, ShardId, Split, Term,
    ToReplica, View,
};
use crate::replica::{Replica, ReplicaInput, ReplicaOutput, ReplicaSettings};
use crate::{Place, split_write};

/// Three replicas of a shard, and one of each shard that goes on.
pub struct Scene {
    pub trio: Trio,
    pub parts: [Replica; 2],
    pub records: [Vec<Vec<u8>>; 2],
    /// Who is told nothing, and says nothing.
    pub down: Vec<usize>,
    /// From whom to whom nothing arrives.
    pub cut: Vec<(usize, usize)>,
    /// Its records arrive when everything else has.
    pub late: Option<usize>,
    held: Vec<BetweenReplicas>,
}

/// The three do not hear each other.
pub const APART: [(usize, usize); 6] = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];

pub fn group(shard: u32, member: u64) -> Group {
    Group::new(ShardId(shard), Epoch(0), &[ReplicaId(member)]).unwrap()
}

pub fn split(trio: &Trio) -> Split {
    let at = (cell(5).table, cell(5).row);
    let first = trio.replicas.len() as u64;
    Split::new(trio.replicas[0].group().clone(), at, group(1, first), group(2, first + 1)).unwrap()
}

pub fn place(row: i64) -> Place {
    Place { table: cell(row).table, key: cell(row).row }
}

pub fn row_of(key: &RowKey) -> Option<i64> {
    match key.values().ok()?[..] {
        [Value::Int(row)] => Some(row),
        _ => None,
    }
}

impl Scene {
    pub fn new() -> Scene {
        Scene::of(Trio::new())
    }

    pub fn of(trio: Trio) -> Scene {
        let origin = split(&trio);
        let part = |group: &Group| {
            let (id, group, origin) = (group.members()[0], group.clone(), Some(origin.clone()));
            Replica::new(ReplicaSettings { id, group, origin, ..settings(1) })
        };
        let parts = [part(origin.lower()), part(origin.upper())];
        let records = [Vec::new(), Vec::new()];
        Scene { trio, parts, records, down: Vec::new(), cut: Vec::new(), late: None, held: Vec::new() }
    }

    /// The split commits at these.
    pub fn choose(&mut self, replicas: &[usize], millis: u64) {
        let change = blind(99, vec![split_write(&split(&self.trio))]);
        self.trio.commit(replicas, &change, at(millis));
    }

    /// These vote for the split, and do not hear what came of it.
    pub fn prepare_split(&mut self, replicas: &[usize], millis: u64) {
        let change = blind(99, vec![split_write(&split(&self.trio))]);
        self.trio.prepare(replicas, &change, at(millis));
    }

    /// And they begin the last view.
    pub fn end(&mut self, replicas: &[usize], millis: u64) {
        self.choose(replicas, millis);
        self.trio.settle_without_any(&self.down);
    }

    pub fn resolve(&mut self, replicas: &[usize], through: u64, commits: &[(u64, i64, u64)]) {
        let mut ids: Vec<_> = commits.iter().map(|(own, row, millis)| id_of(&put(*own, *row), at(*millis))).collect();
        ids.push(id_of(&put(99, 0), at(7)));
        ids.sort_unstable();
        self.trio.resolve(replicas, Timestamp::ZERO, at(through), &ids);
    }

    /// What a coordinator does that is told of nothing new: it closes the shard at these, as far as it can, and tells them what committed.
    pub fn finish(&mut self, replicas: &[usize], through_millis: u64) {
        for _ in 0..4 {
            let ask = close(at(through_millis), Timestamp::ZERO);
            let answers = replicas.iter().map(|replica| self.trio.ask(*replica, ask.clone()));
            let answers: Vec<Option<Answer>> = answers.collect();
            let closed = answers.into_iter().flatten().filter_map(|answer| match answer {
                Answer::Closed(closed) => closed.ok(),
                _ => None,
            });
            let closed: Vec<Closed> = closed.collect();
            let through = closed.iter().map(|own| own.through).min().unwrap_or_default();
            if closed.len() == replicas.len() {
                let mut ids: Vec<_> = closed.into_iter().flat_map(|own| own.committed).collect();
                ids.retain(|id| id.at <= through);
                ids.sort_unstable();
                ids.dedup();
                self.trio.resolve(replicas, Timestamp::ZERO, through, &ids);
            }
            self.settle();
        }
    }

    /// Time for all to be told, and everything arrives.
    pub fn settle(&mut self) {
        for _ in 0..3 {
            self.trio.pass(Duration::from_millis(100));
            self.parts.iter_mut().for_each(|part| part.on_deadline(self.trio.now));
            let comes_to_rest = (0..1_000).any(|_| !self.carry());
            assert!(comes_to_rest, "they speak without an end");
        }
    }

    /// Until a part has given up one that does not answer, and a view that does not begin is left.
    pub fn settle_long(&mut self) {
        for _ in 0..30 {
            self.settle();
        }
    }

    fn carry(&mut self) -> bool {
        let mut said = self.trio.take_said();
        for (part, records) in self.parts.iter_mut().zip(&mut self.records) {
            part.validate();
            for output in std::iter::from_fn(|| part.poll()) {
                match output {
                    ReplicaOutput::Persist { record, .. } => records.push(record),
                    ReplicaOutput::ToPeer { message, .. } => said.push(message),
                    ReplicaOutput::Reply { .. } => {}
                }
            }
        }
        let is_late = |message: &BetweenReplicas| {
            self.late == Some(message.from.0 as usize) && matches!(message.peer, Peer::DoViewChange { .. })
        };
        self.held.extend(said.extract_if(.., |message| is_late(message)));
        if said.is_empty() {
            said.append(&mut self.held);
        }
        let is_more = !said.is_empty();
        let replicas = self.trio.replicas.len();
        for message in said {
            let (from, to) = (message.from.0 as usize, message.to.0 as usize);
            if self.down.contains(&from) || self.down.contains(&to) || self.cut.contains(&(from, to)) {
                continue;
            }
            let replica = if to < replicas { &mut self.trio.replicas[to] } else { &mut self.parts[to - replicas] };
            replica.handle(self.trio.now, ReplicaInput::FromPeer(message));
            replica.validate();
        }
        is_more
    }

    pub fn restart_trio(&mut self) {
        for (replica, records) in self.trio.replicas.iter_mut().zip(&self.trio.records) {
            *replica = Replica::recover(replica.settings.clone(), [[0u8; 0]; 0], records).unwrap();
        }
    }

    /// Asks one of the two parts.
    pub fn ask(&mut self, part: usize, ask: Ask) -> Option<Answer> {
        let shard = ShardId(part as u32 + 1);
        let id = MessageId { life: Life(1), number: 1_000 };
        let (from, view) = (CoordinatorId::default(), View::default());
        let message = ToReplica { from, term: Term(1), id, store: Some(STORE), shard, view, ask };
        self.parts[part].handle(self.trio.now, ReplicaInput::FromCoordinator(message));
        let answers = std::iter::from_fn(|| self.parts[part].poll()).filter_map(|output| match output {
            ReplicaOutput::Reply { message, .. } => Some(message.answer),
            ReplicaOutput::Persist { .. } | ReplicaOutput::ToPeer { .. } => None,
        });
        answers.last()
    }

    pub fn has_row(&self, part: usize, row: i64) -> bool {
        self.parts[part].versions().row(cell(row).table, &cell(row).row).is_some()
    }

    pub fn drained(&self) -> [bool; 3] {
        [0, 1, 2].map(|replica: usize| self.trio.replicas[replica].drained_at().is_some())
    }

    pub fn begun(&self) -> [bool; 2] {
        [0, 1].map(|part: usize| self.parts[part].takes_part())
    }
}
