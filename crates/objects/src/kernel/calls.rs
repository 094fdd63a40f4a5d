//! Calls that this node makes: found, sent, followed, answered.
//!
//! Invariants: a call is sent again only after an answer that says that it did not run; every call is answered once, at its deadline at the latest.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;
use iolite_values::{NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Answer, CallFailure, NotRun, Placed, Rpc, RpcId, TrackAnswer};

use super::instances::Source;
use super::{Kernel, KernelOutput};
use crate::limits::HOPS_MAX;
use crate::{Broken, Call, CallError, CallResult, Ticket, ToApp};

/// Names a call of this node, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallKey(u64);

#[derive(Debug, Default)]
pub(super) struct Calls {
    last: u64,
    open: BTreeMap<CallKey, Open>,
    /// By the numbers under which they were sent.
    sent: BTreeMap<u64, CallKey>,
    /// The calls that wait for tracking, by the number of its question.
    finding: BTreeMap<u64, (ObjectName, Vec<CallKey>)>,
    by_deadline: BTreeSet<(Instant, CallKey)>,
}

#[derive(Debug)]
struct Open {
    ticket: Ticket,
    rpc: Rpc,
    deadline: Instant,
    progress: Progress,
    /// How often it has followed the object.
    hops: u8,
    /// The node that said that it has no such object, or could not be reached.
    failed_at: Option<NodeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Finding,
    Sent {
        to: NodeId,
    },
    /// The call waits for an instance that is here, or runs.
    Here,
}

impl Calls {
    pub fn deadline(&self) -> Option<Instant> {
        self.by_deadline.first().map(|(at, _)| *at)
    }

    pub fn is_sent(&self, number: u64) -> bool {
        self.sent.contains_key(&number)
    }

    fn remove(&mut self, key: CallKey) -> Option<Open> {
        let open = self.open.remove(&key)?;
        self.by_deadline.remove(&(open.deadline, key));
        Some(open)
    }
}

impl Kernel {
    pub(super) fn on_call(&mut self, ticket: Ticket, call: Call) {
        let key = CallKey(self.calls.last + 1);
        self.calls.last = key.0;
        let rpc = match self.rpc_of(key, call) {
            Ok(rpc) => rpc,
            Err(error) => return self.emit(KernelOutput::App(ToApp::Answered(ticket, Err(error)))),
        };
        let deadline = self.now + rpc.time_left;
        self.calls.by_deadline.insert((deadline, key));
        let open = Open { ticket, rpc, deadline, progress: Progress::Finding, hops: 0, failed_at: None };
        self.calls.open.insert(key, open);
        self.send(key);
    }

    /// A call from inside of a method is made for whom the method runs, and has its id from the method's own call.
    fn rpc_of(&mut self, key: CallKey, call: Call) -> Result<Rpc, CallError> {
        let Call { object, version, method, mode, arguments, within, time } = call;
        let (id, chain, caller, time_left) = match within {
            None => {
                let id = RpcId { kernel: self.settings.id, counter: key.0, path: Vec::new() };
                (id, Vec::new(), self.settings.caller.clone(), time)
            }
            Some(run) => {
                let outer = self.instances.nested(run).ok_or(CallError::Fenced)?;
                let left = outer.until.since(self.now);
                (outer.id, outer.chain, outer.caller, time.min(left))
            }
        };
        let limit = iolite_wire::limits::CALL_CHAIN;
        if chain.len() > limit.most {
            return Err(CallError::NotRun(NotRun::TooLarge(format!("a call has at most {limit}"))));
        }
        let epoch = ObjectEpoch::default();
        Ok(Rpc { id, object, epoch, version, method, mode, chain, time_left, caller, arguments })
    }

    /// Sends a call to where its object is, as far as is known here.
    fn send(&mut self, key: CallKey) {
        let Some(open) = self.calls.open.get_mut(&key) else { return };
        open.rpc.time_left = open.deadline.since(self.now);
        if self.instances.is_own(&open.rpc.object) {
            open.progress = Progress::Here;
            let rpc = open.rpc.clone();
            return self.arrive(Source::Own(key), rpc);
        }
        let Some((to, epoch)) = self.locations.of(&open.rpc.object).filter(|(at, _)| Some(*at) != self.node) else {
            return self.find(key);
        };
        open.progress = Progress::Sent { to };
        open.rpc.epoch = epoch;
        let rpc = open.rpc.clone();
        let number = self.number();
        self.calls.sent.insert(number, key);
        self.emit(KernelOutput::Call { number, to, rpc });
    }

    /// Asks tracking, once for all calls of an object.
    fn find(&mut self, key: CallKey) {
        let Some(open) = self.calls.open.get_mut(&key) else { return };
        open.progress = Progress::Finding;
        let object = open.rpc.object.clone();
        if let Some((_, waiting)) = self.calls.finding.values_mut().find(|(asked, _)| *asked == object) {
            waiting.push(key);
            return;
        }
        let number = self.number();
        self.calls.finding.insert(number, (object.clone(), vec![key]));
        self.emit(KernelOutput::Find(number, object));
    }

    /// Tracking has answered calls that waited for it. Whether it was they.
    pub(super) fn calls_told(&mut self, number: u64, answer: &TrackAnswer) -> bool {
        let Some((object, waiting)) = self.calls.finding.remove(&number) else { return false };
        match answer {
            TrackAnswer::Found(placed) | TrackAnswer::Begun(placed) => {
                for key in waiting {
                    self.found(key, &object, placed);
                }
            }
            TrackAnswer::Unknown => waiting.into_iter().for_each(|key| self.finish(key, Err(CallError::Gone))),
            TrackAnswer::Lost => {
                for key in waiting {
                    self.finish(key, Err(CallError::NotRun(NotRun::Unreachable)));
                }
            }
            TrackAnswer::Refused(why) => {
                for key in waiting {
                    self.finish(key, Err(CallError::NotRun(why.clone())));
                }
            }
        }
        true
    }

