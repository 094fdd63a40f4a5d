//! Objects that begin: here, by one commit of tracking; or elsewhere, by a server.
//!
//! Invariant: an instance that begins here serves once its row is known to be committed, and not before.

use iolite_values::{ObjectEpoch, ObjectName};
use iolite_wire::objects::{Begin, NotRun, Placed, RpcId, TrackAnswer};

use super::instances::Stage;
use super::{Kernel, KernelOutput};
use crate::limits::{INSTANCES_MAX, STATE_BYTES_MAX};
use crate::table::Table;
use crate::{CallError, Created, Placing, Ticket, ToApp};

#[derive(Debug, Default)]
pub(super) struct Creating {
    /// Objects that begin here, and whether tracking was asked.
    here: Table<ObjectName, Beginning>,
    /// Questions for which the app waits.
    asked: Table<u64, Asked>,
}

#[derive(Debug)]
struct Beginning {
    ticket: Ticket,
    begin: Begin,
}

#[derive(Debug)]
enum Asked {
    Begin(ObjectName),
    Create(Ticket, RpcId),
    /// Whether an object that is wanted has begun.
    IsThere(Ticket, ObjectName),
    /// Whether the object is gone of which this node has a copy.
    IsGone(ObjectName),
    Find(Ticket),
}

impl Kernel {
    pub(super) fn on_create(&mut self, ticket: Ticket, begin: Begin, state: Vec<u8>, placing: Placing) {
        if state.len() > STATE_BYTES_MAX {
            let limit = format!("the state has {} bytes, and may have {STATE_BYTES_MAX}", state.len());
            let refused = Err(CallError::NotRun(NotRun::TooLarge(limit)));
            return self.emit(KernelOutput::App(ToApp::Created(ticket, refused)));
        }
        match placing {
            Placing::Here => self.create_here(ticket, begin, state),
            Placing::AtServer => {
                let number = self.number();
                let id = RpcId { kernel: self.settings.id, counter: number, path: Vec::new() };
                self.creating.asked.insert(number, Asked::Create(ticket, id));
                self.emit(KernelOutput::Create(number, begin, state));
            }
        }
    }

    fn create_here(&mut self, ticket: Ticket, begin: Begin, state: Vec<u8>) {
        let refused = if self.is_left(&begin.object).is_some() {
            return self.was_there(ticket, begin.object);
        } else if self.class(begin.object.class()).is_none() {
            Some(NotRun::NoHostForClass)
        } else if self.instances.is_here(&begin.object) || self.instances.is_copy(&begin.object) {
            return self.was_there(ticket, begin.object);
        } else if self.instances.len() >= INSTANCES_MAX {
            Some(NotRun::Busy)
        } else {
            None
        };
        let layers = self.chains.layers(&begin.declared.managers);
        let layers = layers.map_err(|problem| NotRun::BadArguments(problem.to_string()));
        let layers = match refused.map_or(layers, Err) {
            Ok(layers) => layers,
            Err(why) => return self.emit(KernelOutput::App(ToApp::Created(ticket, Err(CallError::NotRun(why))))),
        };
        let object = begin.object.clone();
        self.instances.load(&object, begin.declared.clone(), layers, ObjectEpoch(0), Stage::Beginning);
        self.creating.here.insert(object.clone(), Beginning { ticket, begin });
        self.emit(KernelOutput::App(ToApp::Restore { object, state, keep: Some(ObjectEpoch(0)) }));
    }

    /// The object is here, or begins here at the moment; or a copy is, whose object is there as far as this node knows; or an earlier process has kept it.
    fn was_there(&mut self, ticket: Ticket, object: ObjectName) {
        let number = self.number();
        self.creating.asked.insert(number, Asked::IsThere(ticket, object.clone()));
        self.emit(KernelOutput::Find(number, object));
    }

    /// Whether an object may begin here of which this node may have a copy. A copy that is to be pushed stays until it is known that its object is gone.
    pub(super) fn may_begin(&mut self, object: &ObjectName) -> Result<(), NotRun> {
        self.may_come(object).map_err(|_why| {
            let number = self.number();
            self.creating.asked.insert(number, Asked::IsGone(object.clone()));
            self.emit(KernelOutput::Find(number, object.clone()));
            NotRun::Busy
        })
    }

    /// The app has made an object that begins here, or cannot.
    pub(super) fn beginning_restored(&mut self, object: &ObjectName, restored: Result<(), String>) {
        match restored {
            Ok(()) => self.ask_to_begin(object),
            Err(problem) => self.end_beginning(object, Err(CallError::NotRun(NotRun::BadArguments(problem)))),
        }
    }

    fn ask_to_begin(&mut self, object: &ObjectName) {
        let Some(beginning) = self.creating.here.get(object) else { return };
        let begin = beginning.begin.clone();
        let number = self.number();
        self.creating.asked.insert(number, Asked::Begin(object.clone()));
        self.emit(KernelOutput::Begin(number, begin));
    }

    /// The node is linked again: what was asked before is asked again. Tracking knows whether an object has begun.
    pub(super) fn begin_again(&mut self) {
        let is_made = |object: &&ObjectName| self.instances.stage(object) == Some(Stage::Begun);
        let waiting: Vec<ObjectName> = self.creating.here.keys().filter(is_made).cloned().collect();
        waiting.iter().for_each(|object| self.ask_to_begin(object));
    }

    pub(super) fn on_find(&mut self, ticket: Ticket, object: ObjectName) {
        let number = self.number();
        self.creating.asked.insert(number, Asked::Find(ticket));
        self.emit(KernelOutput::Find(number, object));
    }

