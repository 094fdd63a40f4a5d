//! Events that are going to happen, in order of time.
//!
//! Invariant: of two events of one moment the one that was added first comes first.

use std::collections::BTreeMap;

use iolite_objects::{FromApp, RunId, ServerInput};
use iolite_store::{Request, RequestId};
use iolite_tracking::Input;
use iolite_values::{ObjectEpoch, ObjectName, StoreIncarnation, Transaction};

use super::links::LinkId;
use super::names::At;
use super::peers::{PairId, PeerEnd};
use crate::history::Moment;

#[derive(Clone, Debug)]
pub enum Event {
    /// A process starts.
    Start(At),
    /// A process that stood still goes on.
    Resume(At),
    /// Something comes to a process, if it has not ended since.
    Node(At, u64, NodeEvent),
    /// A request of this server's tracking comes to the store of this id.
    Asked(usize, u64, StoreIncarnation, RequestId, Request),
    /// A commit that was in doubt takes effect, if nothing speaks against it.
    Late(StoreIncarnation, Transaction),
    /// A server is told how far the store is.
    Feed(usize),
    /// The next fault.
    Fault,
    /// A right of a user comes or goes.
    Rights,
    /// The link of two servers is whole again.
    OpenPeers(PairId),
    /// The link of two servers ends, at both ends.
    ClosePeers(PairId, u64),
    /// A link of a device ends for both sides, sooner or later.
    EndLink(LinkId),
}

/// Something that comes to a process.
#[derive(Clone, Debug)]
pub enum NodeEvent {
    /// The client of the process does something.
    Work,
    /// The client calls the same object again, so often.
    Again(ObjectName, u64),
    /// A transaction of the client goes on.
    Script(ObjectName),
    /// A method ends.
    EndRun(RunId),
    /// The app's side has made an object.
    Made(ObjectName, FromApp),
    /// A state is on the disk, and the app's side says what waited for it.
    Kept(ObjectName, (ObjectEpoch, Vec<u64>), Option<FromApp>),
    /// The state of an object that has gone is removed from the disk.
    KeptNoMore(ObjectName),
    /// The app's side has the state of an object ready.
    Save(ObjectName),
    /// The connection of a device is open, or cannot be opened, or has ended.
    Linked(LinkId),
    NotLinked,
    Lost(LinkId),
    Down(LinkId, u64, Vec<u8>),
    /// A link of a server is open.
    Opened(LinkId),
    Closed(LinkId),
    Up(LinkId, u64, Vec<u8>),
    Peer(PeerEnd, PeerHappened),
    Objects(ServerInput),
    Tracking(Input),
}

/// Something that happens at one end of a link of two servers.
#[derive(Clone, Debug)]
pub enum PeerHappened {
    Opened,
    Message(Vec<u8>),
    Closed,
}

#[derive(Debug, Default)]
pub struct Queue {
    last: u64,
    events: BTreeMap<(Moment, u64), Event>,
}

impl Queue {
    pub fn add(&mut self, at: Moment, event: Event) {
        self.last += 1;
        self.events.insert((at, self.last), event);
    }

    pub fn next(&self) -> Option<Moment> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    pub fn take(&mut self) -> Option<(Moment, Event)> {
        self.events.pop_first().map(|((at, _), event)| (at, event))
    }
}
