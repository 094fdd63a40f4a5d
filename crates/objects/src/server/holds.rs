//! Objects that a node is to hold: this one, one that has dialled it, or one behind another server.
//!
//! Invariant: every hold has one end: the node holds the object, or the reason why not.

use std::collections::BTreeMap;

use iolite_machine::Machine;
use iolite_values::{DeviceRight, NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Begin, Declared, Hold, NotRun, PeerMessage, ToDevice};

use super::rights::{Guarded, Right};
use super::{PeerLink, Server, SessionId};
use crate::kernel::{IncomingId, KernelInput};
use crate::parts;

#[derive(Debug, Default)]
pub(super) struct Holds {
    open: BTreeMap<HoldKey, HoldFor>,
}

/// The side that is asked to hold an object, and the number of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HoldKey {
    Kernel(IncomingId),
    Session(SessionId, u64),
    Peer(PeerLink, u64),
}

/// The part that waits until an object is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HoldFor {
    Creation(ObjectName),
    Move(ObjectName),
    /// Another server, with its number of the question.
    Peer(PeerLink, u64),
}

/// A place where an object may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    Kernel,
    Session(SessionId),
    /// A node behind another server; any, if none is named.
    Peer(PeerLink, Option<NodeId>),
}

/// An object to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToHold {
    pub begin: Begin,
    pub epoch: ObjectEpoch,
    pub state: Vec<u8>,
}

/// Whether objects of a class may be at devices of users.
pub(super) fn may_be_at_devices(declared: &Declared) -> bool {
    declared.devices == DeviceRight::Hold && !declared.is_kept_in_cloud()
}

impl Server {
    pub(super) fn hold_at(&mut self, spot: Spot, waits: HoldFor, to_hold: ToHold) {
        let ToHold { begin, epoch, state } = to_hold;
        match spot {
            Spot::Kernel => {
                let id = self.incoming();
                self.holds.open.insert(HoldKey::Kernel(id), waits);
                self.kernel.handle(self.now, KernelInput::Hold { id, begin, epoch, state });
            }
            Spot::Session(session) if self.sessions.serves(session) => {
                self.hold_at_session(session, waits, ToHold { begin, epoch, state });
            }
            // Only a class that says so may be at a device of a user, and only of one who may.
            Spot::Session(_) if !may_be_at_devices(&begin.declared) => {
                self.hold_ended(waits, Err(NotRun::NotPermitted));
            }
            Spot::Session(session) => {
                let (object, guarded) =
                    (begin.object.clone(), Guarded::Hold(waits, Box::new(ToHold { begin, epoch, state })));
                self.guard(session, object, Right::Hold, guarded);
            }
            Spot::Peer(link, to) => {
                let number = self.peers.next_number(link);
                self.holds.open.insert(HoldKey::Peer(link, number), waits);
                let (parts, state) = parts::cut(state);
                for part in parts {
                    self.tell_peer(link, PeerMessage::Part { number, part });
                }
                self.tell_peer(link, PeerMessage::Hold { to, hold: Hold { number, begin, epoch, state } });
            }
        }
    }

    pub(super) fn hold_at_session(&mut self, session: SessionId, waits: HoldFor, to_hold: ToHold) {
        if !self.sessions.is_open(session) {
            return self.hold_ended(waits, Err(NotRun::Unreachable));
        }
        let ToHold { begin, epoch, state } = to_hold;
        let number = self.sessions.next_number(session);
        self.holds.open.insert(HoldKey::Session(session, number), waits);
        let (parts, state) = parts::cut(state);
        for part in parts {
            self.send(session, ToDevice::Part { number, part });
        }
        self.send(session, ToDevice::Hold { number, begin, epoch, state });
    }

    /// A node has answered. False: it was not asked, or has answered before.
    pub(super) fn held(&mut self, key: HoldKey, held: Result<NodeId, NotRun>) -> bool {
        let Some(waits) = self.holds.open.remove(&key) else { return false };
        if let (HoldKey::Peer(link, _), Ok(node)) = (key, &held) {
            self.found_behind(*node, link);
        }
        self.hold_ended(waits, held);
        true
    }

    pub(super) fn hold_ended(&mut self, waits: HoldFor, held: Result<NodeId, NotRun>) {
        match waits {
            HoldFor::Creation(object) => self.creation_held(&object, held),
            HoldFor::Move(object) => self.move_held(&object, held),
            HoldFor::Peer(link, number) => self.tell_peer(link, PeerMessage::Held { number, held }),
        }
    }

    /// A session or a link has ended, and with it the holds that were asked there.
    pub(super) fn holds_closed(&mut self, is_closed: impl Fn(&HoldKey) -> bool) {
        let closed: Vec<HoldKey> = self.holds.open.keys().filter(|key| is_closed(key)).copied().collect();
        for key in closed {
            self.held(key, Err(NotRun::Unreachable));
        }
    }

    /// A node hears whether the epoch in which it is to serve an object is committed. One that nobody reaches asks tracking when it is back.
    pub(super) fn decided(&mut self, node: NodeId, object: ObjectName, epoch: ObjectEpoch, is_committed: bool) {
        if Some(node) == self.kernel.node() {
            let told =
                if is_committed { KernelInput::Serve { object, epoch } } else { KernelInput::Drop { object, epoch } };
            return self.kernel.handle(self.now, told);
        }
        if let Some(session) = self.sessions.of_node(node) {
            let told = if is_committed { ToDevice::Serve { object, epoch } } else { ToDevice::Drop { object, epoch } };
            return self.send(session, told);
        }
        if let Some(link) = self.link_to(node) {
            let told = if is_committed {
                PeerMessage::Serve { to: node, object, epoch }
            } else {
                PeerMessage::Drop { to: node, object, epoch }
            };
            self.tell_peer(link, told);
        }
    }
}
