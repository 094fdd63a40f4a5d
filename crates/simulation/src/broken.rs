//! Variants of the system with one rule taken out. Each has to be found: that is how we know that the checks check.
//!
//! Some need a world that most seeds do not draw: a group that loses views, or two gateways whose clocks differ. A variant is given such a world
//! (see [`Needs`]), and nothing else about its runs differs.

use iolite_gateway::Broken as BrokenGateway;
use iolite_replication::Broken as BrokenReplica;

use crate::needs::Needs;

/// Which rule is taken out. Those of replicas are called as in `iolite_replication`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    #[default]
    Nothing,
    SkipReadValidation,
    AcknowledgeBeforeFsync,
    NoCompletionRecords,
    RemoveAtReply,
    PublishPastResolved,
    ValidateAsFigure9,
    AcceptAboveReaders,
    MergeAsFigure5,
    AnswerForTransaction,
    FinaliseWithoutView,
}

impl Broken {
    pub const ALL: [Broken; 10] = [
        Broken::SkipReadValidation,
        Broken::AcknowledgeBeforeFsync,
        Broken::NoCompletionRecords,
        Broken::RemoveAtReply,
        Broken::PublishPastResolved,
        Broken::ValidateAsFigure9,
        Broken::AcceptAboveReaders,
        Broken::MergeAsFigure5,
        Broken::AnswerForTransaction,
        Broken::FinaliseWithoutView,
    ];

    /// The name on the command line. Rules that stand in a figure of the paper have its number.
    pub fn name(self) -> &'static str {
        match self {
            Broken::Nothing => "nothing",
            Broken::SkipReadValidation => "skip-read-validation",
            Broken::AcknowledgeBeforeFsync => "acknowledge-before-fsync",
            Broken::NoCompletionRecords => "no-completion-records",
            Broken::RemoveAtReply => "remove-at-reply",
            Broken::PublishPastResolved => "publish-past-resolved",
            Broken::ValidateAsFigure9 => "tapir-fig9",
            Broken::AcceptAboveReaders => "tapir-fig9-merged",
            Broken::MergeAsFigure5 => "tapir-fig5",
            Broken::AnswerForTransaction => "tapir-fig8",
            Broken::FinaliseWithoutView => "finalise-without-view",
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
            Broken::AcknowledgeBeforeFsync => "replicas do not wait for their disks before they answer",
            Broken::NoCompletionRecords => "no outcome is recorded with the commit",
            Broken::RemoveAtReply => "a mutation is not pending any more as soon as its outcome is told",
            Broken::PublishPastResolved => "a gateway tells what is above the resolved timestamp",
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
        }
    }

    pub fn needs(self) -> Needs {
        match self {
            Broken::Nothing
            | Broken::SkipReadValidation
            | Broken::AcknowledgeBeforeFsync
            | Broken::NoCompletionRecords
            | Broken::RemoveAtReply
            | Broken::PublishPastResolved => Needs::Anything,
            Broken::ValidateAsFigure9 => Needs::TwoClocks,
            Broken::AcceptAboveReaders => Needs::LateOutcomes,
            Broken::AnswerForTransaction | Broken::FinaliseWithoutView => Needs::Views { replicas: 3 },
            // At f = 1 the two thresholds are the same.
            Broken::MergeAsFigure5 => Needs::Views { replicas: 5 },
        }
    }

    /// What a replica leaves out.
    pub fn of_replica(self) -> BrokenReplica {
        match self {
            Broken::SkipReadValidation => BrokenReplica::SkipReadValidation,
            Broken::NoCompletionRecords => BrokenReplica::NoCompletionRecords,
            Broken::ValidateAsFigure9 => BrokenReplica::ValidateAsFigure9,
            Broken::AcceptAboveReaders => BrokenReplica::AcceptAboveReaders,
            Broken::MergeAsFigure5 => BrokenReplica::MergeAsFigure5,
            Broken::AnswerForTransaction => BrokenReplica::AnswerForTransaction,
            Broken::FinaliseWithoutView => BrokenReplica::FinaliseWithoutView,
            Broken::Nothing | Broken::AcknowledgeBeforeFsync | Broken::RemoveAtReply | Broken::PublishPastResolved => {
                BrokenReplica::Nothing
            }
        }
    }

    /// What a gateway leaves out.
    pub fn of_gateway(self) -> BrokenGateway {
        match self {
            Broken::PublishPastResolved => BrokenGateway::PublishPastResolved,
            Broken::Nothing
            | Broken::SkipReadValidation
            | Broken::AcknowledgeBeforeFsync
            | Broken::NoCompletionRecords
            | Broken::RemoveAtReply
            | Broken::ValidateAsFigure9
            | Broken::AcceptAboveReaders
            | Broken::MergeAsFigure5
            | Broken::AnswerForTransaction
            | Broken::FinaliseWithoutView => BrokenGateway::Nothing,
        }
    }
}
