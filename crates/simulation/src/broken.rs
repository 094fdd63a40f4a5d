//! Variants of the system with one rule taken out. Each has to be found: that is how we know that the checks check.
//!
//! Some need a world that most seeds do not draw: a group that loses views, or two gateways whose clocks differ. A variant is given such a world
//! (see [`Needs`]), and nothing else about its runs differs. The seeds that must find it stand beside it; `iolite simulate --every-variant` runs them.

use std::ops::RangeInclusive;

use iolite_causal::Broken as BrokenCentre;
use iolite_client::{Broken as BrokenClient, BrokenRows};
use iolite_gateway::Broken as BrokenGateway;
use iolite_objects::Broken as BrokenKernel;
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
    SecondCommitterWins,
    AcknowledgeBeforeFsync,
    NoCompletionRecords,
    RemoveAtReply,
    KeepTakenBack,
    ForgetConfirmed,
    AcknowledgeBeforeApplying,
    DeliverToMost,
    AcknowledgeAnything,
    SendWhatReadPending,
    PassAConflict,
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
    BaseMovesOn,
    JudgeBeforeOutcome,
    FoldWhatWasSent,
    OneRefusedAll,
    StrongReadsKept,
    RunAgainAfterSent,
    SendBeforeStored,
    StampByClock,
    ShowBeforeDurable,
    NameAnew,
    ApplySideBySide,
    ShipFromHistory,
    AcknowledgeEarly,
    LetInBehind,
    RepeatUnjudged,
    ServeBeforeCommit,
    IgnoreEpoch,
    ResendOnReconnect,
    CountFromReceipt,
    SnapshotWhileRunning,
    ExecuteThenInvalidate,
    CommitOverOthers,
    BelieveTheStamp,
    ServeWhatWasKept,
    AnswerBeforeKept,
    CallUnjudged,
    JudgeWithoutReads,
    RulesBeforeGuarded,
    ReadsUnchecked,
    DeniedNotRecorded,
    ClientIdAsSent,
    SendAsAnotherUser,
    TellTheLeavingChange,
    ResumeWithOldRights,
    KeepFollowing,
}

/// Who leaves the rule out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    Replica(BrokenReplica),
    Gateway(BrokenGateway),
    Client(BrokenClient),
    /// A data centre's part in its group.
    Centre(BrokenCentre),
    /// A kernel of objects, or the machine around it.
    Kernel(BrokenKernel),
    /// None of these: whoever hosts them does.
    Hosts,
}

/// What there is to say of a variant.
struct Variant {
    broken: Broken,
    /// On the command line. Rules that stand in a figure of the paper have its number.
    name: &'static str,
    /// What was taken out, in words.
    rule: &'static str,
    place: Where,
    /// The world that shows it.
    needs: Needs,
    /// The seeds of which one must find it, at most 60 (`hunt.rs`). None: the search of models finds it, and few seeds do (tests/models).
    seeds: Option<RangeInclusive<u64>>,
}

