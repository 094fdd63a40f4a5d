//! What the log of recent commits has of each.

use std::sync::Arc;

use iolite_store::Commit;
use iolite_values::{Attempt, Level};

use crate::journal::{CheckpointCommit, Completed, CompletedDecision};
use crate::node::{Effect, Proposal};

/// A decided transaction: one that committed, or whose app gave up, which leaves a completion record and no writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    pub commit: Commit,
    pub attempt: Attempt,
    /// What is put beside it may have to stand above it.
    pub level: Level,
    pub is_abort: bool,
    /// Whether its completion record is kept here.
    pub is_home: bool,
}

impl Logged {
    pub fn of(proposal: &Proposal) -> Logged {
        let (writes, is_abort) = match &proposal.effect {
            Effect::Commit(writes) => (writes.clone(), false),
            Effect::Abort => (Arc::from([]), true),
        };
        let commit = Commit { at: proposal.id.at, transaction: proposal.id.transaction, writes };
        Logged { commit, attempt: proposal.id.attempt, level: proposal.level, is_abort, is_home: proposal.is_home }
    }

    pub fn to_record(&self) -> Completed {
        let decision = match self.is_abort {
            true => CompletedDecision::Aborted,
            false => CompletedDecision::Committed(self.commit.writes.to_vec()),
        };
        let Commit { at, transaction, writes: _ } = self.commit;
        Completed { transaction, attempt: self.attempt, at, level: self.level, decision, is_home: self.is_home }
    }

    pub fn from_record(record: Completed) -> Logged {
        let (writes, is_abort) = match record.decision {
            CompletedDecision::Committed(writes) => (writes.into(), false),
            CompletedDecision::Aborted => (Arc::from([]), true),
        };
        let commit = Commit { at: record.at, transaction: record.transaction, writes };
        Logged { commit, attempt: record.attempt, level: record.level, is_abort, is_home: record.is_home }
    }

    pub fn to_checkpoint(&self) -> CheckpointCommit {
        let Commit { at, transaction, writes } = &self.commit;
        let writes = (!self.is_abort).then(|| writes.to_vec());
        let Logged { commit: _, attempt, level, is_abort: _, is_home } = *self;
        CheckpointCommit { at: *at, transaction: *transaction, attempt, level, writes, is_home }
    }

    pub fn from_checkpoint(commit: CheckpointCommit) -> Logged {
        let is_abort = commit.writes.is_none();
        let writes = commit.writes.unwrap_or_default().into();
        let CheckpointCommit { at, transaction, attempt, level, writes: _, is_home } = commit;
        Logged { commit: Commit { at, transaction, writes }, attempt, level, is_abort, is_home }
    }
}
