//! What a core runs: the client itself, or a follower of the one in another tab. Both run reactions in the same way.

use std::sync::Arc;

use iolite_client::{
    Client, Closed, Difference, DifferenceError, EditError, Follower, FollowerInput, Input, MutationKind, NotHeld,
    Peek, ReactionId, ReactionTurn, Run, RunOf, Splice, Ticket, Transaction, View,
};
use iolite_machine::{Instant, Machine, Now, PersistId};
use iolite_values::{Cell, ClientId, Counter, Schema};

use crate::failure::Failure;

pub(crate) enum Role {
    Leads(Box<Client>),
    Follows(Box<Follower>),
}

/// A pending mutation, as it was called.
pub(crate) struct Called {
    /// `None` for a closure.
    pub(crate) name: Option<String>,
    pub(crate) arguments: Option<String>,
    pub(crate) ticket: Option<String>,
}

impl Role {
    /// # Errors
    /// This core follows: the package's mistake.
    pub(crate) fn client(&mut self) -> Result<&mut Client, Failure> {
        match self {
            Role::Leads(client) => Ok(client),
            Role::Follows(_) => Err(Failure::of_transaction("this core follows another tab's")),
        }
    }

    /// # Errors
    /// This core leads: the package's mistake.
    pub(crate) fn follower(&mut self) -> Result<&mut Follower, Failure> {
        match self {
            Role::Follows(follower) => Ok(follower),
            Role::Leads(_) => Err(Failure::of_transaction("this core leads")),
        }
    }

    pub(crate) fn schema(&self) -> &Schema {
        match self {
            Role::Leads(client) => client.schema(),
            Role::Follows(follower) => follower.schema(),
        }
    }

    pub(crate) fn identity(&self) -> ClientId {
        match self {
            Role::Leads(client) => client.identity(),
            Role::Follows(follower) => follower.identity(),
        }
    }

    pub(crate) fn persisted(&mut self, now: Now, id: PersistId) {
        match self {
            Role::Leads(client) => client.handle(now, Input::Persisted(id)),
            Role::Follows(follower) => follower.handle(now, FollowerInput::Persisted(id)),
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            Role::Leads(client) => client.deadline(),
            Role::Follows(follower) => follower.deadline(),
        }
    }

    pub(crate) fn on_deadline(&mut self, now: Now) {
        match self {
            Role::Leads(client) => client.on_deadline(now),
            Role::Follows(follower) => follower.on_deadline(now),
        }
    }

    pub(crate) fn register(&mut self, view: View) -> ReactionId {
        match self {
            Role::Leads(client) => client.register(view),
            Role::Follows(follower) => follower.register(view),
        }
    }

    pub(crate) fn renew(&mut self, reaction: ReactionId) {
        match self {
            Role::Leads(client) => client.renew(reaction),
            Role::Follows(follower) => follower.renew(reaction),
        }
    }

    pub(crate) fn stop(&mut self, reaction: ReactionId) -> bool {
        match self {
            Role::Leads(client) => client.stop(reaction),
            Role::Follows(follower) => follower.stop(reaction),
        }
    }

    pub(crate) fn set_reaction_turn(&mut self, turn: ReactionTurn) {
        match self {
            Role::Leads(client) => client.set_reaction_turn(turn),
            Role::Follows(follower) => follower.set_reaction_turn(turn),
        }
    }

    pub(crate) fn reactions_wait(&self) -> bool {
        match self {
            Role::Leads(client) => client.reactions_wait(),
            Role::Follows(follower) => follower.reactions_wait(),
        }
    }

    pub(crate) fn dismiss(&mut self, counter: Counter) {
        match self {
            Role::Leads(client) => client.dismiss(counter),
            Role::Follows(follower) => follower.dismiss(counter),
        }
    }

    pub(crate) fn go_online(&mut self, now: Instant) {
        match self {
            Role::Leads(client) => client.go_online(now),
            Role::Follows(follower) => follower.go_online(),
        }
    }

    pub(crate) fn go_offline(&mut self) {
        match self {
            Role::Leads(client) => client.go_offline(),
            Role::Follows(follower) => follower.go_offline(),
        }
    }

