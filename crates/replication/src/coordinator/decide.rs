//! From votes to an outcome: a transaction commits when every shard has decided OK, and is aborted when one has decided No.
//!
//! Invariant: an outcome is told only when the votes that it rests on are decided. (Who proposes may not abort on its own: a replica may have
//! been asked to take the proposal over.)
//! Source: TAPIR (TOCS 2018) 5.2.1 and Figure 10.

use std::time::Duration;

use iolite_machine::{Instant, Now};
use iolite_store::{CommitReply, Completion, CompletionDecision, Refusal, Reply};
use iolite_values::{Decision, Timestamp};

use super::Coordinator;
use super::members::{PATIENCE_MIN, Work};
use super::questions::{Purpose, Target};
use super::timers::Timer;
use super::transactions::{AtShard, Phase, Place, Transacting};
use crate::ir::{Quorums, Slow};
use crate::node::{Ask, Ballot, Objection, Outcome, ProposalId, ShardId, Vote};

/// So many times a proposal is made again at once. Then it waits a moment each time.
pub const PROMPT_TRIES: u32 = 3;

/// Why a proposal was voted down.
#[derive(Default)]
struct Said {
    objections: Vec<Objection>,
    /// Of a majority of some shard. (A single replica may be behind, and not know better.)
    refusal: Option<Refusal>,
}

impl Said {
    fn add(&mut self, own: &AtShard, quorums: Quorums) {
        self.objections.extend(own.objections.values().cloned());
        let refusals = || {
            own.objections.values().filter_map(|objection| match objection {
                Objection::Refused(refusal) => Some(refusal),
                _ => None,
            })
        };
        if refusals().count() >= quorums.majority() {
            self.refusal = refusals().next().cloned();
        }
    }
}

impl Coordinator {
    /// Looks at what has been voted so far.
    pub(super) fn press_votes(&mut self, now: Now, key: u64) {
        let Some(Transacting { id, phase: Phase::Voting(shards), .. }) = self.transactions.get(key) else { return };
        let id = *id;
        let decided = |vote| move |own: &AtShard| own.proposing.decided() == Some(vote);
        // The home shard may know that the transaction has its outcome already. Who does not hear that would propose on and on.
        let home_has_said = shards
            .iter()
            .filter(|(_, own)| own.proposal.is_home)
            .all(|(shard, own)| own.proposing.answers() >= self.quorums(*shard).majority());
        if home_has_said && shards.values().any(decided(Vote::No)) {
            return self.decide(now, id, Outcome::Aborted);
        }
        if shards.values().all(decided(Vote::Ok)) {
            return self.decide(now, id, Outcome::Committed);
        }
        if shards.values().any(|own| own.proposing.overtaken().is_some()) {
            return self.take_over_own(now, key);
        }
        let undecided = shards.iter().filter(|(_, own)| own.proposing.decided().is_none());
        let slow = undecided.filter_map(|(shard, own)| Some((*shard, own.proposing.slow()?)));
        for (shard, slow) in slow.collect::<Vec<_>>() {
            self.press_slow_path(now, key, shard, slow);
        }
        self.wait_for_slow_paths(now, key);
    }

    /// A transaction has one timer, and each of its shards a time of its own.
    fn wait_for_slow_paths(&mut self, now: Now, key: u64) {
        let Some(Transacting { phase: Phase::Voting(shards), .. }) = self.transactions.get(key) else { return };
        let waiting = shards.values().filter_map(|own| own.slow_at).filter(|at| *at > now.instant);
        if let Some(next) = waiting.min() {
            self.set_timer(next, Timer::Transaction(key));
        }
    }

