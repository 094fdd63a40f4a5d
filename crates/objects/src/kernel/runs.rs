//! Calls of objects that are here, and the runs of their methods.
//!
//! Invariants:
//! - a method that does not only read runs alone, also while it waits for others;
//! - calls start in the order in which they came, but for reads that an instance's own read has led to;
//! - every call that came is answered once.

use std::collections::VecDeque;

use iolite_machine::Instant;
use iolite_values::{DeviceRight, ObjectEpoch, ObjectName};
use iolite_wire::objects::{Answer, CallFailure, CallMode, Component, NotRun, Rpc};

use super::instances::{AtDoor, Running, Source, Stage, Waiting, What};
use super::{IncomingId, Kernel, KernelOutput};
use crate::limits::INSTANCE_CALLS_MAX;
use crate::managers::{Loaded, Reply};
use crate::table::Table;
use crate::{Broken, Ended, Run, RunId, ToApp};

/// The reason why a manager has no state, for people.
const GONE: &str = "the object is not here any more";

impl Kernel {
    pub(super) fn on_incoming(&mut self, id: IncomingId, rpc: Rpc) {
        match rpc.component {
            Component::Proxy(layer) => self.at_proxy(Source::Incoming(id), &rpc, layer),
            Component::Coordinator(layer) => self.at_coordinator(Source::Incoming(id), &rpc, layer),
            Component::Method | Component::Instance(_) => self.arrive(Source::Incoming(id), rpc),
        }
    }

    /// The class says whether a method only reads, and not the caller.
    fn mode(&self, rpc: &Rpc) -> CallMode {
        let reads = self.class(rpc.object.class()).is_some_and(|class| class.reads.contains(&rpc.method));
        if reads { CallMode::Read } else { CallMode::Write }
    }

    /// A call has come to where its object may be.
    pub(super) fn arrive(&mut self, source: Source, rpc: Rpc) {
        if !self.is_for_here(&rpc) {
            return self.not_here(source, &rpc);
        }
        let (may_serve, for_turns) = (self.may_serve(), self.chains.waiting(&rpc.object));
        let Some(instance) = self.instances.all.get_mut(&rpc.object) else { return };
        let needs_same = rpc.component == Component::Method || rpc.claim != DeviceRight::Call;
        let is_other = needs_same && rpc.version != instance.declared.version;
        let refused = if is_other {
            Some(NotRun::WrongVersion(instance.declared.version))
        } else if !may_serve {
            Some(NotRun::LeaseUnavailable)
        } else if instance.door.len() + instance.waiting.len() + for_turns >= INSTANCE_CALLS_MAX {
            Some(NotRun::Busy)
        } else {
            None
        };
        if let Some(why) = refused {
            return self.answer(source, Answer::Failed(CallFailure::NotRun(why)));
        }
        let goes_round = rpc.chain.contains(&rpc.object);
        if instance.stage != Stage::Ready && !goes_round {
            let until = self.now + rpc.time_left;
            instance.door.push_back(AtDoor { source, rpc, until });
            return;
        }
        self.admit(source, rpc);
    }

    /// A call goes through the managers of its object, and then runs.
    fn admit(&mut self, source: Source, rpc: Rpc) {
        let Some(instance) = self.instances.all.get(&rpc.object) else { return };
        let (layers, devices) = (instance.layers.clone(), instance.declared.devices);
        if !self.through_instance(source, &layers, devices, &rpc) {
            self.enqueue(source, rpc);
        }
    }

