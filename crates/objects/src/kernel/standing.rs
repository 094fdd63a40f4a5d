//! Instances of which this node does not know whether they are its own: it asks tracking until it knows.
//!
//! Invariants: what a node holds is served when its row names the node, and not before; what it owned and is unsure of is served again only when
//! its row names the node still.

use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{ObjectEpoch, ObjectName};
use iolite_wire::objects::{NotRun, Placed, TrackAnswer};

use super::instances::Stage;
use super::{Kernel, KernelOutput};
use crate::Broken;
use crate::table::Table;

#[derive(Debug, Default)]
pub(super) struct Standing {
    asked: Table<u64, ObjectName>,
    /// Objects that others look for here and that are not here, by the number of the question.
    missed: Table<u64, ObjectName>,
}

/// Questions that are open at once. A node that comes back may have very many instances.
const OPEN: usize = 64;
/// How long tracking is left alone after it has refused.
const AGAIN: Duration = Duration::from_secs(1);
/// How often a node asks what has become of an object that it holds.
const HELD_ASKS: Duration = Duration::from_secs(5);
/// How long a new object is held that nobody decides. Its server has ended, with its creation.
const HELD: Duration = Duration::from_secs(60);

impl Kernel {
    /// The node holds an object now: if nobody tells, it asks.
    pub(super) fn ask_later(&mut self, object: &ObjectName) {
        self.instances.set_due(object, Some(self.now + HELD_ASKS));
    }

    /// Tracking has refused, or knows nothing yet.
    pub(super) fn ask_soon(&mut self, object: &ObjectName) {
        self.instances.set_due(object, Some(self.now + AGAIN));
    }

    fn ask_now(&mut self, object: &ObjectName) {
        if !self.standing.asked.values().any(|asked| asked == object) {
            self.instances.set_due(object, Some(self.now));
        }
    }