/// All that can be taken out, in the order in which they are listed.
const VARIANTS: [Variant; 61] = [
    Variant {
        broken: Broken::SkipReadValidation,
        name: "skip-read-validation",
        rule: "what a transaction read is not checked any more when it commits",
        place: Where::Replica(BrokenReplica::SkipReadValidation),
        needs: Needs::Anything,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::LetRowsIn,
        name: "let-rows-in",
        rule: "rows that come in where a query was asked are not looked at when it commits",
        place: Where::Replica(BrokenReplica::LetRowsIn),
        needs: Needs::Anything,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::SecondCommitterWins,
        name: "second-committer-wins",
        rule: "what was written since its snapshot does not keep a transaction of that level from writing it too",
        place: Where::Replica(BrokenReplica::SecondCommitterWins),
        needs: Needs::Shelves,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::AcknowledgeBeforeFsync,
        name: "acknowledge-before-fsync",
        rule: "replicas do not wait for their disks before they answer",
        place: Where::Hosts,
        needs: Needs::Anything,
        seeds: Some(61..=120),
    },
    Variant {
        broken: Broken::NoCompletionRecords,
        name: "no-completion-records",
        rule: "no outcome is recorded with the commit",
        place: Where::Replica(BrokenReplica::NoCompletionRecords),
        needs: Needs::Anything,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::RemoveAtReply,
        name: "remove-at-reply",
        rule: "a mutation is not pending any more as soon as its outcome is told",
        place: Where::Client(BrokenClient::RemoveAtReply),
        needs: Needs::Anything,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::KeepTakenBack,
        name: "keep-taken-back",
        rule: "a text shows edits that were taken back",
        place: Where::Client(BrokenClient::KeepTakenBack),
        needs: Needs::Anything,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::ForgetConfirmed,
        name: "forget-confirmed",
        rule: "a confirmed call is not known any more while its tab may store it once more",
        place: Where::Client(BrokenClient::ForgetConfirmed),
        needs: Needs::Anything,
        seeds: Some(21..=80),
    },
    Variant {
        broken: Broken::AcknowledgeBeforeApplying,
        name: "acknowledge-before-applying",
        rule: "a change is said to be applied before the pending mutations and the reactive transactions have run on it",
        place: Where::Client(BrokenClient::AcknowledgeBeforeApplying),
        needs: Needs::BusyApps,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::DeliverToMost,
        name: "deliver-to-most",
        rule: "a change is told as delivered without waiting for one of those that follow it",
        place: Where::Gateway(BrokenGateway::DeliverToMost),
        needs: Needs::Anything,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::AcknowledgeAnything,
        name: "acknowledge-anything",
        rule: "the store is told to forget whatever a client says that it knows, also what has no outcome yet",
        place: Where::Gateway(BrokenGateway::AcknowledgeAnything),
        needs: Needs::Anything,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::SendWhatReadPending,
        name: "send-what-read-pending",
        rule: "a mutation is sent although it has read what one before it writes, whose outcome is not known",
        place: Where::Client(BrokenClient::SendWhatReadPending),
        needs: Needs::Anything,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::PassAConflict,
        name: "pass-a-conflict",
        rule: "a mutation goes to the store although the one that it follows conflicted",
        place: Where::Gateway(BrokenGateway::PassHeldUp),
        needs: Needs::Anything,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::PublishPastResolved,
        name: "publish-past-resolved",
        rule: "a gateway tells what is above the resolved timestamp",
        place: Where::Gateway(BrokenGateway::PublishPastResolved),
        needs: Needs::Anything,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::TellOwnLater,
        name: "tell-own-later",
        rule: "a client that comes back is told what it committed after the state that contains it",
        place: Where::Gateway(BrokenGateway::TellOwnLater),
        needs: Needs::Anything,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::ValidateAsFigure9,
        name: "tapir-fig9",
        rule: "conflicts with prepared transactions are judged by timestamps, and committed reads are not looked at, as in Figure 9",
        place: Where::Replica(BrokenReplica::ValidateAsFigure9),
        needs: Needs::TwoClocks,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::AcceptAboveReaders,
        name: "tapir-fig9-merged",
        rule: "a PREPARE that writes above a prepared reader is accepted, as in Figure 9; a merge then validates in another order",
        place: Where::Replica(BrokenReplica::AcceptAboveReaders),
        needs: Needs::LateOutcomes,
        seeds: None,
    },
    Variant {
        broken: Broken::MergeAsFigure5,
        name: "tapir-fig5",
        rule: "a merge keeps only what more than f / 2 + 1 records have, as in Figure 5",
        place: Where::Replica(BrokenReplica::MergeAsFigure5),
        // At f = 1 the two thresholds are the same.
        needs: Needs::Views { replicas: 5 },
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::AnswerForTransaction,
        name: "tapir-fig8",
        rule: "a PREPARE is answered by what is prepared of the same transaction, at whatever timestamp, as in Figure 8",
        place: Where::Replica(BrokenReplica::AnswerForTransaction),
        needs: Needs::Views { replicas: 3 },
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::FinaliseWithoutView,
        name: "finalise-without-view",
        rule: "a FINALIZE of an earlier view is obeyed, as published",
        place: Where::Replica(BrokenReplica::FinaliseWithoutView),
        needs: Needs::Views { replicas: 3 },
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::BeginFromFewer,
        name: "begin-from-fewer",
        rule: "an epoch begins with the records of f replicas of the one before",
        place: Where::Replica(BrokenReplica::BeginFromFewer),
        needs: Needs::Operators(Operators::Resize),
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::LeaveUnsealed,
        name: "leave-unsealed",
        rule: "a replica that is not of the next group goes on answering in the epoch before",
        place: Where::Replica(BrokenReplica::LeaveUnsealed),
        needs: Needs::Operators(Operators::Resize),
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::TakePartBehind,
        name: "take-part-behind",
        rule: "a replica takes part before it has what its group has settled",
        place: Where::Replica(BrokenReplica::TakePartBehind),
        needs: Needs::Operators(Operators::Resize),
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::StartEmpty,
        name: "start-empty",
        rule: "a replica that has lost its disk starts under its old number, on an empty one",
        place: Where::Hosts,
        needs: Needs::Operators(Operators::Replace),
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::EndUndrained,
        name: "end-undrained",
        rule: "a replica of a shard that ends is drained while something is open",
        place: Where::Replica(BrokenReplica::EndUndrained),
        needs: Needs::Operators(Operators::Split),
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::AcceptWhileEnding,
        name: "accept-while-ending",
        rule: "a shard that is to end lets new things in, also when it is drained",
        place: Where::Replica(BrokenReplica::AcceptWhileEnding),
        needs: Needs::Operators(Operators::Split),
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::BaseMovesOn,
        name: "base-moves-on",
        rule: "the base of a kept call follows the confirmed row",
        place: Where::Client(BrokenClient::Rows(BrokenRows::BaseMovesOn)),
        needs: Needs::Rows,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::JudgeBeforeOutcome,
        name: "judge-before-outcome",
        rule: "a row is said to be in conflict while a change set that carries it has no outcome",
        place: Where::Client(BrokenClient::Rows(BrokenRows::JudgeBeforeOutcome)),
        needs: Needs::Rows,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::FoldWhatWasSent,
        name: "fold-what-was-sent",
        rule: "a call on a row that was sent goes with what was sent",
        place: Where::Client(BrokenClient::Rows(BrokenRows::FoldWhatWasSent)),
        needs: Needs::Rows,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::OneRefusedAll,
        name: "one-refused-all",
        rule: "a refused row ends all calls of its change set",
        place: Where::Client(BrokenClient::Rows(BrokenRows::OneRefusedAll)),
        needs: Needs::Rows,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::StrongReadsKept,
        name: "strong-reads-kept",
        rule: "a strong mutation rests on rows as kept calls show them, before these are sent",
        place: Where::Client(BrokenClient::StrongReadsKept),
        needs: Needs::Rows,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::RunAgainAfterSent,
        name: "run-again-after-sent",
        rule: "after a restart a call that took place runs again, though its first effects may have been sent",
        place: Where::Client(BrokenClient::RunAgainAfterSent),
        needs: Needs::Centres,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::SendBeforeStored,
        name: "send-before-stored",
        rule: "what took place is sent before it is stored",
        place: Where::Client(BrokenClient::SendBeforeStored),
        needs: Needs::Centres,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::StampByClock,
        name: "stamp-by-clock",
        rule: "a register is assigned by the device's clock alone, also below a time that its writer has seen",
        place: Where::Client(BrokenClient::StampByClock),
        needs: Needs::Centres,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::ShowBeforeDurable,
        name: "show-before-durable",
        rule: "what one data centre has is shown and confirmed, before a second one has it",
        place: Where::Centre(BrokenCentre::ShowBeforeDurable),
        needs: Needs::Centres,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::NameAnew,
        name: "name-anew",
        rule: "what is taken from another data centre is committed under an id of the taker's own",
        place: Where::Centre(BrokenCentre::NameAnew),
        needs: Needs::Centres,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::ApplySideBySide,
        name: "apply-side-by-side",
        rule: "entries of another data centre are applied without waiting for what they rest on",
        place: Where::Centre(BrokenCentre::ApplySideBySide),
        needs: Needs::Centres,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::ShipFromHistory,
        name: "ship-from-history",
        rule: "other data centres get what is in memory, and not what the outbox has kept",
        place: Where::Centre(BrokenCentre::ShipFromHistory),
        needs: Needs::Centres,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::AcknowledgeEarly,
        name: "acknowledge-early",
        rule: "what clients acknowledged is passed on when the mark that says it has come, and not once everything before it is here",
        place: Where::Centre(BrokenCentre::AcknowledgeEarly),
        needs: Needs::Centres,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::RepeatUnjudged,
        name: "repeat-unjudged",
        rule: "a data centre repeats what conflicted with a change of rights, without what it was judged by",
        place: Where::Centre(BrokenCentre::RepeatUnjudged),
        needs: Needs::Centres,
        seeds: Some(6..=60),
    },
    Variant {
        broken: Broken::LetInBehind,
        name: "let-in-behind",
        rule: "a client of another data centre is let in before all that it has seen is there",
        place: Where::Gateway(BrokenGateway::LetInBehind),
        needs: Needs::Centres,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::ServeBeforeCommit,
        name: "serve-before-commit",
        rule: "an object is served as soon as it is held, before its epoch is committed",
        place: Where::Kernel(BrokenKernel::ServeBeforeCommit),
        needs: Needs::Objects,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::IgnoreEpoch,
        name: "ignore-epoch",
        rule: "an instance goes on although a caller knows a later epoch, and rows are not looked at after a lapse",
        place: Where::Kernel(BrokenKernel::IgnoreEpoch),
        needs: Needs::Objects,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::ResendOnReconnect,
        name: "resend-on-reconnect",
        rule: "a call that was sent on a connection is sent again on the next one",
        place: Where::Kernel(BrokenKernel::ResendOnReconnect),
        needs: Needs::Objects,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::CountFromReceipt,
        name: "count-from-receipt",
        rule: "a device of the service counts its lease from when it hears of it, and not from when it asked",
        place: Where::Kernel(BrokenKernel::CountFromReceipt),
        needs: Needs::Objects,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::SnapshotWhileRunning,
        name: "snapshot-while-running",
        rule: "the state of an object that is to move is taken while a method writes",
        place: Where::Kernel(BrokenKernel::SnapshotWhileRunning),
        needs: Needs::Objects,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::ExecuteThenInvalidate,
        name: "execute-then-invalidate",
        rule: "ConsistentCaching runs a write first, and stops the caches then",
        place: Where::Kernel(BrokenKernel::ExecuteThenInvalidate),
        needs: Needs::Objects,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::CommitOverOthers,
        name: "commit-over-others",
        rule: "OptimisticTransactions commits a transaction whatever has changed since it began",
        place: Where::Kernel(BrokenKernel::CommitOverOthers),
        needs: Needs::Objects,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::BelieveTheStamp,
        name: "believe-the-stamp",
        rule: "the user that a device writes into its calls is believed",
        place: Where::Kernel(BrokenKernel::BelieveTheStamp),
        needs: Needs::Objects,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::ServeWhatWasKept,
        name: "serve-what-was-kept",
        rule: "an object that an earlier process of a device has kept is served without a commit of the next one",
        place: Where::Kernel(BrokenKernel::ServeWhatWasKept),
        needs: Needs::Objects,
        seeds: Some(201..=260),
    },
    Variant {
        broken: Broken::AnswerBeforeKept,
        name: "answer-before-kept",
        rule: "a device answers a write before its disk has the state",
        place: Where::Hosts,
        needs: Needs::Objects,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::CallUnjudged,
        name: "call-unjudged",
        rule: "a call of a device goes to its object without a word of the door of rights",
        place: Where::Kernel(BrokenKernel::CallUnjudged),
        needs: Needs::Objects,
        seeds: Some(1..=60),
    },
    Variant {
        broken: Broken::JudgeWithoutReads,
        name: "judge-without-reads",
        rule: "what a judgement of rights looked at is not checked any more when the mutation commits",
        place: Where::Gateway(BrokenGateway::JudgeWithoutReads),
        needs: Needs::Rights,
        seeds: Some(1..=20),
    },
    Variant {
        broken: Broken::RulesBeforeGuarded,
        name: "rules-before-guarded",
        rule: "what a judgement looked at is dropped where the level of the written tables drops reads",
        place: Where::Gateway(BrokenGateway::RulesBeforeGuarded),
        needs: Needs::Rights,
        seeds: Some(1..=20),
    },
    Variant {
        broken: Broken::ReadsUnchecked,
        name: "reads-unchecked",
        rule: "the reads of a mutation are checked as they were sent, also of rows that its user may not see",
        place: Where::Gateway(BrokenGateway::ReadsUnchecked),
        needs: Needs::Rights,
        seeds: Some(1..=20),
    },
    Variant {
        broken: Broken::DeniedNotRecorded,
        name: "denied-not-recorded",
        rule: "a denial is told, and no abort is recorded in the place of the mutation",
        place: Where::Gateway(BrokenGateway::DeniedNotRecorded),
        needs: Needs::Rights,
        seeds: Some(1..=20),
    },
    Variant {
        broken: Broken::ClientIdAsSent,
        name: "client-id-as-sent",
        rule: "the id of a client is what its device says, and is not made of who its user is",
        place: Where::Gateway(BrokenGateway::ClientIdAsSent),
        needs: Needs::Rights,
        seeds: Some(1..=20),
    },
    Variant {
        broken: Broken::SendAsAnotherUser,
        name: "send-as-another-user",
        rule: "a client sends its queue under the token of another user than before",
        place: Where::Client(BrokenClient::SendAsAnotherUser),
        needs: Needs::Rights,
        seeds: Some(1..=20),
    },
    Variant {
        broken: Broken::TellTheLeavingChange,
        name: "tell-the-leaving-change",
        rule: "a row that leaves what a user may see is told by the change that hid it",
        place: Where::Gateway(BrokenGateway::TellTheLeavingChange),
        needs: Needs::Rights,
        seeds: Some(1..=20),
    },
    Variant {
        broken: Broken::ResumeWithOldRights,
        name: "resume-with-old-rights",
        rule: "a client that comes back is told what has changed of what it holds, whatever its user may see by now",
        place: Where::Gateway(BrokenGateway::ResumeWithOldRights),
        needs: Needs::Rights,
        seeds: Some(1..=20),
    },
    Variant {
        broken: Broken::KeepFollowing,
        name: "keep-following",
        rule: "what a user might see before a membership changed is followed on",
        place: Where::Gateway(BrokenGateway::KeepFollowing),
        needs: Needs::Rights,
        seeds: Some(1..=20),
    },
];

