//! Instances that are here, how far each is, and what waits for it.

use std::collections::VecDeque;
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{ObjectEpoch, ObjectName};
use iolite_wire::objects::{CallMode, Declared, NotRun, Rpc, RpcId};

use super::IncomingId;
use super::calls::CallKey;
use super::moving::Going;
use crate::RunId;
use crate::executor::{OpId, TaskId};
use crate::managers::{Layers, Loaded};
use crate::table::Table;

#[derive(Debug, Default)]
pub(super) struct Instances {
    pub all: Table<ObjectName, Instance>,
    pub runs: Table<RunId, Running>,
    pub last_run: u64,
    /// Instances of which something is due: see [`Instance::due`].
    due: Table<Due, ObjectName>,
    last_due: u64,
}

/// The time at which something is due, and a number: no two instances have the same.
type Due = (Instant, u64);

#[derive(Debug)]
pub(super) struct Instance {
    pub declared: Declared,
    pub epoch: ObjectEpoch,
    pub stage: Stage,
    pub layers: Layers,
    /// Whether its managers were told that it is here.
    pub is_created: bool,
    /// Whether an earlier process has kept it, and its row is not known.
    was_kept: bool,
    pub reads: usize,
    pub is_written: bool,
    /// Calls that wait until the object serves.
    pub door: VecDeque<AtDoor>,
    /// Calls that wait until others have run.
    pub waiting: VecDeque<Waiting>,
    /// Managers that wait for its state, and the one that has given it another one.
    pub saving: Vec<OpId>,
    pub loading: Option<OpId>,
    /// Tasks of managers that have not ended.
    pub tasks: Vec<TaskId>,
    /// When it was held, or was doubted last.
    since: Option<Instant>,
    /// When tracking is asked how it stands, or when its move has waited too long.
    due: Option<Due>,
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
    /// A copy for a manager of this node, and the app is asked to make it.
    Copying(OpId),
    /// A copy for a manager of this node. Its row may name any node.
    Copy,
}

impl Stage {
    /// Whether its row named this node when last heard of.
    fn is_own(self) -> bool {
        match self {
            Stage::Ready | Stage::Draining | Stage::Saving | Stage::Leaving | Stage::Keeping | Stage::Unsure => true,
            Stage::Beginning | Stage::Begun | Stage::Loading(_) | Stage::Held => false,
            Stage::Copying(_) | Stage::Copy => false,
        }
    }
}

/// The asker that waits for the answer of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Own(CallKey),
    Incoming(IncomingId),
    /// A task of a manager.
    Task(OpId),
}

/// Something that waits until others have run.
#[derive(Debug)]
pub(super) struct Waiting {
    pub source: Source,
    pub what: What,
    pub mode: CallMode,
    /// The caller does not wait longer.
    pub until: Instant,
}

/// Something to do with an object, beside what others do.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all are calls, and a box would be an allocation for each")]
pub(super) enum What {
    Run(Rpc),
    /// A manager wants the state.
    Save,
    /// A manager gives another state.
    Load(Loaded),
}

/// A call that waits until the object serves.
#[derive(Debug)]
pub(super) struct AtDoor {
    pub source: Source,
    pub rpc: Rpc,
    pub until: Instant,
}

#[derive(Debug)]
pub(super) struct Running {
    pub object: ObjectName,
    pub source: Source,
    pub mode: CallMode,
    pub id: RpcId,
    pub chain: Vec<ObjectName>,
    pub caller: String,
    pub until: Instant,
    /// Calls that the method has made.
    pub nested: u32,
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
    pub fn runs(&self) -> bool {
        matches!(self.stage, Stage::Ready | Stage::Draining | Stage::Copy)
    }

    /// Whether nothing runs, and no manager has a call under way.
    fn is_idle(&self) -> bool {
        self.reads == 0 && !self.is_written && self.waiting.is_empty() && self.tasks.is_empty()
    }

