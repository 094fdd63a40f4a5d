//! Calls that a server carries: from the kernel, a session or another server, to one of them.

use std::collections::BTreeMap;

use iolite_machine::{Instant, Machine};
use iolite_values::{NodeId, NodeName};
use iolite_wire::objects::{Answer, CallFailure, Component, NotRun, PeerMessage, Rpc, ToDevice};

use super::routes::{Parcel, Route};
use super::{Asker, PeerLink, Server, SessionId};
use crate::kernel::{IncomingId, KernelInput};
use crate::limits::SESSION_CALLS_MAX;

#[derive(Debug, Default)]
pub(super) struct Relays {
    /// Calls that the kernel has been given.
    at_kernel: BTreeMap<IncomingId, Asker>,
    /// Calls that sessions have been sent, by session and by the number that the server gave.
    at_session: BTreeMap<SessionId, BTreeMap<u64, Asker>>,
    /// Calls that other servers have been sent.
    at_peer: BTreeMap<(PeerLink, u64), AtPeer>,
}

#[derive(Debug)]
struct AtPeer {
    from: Asker,
    to: NodeId,
    /// The caller waits no longer. A link drops what the other side cannot take, and says nothing.
    until: Instant,
    /// A call for a device that may have gone to another server: it is sent there once.
    again: Option<Box<Rpc>>,
}

impl Relays {
    /// When calls are looked through whose callers have given them up.
    pub fn deadline(&self) -> Option<Instant> {
        self.at_peer.values().map(|call| call.until).min()
    }
}

impl Server {
    /// Sends a call to the node that its caller names. One for a coordinator goes where that is.
    pub(super) fn relay(&mut self, from: Asker, to: NodeId, rpc: Rpc) {
        let to = match rpc.component {
            Component::Coordinator(_) => self.coordinators.holder(&rpc.object),
            Component::Method | Component::Instance(_) | Component::Proxy(_) => Some(to),
        };
        match to {
            Some(to) => self.send_parcel(to, Parcel::Call { from, rpc: Box::new(rpc), again: false }),
            None => self.relayed(from, Answer::Failed(CallFailure::NotRun(NotRun::Unreachable))),
        }
    }

    pub(super) fn relay_by(&mut self, route: Route, from: Asker, to: NodeId, rpc: Rpc, again: bool) {
        let unreachable = Answer::Failed(CallFailure::NotRun(NotRun::Unreachable));
        match (route, from) {
            // It would have found the instance by itself.
            (Route::Kernel, Asker::Kernel(_)) => self.relayed(from, Answer::NotHere),
            (Route::Kernel, Asker::Session(..) | Asker::Peer(..)) => {
                let id = self.incoming();
                self.relays.at_kernel.insert(id, from);
                self.kernel.handle(self.now, KernelInput::Incoming(id, rpc));
            }
            (Route::Session(session), _) => self.relay_to_session(session, from, rpc),
            // What comes from another server goes no further.
            (Route::Peer(_), Asker::Peer(..)) | (Route::Nowhere, _) => self.relayed(from, unreachable),
            (Route::Peer(link), Asker::Kernel(_) | Asker::Session(..)) => {
                self.relay_to_peer(link, from, to, rpc, again);
            }
        }
    }

    fn relay_to_session(&mut self, session: SessionId, from: Asker, rpc: Rpc) {
        let open = self.relays.at_session.entry(session).or_default();
        if open.len() >= SESSION_CALLS_MAX {
            return self.relayed(from, Answer::Failed(CallFailure::NotRun(NotRun::Busy)));
        }
        let number = self.sessions.next_number(session);
        open.insert(number, from);
        self.send(session, ToDevice::Run { number, rpc });
    }

    fn relay_to_peer(&mut self, link: PeerLink, from: Asker, to: NodeId, rpc: Rpc, again: bool) {
        let number = self.peers.next_number(link);
        let may_have_gone = matches!(to.name, NodeName::Device(_)) && !again;
        let kept = may_have_gone.then(|| Box::new(rpc.clone()));
        let until = self.now.instant + rpc.time_left;
        self.relays.at_peer.insert((link, number), AtPeer { from, to, until, again: kept });
        self.tell_peer(link, PeerMessage::Call { number, to, rpc });
    }

    /// Gives an answer to whom has asked.
    pub(super) fn relayed(&mut self, to: Asker, answer: Answer) {
        match to {
            Asker::Kernel(number) => self.kernel.handle(self.now, KernelInput::Answered(number, answer)),
            Asker::Session(session, number) => {
                if self.sessions.answered(session) {
                    self.send(session, ToDevice::Answer { number, answer });
                }
            }
            Asker::Peer(link, number) => self.tell_peer(link, PeerMessage::Answer { number, answer }),
        }
    }

    pub(super) fn kernel_answered(&mut self, id: IncomingId, answer: Answer) {
        if let Some(asker) = self.relays.at_kernel.remove(&id) {
            self.relayed(asker, answer);
        }
    }

    /// A device answers. False: it was not asked, or has answered before.
    pub(super) fn session_answered(&mut self, session: SessionId, number: u64, answer: Answer) -> bool {
        let asker = self.relays.at_session.get_mut(&session).and_then(|open| open.remove(&number));
        match asker {
            Some(asker) => {
                self.relayed(asker, answer);
                true
            }
            None => false,
        }
    }

    pub(super) fn peer_answered(&mut self, link: PeerLink, number: u64, answer: Answer) {
        let Some(AtPeer { from, to, again, .. }) = self.relays.at_peer.remove(&(link, number)) else { return };
        let is_away = answer == Answer::Failed(CallFailure::NotRun(NotRun::Unreachable));
        match again {
            Some(rpc) if is_away => {
                self.forget_route(to);
                self.send_parcel(to, Parcel::Call { from, rpc, again: true });
            }
            Some(_) | None => self.relayed(from, answer),
        }
    }

    /// A session has ended: what it was sent is in doubt, and what it has asked is nobody's.
    pub(super) fn relays_closed(&mut self, session: SessionId) {
        let open = self.relays.at_session.remove(&session).unwrap_or_default();
        for asker in open.into_values() {
            self.relayed(asker, Answer::Failed(CallFailure::InDoubt));
        }
        self.relays.at_kernel.retain(|_, asker| !matches!(asker, Asker::Session(own, _) if *own == session));
    }

    /// A link has ended: what was sent on it is in doubt.
    pub(super) fn relays_unlinked(&mut self, link: PeerLink) {
        self.relays.at_kernel.retain(|_, asker| !matches!(asker, Asker::Peer(own, _) if *own == link));
        let open: Vec<_> = self.relays.at_peer.range((link, 0)..=(link, u64::MAX)).map(|(key, _)| *key).collect();
        for key in open {
            if let Some(call) = self.relays.at_peer.remove(&key) {
                self.relayed(call.from, Answer::Failed(CallFailure::InDoubt));
            }
        }
    }

    /// Calls at other servers whose callers wait no longer.
    pub(super) fn relays_overdue(&mut self) {
        let is_late = |call: &AtPeer| call.until <= self.now.instant;
        let late: Vec<_> = self.relays.at_peer.iter().filter(|(_, call)| is_late(call)).map(|(key, _)| *key).collect();
        for key in late {
            if let Some(call) = self.relays.at_peer.remove(&key) {
                self.relayed(call.from, Answer::Failed(CallFailure::InDoubt));
            }
        }
    }
}
