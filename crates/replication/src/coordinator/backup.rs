//! Taking over proposals that stay undecided, because their coordinator is gone or is not heard.
//!
//! The outcome of a transaction is a function of its shards' votes, and each shard's vote is a consensus of its own. So nobody has to agree on
//! who takes over: whoever does asks every shard for its vote, at a ballot above all others, and finishes it if need be.
//! Source: in place of TAPIR (TOCS 2018) 5.2.3; Paxos Commit (Gray and Lamport, TODS 2006).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use iolite_machine::{Instant, Now};

use super::Coordinator;
use super::pauses::Pauses;
use super::questions::{Purpose, Target};
use super::timers::Timer;
use super::transactions::Phase;
use crate::ir::Proposing;
use crate::node::{Answer, Ask, Ballot, Outcome, Proposal, ProposalId, ShardId, Vote};

/// When an attempt to take a proposal over is made anew, at a higher ballot.
pub const BACKUP_PAUSES: Pauses = Pauses { first: Duration::from_millis(50), longest: Duration::from_secs(2) };

#[derive(Clone, Debug, Default)]
pub(super) struct Backups {
    open: BTreeMap<ProposalId, Backup>,
}

#[derive(Clone, Debug)]
struct Backup {
    shards: BTreeMap<ShardId, AtShard>,
    ballot: Ballot,
    tries: u32,
    again_at: Instant,
    questions: Vec<u64>,
}

#[derive(Clone, Debug)]
struct AtShard {
    proposing: Proposing,
    proposal: Option<Arc<Proposal>>,
    /// The highest ballot that somebody promised to another one.
    highest: Ballot,
}

impl Backups {
    pub fn is_open(&self, id: ProposalId) -> bool {
        self.open.contains_key(&id)
    }
}

impl Coordinator {
    /// This coordinator's own proposal was taken over: it asks like everybody else what became of it.
    pub(super) fn take_over_own(&mut self, now: Now, key: u64) {
        let Some(transacting) = self.transactions.get_mut(key) else { return };
        let id = transacting.id;
        let Phase::Voting(shards) = std::mem::replace(&mut transacting.phase, Phase::TakenOver) else { return };
        let participants: Vec<ShardId> = shards.keys().copied().collect();
        let highest = shards.values().filter_map(|own| own.proposing.overtaken()).max().unwrap_or_default();
        for own in shards.into_values() {
            self.questions.drop_all(own.questions);
        }
        self.take_over(now, id, &participants, highest);
    }

    /// Finds out what becomes of a proposal, or decides it. One that names a part of a shard of whose end nothing was heard yet is left until it is.
    pub(super) fn take_over(&mut self, now: Now, id: ProposalId, participants: &[ShardId], above: Ballot) {
        let map = &self.settings.shards;
        let are_known = participants.iter().all(|shard| map.group(map.standing_for(*shard)).is_some());
        if self.backups.is_open(id) || !are_known {
            return;
        }
        let backup =
            Backup { shards: BTreeMap::new(), ballot: above, tries: 0, again_at: now.instant, questions: Vec::new() };
        self.backups.open.insert(id, backup);
        self.tally.taken_over += 1;
        self.poll_shards(now, id, participants);
    }

    /// Begins at the next ballot.
    fn poll_shards(&mut self, now: Now, id: ProposalId, participants: &[ShardId]) {
        let Some(mut backup) = self.backups.open.remove(&id) else { return };
        self.questions.drop_all(std::mem::take(&mut backup.questions));
        let highest = backup.shards.values().map(|own| own.highest).max().unwrap_or_default().max(backup.ballot);
        backup.ballot = Ballot { number: highest.number + 1, by: self.settings.id, term: self.term };
        let mut shards = BTreeMap::new();
        let standing = participants.iter().map(|shard| self.settings.shards.standing_for(*shard));
        for shard in &standing.collect::<BTreeSet<_>>() {
            let ask = Ask::Poll { id, ballot: backup.ballot };
            backup.questions.extend(self.ask_all(now, *shard, &Purpose::Backup(id), &ask));
            let proposing = Proposing::new(self.quorums(*shard), backup.ballot);
            let proposal = backup.shards.remove(shard).and_then(|own| own.proposal);
            shards.insert(*shard, AtShard { proposing, proposal, highest: Ballot::FIRST });
        }
        backup.shards = shards;
        // Those who meet wait for different times.
        let more = BACKUP_PAUSES.some_after(backup.tries, self.settings.life.0 ^ u64::from(backup.tries));
        // An answer to an earlier ballot is of no use: it is given the time that it takes.
        let pause = BACKUP_PAUSES.after(backup.tries).max(self.members.farthest() * 2);
        backup.again_at = now.instant + pause + more;
        backup.tries += 1;
        self.set_timer(backup.again_at, Timer::Backup(id));
        self.backups.open.insert(id, backup);
    }

