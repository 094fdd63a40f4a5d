//! Calls that a server carries: from the kernel or a session, to the kernel or a session.

use std::collections::BTreeMap;

use iolite_machine::Machine;
use iolite_values::NodeId;
use iolite_wire::objects::{Answer, CallFailure, NotRun, Rpc, ToDevice};

use super::{Asker, Server, SessionId};
use crate::kernel::{IncomingId, KernelInput};
use crate::limits::SESSION_CALLS_MAX;

#[derive(Debug, Default)]
pub(super) struct Relays {
    /// Calls that the kernel has been given.
    at_kernel: BTreeMap<IncomingId, (SessionId, u64)>,
    /// Calls that sessions have been sent, by session and by the number that the server gave.
    at_session: BTreeMap<SessionId, BTreeMap<u64, Asker>>,
}

impl Server {
    /// Sends a call to the node that its caller names.
    pub(super) fn relay(&mut self, from: Asker, to: NodeId, rpc: Rpc) {
        if Some(to) == self.kernel.node() {
            return match from {
                Asker::Session(session, number) => {
                    let id = self.incoming();
                    self.relays.at_kernel.insert(id, (session, number));
                    self.kernel.handle(self.now, KernelInput::Incoming(id, rpc));
                }
                // It would have found the instance by itself.
                Asker::Kernel(_) => self.relayed(from, Answer::NotHere),
            };
        }
        let Some(session) = self.sessions.of_node(to) else {
            return self.relayed(from, Answer::Failed(CallFailure::NotRun(NotRun::Unreachable)));
        };
        let open = self.relays.at_session.entry(session).or_default();
        if open.len() >= SESSION_CALLS_MAX {
            return self.relayed(from, Answer::Failed(CallFailure::NotRun(NotRun::Busy)));
        }
        let number = self.sessions.next_number(session);
        open.insert(number, from);
        self.send(session, ToDevice::Run { number, rpc });
    }

    /// Gives an answer to whom has asked.
    fn relayed(&mut self, to: Asker, answer: Answer) {
        match to {
            Asker::Kernel(number) => self.kernel.handle(self.now, KernelInput::Answered(number, answer)),
            Asker::Session(session, number) => {
                if self.sessions.answered(session) {
                    self.send(session, ToDevice::Answer { number, answer });
                }
            }
        }
    }

    pub(super) fn kernel_answered(&mut self, id: IncomingId, answer: Answer) {
        if let Some((session, number)) = self.relays.at_kernel.remove(&id) {
            self.relayed(Asker::Session(session, number), answer);
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

    /// A session has ended: what it was sent is in doubt, and what it has asked is nobody's.
    pub(super) fn relays_closed(&mut self, session: SessionId) {
        let open = self.relays.at_session.remove(&session).unwrap_or_default();
        for asker in open.into_values() {
            self.relayed(asker, Answer::Failed(CallFailure::InDoubt));
        }
        self.relays.at_kernel.retain(|_, (asker, _)| *asker != session);
    }
}
