//! What is going to happen, in order of time.

use std::collections::BTreeMap;

use iolite_causal::LinkId as CentreLinkId;
use iolite_client::TabId;
use iolite_gateway::SessionId;
use iolite_machine::PersistId;
use iolite_replication::node::{ReplicaId, ToReplica};
use iolite_values::StoreIncarnation;

use super::device::Writer;
use super::links::LinkId;
use crate::history::{ClientIndex, Moment};

#[derive(Clone, Debug)]
pub enum Event {
    /// The app of a client does something.
    Work(ClientIndex),
    Session(SessionEvent),
    Server(ServerEvent),
    Tab(ClientIndex, TabEvent),
    /// The storage of a client's device finishes a job.
    Stored(ClientIndex),
    /// A tab tries again what it was told has failed.
    StoreAgain(ClientIndex, Writer),
    Fault(PlannedFault),
    Centre(CentreLinkEvent),
    CentreFault(CentreFault),
    /// Operators deploy rights.
    Deploy,
    /// The hostile user does something.
    Hostile,
}

/// What happens between a client and a gateway.
#[derive(Clone, Debug)]
pub enum SessionEvent {
    LinkUp(LinkId),
    LinkFails {
        client: ClientIndex,
        life: u64,
    },
    FrameUp {
        link: LinkId,
        frame: Vec<u8>,
    },
    FrameDown {
        link: LinkId,
        frame: Vec<u8>,
    },
    /// The gateway closes the link.
    CloseDown(LinkId),
    /// The client closes the link.
    CloseUp {
        front: usize,
        life: u64,
        session: SessionId,
    },
    /// The client has taken a message.
    Drained {
        front: usize,
        life: u64,
        session: SessionId,
    },
    /// Both ends are told that a half-open link is gone.
    ResetArrives(LinkId),
}

/// What happens behind the gateways.
#[derive(Clone, Debug)]
pub enum ServerEvent {
    /// From a life of a front, in whose process it waited.
    Leaves {
        front: usize,
        life: u64,
        to: ReplicaId,
        message: Box<ToReplica>,
    },
    ToReplica {
        to: ReplicaId,
        frame: Vec<u8>,
    },
    Between {
        to: ReplicaId,
        frame: Vec<u8>,
    },
    /// To a life of a front.
    ToFront {
        front: usize,
        life: u64,
        frame: Vec<u8>,
    },
    SyncEnds {
        replica: ReplicaId,
        boot: u64,
    },
    Checkpoint,
    StartReplica(ReplicaId),
    StartFront(usize),
    /// A disk that was full has room again.
    DiskHasRoom(ReplicaId),
    /// A process that stood still goes on.
    GoesOn,
}

/// What happens between the tabs of one client.
#[derive(Clone, Debug)]
pub enum TabEvent {
    Open,
    /// A tab is told what its leader says, in a life of the leader that stood on a history of the store.
    FromLeader {
        tab: TabId,
        leader: LeaderThen,
        message: Vec<u8>,
    },
    ToLeader {
        tab: TabId,
        message: Vec<u8>,
    },
    LeaderChanged(TabId),
    /// The leader hears that a tab was closed.
    Gone(TabId),
    /// A frozen tab learns that something is stored.
    Stored(TabId, PersistId),
    /// A frozen tab goes on.
    Thaw,
    /// The user reloads a tab of an old version of the app.
    Reload(TabId),
}

/// The leader at the moment at which it said something.
#[derive(Clone, Copy, Debug)]
pub struct LeaderThen {
    pub life: u64,
    pub store: Option<StoreIncarnation>,
}

/// A fault that comes again and again.
#[derive(Clone, Copy, Debug)]
pub enum PlannedFault {
    Disconnect,
    HalfOpen,
    SlowSocket,
    CrashStore,
    CrashFront,
    CrashClient,
    LoseLeader,
    CloseTab,
    FreezeTab,
    JumpClock,
    Cut,
    ChangeView,
    Partition,
    TrapCoordinator,
    StandStill,
    FillDisk,
    Operate,
}

/// An event on a link between data centres. Its ends are 0, which dialled, and 1.
#[derive(Clone, Debug)]
pub enum CentreLinkEvent {
    /// From a life of a gateway.
    Dial {
        from: usize,
        to: usize,
        life: u64,
    },
    Opens {
        link: CentreLinkId,
        end: usize,
    },
    Frame {
        link: CentreLinkId,
        end: usize,
        frame: Vec<u8>,
    },
    Closes {
        link: CentreLinkId,
        end: usize,
    },
}

/// A fault of data centres.
#[derive(Clone, Copy, Debug)]
pub enum CentreFault {
    /// Links between two are cut for a short while.
    Cut,
    /// One is cut off from all others, mostly for long.
    Isolate,
    /// The messages of one to another one wait.
    Wait,
    /// One or two crash.
    Stop,
    /// One is going to be destroyed.
    Lose,
    Destroy(usize),
}

impl PlannedFault {
    pub const ALL: [PlannedFault; 17] = [
        PlannedFault::Disconnect,
        PlannedFault::HalfOpen,
        PlannedFault::SlowSocket,
        PlannedFault::CrashStore,
        PlannedFault::CrashFront,
        PlannedFault::CrashClient,
        PlannedFault::LoseLeader,
        PlannedFault::CloseTab,
        PlannedFault::FreezeTab,
        PlannedFault::JumpClock,
        PlannedFault::Cut,
        PlannedFault::ChangeView,
        PlannedFault::Partition,
        PlannedFault::TrapCoordinator,
        PlannedFault::StandStill,
        PlannedFault::FillDisk,
        PlannedFault::Operate,
    ];
}

impl Event {
    /// What the trace's hash takes of the event.
    pub fn digest(&self) -> Vec<u8> {
        format!("{self:?}").into_bytes()
    }
}

#[derive(Debug, Default)]
pub struct Events {
    queue: BTreeMap<(Moment, u64), Event>,
    added: u64,
}

impl Events {
    pub fn add(&mut self, at: Moment, event: Event) {
        self.added += 1;
        self.queue.insert((at, self.added), event);
    }

    pub fn next_moment(&self) -> Option<Moment> {
        self.queue.keys().next().map(|(moment, _)| *moment)
    }

    pub fn take(&mut self) -> Option<Event> {
        self.queue.pop_first().map(|(_, event)| event)
    }
}
