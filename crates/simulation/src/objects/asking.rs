//! How apps ask: calls, creations, searches and moves, each under a ticket of its own.

use std::time::Duration;

use iolite_objects::{Call, FromApp, Placing, RunId, Ticket};
use iolite_values::{NodeId, ObjectName};
use iolite_wire::objects::CallMode;

use super::app::{Asked, arguments_of, state_of};
use super::kinds::Kind;
use super::names::{APPEND, At, READ, SERVER, begin, reads};
use super::queue::NodeEvent;
use super::roughness::MILLISECOND;
use super::told::{CallIndex, CallTold, TransactionIndex, WordIndex, WordTold};
use super::world::World;
use crate::history::Moment;

/// A call that somebody wants to make.
pub struct Wanted {
    pub object: ObjectName,
    pub method: &'static str,
    pub target: Option<ObjectName>,
    pub hold: Moment,
    pub within: Option<RunId>,
    pub time: Duration,
    pub transaction: Option<TransactionIndex>,
}

impl Wanted {
    pub fn read(object: ObjectName, time: Duration) -> Wanted {
        Wanted { object, method: READ, target: None, hold: 0, within: None, time, transaction: None }
    }
}

impl World {
    fn ticket(&mut self, at: At, asked: Asked) -> Ticket {
        let app = &mut self.host_mut(at).app;
        app.last_ticket += 1;
        let ticket = Ticket(app.last_ticket);
        app.tickets.insert(ticket, asked);
        ticket
    }

    /// Makes a call. The kernel hears of it when it is carried next.
    pub fn call(&mut self, at: At, wanted: Wanted) -> CallIndex {
        let Wanted { object, method, target, hold, within, time, transaction } = wanted;
        let outer = within.and_then(|run| self.host(at).app.runs.get(&run)).map(|run| run.caller.clone());
        let own = match at {
            At::Server(_) => SERVER.to_owned(),
            At::Device(_) => String::new(),
        };
        let index = CallIndex(self.told.calls.len());
        let told = CallTold {
            at,
            life: self.host(at).life,
            entry: outer.unwrap_or(own),
            object: object.clone(),
            method,
            number: self.told.number(),
            target,
            hold,
            asked: self.moment,
            deadline: self.now(at).instant + time,
            answered: None,
            runs: Vec::new(),
            transaction,
        };
        self.told.calls.push(told);
        let ticket = self.ticket(at, Asked::Call { call: index, within });
        let mode = if reads(method) { CallMode::Read } else { CallMode::Write };
        let arguments = arguments_of(index);
        let call = Call { object, version: 1, method: method.to_owned(), mode, arguments, within, time };
        self.host_mut(at).app.says.push_back(FromApp::Call(ticket, call));
        index
    }

    /// The method of a run calls the object that it is to call.
    pub fn pass_on(&mut self, at: At, run: RunId, call: CallIndex) {
        let target = self.told.calls[call.0].target.clone().expect("it calls an object");
        if self.host(at).app.scripts.contains_key(&target) {
            // The call would be part of a transaction.
            return self.later(at, 0, NodeEvent::EndRun(run));
        }
        let method = if self.random.chance(500) { APPEND } else { READ };
        let time = Duration::from_nanos(self.random.between(300, 6_000) * MILLISECOND);
        self.call(at, Wanted { method, within: Some(run), ..Wanted::read(target, time) });
    }

    pub fn create(&mut self, at: At, object: ObjectName, placing: Placing) -> Ticket {
        let state = state_of(&self.first_list(&object), false);
        let ticket = self.ticket(at, Asked::Create);
        let create = FromApp::Create { ticket, begin: begin(&object), state, placing };
        self.host_mut(at).app.says.push_back(create);
        ticket
    }

    /// The list with which an object is to begin. One that never changes has more than one number from the beginning.
    fn first_list(&mut self, object: &ObjectName) -> Vec<u64> {
        let numbers = if Kind::of(object) == Kind::Immutable { 3 } else { 1 };
        let list: Vec<u64> = (0..numbers).map(|_| self.told.number()).collect();
        self.told.begun_with.insert(list[0], list.clone());
        list
    }

    /// Says something to the manager of an object that listens.
    pub fn speak(&mut self, at: At, object: ObjectName, word: String) -> WordIndex {
        let index = WordIndex(self.told.words.len());
        let manager = Kind::of(&object).listener().expect("it has a manager that listens").to_owned();
        let deadline = self.now(at).instant + Duration::from_nanos(World::WORD_TIME);
        let (life, asked, body) = (self.host(at).life, self.moment, word.as_bytes().to_vec());
        let told = WordTold { at, life, object: object.clone(), word, asked, deadline, answered: None };
        self.told.words.push(told);
        let ticket = self.ticket(at, Asked::Word(index));
        self.host_mut(at).app.says.push_back(FromApp::Manage { ticket, object, manager, body });
        index
    }

    pub fn find(&mut self, at: At, object: ObjectName) {
        let ticket = self.ticket(at, Asked::Find(object.clone(), self.moment));
        self.host_mut(at).app.says.push_back(FromApp::Find { ticket, object });
    }

    pub fn move_to(&mut self, at: At, object: ObjectName, to: NodeId) {
        let ticket = self.ticket(at, Asked::Move);
        self.host_mut(at).app.says.push_back(FromApp::Move { ticket, object, to });
    }
}