    pub fn may_start(&self, mode: CallMode) -> bool {
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

    /// Whether the object is here, or is going to be: a copy is not the object.
    pub fn is_here(&self, object: &ObjectName) -> bool {
        self.all.contains_key(object) && !self.is_copy(object)
    }

    pub fn is_copy(&self, object: &ObjectName) -> bool {
        matches!(self.stage(object), Some(Stage::Copying(_) | Stage::Copy))
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
        self.all.get(object).is_some_and(Instance::is_idle)
    }

    pub fn held_since(&self, object: &ObjectName) -> Option<Instant> {
        self.all.get(object).and_then(|own| own.since)
    }

    pub fn set_due(&mut self, object: &ObjectName, due: Option<Instant>) {
        let Some(instance) = self.all.get_mut(object) else { return };
        self.last_due += 1;
        let due = due.map(|at| (at, self.last_due));
        if let Some(before) = std::mem::replace(&mut instance.due, due) {
            self.due.remove(&before);
        }
        if let Some(due) = due {
            self.due.insert(due, object.clone());
        }
    }

    /// The next instance of which something is due.
    pub fn take_due(&mut self, now: Instant) -> Option<ObjectName> {
        let (_, object) = self.due.first().filter(|((at, _), _)| *at <= now)?;
        let object = object.clone();
        self.set_due(&object, None);
        Some(object)
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.due.first().map(|((at, _), _)| *at)
    }

    /// Whether the managers of an object let it go.
    pub fn may_move(&self, object: &ObjectName) -> Result<(), NotRun> {
        let layers = self.all.get(object).into_iter().flat_map(|own| own.layers.instances.iter().flatten());
        layers.into_iter().try_for_each(|component| component.may_move())
    }

    pub fn going(&self, object: &ObjectName) -> Option<Going> {
        self.all.get(object).and_then(|own| own.going)
    }

    /// Returns the move that it was in.
    pub fn set_going(&mut self, object: &ObjectName, going: Option<Going>) -> Option<Going> {
        std::mem::replace(&mut self.all.get_mut(object)?.going, going)
    }

    pub fn task_begins(&mut self, object: &ObjectName, task: TaskId) {
        if let Some(instance) = self.all.get_mut(object) {
            instance.tasks.push(task);
        }
    }

    pub fn task_ends(&mut self, object: &ObjectName, task: TaskId) {
        if let Some(instance) = self.all.get_mut(object) {
            instance.tasks.retain(|own| *own != task);
        }
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
    pub fn load(&mut self, object: &ObjectName, declared: Declared, layers: Layers, epoch: ObjectEpoch, stage: Stage) {
        let instance = Instance {
            declared,
            epoch,
            stage,
            layers,
            is_created: false,
            was_kept: false,
            reads: 0,
            is_written: false,
            door: VecDeque::new(),
            waiting: VecDeque::new(),
            saving: Vec::new(),
            loading: None,
            tasks: Vec::new(),
            since: None,
            due: None,
            going: None,
        };
        self.all.insert(object.clone(), instance);
    }

    pub fn was_kept(&self, object: &ObjectName) -> bool {
        self.all.get(object).is_some_and(|own| own.was_kept)
    }

    pub fn set_kept(&mut self, object: &ObjectName, was_kept: bool) {
        if let Some(instance) = self.all.get_mut(object) {
            instance.was_kept = was_kept;
        }
    }

    /// The line above its class, its managers and its epoch, as its row has them.
    pub fn declare(&mut self, object: &ObjectName, declared: Declared, layers: Layers, epoch: ObjectEpoch) {
        if let Some(instance) = self.all.get_mut(object) {
            (instance.declared, instance.layers, instance.epoch) = (declared, layers, epoch);
        }
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
        let has_due = self.all.values().filter(|own| own.due.is_some());
        assert_eq!(has_due.count(), self.due.len(), "instances of which something is due");
        for (due, object) in self.due.iter() {
            assert_eq!(self.all.get(object).and_then(|own| own.due), Some(*due), "what is due of {object}");
        }
        for (object, instance) in self.all.iter() {
            let of = |mode| self.runs.values().filter(|run| run.object == *object && run.mode == mode).count();
            let (saves, loads) = (instance.saving.len(), usize::from(instance.loading.is_some()));
            assert_eq!(instance.reads, of(CallMode::Read) + saves, "reads of {object}");
            assert_eq!(usize::from(instance.is_written), of(CallMode::Write) + loads, "writes of {object}");
            assert!(!instance.is_written || instance.reads == 0, "a write of {object} runs alone");
        }
    }
}