impl Broken {
    /// All but [`Broken::Nothing`].
    pub fn all() -> impl Iterator<Item = Broken> {
        VARIANTS.iter().map(|variant| variant.broken)
    }

    pub fn from_name(name: &str) -> Option<Broken> {
        VARIANTS.iter().find(|variant| variant.name == name).map(|variant| variant.broken)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.variant().map_or("nothing", |variant| variant.name)
    }

    /// What was taken out, in words.
    pub fn rule(self) -> &'static str {
        self.variant().map_or("nothing", |variant| variant.rule)
    }

    /// The world that shows it.
    pub fn needs(self) -> Needs {
        self.variant().map_or(Needs::Anything, |variant| variant.needs)
    }

    /// The seeds of which one must find it, if seeds find it at all.
    pub fn seeds(self) -> Option<RangeInclusive<u64>> {
        self.variant().and_then(|variant| variant.seeds.clone())
    }

    /// What a replica leaves out.
    pub fn of_replica(self) -> BrokenReplica {
        match self.place() {
            Where::Replica(broken) => broken,
            _ => BrokenReplica::Nothing,
        }
    }

    /// What a gateway leaves out.
    pub fn of_gateway(self) -> BrokenGateway {
        match self.place() {
            Where::Gateway(broken) => broken,
            _ => BrokenGateway::Nothing,
        }
    }

    /// What a client leaves out.
    pub fn of_client(self) -> BrokenClient {
        match self.place() {
            Where::Client(broken) => broken,
            _ => BrokenClient::Nothing,
        }
    }

    /// The rule that a data centre leaves out.
    pub fn of_centre(self) -> BrokenCentre {
        match self.place() {
            Where::Centre(broken) => broken,
            _ => BrokenCentre::Nothing,
        }
    }

    /// The rule that a kernel of objects leaves out.
    pub fn of_kernel(self) -> BrokenKernel {
        match self.place() {
            Where::Kernel(broken) => broken,
            _ => BrokenKernel::Nothing,
        }
    }

    fn place(self) -> Where {
        self.variant().map_or(Where::Hosts, |variant| variant.place)
    }

    fn variant(self) -> Option<&'static Variant> {
        let own = VARIANTS.iter().find(|variant| variant.broken == self);
        assert!(own.is_some() || self == Broken::Nothing, "there is an entry of {self:?}");
        own
    }
}
