//! Copies of objects that managers of this node keep, and states that they take and give.
//!
//! Invariant: a copy is no object: no call from elsewhere runs at it, and no row names it. Its managers say what it is good for.

use iolite_values::{ObjectEpoch, ObjectName};
use iolite_wire::objects::CallMode;

use super::instances::{Source, Stage, Waiting, What};
use super::{Kernel, KernelOutput};
use crate::ToApp;
use crate::executor::OpId;
use crate::limits::INSTANCES_MAX;
use crate::managers::{Layers, Loaded, Reply};

impl Kernel {
    /// A manager has this node keep a copy of this state, in place of the one that it has.
    pub(super) fn make_copy(&mut self, op: OpId, object: &ObjectName, state: Vec<u8>) {
        if self.instances.stage(object) == Some(Stage::Copy) {
            return self.enqueue_state(op, object, What::Load(Loaded { state, is_aside: false }));
        }
        let declared = self.class(object.class()).map(|class| class.declared.clone());
        let problem = match &declared {
            None => Some("this node has no such class"),
            Some(_) if self.instances.stage(object).is_some() => Some("the object itself is here"),
            Some(_) if self.instances.len() >= INSTANCES_MAX => Some("this node has too many objects"),
            Some(_) => None,
        };
        let (Some(declared), None) = (declared, problem) else {
            let problem = problem.unwrap_or_default().to_owned();
            return self.chains.tasks.answer(op, Reply::State(Err(problem)));
        };
        self.instances.load(object, declared, Layers::none(), ObjectEpoch(0), Stage::Copying(op));
        self.emit(KernelOutput::App(ToApp::Restore { object: object.clone(), state, keep: None }));
    }

    /// The app has made a copy, or cannot.
    pub(super) fn copied(&mut self, object: &ObjectName, op: OpId, made: Result<(), String>) {
        match &made {
            Ok(()) => self.instances.set_stage(object, Stage::Copy),
            Err(_) => self.remove_instance(object),
        }
        self.chains.tasks.answer(op, Reply::State(made.map(|()| Vec::new())));
        self.start_waiting(object);
    }

    /// The copy is of no use any more, or the object itself comes here.
    pub(super) fn discard_copy(&mut self, object: &ObjectName) {
        if self.instances.is_copy(object) {
            self.remove_instance(object);
        }
    }

    /// A manager takes the state of what is here, or gives it another one.
    pub(super) fn enqueue_state(&mut self, op: OpId, object: &ObjectName, what: What) {
        let mode = match &what {
            What::Run(_) | What::Load(_) => CallMode::Write,
            What::Save => CallMode::Read,
        };
        let until = self.now + STATE_TIME;
        match self.instances.all.get_mut(object) {
            Some(instance) => instance.waiting.push_back(Waiting { source: Source::Task(op), what, mode, until }),
            None => {
                return self.chains.tasks.answer(op, Reply::State(Err("the object is not here".to_owned())));
            }
        }
        self.start_waiting(object);
    }

    /// The app has said the state of an object that managers want. Whether they want it.
    pub(super) fn saved_for_managers(&mut self, object: &ObjectName, state: &Result<Vec<u8>, String>) -> bool {
        let Some(instance) = self.instances.all.get_mut(object) else { return true };
        if instance.saving.is_empty() {
            return false;
        }
        let waiting = std::mem::take(&mut instance.saving);
        instance.reads -= waiting.len();
        for op in waiting {
            self.chains.tasks.answer(op, Reply::State(state.clone()));
        }
        self.save_if_drained(object);
        self.start_waiting(object);
        true
    }

    /// The app has taken another state. Whether a manager has given it.
    pub(super) fn loaded_for_manager(&mut self, object: &ObjectName, restored: &Result<(), String>) -> bool {
        let Some(instance) = self.instances.all.get_mut(object) else { return true };
        let Some(op) = instance.loading.take() else { return false };
        instance.is_written = false;
        self.chains.tasks.answer(op, Reply::State(restored.clone().map(|()| Vec::new())));
        self.save_if_drained(object);
        self.start_waiting(object);
        true
    }
}

/// How long a manager's wish for a state waits for methods that run. A method may take as long as its caller waits.
const STATE_TIME: std::time::Duration = std::time::Duration::from_secs(3600);
