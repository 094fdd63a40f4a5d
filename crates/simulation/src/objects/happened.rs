//! Events that a run of this world has to meet, or it proves little.

use serde::Serialize;

/// A kind of event of the world of objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectEvent {
    /// An object began.
    Began,
    /// An object began anew, as the life of its owner had ended.
    BeganAnew,
    /// An object began anew, as its owner was part of the service and marked as lost.
    TakenFromLost,
    /// An object that was gone was removed.
    Removed,
    /// An object moved.
    Moved,
    /// An object moved to a device of a user.
    MovedToUser,
    /// A state went in parts.
    InParts,
    /// An owner took an object back whose move was in doubt.
    TakenBack,
    /// A call from inside of a method had a result.
    Nested,
    /// A call would have come back to an object whose method waited for it.
    WouldDeadlock,
    /// A call was in doubt.
    CallInDoubt,
    /// A method's effect was lost, as its node was not the owner any more.
    Fenced,
    /// A device wrote another user into a call.
    Lied,
    /// The link of a device was cut.
    DeviceCut,
    /// A link of a device lost what was sent on it, and nobody was told for a while.
    HalfOpen,
    /// A link of a device took seconds for each message.
    SlowLink,
    /// The link of two servers was cut.
    ServersCut,
    ServerCrashed,
    DeviceCrashed,
    /// A hello that came late gave a device another life than its process had.
    Displaced,
    /// A device had an object again that an earlier process of it had kept.
    Resumed,
    /// A device ended, and never came back.
    DeviceGone,
    /// A process stood still for seconds.
    StoodStill,
    /// A device was marked as lost.
    DeviceMarked,
    /// A server was marked as lost.
    ServerMarked,
    /// A device of the service came back after it was marked as lost, in the same life.
    CameBack,
    /// A server heard nothing of the store for seconds.
    StoreLate,
    /// A commit was in doubt.
    CommitInDoubt,
    /// The store began anew for a server, with its history.
    StoreAnew,
    /// Another store took the place of the first one.
    Restored,
    /// A node took a copy of an object.
    CopyTaken,
    /// A method that reads returned from a copy.
    ReadAtCopy,
    /// A method that writes returned from a copy.
    WrittenAtCopy,
    /// A call ran once more, as nobody knew that it had run.
    Repeated,
    /// A write of an object that never changes was refused.
    WriteRefused,
    /// A copy was pushed.
    Pushed,
    /// A push was refused, as the object had changed since it was pulled.
    PushConflict,
    /// A call was refused as another node had the lease.
    LeaseRefused,
    /// The write of a holder was refused, as its lease had ended.
    HolderFenced,
    /// A transaction was committed.
    Committed,
    /// A transaction was not committed, as its lock had ended or the object had changed.
    CommitConflict,
    /// A commit of a transaction was in doubt.
    TransactionInDoubt,
    /// A commit of a transaction that was said again was answered with success.
    CommittedAgain,
    /// An object moved to the device of a user that called it.
    Followed,
    /// An object moved to the node that a client named to its manager.
    Migrated,
    /// A coordinator kept another memory.
    Remembered,
    /// A user had no right to what a call asked for.
    Denied,
    /// A yes was withdrawn.
    Withdrawn,
}

impl ObjectEvent {
    pub const ALL: [ObjectEvent; 48] = [
        ObjectEvent::Began,
        ObjectEvent::BeganAnew,
        ObjectEvent::TakenFromLost,
        ObjectEvent::Removed,
        ObjectEvent::Moved,
        ObjectEvent::MovedToUser,
        ObjectEvent::InParts,
        ObjectEvent::TakenBack,
        ObjectEvent::Nested,
        ObjectEvent::WouldDeadlock,
        ObjectEvent::CallInDoubt,
        ObjectEvent::Fenced,
        ObjectEvent::Lied,
        ObjectEvent::DeviceCut,
        ObjectEvent::HalfOpen,
        ObjectEvent::SlowLink,
        ObjectEvent::ServersCut,
        ObjectEvent::ServerCrashed,
        ObjectEvent::DeviceCrashed,
        ObjectEvent::Displaced,
        ObjectEvent::Resumed,
        ObjectEvent::DeviceGone,
        ObjectEvent::StoodStill,
        ObjectEvent::DeviceMarked,
        ObjectEvent::ServerMarked,
        ObjectEvent::CameBack,
        ObjectEvent::StoreLate,
        ObjectEvent::CommitInDoubt,
        ObjectEvent::StoreAnew,
        ObjectEvent::Restored,
        ObjectEvent::CopyTaken,
        ObjectEvent::ReadAtCopy,
        ObjectEvent::WrittenAtCopy,
        ObjectEvent::Repeated,
        ObjectEvent::WriteRefused,
        ObjectEvent::Pushed,
        ObjectEvent::PushConflict,
        ObjectEvent::LeaseRefused,
        ObjectEvent::HolderFenced,
        ObjectEvent::Committed,
        ObjectEvent::CommitConflict,
        ObjectEvent::TransactionInDoubt,
        ObjectEvent::CommittedAgain,
        ObjectEvent::Followed,
        ObjectEvent::Migrated,
        ObjectEvent::Remembered,
        ObjectEvent::Denied,
        ObjectEvent::Withdrawn,
    ];
}
