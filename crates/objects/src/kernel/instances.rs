//! Instances that are here, and the runs of their methods.
//!
//! Invariants:
//! - a method that does not only read runs alone, also while it waits for others;
//! - calls start in the order in which they came, but for reads that an instance's own read has led to;
//! - every call that came is answered once.

use std::collections::{BTreeMap, VecDeque};

use iolite_machine::Instant;
use iolite_values::{ObjectEpoch, ObjectName};
use iolite_wire::objects::{Answer, Begin, CallFailure, CallMode, Declared, NotRun, Rpc, RpcId};

use super::calls::CallKey;
use super::{IncomingId, Kernel, KernelOutput};
use crate::limits::{INSTANCE_CALLS_MAX, INSTANCES_MAX};
use crate::{Ended, Run, RunId, ToApp};

#[derive(Debug, Default)]
pub(super) struct Instances {
    all: BTreeMap<ObjectName, Instance>,
    runs: BTreeMap<RunId, Running>,
    last_run: u64,
}

#[derive(Debug)]
struct Instance {
    declared: Declared,
    epoch: ObjectEpoch,
    stage: Stage,
    reads: usize,
    is_written: bool,
    waiting: VecDeque<Waiting>,
}

/// How far an instance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The object begins here, and the app is asked to make it.
    Beginning,
    /// The object begins here, the app has made it, and tracking is asked.
    Begun,
    /// A server has sent it, and the app is asked to make it.
    Loading(IncomingId),
    /// A server has sent it, and has not said that it is committed.
    Held,
    /// The instance serves.
    Ready,
}

/// The asker that waits for the answer of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Own(CallKey),
    Incoming(IncomingId),
}

#[derive(Debug)]
struct Waiting {
    source: Source,
    rpc: Rpc,
    mode: CallMode,
    /// The caller does not wait longer.
    until: Instant,
}

#[derive(Debug)]
struct Running {
    object: ObjectName,
    epoch: ObjectEpoch,
    source: Source,
    mode: CallMode,
    id: RpcId,
    chain: Vec<ObjectName>,
    caller: String,
    until: Instant,
    /// Calls that the method has made.
    nested: u32,
}

/// The part that a call from inside of a method has from the method's own call.
#[derive(Debug)]
pub(super) struct Outer {
    pub id: RpcId,
    pub chain: Vec<ObjectName>,
    pub caller: String,
    pub until: Instant,
}

impl Instance {
    fn may_start(&self, mode: CallMode) -> bool {
        match mode {
            CallMode::Read => !self.is_written,
            CallMode::Write => !self.is_written && self.reads == 0,
        }
    }
}

impl Instances {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_here(&self, object: &ObjectName) -> bool {
        self.all.contains_key(object)
    }

    pub fn is_served(&self, object: &ObjectName) -> bool {
        self.stage(object) == Some(Stage::Ready)
    }

    pub fn stage(&self, object: &ObjectName) -> Option<Stage> {
        self.all.get(object).map(|instance| instance.stage)
    }

    /// An instance that does not serve yet.
    pub fn load(&mut self, object: &ObjectName, declared: Declared, epoch: ObjectEpoch, stage: Stage) {
        let instance = Instance { declared, epoch, stage, reads: 0, is_written: false, waiting: VecDeque::new() };
        self.all.insert(object.clone(), instance);
    }

    fn set_stage(&mut self, object: &ObjectName, stage: Stage) {
        if let Some(instance) = self.all.get_mut(object) {
            instance.stage = stage;
        }
    }

    /// The part that a call from inside of this run has from it. None: its object is here no more.
    pub fn nested(&mut self, run: RunId) -> Option<Outer> {
        let running = self.runs.get_mut(&run)?;
        let mut id = running.id.clone();
        id.path.push(running.nested);
        running.nested += 1;
        let chain = running.chain.iter().chain([&running.object]).cloned().collect();
        Some(Outer { id, chain, caller: running.caller.clone(), until: running.until })
    }

