//! Calls that this node makes: found, sent, followed, answered.
//!
//! Invariants: a call is sent again only after an answer that says that it did not run; every call is answered once, at its deadline at the latest.

use iolite_machine::Instant;
use iolite_values::{DeviceRight, NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Answer, CallFailure, Component, NotRun, Placed, Rpc, RpcId, TrackAnswer};

use super::chains::End;
use super::instances::Source;
use super::{Kernel, KernelOutput};
use crate::executor::OpId;
use crate::limits::HOPS_MAX;
use crate::managers::Reply;
use crate::table::Table;
use crate::{Broken, Call, CallError, CallResult, Ticket, ToApp};

/// Names a call of this node, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallKey(u64);

#[derive(Debug, Default)]
pub(super) struct Calls {
    last: u64,
    open: Table<CallKey, Open>,
    /// By the numbers under which they were sent.
    sent: Table<u64, CallKey>,
    /// The calls that wait for tracking, by the number of its question.
    finding: Table<u64, (ObjectName, Vec<CallKey>)>,
    by_deadline: Table<(Instant, CallKey), ()>,
}

#[derive(Debug)]
struct Open {
    asker: CallAsker,
    /// A message for the manager of this name. Its layer is known once the object is.
    manager: Option<String>,
    /// The call has gone through the managers of this node, or there are none.
    is_past_managers: bool,
    /// The call is for this node, wherever the object is.
    pinned: Option<NodeId>,
    rpc: Rpc,
    deadline: Instant,
    progress: Progress,
    /// How often it has followed the object.
    hops: u8,
    /// The node that said that it has no such object, or could not be reached.
    failed_at: Option<NodeId>,
}

/// The part that waits for the answer of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallAsker {
    App(Ticket),
    /// A task of a manager.
    Task(OpId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Managers of this node have the call.
    Managed,
    Finding,
    Sent {
        to: NodeId,
    },
    /// The call waits for an instance that is here, or runs.
    Here,
}

impl Calls {
    pub fn deadline(&self) -> Option<Instant> {
        self.by_deadline.first().map(|((at, _), ())| *at)
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
        let key = self.next_call();
        match self.rpc_of(key, call) {
            Ok(rpc) => self.open_call(key, CallAsker::App(ticket), rpc, None),
            Err(error) => self.emit(KernelOutput::App(ToApp::Answered(ticket, Err(error)))),
        }
    }

    /// The app says something to a manager of an object.
    pub(super) fn on_manage(&mut self, ticket: Ticket, object: ObjectName, manager: String, body: Vec<u8>) {
        let key = self.next_call();
        // The layer is known once the object is found.
        let rpc = self.message(object, Component::Instance(0), DeviceRight::Call, body);
        self.open_call(key, CallAsker::App(ticket), rpc, Some(manager));
    }

    fn next_call(&mut self) -> CallKey {
        self.calls.last += 1;
        CallKey(self.calls.last)
    }

    fn open_call(&mut self, key: CallKey, asker: CallAsker, rpc: Rpc, manager: Option<String>) {
        let deadline = self.now + rpc.time_left;
        self.calls.by_deadline.insert((deadline, key), ());
        let (progress, is_past_managers) = (Progress::Finding, matches!(asker, CallAsker::Task(_)));
        let open =
            Open { asker, manager, is_past_managers, pinned: None, rpc, deadline, progress, hops: 0, failed_at: None };
        self.calls.open.insert(key, open);
        self.begin_call(key);
    }

    /// A manager of this node passes a call on, or says something.
    pub(super) fn forward(&mut self, op: OpId, rpc: Rpc) {
        let key = self.next_call();
        self.open_call(key, CallAsker::Task(op), rpc, None);
    }

    /// The same for one node, wherever the object is.
    pub(super) fn send_pinned(&mut self, op: OpId, rpc: Rpc, node: NodeId) {
        let key = self.next_call();
        let deadline = self.now + rpc.time_left;
        self.calls.by_deadline.insert((deadline, key), ());
        let open = Open {
            asker: CallAsker::Task(op),
            manager: None,
            is_past_managers: true,
            pinned: Some(node),
            rpc,
            deadline,
            progress: Progress::Finding,
            hops: 0,
            failed_at: None,
        };
        self.calls.open.insert(key, open);
        self.send_to(key, node, ObjectEpoch(0));
    }

    /// A call goes through the managers of this node, once it is known which the object has.
    fn begin_call(&mut self, key: CallKey) {
        let Some(open) = self.calls.open.get(&key) else { return };
        if open.is_past_managers {
            return self.send(key);
        }
        let object = open.rpc.object.clone();
        let own = self.instances.declared(&object).filter(|_| self.instances.is_own(&object));
        let managers = own.map(|(declared, _)| declared.managers.into()).or_else(|| self.locations.managers(&object));
        let Some(managers) = managers else { return self.find(key) };
        let (rpc, manager) = (open.rpc.clone(), open.manager.clone());
        let begun = match manager {
            Some(manager) => self.at_manager(key, &managers, &manager, &rpc),
            None => self.through_proxies(key, &managers, &rpc),
        };
        match begun {
            Ok(true) => {
                if let Some(open) = self.calls.open.get_mut(&key) {
                    open.progress = Progress::Managed;
                }
            }
            Ok(false) => {
                self.past_managers(key, None);
                self.send(key);
            }
            Err(why) => self.finish(key, Err(CallError::NotRun(why))),
        }
    }

    /// The app says something to a manager: to its proxy, or, where it has none, to the one beside the object.
    fn at_manager(&mut self, key: CallKey, managers: &str, manager: &str, rpc: &Rpc) -> Result<bool, NotRun> {
        let layer = self.layer_of(managers, manager)?;
        let has_proxy = self.through_own_proxy(key, managers, layer, rpc)?;
        if !has_proxy {
            self.past_managers(key, Some(Component::Instance(layer)));
        }
        Ok(has_proxy)
    }