    fn found(&mut self, key: CallKey, object: &ObjectName, placed: &Placed) {
        let Some(open) = self.calls.open.get(&key) else { return };
        let owner = placed.places.first().copied();
        let failed = owner.is_none() || owner == open.failed_at;
        if owner.is_some() && owner == self.node {
            return self.found_here(key, object, placed.epoch);
        }
        match owner {
            Some(owner) if !failed => {
                self.locations.learn(object, owner, placed.epoch);
                self.send(key);
            }
            Some(_) | None => self.finish(key, Err(CallError::NotRun(NotRun::Unreachable))),
        }
    }

    /// The row names this node.
    fn found_here(&mut self, key: CallKey, object: &ObjectName, epoch: ObjectEpoch) {
        let Some(open) = self.calls.open.get_mut(&key) else { return };
        if self.instances.is_here(object) && open.failed_at != self.node {
            open.progress = Progress::Here;
            open.rpc.epoch = epoch;
            let rpc = open.rpc.clone();
            return self.arrive(Source::Own(key), rpc);
        }
        if !self.instances.is_here(object) {
            self.emit(KernelOutput::Missing(object.clone(), epoch));
        }
        self.finish(key, Err(CallError::NotRun(NotRun::Unreachable)));
    }

    pub(super) fn on_answered(&mut self, number: u64, answer: Answer) {
        if let Some(key) = self.calls.sent.remove(&number) {
            self.call_answered(key, answer);
        }
    }

    pub(super) fn call_not_sent(&mut self, number: u64) {
        if let Some(key) = self.calls.sent.remove(&number) {
            self.finish(key, Err(CallError::NotRun(NotRun::Unreachable)));
        }
    }

    /// A call has an answer, from here or from elsewhere. One that comes late is nobody's.
    pub(super) fn call_answered(&mut self, key: CallKey, answer: Answer) {
        let Some(open) = self.calls.open.get_mut(&key) else { return };
        let id = open.rpc.id.clone();
        match answer {
            Answer::Returned(result) => self.finish(key, Ok(result)),
            Answer::Threw(error) => self.finish(key, Err(CallError::App(error))),
            Answer::Moved { to, epoch } => {
                let object = open.rpc.object.clone();
                open.hops += 1;
                let follows = open.hops <= HOPS_MAX;
                self.locations.learn(&object, to, epoch);
                if follows { self.send(key) } else { self.look_again(key) }
            }
            Answer::NotHere | Answer::Failed(CallFailure::NotRun(NotRun::Unreachable)) => self.look_again(key),
            Answer::Failed(failure) => self.finish(key, Err(CallError::of(failure, id))),
        }
    }

    /// The object was not where it was thought to be. Tracking says whether it is elsewhere.
    fn look_again(&mut self, key: CallKey) {
        let Some(open) = self.calls.open.get_mut(&key) else { return };
        let at = match open.progress {
            Progress::Sent { to } => Some(to),
            Progress::Here => self.node,
            Progress::Finding => None,
        };
        if open.failed_at.is_some() {
            return self.finish(key, Err(CallError::NotRun(NotRun::Unreachable)));
        }
        open.failed_at = at;
        let object = open.rpc.object.clone();
        self.locations.forget(&object);
        self.find(key);
    }

    fn finish(&mut self, key: CallKey, result: CallResult) {
        if let Some(open) = self.calls.remove(key) {
            self.emit(KernelOutput::App(ToApp::Answered(open.ticket, result)));
        }
    }

    pub(super) fn calls_unlinked(&mut self) {
        self.calls.sent.clear();
        self.calls.finding.clear();
        let keys: Vec<CallKey> = self.calls.open.keys().copied().collect();
        for key in keys {
            self.give_up(key);
        }
    }

    /// The node is linked again.
    pub(super) fn calls_linked(&mut self) {
        if self.settings.broken == Broken::ResendOnReconnect {
            let unanswered = |(key, open): (&CallKey, &Open)| match open.progress {
                Progress::Sent { .. } if !self.calls.sent.values().any(|sent| sent == key) => Some(*key),
                Progress::Sent { .. } | Progress::Finding | Progress::Here => None,
            };
            let again: Vec<CallKey> = self.calls.open.iter().filter_map(unanswered).collect();
            again.into_iter().for_each(|key| self.send(key));
        }
    }

    pub(super) fn calls_overdue(&mut self) {
        while let Some((at, key)) = self.calls.by_deadline.first().copied().filter(|(at, _)| *at <= self.now) {
            self.give_up_at(key);
            self.calls.by_deadline.remove(&(at, key));
        }
    }

    /// The connection is lost: a call that was sent may have run.
    fn give_up(&mut self, key: CallKey) {
        let Some(open) = self.calls.open.get(&key) else { return };
        let error = match open.progress {
            Progress::Here => return,
            Progress::Sent { .. } if self.settings.broken == Broken::ResendOnReconnect => return,
            Progress::Sent { .. } => CallError::InDoubt(open.rpc.id.clone()),
            Progress::Finding => CallError::NotRun(NotRun::Unreachable),
        };
        self.finish(key, Err(error));
    }

    /// The time of a call is over.
    fn give_up_at(&mut self, key: CallKey) {
        let Some(open) = self.calls.open.get(&key) else { return };
        let error = match open.progress {
            Progress::Here | Progress::Sent { .. } => CallError::InDoubt(open.rpc.id.clone()),
            Progress::Finding => CallError::NotRun(NotRun::Unreachable),
        };
        self.finish(key, Err(error));
    }
}
