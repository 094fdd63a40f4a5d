//! Calls of tables that merge: they take place at this device when they have run, offline too, and go to the store as they are.
//!
//! Invariants: what such a call wrote is stored before it is sent, and what was sent never changes; no time that is sent is one that a gateway refuses, as far
//! as the server's clock is known.
//! Source: Zawirski 2013, 3.2 and 4.1; docs/protocols/causal.md.

use iolite_machine::WallTime;
use iolite_values::{Counter, Decision, Domain, Effect, HybridTime, LaneNumber, Operation, Stamp, Write};
use iolite_wire::client_storage::StoredMutation;
use iolite_wire::message::Submit;

use super::Client;
use crate::queue::{Entry, Mutation, RunState, Stage};
use crate::transaction::Run;

#[derive(Debug)]
pub(super) struct Causal {
    /// The lane of all these calls, once there are some.
    lane: Option<LaneNumber>,
    /// This device's clock when it was last looked at.
    wall: WallTime,
    /// Microseconds by which this device's clock was ahead of the server's when it was last heard.
    ahead: u64,
}

impl Causal {
    pub(super) fn at(wall: WallTime) -> Causal {
        Causal { lane: None, wall, ahead: 0 }
    }

    pub(super) fn lanes(&self) -> usize {
        usize::from(self.lane.is_some())
    }

    pub(super) fn is_at(&mut self, wall: WallTime) {
        self.wall = wall;
    }

    /// The time of a call that runs now, by the server's clock as far as it is known. The device's clock may have been set back since the call.
    pub(super) fn time(&self, called_at: WallTime) -> HybridTime {
        HybridTime(called_at.min(self.wall).as_micros().saturating_sub(self.ahead))
    }
}

impl Client {
    /// Whether a run takes place at this device: it wrote tables that merge, or wrote nothing and read such tables only.
    pub(super) fn takes_place(&self, run: &Run) -> bool {
        match self.schema.domain_of(&run.writes).ok().flatten() {
            Some(Domain::Causal) => true,
            Some(Domain::Strong | Domain::Log(_) | Domain::Rows(_)) => false,
            None => !run.reads.is_empty() && run.reads.keys().all(|read| self.schema.merges(read.table())),
        }
    }

    /// A call has run in tables that merge: its effects are stored and shown, and it never runs again.
    pub(super) fn take_place(&mut self, counter: Counter, run: Run) {
        let (bytes, limit) =
            (Submit::bytes_of(&[], &Decision::Commit(run.writes.clone())), Effect::TRANSACTION_BYTES_MAX);
        if bytes > limit {
            return self.give_up(counter, &format!("its effects have {bytes} bytes, of {limit} at most: split it"));
        }
        let lane = self.causal_lane();
        self.queue.take_place(counter, run.writes, lane);
        self.save_mutation(counter);
        self.report(counter);
    }

    pub(super) fn causal_lane(&mut self) -> LaneNumber {
        *self.causal.lane.get_or_insert_with(|| self.logs.new_lane())
    }

    /// Takes up a call that took place in an earlier life of the app. What does not fit this version's schema is given up, and shown as refused.
    pub(super) fn restored_effects(&mut self, mutation: Mutation, effects: Vec<Write>) -> Entry {
        let (base, lane) = (self.counters.attempts_base(), self.causal_lane());
        let problem = effects.iter().find_map(|write| self.schema.check_write(write).err());
        let mut entry = Entry::restored_effects(mutation, base, effects, lane);
        if let Some(problem) = problem {
            entry.close(&format!("it does not fit this version of the app: {problem}"));
        }
        entry
    }

    /// Runs the calls again that took place in an earlier life of the app. Never, but in a broken client.
    pub(super) fn run_restored_again(&mut self) {
        let restored: Vec<Counter> =
            self.queue.entries().filter(|entry| entry.took_place()).map(Entry::counter).collect();
        restored.into_iter().for_each(|counter| self.queue.ran(counter, RunState::Due));
        self.queue.unsettle_all();
    }

    /// The server's clock, as its welcome says. Effects that are so far ahead of it that any gateway would refuse them have taken no effect anywhere: they get
    /// times that one takes, in their order, and are stored before they are sent.
    pub(super) fn heed_clock(&mut self, own: WallTime, server: WallTime) {
        self.causal.ahead = own.as_micros().saturating_sub(server.as_micros());
        let last = HybridTime::last_at(server.as_micros());
        let late: Vec<Counter> =
            self.queue.entries().filter(|entry| is_late(entry, last)).map(Entry::counter).collect();
        // Above all that may have been sent: a later call stands above an earlier one.
        let open = self.queue.entries().filter(|entry| entry.took_place());
        let kept = open.flat_map(Entry::writes).filter_map(time_of).filter(|time| *time <= last).max();
        let mut time = HybridTime(server.as_micros()).max(kept.unwrap_or_default());
        for counter in late {
            self.queue.change_effects(counter, |write| bring_forward(write, last, &mut time));
            self.save_mutation(counter);
        }
    }
}

/// The stored form of a call, with its effects if it has taken place.
pub(super) fn stored_effects(entry: &Entry, call: Option<StoredMutation>) -> Option<StoredMutation> {
    if !entry.took_place() {
        return call;
    }
    let nameless = || super::mutations::stored(&entry.mutation, "", "");
    Some(StoredMutation { effects: Some(entry.writes().to_vec()), ..call.unwrap_or_else(nameless) })
}

/// Whether a gateway with this last time would refuse it.
fn is_late(entry: &Entry, last: HybridTime) -> bool {
    let is_open = entry.took_place() && !matches!(entry.stage, Stage::Committed { .. });
    is_open && entry.writes().iter().filter_map(time_of).any(|time| time > last)
}

fn time_of(write: &Write) -> Option<HybridTime> {
    let Operation::Merge(effect) = &write.operation else { return None };
    effect.time()
}

/// The write with the next time, if its own is too late.
fn bring_forward(write: &Write, last: HybridTime, next: &mut HybridTime) -> Write {
    let Operation::Merge(effect) = &write.operation else { return write.clone() };
    let Effect::Assign { stamp, value } = &**effect else { return write.clone() };
    if stamp.time <= last {
        return write.clone();
    }
    *next = next.next();
    let effect = Effect::Assign { stamp: Stamp { time: *next, ..*stamp }, value: value.clone() };
    Write { cell: write.cell.clone(), operation: Operation::Merge(effect.into()) }
}
