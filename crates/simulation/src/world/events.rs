//! What is going to happen, in order of time.

use std::collections::BTreeMap;

use iolite_client::TabId;
use iolite_gateway::SessionId;
use iolite_machine::PersistId;
use iolite_replication::messages::{FromReplica, ToReplica};

use super::links::LinkId;
use crate::history::{ClientIndex, Moment};

#[derive(Clone, Debug)]
pub enum Event {
    /// The app of a client does something.
    Work(ClientIndex),
    ToReplica(Box<ToReplica>),
    /// To a life of a front.
    ToFront {
        front: usize,
        life: u64,
        message: Box<FromReplica>,
    },
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
    SyncEnds {
        boot: u64,
    },
    /// The storage of a client's device finishes a job.
    Stored {
        client: ClientIndex,
    },
    /// A frozen tab learns that something is stored.
    TabStored {
        client: ClientIndex,
        tab: TabId,
        persist: PersistId,
    },
    ToTab {
        client: ClientIndex,
        tab: TabId,
        leader_life: u64,
        message: Vec<u8>,
    },
    FromTab {
        client: ClientIndex,
        tab: TabId,
        message: Vec<u8>,
    },
    LeaderChanged {
        client: ClientIndex,
        tab: TabId,
    },
    TabGone {
        client: ClientIndex,
        tab: TabId,
    },
    OpenTab(ClientIndex),
    /// A frozen tab goes on.
    Thaw,
    Checkpoint,
    Disconnect,
    CrashStore,
    StartStore,
    CrashFront,
    StartFront(usize),
    CrashClient,
    LoseLeader,
    CloseTab,
    FreezeTab,
    JumpClock,
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
