//! Calls of mutations in a tab that does not lead: stored, told to the leader, followed to their end.
//!
//! Invariants: a call is told to a leader only once this tab knows that it is stored, so that it will not be stored again; it is announced only to a leader that cannot have found it in the outbox when
//! it opened the storage, and otherwise asked about, so that none is adopted twice.

use iolite_machine::{PersistId, WallTime};
use iolite_values::{Cell, Counter, Id, LogId, Text, Write};
use iolite_wire::client_storage::{StoredLogCall, StoredMutation};
use iolite_wire::tabs::TabRequest;

use super::joining::Link;
use super::{Follower, FollowerOutput};
use crate::Client;
use crate::client::CallError;
use crate::interface::Pending;
use crate::live::{self, LIVE};
use crate::tabs::call::{outbox_entry, stored_call};
use crate::tabs::{CallStatus, Ticket};
use crate::text::{Authors, EditError, Splice, text_with};
use crate::view::View;

#[derive(Debug)]
pub(super) struct OwnCall {
    ticket: Ticket,
    call: StoredMutation,
    storing: Storing,
    state: CallState,
    status: CallStatus,
    wish: Wish,
}

/// A call of this tab that another core of it had, and that has not ended.
#[derive(Clone, Debug)]
pub struct CallAgain {
    pub ticket: Ticket,
    pub called_at: WallTime,
    pub name: String,
    /// In JSON.
    pub arguments: String,
    /// The log that it is an operation of.
    pub log: Option<LogId>,
    /// Whether this tab knows that it is stored. Such a call is never stored again: it may have ended, and nobody may know of that any more.
    pub stored: bool,
}

/// What this tab knows of a call's way to the disk. It may be there before, and a leader may have found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storing {
    /// If it fails, it is tried again.
    GoesOn(PersistId),
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    /// The leader was not told of it.
    Untold(Begun),
    /// The leader adopts it.
    Announced,
    /// The leader finds out what became of it.
    Asked,
    Queued(Counter),
}

/// When its storing began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    /// After this leader's welcome, so after it opened the storage.
    UnderThisLeader,
    Earlier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Keep,
    TakeBack,
}

/// Calls that the leader had before this tab knew that they are stored: it is told once they are, as there may be another copy in the outbox.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// Those that have ended, while their storing goes on.
    ended: Vec<(PersistId, Ticket)>,
    stored: Vec<Ticket>,
}

impl OwnCall {
    /// Whether the leader has stored it as its own, so that it is in the outbox no more.
    fn is_saved(&self) -> bool {
        matches!(self.status, CallStatus::Queued(_, Pending { durable: true, .. }))
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.status, CallStatus::Ended(..) | CallStatus::ConfirmedEarlier)
    }
}

impl Follower {
    /// Calls a named mutation; `arguments` are JSON. The ticket is 128 random bits, of the host. It is shown once the leader has run it.
    ///
    /// # Errors
    /// [`CallError`]; nothing was stored then.
    pub fn mutate(&mut self, now: WallTime, ticket: Ticket, name: &str, arguments: &str) -> Result<(), CallError> {
        self.check_call(name, arguments)?;
        let begun = match self.link {
            Link::Welcomed | Link::Following { .. } => Begun::UnderThisLeader,
            Link::Joining { .. } => Begun::Earlier,
            Link::Refused { .. } => return Err(CallError::OtherVersion),
        };
        let called_at = now.max(self.called_after());
        let call = stored_call(ticket, called_at, name, arguments);
        let (storing, state) = (self.store(&call), CallState::Untold(begun));
        self.calls.push_back(OwnCall { ticket, call, storing, state, status: CallStatus::Called, wish: Wish::Keep });
        Ok(())
    }

