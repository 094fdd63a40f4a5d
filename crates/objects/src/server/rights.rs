//! The door of rights: the server's process says what the user of a session may do.
//!
//! Invariant: nothing of a session that needs a right is done before the door has said yes. A yes is kept for the session, so a call in the steady state asks
//! nobody. The door may withdraw it: then the next call asks again.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Answer, Begin, CallFailure, NotRun, Rpc, ToDevice, TrackAnswer};

use super::asking::{Asked, Claimed};
use super::holds::{HoldFor, ToHold};
use super::{Asker, MayId, Server, ServerOutput, SessionId, TrackAsk};
use crate::Broken;

/// Something that a user may do with an object, or may not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Call this method. A new object that a server places is a call of `new`.
    Call { method: String },
    /// Have a copy that only reads.
    Read,
    /// Own it, or have a copy that writes.
    Hold,
}

#[derive(Debug, Default)]
pub(super) struct Rights {
    last: u64,
    waiting: BTreeMap<MayId, (SessionId, ObjectName, Right, Guarded)>,
    granted: BTreeMap<SessionId, BTreeSet<(ObjectName, Right)>>,
}

/// Yeses that are kept for a session. When there are more, the door is asked again.
const KEPT: usize = 1_000;

/// Something that waits for a right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Guarded {
    /// `needs`: rights that it needs all at once.
    Call {
        number: u64,
        to: NodeId,
        rpc: Box<Rpc>,
        needs: Vec<Right>,
    },
    Begin {
        number: u64,
        begin: Begin,
    },
    Create {
        number: u64,
        begin: Begin,
        state: Vec<u8>,
    },
    Hold(HoldFor, Box<ToHold>),
    Keep {
        number: u64,
        object: ObjectName,
        epoch: ObjectEpoch,
    },
}

impl Rights {
    fn has(&self, session: SessionId, right: &(ObjectName, Right)) -> bool {
        self.granted.get(&session).is_some_and(|granted| granted.contains(right))
    }
}

impl Server {
    /// Does something once the user of the session may.
    pub(super) fn guard(&mut self, session: SessionId, object: ObjectName, right: Right, guarded: Guarded) {
        let key = (object, right);
        if self.rights.has(session, &key) {
            return self.granted(session, guarded);
        }
        let (object, right) = key;
        self.rights.last += 1;
        let id = MayId(self.rights.last);
        self.rights.waiting.insert(id, (session, object.clone(), right.clone(), guarded));
        self.emit(ServerOutput::May(id, session, object, right));
    }

    /// Sends a call on once the user of the session has all rights that it needs. While one is asked for, another one may be withdrawn: then that is asked
    /// for again.
    pub(super) fn guard_call(
        &mut self,
        session: SessionId,
        (number, to, rpc): (u64, NodeId, Box<Rpc>),
        needs: Vec<Right>,
    ) {
        if !self.sessions.is_open(session) {
            return;
        }
        let has = |right: &&Right| self.rights.has(session, &(rpc.object.clone(), (*right).clone()));
        match needs.iter().find(|right| !has(right)).cloned() {
            Some(right) if self.settings.broken != Broken::CallUnjudged => {
                let object = rpc.object.clone();
                self.guard(session, object, right, Guarded::Call { number, to, rpc, needs });
            }
            Some(_) | None => self.relay(Asker::Session(session, number), to, *rpc),
        }
    }

    pub(super) fn on_may(&mut self, id: MayId, may: bool) {
        let Some((session, object, right, guarded)) = self.rights.waiting.remove(&id) else { return };
        if !may {
            return self.denied(session, guarded);
        }
        if self.sessions.is_open(session) {
            let granted = self.rights.granted.entry(session).or_default();
            if granted.len() >= KEPT {
                granted.clear();
            }
            granted.insert((object, right));
        }
        self.granted(session, guarded);
    }

    fn granted(&mut self, session: SessionId, guarded: Guarded) {
        match guarded {
            Guarded::Hold(waits, to_hold) => self.hold_at_session(session, waits, *to_hold),
            Guarded::Call { number, to, rpc, needs } => self.guard_call(session, (number, to, rpc), needs),
            Guarded::Begin { number, begin } => {
                if let Some(at) = self.sessions.node(session) {
                    self.ask(Asked::By(Asker::Session(session, number)), TrackAsk::Begin { begin, at });
                }
            }
            Guarded::Create { number, begin, state } => self.place(Asker::Session(session, number), begin, state),
            Guarded::Keep { number, object, epoch } => {
                self.on_claim(session, object, epoch, Claimed::Keep { number });
            }
        }
    }

    fn denied(&mut self, session: SessionId, guarded: Guarded) {
        match guarded {
            Guarded::Hold(waits, _) => self.hold_ended(waits, Err(NotRun::NotPermitted)),
            Guarded::Call { number, .. } => {
                let answer = Answer::Failed(CallFailure::NotRun(NotRun::NotPermitted));
                self.relayed(Asker::Session(session, number), answer);
            }
            Guarded::Begin { number, .. } | Guarded::Create { number, .. } | Guarded::Keep { number, .. } => {
                self.refuse(session, number, NotRun::NotPermitted);
            }
        }
    }

    /// No object begins.
    pub(super) fn refuse(&mut self, session: SessionId, number: u64, why: NotRun) {
        if self.sessions.is_open(session) {
            self.send(session, ToDevice::Told { number, answer: TrackAnswer::Refused(why) });
        }
    }

    /// A yes holds no more: what needs the right asks again.
    pub(super) fn on_withdrawn(&mut self, session: SessionId, right: &(ObjectName, Right)) {
        if let Some(granted) = self.rights.granted.get_mut(&session) {
            granted.remove(right);
        }
    }

    pub(super) fn rights_closed(&mut self, session: SessionId) {
        self.rights.granted.remove(&session);
    }
}
