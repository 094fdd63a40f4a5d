//! Transactions that only read: a majority of every shard that was read is asked whether that is true still.
//!
//! Invariants: reads are called valid only when a majority of one view of each shard said so after the request was made; nothing is recorded anywhere,
//! but when what stands in the way stays undecided: then the transaction is committed like any other.
//! Source: in place of TAPIR (TOCS 2018) 6.1, which is only as strict as clocks are true. Why this is strict: docs/protocols/tapir.md.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_machine::{Instant, Now};
use iolite_store::{Refusal, Reply, RequestId, Validity};
use iolite_values::{Attempt, Decision, Level, Read, Timestamp, Transaction, TransactionId};

use super::Coordinator;
use super::members::{PATIENCE_MIN, Work};
use super::obstacles::BUSY_PAUSES;
use super::questions::{Purpose, Target};
use super::timers::Timer;
use crate::node::{Ask, Invalid, ReplicaId, ShardId, View};
use crate::tapir::split_reads;

/// So many times something undecided is waited for. Then the reads are committed, which keeps what would change them off.
pub const VALIDATIONS_MAX: u32 = 6;

#[derive(Clone, Debug, Default)]
pub(super) struct Validations {
    open: BTreeMap<RequestId, Validating>,
}

/// A transaction that only reads.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub transaction: TransactionId,
    pub attempt: Attempt,
    pub snapshot: Timestamp,
    pub reads: Arc<[Read]>,
    pub floor: Timestamp,
}

#[derive(Clone, Debug)]
struct Validating {
    reader: Reader,
    shards: BTreeMap<ShardId, AtShard>,
    /// When those who were asked first are late.
    late_at: Instant,
    /// How often something undecided was met.
    tries: u32,
}

#[derive(Clone, Debug)]
struct AtShard {
    reads: Arc<[Read]>,
    /// The questions to those who have not answered.
    asked: BTreeMap<ReplicaId, u64>,
    /// Who found the reads valid, in which view.
    valid: BTreeMap<ReplicaId, View>,
}

impl Validations {
    pub fn len(&self) -> usize {
        self.open.len()
    }
}

impl AtShard {
    fn is_asked_or_valid(&self, replica: ReplicaId) -> bool {
        self.asked.contains_key(&replica) || self.valid.contains_key(&replica)
    }

    /// How many found the reads valid in the latest view that one of them was in.
    fn agreeing(&self) -> usize {
        let latest = self.valid.values().max();
        self.valid.values().filter(|view| Some(*view) == latest).count()
    }
}

impl Coordinator {
    pub(super) fn begin_validation(&mut self, now: Now, request: RequestId, reader: Reader) {
        let (asked, resolved) = (reader.snapshot, self.feed.position());
        if asked > resolved {
            return self.reply(request, Reply::Refused(Refusal::NotResolved { asked, resolved }));
        }
        let mut shards = BTreeMap::new();
        let (mut first, mut patience) = (Vec::new(), PATIENCE_MIN);
        for (shard, reads) in split_reads(&self.settings.shards, &reader.reads) {
            // A majority is enough, so the others are left alone while these answer.
            let mut nearest = self.members.by_distance(self.replicas(shard), Work::Rest);
            nearest.truncate(self.quorums(shard).majority());
            let farthest = nearest.iter().map(|replica| self.members.round_trip(*replica, Work::Rest)).max();
            patience = patience.max(farthest.unwrap_or_default() * 2);
            first.extend(nearest.iter().map(|replica| Target { shard, replica: *replica }));
            shards.insert(shard, AtShard { reads: reads.into(), asked: BTreeMap::new(), valid: BTreeMap::new() });
        }
        let late_at = now.instant + patience;
        self.validations.open.insert(request, Validating { reader, shards, late_at, tries: 0 });
        for to in first {
            self.ask_whether_valid(now, request, to);
        }
        self.set_timer(late_at, Timer::Validation(request));
        self.finish_validation(request);
    }

    fn ask_whether_valid(&mut self, now: Now, request: RequestId, to: Target) {
        let Some(validating) = self.validations.open.get(&request) else { return };
        let Some(own) = validating.shards.get(&to.shard) else { return };
        let ask = Ask::Validate { snapshot: validating.reader.snapshot, reads: own.reads.clone() };
        let number = self.ask(now, to, Purpose::Validation(request), ask);
        if let Some(own) = self.validations.open.get_mut(&request).and_then(|own| own.shards.get_mut(&to.shard)) {
            own.asked.insert(to.replica, number);
        }
    }

