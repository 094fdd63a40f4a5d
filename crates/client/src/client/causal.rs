//! Calls of tables that merge: they take place at this device when they have run, offline too, and go to the store as they are.
//!
//! Invariants: what such a call wrote is stored before it is sent, and what was sent never changes; no time is sent that the gateway would not take yet, as far
//! as its clock is known.
//! Source: Zawirski 2013, 3.2 and 4.1; docs/protocols/causal.md.

use std::collections::BTreeSet;
use std::time::Duration;

use iolite_machine::{Instant, Now, PersistId, WallTime};
use iolite_values::{Counter, Decision, Domain, Effect, HybridTime, LaneNumber, Operation, Stamp, Write};
use iolite_wire::client_storage::StoredMutation;
use iolite_wire::message::Submit;

use super::Client;
use crate::cache::Cache;
use crate::queue::{Entry, Mutation, RunState, Trail};
use crate::transaction::{Run, time_of};

#[derive(Debug)]
pub(super) struct Causal {
    /// The lane of all these calls, once there are some.
    lane: Option<LaneNumber>,
    /// This device's clock when it was last looked at.
    wall: WallTime,
    /// Microseconds by which this device's clock was ahead of the server's when it was last heard.
    ahead: u64,
    /// The server's clock, if the last welcome said it.
    server: Option<ServerClock>,
    /// Effects of calls after this one were never sent. None while a session may send.
    unsent_after: Option<Counter>,
    /// The batch with which it is stored that effects may be sent.
    sends_after: PersistId,
    /// When effects that wait for the server's clock are looked at again.
    due: Option<Instant>,
}

/// A clock of the server, which goes on as time passes here. The device's own clock may be set meanwhile.
#[derive(Clone, Copy, Debug)]
struct ServerClock {
    said: WallTime,
    heard: Instant,
}

impl ServerClock {
    /// The last time that the server takes now.
    fn last(self, now: Instant) -> HybridTime {
        let passed = u64::try_from(now.since(self.heard).as_micros()).unwrap_or(u64::MAX);
        HybridTime::last_at(self.said.as_micros().saturating_add(passed))
    }
}

impl Causal {
    /// How long after a welcome the server's clock may be asked for once more, as this device's was set.
    const GREETED_AGAIN_AFTER: Duration = Duration::from_secs(10);

    /// The state on a storage in which effects of calls after `unsent_after` were never sent.
    pub(super) fn opened(wall: WallTime, unsent_after: Counter) -> Causal {
        let (unsent_after, sends_after) = (Some(unsent_after), PersistId::START);
        Causal { lane: None, wall, ahead: 0, server: None, unsent_after, sends_after, due: None }
    }

    pub(super) fn lanes(&self) -> usize {
        usize::from(self.lane.is_some())
    }

    pub(super) fn is_at(&mut self, wall: WallTime) {
        self.wall = wall;
    }

    pub(super) fn unsent_after(&self) -> Option<Counter> {
        self.unsent_after
    }

    /// The time of a call that runs now, by the server's clock as far as it is known. The device's clock may have been set back since the call.
    pub(super) fn time(&self, called_at: WallTime) -> HybridTime {
        HybridTime(called_at.min(self.wall).as_micros().saturating_sub(self.ahead))
    }

    /// Whether an entry may be sent, as far as this rule goes.
    pub(super) fn may_send(&self, entry: &Entry, stored: PersistId, now: Instant) -> bool {
        let sends = self.unsent_after.is_none() && stored >= self.sends_after;
        !entry.took_place() || sends && !entry.is_stored_unsent && !self.is_too_late(entry, now)
    }

    pub(super) fn is_too_late(&self, entry: &Entry, now: Instant) -> bool {
        self.too_late(entry, now).is_some()
    }

    /// The time of an entry that the server does not take yet, and the last one that it takes.
    fn too_late(&self, entry: &Entry, now: Instant) -> Option<(HybridTime, HybridTime)> {
        let last = self.server?.last(now);
        times(entry).max().filter(|time| *time > last).map(|time| (time, last))
    }

