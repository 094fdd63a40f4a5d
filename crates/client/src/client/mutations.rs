//! Calls of mutations: begun, taken back, listed, ended.

use iolite_machine::WallTime;
use iolite_values::{Counter, Id, LaneNumber, LogId, Timestamp};
use iolite_wire::client_storage::{MutationStatus as StoredStatus, StoredLogCall, StoredMutation};
use iolite_wire::limits;

use super::Client;
use super::causal::stored_effects;
use crate::interface::{MutationStatus, PendingMutation, Refused};
use crate::queue::{Entry, LogCall, Mutation, MutationKind, Stage};
use crate::tabs::{Answer, Ticket};

/// Why a mutation cannot be called now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("a closure runs: call the mutation when it has ended")]
    Nested,
    #[error("an anonymous transaction needs a connection: give it a name to have it queued")]
    Offline,
    #[error("the arguments have no form in JSON: {problem}")]
    NoJson { problem: String },
    #[error("a mutation has at most {limit} bytes of {what}: store the data in smaller parts")]
    TooLarge { what: &'static str, limit: usize },
    #[error("the log {log:?} is not joined: join it before its operations are called")]
    NotJoined { log: String },
    #[error(
        "an operation of a log takes no blobs: keep the blob in a strong table, and give {operation:?} the key of its row"
    )]
    BlobInLog { operation: String },
    #[error("another version of the app leads in another tab: reload this tab, or close the other")]
    OtherVersion,
    #[error("{limit} {of} are pending or refused: wait until some are confirmed, and dismiss what was refused")]
    QueueFull { of: &'static str, limit: usize },
}

impl CallError {
    pub(crate) fn check_size(name: &str, arguments: &str) -> Result<(), CallError> {
        let parts = [("name", name, limits::NAME.most), ("arguments", arguments, Client::ARGUMENTS_MAX)];
        match parts.into_iter().find(|(_, text, limit)| text.len() > *limit) {
            Some((what, _, limit)) => Err(CallError::TooLarge { what, limit }),
            None => Ok(()),
        }
    }
}

impl Client {
    /// Mutations that may be pending at once.
    pub const PENDING_MAX: usize = 10_000;
    /// Counters from the first pending mutation on that may be submitted: the outcomes of so many may be unacknowledged.
    pub const UNACKNOWLEDGED_MAX: u64 = 10_000;
    /// Bytes of a mutation's arguments in JSON.
    pub const ARGUMENTS_MAX: usize = 512 * 1024;
    /// Bytes of names and arguments of the mutations that are pending, or refused and not dismissed.
    pub const CALLS_BYTES_MAX: usize = 64 * 1024 * 1024;

    /// Calls a named mutation; `arguments` are JSON. Its closure is asked for with the next polls.
    ///
    /// # Errors
    /// [`CallError`]; nothing was queued then.
    pub fn mutate(&mut self, now: WallTime, name: &str, arguments: &str) -> Result<Counter, CallError> {
        self.mutate_named(now, None, name, arguments)
    }

    /// As [`Client::mutate`], of a call that has a ticket, by which it may be made again. If it was found stored already, and adopted, it is the
    /// same mutation. If that has ended, its end is told with the next polls.
    ///
    /// # Errors
    /// As [`Client::mutate`].
    pub fn mutate_by_ticket(
        &mut self,
        now: WallTime,
        ticket: Ticket,
        name: &str,
        arguments: &str,
    ) -> Result<Counter, CallError> {
        self.adopted(ticket).map_or_else(|| self.mutate_named(now, Some(ticket), name, arguments), Ok)
    }

    /// The mutation that a call by ticket is already. If it has ended, its end is told with the next polls.
    pub(super) fn adopted(&mut self, ticket: Ticket) -> Option<Counter> {
        match self.answer(ticket) {
            Answer::Pending(counter) => Some(counter),
            Answer::Ended(end) => self.tell_kept(ticket, &end),
            Answer::Unknown => None,
        }
    }

    fn mutate_named(
        &mut self,
        now: WallTime,
        ticket: Option<Ticket>,
        name: &str,
        arguments: &str,
    ) -> Result<Counter, CallError> {
        CallError::check_size(name, arguments)?;
        self.call(now, ticket, MutationKind::Named { name: name.into(), arguments: arguments.into() })
    }

