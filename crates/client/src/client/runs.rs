//! Running closures: begun, given a handle, finished.

use std::collections::BTreeSet;

use iolite_machine::WallTime;
use iolite_values::{Counter, Offline, TableId};

use super::{CallError, Client};
use crate::cache::Demand;
use crate::interface::{Broken, MutationStatus, Output};
use crate::live::{self, LIVE};
use crate::queue::{
    Entry, GivenUp, KeptRows, MutationKind, OfflineCheck, Ran, RunResult, RunState, Stage, Step, Trail,
};
use crate::reactive::{Finished, ReactionId};
use crate::reason::shortened;
use crate::transaction::{Closed, Lives, Marks, Missed, Random, Run, RunOf, Stopped, Transaction};
use crate::view::{Reader, View};

impl Client {
    /// Runs of one closure in a row that may stop for missing data.
    pub const MISSES_MAX: u32 = 256;
    /// How often in a row a reaction asks again for what there was no room for.
    pub const CROWDED_MAX: u32 = 8;
    const OF_TWO_MINDS: &str = "the call writes a table that syncs when it sees what the server has, and a strong one when it sees what this device shows: let it write the same table either way";
    const OF_TWO_KINDS: &str = "the call writes tables that merge, and an earlier run of it may have written others: let it write the same tables at every run";
    pub(crate) const MISSES_TOO_MANY: &str = "the closure was stopped again and again by something else that is not here: ask for many rows together, not one after the other; or does it ask for another key at every run?";

    /// Begins the run that [`Output::Run`] asked for.
    ///
    /// # Panics
    /// When it was not asked for: the host's mistake.
    pub fn begin(&mut self, of: RunOf) -> Run {
        assert_eq!(self.running, Some(of), "a host begins the run that it was asked for");
        let random = |counter| Random::of(self.identity.secret, counter);
        match of {
            RunOf::Mutation(counter) => {
                let (called_at, lives, call) = match self.queue.entry(counter) {
                    Some(entry) => (entry.mutation.called_at, entry.lives, entry.mutation.log.clone()),
                    None => (WallTime::default(), Lives::ForSure, None),
                };
                let random = call.as_ref().map_or_else(|| random(counter), |call| Random::seeded(call.seed));
                let log = call.map(|call| call.log);
                let by_clock = self.broken == Broken::StampByClock;
                let marks = Marks::of(self.identity.device.0, counter, self.causal.time(called_at)).by_clock(by_clock);
                Run { lives, log, marks, ..Run::new(of, View::Optimistic, called_at, random) }
            }
            RunOf::Replay(lane) => self.begin_replay(lane),
            RunOf::Reaction(id) => {
                let view = self.reactions.get(id).map(|reaction| reaction.view).unwrap_or_default();
                Run::new(of, view, WallTime::default(), random(Counter(0)))
            }
        }
    }

    /// The handle for one or more calls of a run.
    pub fn transaction<'a>(&'a self, run: &'a mut Run) -> Transaction<'a> {
        Transaction::new(&self.schema, self.reader_of(run), &self.documents, run)
    }

