//! Three replicas that speak to each other, or five, and a coordinator that says to each what a test wants.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, PersistId, WallTime};
use iolite_values::{CoordinatorId, Timestamp, Transaction};

use super::bench::{START_MICROS, STORE, settings};
use crate::ShardMap;
use crate::broken::Broken;
use crate::node::{
    Answer, Ask, BetweenReplicas, Epoch, Group, Life, MessageId, Objection, Outcome, Peer, ProposalId, ReplicaId,
    ShardId, Term, ToReplica, View, Vote, Voted,
};
use crate::replica::{FETCH_AGAIN_AFTER, Replica, ReplicaInput, ReplicaOutput, ReplicaSettings};
use crate::tapir::split;

pub struct Trio {
    pub replicas: Vec<Replica>,
    pub now: Now,
    asked: u64,
    /// What replicas said to each other and has not arrived.
    between: VecDeque<BetweenReplicas>,
    /// What they said so far, by kind.
    pub said: Vec<Peer>,
    pub records: Vec<Vec<Vec<u8>>>,
    /// The record that the last answer waits for.
    pub answer_after: PersistId,
}

impl Trio {
    pub fn new() -> Trio {
        Trio::of(3)
    }

    /// A group of another size.
    pub fn of(size: u64) -> Trio {
        Trio::broken(size, Broken::Nothing)
    }

    pub fn broken(size: u64, broken: Broken) -> Trio {
        let members: Vec<ReplicaId> = (0..size).map(ReplicaId).collect();
        let group = Group::new(ShardId(0), Epoch(0), &members).unwrap();
        let replica = |id| Replica::new(ReplicaSettings { id, group: group.clone(), broken, ..settings(1) });
        let now = Now { instant: Instant::from_nanos(0), wall: WallTime::from_micros(START_MICROS) };
        let replicas: Vec<Replica> = members.into_iter().map(replica).collect();
        let records = vec![Vec::new(); replicas.len()];
        let (between, said, answer_after) = (VecDeque::new(), Vec::new(), PersistId::START);
        let mut trio = Trio { replicas, now, asked: 0, between, said, records, answer_after };
        for replica in 0..trio.replicas.len() {
            assert_eq!(trio.ask(replica, Ask::Begin), Some(Answer::Begun));
        }
        trio
    }

    /// Asks one replica. What it says to others waits until [`Trio::settle`].
    pub fn ask(&mut self, replica: usize, ask: Ask) -> Option<Answer> {
        let message = self.message(replica, ask);
        self.replicas[replica].handle(self.now, ReplicaInput::FromCoordinator(message));
        self.drain(replica)
    }

    /// A question of a coordinator that knows the replica's epoch.
    pub fn message(&mut self, replica: usize, ask: Ask) -> ToReplica {
        let view = self.replicas[replica].standing.view();
        self.asked += 1;
        let id = MessageId { life: Life(1), number: self.asked };
        ToReplica {
            from: CoordinatorId::default(),
            term: Term(1),
            id,
            store: Some(STORE),
            shard: ShardId(0),
            view: View { number: 0, ..view },
            ask,
        }
    }

    fn drain(&mut self, replica: usize) -> Option<Answer> {
        let mut answer = None;
        self.replicas[replica].validate();
        while let Some(output) = self.replicas[replica].poll() {
            match output {
                ReplicaOutput::Persist { record, .. } => self.records[replica].push(record),
                ReplicaOutput::Reply { after, message } => {
                    (answer, self.answer_after) = (Some(message.answer), after);
                }
                ReplicaOutput::ToPeer { message, .. } => {
                    self.said.push(message.peer.clone());
                    self.between.push_back(message);
                }
            }
        }
        answer
    }

    /// Everything that they say to each other arrives, but for what `down` is told or says.
    pub fn settle_without(&mut self, down: Option<usize>) {
        self.settle_without_any(down.as_slice());
    }

    pub fn settle_without_any(&mut self, down: &[usize]) {
        for replica in 0..self.replicas.len() {
            self.drain(replica);
        }
        while let Some(message) = self.between.pop_front() {
            let (from, to) = (message.from.0 as usize, message.to.0 as usize);
            if !down.contains(&from) && !down.contains(&to) && to < self.replicas.len() {
                self.replicas[to].handle(self.now, ReplicaInput::FromPeer(message));
                self.drain(to);
            }
        }
    }

    pub fn settle(&mut self) {
        self.settle_without(None);
    }

    /// What they have said to each other and to others, and has not arrived.
    pub fn take_said(&mut self) -> Vec<BetweenReplicas> {
        for replica in 0..self.replicas.len() {
            self.drain(replica);
        }
        self.between.drain(..).collect()
    }

    pub fn pass(&mut self, time: Duration) {
        self.now.instant = self.now.instant + time;
        self.replicas.iter_mut().for_each(|replica| replica.on_deadline(self.now));
    }

