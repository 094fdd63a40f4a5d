//! Objects that a server has this node hold: taken, and served when their epoch is committed.

use iolite_values::{ObjectEpoch, ObjectName};
use iolite_wire::objects::{Begin, NotRun};

use super::instances::Stage;
use super::{IncomingId, Kernel, KernelOutput};
use crate::limits::INSTANCES_MAX;
use crate::{Broken, ToApp};

impl Kernel {
    pub(super) fn on_hold(&mut self, id: IncomingId, begin: Begin, epoch: ObjectEpoch, state: Vec<u8>) {
        self.give_way(&begin.object, epoch);
        let class = self.class(begin.object.class());
        let refused = match class {
            None => Some(NotRun::NoHostForClass),
            Some(class) if class.declared.version != begin.declared.version => {
                Some(NotRun::WrongVersion(class.declared.version))
            }
            Some(_) if self.instances.len() >= INSTANCES_MAX || self.instances.is_here(&begin.object) => {
                Some(NotRun::Busy)
            }
            Some(_) if epoch == ObjectEpoch(0) => self.may_begin(&begin.object).err(),
            Some(_) => self.may_come(&begin.object).err(),
        };
        let layers = self.chains.layers(&begin.declared.managers);
        let layers = layers.map_err(|problem| NotRun::BadArguments(problem.to_string()));
        let layers = match refused.map_or(layers, Err) {
            Ok(layers) => layers,
            Err(why) => return self.emit(KernelOutput::Held(id, Err(why))),
        };
        self.discard_copy(&begin.object);
        self.instances.load(&begin.object, begin.declared, layers, epoch, Stage::Loading(id));
        self.emit(KernelOutput::App(ToApp::Restore { object: begin.object, state, keep: Some(epoch) }));
    }

    /// An object that was kept for a move waits until that is decided. Its owner moves it again only when the move was refused.
    fn give_way(&mut self, object: &ObjectName, epoch: ObjectEpoch) {
        if let Some((Stage::Held, before)) = self.instances.standing(object)
            && self.instances.was_kept(object)
            && before <= epoch
        {
            self.remove_instance(object);
        }
    }

    pub(super) fn on_restored(&mut self, object: &ObjectName, restored: Result<(), String>) {
        if self.loaded_for_manager(object, &restored) {
            return;
        }
        match self.instances.stage(object) {
            Some(Stage::Beginning) => {
                self.instances.set_stage(object, Stage::Begun);
                self.beginning_restored(object, restored);
            }
            Some(Stage::Loading(id)) => {
                let held = restored.map_err(NotRun::BadArguments);
                match &held {
                    Ok(()) => self.hold(object),
                    Err(_) => self.remove_instance(object),
                }
                self.emit(KernelOutput::Held(id, held));
            }
            Some(Stage::Copying(op)) => self.copied(object, op, restored),
            Some(
                Stage::Begun
                | Stage::Held
                | Stage::Ready
                | Stage::Draining
                | Stage::Saving
                | Stage::Leaving
                | Stage::Keeping
                | Stage::Unsure
                | Stage::Copy,
            )
            | None => {}
        }
    }

    fn hold(&mut self, object: &ObjectName) {
        let now = self.now;
        self.instances.set_held(object, now);
        self.ask_later(object);
        if self.settings.broken == Broken::ServeBeforeCommit
            && let Some((_, epoch)) = self.instances.standing(object)
        {
            self.serve(object, epoch.max(ObjectEpoch(1)));
        }
    }

    pub(super) fn on_serve(&mut self, object: &ObjectName, epoch: ObjectEpoch) {
        if self.is_held_for(object, epoch) {
            self.serve(object, epoch);
        }
    }

    pub(super) fn on_drop(&mut self, object: &ObjectName, epoch: ObjectEpoch) {
        if self.is_held_for(object, epoch) {
            self.end_loading(object);
            self.remove_instance(object);
        }
    }

    /// A new object is held for whatever epoch its row gets. One that was kept was held for an earlier process.
    fn is_held_for(&self, object: &ObjectName, epoch: ObjectEpoch) -> bool {
        if self.instances.was_kept(object) {
            return false;
        }
        match self.instances.standing(object) {
            Some((Stage::Held | Stage::Loading(_), held)) => held == ObjectEpoch(0) || held == epoch,
            Some(_) | None => false,
        }
    }
}