    pub fn validate(&self) {
        for (object, instance) in &self.all {
            let of = |mode| self.runs.values().filter(|run| run.object == *object && run.mode == mode).count();
            assert_eq!(instance.reads, of(CallMode::Read), "reads of {object}");
            assert_eq!(usize::from(instance.is_written), of(CallMode::Write), "writes of {object}");
            assert!(!instance.is_written || instance.reads == 0, "a write of {object} runs alone");
        }
    }
}

impl Kernel {
    pub(super) fn on_incoming(&mut self, id: IncomingId, rpc: Rpc) {
        self.arrive(Source::Incoming(id), rpc);
    }

    /// A call has come to where its object may be.
    pub(super) fn arrive(&mut self, source: Source, rpc: Rpc) {
        let reads = self.class(rpc.object.class()).is_some_and(|class| class.reads.contains(&rpc.method));
        // The class says it, and not the caller.
        let mode = if reads { CallMode::Read } else { CallMode::Write };
        let until = self.now + rpc.time_left;
        let Some(instance) = self.instances.all.get_mut(&rpc.object).filter(|own| own.stage == Stage::Ready) else {
            return self.answer(source, Answer::NotHere);
        };
        let goes_round = rpc.chain.contains(&rpc.object);
        let refused = if rpc.version != instance.declared.version {
            Some(NotRun::WrongVersion(instance.declared.version))
        } else if goes_round && !(mode == CallMode::Read && instance.may_start(mode)) {
            Some(NotRun::WouldDeadlock(rpc.chain.iter().chain([&rpc.object]).cloned().collect()))
        } else if instance.waiting.len() >= INSTANCE_CALLS_MAX {
            Some(NotRun::Busy)
        } else {
            None
        };
        if let Some(why) = refused {
            return self.answer(source, Answer::Failed(CallFailure::NotRun(why)));
        }
        let waiting = Waiting { source, rpc, mode, until };
        if goes_round {
            return self.start(waiting);
        }
        let object = waiting.rpc.object.clone();
        instance.waiting.push_back(waiting);
        self.start_waiting(&object);
    }

    /// Starts what may start, in the order in which it came.
    fn start_waiting(&mut self, object: &ObjectName) {
        while let Some(instance) = self.instances.all.get_mut(object) {
            let Some(waiting) = instance.waiting.front() else { return };
            if !instance.may_start(waiting.mode) {
                return;
            }
            let Some(waiting) = instance.waiting.pop_front() else { return };
            if waiting.until <= self.now {
                // Its caller has given it up.
                self.answer(waiting.source, Answer::Failed(CallFailure::NotRun(NotRun::Busy)));
            } else {
                self.start(waiting);
            }
        }
    }

    fn start(&mut self, waiting: Waiting) {
        let Waiting { source, rpc, mode, until } = waiting;
        let Some(instance) = self.instances.all.get_mut(&rpc.object) else { return };
        match mode {
            CallMode::Read => instance.reads += 1,
            CallMode::Write => instance.is_written = true,
        }
        let epoch = instance.epoch;
        self.instances.last_run += 1;
        let run = RunId(self.instances.last_run);
        let Rpc { id, object, method, chain, caller, arguments, .. } = rpc;
        let of_app = Run { object: object.clone(), method, arguments, mode, caller: caller.clone() };
        let running = Running { object, epoch, source, mode, id, chain, caller, until, nested: 0 };
        self.instances.runs.insert(run, running);
        self.emit(KernelOutput::App(ToApp::Run(run, of_app)));
    }

    pub(super) fn on_ended(&mut self, run: RunId, ended: Ended) {
        let Some(running) = self.instances.runs.remove(&run) else { return };
        let failed = |why| Answer::Failed(CallFailure::NotRun(why));
        let answer = match ended {
            Ended::Returned(result) => Answer::Returned(result),
            Ended::Threw(error) => Answer::Threw(error),
            Ended::Broke(how) => Answer::Failed(CallFailure::Broke(how)),
            Ended::NoSuchMethod => failed(NotRun::NoSuchMethod),
            Ended::BadArguments(problem) => failed(NotRun::BadArguments(problem)),
        };
        if let Some(instance) = self.instances.all.get_mut(&running.object).filter(|own| own.epoch == running.epoch) {
            match running.mode {
                CallMode::Read => instance.reads -= 1,
                CallMode::Write => instance.is_written = false,
            }
        }
        self.answer(running.source, answer);
        self.start_waiting(&running.object);
    }