    /// The shard has another group: what it has to say of a proposal is asked anew.
    pub(super) fn take_over_in_epoch(&mut self, now: Now, shard: ShardId) {
        let own = self.backups.open.iter().filter(|(_, backup)| backup.shards.contains_key(&shard));
        let own = own.map(|(id, backup)| (*id, backup.shards.keys().copied().collect::<Vec<_>>()));
        for (id, participants) in own.collect::<Vec<_>>() {
            self.poll_shards(now, id, &participants);
        }
    }

    pub(super) fn press_backup(&mut self, now: Now, id: ProposalId) {
        let Some(backup) = self.backups.open.get(&id) else { return };
        if backup.again_at <= now.instant {
            let participants: Vec<ShardId> = backup.shards.keys().copied().collect();
            self.poll_shards(now, id, &participants);
        }
    }

    pub(super) fn on_backup_answer(&mut self, now: Now, id: ProposalId, from: Target, answer: Answer) {
        let Some(backup) = self.backups.open.get_mut(&id) else { return };
        let Some(own) = backup.shards.get_mut(&from.shard) else { return };
        match answer {
            Answer::Voted(voted) => {
                own.highest = own.highest.max(voted.promised);
                own.proposal = own.proposal.take().or_else(|| voted.proposal.clone());
                if let Some(outcome) = voted.outcome {
                    return self.finish_backup(now, id, outcome);
                }
                // A promise to a higher ballot is of no use; one to a lower ballot is an old message.
                if voted.promised == backup.ballot {
                    own.proposing.on_answer(from.replica, &voted);
                    self.press_backup_votes(now, id, from.shard);
                }
            }
            Answer::Unknown => self.finalise_backup(now, id, from.shard, Some(from)),
            Answer::TooOld { .. } => self.abandon(now, id),
            _ => {}
        }
    }

    fn press_backup_votes(&mut self, now: Now, id: ProposalId, shard: ShardId) {
        let Some(backup) = self.backups.open.get_mut(&id) else { return };
        let decided = |vote| move |own: &AtShard| own.proposing.decided() == Some(vote);
        if backup.shards.values().any(decided(Vote::No)) {
            return self.finish_backup(now, id, Outcome::Aborted);
        }
        if backup.shards.values().all(decided(Vote::Ok)) {
            return self.finish_backup(now, id, Outcome::Committed);
        }
        let Some(own) = backup.shards.get_mut(&shard) else { return };
        if own.proposing.decided().is_some() {
            return;
        }
        if let Some(slow) = own.proposing.slow()
            && own.proposing.finalising().is_none_or(|(view, _)| view < slow.view)
        {
            own.proposing.begin_finalising(slow.view, slow.vote);
            self.finalise_backup(now, id, shard, None);
        }
    }

    /// Asks all replicas of a shard, or one that lacks the proposal, to finalise what was found.
    fn finalise_backup(&mut self, now: Now, id: ProposalId, shard: ShardId, only: Option<Target>) {
        let Some(backup) = self.backups.open.get(&id) else { return };
        let Some(own) = backup.shards.get(&shard) else { return };
        let Some((view, vote)) = own.proposing.finalising() else { return };
        let (ballot, proposal) = (backup.ballot, own.proposal.clone().filter(|_| vote == Vote::Ok));
        let all = self.replicas(shard).into_iter().map(|replica| Target { shard, replica });
        for to in all.filter(|to| only.is_none_or(|only| only == *to)).collect::<Vec<_>>() {
            let ask = Ask::Finalise { id, view, ballot, vote, proposal: proposal.clone() };
            let number = self.ask(now, to, Purpose::Backup(id), ask);
            if let Some(backup) = self.backups.open.get_mut(&id) {
                backup.questions.push(number);
            }
        }
    }

    fn finish_backup(&mut self, now: Now, id: ProposalId, outcome: Outcome) {
        let Some(backup) = self.backups.open.get(&id) else { return };
        let mut messages = Vec::new();
        for (shard, own) in &backup.shards {
            for replica in self.replicas(*shard) {
                let proposal = own.proposal.clone().filter(|_| outcome == Outcome::Committed);
                messages.push((Target { shard: *shard, replica }, Ask::Outcome { id, outcome, proposal }));
            }
        }
        for (to, ask) in messages {
            self.say(to, ask);
        }
        self.on_decided(now, id, outcome);
        // Who waited for it to close the feed need not wait any longer.
        self.close_again(now);
    }

    pub(super) fn forget_backup(&mut self, id: ProposalId) {
        if let Some(backup) = self.backups.open.remove(&id) {
            self.questions.drop_all(backup.questions);
        }
    }
}
