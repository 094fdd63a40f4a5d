//! Variants of the system with one rule taken out. Each has to be found: that is how we know that the checks check.
//!
//! Some need a world that most seeds do not draw: a group that loses views, or two gateways whose clocks differ. A variant is given such a world
//! (see [`Needs`]), and nothing else about its runs differs.

use iolite_client::Broken as BrokenClient;
use iolite_gateway::Broken as BrokenGateway;
use iolite_replication::Broken as BrokenReplica;

use crate::needs::Needs;
use crate::world::Operators;

/// Which rule is taken out. Those of replicas are called as in `iolite_replication`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    #[default]
    Nothing,
    SkipReadValidation,
    /// Phantoms.
    LetRowsIn,
    AcknowledgeBeforeFsync,
    NoCompletionRecords,
    RemoveAtReply,
    KeepTakenBack,
    PublishPastResolved,
    TellOwnLater,
    ValidateAsFigure9,
    AcceptAboveReaders,
    MergeAsFigure5,
    AnswerForTransaction,
    FinaliseWithoutView,
    BeginFromFewer,
    LeaveUnsealed,
    TakePartBehind,
    /// A lost disk is an empty one, on which the replica starts under its old number.
    StartEmpty,
    EndUndrained,
    AcceptWhileEnding,
}

impl Broken {
    pub const ALL: [Broken; 19] = [
        Broken::SkipReadValidation,
        Broken::LetRowsIn,
        Broken::AcknowledgeBeforeFsync,
        Broken::NoCompletionRecords,
        Broken::RemoveAtReply,
        Broken::KeepTakenBack,
        Broken::PublishPastResolved,
        Broken::TellOwnLater,
        Broken::ValidateAsFigure9,
        Broken::AcceptAboveReaders,
        Broken::MergeAsFigure5,
        Broken::AnswerForTransaction,
        Broken::FinaliseWithoutView,
        Broken::BeginFromFewer,
        Broken::LeaveUnsealed,
        Broken::TakePartBehind,
        Broken::StartEmpty,
        Broken::EndUndrained,
        Broken::AcceptWhileEnding,
    ];