    pub(super) fn reader(&self, view: View) -> Reader<'_> {
        let pending = match view {
            View::Optimistic => Some(self.queue.overlay()),
            View::Durable => Some(self.durable.as_ref().unwrap_or(self.queue.overlay())),
            View::Confirmed => None,
            View::Delivered => return Reader::of_past(&self.cache, self.delivery.unheld(&self.cache)),
        };
        Reader::new(&self.cache, pending, None).over_kept(self.kept_in(view))
    }

    /// The reader of a run. A mutation that turned out to be strong does not see what is kept.
    fn reader_of(&self, run: &Run) -> Reader<'_> {
        let is_strong = match run.of {
            RunOf::Mutation(counter) => {
                self.queue.entry(counter).is_some_and(|entry| entry.kept_rows == KeptRows::Below)
            }
            RunOf::Reaction(_) | RunOf::Replay(_) => false,
        };
        let reader = self.reader(run.view);
        if is_strong { reader.over_kept(None) } else { reader }
    }

    /// Ends a run. A run that was stopped does not count, whatever the closure did with the signal.
    ///
    /// # Panics
    /// When another run was begun: the host's mistake.
    pub fn finish(&mut self, run: Run, closed: Closed) {
        assert_eq!(self.running, Some(run.of), "a host finishes the run that it began");
        self.running = None;
        match run.of {
            RunOf::Mutation(counter) => self.finish_mutation(counter, run, closed),
            RunOf::Reaction(id) => self.finish_reaction(id, run, closed),
            RunOf::Replay(lane) => self.finish_replay(lane, run, closed),
        }
    }

    fn finish_mutation(&mut self, counter: Counter, run: Run, closed: Closed) {
        let missed = self.cache.interests.demand(Demand::Mutation(counter), &run);
        let can_fetch = self.session.can_fetch();
        let Some(entry) = self.queue.entry_mut(counter) else {
            // It ended while it ran.
            return self.cache.interests.settle(Demand::Mutation(counter), &BTreeSet::new());
        };
        let first = matches!(entry.stage, Stage::Called);
        let offline_check = std::mem::replace(&mut entry.offline_check, OfflineCheck::Done);
        entry.misses = if run.is_stopped() { entry.misses + 1 } else { 0 };
        let too_many = entry.misses > Client::MISSES_MAX;
        let missed = match missed {
            Ok(missed) => missed,
            Err(error) => return self.give_up(counter, &error.to_string()),
        };
        let state = match (run.is_stopped(), closed) {
            (true, _) if too_many => return self.give_up(counter, Client::MISSES_TOO_MANY),
            (true, _) if first && !can_fetch => {
                return self.give_up(counter, &self.not_on_this_device(&missed));
            }
            (true, _) => RunState::Missing(Stopped { missed, reads: run.reads.into_iter().collect() }),
            (false, Closed::Returned) if self.takes_place(&run) && !self.may_be_strong(counter) => {
                return self.take_place(counter, run);
            }
            (false, Closed::Returned) if self.takes_place(&run) && !run.writes.is_empty() => {
                return self.give_up(counter, Client::OF_TWO_KINDS);
            }
            (false, Closed::Returned) => match self.why_refused_offline(counter, &run, offline_check) {
                Some(reason) => return self.give_up(counter, &reason),
                None => match self.keeps(&run) {
                    Some(_) if self.sees_kept_again(counter) => return self.queue.ran(counter, RunState::Due),
                    Some(table) => return self.finish_kept(counter, table, &run),
                    None if self.has_seen_kept_again(counter) => return self.give_up(counter, Client::OF_TWO_MINDS),
                    None if self.rests_on_kept(counter, &run) => return self.queue.ran(counter, RunState::Due),
                    None => ran(run, None),
                },
            },
            (false, Closed::Aborted(reason))
                if self.keeps(&run).is_some()
                    || self.takes_place(&run)
                    || self.has_seen_kept_again(counter)
                    || self.rests_on_kept(counter, &run) =>
            {
                return self.abort_for_good(counter, reason);
            }
            (false, Closed::Aborted(reason)) => ran(run, Some(reason)),
            (false, Closed::Failed(reason)) if first => return self.give_up(counter, &reason),
            (false, Closed::Failed(reason)) if self.has_seen_kept_again(counter) => {
                return self.give_up(counter, &reason);
            }
            (false, Closed::Failed(_)) if self.rests_on_kept(counter, &run) => {
                return self.queue.ran(counter, RunState::Due);
            }
            // It was promised to be sent, and later data may mend it: for now it would be rejected.
            (false, Closed::Failed(reason)) => ran(run, Some(reason)),
            (false, Closed::Unknown) => return self.give_up(counter, &self.unknown_mutator(counter)),
        };
        self.queue.ran(counter, state);
        if first {
            self.save_mutation(counter);
        } else {
            self.save_for_sending(counter);
        }
        self.report(counter);
    }

    /// One that was stored before it had run to its end is stored as one that may be sent.
    fn save_for_sending(&mut self, counter: Counter) {
        if self.queue.entry(counter).is_some_and(|entry| entry.is_stored_unsent && entry.has_run()) {
            self.save_again(counter);
        }
    }

    fn may_be_strong(&self, counter: Counter) -> bool {
        self.queue.entry(counter).is_some_and(Entry::may_be_strong)
    }

    /// The app gave a call up on rows as kept calls show them. What it saw has taken place here, and so has this: it does not run again.
    fn abort_for_good(&mut self, counter: Counter, reason: String) {
        let reason = shortened(reason);
        match self.queue.entry(counter).map(|entry| entry.trail) {
            Some(Trail::None) | None => self.end(counter, MutationStatus::Rejected { reason }),
            // The store records it, as an attempt may have taken effect.
            Some(Trail::MaybeSent) => {
                let result = RunResult::GivenUp(GivenUp::ByApp(reason));
                let ran = Ran { reads: Vec::new(), assumed: BTreeSet::new(), result };
                self.queue.ran(counter, RunState::Done(ran));
                self.report(counter);
            }
        }
    }

    /// Keeps a call of a table that syncs. One of which an attempt may be on its way as a strong mutation is aborted first.
    fn finish_kept(&mut self, counter: Counter, table: TableId, run: &Run) {
        let Some(entry) = self.queue.entry_mut(counter) else { return };
        if entry.trail == Trail::MaybeSent {
            entry.is_to_be_kept = true;
            let given_up = GivenUp::ByClient("it is kept on the device instead".into());
            let result = RunResult::GivenUp(given_up);
            let ran = Ran { reads: Vec::new(), assumed: BTreeSet::new(), result };
            self.queue.ran(counter, RunState::Done(ran));
            return self.report(counter);
        }
        if let Err(error) = self.keep_call(counter, table, run) {
            self.give_up(counter, &error.to_string());
        }
    }

    /// The store has recorded that an attempt of a call which is to be kept took no effect: now it runs, and is kept.
    pub(super) fn keep_after_all(&mut self, counter: Counter) -> bool {
        let Some(entry) = self.queue.entry_mut(counter).filter(|entry| entry.is_to_be_kept) else { return false };
        (entry.is_to_be_kept, entry.trail, entry.stage) = (false, Trail::None, Stage::Saved);
        entry.kept_rows = KeptRows::Shown;
        self.queue.ran(counter, RunState::Due);
        self.queue.unsettle_all();
        true
    }

    fn why_refused_offline(&self, counter: Counter, run: &Run, check: OfflineCheck) -> Option<String> {
        if check != OfflineCheck::Due || self.session.is_open() {
            return None;
        }
        // Where no table merges, no closure is called without a connection.
        if self.is_closure(counter) && self.schema.any_merges() {
            return Some(CallError::Offline.to_string());
        }
        let refuses =
            |table: &TableId| self.schema.table_by_id(*table).is_some_and(|table| table.offline == Offline::Refuse);
        let table = self.schema.table_name(run.writes.iter().map(|write| write.cell.table).find(refuses)?)?;
        Some(format!("table {table:?}, which it writes, takes no changes without a connection"))
    }

    fn is_closure(&self, counter: Counter) -> bool {
        self.queue.entry(counter).is_some_and(|entry| matches!(entry.mutation.kind, MutationKind::Closure))
    }

    fn not_on_this_device(&self, missed: &[Missed]) -> String {
        let table = missed.first().and_then(|missed| self.schema.table_name(missed.interest.table()));
        let table = table.unwrap_or("?");
        format!("what it reads of table {table:?} is not on this device, and there is no connection")
    }

    fn unknown_mutator(&self, counter: Counter) -> String {
        match self.queue.entry(counter).map(|entry| &entry.mutation.kind) {
            Some(MutationKind::Named { name, .. }) => format!("the app has no mutator {name:?}"),
            Some(MutationKind::Closure | MutationKind::ChangeSet) | None => {
                "the app does not have its closure any more".into()
            }
        }
    }

    /// The client cannot run or send a mutation. A call whose first run came to this never began. What was stored is kept with its payload;
    /// if it may have been sent, the store is asked to record it as aborted first, as it may have taken effect.
    pub(super) fn give_up(&mut self, counter: Counter, reason: &str) {
        let Some(entry) = self.queue.entry(counter) else { return };
        if entry.is_change_set() {
            return self.refuse_set(counter, reason);
        }
        let reason = shortened(reason.to_owned());
        match (&entry.stage, entry.trail) {
            (Stage::Called, _) => self.end(counter, MutationStatus::Cancelled { reason }),
            (_, Trail::None) => self.end(counter, MutationStatus::Quarantined { reason }),
            (_, Trail::MaybeSent) => {
                let result = RunResult::GivenUp(GivenUp::ByClient(reason));
                let ran = Ran { reads: Vec::new(), assumed: BTreeSet::new(), result };
                self.queue.ran(counter, RunState::Done(ran));
                self.report(counter);
            }
        }
    }

    fn finish_reaction(&mut self, id: ReactionId, run: Run, closed: Closed) {
        let missed = self.cache.interests.demand(Demand::Reaction(id), &run);
        if !run.is_stopped() {
            self.cache.interests.doubt(Demand::Reaction(id), &self.reactions.tables_left(id, &run));
        }
        match self.reactions.finish(id, run, closed, missed) {
            Finished::Gone => self.cache.interests.settle(Demand::Reaction(id), &BTreeSet::new()),
            Finished::Waits if !self.session.can_fetch() => self.outputs.push_back(Output::Unavailable(id)),
            Finished::Done | Finished::Waits => {}
            Finished::Failed(message) => {
                self.outputs.push_back(Output::ReactionFailed { reaction: id, message });
            }
        }
    }

    /// Puts pending mutations on the confirmed state, or asks for the run of one of them.
    pub(super) fn rebase(&mut self) -> bool {
        match self.queue.settle(&self.cache, self.rows.shown()) {
            Step::Run(counter) => {
                self.run_mutation(counter);
                true
            }
            Step::Settled => false,
        }
    }

    fn run_mutation(&mut self, counter: Counter) {
        let kind = self.queue.entry(counter).map(|entry| entry.mutation.kind.clone());
        let of = RunOf::Mutation(counter);
        match kind {
            Some(MutationKind::Named { name, arguments }) if *name == *LIVE => {
                self.running = Some(of);
                let mut run = self.begin(of);
                let closed = live::run(&mut self.transaction(&mut run), &arguments);
                self.finish(run, closed);
            }
            Some(MutationKind::Named { .. } | MutationKind::Closure | MutationKind::ChangeSet) | None => {
                self.ask_to_run(of);
            }
        }
    }

    pub(super) fn ask_to_run(&mut self, of: RunOf) {
        self.running = Some(of);
        self.outputs.push_back(Output::Run(of));
    }

    pub(super) fn report(&mut self, counter: Counter) {
        if let Some(entry) = self.queue.entry(counter).filter(|entry| !entry.is_change_set()) {
            let (attempt, status) = (entry.attempts, MutationStatus::Pending(entry.status()));
            self.leader.note_mutation(counter);
            self.outputs.push_back(Output::Mutation { counter, attempt, status });
        }
    }
}

fn ran(run: Run, abort: Option<String>) -> RunState {
    let reads = run.reads.into_iter().collect();
    let result = match abort {
        None => RunResult::Writes(run.writes),
        Some(reason) => RunResult::GivenUp(GivenUp::ByApp(shortened(reason))),
    };
    RunState::Done(Ran { reads, assumed: run.assumed, result })
}
