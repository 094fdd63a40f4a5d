//! Objects that an earlier process of this node has kept, in the life that this process goes on with.
//!
//! Invariant: a kept object is served after a commit of this process, in a new epoch. So managers at other nodes see a move, and nothing that the earlier
//! process granted or was asked counts. An object that cannot be served stays this node's: nobody hears that it is gone.

use iolite_values::{NodeId, ObjectEpoch, ObjectName};
use iolite_wire::objects::{NotRun, Placed, TrackAnswer};

use super::Kernel;
use super::instances::Stage;
use crate::limits::INSTANCES_MAX;
use crate::managers::Layers;
use crate::{Broken, KeptObject};

impl Kernel {
    /// The app has made these objects again. Their rows are asked for once the node is registered.
    pub(super) fn resume(&mut self, node: NodeId, kept: Vec<KeptObject>, left: Vec<(ObjectName, u32)>) {
        self.node = Some(node);
        for (object, version) in left {
            self.left.insert(object, version);
        }
        for KeptObject { object, epoch } in kept {
            let Some(class) = self.class(object.class()) else { continue };
            if self.instances.len() < INSTANCES_MAX {
                let declared = class.declared.clone();
                self.instances.load(&object, declared, Layers::none(), epoch, Stage::Held);
                self.instances.set_kept(&object, true);
            }
        }
    }

    /// Why nobody reaches an object that is this node's.
    pub(super) fn is_left(&self, object: &ObjectName) -> Option<NotRun> {
        self.left.get(object).copied().map(NotRun::WrongVersion)
    }

    /// The row of an object that was kept in this epoch, or held for it.
    pub(super) fn kept_told(&mut self, object: &ObjectName, kept: ObjectEpoch, answer: &TrackAnswer) {
        match answer {
            TrackAnswer::Found(placed) | TrackAnswer::Begun(placed) if placed.epoch < kept => {
                // The move that brought it here is not decided.
                self.ask_later(object);
            }
            TrackAnswer::Found(placed) | TrackAnswer::Begun(placed) if self.is_own(placed) => {
                self.take_kept(object, placed);
            }
            TrackAnswer::Found(placed) | TrackAnswer::Begun(placed) => self.leave(object, placed),
            TrackAnswer::Unknown => self.remove_instance(object),
            TrackAnswer::Lost => self.lost_told(object),
            TrackAnswer::Refused(_) => self.ask_soon(object),
        }
    }

    /// The row names this node: the object is its own again after one commit more.
    fn take_kept(&mut self, object: &ObjectName, placed: &Placed) {
        let version = self.class(object.class()).map(|class| class.declared.version);
        let layers = self.chains.layers(&placed.declared.managers).ok();
        let Some(layers) = layers.filter(|_| version == Some(placed.declared.version)) else {
            return self.remove_instance(object);
        };
        self.instances.set_kept(object, false);
        self.instances.declare(object, placed.declared.clone(), layers, placed.epoch);
        if self.settings.broken == Broken::ServeWhatWasKept {
            return self.serve(object, placed.epoch);
        }
        self.keep(object);
    }
}