    pub(crate) fn set_token(&mut self, now: Instant, token: String) {
        match self {
            Role::Leads(client) => client.set_token(now, token),
            Role::Follows(follower) => follower.set_token(token),
        }
    }

    /// Only the tab that leads asks for tokens.
    pub(crate) fn token_failed(&mut self, now: Instant, message: &str) {
        match self {
            Role::Leads(client) => client.token_failed(now, message),
            Role::Follows(_) => {}
        }
    }

    pub(crate) fn begin(&mut self, of: RunOf) -> Run {
        match self {
            Role::Leads(client) => client.begin(of),
            Role::Follows(follower) => follower.begin(of),
        }
    }

    pub(crate) fn begin_peek(&self, view: View) -> Option<Peek> {
        match self {
            Role::Leads(client) => client.begin_peek(view),
            Role::Follows(follower) => follower.begin_peek(view),
        }
    }

    pub(crate) fn peek_transaction<'a>(&'a self, peek: &'a mut Peek) -> Transaction<'a> {
        match self {
            Role::Leads(client) => client.peek_transaction(peek),
            Role::Follows(follower) => follower.peek_transaction(peek),
        }
    }

    pub(crate) fn end_peek(&self, peek: Peek) -> Result<(), NotHeld> {
        match self {
            Role::Leads(client) => client.end_peek(peek),
            Role::Follows(follower) => follower.end_peek(peek),
        }
    }

    pub(crate) fn difference(&self, a: View, b: View, table: Option<&str>) -> Result<Vec<Difference>, DifferenceError> {
        match self {
            Role::Leads(client) => client.difference(a, b, table),
            Role::Follows(follower) => follower.difference(a, b, table),
        }
    }

    pub(crate) fn views_number(&self) -> u64 {
        match self {
            Role::Leads(client) => client.views_number(),
            Role::Follows(follower) => follower.views_number(),
        }
    }

    pub(crate) fn transaction<'a>(&'a self, run: &'a mut Run) -> Transaction<'a> {
        match self {
            Role::Leads(client) => client.transaction(run),
            Role::Follows(follower) => follower.transaction(run),
        }
    }

    pub(crate) fn live_edit(&mut self, ticket: Ticket, cell: &Cell, splice: &Splice<'_>) -> Result<String, EditError> {
        match self {
            Role::Leads(client) => client.live_edit(cell, splice),
            Role::Follows(follower) => follower.live_edit(ticket, cell, splice),
        }
    }

    pub(crate) fn live_text(&mut self, cell: &Cell) -> Result<String, EditError> {
        match self {
            Role::Leads(client) => client.live_text(cell),
            Role::Follows(follower) => follower.live_text(cell),
        }
    }

    pub(crate) fn finish(&mut self, run: Run, closed: Closed) {
        match self {
            Role::Leads(client) => client.finish(run, closed),
            Role::Follows(follower) => follower.finish(run, closed),
        }
    }

    /// The name and the arguments of the operation that a log replays.
    pub(crate) fn replayed_call(&self) -> Option<(String, String)> {
        let Role::Leads(client) = self else { return None };
        match client.replayed_call()? {
            MutationKind::Named { name, arguments } => Some((name.to_string(), arguments.to_string())),
            MutationKind::Closure | MutationKind::ChangeSet => None,
        }
    }

    pub(crate) fn called(&self, counter: Counter) -> Option<Called> {
        match self {
            Role::Leads(client) => {
                let mutation = client.mutation(counter)?;
                let (name, arguments) = match &mutation.kind {
                    MutationKind::Named { name, arguments } => (Some(name.to_string()), Some(arguments.to_string())),
                    MutationKind::Closure | MutationKind::ChangeSet => (None, None),
                };
                let ticket = mutation.ticket.map(|ticket| ticket.0.to_string());
                Some(Called { name, arguments, ticket })
            }
            Role::Follows(follower) => {
                let pending = follower.mutation(counter)?;
                let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
                let ticket = pending.ticket.map(|ticket| ticket.0.to_string());
                Some(Called { name: text(&pending.name), arguments: text(&pending.arguments), ticket })
            }
        }
    }
}