    /// Goes on with a call that this tab made while it led, or followed with another core. One that is known to be stored is asked about. The others
    /// are stored: a leader that has such a call already recognises it.
    pub fn call_again(&mut self, again: CallAgain) {
        let CallAgain { ticket, called_at, name, arguments, log, stored } = again;
        let mut call = stored_call(ticket, called_at.max(self.called_after()), &name, &arguments);
        let (log, seed, committed) = (log, [0; 16], None);
        call.log = log.map(|log| StoredLogCall { log: log.name.to_string(), instance: log.instance, seed, committed });
        let (storing, status) = match stored {
            true => (Storing::Done, CallStatus::Stored),
            false => (self.store(&call), CallStatus::Called),
        };
        let state = CallState::Untold(Begun::Earlier);
        self.calls.push_back(OwnCall { ticket, call, storing, state, status, wish: Wish::Keep });
    }

    fn store(&mut self, call: &StoredMutation) -> Storing {
        self.persists = self.persists.next();
        let changes = outbox_entry(call).into_iter().collect();
        self.outputs.push_back(FollowerOutput::Persist { id: self.persists, changes });
        Storing::GoesOn(self.persists)
    }

    /// Calls that a leader finds in the outbox are ordered by their times, so each is later than those that may be there, also when the clock
    /// was set back.
    fn called_after(&self) -> WallTime {
        let waiting = self.calls.iter().filter(|own| !own.is_saved());
        let last = waiting.map(|own| own.call.called_at_micros).max();
        WallTime::from_micros(last.map_or(0, |last| last + 1))
    }

    fn check_call(&self, name: &str, arguments: &str) -> Result<(), CallError> {
        CallError::check_size(name, arguments)?;
        if self.running.is_some() {
            return Err(CallError::Nested);
        }
        if self.mirror.len() + self.unseen().count() >= Client::PENDING_MAX {
            return Err(CallError::QueueFull { of: "mutations", limit: Client::PENDING_MAX });
        }
        Ok(())
    }