    /// Enough have answered for the slow path. It begins when it is time.
    fn press_slow_path(&mut self, now: Now, key: u64, shard: ShardId, slow: Slow) {
        let Some(Transacting { phase: Phase::Voting(shards), .. }) = self.transactions.get(key) else { return };
        let own = &shards[&shard];
        if own.proposing.finalising().is_some_and(|(view, _)| view >= slow.view) {
            return;
        }
        let everybody = own.proposing.answers() == self.quorums(shard).members();
        let patience = || {
            let own = self.fast_path_patience(shard, own, now.instant);
            // Another answer could make it an OK: who was late the last time is given a moment.
            if slow.is_certain { own } else { own.max(PATIENCE_MIN) }
        };
        let begin_at = own.slow_at.unwrap_or_else(|| now.instant + patience());
        if !everybody && begin_at > now.instant {
            if let Some(Transacting { phase: Phase::Voting(shards), .. }) = self.transactions.get_mut(key)
                && let Some(own) = shards.get_mut(&shard)
            {
                own.slow_at = Some(begin_at);
            }
            return;
        }
        let silent = self.replicas(shard).into_iter().filter(|replica| !own.proposing.has_answered(*replica));
        for replica in silent.collect::<Vec<_>>() {
            self.members.on_silence(replica, Work::Rest);
        }
        self.finalise(now, key, shard, slow);
    }

    fn finalise(&mut self, now: Now, key: u64, shard: ShardId, slow: Slow) {
        let Some(Transacting { id, phase: Phase::Voting(shards), .. }) = self.transactions.get_mut(key) else { return };
        let (id, Slow { view, vote, is_certain: _ }) = (*id, slow);
        let Some(own) = shards.get_mut(&shard) else { return };
        own.proposing.begin_finalising(view, vote);
        self.tally.slow_paths += 1;
        let ask = Ask::Finalise { id, view, ballot: Ballot::FIRST, vote, proposal: None };
        let purpose = Purpose::Vote { transaction: key, at: id.at };
        for number in self.ask_all(now, shard, &purpose, &ask) {
            self.keep_question(key, shard, number);
        }
    }

    /// This coordinator has decided: everybody is told.
    fn decide(&mut self, now: Now, id: ProposalId, outcome: Outcome) {
        let Some(key) = self.transactions.by_proposal(id) else { return };
        let Some(Transacting { phase: Phase::Voting(shards), .. }) = self.transactions.get(key) else { return };
        let mut messages = Vec::new();
        // Who is the whole group of the only shard has decided by its vote.
        let is_alone = shards.len() == 1 && shards.keys().all(|shard| self.quorums(*shard).members() == 1);
        for (shard, own) in shards.iter().filter(|_| !is_alone) {
            for replica in self.replicas(*shard) {
                // Whoever voted OK has it.
                let has_it = own.proposing.has_accepted(replica);
                let proposal = (outcome == Outcome::Committed && !has_it).then(|| own.proposal.clone());
                messages.push((Target { shard: *shard, replica }, Ask::Outcome { id, outcome, proposal }));
            }
        }
        for (to, ask) in messages {
            self.say(to, ask);
        }
        self.on_decided(now, id, outcome);
    }

    /// What became of a proposal, whoever decided it.
    pub(super) fn on_decided(&mut self, now: Now, id: ProposalId, outcome: Outcome) {
        if id.at > self.feed.position() {
            self.decided.insert(id, outcome);
        }
        self.forget_backup(id);
        self.obstacles.forget(id);
        let Some(key) = self.transactions.by_proposal(id) else { return };
        let Some(transacting) = self.transactions.remove(key) else { return };
        let mut said = Said::default();
        if let Phase::Voting(shards) = &transacting.phase {
            for (shard, own) in shards {
                self.questions.drop_all(own.questions.iter().copied());
                said.add(own, self.quorums(*shard));
            }
        }
        match outcome {
            Outcome::Committed => {
                let decision = match transacting.transaction.decision {
                    Decision::Commit(_) => CompletionDecision::Committed,
                    Decision::Abort(_) => CompletionDecision::Aborted,
                };
                let completion = Completion { attempt: id.attempt, at: id.at, decision };
                self.complete(now, transacting, completion);
            }
            Outcome::Aborted => self.on_aborted(now, transacting, said),
        }
    }

    /// So old that no replica remembers it. If it committed, the next proposal meets its completion record; so it must not be called dead.
    pub(super) fn abandon(&mut self, now: Now, id: ProposalId) {
        self.forget_backup(id);
        let Some(transacting) = self.transactions.by_proposal(id).and_then(|key| self.transactions.remove(key)) else {
            return;
        };
        if let Phase::Voting(shards) = &transacting.phase {
            shards.values().for_each(|own| self.questions.drop_all(own.questions.iter().copied()));
        }
        self.propose_behind(now, transacting, None, Duration::ZERO);
    }