    /// A call is to run as soon as it may.
    pub(super) fn enqueue(&mut self, source: Source, rpc: Rpc) {
        let (mode, until) = (self.mode(&rpc), self.now + rpc.time_left);
        let Some(instance) = self.instances.all.get_mut(&rpc.object) else {
            return self.not_here(source, &rpc);
        };
        let goes_round = rpc.chain.contains(&rpc.object);
        if goes_round && !(mode == CallMode::Read && instance.runs() && instance.may_start(mode)) {
            let why = NotRun::WouldDeadlock(rpc.chain.iter().chain([&rpc.object]).cloned().collect());
            return self.answer(source, Answer::Failed(CallFailure::NotRun(why)));
        }
        let object = rpc.object.clone();
        let waiting = Waiting { source, what: What::Run(rpc), mode, until };
        if goes_round {
            return self.start(&object, waiting);
        }
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
            Stage::Copying(_) | Stage::Copy => false,
        }
    }

    /// The object is not here. Its caller is sent where it has gone, if that is known and news.
    fn not_here(&mut self, source: Source, rpc: &Rpc) {
        if let Some(why) = self.is_left(&rpc.object) {
            return self.answer(source, Answer::Failed(CallFailure::NotRun(why)));
        }
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

    /// The object serves: calls come in that have waited for it.
    pub(super) fn open_door(&mut self, object: &ObjectName) {
        while self.may_serve()
            && let Some(instance) = self.instances.all.get_mut(object).filter(|own| own.stage == Stage::Ready)
            && let Some(AtDoor { source, rpc, until }) = instance.door.pop_front()
        {
            if until <= self.now {
                // Its caller has given it up.
                self.answer(source, Answer::Failed(CallFailure::NotRun(NotRun::Busy)));
            } else {
                self.admit(source, rpc);
            }
        }
        self.start_waiting(object);
    }

    /// The object is to move: calls that have not started wait at the door again. A manager's own go on.
    pub(super) fn close_door(&mut self, object: &ObjectName) {
        let Some(instance) = self.instances.all.get_mut(object) else { return };
        let (inside, outside) = std::mem::take(&mut instance.waiting)
            .into_iter()
            .partition(|waiting| matches!(waiting.source, Source::Task(_)));
        instance.waiting = inside;
        let outside: VecDeque<Waiting> = outside;
        for Waiting { source, what, until, .. } in outside.into_iter().rev() {
            if let What::Run(rpc) = what {
                instance.door.push_front(AtDoor { source, rpc, until });
            }
        }
    }

    /// Starts what may start, in the order in which it came.
    pub(super) fn start_waiting(&mut self, object: &ObjectName) {
        let may_serve = self.may_serve() || self.instances.is_copy(object);
        while let Some(instance) = self.instances.all.get_mut(object) {
            let Some(waiting) = instance.waiting.front() else { return };
            if !instance.runs() || !may_serve || !instance.may_start(waiting.mode) {
                return;
            }
            let Some(waiting) = instance.waiting.pop_front() else { return };
            if waiting.until <= self.now {
                // Its caller has given it up.
                self.answer(waiting.source, Answer::Failed(CallFailure::NotRun(NotRun::Busy)));
            } else {
                self.start(object, waiting);
            }
        }
    }

    fn start(&mut self, object: &ObjectName, waiting: Waiting) {
        let Waiting { source, what, mode, until } = waiting;
        let Some(instance) = self.instances.all.get_mut(object) else { return };
        match mode {
            CallMode::Read => instance.reads += 1,
            CallMode::Write => instance.is_written = true,
        }
        match (what, source) {
            (What::Run(rpc), _) => self.start_run(source, mode, until, rpc),
            (What::Save, Source::Task(op)) => {
                instance.saving.push(op);
                self.emit(KernelOutput::App(ToApp::Save { object: object.clone() }));
            }
            (What::Load(Loaded { state, is_aside }), Source::Task(op)) => {
                instance.loading = Some(op);
                let is_kept = !is_aside && instance.stage != Stage::Copy;
                let keep = is_kept.then_some(instance.epoch);
                self.emit(KernelOutput::App(ToApp::Restore { object: object.clone(), state, keep }));
            }
            (What::Save | What::Load(_), Source::Own(_) | Source::Incoming(_)) => {
                unreachable!("only managers want states")
            }
        }
    }

    fn start_run(&mut self, source: Source, mode: CallMode, until: Instant, rpc: Rpc) {
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
        let is_copy = self.instances.is_copy(&running.object);
        let is_sure = is_copy || self.may_serve() && self.instances.stage(&running.object) != Some(Stage::Unsure);
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

    pub(super) fn answer(&mut self, source: Source, answer: Answer) {
        match source {
            Source::Own(key) => self.call_answered(key, answer),
            Source::Incoming(id) => self.emit(KernelOutput::Answer(id, answer)),
            Source::Task(op) => self.chains.tasks.answer(op, Reply::Answer(answer)),
        }
    }

    /// The object's row is known to name this node in this epoch.
    pub(super) fn serve(&mut self, object: &ObjectName, epoch: ObjectEpoch) {
        let Some(instance) = self.instances.all.get_mut(object) else { return };
        (instance.stage, instance.epoch) = (Stage::Ready, epoch);
        let layers = (!std::mem::replace(&mut instance.is_created, true)).then(|| instance.layers.clone());
        self.instances.set_due(object, None);
        if let Some(layers) = layers {
            self.created(object, &layers);
        }
        self.open_door(object);
    }

    /// The instance is here no more. Nobody has been promised anything by those that wait; those that run have lost what they do.
    pub(super) fn remove_instance(&mut self, object: &ObjectName) {
        self.instances.set_due(object, None);
        self.end_move(object, Err(NotRun::Conflict));
        let Some(instance) = self.instances.all.remove(object) else { return };
        self.emit(KernelOutput::App(ToApp::Forget { object: object.clone() }));
        let copying = match instance.stage {
            Stage::Copying(op) => Some(op),
            Stage::Beginning | Stage::Begun | Stage::Loading(_) | Stage::Held | Stage::Ready | Stage::Draining => None,
            Stage::Saving | Stage::Leaving | Stage::Keeping | Stage::Unsure | Stage::Copy => None,
        };
        for op in instance.saving.into_iter().chain(instance.loading).chain(copying) {
            self.chains.tasks.answer(op, Reply::State(Err(GONE.to_owned())));
        }
        for Waiting { source, what, .. } in instance.waiting {
            self.not_started(source, what);
        }
        for AtDoor { source, rpc, .. } in instance.door {
            self.not_here(source, &rpc);
        }
        let runs: Vec<RunId> =
            self.instances.runs.iter().filter(|(_, run)| run.object == *object).map(|(id, _)| *id).collect();
        for run in runs {
            if let Some(running) = self.instances.runs.remove(&run) {
                self.answer(running.source, Answer::Failed(CallFailure::Fenced));
            }
        }
    }

    fn not_started(&mut self, source: Source, what: What) {
        match (what, source) {
            (What::Run(rpc), _) => self.not_here(source, &rpc),
            (What::Save | What::Load(_), Source::Task(op)) => {
                self.chains.tasks.answer(op, Reply::State(Err(GONE.to_owned())));
            }
            (What::Save | What::Load(_), Source::Own(_) | Source::Incoming(_)) => {}
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
        self.left = Table::default();
        let all: Vec<ObjectName> = self.instances.all.keys().cloned().collect();
        for object in all {
            self.end_loading(&object);
            self.remove_instance(&object);
        }
    }
}