    /// As [`Client::live_edit`]. The ticket is that of the call: of this tab's first edit its bits name who edits.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn live_edit(&mut self, ticket: Ticket, cell: &Cell, splice: &Splice<'_>) -> Result<String, EditError> {
        let text = self.written_text(cell)?;
        let bits = ticket.0.as_u128();
        let authors =
            self.authors.get_or_insert_with(|| Authors::of(self.secret, [bits as u64, (bits >> 64) as u64, 0, 0]));
        self.documents.borrow_mut().live_edit(&self.schema, cell, &text, splice, authors)
    }

    /// What the positions of [`Follower::live_edit`] are of: with the calls of this tab that the leader has not run yet.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn live_text(&mut self, cell: &Cell) -> Result<String, EditError> {
        let text = self.written_text(cell)?;
        Ok(self.documents.borrow_mut().string(cell, &text))
    }

    fn written_text(&self, cell: &Cell) -> Result<Text, EditError> {
        let calls = self.unseen().filter(|own| own.call.name == LIVE);
        let more: Vec<Write> = calls.flat_map(|own| live::writes(&self.schema, &own.call.arguments)).collect();
        text_with(self.reader(View::Optimistic), &self.schema, cell, &more)
    }

    /// The calls of this tab that the leader's state does not have, nor ever had.
    fn unseen(&self) -> impl Iterator<Item = &OwnCall> {
        self.calls.iter().filter(|own| match own.state {
            // It may be withdrawn already, and only its end not be told yet.
            CallState::Queued(_) => false,
            CallState::Untold(_) | CallState::Announced | CallState::Asked => {
                self.mirror.of_ticket(own.ticket).is_none()
            }
        })
    }

    /// The calls of this tab that have not ended, in order.
    pub fn calls(&self) -> impl Iterator<Item = (Ticket, &CallStatus)> {
        self.calls.iter().map(|own| (own.ticket, &own.status))
    }

    /// Asks the leader to take a call of this tab back, if nothing of it was sent yet. Its status tells what came of it.
    pub fn take_back(&mut self, ticket: Ticket) {
        let Some(own) = self.calls.iter_mut().find(|own| own.ticket == ticket) else { return };
        // It stays a wish until the call ends: a leader may be lost before it hears of it.
        own.wish = Wish::TakeBack;
        if let CallState::Queued(counter) = own.state {
            self.cancel(counter);
        }
    }

    /// Asks the leader to take a mutation of any tab back, if nothing of it was sent yet.
    pub fn cancel(&mut self, counter: Counter) {
        self.request(TabRequest::Cancel(counter));
    }

    /// Asks the leader to forget a refused mutation and its payload.
    pub fn dismiss(&mut self, counter: Counter) {
        self.request(TabRequest::Dismiss(counter));
    }

    pub(super) fn on_persisted(&mut self, id: PersistId) {
        let is_stored = |storing: Storing| matches!(storing, Storing::GoesOn(position) if position <= id);
        for own in self.calls.iter_mut().filter(|own| is_stored(own.storing)) {
            own.storing = Storing::Done;
            self.outputs.push_back(FollowerOutput::Call { ticket: own.ticket, status: CallStatus::Stored });
            if let CallState::Queued(_) = own.state {
                self.outputs.push_back(FollowerOutput::Call { ticket: own.ticket, status: own.status.clone() });
                self.late.stored.push(own.ticket);
            } else {
                own.status = CallStatus::Stored;
            }
        }
        let ended = self.late.ended.extract_if(.., |(position, _)| *position <= id);
        self.late.stored.extend(ended.map(|(_, ticket)| ticket));
    }

    /// Tells the leader of calls that are stored, in order. None is announced before those that it was asked about are cleared up.
    pub(super) fn tell_calls(&mut self) -> bool {
        let Link::Following { .. } = self.link else { return false };
        let mut asked: Vec<Id> = self.late.stored.drain(..).map(Id::from).collect();
        let mut announced = Vec::new();
        let mut unclear = false;
        for own in &mut self.calls {
            match (own.state, own.storing) {
                (CallState::Asked, _) => unclear = true,
                (CallState::Untold(Begun::Earlier), Storing::Done) => {
                    unclear = true;
                    own.state = CallState::Asked;
                    asked.push(own.ticket.0);
                }
                (CallState::Untold(Begun::UnderThisLeader), Storing::Done) if !unclear => {
                    own.state = CallState::Announced;
                    announced.push(own.call.clone());
                }
                (CallState::Untold(_), _) => break,
                (CallState::Announced | CallState::Queued(_), _) => {}
            }
        }
        let nothing = asked.is_empty() && announced.is_empty();
        announced.into_iter().for_each(|call| self.request(TabRequest::Announce(call)));
        for part in asked.chunks(self.limits.subscribe_part) {
            self.request(TabRequest::Ask(part.to_vec()));
        }
        !nothing
    }

    /// There is a leader that may have found the calls in the outbox, or may not know of those that another one had.
    pub(super) fn doubt_calls(&mut self) {
        for own in &mut self.calls {
            own.state = match self.mirror.of_ticket(own.ticket) {
                Some(pending) if matches!(self.link, Link::Following { .. }) => CallState::Queued(pending.counter),
                Some(_) | None => CallState::Untold(Begun::Earlier),
            };
        }
    }

    pub(super) fn on_queued(&mut self, ticket: Ticket, counter: Counter, pending: Pending) {
        let Some(own) = self.calls.iter_mut().find(|own| own.ticket == ticket) else { return };
        let is_to_go = own.wish == Wish::TakeBack && !pending.sent;
        if let (CallState::Untold(_), Storing::Done) = (own.state, own.storing) {
            // It was stored before this leader was heard, which may have it from elsewhere: then there is a copy.
            self.late.stored.push(ticket);
        }
        own.state = CallState::Queued(counter);
        own.status = CallStatus::Queued(counter, pending);
        self.outputs.push_back(FollowerOutput::Call { ticket, status: own.status.clone() });
        if is_to_go {
            self.cancel(counter);
        }
    }

    pub(super) fn on_call_ended(&mut self, ticket: Ticket, status: CallStatus) {
        let Some(place) = self.calls.iter().position(|own| own.ticket == ticket) else { return };
        let own = self.calls.remove(place).expect("it is there");
        if let Storing::GoesOn(position) = own.storing {
            self.late.ended.push((position, ticket));
        }
        self.outputs.push_back(FollowerOutput::Call { ticket, status });
    }
}
