//! One node of a shard: what its log amounts to, and, while it leads, what clients ask of it.
//!
//! A machine: the log, the links and the time are its host's. Only the leader keeps transactions apart, before anything is in the log; the
//! others apply what is there. An entry does nothing if it is not in the log of the very leader that found it right.
//!
//! Invariant: a node leads from the moment at which it has applied all that was before its own first entry.
//! Source: TAPIR (TOCS 2018) 7.1.2.

mod leading;
mod locking;
mod locks;
mod optimistic;
mod store;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use iolite_baseline_client::{Control, Moved, Reply, Request, Tell};
use iolite_host::{LinkEvent, LinkNumber};
use iolite_machine::{Instant, Machine, Now};

use crate::command::{Command, Leadership};
use leading::Leading;
pub use store::LogIndex;
use store::Store;

/// Who waits for something at the leader; 0 is nobody.
pub type Ticket = u64;

#[derive(Debug)]
pub enum Input {
    Client(LinkNumber, LinkEvent<Request>),
    /// The next entry of the log is at a majority.
    Applied {
        index: LogIndex,
        leadership: Leadership,
        entry: Entry,
    },
    /// The answer to [`Output::Confirm`].
    Confirmed {
        tickets: Vec<Ticket>,
        leads: Leads,
    },
    /// This node leads no more, as far as it knows itself.
    StoodDown,
}

#[derive(Debug)]
pub enum Entry {
    /// The first of a leader.
    First,
    Command(Command),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    Yes,
    No,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    Reply(LinkNumber, Reply),
    /// To be written to the log, in this order.
    Propose(Command),
    /// Does this node still lead?
    Confirm(Ticket),
}

#[derive(Debug)]
pub struct Shard {
    /// Its number.
    node: u64,
    control: Control,
    store: Store,
    role: Role,
    outputs: VecDeque<Output>,
}

#[derive(Debug)]
enum Role {
    Following { leader: Option<u64> },
    Leading(Box<Leading>),
}

impl Shard {
    pub fn new(node: u64, control: Control) -> Shard {
        let role = Role::Following { leader: None };
        Shard { node, control, store: Store::default(), role, outputs: VecDeque::new() }
    }

    fn on_request(&mut self, now: Instant, link: LinkNumber, request: Request) {
        match &mut self.role {
            Role::Leading(leading) => leading.on_request(now, &self.store, link, request, &mut self.outputs),
            Role::Following { leader } => {
                let leader = leader.and_then(|leader| u32::try_from(leader).ok());
                let moved = Reply { id: request.id, tell: Some(Tell::Moved(Moved { leader })) };
                self.outputs.push_back(Output::Reply(link, moved));
            }
        }
    }

    fn on_applied(&mut self, now: Instant, index: LogIndex, leadership: Leadership, entry: Entry) {
        match entry {
            Entry::First => self.on_first(now, leadership),
            Entry::Command(Command { under, ticket, change: Some(change) }) if under == leadership => {
                self.store.apply(index, change.clone());
                if let Role::Leading(leading) = &mut self.role {
                    leading.on_applied(now, &self.store, &change, ticket, &mut self.outputs);
                }
            }
            // It was found right under another leader, or says nothing that this version knows.
            Entry::Command(_) => {}
        }
    }

    fn on_first(&mut self, now: Instant, leadership: Leadership) {
        self.stand_down(Some(leadership.node));
        if leadership.node == self.node {
            self.role = Role::Leading(Box::new(Leading::new(now, leadership, self.control, &self.store)));
        }
    }

    fn stand_down(&mut self, leader: Option<u64>) {
        if let Role::Leading(leading) = std::mem::replace(&mut self.role, Role::Following { leader }) {
            leading.end(&mut self.outputs);
        }
    }
}

impl Machine for Shard {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Now, input: Input) {
        match input {
            Input::Client(link, LinkEvent::Message(request)) => self.on_request(now.instant, link, request),
            Input::Client(link, LinkEvent::Closed) => {
                if let Role::Leading(leading) = &mut self.role {
                    leading.on_closed(&self.store, link, &mut self.outputs);
                }
            }
            Input::Client(_, LinkEvent::Opened(_)) => {}
            Input::Applied { index, leadership, entry } => self.on_applied(now.instant, index, leadership, entry),
            Input::Confirmed { tickets, leads } => {
                if let Role::Leading(leading) = &mut self.role {
                    tickets.into_iter().for_each(|ticket| leading.on_confirmed(ticket, leads, &mut self.outputs));
                }
            }
            Input::StoodDown => self.stand_down(None),
        }
    }

    fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.role {
            Role::Leading(leading) => leading.deadline(),
            Role::Following { .. } => None,
        }
    }

    fn on_deadline(&mut self, now: Now) {
        if let Role::Leading(leading) = &mut self.role {
            leading.on_deadline(now.instant, &self.store, &mut self.outputs);
        }
    }

    fn validate(&self) {
        if let Role::Leading(leading) = &self.role {
            leading.validate(&self.store);
        }
    }
}