    /// The name on the command line. Rules that stand in a figure of the paper have its number.
    pub fn name(self) -> &'static str {
        match self {
            Broken::Nothing => "nothing",
            Broken::SkipReadValidation => "skip-read-validation",
            Broken::LetRowsIn => "let-rows-in",
            Broken::AcknowledgeBeforeFsync => "acknowledge-before-fsync",
            Broken::NoCompletionRecords => "no-completion-records",
            Broken::RemoveAtReply => "remove-at-reply",
            Broken::KeepTakenBack => "keep-taken-back",
            Broken::PublishPastResolved => "publish-past-resolved",
            Broken::TellOwnLater => "tell-own-later",
            Broken::ValidateAsFigure9 => "tapir-fig9",
            Broken::AcceptAboveReaders => "tapir-fig9-merged",
            Broken::MergeAsFigure5 => "tapir-fig5",
            Broken::AnswerForTransaction => "tapir-fig8",
            Broken::FinaliseWithoutView => "finalise-without-view",
            Broken::BeginFromFewer => "begin-from-fewer",
            Broken::LeaveUnsealed => "leave-unsealed",
            Broken::TakePartBehind => "take-part-behind",
            Broken::StartEmpty => "start-empty",
            Broken::EndUndrained => "end-undrained",
            Broken::AcceptWhileEnding => "accept-while-ending",
        }
    }

    pub fn from_name(name: &str) -> Option<Broken> {
        Broken::ALL.into_iter().find(|broken| broken.name() == name)
    }

    /// What was taken out, in words.
    pub fn rule(self) -> &'static str {
        match self {
            Broken::Nothing => "nothing",
            Broken::SkipReadValidation => "what a transaction read is not checked any more when it commits",
            Broken::LetRowsIn => "rows that come in where a query was asked are not looked at when it commits",
            Broken::AcknowledgeBeforeFsync => "replicas do not wait for their disks before they answer",
            Broken::NoCompletionRecords => "no outcome is recorded with the commit",
            Broken::RemoveAtReply => "a mutation is not pending any more as soon as its outcome is told",
            Broken::KeepTakenBack => "a text shows edits that were taken back",
            Broken::PublishPastResolved => "a gateway tells what is above the resolved timestamp",
            Broken::TellOwnLater => {
                "a client that comes back is told what it committed after the state that contains it"
            }
            Broken::ValidateAsFigure9 => {
                "conflicts with prepared transactions are judged by timestamps, and committed reads are not looked at, as in Figure 9"
            }
            Broken::AcceptAboveReaders => {
                "a PREPARE that writes above a prepared reader is accepted, as in Figure 9; a merge then validates in another order"
            }
            Broken::MergeAsFigure5 => "a merge keeps only what more than f / 2 + 1 records have, as in Figure 5",
            Broken::AnswerForTransaction => {
                "a PREPARE is answered by what is prepared of the same transaction, at whatever timestamp, as in Figure 8"
            }
            Broken::FinaliseWithoutView => "a FINALIZE of an earlier view is obeyed, as published",
            Broken::BeginFromFewer => "an epoch begins with the records of f replicas of the one before",
            Broken::LeaveUnsealed => "a replica that is not of the next group goes on answering in the epoch before",
            Broken::TakePartBehind => "a replica takes part before it has what its group has settled",
            Broken::StartEmpty => "a replica that has lost its disk starts under its old number, on an empty one",
            Broken::EndUndrained => "a replica of a shard that ends is drained while something is open",
            Broken::AcceptWhileEnding => "a shard that is to end lets new things in, also when it is drained",
        }
    }

    pub fn needs(self) -> Needs {
        match self {
            Broken::Nothing
            | Broken::SkipReadValidation
            | Broken::LetRowsIn
            | Broken::AcknowledgeBeforeFsync
            | Broken::NoCompletionRecords
            | Broken::RemoveAtReply
            | Broken::KeepTakenBack
            | Broken::PublishPastResolved
            | Broken::TellOwnLater => Needs::Anything,
            Broken::ValidateAsFigure9 => Needs::TwoClocks,
            Broken::AcceptAboveReaders => Needs::LateOutcomes,
            Broken::AnswerForTransaction | Broken::FinaliseWithoutView => Needs::Views { replicas: 3 },
            // At f = 1 the two thresholds are the same.
            Broken::MergeAsFigure5 => Needs::Views { replicas: 5 },
            Broken::StartEmpty => Needs::Operators(Operators::Replace),
            Broken::BeginFromFewer | Broken::LeaveUnsealed | Broken::TakePartBehind => {
                Needs::Operators(Operators::Resize)
            }
            Broken::EndUndrained | Broken::AcceptWhileEnding => Needs::Operators(Operators::Split),
        }
    }

    /// What a client leaves out.
    pub fn of_client(self) -> BrokenClient {
        match self {
            Broken::RemoveAtReply => BrokenClient::RemoveAtReply,
            Broken::KeepTakenBack => BrokenClient::KeepTakenBack,
            Broken::Nothing
            | Broken::SkipReadValidation
            | Broken::LetRowsIn
            | Broken::AcknowledgeBeforeFsync
            | Broken::NoCompletionRecords
            | Broken::PublishPastResolved
            | Broken::TellOwnLater
            | Broken::ValidateAsFigure9
            | Broken::AcceptAboveReaders
            | Broken::MergeAsFigure5
            | Broken::AnswerForTransaction
            | Broken::FinaliseWithoutView
            | Broken::BeginFromFewer
            | Broken::LeaveUnsealed
            | Broken::TakePartBehind
            | Broken::StartEmpty
            | Broken::EndUndrained
            | Broken::AcceptWhileEnding => BrokenClient::Nothing,
        }
    }

    /// What a replica leaves out.
    pub fn of_replica(self) -> BrokenReplica {
        match self {
            Broken::SkipReadValidation => BrokenReplica::SkipReadValidation,
            Broken::LetRowsIn => BrokenReplica::LetRowsIn,
            Broken::NoCompletionRecords => BrokenReplica::NoCompletionRecords,
            Broken::ValidateAsFigure9 => BrokenReplica::ValidateAsFigure9,
            Broken::AcceptAboveReaders => BrokenReplica::AcceptAboveReaders,
            Broken::MergeAsFigure5 => BrokenReplica::MergeAsFigure5,
            Broken::AnswerForTransaction => BrokenReplica::AnswerForTransaction,
            Broken::FinaliseWithoutView => BrokenReplica::FinaliseWithoutView,
            Broken::BeginFromFewer => BrokenReplica::BeginFromFewer,
            Broken::LeaveUnsealed => BrokenReplica::LeaveUnsealed,
            Broken::TakePartBehind => BrokenReplica::TakePartBehind,
            Broken::EndUndrained => BrokenReplica::EndUndrained,
            Broken::AcceptWhileEnding => BrokenReplica::AcceptWhileEnding,
            Broken::Nothing
            | Broken::AcknowledgeBeforeFsync
            | Broken::RemoveAtReply
            | Broken::KeepTakenBack
            | Broken::PublishPastResolved
            | Broken::TellOwnLater
            | Broken::StartEmpty => BrokenReplica::Nothing,
        }
    }

    /// What a gateway leaves out.
    pub fn of_gateway(self) -> BrokenGateway {
        match self {
            Broken::PublishPastResolved => BrokenGateway::PublishPastResolved,
            Broken::TellOwnLater => BrokenGateway::TellOwnLater,
            Broken::Nothing
            | Broken::SkipReadValidation
            | Broken::LetRowsIn
            | Broken::AcknowledgeBeforeFsync
            | Broken::NoCompletionRecords
            | Broken::RemoveAtReply
            | Broken::KeepTakenBack
            | Broken::ValidateAsFigure9
            | Broken::AcceptAboveReaders
            | Broken::MergeAsFigure5
            | Broken::AnswerForTransaction
            | Broken::FinaliseWithoutView
            | Broken::BeginFromFewer
            | Broken::LeaveUnsealed
            | Broken::TakePartBehind
            | Broken::StartEmpty
            | Broken::EndUndrained
            | Broken::AcceptWhileEnding => BrokenGateway::Nothing,
        }
    }
}