    /// Time passes until these two take part in a view, or it is up. The links between them take their time for each part of a record.
    pub fn take_part_slowly(&mut self, [one, other]: [usize; 2], for_a_part: Duration, within: Duration) -> bool {
        let end = self.now.instant + within;
        let mut links: BTreeMap<ReplicaId, SlowLink> = BTreeMap::new();
        while self.now.instant < end && ![one, other].iter().all(|own| self.replicas[*own].takes_part()) {
            let group = [one, other].map(|own| self.replicas[own].id());
            let said = self.take_said().into_iter();
            for message in said.filter(|message| group.contains(&message.from) && group.contains(&message.to)) {
                links.entry(message.from).or_default().take(self.now.instant, for_a_part, message);
            }
            self.pass(Duration::from_millis(100));
            for message in links.values_mut().flat_map(|link| link.give(self.now.instant)).collect::<Vec<_>>() {
                let to = message.to.0 as usize;
                self.replicas[to].handle(self.now, ReplicaInput::FromPeer(message));
            }
        }
        self.now.instant < end
    }

    /// Of five: the second one begins a view, which the fourth and the fifth join.
    pub fn merge(&mut self) {
        self.replicas[1].begin_view_change(self.now);
        // Two do not answer who has to fetch something.
        for _ in 0..3 {
            self.settle_without_any(&[0, 2]);
            self.pass(FETCH_AGAIN_AFTER);
        }
        assert!([1, 3, 4].into_iter().all(|replica| self.replicas[replica].takes_part()));
    }

    /// What the merge made of a transaction.
    pub fn vote(&mut self, transaction: &Transaction, at: Timestamp) -> Vote {
        match self.ask(1, prepare(transaction, at)) {
            Some(Answer::Voted(voted)) => voted.vote,
            other => panic!("{other:?}"),
        }
    }

    /// The votes of these replicas on a transaction.
    pub fn prepare(&mut self, replicas: &[usize], transaction: &Transaction, at: Timestamp) -> Vec<Vote> {
        let votes = replicas.iter().map(|replica| match self.ask(*replica, prepare(transaction, at)) {
            Some(Answer::Voted(voted)) => voted.vote,
            other => panic!("{other:?}"),
        });
        votes.collect()
    }

    /// Why a replica votes No on a transaction; none: it votes OK.
    pub fn objection(&mut self, replica: usize, transaction: &Transaction, at: Timestamp) -> Option<Objection> {
        match self.ask(replica, prepare(transaction, at)) {
            Some(Answer::Voted(Voted { vote: Vote::Ok, .. })) => None,
            Some(Answer::Voted(Voted { vote: Vote::No, objection, .. })) => {
                Some(objection.expect("it is its own vote"))
            }
            other => panic!("{other:?}"),
        }
    }

    /// Commits at these replicas, which all vote OK.
    pub fn commit(&mut self, replicas: &[usize], transaction: &Transaction, at: Timestamp) {
        assert!(self.prepare(replicas, transaction, at).iter().all(|vote| *vote == Vote::Ok));
        for replica in replicas {
            self.ask(
                *replica,
                Ask::Outcome { id: id_of(transaction, at), outcome: Outcome::Committed, proposal: None },
            );
        }
    }

    /// Tells these replicas what committed in a stretch.
    pub fn resolve(&mut self, replicas: &[usize], from: Timestamp, through: Timestamp, commits: &[ProposalId]) {
        for replica in replicas {
            self.ask(*replica, Ask::Resolved { from, through, commits: commits.into() });
        }
    }

    pub fn complete(&self) -> [Timestamp; 3] {
        [0, 1, 2].map(|replica: usize| self.replicas[replica].complete())
    }
}

/// Messages on their way, in order, with the times at which they arrive.
#[derive(Default)]
struct SlowLink {
    messages: VecDeque<(Instant, BetweenReplicas)>,
}

impl SlowLink {
    /// So many wait for a link; others are lost.
    const WAITING_MAX: usize = 32;

    fn take(&mut self, now: Instant, for_a_part: Duration, message: BetweenReplicas) {
        let is_part = matches!(message.peer, Peer::DoViewChange { .. } | Peer::StartView { .. });
        let takes = if is_part { for_a_part } else { Duration::ZERO };
        let free_at = self.messages.back().map_or(now, |(at, _)| *at);
        if self.messages.len() < SlowLink::WAITING_MAX {
            self.messages.push_back((free_at + takes, message));
        }
    }

    fn give(&mut self, now: Instant) -> Vec<BetweenReplicas> {
        let count = self.messages.iter().take_while(|(at, _)| *at <= now).count();
        self.messages.drain(..count).map(|(_, message)| message).collect()
    }
}

pub fn prepare(transaction: &Transaction, at: Timestamp) -> Ask {
    let (_, proposal) = split(&ShardMap::alone(), transaction, at).pop_first().unwrap();
    Ask::Prepare { proposal, after: None }
}

pub fn id_of(transaction: &Transaction, at: Timestamp) -> ProposalId {
    ProposalId { at, transaction: transaction.id, attempt: transaction.attempt }
}