    /// The session has ended, in which calls up to this one may have been sent.
    pub(super) fn session_lost(&mut self, last: Counter) {
        self.unsent_after.get_or_insert(last);
        self.due = None;
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn on_due(&mut self, now: Instant) {
        self.due = self.due.filter(|due| *due > now);
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
    pub(super) fn restored_effects(&mut self, mutation: Mutation, effects: Vec<Write>, unsent: bool) -> Entry {
        let (base, lane) = (self.counters.attempts_base(), self.causal_lane());
        let is_unsent = unsent || self.causal.unsent_after.is_some_and(|last| mutation.counter > last);
        let trail = if is_unsent { Trail::None } else { Trail::MaybeSent };
        let problem = effects.iter().find_map(|write| self.schema.check_write(write).err());
        let mut entry = Entry::restored_effects(mutation, base, effects, lane, trail);
        entry.is_stored_unsent = unsent;
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

    /// The server's clock, as its welcome says, if it does.
    pub(super) fn heed_clock(&mut self, now: Now, clock: Option<WallTime>) {
        self.causal.server = clock.map(|said| ServerClock { said, heard: now.instant });
        if let Some(server) = clock {
            self.causal.ahead = now.wall.as_micros().saturating_sub(server.as_micros());
            self.lower_times(server);
        }
    }

    /// Effects that were not sent, and are so far ahead of the server's clock that it would not take them, get times that it takes, in their order. They are
    /// stored before they are sent. A time stays above the one that its writer saw, also if it has to wait for that.
    fn lower_times(&mut self, server: WallTime) {
        let last = HybridTime::last_at(server.as_micros());
        let is_late = |entry: &&Entry| entry.is_unsent() && times(entry).any(|time| time > last);
        let late: BTreeSet<Counter> = self.queue.entries().filter(is_late).map(Entry::counter).collect();
        // Above all that stays: a later call stands above an earlier one.
        let stays = |entry: &Entry, time: &HybridTime| *time <= last || !late.contains(&entry.counter());
        let kept = self.queue.entries().flat_map(|entry| times(entry).filter(move |time| stays(entry, time))).max();
        let mut time = HybridTime(server.as_micros()).max(kept.unwrap_or_default());
        for counter in late {
            let cache = &self.cache;
            if self.queue.change_effects(counter, |write| lowered(write, last, &mut time, cache)) {
                self.save_again(counter);
            }
        }
    }

    /// Sees to what holds up the effects that are to be sent next.
    pub(super) fn prepare_effects(&mut self) -> bool {
        self.causal.due = None;
        let Some(lane) = self.causal.lane.filter(|lane| self.queue.first_of(*lane).is_some()) else { return false };
        if self.causal.unsent_after.take().is_some() {
            // That some may be sent is stored before.
            self.causal.sends_after = self.disk.last.next();
            self.disk.due = true;
            return true;
        }
        let next = self.queue.next_of_lanes(self.cache.at(), &self.schema).find(|entry| entry.lane == lane);
        let now = self.session.told();
        let Some(entry) = next else { return false };
        let (counter, is_unsent, is_stored_unsent) = (entry.counter(), entry.is_unsent(), entry.is_stored_unsent);
        match self.causal.too_late(entry, now) {
            Some((time, last)) => self.await_clock(now, time.0 - last.0, is_unsent),
            None if is_stored_unsent => {
                self.save_again(counter);
                true
            }
            None => false,
        }
    }

    /// The next effects are so many microseconds too far ahead, and wait for the server's clock. If none of them was sent, this device's clock was set since
    /// the welcome: the server's is asked for once more, by another greeting.
    fn await_clock(&mut self, now: Instant, micros: u64, is_unsent: bool) -> bool {
        let reached = now + Duration::from_micros(micros).min(Causal::GREETED_AGAIN_AFTER);
        let again = self.causal.server.filter(|_| is_unsent).map(|server| server.heard + Causal::GREETED_AGAIN_AFTER);
        if again.is_some_and(|again| again <= now) {
            self.drop_link();
            self.session.wait(now, None);
            self.session.retry_now(now);
            return true;
        }
        self.causal.due = Some(again.map_or(reached, |again| again.min(reached)));
        false
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

/// The times of a call that has taken place.
fn times(entry: &Entry) -> impl Iterator<Item = HybridTime> {
    let writes = if entry.took_place() { entry.writes() } else { &[] };
    writes.iter().filter_map(|write| write.operation.time())
}

/// The write with the next time, if its own is too late, but above the one that is confirmed.
fn lowered(write: &Write, last: HybridTime, next: &mut HybridTime, cache: &Cache) -> Write {
    let Operation::Merge(effect) = &write.operation else { return write.clone() };
    let Effect::Assign { stamp, value } = &**effect else { return write.clone() };
    if stamp.time <= last {
        return write.clone();
    }
    let confirmed = cache.row(write.cell.table, &write.cell.row).and_then(|row| time_of(row, write.cell.column));
    let time = (*next).max(confirmed.unwrap_or_default()).next().min(stamp.time);
    *next = time.max(*next);
    let effect = Effect::Assign { stamp: Stamp { time, ..*stamp }, value: value.clone() };
    Write { cell: write.cell.clone(), operation: Operation::Merge(effect.into()) }
}
