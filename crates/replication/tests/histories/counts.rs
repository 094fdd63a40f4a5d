//! What happened in a history, so that a test can tell whether enough did.

use iolite_store::{CommitReply, CompletionDecision, Reply, Validity};

#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub committed: u64,
    pub aborted: u64,
    pub conflicts: u64,
    pub in_doubt: u64,
    /// Serializable transactions that strict ones could not have been.
    pub in_the_past: u64,
    /// Reads that were called valid, and those that were called changed.
    pub valid: u64,
    pub changed: u64,
    /// Transactions that only read, and went over to a later snapshot.
    pub moved: u64,
    pub crashes: u64,
    pub records_lost: u64,
    pub checkpoints: u64,
    pub dropped: u64,
    pub duplicated: u64,
    pub gateways_restarted: u64,
    pub view_changes: u64,
    /// Epochs that were begun after the first.
    pub epochs: u64,
    pub disks_lost: u64,
    pub splits: u64,
    /// Replicas of shards that had ended.
    pub turned_off: u64,
    /// Histories in which old versions were collected.
    pub collected: u64,
}

impl Counts {
    pub fn add(&mut self, other: Counts) {
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.conflicts += other.conflicts;
        self.in_doubt += other.in_doubt;
        self.in_the_past += other.in_the_past;
        self.valid += other.valid;
        self.changed += other.changed;
        self.moved += other.moved;
        self.crashes += other.crashes;
        self.records_lost += other.records_lost;
        self.checkpoints += other.checkpoints;
        self.dropped += other.dropped;
        self.duplicated += other.duplicated;
        self.gateways_restarted += other.gateways_restarted;
        self.view_changes += other.view_changes;
        self.epochs += other.epochs;
        self.disks_lost += other.disks_lost;
        self.splits += other.splits;
        self.turned_off += other.turned_off;
        self.collected += other.collected;
    }

    /// Counts what a client was told.
    pub fn count(&mut self, reply: &Reply) {
        match reply {
            Reply::Commit(CommitReply::Completed(completion)) => match completion.decision {
                CompletionDecision::Committed => self.committed += 1,
                CompletionDecision::Aborted => self.aborted += 1,
            },
            Reply::Commit(CommitReply::Conflict { .. }) => self.conflicts += 1,
            Reply::Validated(Validity::Valid) => self.valid += 1,
            Reply::Validated(Validity::Changed { .. }) => self.changed += 1,
            Reply::Commit(CommitReply::InDoubt { .. }) => self.in_doubt += 1,
            Reply::Commit(CommitReply::Forgotten)
            | Reply::ReadAt(_)
            | Reply::Changes(_)
            | Reply::Completions(_)
            | Reply::LastOutcome(_)
            | Reply::Acknowledged
            | Reply::Refused(_) => {}
        }
    }
}