    fn past_managers(&mut self, key: CallKey, component: Option<Component>) {
        if let Some(open) = self.calls.open.get_mut(&key) {
            open.is_past_managers = true;
            open.rpc.component = component.unwrap_or(open.rpc.component);
        }
    }

    /// The managers of this node have the answer of a call.
    pub(super) fn chain_answered(&mut self, key: CallKey, answer: Answer) {
        let Some(open) = self.calls.open.get(&key) else { return };
        let id = open.rpc.id.clone();
        self.finish(key, result_of(answer, id));
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
        Ok(Rpc {
            id,
            object,
            epoch: ObjectEpoch::default(),
            version,
            method,
            mode,
            chain,
            time_left,
            caller,
            arguments,
            from: self.node,
            component: Component::Method,
            claim: DeviceRight::Call,
            by_device: false,
        })
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
        self.send_to(key, to, epoch);
    }

    fn send_to(&mut self, key: CallKey, to: NodeId, epoch: ObjectEpoch) {
        let Some(open) = self.calls.open.get_mut(&key) else { return };
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
        self.locations.learn_managers(object, &placed.declared.managers);
        let Some(open) = self.calls.open.get(&key) else { return };
        let owner = placed.places.first().copied();
        if !open.is_past_managers {
            if let Some(owner) = owner.filter(|owner| Some(*owner) != self.node) {
                self.locations.learn(object, owner, placed.epoch);
            }
            return self.begin_call(key);
        }
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
        let why = self.is_left(object).unwrap_or(NotRun::Unreachable);
        if !self.instances.is_here(object) {
            self.missing(object.clone(), epoch);
        }
        self.finish(key, Err(CallError::NotRun(why)));
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
            Answer::Moved { .. } | Answer::NotHere if open.pinned.is_some() => {
                self.finish(key, Err(CallError::NotRun(NotRun::Unreachable)));
            }
            Answer::Returned(_) | Answer::Threw(_) => self.finish(key, result_of(answer, id)),
            Answer::Moved { to, epoch } => {
                let object = open.rpc.object.clone();
                open.hops += 1;
                let follows = open.hops <= HOPS_MAX;
                self.locations.learn(&object, to, epoch);
                if follows { self.send(key) } else { self.look_again(key) }
            }
            Answer::NotHere => self.look_again(key),
            Answer::Failed(CallFailure::NotRun(NotRun::Unreachable)) if open.pinned.is_none() => self.look_again(key),
            Answer::Failed(_) => self.finish(key, result_of(answer, id)),
        }
    }

    /// The object was not where it was thought to be. Tracking says whether it is elsewhere.
    fn look_again(&mut self, key: CallKey) {
        let Some(open) = self.calls.open.get_mut(&key) else { return };
        let at = match open.progress {
            Progress::Sent { to } => Some(to),
            Progress::Here => self.node,
            Progress::Finding | Progress::Managed => None,
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
        let Some(open) = self.calls.remove(key) else { return };
        if open.progress == Progress::Managed {
            self.chains.tasks.cancel(&End::Call(key));
        }
        match open.asker {
            CallAsker::App(ticket) => self.emit(KernelOutput::App(ToApp::Answered(ticket, result))),
            CallAsker::Task(op) => self.chains.tasks.answer(op, Reply::Answer(answer_of(result))),
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
                Progress::Sent { .. } if open.pinned.is_none() && !self.calls.sent.values().any(|sent| sent == key) => {
                    Some(*key)
                }
                Progress::Sent { .. } | Progress::Finding | Progress::Here | Progress::Managed => None,
            };
            let again: Vec<CallKey> = self.calls.open.iter().filter_map(unanswered).collect();
            again.into_iter().for_each(|key| self.send(key));
        }
    }

    pub(super) fn calls_overdue(&mut self) {
        while let Some((&(at, key), ())) = self.calls.by_deadline.first()
            && at <= self.now
        {
            self.give_up_at(key);
            self.calls.by_deadline.remove(&(at, key));
        }
    }

    /// The connection is lost: a call that was sent may have run.
    fn give_up(&mut self, key: CallKey) {
        let Some(open) = self.calls.open.get(&key) else { return };
        let error = match open.progress {
            Progress::Here | Progress::Managed => return,
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
            Progress::Here | Progress::Managed | Progress::Sent { .. } => CallError::InDoubt(open.rpc.id.clone()),
            Progress::Finding => CallError::NotRun(NotRun::Unreachable),
        };
        self.finish(key, Err(error));
    }
}

fn result_of(answer: Answer, id: RpcId) -> CallResult {
    match answer {
        Answer::Returned(result) => Ok(result),
        Answer::Threw(error) => Err(CallError::App(error)),
        Answer::Failed(failure) => Err(CallError::of(failure, id)),
        Answer::Moved { .. } | Answer::NotHere => Err(CallError::NotRun(NotRun::Unreachable)),
    }
}

fn answer_of(result: CallResult) -> Answer {
    match result {
        Ok(result) => Answer::Returned(result),
        Err(CallError::App(error)) => Answer::Threw(error),
        Err(CallError::NotRun(why)) => Answer::Failed(CallFailure::NotRun(why)),
        Err(CallError::Fenced) => Answer::Failed(CallFailure::Fenced),
        Err(CallError::Gone) => Answer::Failed(CallFailure::Gone),
        Err(CallError::InDoubt(_)) => Answer::Failed(CallFailure::InDoubt),
        Err(CallError::Broke(how)) => Answer::Failed(CallFailure::Broke(how)),
    }
}