    fn answer(&mut self, source: Source, answer: Answer) {
        match source {
            Source::Own(key) => self.call_answered(key, answer),
            Source::Incoming(id) => self.emit(KernelOutput::Answer(id, answer)),
        }
    }

    pub(super) fn on_hold(&mut self, id: IncomingId, begin: Begin, epoch: ObjectEpoch, state: Vec<u8>) {
        let class = self.class(begin.object.class());
        let refused = match class {
            None => Some(NotRun::NoHostForClass),
            Some(class) if class.declared.version != begin.declared.version => {
                Some(NotRun::WrongVersion(class.declared.version))
            }
            Some(_) if self.instances.len() >= INSTANCES_MAX || self.instances.is_here(&begin.object) => {
                Some(NotRun::Busy)
            }
            Some(_) => None,
        };
        if let Some(why) = refused {
            return self.emit(KernelOutput::Held(id, Err(why)));
        }
        self.instances.load(&begin.object, begin.declared, epoch, Stage::Loading(id));
        self.emit(KernelOutput::App(ToApp::Restore { object: begin.object, state }));
    }

    pub(super) fn on_restored(&mut self, object: &ObjectName, restored: Result<(), String>) {
        match self.instances.stage(object) {
            Some(Stage::Beginning) => {
                self.instances.set_stage(object, Stage::Begun);
                self.beginning_restored(object, restored);
            }
            Some(Stage::Loading(id)) => {
                let held = restored.map_err(NotRun::BadArguments);
                match &held {
                    Ok(()) => self.instances.set_stage(object, Stage::Held),
                    Err(_) => self.remove_instance(object),
                }
                self.emit(KernelOutput::Held(id, held));
            }
            Some(Stage::Begun | Stage::Held | Stage::Ready) | None => {}
        }
    }

    pub(super) fn on_serve(&mut self, object: &ObjectName, epoch: ObjectEpoch) {
        let is_held = |own: &Instance| own.stage == Stage::Held && own.epoch == epoch;
        if self.instances.all.get(object).is_some_and(is_held) {
            self.serve(object);
        }
    }

    pub(super) fn on_drop(&mut self, object: &ObjectName, epoch: ObjectEpoch) {
        let is_held = |own: &Instance| matches!(own.stage, Stage::Held | Stage::Loading(_)) && own.epoch == epoch;
        if self.instances.all.get(object).is_some_and(is_held) {
            self.remove_instance(object);
        }
    }

    pub(super) fn serve(&mut self, object: &ObjectName) {
        self.instances.set_stage(object, Stage::Ready);
    }

    /// The instance is here no more. Nobody has been promised anything by those that wait; those that run have lost what they do.
    pub(super) fn remove_instance(&mut self, object: &ObjectName) {
        let Some(instance) = self.instances.all.remove(object) else { return };
        self.emit(KernelOutput::App(ToApp::Forget { object: object.clone() }));
        for waiting in instance.waiting {
            self.answer(waiting.source, Answer::NotHere);
        }
        let runs: Vec<RunId> =
            self.instances.runs.iter().filter(|(_, run)| run.object == *object).map(|(id, _)| *id).collect();
        for run in runs {
            if let Some(running) = self.instances.runs.remove(&run) {
                self.answer(running.source, Answer::Failed(CallFailure::Fenced));
            }
        }
    }

    /// The node has another life: none of what was here is its any more.
    pub(super) fn fence_all(&mut self) {
        self.fence_beginnings();
        let all: Vec<ObjectName> = self.instances.all.keys().cloned().collect();
        for object in all {
            self.remove_instance(&object);
        }
    }
}
