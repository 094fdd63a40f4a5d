//! Transactions that are under way, and when to press them.
//!
//! Invariant: a transaction has one proposal at a time; the next is made only when the abort of the last one is final, or when it is so old that the next
//! one meets its completion record if it committed.
//! Source: TAPIR (TOCS 2018) 5.2.1; retry timestamps after 6.3.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use iolite_machine::{Instant, Now, Tallied};
use iolite_store::RequestId;
use iolite_values::{Attempt, Level, Timestamp, Transaction, TransactionId};

use super::Coordinator;
use super::members::{PATIENCE_MIN, Work};
use super::obstacles::pauses_after;
use super::pauses::Pauses;
use super::questions::{Purpose, Target};
use super::timers::Timer;
use crate::ir::Proposing;
use crate::node::{Answer, Ask, Ballot, Objection, Proposal, ProposalId, ReplicaId, ShardId, View, Voted};
use crate::tapir::split;

/// How far ahead of the clock a proposal reaches after some retries.
pub const RETRY_LEADS: Pauses = Pauses { first: Duration::from_micros(100), longest: Duration::from_millis(200) };

/// So many retries do without a lead.
const RETRIES_WITHOUT_LEAD: u32 = 2;

#[derive(Clone, Debug, Default)]
pub(super) struct Transactions {
    last: u64,
    open: BTreeMap<u64, Transacting>,
    by_proposal: BTreeMap<ProposalId, u64>,
    /// The same attempt may be asked for several times: they would only stand in each other's way.
    by_attempt: BTreeMap<(TransactionId, Attempt), u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Transacting {
    /// Who waits for its outcome; perhaps nobody any more.
    pub requests: Vec<RequestId>,
    pub transaction: Arc<Transaction>,
    pub floor: Timestamp,
    /// When it was asked for.
    pub begun: Tallied<Instant>,
    pub id: ProposalId,
    pub tries: u32,
    pub place: Place,
    pub phase: Phase,
}

/// Where the next proposal goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Above all that was seen.
    Ahead,
    /// Likewise; and if something in the way is above what was read, below that.
    AheadFirst,
    /// As low as it can.
    InThePast,
}

