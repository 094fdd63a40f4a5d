//! Ways to break a replica on purpose, so that the simulator can show that its checkers find what each rule prevents.

/// Chosen when a replica is made. For simulations and tests only; everything else says [`Broken::Nothing`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    #[default]
    Nothing,
    /// Reads are not validated: a transaction commits on what is no longer true.
    SkipReadValidation,
    /// What comes in where a query was asked is not looked at: it watches the rows that it returned, and nothing else.
    LetRowsIn,
    /// At the level of a snapshot, what others have written since does not matter: not the first to commit wins, but who comes last.
    SecondCommitterWins,
    /// No outcome is recorded: a transaction that is sent again takes effect again.
    NoCompletionRecords,
    /// The barrier does not bind: something may commit at or below a timestamp that was called resolved.
    PublishPastResolved,
    /// A write may go below a committed one that it does not commute with, as in the published rule (TAPIR, TOCS 2018, Figure 9).
    AcceptBelowWrites,
    /// Conflicts are judged by timestamps, and what committed transactions have read is not looked at, as in Figure 9 (flaw 2).
    ValidateAsFigure9,
    /// A FINALIZE of an earlier view is obeyed (flaw 6).
    FinaliseWithoutView,
    /// A write is accepted above a prepared transaction that reads what it writes, as in Figure 9, and a merge validates again, which is then unsound (flaw 3).
    AcceptAboveReaders,
    /// ceil(3f / 2) + 1 equal votes decide at once, and a merge keeps what the text of the paper says (flaw 7).
    FastAsPublished,
    /// The same, but a merge keeps only what more than f / 2 + 1 records have, as in Figure 5 (flaw 4).
    MergeAsFigure5,
    /// A transaction that is prepared is answered OK at whatever timestamp it is asked for, as in Figure 8 (flaw 5).
    AnswerForTransaction,
    /// A transaction that only reads is validated against what committed here, and not against what is prepared.
    ValidateWithoutPrepared,
    /// A new epoch begins with the records of f replicas of the one before.
    BeginFromFewer,
    /// A replica that is not of the next group goes on answering in the epoch before.
    LeaveUnsealed,
    /// A replica of a shard that ends says that it is drained while something is open.
    EndUndrained,
    /// A shard that is to end lets new things in all the same, also when it is drained.
    AcceptWhileEnding,
    /// A replica takes part in a view before it has what its master record calls settled: a new one on an empty disk counts at once.
    TakePartBehind,
}

impl Broken {
    /// Whether a merge validates again what a fast quorum may have accepted.
    pub(crate) fn merges_as_published(self) -> bool {
        matches!(
            self,
            Broken::ValidateAsFigure9 | Broken::AcceptAboveReaders | Broken::FastAsPublished | Broken::MergeAsFigure5
        )
    }
}
