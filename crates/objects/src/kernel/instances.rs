//! Instances that are here, and the runs of their methods.
//!
//! Invariants:
//! - a method that does not only read runs alone, also while it waits for others;
//! - calls start in the order in which they came, but for reads that an instance's own read has led to;
//! - every call that came is answered once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{ObjectEpoch, ObjectName};
use iolite_wire::objects::{Answer, CallFailure, CallMode, Declared, NotRun, Rpc, RpcId};

use super::calls::CallKey;
use super::moving::Going;
use super::{IncomingId, Kernel, KernelOutput};
use crate::limits::INSTANCE_CALLS_MAX;
use crate::{Broken, Ended, Run, RunId, ToApp};

#[derive(Debug, Default)]
pub(super) struct Instances {
    all: BTreeMap<ObjectName, Instance>,
    runs: BTreeMap<RunId, Running>,
    last_run: u64,
    /// Instances of which something is due: see [`Instance::due`].
    due: BTreeSet<(Instant, ObjectName)>,
}

#[derive(Debug)]
struct Instance {
    declared: Declared,
    epoch: ObjectEpoch,
    stage: Stage,
    reads: usize,
    is_written: bool,
    waiting: VecDeque<Waiting>,
    /// When it was held, or was doubted last.
    since: Option<Instant>,
    /// When tracking is asked how it stands, or when its move has waited too long.
    due: Option<Instant>,
    /// The move that it is in.
    going: Option<Going>,
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
    /// The object is to move, and methods run still. No other one starts.
    Draining,
    /// The object is to move, and the app is asked for its state.
    Saving,
    /// The object is to move, and tracking is asked.
    Leaving,
    /// The move is in doubt, and tracking is asked to leave the object here.
    Keeping,
    /// The object may be another node's by now, and tracking is asked.
    Unsure,
}

impl Stage {
    /// Whether its row named this node when last heard of.
    fn is_own(self) -> bool {
        match self {
            Stage::Ready | Stage::Draining | Stage::Saving | Stage::Leaving | Stage::Keeping | Stage::Unsure => true,
            Stage::Beginning | Stage::Begun | Stage::Loading(_) | Stage::Held => false,
        }
    }
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
    /// Whether methods run. While an object is being saved, none starts.
    fn runs(&self) -> bool {
        matches!(self.stage, Stage::Ready | Stage::Draining)
    }

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

    /// Whether its row named this node when last heard of.
    pub fn is_own(&self, object: &ObjectName) -> bool {
        self.stage(object).is_some_and(Stage::is_own)
    }

    pub fn owned(&self) -> Vec<ObjectName> {
        self.all.iter().filter(|(_, own)| own.stage.is_own()).map(|(object, _)| object.clone()).collect()
    }

    pub fn stages(&self) -> Vec<(ObjectName, Stage)> {
        self.all.iter().map(|(object, own)| (object.clone(), own.stage)).collect()
    }

    pub fn serving(&self) -> Vec<(ObjectName, ObjectEpoch)> {
        let ready = self.all.iter().filter(|(_, own)| own.stage == Stage::Ready);
        ready.map(|(object, own)| (object.clone(), own.epoch)).collect()
    }

    pub fn standing(&self, object: &ObjectName) -> Option<(Stage, ObjectEpoch)> {
        self.all.get(object).map(|instance| (instance.stage, instance.epoch))
    }

    pub fn declared(&self, object: &ObjectName) -> Option<(Declared, ObjectEpoch)> {
        self.all.get(object).map(|instance| (instance.declared.clone(), instance.epoch))
    }

    pub fn is_idle(&self, object: &ObjectName) -> bool {
        self.all.get(object).is_some_and(|own| own.reads == 0 && !own.is_written)
    }

    pub fn held_since(&self, object: &ObjectName) -> Option<Instant> {
        self.all.get(object).and_then(|own| own.since)
    }