    /// Does what is due: a question to tracking, or the end of a move that waits too long. Further questions are asked when there are answers.
    pub(super) fn instances_overdue(&mut self) {
        while self.has_room()
            && let Some(object) = self.instances.take_due(self.now)
        {
            match self.instances.stage(&object) {
                Some(Stage::Draining) => self.stays(&object, NotRun::Busy),
                Some(_) | None => self.ask_standing(object),
            }
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.standing.asked.len() < OPEN
    }

    fn ask_standing(&mut self, object: ObjectName) {
        let Some((stage, epoch)) = self.instances.standing(&object) else { return };
        let number = self.number();
        match stage {
            Stage::Keeping => self.emit(KernelOutput::Keep { number, object: object.clone(), epoch }),
            Stage::Held | Stage::Unsure => self.emit(KernelOutput::Find(number, object.clone())),
            Stage::Beginning
            | Stage::Begun
            | Stage::Loading(_)
            | Stage::Ready
            | Stage::Draining
            | Stage::Saving
            | Stage::Leaving
            | Stage::Copying(_)
            | Stage::Copy => return,
        }
        self.standing.asked.insert(number, object);
    }

    /// Somebody looks for an object here that is not here. If its row names this node, it is gone.
    pub(super) fn ask_whether_missing(&mut self, object: &ObjectName) {
        let is_asked = self.standing.missed.values().any(|missed| missed == object);
        if is_asked || self.standing.missed.len() >= OPEN || self.instances.is_here(object) {
            return;
        }
        let number = self.number();
        self.standing.missed.insert(number, object.clone());
        self.emit(KernelOutput::Find(number, object.clone()));
    }

    fn missed_told(&mut self, object: ObjectName, answer: &TrackAnswer) {
        if let TrackAnswer::Found(placed) = answer
            && self.is_own(placed)
            && !self.instances.is_here(&object)
        {
            self.missing(object, placed.epoch);
        }
    }

    /// The row of an object names this node, which has none. One that an earlier process has kept is not gone.
    pub(super) fn missing(&mut self, object: ObjectName, epoch: ObjectEpoch) {
        if self.is_left(&object).is_none() {
            self.emit(KernelOutput::Missing(object, epoch));
        }
    }

    /// Tracking has answered how an instance stands. Whether it was asked that.
    pub(super) fn standing_told(&mut self, number: u64, answer: &TrackAnswer) -> bool {
        if let Some(object) = self.standing.missed.remove(&number) {
            self.missed_told(object, answer);
            return true;
        }
        let Some(object) = self.standing.asked.remove(&number) else { return false };
        match self.instances.standing(&object) {
            Some((Stage::Held, epoch)) if self.instances.was_kept(&object) => self.kept_told(&object, epoch, answer),
            Some((Stage::Held, epoch)) => self.held_told(&object, epoch, answer),
            Some((Stage::Unsure | Stage::Keeping, _)) => match answer {
                TrackAnswer::Lost => self.lost_told(&object),
                TrackAnswer::Refused(_) => self.ask_soon(&object),
                TrackAnswer::Found(_) | TrackAnswer::Begun(_) | TrackAnswer::Unknown => {
                    self.row_of_own(&object, answer);
                }
            },
            // It was decided otherwise meanwhile.
            Some(_) | None => {}
        }
        self.instances_overdue();
        true
    }

    /// The owner of the object is lost. If that is this node, its mark is about to go; if it stays, another node has taken the object, and was lost then.
    pub(super) fn lost_told(&mut self, object: &ObjectName) {
        let since = self.instances.held_since(object);
        if since.is_some_and(|since| self.now >= since + HELD) {
            return self.remove_instance(object);
        }
        if since.is_none() {
            self.instances.doubted(object, self.now);
        }
        self.ask_soon(object);
    }

    /// The row of an object that is held: it is served, dropped, or asked for again.
    fn held_told(&mut self, object: &ObjectName, epoch: ObjectEpoch, answer: &TrackAnswer) {
        let since = self.instances.held_since(object).unwrap_or(self.now);
        let is_new = epoch == ObjectEpoch(0);
        let is_old = self.now >= since + HELD;
        match answer {
            TrackAnswer::Found(placed) | TrackAnswer::Begun(placed) if self.is_own(placed) && placed.epoch >= epoch => {
                self.serve(object, placed.epoch);
            }
            TrackAnswer::Found(placed) | TrackAnswer::Begun(placed) if !is_new && placed.epoch >= epoch => {
                self.remove_instance(object);
            }
            // The object's owner has ended, or its creation.
            TrackAnswer::Unknown | TrackAnswer::Lost if is_old => self.remove_instance(object),
            TrackAnswer::Found(_) | TrackAnswer::Begun(_) if is_new && is_old => self.remove_instance(object),
            TrackAnswer::Found(_)
            | TrackAnswer::Begun(_)
            | TrackAnswer::Unknown
            | TrackAnswer::Lost
            | TrackAnswer::Refused(_) => {
                self.ask_later(object);
            }
        }
    }

    /// The row of an object that this node owned, and which nobody could change but by a commit.
    pub(super) fn row_of_own(&mut self, object: &ObjectName, answer: &TrackAnswer) {
        if self.beginning_claimed(object, answer) {
            return;
        }
        match answer {
            TrackAnswer::Found(placed) | TrackAnswer::Begun(placed) if self.is_own(placed) => {
                self.end_move(object, Err(NotRun::Unreachable));
                self.serve(object, placed.epoch);
            }
            TrackAnswer::Found(placed) | TrackAnswer::Begun(placed) => {
                self.end_move(object, Ok(placed.clone()));
                self.leave(object, placed);
            }
            TrackAnswer::Unknown => self.remove_instance(object),
            TrackAnswer::Refused(_) | TrackAnswer::Lost => {}
        }
    }

    pub(super) fn is_own(&self, placed: &Placed) -> bool {
        self.node.is_some() && placed.places.first().copied() == self.node
    }

    /// The object is another node's now. Who waits for it here is sent there.
    pub(super) fn leave(&mut self, object: &ObjectName, placed: &Placed) {
        if let Some(owner) = placed.places.first() {
            self.locations.learn(object, *owner, placed.epoch);
        }
        self.remove_instance(object);
    }

    /// The node was taken for lost, or had no lease: others may have begun its objects anew.
    pub(super) fn look_at_rows(&mut self) {
        if self.settings.broken == Broken::IgnoreEpoch {
            return;
        }
        for object in self.instances.owned() {
            self.doubt(&object);
        }
        self.instances_overdue();
    }

    /// Somebody knows of a later epoch than this node does.
    pub(super) fn doubt_if_new(&mut self, object: &ObjectName) {
        let now = self.now;
        if self.instances.may_be_doubted(object, now, AGAIN) {
            self.doubt(object);
            self.instances_overdue();
        }
    }

    /// The object is to be this node's, by a commit after which no earlier one counts.
    pub(super) fn keep(&mut self, object: &ObjectName) {
        self.instances.set_stage(object, Stage::Keeping);
        self.ask_now(object);
    }

    fn doubt(&mut self, object: &ObjectName) {
        match self.instances.stage(object) {
            Some(Stage::Ready | Stage::Draining | Stage::Saving) => {
                self.end_move(object, Err(NotRun::Busy));
                self.instances.set_stage(object, Stage::Unsure);
                self.instances.doubted(object, self.now);
                self.ask_now(object);
            }
            // Nobody knows whether a refusal of its move is older than the doubt.
            Some(Stage::Leaving) => self.keep(object),
            Some(
                Stage::Unsure
                | Stage::Keeping
                | Stage::Beginning
                | Stage::Begun
                | Stage::Loading(_)
                | Stage::Held
                | Stage::Copying(_)
                | Stage::Copy,
            )
            | None => {}
        }
    }

    /// The node is linked again: what it does not know it asks now. A move that was asked is decided by taking the object back.
    pub(super) fn ask_all_again(&mut self) {
        for (object, stage) in self.instances.stages() {
            match stage {
                Stage::Leaving => {
                    self.instances.set_stage(&object, Stage::Keeping);
                    self.ask_now(&object);
                }
                Stage::Held | Stage::Unsure | Stage::Keeping => self.ask_now(&object),
                Stage::Beginning
                | Stage::Begun
                | Stage::Loading(_)
                | Stage::Ready
                | Stage::Draining
                | Stage::Saving
                | Stage::Copying(_)
                | Stage::Copy => {}
            }
        }
        self.instances_overdue();
    }

    pub(super) fn standing_unlinked(&mut self) {
        self.standing.asked.clear();
        self.standing.missed.clear();
    }

    /// Whether this node may run methods now.
    pub(super) fn may_serve(&self) -> bool {
        !self.settings.needs_lease || self.now < self.serves_until
    }

    pub(super) fn on_lease(&mut self, until: Instant) {
        let could = self.may_serve();
        self.serves_until = self.serves_until.max(until);
        if !could && self.may_serve() {
            self.instances.owned().iter().for_each(|object| self.open_door(object));
        }
    }
}
