//! Going over to the configuration of a shard that a replica tells of.
//!
//! Invariants:
//! - nothing that a replica answered in an earlier epoch counts in a later one: all that is under way is asked anew, of the later group;
//! - a group that is told on was chosen: a replica had gone over to it, or a directory told of it, which does so only then.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::{Instant, Now};
use iolite_store::RequestId;
use iolite_values::StoreIncarnation;

use super::questions::{Purpose, Target};
use super::{Coordinator, Session};
use crate::node::{Ask, Group, ReplicaId, ShardId, View};

impl Coordinator {
    /// The replica has gone over to this group. One that is behind is told of the later one: whoever else knew of it may be lost.
    pub(super) fn on_wrong_epoch(&mut self, now: Now, from: ReplicaId, store: StoreIncarnation, group: Group) {
        let known = self.settings.shards.group(group.shard);
        match known.map(|known| (group.epoch.cmp(&known.epoch), known)) {
            Some((Ordering::Less, later)) if self.history == Some(store) => {
                let (to, group) = (Target { shard: group.shard, replica: from }, later.clone());
                self.post_of(Some(store), to, 0, Ask::Configured { group });
            }
            Some((Ordering::Greater, _)) => {
                self.history = Some(store);
                self.go_over(now, group);
            }
            Some((Ordering::Less | Ordering::Equal, _)) | None => {}
        }
    }

    /// A group that was chosen.
    pub(super) fn go_over(&mut self, now: Now, group: Group) {
        let (shard, epoch) = (group.shard, group.epoch);
        if self.settings.shards.group(shard).is_none_or(|known| known.epoch >= epoch) {
            return;
        }
        self.settings.shards.set_group(group);
        self.views.insert(shard, View { epoch, number: 0 });
        let acknowledgements = self.acknowledgements_at(shard);
        self.questions.drop_each(|question| question.to.shard == shard);
        self.vote_in_epoch(now, shard);
        self.take_over_in_epoch(now, shard);
        self.read_in_epoch(now, shard);
        self.validate_in_epoch(now, shard);
        for (request, ask) in acknowledgements {
            self.acknowledge_at(now, shard, request, &ask);
        }
        match self.session {
            Session::Opening(_) => self.open(now),
            Session::Open { .. } => self.close_in_epoch(now, shard),
        }
    }

    /// Whoever does not answer for long may have been replaced and turned off, and whoever has answered may have gone over since. So all of the shard are asked
    /// what needs no answer: those that have gone over say so. Once in the longest pause between two questions, however many wait.
    pub(super) fn look_for_later_groups(&mut self, now: Instant, due: &[u64]) {
        let pause = self.settings.resend_after_max;
        let silent = due.iter().filter_map(|number| self.questions.asked_seldom(*number));
        for shard in silent.map(|to| to.shard).collect::<BTreeSet<_>>() {
            if self.looked_for.get(&shard).is_some_and(|last| now < *last + pause) {
                continue;
            }
            self.looked_for.insert(shard, now);
            for replica in self.replicas(shard) {
                self.say(Target { shard, replica }, Ask::Open);
            }
        }
    }

    /// Those that wait for a majority of the shard.
    pub(super) fn acknowledgements_at(&self, shard: ShardId) -> BTreeMap<RequestId, Ask> {
        let own = self.questions.of_shard(shard).filter_map(|(purpose, ask)| match purpose {
            Purpose::Acknowledge(request) if self.acknowledging.contains_key(request) => Some((*request, ask.clone())),
            Purpose::Acknowledge(_)
            | Purpose::Open
            | Purpose::Begin
            | Purpose::Close
            | Purpose::Vote { .. }
            | Purpose::Backup(_)
            | Purpose::Validation(_)
            | Purpose::Reading { .. } => None,
        });
        own.collect()
    }
}
