//! The group that the replica was made with, as its journal says it.
//!
//! Invariants:
//! - it is in the journal before anything else is, so before the replica promised anything to anybody;
//! - a replica whose journal says one group does not start with another one: quorums of two groups of one epoch need not meet.
//!
//! A later configuration is chosen by a transaction, and says by itself who keeps the shard: from then on it does not matter what the host gives.

use super::standing::Standing;
use super::{Replica, ReplicaSettings};
use crate::ir::Quorums;
use crate::journal::JournalRecord;
use crate::node::{Configuration, Group, Split};

use super::recover::RecoverError;

impl Replica {
    /// What has to be in the journal before the next record, if anything has.
    pub(super) fn unsaid_first_group(&mut self) -> Vec<JournalRecord> {
        if std::mem::replace(&mut self.says_first_group, true) {
            return Vec::new();
        }
        let first = JournalRecord::Configured(Configuration::first(self.settings.group.clone()));
        // The group last: a crash may come between the two, and a journal that says the group says the origin too.
        self.origin_record().into_iter().chain([first]).collect()
    }

    pub(super) fn origin_record(&self) -> Option<JournalRecord> {
        self.settings.origin.clone().map(JournalRecord::Split)
    }

    /// How this shard ends, or how it came to be.
    pub(super) fn replay_split(&mut self, split: Split) {
        match split.parent().shard == self.configuration.group().shard {
            true => self.divide(split),
            false => self.known_origin = Some(split),
        }
    }

    /// One without a group before is what the replica was made with; no replica goes over to such a one.
    pub(super) fn replay_configuration(&mut self, configuration: Configuration) {
        self.says_first_group = true;
        match (configuration.previous(), self.configuration.previous()) {
            (Some(_), _) => self.configure(configuration),
            (None, None) if configuration != self.configuration => self.begin_as(configuration),
            (None, _) => {}
        }
    }

    fn begin_as(&mut self, first: Configuration) {
        self.quorums = Quorums::of(first.group());
        self.standing = Standing::from_the_start(first.group(), self.settings.id);
        self.configuration = first;
    }

    /// # Errors
    /// [`RecoverError::OtherGroup`], when the journal says another first group than the host, and no later one.
    pub(super) fn check_first_group(&self) -> Result<(), RecoverError> {
        let ReplicaSettings { group: given, .. } = &self.settings;
        let says_origin = self.says_first_group || self.known_origin.is_some();
        if says_origin && self.known_origin != self.settings.origin {
            return Err(RecoverError::OtherOrigin);
        }
        let known = self.configuration.group();
        match self.configuration.previous() {
            None if known != given => Err(RecoverError::OtherGroup { known: named(known), given: named(given) }),
            None | Some(_) => Ok(()),
        }
    }
}

fn named(group: &Group) -> String {
    let members: Vec<String> = group.members().iter().map(|member| member.0.to_string()).collect();
    format!("shard {}, epoch {}, replicas {}", group.shard.0, group.epoch.0, members.join(", "))
}