    /// Calls a closure, which the app keeps under the counter. It does not survive a restart, so it needs a connection: without one it is
    /// [`MutationStatus::Cancelled`], unless it wrote tables that merge. Then its effects are kept, and it needs none.
    ///
    /// # Errors
    /// As [`Client::mutate`]; [`CallError::Offline`] if no table merges.
    pub fn transact(&mut self, now: WallTime) -> Result<Counter, CallError> {
        // One of tables that merge works offline. Which tables it writes is known once it has run.
        if !self.session.is_open() && !self.schema.any_merges() {
            return Err(CallError::Offline);
        }
        self.call(now, None, MutationKind::Closure)
    }

    pub(super) fn check_call(&self, kind: &MutationKind) -> Result<(), CallError> {
        if self.running.is_some() {
            return Err(CallError::Nested);
        }
        if self.queue.len() + self.rows.len() >= Client::PENDING_MAX {
            return Err(CallError::QueueFull { of: "mutations", limit: Client::PENDING_MAX });
        }
        if self.kept_bytes() + kind.size_bytes() > self.limits.calls_bytes_max {
            return Err(CallError::QueueFull { of: "bytes of calls", limit: self.limits.calls_bytes_max });
        }
        Ok(())
    }

    fn call(&mut self, called_at: WallTime, ticket: Option<Ticket>, kind: MutationKind) -> Result<Counter, CallError> {
        self.check_call(&kind)?;
        self.causal.is_at(called_at);
        let counter = self.next_counter();
        self.queue.push(Entry::new(Mutation { counter, kind, called_at, ticket, log: None }, Stage::Called));
        Ok(counter)
    }

    /// As [`Client::mutate`], of an operation of a log.
    pub(super) fn call_in_log(
        &mut self,
        called_at: WallTime,
        ticket: Option<Ticket>,
        kind: MutationKind,
        log: LogId,
        lane: LaneNumber,
    ) -> Result<Counter, CallError> {
        self.check_call(&kind)?;
        let counter = self.next_counter();
        let log = Some(self.log_call(log, counter));
        let mutation = Mutation { counter, kind, called_at, ticket, log };
        self.queue.push(Entry::new(mutation, Stage::Called).in_lane(lane));
        Ok(counter)
    }

    /// Bytes of the calls that are kept here and on the device.
    fn kept_bytes(&self) -> usize {
        let refused: usize = self.refused.values().map(|own| own.name.len() + own.arguments.len()).sum();
        self.queue.bytes() + self.rows.bytes() + refused
    }

    /// Takes a mutation back, if nothing of it was sent yet: it is pending no more. One that took place in tables that merge is not taken back. It is
    /// [`MutationStatus::Cancelled`] for good once that is reported, which waits for the disk: a crash before that brings it back.
    pub fn cancel(&mut self, counter: Counter) -> bool {
        if self.cancel_kept(counter) {
            return true;
        }
        let unsent = self.queue.entry(counter).is_some_and(|entry| entry.is_unsent() && !entry.took_place());
        if unsent {
            self.end(counter, MutationStatus::Cancelled { reason: "taken back".into() });
        }
        unsent
    }

    /// What is pending, in order.
    pub fn pending(&self) -> impl Iterator<Item = PendingMutation> {
        let calls = self.queue.entries().filter(|entry| !entry.is_change_set());
        let waiting = calls.map(|entry| {
            let (name, arguments) = match &entry.mutation.kind {
                MutationKind::Named { name, arguments } => (Some(name.clone()), Some(arguments.clone())),
                MutationKind::Closure | MutationKind::ChangeSet => (None, None),
            };
            let Mutation { counter, called_at, ticket, .. } = entry.mutation;
            PendingMutation { counter, name, arguments, called_at, ticket, status: entry.status() }
        });
        let kept = self.rows.calls().filter_map(|counter| self.pending_kept(counter));
        let mut all: Vec<PendingMutation> = waiting.chain(kept).collect();
        all.sort_by_key(|pending| pending.counter);
        all.into_iter()
    }

    /// The call that a mutation's closure is to be run with.
    pub fn mutation(&self, counter: Counter) -> Option<&Mutation> {
        self.queue.entry(counter).map(|entry| &entry.mutation).or_else(|| self.rows.mutation(counter))
    }

    /// What ended without effect and was not dismissed yet.
    pub fn refused(&self) -> impl Iterator<Item = &Refused> {
        self.refused.values()
    }

    /// Forgets a refused mutation and its payload.
    pub fn dismiss(&mut self, counter: Counter) {
        if let Some(refused) = self.refused.remove(&counter) {
            self.disk.changes.forget_refused(counter);
            self.note_dismissed(&refused);
        }
    }