    pub(super) fn on_validated(
        &mut self,
        now: Now,
        request: RequestId,
        from: Target,
        view: View,
        valid: Result<(), Invalid>,
    ) {
        let Some(validating) = self.validations.open.get_mut(&request) else { return };
        let Some(own) = validating.shards.get_mut(&from.shard) else { return };
        own.asked.remove(&from.replica);
        match valid {
            Ok(()) => {
                own.valid.insert(from.replica, view);
                self.finish_validation(request);
            }
            Err(Invalid::Changed(at_least)) => {
                // The client can only read again once the feed has brought it there.
                self.want(at_least);
                self.end_validation(request);
                self.reply(request, Reply::Validated(Validity::Changed { at_least }));
            }
            Err(Invalid::UnderWay(at)) => {
                // Its outcome may make the reads invalid, or leave them as they are.
                let pause = BUSY_PAUSES.some_after(validating.tries, at.as_u64() ^ self.settings.life.0);
                validating.tries += 1;
                let tries = validating.tries;
                self.meet(at, tries);
                self.set_timer(now.instant + pause, Timer::Validation(request));
            }
        }
    }

    pub(super) fn on_validation_refused(&mut self, request: RequestId, refusal: Refusal) {
        if self.end_validation(request).is_some() {
            self.reply(request, Reply::Refused(refusal));
        }
    }

    /// Asks everybody who has not been asked, or may give another answer now.
    pub(super) fn press_validation(&mut self, now: Now, request: RequestId) {
        let Some(validating) = self.validations.open.get(&request) else { return };
        if validating.tries > VALIDATIONS_MAX {
            return self.commit_instead(now, request);
        }
        let mut again = Vec::new();
        for (shard, own) in &validating.shards {
            if own.agreeing() >= self.quorums(*shard).majority() {
                continue;
            }
            let others = self.replicas(*shard).into_iter().filter(|id| !own.is_asked_or_valid(*id));
            again.extend(others.map(|replica| Target { shard: *shard, replica }));
            if validating.late_at <= now.instant {
                own.asked.keys().for_each(|replica| self.members.on_silence(*replica, Work::Rest));
            }
        }
        for to in again {
            self.ask_whether_valid(now, request, to);
        }
    }

    /// What was found in earlier views does not count together with what is found in this one.
    pub(super) fn validate_in_view(&mut self, now: Now, shard: ShardId, view: View) {
        let mut again = Vec::new();
        for (request, validating) in &mut self.validations.open {
            let Some(own) = validating.shards.get_mut(&shard) else { continue };
            let earlier = own.valid.iter().filter(|(_, in_view)| **in_view < view).map(|(replica, _)| *replica);
            again.extend(earlier.map(|replica| (*request, Target { shard, replica })));
            own.valid.retain(|_, in_view| *in_view >= view);
        }
        for (request, to) in again {
            self.ask_whether_valid(now, request, to);
        }
    }

    /// The shard has another group, which is asked anew.
    pub(super) fn validate_in_epoch(&mut self, now: Now, shard: ShardId) {
        let mut again = Vec::new();
        for (request, validating) in &mut self.validations.open {
            if let Some(own) = validating.shards.get_mut(&shard) {
                (own.asked, own.valid) = (BTreeMap::new(), BTreeMap::new());
                again.push(*request);
            }
        }
        for request in again {
            for replica in self.replicas(shard) {
                self.ask_whether_valid(now, request, Target { shard, replica });
            }
        }
    }

    /// The shard has ended, and its parts are asked.
    pub(super) fn validate_in_parts(&mut self, now: Now, parent: ShardId) {
        let mut again = Vec::new();
        for (request, validating) in &mut self.validations.open {
            let Some(own) = validating.shards.remove(&parent) else { continue };
            for (shard, reads) in split_reads(&self.settings.shards, &own.reads) {
                let part = AtShard { reads: reads.into(), asked: BTreeMap::new(), valid: BTreeMap::new() };
                validating.shards.insert(shard, part);
                again.push((*request, shard));
            }
        }
        for (request, shard) in again {
            for replica in self.replicas(shard) {
                self.ask_whether_valid(now, request, Target { shard, replica });
            }
        }
    }

    fn finish_validation(&mut self, request: RequestId) {
        let Some(validating) = self.validations.open.get(&request) else { return };
        let enough = |(shard, own): (&ShardId, &AtShard)| own.agreeing() >= self.quorums(*shard).majority();
        if validating.shards.iter().all(enough) {
            self.end_validation(request);
            self.reply(request, Reply::Validated(Validity::Valid));
        }
    }

    fn end_validation(&mut self, request: RequestId) -> Option<Reader> {
        let Validating { reader, shards, .. } = self.validations.open.remove(&request)?;
        for own in shards.into_values() {
            self.questions.drop_all(own.asked.into_values());
        }
        Some(reader)
    }

    fn commit_instead(&mut self, now: Now, request: RequestId) {
        let Some(reader) = self.end_validation(request) else { return };
        let Reader { transaction: id, attempt, snapshot, reads, floor } = reader;
        let (reads, decision) = (reads.to_vec(), Decision::Commit(Vec::new()));
        let transaction = Transaction { id, attempt, snapshot, reads, decision, level: Level::Strict };
        self.begin_transaction(now, now.instant, request, Arc::new(transaction), floor);
    }
}
