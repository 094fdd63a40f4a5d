//! Rules that the simulation takes out one at a time, to see that its checks find what is then wrong.

/// The rule that is left out. Nothing, but in the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    #[default]
    Nothing,
    /// An object is served as soon as it is held, before its epoch is committed.
    ServeBeforeCommit,
    /// An instance goes on although a caller knows a later epoch, and rows are not looked at after a lapse.
    IgnoreEpoch,
    /// An object that an earlier process has kept is served in the epoch that it had, without a commit.
    ServeWhatWasKept,
    /// A call that was sent on a connection is sent again on the next one.
    ResendOnReconnect,
    /// A node counts its lease from when it hears of it, and not from when it asked.
    CountFromReceipt,
    /// The state of an object that is to move is taken while a method writes.
    SnapshotWhileRunning,
    /// ConsistentCaching runs a write first, and stops the caches then.
    ExecuteThenInvalidate,
    /// OptimisticTransactions commits a transaction whatever has changed since it began.
    CommitOverOthers,
    /// The caller that a device writes into its calls is believed.
    BelieveTheStamp,
    /// A call of a device goes on without a word of the door of rights.
    CallUnjudged,
}
