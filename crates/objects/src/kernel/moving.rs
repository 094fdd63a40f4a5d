//! Objects that go from here to another node.
//!
//! Invariants: the state of an object is taken when none of its methods runs, and none starts before its row is known; one commit decides whether the object
//! has moved; an object whose move is in doubt is served by nobody.

use std::time::Duration;

use iolite_values::{NodeId, ObjectName};
use iolite_wire::objects::{Begin, NotRun, Placed, TrackAnswer};

use super::instances::Stage;
use super::{Kernel, KernelOutput};
use crate::executor::OpId;
use crate::limits::STATE_BYTES_MAX;
use crate::managers::Reply;
use crate::table::Table;
use crate::{Broken, CallError, Ticket, ToApp};

#[derive(Debug, Default)]
pub(super) struct Moving {
    /// The moves that were asked, by the number of the question.
    asked: Table<u64, ObjectName>,
}

/// The part that waits for a move.
#[derive(Clone, Copy, Debug)]
pub(super) enum MoveAsker {
    App(Ticket),
    /// A task of a manager.
    Task(OpId),
}

/// A move that an instance is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Going {
    asker: MoveAsker,
    to: NodeId,
}

/// How long a move waits for methods that run.
const DRAINED_WITHIN: Duration = Duration::from_secs(5);

impl Kernel {
    pub(super) fn begin_move(&mut self, asker: MoveAsker, object: ObjectName, to: NodeId) {
        let refused = match self.instances.stage(&object) {
            Some(Stage::Ready) if Some(to) == self.node => return self.is_there_already(asker, &object, to),
            Some(Stage::Ready) => self.instances.may_move(&object).err(),
            Some(Stage::Draining | Stage::Saving | Stage::Leaving | Stage::Keeping | Stage::Unsure) => {
                Some(NotRun::Busy)
            }
            Some(
                Stage::Beginning | Stage::Begun | Stage::Loading(_) | Stage::Held | Stage::Copying(_) | Stage::Copy,
            )
            | None => Some(NotRun::Conflict),
        };
        if let Some(why) = refused {
            return self.tell_moved(asker, Err(why));
        }
        self.instances.set_going(&object, Some(Going { asker, to }));
        self.instances.set_stage(&object, Stage::Draining);
        self.close_door(&object);
        self.instances.set_due(&object, Some(self.now + DRAINED_WITHIN));
        self.save_if_drained(&object);
    }

    fn tell_moved(&mut self, asker: MoveAsker, moved: Result<Placed, NotRun>) {
        match asker {
            MoveAsker::App(ticket) => {
                self.emit(KernelOutput::App(ToApp::Moved(ticket, moved.map_err(CallError::NotRun))));
            }
            MoveAsker::Task(op) => self.chains.tasks.answer(op, Reply::Moved(moved)),
        }
    }

    fn is_there_already(&mut self, asker: MoveAsker, object: &ObjectName, to: NodeId) {
        let Some((declared, epoch)) = self.instances.declared(object) else { return };
        let placed = Placed { declared, epoch, places: vec![to] };
        self.tell_moved(asker, Ok(placed));
    }

    /// The state is taken once nothing runs.
    pub(super) fn save_if_drained(&mut self, object: &ObjectName) {
        if self.instances.stage(object) != Some(Stage::Draining) {
            return;
        }
        if self.instances.is_idle(object) || self.settings.broken == Broken::SnapshotWhileRunning {
            self.instances.set_stage(object, Stage::Saving);
            self.instances.set_due(object, None);
            self.emit(KernelOutput::App(ToApp::Save { object: object.clone() }));
        }
    }

    pub(super) fn on_saved(&mut self, object: &ObjectName, state: Result<Vec<u8>, String>) {
        if self.saved_for_managers(object, &state) || self.instances.stage(object) != Some(Stage::Saving) {
            return;
        }
        let state = match state {
            Ok(state) if state.len() <= STATE_BYTES_MAX => state,
            Ok(state) => {
                let word = format!("the state has {} bytes, and may have {STATE_BYTES_MAX}", state.len());
                return self.stays(object, NotRun::TooLarge(word));
            }
            Err(problem) => return self.stays(object, NotRun::BadArguments(problem)),
        };
        let (Some(going), Some((declared, from))) = (self.instances.going(object), self.instances.declared(object))
        else {
            return;
        };
        let to = going.to;
        self.instances.set_stage(object, Stage::Leaving);
        let number = self.number();
        // An answer to an earlier move of it says nothing of this one.
        let earlier = self.moving.asked.iter().find(|(_, asked)| *asked == object).map(|(number, _)| *number);
        if let Some(earlier) = earlier {
            self.moving.asked.remove(&earlier);
        }
        self.moving.asked.insert(number, object.clone());
        let begin = Begin { object: object.clone(), declared };
        self.emit(KernelOutput::Move { number, begin, from, to, state });
    }

    /// Tracking has answered a move. Whether it was asked that.
    pub(super) fn move_told(&mut self, number: u64, answer: &TrackAnswer) -> bool {
        let Some(object) = self.moving.asked.remove(&number) else { return false };
        if self.instances.stage(&object) != Some(Stage::Leaving) {
            return true;
        }
        match answer {
            TrackAnswer::Refused(why) => self.stays(&object, why.clone()),
            TrackAnswer::Found(_) | TrackAnswer::Begun(_) | TrackAnswer::Unknown | TrackAnswer::Lost => {
                self.row_of_own(&object, answer);
            }
        }
        true
    }

    /// The object goes on here: nothing was changed.
    pub(super) fn stays(&mut self, object: &ObjectName, why: NotRun) {
        self.instances.set_stage(object, Stage::Ready);
        self.instances.set_due(object, None);
        self.end_move(object, Err(why));
        self.open_door(object);
    }

    pub(super) fn end_move(&mut self, object: &ObjectName, moved: Result<Placed, NotRun>) {
        if let Some(going) = self.instances.set_going(object, None) {
            self.tell_moved(going.asker, moved);
        }
    }

    /// The connection is lost: who has asked for a move that is under way hears its end when the row is known.
    pub(super) fn moves_unlinked(&mut self) {
        self.moving.asked.clear();
    }

    /// The question was not sent, so nothing was changed.
    pub(super) fn move_not_sent(&mut self, number: u64) -> bool {
        let Some(object) = self.moving.asked.remove(&number) else { return false };
        self.stays(&object, NotRun::Unreachable);
        true
    }
}
