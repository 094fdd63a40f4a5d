//! The faults that a run makes.

use serde::Serialize;

/// A kind of fault. A run that makes too few of any kind proves little, so they are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A message between coordinator and replica is lost.
    Drop,
    /// A message between coordinator and replica comes twice.
    Duplicate,
    /// A message between coordinator and replica overtakes an earlier one.
    Reorder,
    /// A session's link breaks, with everything on its way.
    Disconnect,
    /// Frames of a session vanish in one direction or both, and nobody is told.
    HalfOpen,
    /// A session's socket takes what the gateway sends slowly.
    SlowSocket,
    /// A replica's process is killed, or loses power, and starts again from its disk.
    ServerRestart,
    /// The only replica starts again on an empty disk, so its history is another one.
    HistoryLost,
    /// A gateway's process is killed and starts again with nothing.
    GatewayRestart,
    /// A client's process is killed and starts again from its storage.
    ClientRestart,
    /// The tab that leads is closed or killed, and one that followed takes over.
    LeaderLost,
    /// A tab that follows is closed, with what it had not stored.
    TabClosed,
    /// A tab that follows stands still, and may lose messages meanwhile.
    TabFrozen,
    /// A tab is told that a batch failed, which its device has stored all the same.
    StoredUnheard,
    /// A power cut takes bytes that were not synced.
    LostUnsynced,
    /// A power cut leaves a write in pieces.
    TornWrite,
    /// A power cut undoes the creation or removal of a file.
    LostNameChange,
    /// A wall clock jumps.
    ClockJump,
    /// A link between two of the server's processes loses everything in one direction for a while.
    Cut,
    /// A replica leaves its view for another one.
    ViewChange,
    /// All replicas are killed, or lose power, at once.
    Blackout,
    /// The server's processes are in two halves, which hear each other one way or not at all for a while.
    Partition,
    /// A gateway ends when some of its PREPAREs have left.
    CrashAtPrepare,
    /// A gateway ends when some of its FINALIZEs have left.
    CrashAtFinalise,
    /// A gateway ends when it has been told an outcome, and some of the replicas have.
    CrashAtOutcome,
    /// A gateway ends when some of its POLLs have left: it takes a proposal over.
    CrashAtPoll,
    /// A process of the server stands still for a while.
    Pause,
    /// A replica's process ends because its disk is full.
    DiskFull,
    /// A replica's disk is gone for good.
    DiskLost,
    /// A bit changes on a disk while its process is down.
    BitRot,
}

impl Fault {
    pub const ALL: [Fault; 30] = [
        Fault::Drop,
        Fault::Duplicate,
        Fault::Reorder,
        Fault::Disconnect,
        Fault::HalfOpen,
        Fault::SlowSocket,
        Fault::ServerRestart,
        Fault::HistoryLost,
        Fault::GatewayRestart,
        Fault::ClientRestart,
        Fault::LeaderLost,
        Fault::TabClosed,
        Fault::TabFrozen,
        Fault::StoredUnheard,
        Fault::LostUnsynced,
        Fault::TornWrite,
        Fault::LostNameChange,
        Fault::ClockJump,
        Fault::Cut,
        Fault::ViewChange,
        Fault::Blackout,
        Fault::Partition,
        Fault::CrashAtPrepare,
        Fault::CrashAtFinalise,
        Fault::CrashAtOutcome,
        Fault::CrashAtPoll,
        Fault::Pause,
        Fault::DiskFull,
        Fault::DiskLost,
        Fault::BitRot,
    ];
}