    pub fn set_due(&mut self, object: &ObjectName, due: Option<Instant>) {
        let Some(instance) = self.all.get_mut(object) else { return };
        if let Some(before) = std::mem::replace(&mut instance.due, due) {
            self.due.remove(&(before, object.clone()));
        }
        self.due.extend(due.map(|at| (at, object.clone())));
    }

    /// The next instance of which something is due.
    pub fn take_due(&mut self, now: Instant) -> Option<ObjectName> {
        let (_, object) = self.due.first().filter(|(at, _)| *at <= now)?.clone();
        self.set_due(&object, None);
        Some(object)
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    pub fn going(&self, object: &ObjectName) -> Option<Going> {
        self.all.get(object).and_then(|own| own.going)
    }

    /// Returns the move that it was in.
    pub fn set_going(&mut self, object: &ObjectName, going: Option<Going>) -> Option<Going> {
        std::mem::replace(&mut self.all.get_mut(object)?.going, going)
    }

    pub fn set_held(&mut self, object: &ObjectName, now: Instant) {
        if let Some(instance) = self.all.get_mut(object) {
            (instance.stage, instance.since) = (Stage::Held, Some(now));
        }
    }

    pub fn doubted(&mut self, object: &ObjectName, now: Instant) {
        if let Some(instance) = self.all.get_mut(object) {
            instance.since = Some(now);
        }
    }

    /// A caller that says wrong epochs all the time does not make a node ask all the time.
    pub fn may_be_doubted(&self, object: &ObjectName, now: Instant, again: Duration) -> bool {
        self.all.get(object).is_some_and(|own| own.since.is_none_or(|last| last + again <= now))
    }

    pub fn stage(&self, object: &ObjectName) -> Option<Stage> {
        self.all.get(object).map(|instance| instance.stage)
    }

    /// An instance that does not serve yet.
    pub fn load(&mut self, object: &ObjectName, declared: Declared, epoch: ObjectEpoch, stage: Stage) {
        let instance = Instance {
            declared,
            epoch,
            stage,
            reads: 0,
            is_written: false,
            waiting: VecDeque::new(),
            since: None,
            due: None,
            going: None,
        };
        self.all.insert(object.clone(), instance);
    }

    pub fn set_epoch(&mut self, object: &ObjectName, epoch: ObjectEpoch) {
        if let Some(instance) = self.all.get_mut(object) {
            instance.epoch = epoch;
        }
    }

    pub fn set_stage(&mut self, object: &ObjectName, stage: Stage) {
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
        let due = self.all.iter().filter_map(|(object, own)| Some((own.due?, object.clone())));
        assert_eq!(due.collect::<BTreeSet<_>>(), self.due, "what is due");
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
        if !self.is_for_here(&rpc) {
            return self.not_here(source, &rpc);
        }
        let may_serve = self.may_serve();
        let Some(instance) = self.instances.all.get_mut(&rpc.object) else { return };
        let goes_round = rpc.chain.contains(&rpc.object);
        let refused = if rpc.version != instance.declared.version {
            Some(NotRun::WrongVersion(instance.declared.version))
        } else if !may_serve {
            Some(NotRun::LeaseUnavailable)
        } else if goes_round && !(mode == CallMode::Read && instance.runs() && instance.may_start(mode)) {
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

    /// Whether a call is to wait here, or to run. A caller that knows a later epoch than this node has either heard of a commit first, or this node has lost
    /// the object.
    fn is_for_here(&mut self, rpc: &Rpc) -> bool {
        let Some((stage, epoch)) = self.instances.standing(&rpc.object) else { return false };
        match stage {
            Stage::Beginning | Stage::Begun | Stage::Loading(_) | Stage::Held => rpc.epoch >= epoch.max(ObjectEpoch(1)),
            Stage::Ready | Stage::Draining | Stage::Saving
                if rpc.epoch > epoch && self.settings.broken != Broken::IgnoreEpoch =>
            {
                self.doubt_if_new(&rpc.object);
                false
            }
            Stage::Ready | Stage::Draining | Stage::Saving | Stage::Leaving | Stage::Keeping | Stage::Unsure => true,
        }
    }

    /// The object is not here. Its caller is sent where it has gone, if that is known and news.
    fn not_here(&mut self, source: Source, rpc: &Rpc) {
        let known = self.locations.of(&rpc.object);
        let answer = match known.filter(|(at, epoch)| Some(*at) != self.node && *epoch > rpc.epoch) {
            Some((to, epoch)) => Answer::Moved { to, epoch },
            None => {
                self.ask_whether_missing(&rpc.object);
                Answer::NotHere
            }
        };
        self.answer(source, answer);
    }

    /// Starts what may start, in the order in which it came.
    pub(super) fn start_waiting(&mut self, object: &ObjectName) {
        let may_serve = self.may_serve();
        while let Some(instance) = self.instances.all.get_mut(object) {
            let Some(waiting) = instance.waiting.front() else { return };
            if instance.stage != Stage::Ready || !may_serve || !instance.may_start(waiting.mode) {
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
        self.instances.last_run += 1;
        let run = RunId(self.instances.last_run);
        let Rpc { id, object, method, chain, caller, arguments, .. } = rpc;
        let of_app = Run { object: object.clone(), method, arguments, mode, caller: caller.clone() };
        let running = Running { object, source, mode, id, chain, caller, until, nested: 0 };
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
        let is_sure = self.may_serve() && self.instances.stage(&running.object) != Some(Stage::Unsure);
        if let Some(instance) = self.instances.all.get_mut(&running.object) {
            match running.mode {
                CallMode::Read => instance.reads -= 1,
                CallMode::Write => instance.is_written = false,
            }
        }
        // The object may be another node's by now, and what the method did is lost then.
        let unsure = match running.mode {
            CallMode::Read => failed(NotRun::LeaseUnavailable),
            CallMode::Write => Answer::Failed(CallFailure::InDoubt),
        };
        self.answer(running.source, if is_sure { answer } else { unsure });
        self.save_if_drained(&running.object);
        self.start_waiting(&running.object);
    }

    fn answer(&mut self, source: Source, answer: Answer) {
        match source {
            Source::Own(key) => self.call_answered(key, answer),
            Source::Incoming(id) => self.emit(KernelOutput::Answer(id, answer)),
        }
    }

    /// The object's row is known to name this node in this epoch.
    pub(super) fn serve(&mut self, object: &ObjectName, epoch: ObjectEpoch) {
        if let Some(instance) = self.instances.all.get_mut(object) {
            (instance.stage, instance.epoch) = (Stage::Ready, epoch);
        }
        self.instances.set_due(object, None);
        self.start_waiting(object);
    }

    /// The instance is here no more. Nobody has been promised anything by those that wait; those that run have lost what they do.
    pub(super) fn remove_instance(&mut self, object: &ObjectName) {
        self.instances.set_due(object, None);
        self.end_move(object, Err(NotRun::Conflict));
        let Some(instance) = self.instances.all.remove(object) else { return };
        self.emit(KernelOutput::App(ToApp::Forget { object: object.clone() }));
        for waiting in instance.waiting {
            self.not_here(waiting.source, &waiting.rpc);
        }
        let runs: Vec<RunId> =
            self.instances.runs.iter().filter(|(_, run)| run.object == *object).map(|(id, _)| *id).collect();
        for run in runs {
            if let Some(running) = self.instances.runs.remove(&run) {
                self.answer(running.source, Answer::Failed(CallFailure::Fenced));
            }
        }
    }

    /// A server waits to hear that an object is held here, and it will not be.
    pub(super) fn end_loading(&mut self, object: &ObjectName) {
        if let Some(Stage::Loading(id)) = self.instances.stage(object) {
            self.emit(KernelOutput::Held(id, Err(NotRun::Conflict)));
        }
    }

    /// The node has another life: none of what was here is its any more.
    pub(super) fn fence_all(&mut self) {
        self.fence_beginnings();
        let all: Vec<ObjectName> = self.instances.all.keys().cloned().collect();
        for object in all {
            self.end_loading(&object);
            self.remove_instance(&object);
        }
    }
}