#[derive(Clone, Debug)]
pub(super) enum Phase {
    Voting(BTreeMap<ShardId, AtShard>),
    /// Somebody else has taken the proposal over; what becomes of it is found out by taking it over in turn.
    TakenOver,
    /// The next proposal is made then. The abort of `after` is final.
    Waiting {
        until: Instant,
        after: Option<ProposalId>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct AtShard {
    pub proposal: Arc<Proposal>,
    pub proposing: Proposing,
    pub objections: BTreeMap<ReplicaId, Objection>,
    pub questions: Vec<u64>,
    pub asked_at: Instant,
    /// The slow path begins then.
    pub slow_at: Option<Instant>,
}

impl Transactions {
    pub fn len(&self) -> usize {
        self.open.len()
    }

    pub fn get_mut(&mut self, key: u64) -> Option<&mut Transacting> {
        self.open.get_mut(&key)
    }

    pub fn get(&self, key: u64) -> Option<&Transacting> {
        self.open.get(&key)
    }

    pub fn by_proposal(&self, id: ProposalId) -> Option<u64> {
        self.by_proposal.get(&id).copied()
    }

    pub fn remove(&mut self, key: u64) -> Option<Transacting> {
        let transacting = self.open.remove(&key)?;
        self.by_proposal.remove(&transacting.id);
        self.by_attempt.remove(&(transacting.id.transaction, transacting.id.attempt));
        Some(transacting)
    }

    /// Who asked does not wait any longer.
    pub fn leave(&mut self, transaction: TransactionId, attempt: Attempt, request: RequestId) {
        let key = self.by_attempt.get(&(transaction, attempt)).copied();
        if let Some(own) = key.and_then(|key| self.get_mut(key)) {
            own.requests.retain(|other| *other != request);
        }
    }

    fn insert(&mut self, transacting: Transacting) -> u64 {
        self.last += 1;
        self.put(self.last, transacting);
        self.last
    }

    fn put(&mut self, key: u64, transacting: Transacting) {
        self.by_proposal.insert(transacting.id, key);
        self.by_attempt.insert((transacting.id.transaction, transacting.id.attempt), key);
        self.open.insert(key, transacting);
    }

    /// # Panics
    /// When an invariant of this module is broken.
    pub fn validate(&self) {
        assert_eq!(self.open.len(), self.by_proposal.len(), "every transaction has one proposal");
        assert_eq!(self.open.len(), self.by_attempt.len(), "every attempt is under way once");
    }
}

impl Coordinator {
    pub(super) fn begin_transaction(
        &mut self,
        now: Now,
        begun: Instant,
        request: RequestId,
        transaction: Arc<Transaction>,
        floor: Timestamp,
    ) {
        let same = self.transactions.by_attempt.get(&(transaction.id, transaction.attempt));
        if let Some(own) = same.copied().and_then(|key| self.transactions.get_mut(key)) {
            return own.requests.push(request);
        }
        let place = match transaction.level {
            Level::Strict | Level::Snapshot | Level::ReadCommitted => Place::Ahead,
            Level::Serializable => Place::AheadFirst,
        };
        let id = self.next_proposal(now, &transaction, floor, 0);
        let phase = Phase::Voting(BTreeMap::new());
        let (requests, begun) = (vec![request], Tallied(begun));
        let transacting = Transacting { requests, transaction, floor, begun, id, tries: 0, place, phase };
        let key = self.transactions.insert(transacting);
        self.prepare(now, key, None);
    }

    fn next_proposal(&mut self, now: Now, transaction: &Transaction, floor: Timestamp, tries: u32) -> ProposalId {
        let lead = tries.checked_sub(RETRIES_WITHOUT_LEAD).map_or(Duration::ZERO, |more| {
            RETRY_LEADS.after(more).max(self.members.farthest()).min(RETRY_LEADS.longest)
        });
        let at = self.proposals.next(now, floor, lead);
        ProposalId { at, transaction: transaction.id, attempt: transaction.attempt }
    }

    /// Asks every replica of every shard that has a say for its vote.
    fn prepare(&mut self, now: Now, key: u64, after: Option<ProposalId>) {
        let Some(transacting) = self.transactions.get(key) else { return };
        let at = transacting.id.at;
        let proposals = split(&self.settings.shards, &transacting.transaction, at);
        let mut shards = BTreeMap::new();
        for (shard, proposal) in proposals {
            let ask = Ask::Prepare { proposal: proposal.clone(), after };
            let questions = self.ask_all(now, shard, &Purpose::Vote { transaction: key, at }, &ask);
            let proposing = Proposing::new(self.quorums(shard), Ballot::FIRST);
            let (objections, asked_at) = (BTreeMap::new(), now.instant);
            shards.insert(shard, AtShard { proposal, proposing, objections, questions, asked_at, slow_at: None });
        }
        if let Some(transacting) = self.transactions.get_mut(key) {
            transacting.phase = Phase::Voting(shards);
        }
    }

    /// The proposal is dead: another one, now or after a while.
    pub(super) fn propose_again(&mut self, now: Now, transacting: Transacting, wait: Duration) {
        let dead = transacting.id;
        self.propose_behind(now, transacting, Some(dead), wait);
    }

    /// Another proposal; none if nobody waits for its outcome. Whoever asks again will make one. Replicas take what is named for aborted.
    pub(super) fn propose_behind(
        &mut self,
        now: Now,
        mut transacting: Transacting,
        after: Option<ProposalId>,
        wait: Duration,
    ) {
        if transacting.requests.is_empty() {
            return;
        }
        transacting.tries += 1;
        self.tally.proposed_again += 1;
        transacting.phase = Phase::Waiting { until: now.instant + wait, after };
        let key = self.transactions.insert(transacting);
        if wait.is_zero() {
            self.press_transaction(now, key);
        } else {
            self.set_timer(now.instant + wait, Timer::Transaction(key));
        }
    }

    /// How long to wait for something that has been in the way for so long. No two coordinators wait alike, or they would meet again.
    pub(super) fn busy_wait(&self, transacting: &Transacting, stood: Duration) -> Duration {
        pauses_after(stood).some_after(transacting.tries, transacting.id.at.as_u64() ^ self.settings.life.0)
    }

    pub(super) fn press_transaction(&mut self, now: Now, key: u64) {
        let Some(transacting) = self.transactions.get(key) else { return };
        match &transacting.phase {
            Phase::Voting(_) => self.press_votes(now, key),
            Phase::TakenOver => {}
            Phase::Waiting { until, after } if *until <= now.instant => {
                let after = *after;
                self.propose_after(now, key, after);
            }
            Phase::Waiting { until, .. } => {
                let until = *until;
                self.set_timer(until, Timer::Transaction(key));
            }
        }
    }

    fn propose_after(&mut self, now: Now, key: u64, dead: Option<ProposalId>) {
        let Some(mut transacting) = self.transactions.remove(key) else { return };
        if transacting.requests.is_empty() {
            return;
        }
        let transaction = transacting.transaction.clone();
        transacting.id = match transacting.place {
            Place::Ahead | Place::AheadFirst => {
                self.next_proposal(now, &transaction, transacting.floor, transacting.tries)
            }
            Place::InThePast => {
                let above = [transaction.snapshot, transacting.floor, self.feed.position()];
                let at = self.proposals.lowest(above);
                ProposalId { at, transaction: transaction.id, attempt: transaction.attempt }
            }
        };
        // If that is too late, it stands with the others.
        if transacting.place == Place::InThePast {
            transacting.place = Place::Ahead;
        }
        self.transactions.put(key, transacting);
        self.prepare(now, key, dead);
    }

    pub(super) fn on_vote(&mut self, now: Now, key: u64, at: Timestamp, from: Target, answer: Answer) {
        let Some(transacting) = self.transactions.get_mut(key).filter(|own| own.id.at == at) else { return };
        let id = transacting.id;
        let Phase::Voting(shards) = &mut transacting.phase else { return };
        let Some(own) = shards.get_mut(&from.shard) else { return };
        match answer {
            Answer::Voted(voted) => {
                own.proposing.on_answer(from.replica, &voted);
                if let Some(objection) = &voted.objection {
                    own.objections.insert(from.replica, objection.clone());
                }
                match voted {
                    Voted { outcome: Some(outcome), .. } => self.on_decided(now, id, outcome),
                    Voted { outcome: None, .. } => self.press_votes(now, key),
                }
            }
            Answer::Unknown => self.finalise_with_proposal(now, key, from),
            Answer::TooOld { .. } => self.abandon(now, id),
            _ => {}
        }
    }

    /// The shard has ended: what became of proposals that it had a say in, others know.
    pub(super) fn take_over_at(&mut self, now: Now, shard: ShardId) {
        let is_at = |own: &Transacting| matches!(&own.phase, Phase::Voting(shards) if shards.contains_key(&shard));
        let keys = self.transactions.open.iter().filter(|(_, own)| is_at(own)).map(|(key, _)| *key);
        for key in keys.collect::<Vec<_>>() {
            self.take_over_own(now, key);
        }
    }

    /// Asks those again who voted in an earlier view.
    pub(super) fn vote_in_view(&mut self, now: Now, shard: ShardId, view: View) {
        let mut again = Vec::new();
        for (key, transacting) in &mut self.transactions.open {
            if let Phase::Voting(shards) = &mut transacting.phase
                && let Some(own) = shards.get_mut(&shard)
            {
                let replicas = own.proposing.enter_view(view);
                again.extend(
                    replicas.into_iter().map(|replica| (*key, transacting.id.at, replica, own.proposal.clone())),
                );
            }
        }
        for (transaction, at, replica, proposal) in again {
            let ask = Ask::Prepare { proposal, after: None };
            let number = self.ask(now, Target { shard, replica }, Purpose::Vote { transaction, at }, ask);
            self.keep_question(transaction, shard, number);
        }
    }

    /// Asks the group of a later epoch, as if nobody had voted. (What was decided before stays so: the epoch begins with it.)
    pub(super) fn vote_in_epoch(&mut self, now: Now, shard: ShardId) {
        let quorums = self.quorums(shard);
        let mut again = Vec::new();
        for (key, transacting) in &mut self.transactions.open {
            if let Phase::Voting(shards) = &mut transacting.phase
                && let Some(own) = shards.get_mut(&shard)
            {
                own.proposing = Proposing::new(quorums, Ballot::FIRST);
                (own.objections, own.questions) = (BTreeMap::new(), Vec::new());
                (own.asked_at, own.slow_at) = (now.instant, None);
                again.push((*key, transacting.id.at, own.proposal.clone()));
            }
        }
        for (transaction, at, proposal) in again {
            let ask = Ask::Prepare { proposal, after: None };
            for number in self.ask_all(now, shard, &Purpose::Vote { transaction, at }, &ask) {
                self.keep_question(transaction, shard, number);
            }
        }
    }

    /// The replica has to finalise what it has never seen.
    fn finalise_with_proposal(&mut self, now: Now, key: u64, to: Target) {
        let Some(Transacting { id, phase: Phase::Voting(shards), .. }) = self.transactions.get(key) else { return };
        let Some(own) = shards.get(&to.shard) else { return };
        let Some((view, vote)) = own.proposing.finalising() else { return };
        let proposal = Some(own.proposal.clone());
        let ask = Ask::Finalise { id: *id, view, ballot: Ballot::FIRST, vote, proposal };
        let purpose = Purpose::Vote { transaction: key, at: id.at };
        let number = self.ask(now, to, purpose, ask);
        self.keep_question(key, to.shard, number);
    }

    pub(super) fn keep_question(&mut self, key: u64, shard: ShardId, number: u64) {
        if let Some(Transacting { phase: Phase::Voting(shards), .. }) = self.transactions.get_mut(key)
            && let Some(own) = shards.get_mut(&shard)
        {
            own.questions.push(number);
        }
    }

    /// How long the answers that are missing for the fast path may be waited for.
    pub(super) fn fast_path_patience(&self, shard: ShardId, own: &AtShard, now: Instant) -> Duration {
        let took = now.since(own.asked_at);
        let missing = self.replicas(shard).into_iter().filter(|replica| !own.proposing.has_answered(*replica));
        let missing: Vec<ReplicaId> = missing.collect();
        if missing.iter().all(|replica| self.members.is_late(*replica)) {
            return Duration::ZERO;
        }
        let farthest =
            missing.iter().map(|replica| self.members.round_trip(*replica, Work::Rest)).max().unwrap_or_default();
        if farthest > took * 2 {
            // A second trip to the near ones is shorter than one to the far ones: both paths at once.
            return Duration::ZERO;
        }
        (farthest * 2).max(PATIENCE_MIN).saturating_sub(took)
    }
}
