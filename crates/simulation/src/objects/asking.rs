//! How apps ask: calls, creations, searches and moves, each under a ticket of its own.

use std::time::Duration;

use iolite_objects::{Call, FromApp, Placing, RunId, Ticket};
use iolite_values::{NodeId, ObjectName};
use iolite_wire::objects::CallMode;

use super::app::{Asked, arguments_of, state_of};
use super::names::{APPEND, At, READ, SERVER, begin};
use super::roughness::MILLISECOND;
use super::told::{CallIndex, CallTold};
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
}

impl Wanted {
    pub fn read(object: ObjectName, time: Duration) -> Wanted {
        Wanted { object, method: READ, target: None, hold: 0, within: None, time }
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
        let Wanted { object, method, target, hold, within, time } = wanted;
        let outer = within.and_then(|run| self.host(at).app.runs.get(&run)).map(|run| run.caller.clone());
        let own = match at {
            At::Server(_) => SERVER.to_owned(),
            At::Device(_) => String::new(),
        };
        let index = CallIndex(self.told.calls.len());
        let told = CallTold {
            at,
            entry: outer.unwrap_or(own),
            object: object.clone(),
            method,
            number: self.told.number(),
            target,
            hold,
            asked: self.moment,
            deadline: self.now(at).instant + time,
            answered: None,
            run: None,
        };
        self.told.calls.push(told);
        let ticket = self.ticket(at, Asked::Call { call: index, within });
        let mode = if method == READ { CallMode::Read } else { CallMode::Write };
        let arguments = arguments_of(index);
        let call = Call { object, version: 1, method: method.to_owned(), mode, arguments, within, time };
        self.host_mut(at).app.says.push_back(FromApp::Call(ticket, call));
        index
    }

    /// The method of a run calls the object that it is to call.
    pub fn pass_on(&mut self, at: At, run: RunId, call: CallIndex) {
        let target = self.told.calls[call.0].target.clone().expect("it calls an object");
        let method = if self.random.chance(500) { APPEND } else { READ };
        let time = Duration::from_nanos(self.random.between(300, 6_000) * MILLISECOND);
        self.call(at, Wanted { object: target, method, target: None, hold: 0, within: Some(run), time });
    }

    pub fn create(&mut self, at: At, object: ObjectName, placing: Placing) -> Ticket {
        let state = state_of(&[self.told.number()], false);
        let ticket = self.ticket(at, Asked::Create);
        let create = FromApp::Create { ticket, begin: begin(&object), state, placing };
        self.host_mut(at).app.says.push_back(create);
        ticket
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