    pub(super) fn on_told(&mut self, number: u64, answer: TrackAnswer) {
        if self.calls_told(number, &answer)
            || self.standing_told(number, &answer)
            || self.move_told(number, &answer)
            || self.put_told(number, &answer)
        {
            return;
        }
        match self.creating.asked.remove(&number) {
            Some(Asked::Begin(object)) => self.begin_told(&object, answer),
            Some(Asked::Create(ticket, _)) => {
                let created = created(answer);
                self.emit(KernelOutput::App(ToApp::Created(ticket, created)));
            }
            Some(Asked::IsThere(ticket, object)) => {
                let created = match answer {
                    TrackAnswer::Unknown | TrackAnswer::Lost => {
                        // A copy does not keep an object from being begun anew, and neither does one that cannot be served.
                        self.discard_copy(&object);
                        self.left.remove(&object);
                        Err(CallError::NotRun(NotRun::Busy))
                    }
                    TrackAnswer::Found(_) | TrackAnswer::Begun(_) | TrackAnswer::Refused(_) => created(answer),
                };
                self.emit(KernelOutput::App(ToApp::Created(ticket, created)));
            }
            Some(Asked::IsGone(object)) => {
                if matches!(answer, TrackAnswer::Unknown | TrackAnswer::Lost) {
                    self.discard_copy(&object);
                }
            }
            Some(Asked::Find(ticket)) => {
                let found = match answer {
                    TrackAnswer::Found(placed) | TrackAnswer::Begun(placed) => Ok(Some(placed)),
                    TrackAnswer::Unknown | TrackAnswer::Lost => Ok(None),
                    TrackAnswer::Refused(why) => Err(CallError::NotRun(why)),
                };
                self.emit(KernelOutput::App(ToApp::Found(ticket, found)));
            }
            None => {}
        }
    }

    fn begin_told(&mut self, object: &ObjectName, answer: TrackAnswer) {
        let is_own = |placed: &Placed| placed.places.first().copied() == self.node;
        match answer {
            TrackAnswer::Begun(placed) => self.end_beginning(object, Ok(Created::New(placed))),
            // The answer to the first question was lost; or the row is of an object that is gone, and somebody is about to remove it.
            TrackAnswer::Found(placed) if is_own(&placed) => self.claim_beginning(object, placed.epoch),
            TrackAnswer::Found(placed) => self.end_beginning(object, Ok(Created::WasThere(placed))),
            TrackAnswer::Unknown | TrackAnswer::Lost => self.end_beginning(object, Err(CallError::Gone)),
            TrackAnswer::Refused(why) => self.end_beginning(object, Err(CallError::NotRun(why))),
        }
    }

    /// The row names this node, which has not begun the object as far as it knows: it does so by a commit of its own.
    fn claim_beginning(&mut self, object: &ObjectName, epoch: ObjectEpoch) {
        self.instances.set_epoch(object, epoch);
        self.keep(object);
    }

    /// The row of an object that begins here. Whether it does.
    pub(super) fn beginning_claimed(&mut self, object: &ObjectName, answer: &TrackAnswer) -> bool {
        if !self.creating.here.contains_key(object) {
            return false;
        }
        let created = if let TrackAnswer::Found(placed) | TrackAnswer::Begun(placed) = answer {
            let is_own = placed.places.first().copied() == self.node;
            Ok(if is_own { Created::New(placed.clone()) } else { Created::WasThere(placed.clone()) })
        } else {
            Err(CallError::NotRun(NotRun::Conflict))
        };
        self.end_beginning(object, created);
        true
    }

    fn end_beginning(&mut self, object: &ObjectName, created: Result<Created, CallError>) {
        match &created {
            Ok(Created::New(placed)) => self.serve(object, placed.epoch),
            Ok(Created::WasThere(_)) | Err(_) => self.remove_instance(object),
        }
        if let Some(beginning) = self.creating.here.remove(object) {
            self.emit(KernelOutput::App(ToApp::Created(beginning.ticket, created)));
        }
    }

    /// The node has another life: nothing begins here under the old one. Whether it has begun is not known.
    pub(super) fn fence_beginnings(&mut self) {
        for beginning in std::mem::take(&mut self.creating.here).into_values() {
            self.emit(KernelOutput::App(ToApp::Created(beginning.ticket, Err(CallError::Fenced))));
        }
    }

    pub(super) fn creations_unlinked(&mut self) {
        for asked in std::mem::take(&mut self.creating.asked).into_values() {
            match asked {
                // It is asked again.
                Asked::Begin(_) | Asked::IsGone(_) => {}
                Asked::Create(ticket, id) => {
                    self.emit(KernelOutput::App(ToApp::Created(ticket, Err(CallError::InDoubt(id)))));
                }
                Asked::IsThere(ticket, _) => {
                    let unreachable = Err(CallError::NotRun(NotRun::Unreachable));
                    self.emit(KernelOutput::App(ToApp::Created(ticket, unreachable)));
                }
                Asked::Find(ticket) => {
                    let unreachable = Err(CallError::NotRun(NotRun::Unreachable));
                    self.emit(KernelOutput::App(ToApp::Found(ticket, unreachable)));
                }
            }
        }
    }
}

fn created(answer: TrackAnswer) -> Result<Created, CallError> {
    match answer {
        TrackAnswer::Begun(placed) => Ok(Created::New(placed)),
        TrackAnswer::Found(placed) => Ok(Created::WasThere(placed)),
        TrackAnswer::Unknown | TrackAnswer::Lost => Err(CallError::Gone),
        TrackAnswer::Refused(why) => Err(CallError::NotRun(why)),
    }
}