    pub(super) fn save_mutation(&mut self, counter: Counter) {
        let next = self.disk.last.next();
        self.queue.note_saving(counter, next);
        self.store_mutation(counter);
    }

    /// Stores a mutation once more, as it is now.
    pub(super) fn save_again(&mut self, counter: Counter) {
        let next = self.disk.last.next();
        self.queue.note_saving_again(counter, next);
        self.store_mutation(counter);
    }

    fn store_mutation(&mut self, counter: Counter) {
        let (any_merges, now) = (self.schema.any_merges(), self.session.told());
        let Some(entry) = self.queue.entry_mut(counter) else { return };
        let call = stored_call(&entry.mutation, StoredStatus::Waiting);
        if let Some(stored) = stored_effects(entry, call) {
            let waits = match entry.took_place() {
                true => self.causal.is_too_late(entry, now),
                false => any_merges && entry.mutation.log.is_none() && !entry.has_run(),
            };
            entry.is_stored_unsent = waits && entry.is_unsent();
            self.disk.changes.mutation(&StoredMutation { unsent: entry.is_stored_unsent, ..stored });
        }
        // A closure stores nothing, but its counter has to be reserved on disk: the batch of this position comes after that.
        self.disk.due = true;
    }

    /// The outcome of a mutation is known. That of a log's operation is stored, as the store may forget it before it is replayed here.
    pub(super) fn note_committed(&mut self, counter: Counter, at: Timestamp) {
        let Some(entry) = self.queue.entry(counter).filter(|entry| entry.waits_to_be_replayed()) else { return };
        if self.logs.is_closed(entry.lane) {
            return self.end_unseen(counter);
        }
        let Some(mut stored) = stored_call(&entry.mutation, StoredStatus::Waiting) else { return };
        if let Some(call) = &mut stored.log {
            call.committed = Some(at);
        }
        self.disk.changes.mutation(&stored);
    }

    pub(super) fn restore_mutations(&mut self, mutations: Vec<StoredMutation>, refused: Vec<StoredMutation>) {
        let base = self.counters.attempts_base();
        for StoredMutation { counter, name, arguments, called_at_micros, ticket, status: _, log, effects, unsent } in
            mutations
        {
            let called_at = WallTime::from_micros(called_at_micros);
            let kind = match name.is_empty() && effects.is_some() {
                true => MutationKind::Closure,
                false => MutationKind::Named { name: name.into(), arguments: arguments.into() },
            };
            let committed = log.as_ref().and_then(|call| call.committed);
            let call = log
                .map(|call| LogCall { log: LogId { name: call.log.into(), instance: call.instance }, seed: call.seed });
            let lane = call.as_ref().map_or(LaneNumber::STRONG, |call| self.lane_of_log(&call.log));
            let mutation = Mutation { counter, kind, called_at, ticket: ticket.map(Ticket), log: call };
            if let Some(effects) = effects {
                let entry = self.restored_effects(mutation, effects, unsent);
                self.queue.push(entry);
                continue;
            }
            let entry = Entry::restored(mutation, base);
            let entry = if unsent { entry.unsent() } else { entry };
            self.queue.push(entry.in_lane(lane).committed(committed));
        }
        let refused = refused.into_iter().filter_map(Refused::from_stored);
        self.refused.extend(refused.map(|refused| (refused.counter, refused)));
    }

    pub(super) fn next_counter(&mut self) -> Counter {
        if self.counters.last >= self.counters.reserved {
            self.reserve_counters();
        }
        self.counters.last = self.counters.last.next();
        self.counters.last
    }
}

/// A call as it is stored. A closure is not.
pub(super) fn stored_call(mutation: &Mutation, status: StoredStatus) -> Option<StoredMutation> {
    let MutationKind::Named { name, arguments } = &mutation.kind else { return None };
    Some(StoredMutation { status, ..stored(mutation, name, arguments) })
}

/// A mutation that waits, as it is stored under this name.
pub(super) fn stored(mutation: &Mutation, name: &str, arguments: &str) -> StoredMutation {
    StoredMutation {
        counter: mutation.counter,
        name: name.to_string(),
        arguments: arguments.to_string(),
        called_at_micros: mutation.called_at.as_micros(),
        ticket: mutation.ticket.map(Id::from),
        status: StoredStatus::Waiting,
        effects: None,
        unsent: false,
        log: mutation.log.as_ref().map(|call| StoredLogCall {
            log: call.log.name.to_string(),
            instance: call.log.instance.clone(),
            seed: call.seed,
            committed: None,
        }),
    }
}
