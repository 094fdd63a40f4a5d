//! Promises of managers that are looked at while a run goes on: where objects are, what states replace, and which methods run.

use iolite_objects::{CallError, CallResult};
use iolite_values::{NodeId, NodeName, ObjectName};
use iolite_wire::objects::NotRun;

use super::commits::ObjectRow;
use super::happened::ObjectEvent;
use super::kinds::{Kind, Promise};
use super::names::{At, PULL, PUSH, reads};
use super::told::{CallIndex, WordIndex};
use super::world::World;
use crate::checker::Invariant;

impl World {
    fn is_of_user(&self, node: NodeId) -> bool {
        match node.name {
            NodeName::Device(id) => self.device_of(id).is_some_and(|device| !self.devices[device].serves),
            NodeName::Server(_) => false,
        }
    }

    /// The row of an object has changed.
    pub fn judge_place(&mut self, object: &ObjectName, before: Option<&ObjectRow>, row: &ObjectRow) {
        let kind = Kind::of(object);
        let from = before.map(|before| before.places.clone()).unwrap_or_default();
        let is_elsewhere = !from.is_empty() && row.places != from;
        let has_moved = is_elsewhere && !row.places.is_empty() && !row.is_begun;
        if kind == Kind::InPlace && is_elsewhere && (!row.places.is_empty() || self.has_started(object)) {
            self.broke(Invariant::Placed, format!("{object} was at {from:?}, and is at {:?}", row.places));
        }
        let is_of_user = row.places.iter().any(|node| self.is_of_user(*node));
        if kind == Kind::InCloud && is_of_user {
            self.broke(Invariant::Placed, format!("{object} is at a device of a user: {:?}", row.places));
        }
        if kind == Kind::OnDevice && has_moved && is_of_user {
            self.happened(ObjectEvent::Followed);
        }
        if matches!(kind, Kind::Migrating | Kind::Layered) && has_moved {
            self.happened(ObjectEvent::Migrated);
        }
    }

    /// A method starts.
    pub fn judge_run(&mut self, at: At, object: &ObjectName, method: &str) {
        let kind = Kind::of(object);
        if kind == Kind::Immutable && !reads(method) {
            self.broke(Invariant::Unchanged, format!("{method} of {object} runs at {at:?}"));
        }
        if kind == Kind::InCloud && matches!(at, At::Device(device) if !self.devices[device].serves) {
            self.broke(Invariant::Placed, format!("{method} of {object} runs at {at:?}, a device of a user"));
        }
        let other = self.host(at).app.runs.values().find(|run| run.object == *object).map(|run| run.call);
        if let Some(other) = other.filter(|_| kind == Kind::Serial) {
            self.broke(Invariant::OneAtATime, format!("{method} of {object} starts at {at:?} while {other:?} runs"));
        }
    }

    /// A state comes to where the object is, or where a copy of it is. Where nothing is taken back, it has all that is there already.
    pub fn judge_state(&mut self, at: At, object: &ObjectName, list: &[u64], is_copy: bool) {
        let before = self.host(at).app.objects.get(object).cloned();
        if is_copy && before.is_none() {
            self.happened(ObjectEvent::CopyTaken);
        }
        let grows = if is_copy { Kind::CACHED } else { Kind::WRITTEN_BACK };
        let kind = Kind::of(object);
        let Some(before) = before.filter(|before| grows.contains(&kind) && before.first() == list.first()) else {
            return;
        };
        if !list.starts_with(&before) {
            let what = format!("at {at:?} {object} was {before:?}, and a state of it is {list:?}");
            self.broke(Invariant::KeptWrites, what);
        }
    }
}

impl World {
    /// A word to a manager has its answer.
    pub fn word_answered(&mut self, at: At, word: WordIndex, result: CallResult) {
        let told = &mut self.told.words[word.0];
        let (object, text) = (told.object.clone(), told.word.clone());
        told.answered = Some((self.moment, result.clone()));
        let is_conflict = matches!(result, Err(CallError::NotRun(NotRun::Conflict)));
        match text.as_str() {
            PUSH if result.is_ok() => self.happened(ObjectEvent::Pushed),
            PUSH if is_conflict => self.happened(ObjectEvent::PushConflict),
            PUSH | PULL => {}
            _word if Kind::of(&object).promise() == Promise::Transactions => {
                self.transaction_answered(at, &object, &text, &result);
            }
            _word => {}
        }
    }

    /// Counts what became of a call under managers.
    pub fn count_under(&mut self, call: CallIndex, result: &CallResult) {
        let told = &self.told.calls[call.0];
        let is_copy = told.runs.last().is_some_and(|run| self.told.runs[run.0].is_copy);
        let kind = Kind::of(&told.object);
        if result.is_ok() && is_copy {
            self.happened(if reads(told.method) { ObjectEvent::ReadAtCopy } else { ObjectEvent::WrittenAtCopy });
        }
        match result {
            Err(CallError::NotRun(NotRun::LeaseUnavailable)) if kind == Kind::Leased => {
                self.happened(ObjectEvent::LeaseRefused);
            }
            Err(CallError::Fenced) if kind == Kind::Leased && is_copy => self.happened(ObjectEvent::HolderFenced),
            Err(CallError::NotRun(NotRun::NotPermitted)) if kind == Kind::Immutable => {
                self.happened(ObjectEvent::WriteRefused);
            }
            Ok(_) | Err(_) => {}
        }
    }
}