    fn complete(&mut self, now: Now, transacting: Transacting, completion: Completion) {
        // An abort has no writes, but its outcome waits for the feed as well.
        self.want(completion.at);
        self.answer(now, transacting, Reply::Commit(CommitReply::Completed(completion)));
    }

    fn answer(&mut self, now: Now, transacting: Transacting, reply: Reply) {
        self.tally.count_answer(&reply, now.instant.since(*transacting.begun));
        for request in transacting.requests {
            self.reply(request, reply.clone());
        }
    }

    /// The proposal is dead. The transaction may not be.
    fn on_aborted(&mut self, now: Now, transacting: Transacting, said: Said) {
        for objection in &said.objections {
            match objection {
                Objection::Completed(completion) => return self.complete(now, transacting, completion.clone()),
                Objection::Forgotten => return self.answer(now, transacting, Reply::Commit(CommitReply::Forgotten)),
                Objection::Retry { above } => self.proposals.see(*above),
                Objection::Busy { with } => self.meet(with.at, transacting.tries),
                Objection::Conflict { .. } | Objection::Refused(_) => {}
            }
        }
        if self.goes_to_the_past(&transacting, &said) {
            let in_the_past = Transacting { place: Place::InThePast, ..transacting };
            return self.propose_again(now, in_the_past, Duration::ZERO);
        }
        let conflict = said.objections.iter().filter_map(|objection| match objection {
            Objection::Conflict { at_least } => Some(*at_least),
            _ => None,
        });
        if let Some(at_least) = conflict.max() {
            // The client can only run again once the feed has brought it there.
            self.want(at_least);
            return self.answer(now, transacting, Reply::Commit(CommitReply::Conflict { at_least }));
        }
        match said.refusal {
            Some(refusal) => self.on_refused(now, transacting, refusal),
            None => {
                let since = self.in_the_way_since(now.instant, &said.objections);
                self.propose_soon(now, transacting, since);
            }
        }
    }

    /// Whether a transaction that may have read a past could stand below what is in its way.
    fn goes_to_the_past(&self, transacting: &Transacting, said: &Said) -> bool {
        let above_reads = |objection: &Objection| match objection {
            Objection::Conflict { at_least: at } | Objection::Busy { with: ProposalId { at, .. } } => {
                *at > transacting.transaction.snapshot.max(transacting.floor).max(self.feed.position())
            }
            Objection::Retry { .. } | Objection::Completed(_) | Objection::Forgotten | Objection::Refused(_) => false,
        };
        transacting.place == Place::AheadFirst && said.objections.iter().any(above_reads)
    }

    /// Something undecided is in the way. If it stays there, it is found out by closing what becomes of it: whoever proposed it may be gone, and its
    /// clock may have been far ahead.
    pub(super) fn meet(&mut self, at: Timestamp, tries: u32) {
        self.proposals.see(at);
        if tries >= PROMPT_TRIES {
            self.want(at);
        }
    }

    /// Behind what has been in the way since then, if something is.
    fn propose_soon(&mut self, now: Now, transacting: Transacting, busy_since: Option<Instant>) {
        let stood = busy_since.map(|since| now.instant.since(since));
        let is_patient = stood.is_some() || transacting.tries >= PROMPT_TRIES;
        let wait = if is_patient { self.busy_wait(&transacting, stood.unwrap_or_default()) } else { Duration::ZERO };
        self.propose_again(now, transacting, wait);
    }

    fn on_refused(&mut self, now: Now, transacting: Transacting, refusal: Refusal) {
        match refusal {
            Refusal::TooFarAhead { limit, .. } => {
                if transacting.floor.next_for(self.settings.id) <= limit {
                    self.propose_soon(now, transacting, None);
                } else {
                    self.answer(now, transacting, Reply::Refused(refusal));
                }
            }
            Refusal::NotResolved { .. }
            | Refusal::Type { .. }
            | Refusal::TransactionTooLarge { .. }
            | Refusal::RowTooLarge { .. }
            | Refusal::Configuration(_)
            | Refusal::OtherShard { .. } => self.answer(now, transacting, Reply::Refused(refusal)),
        }
    }
}
