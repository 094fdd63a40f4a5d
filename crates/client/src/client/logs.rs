//! Logs: joined, called, replayed, left.
//!
//! Invariants: an entry is replayed on the confirmed state of its log, one after the other, and its effect is stored together with the position behind it;
//! an own operation leaves the queue in the step that replays it, so it is seen once at every moment.
//! Source: Hercules (Lebeck 2020, sections 3.4.3 and 3.4.4).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use iolite_logs::{Member, Next, Page, append_to, initial_seed, seed_of};
use iolite_machine::WallTime;
use iolite_values::{
    Blob, Counter, Interest, KeyError, LaneNumber, LogId, LogPages, Read, Schema, Timestamp, Value, Write,
};
use iolite_wire::client_storage::StoredLog;
use iolite_wire::limits;
use iolite_wire::logs::LogEntry;

use super::Client;
use super::checkpoints::{Begins, goes_on_by_pages};
use super::mutations::CallError;
use crate::cache::{Cache, Demand};
use crate::interface::{Broken, MutationStatus, Output};
use crate::queue::{Ahead, Entry, LogCall, MutationKind, RunResult, RunState, Stage};
use crate::reason::shortened;
use crate::tabs::Ticket;
use crate::transaction::{Closed, Lives, Random, Run, RunOf};
use crate::view::{Changed, View};

/// The logs that a client has joined.
#[derive(Debug)]
pub(super) struct Logs {
    members: BTreeMap<LaneNumber, Member>,
    /// The logs that this client's user may not join. Nothing of them is held.
    closed: BTreeSet<LaneNumber>,
    /// The number of entries that lead to another state at another member.
    differs: BTreeMap<LaneNumber, u64>,
    last: LaneNumber,
    /// The entry whose operation runs at the moment.
    replaying: Option<(LaneNumber, Next)>,
}

impl Default for Logs {
    fn default() -> Logs {
        Logs {
            members: BTreeMap::new(),
            closed: BTreeSet::new(),
            differs: BTreeMap::new(),
            last: LaneNumber::STRONG,
            replaying: None,
        }
    }
}

/// Why a log cannot be joined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    #[error("the schema has no log {name:?}: tables name theirs")]
    Unknown { name: String },
    #[error("the log {log:?} has instances of type {wants}, and not {given}")]
    Instance { log: String, wants: &'static str, given: String },
    #[error("the name of the log and the instance are too long together: {0}")]
    Key(#[from] KeyError),
    #[error("a client joins at most {limit} logs at once: leave some")]
    TooMany { limit: usize },
    #[error("the log {log:?} is not joined: join it first")]
    NotJoined { log: String },
    #[error("a batch of a log's entries takes {limit:?} at most, and not {given:?}")]
    BatchTooLong { given: Duration, limit: Duration },
}

/// Why a log cannot be left now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaveError {
    #[error("{pending} operations of the log are pending here: leave it when they are confirmed")]
    Pending { pending: usize },
}

/// A log that is joined, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedLog {
    pub log: LogId,
    /// Entries that are replayed here, that which the log begins with among them.
    pub position: u64,
    /// Why nothing more is replayed here, if it is so.
    pub stopped: Option<String>,
    /// After so many entries another member has another state: an operation does not give the same everywhere.
    pub differs: Option<u64>,
}

impl Logs {
    /// How many are joined.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn member(&self, lane: LaneNumber) -> Option<&Member> {
        self.members.get(&lane)
    }

    pub(super) fn set_member(&mut self, lane: LaneNumber, member: Member) {
        self.members.insert(lane, member);
    }

    /// Notes that another member has another state, with so many entries. Returns the log, if that was not known.
    pub(super) fn note_difference(&mut self, lane: LaneNumber, index: u64) -> Option<LogId> {
        let log = self.members.get(&lane)?.log.clone();
        (self.differs.insert(lane, index) != Some(index)).then_some(log)
    }

    pub(super) fn forget_difference(&mut self, lane: LaneNumber) {
        self.differs.remove(&lane);
    }

    pub(super) fn lane(&self, log: &LogId) -> Option<LaneNumber> {
        self.members.iter().find(|(_, member)| member.log == *log).map(|(lane, _)| *lane)
    }

    pub(super) fn lanes(&self) -> impl Iterator<Item = LaneNumber> {
        self.members.keys().copied()
    }

    fn insert(&mut self, member: Member) -> LaneNumber {
        let lane = self.new_lane();
        self.members.insert(lane, member);
        lane
    }

    /// A lane that nobody has. A table that syncs has one, too.
    pub(super) fn new_lane(&mut self) -> LaneNumber {
        self.last = LaneNumber(self.last.0 + 1);
        self.last
    }

    /// The page that takes entries, if it is here.
    fn open_page<'a>(&self, lane: LaneNumber, cache: &'a Cache) -> Option<(u64, Page<'a>)> {
        let member = self.members.get(&lane)?;
        if !goes_on_by_pages(cache, member) {
            return None;
        }
        let number = member.open_page(|number| page_of(cache, &member.log, number))?;
        Some((number, page_of(cache, &member.log, number)?))
    }

    /// Whether the client's user may not join the log of a lane.
    pub(super) fn is_closed(&self, lane: LaneNumber) -> bool {
        self.closed.contains(&lane)
    }

    /// Whether an operation can be appended now, or its end be asked for where nothing is appended any more.
    pub(super) fn can_append(&self, entry: &Entry, ahead: &Ahead, cache: &Cache) -> bool {
        entry.mutation.log.is_none()
            || self.is_closed(entry.lane)
            || !ahead.turns && self.open_page(entry.lane, cache).is_some()
    }

    /// The reads and writes that append an operation to its log.
    pub(super) fn append(
        &self,
        entry: &Entry,
        ahead: &Ahead,
        cache: &Cache,
        entries_max: usize,
    ) -> Option<(Vec<Read>, Vec<Write>)> {
        let (number, page) = self.open_page(entry.lane, cache)?;
        let call = entry.mutation.log.as_ref()?;
        // That it fits was looked at when it was called.
        let page = page.turned_with(entries_max).behind(ahead.count, ahead.bytes);
        append_to(&call.log, number, page, entry_of(entry, call)?).ok()
    }
}

/// A page, if it is held.
pub(super) fn page_of<'a>(cache: &'a Cache, log: &LogId, number: u64) -> Option<Page<'a>> {
    let key = log.page(number).ok()?;
    let held = cache.interests.holds_row(&(LogPages::table(), key.clone()));
    held.then(|| Page::of(cache.row(LogPages::table(), &key)))
}

fn entry_of(entry: &Entry, call: &LogCall) -> Option<LogEntry> {
    let MutationKind::Named { name, arguments } = &entry.mutation.kind else { return None };
    Some(LogEntry {
        origin: None,
        counter: entry.counter(),
        called_at_micros: entry.mutation.called_at.as_micros(),
        seed: call.seed,
        operation: operation_of(&call.log, name)?.to_owned(),
        version: 0,
        arguments: arguments.to_string(),
        turns: false,
    })
}

/// Apps register an operation under the names of its log and of itself.
fn full_name(log: &LogId, operation: &str) -> String {
    format!("{}.{operation}", log.name)
}

fn operation_of<'a>(log: &LogId, full: &'a str) -> Option<&'a str> {
    full.strip_prefix(&*log.name)?.strip_prefix('.')
}

/// The interests that a member makes: the rows of all tables of its log.
pub(super) fn locals(schema: &Schema, log: &LogId) -> Vec<Interest> {
    schema.tables_of_log(&log.name).map(|table| log.rows(table)).collect()
}

impl Client {
    /// Logs that a client may have joined.
    pub const LOGS_MAX: usize = 64;
    /// Bytes of an operation's name and arguments: with the rest they make an entry of at most 64 KiB.
    pub const OPERATION_BYTES_MAX: usize = limits::LOG_ENTRY.bytes.most - 1024;

    /// Joins a log, or finds it joined: it is replayed from now on, and its tables can be read.
    ///
    /// # Errors
    /// [`LogError`].
    pub fn join(&mut self, name: &str, instance: &Value) -> Result<LogId, LogError> {
        let Some(table) = self.schema.tables_of_log(name).next() else {
            return Err(LogError::Unknown { name: name.to_owned() });
        };
        let kind = self.schema.table_by_id(table).and_then(|table| table.key_types().next());
        if let Some(kind) = kind.filter(|kind| !kind.holds(instance)) {
            return Err(LogError::Instance {
                log: name.to_owned(),
                wants: kind.name(),
                given: instance.kind().to_string(),
            });
        }
        let log = LogId::new(name, instance)?;
        log.page(u64::from(u32::MAX))?;
        match self.logs.lane(&log) {
            Some(lane) => self.try_again_to_join(lane),
            None if self.logs.members.len() >= Client::LOGS_MAX => {
                return Err(LogError::TooMany { limit: Client::LOGS_MAX });
            }
            None => drop(self.add_member(Member::new(log.clone()))),
        }
        Ok(log)
    }

    /// Leaves a log: nothing of it is held here any more. One that is not joined is left already.
    ///
    /// # Errors
    /// [`LeaveError`]: operations that were called here are not replayed yet, so nobody knows what becomes of them.
    pub fn leave_log(&mut self, log: &LogId) -> Result<(), LeaveError> {
        let Some(lane) = self.logs.lane(log) else { return Ok(()) };
        let pending = self.queue.entries().filter(|entry| entry.lane == lane).count();
        if pending > 0 {
            return Err(LeaveError::Pending { pending });
        }
        self.logs.members.remove(&lane);
        self.logs.closed.remove(&lane);
        self.drop_held(lane, &locals(&self.schema, log));
        self.disk.changed_logs.remove(&lane);
        self.disk.changes.forget_log(log);
        Ok(())
    }

    /// Forgets all that is held of a log.
    fn drop_held(&mut self, lane: LaneNumber, locals: &[Interest]) {
        self.logs.forget_difference(lane);
        self.checkpoints.forget(lane);
        self.batches.forget(lane);
        self.cache.past.remove_log(lane);
        self.delivery.forget_log(lane);
        self.members.remove(&lane);
        for local in locals {
            self.cache.interests.remove_local(local);
        }
        let rows = self.cache.release(locals);
        self.note_rows(rows);
        self.give_up_pages(lane, &[]);
        self.disk.due = true;
        self.changed = Changed::Everything;
        self.compare_due = true;
    }

    /// The client's user may not join a log, or not any more. It stays joined, without a row and without an entry: it is joined again when the app says so,
    /// or when the user's rights have changed. What was called here and is not in the log is given up.
    pub(super) fn close_log(&mut self, lane: LaneNumber, reason: &str) {
        let Some(log) = self.logs.members.get(&lane).map(|member| member.log.clone()) else { return };
        let locals = locals(&self.schema, &log);
        self.logs.members.insert(lane, Member::new(log));
        self.logs.closed.insert(lane);
        self.drop_held(lane, &locals);
        self.cache.past.add_log(lane, &locals);
        for local in &locals {
            self.cache.interests.add_local(local, lane);
            self.cache.interests.hold_local(local);
        }
        self.disk.changed_logs.insert(lane);
        let calls: Vec<Counter> = self.queue.entries().filter(|entry| entry.lane == lane).map(Entry::counter).collect();
        for counter in calls {
            match self.queue.entry(counter).map(|entry| &entry.stage) {
                Some(Stage::Committed { .. }) => self.end_unseen(counter),
                Some(_) | None => self.give_up(counter, reason),
            }
        }
        self.stop_log(lane, reason);
    }

    /// An operation is in a log that this client's user may not join. Whether it gave up when others replayed it, nobody tells here.
    pub(super) fn end_unseen(&mut self, counter: Counter) {
        let reason = "it is in the log, which this user may not join: whether it took effect is not known".to_owned();
        self.end(counter, MutationStatus::Quarantined { reason });
    }

    /// Joins a log again that the client's user could not join.
    fn try_again_to_join(&mut self, lane: LaneNumber) {
        if !self.logs.closed.remove(&lane) {
            return;
        }
        if let Some(member) = self.logs.members.get_mut(&lane) {
            *member = Member::new(member.log.clone());
        }
        self.follow_pages(lane);
    }

    /// The rights of the client's user have changed: perhaps it may join now what it could not.
    pub(super) fn try_closed_logs_again(&mut self) {
        for lane in self.logs.closed.clone() {
            self.try_again_to_join(lane);
        }
    }

    /// The logs that are joined.
    pub fn logs(&self) -> impl Iterator<Item = JoinedLog> {
        self.logs.members.iter().map(|(lane, member)| JoinedLog {
            log: member.log.clone(),
            differs: self.logs.differs.get(lane).copied(),
            position: member.index(),
            stopped: member.stuck().map(|stuck| stuck.reason.clone()),
        })
    }

    /// Calls an operation of a log that is joined; `arguments` are JSON.
    ///
    /// # Errors
    /// [`CallError`]; nothing was queued then.
    pub fn operate(
        &mut self,
        now: WallTime,
        log: &LogId,
        operation: &str,
        arguments: &str,
    ) -> Result<Counter, CallError> {
        self.operate_named(now, None, log, operation, arguments)
    }

    /// As [`Client::operate`], of a call that has a ticket, by which it may be made again: as [`Client::mutate_by_ticket`].
    ///
    /// # Errors
    /// As [`Client::operate`].
    pub fn operate_by_ticket(
        &mut self,
        now: WallTime,
        ticket: Ticket,
        log: &LogId,
        operation: &str,
        arguments: &str,
    ) -> Result<Counter, CallError> {
        self.adopted(ticket).map_or_else(|| self.operate_named(now, Some(ticket), log, operation, arguments), Ok)
    }

    fn operate_named(
        &mut self,
        now: WallTime,
        ticket: Option<Ticket>,
        log: &LogId,
        operation: &str,
        arguments: &str,
    ) -> Result<Counter, CallError> {
        let Some(lane) = self.logs.lane(log).filter(|lane| !self.logs.is_closed(*lane)) else {
            return Err(CallError::NotJoined { log: log.name.to_string() });
        };
        if operation.len() + arguments.len() > Client::OPERATION_BYTES_MAX {
            return Err(CallError::TooLarge {
                what: "an operation's name and arguments",
                limit: Client::OPERATION_BYTES_MAX,
            });
        }
        if Blob::is_in_json(arguments) {
            return Err(CallError::BlobInLog { operation: operation.into() });
        }
        let kind = MutationKind::Named { name: full_name(log, operation).into(), arguments: arguments.into() };
        self.call_in_log(now, ticket, kind, log.clone(), lane)
    }

    /// The log part of a call. The operation draws from a digest, as others read it.
    pub(super) fn log_call(&self, log: LogId, counter: Counter) -> LogCall {
        LogCall { log, seed: seed_of(self.identity.device, counter) }
    }

    /// The lane of an operation's log, which is joined by it.
    pub(super) fn lane_of_log(&mut self, log: &LogId) -> LaneNumber {
        self.logs.lane(log).unwrap_or_else(|| self.add_member(Member::new(log.clone())))
    }

    fn add_member(&mut self, member: Member) -> LaneNumber {
        let locals = locals(&self.schema, &member.log);
        let lane = self.logs.insert(member);
        self.cache.past.add_log(lane, &locals);
        for local in locals {
            self.cache.interests.add_local(&local, lane);
        }
        self.follow_pages(lane);
        lane
    }

    /// The logs that an earlier life had joined, as far as it had replayed them.
    pub(super) fn restore_logs(&mut self, stored: Vec<StoredLog>, holds_rows: bool) {
        for StoredLog { log, instance, page, place, index } in stored {
            let log = LogId { name: log.into(), instance };
            if self.schema.tables_of_log(&log.name).next().is_none() {
                self.disk.changes.forget_log(&log);
                continue;
            }
            let member = if holds_rows { Member::at(log, page, place, index) } else { Member::new(log) };
            self.lane_of_restored(member);
        }
    }

    fn lane_of_restored(&mut self, member: Member) {
        let (log, is_new) = (member.log.clone(), member.index() == 0);
        self.add_member(member);
        if !is_new {
            self.hold_locals(&log);
        }
    }

    pub(super) fn hold_locals(&mut self, log: &LogId) {
        for local in locals(&self.schema, log) {
            self.cache.interests.hold_local(&local);
        }
    }

    /// Asks for the pages that come next, and for the checkpoints; gives up the pages that are replayed.
    pub(super) fn follow_pages(&mut self, lane: LaneNumber) {
        let Some(member) = self.logs.members.get(&lane) else { return };
        let block = |first: u64| member.log.pages(first, iolite_logs::BLOCK_PAGES).ok();
        let blocks = member.blocks().into_iter().filter_map(block);
        let followed: Vec<Interest> = blocks.chain(self.followed_checkpoints(lane, &member.log)).collect();
        for interest in &followed {
            self.cache.interests.require(interest, None, Demand::Log(lane));
        }
        self.give_up_pages(lane, &followed);
    }

    fn give_up_pages(&mut self, lane: LaneNumber, kept: &[Interest]) {
        let gone = self.cache.interests.drop_pages(lane, kept);
        if !gone.is_empty() {
            let rows = self.cache.release(&gone);
            self.note_rows(rows);
        }
    }

    /// Replays the next entry of a log, or asks for the run of its operation.
    pub(super) fn replay(&mut self) -> bool {
        let lanes: Vec<LaneNumber> = self.logs.members.keys().copied().collect();
        lanes.into_iter().any(|lane| self.replay_next(lane))
    }

    fn replay_next(&mut self, lane: LaneNumber) -> bool {
        match self.begin_from_checkpoint(lane) {
            Begins::ByPages => {}
            Begins::Later => return false,
            Begins::Now => return true,
        }
        let Some(member) = self.logs.members.get(&lane) else { return false };
        let (number, _) = member.position();
        let Some(page) = page_of(&self.cache, &member.log, number) else { return false };
        let initial = self.initial_of(&member.log);
        let log = member.log.clone();
        let next = member.next(page, initial.as_deref());
        if !self.holds_locals(&log) {
            self.hold_locals(&log);
            self.queue.unsettle([]);
            self.compare_due = true;
        }
        let Some(next) = next else {
            self.batches.end(lane);
            return self.end_those_in_checkpoints(lane);
        };
        let waits = !self.batches.is_open(lane);
        let Next::Entry(entry) = &next else {
            if !waits {
                self.note_replayed(lane, &next, Vec::new(), None);
            }
            return !waits;
        };
        if self.own_of(&log, entry).is_some_and(|own| Some(own) == self.queue.first_of(lane)) {
            // Only a settled one has run on what is replayed now.
            if self.rebase() {
                return true;
            }
            if let Some(writes) = self.writes_of_first(lane) {
                self.note_own_replayed(lane, &next, &writes);
                return true;
            }
        }
        if waits {
            return false;
        }
        self.logs.replaying = Some((lane, next));
        self.ask_to_run(RunOf::Replay(lane));
        true
    }

    /// Whether the entry is here that is replayed next.
    pub(super) fn has_next_entry(&self, lane: LaneNumber) -> bool {
        let Some(member) = self.logs.members.get(&lane) else { return false };
        let page = page_of(&self.cache, &member.log, member.position().0);
        page.is_some_and(|page| member.next(page, None).is_some())
    }

    fn initial_of(&self, log: &LogId) -> Option<Arc<str>> {
        self.schema.logs().get(&*log.name)?.initial.as_deref().map(Arc::from)
    }

    fn holds_locals(&self, log: &LogId) -> bool {
        locals(&self.schema, log).iter().all(|local| self.cache.interests.holds_itself(local))
    }

    /// The own call that an entry is of.
    fn own_of(&self, log: &LogId, entry: &LogEntry) -> Option<Counter> {
        let own = self.queue.entry(entry.counter)?;
        let is_own = self.identity.is_origin(entry.origin);
        let of_log = own.mutation.log.as_ref().is_some_and(|call| call.log == *log);
        (is_own && of_log).then_some(entry.counter)
    }

    /// The writes of the first pending operation of a log: nothing was replayed that made it run otherwise.
    fn writes_of_first(&self, lane: LaneNumber) -> Option<Vec<Write>> {
        let RunState::Done(ran) = &self.queue.first_settled(lane)?.state else { return None };
        match &ran.result {
            RunResult::Writes(writes) => Some(writes.clone()),
            RunResult::GivenUp(_) => None,
        }
    }

    /// The call that is replayed, for the host to run it: its name and arguments.
    pub fn replayed_call(&self) -> Option<MutationKind> {
        let (lane, Next::Entry(entry)) = self.logs.replaying.as_ref()? else { return None };
        let member = self.logs.members.get(lane)?;
        let name = full_name(&member.log, &entry.operation).into();
        Some(MutationKind::Named { name, arguments: entry.arguments.as_str().into() })
    }

    pub(super) fn begin_replay(&mut self, lane: LaneNumber) -> Run {
        let member = self.logs.members.get(&lane);
        let log = member.map(|member| member.log.clone());
        let (called_at, seed) = match &self.logs.replaying {
            Some((_, Next::Entry(entry))) => (WallTime::from_micros(entry.called_at_micros), entry.seed),
            Some((_, Next::Nothing)) | None => {
                (WallTime::default(), log.as_ref().map(initial_seed).unwrap_or_default())
            }
        };
        let run = Run::new(RunOf::Replay(lane), View::Confirmed, called_at, Random::seeded(seed));
        Run { log, lives: Lives::ForSure, ..run }
    }

    pub(super) fn finish_replay(&mut self, lane: LaneNumber, run: Run, closed: Closed) {
        let Some((_, next)) = self.logs.replaying.take() else { return };
        let stopped = run.is_stopped();
        let (writes, aborted) = match closed {
            Closed::Unknown => return self.stop_log(lane, &unknown_operation(&next)),
            _ if stopped => return self.stop_log(lane, "its operation reads what a log does not hold"),
            Closed::Returned => (run.writes, None),
            Closed::Aborted(reason) | Closed::Failed(reason) => (Vec::new(), Some(shortened(reason))),
        };
        if let (Some(reason), Some(operation)) = (&aborted, self.begins(lane)) {
            let reason = format!("the operation {operation:?}, with which it begins, does not end: {reason}");
            return self.stop_log(lane, &reason);
        }
        self.note_replayed(lane, &next, writes, aborted);
    }

    /// The operation that a log begins with, while nothing of it is replayed.
    fn begins(&self, lane: LaneNumber) -> Option<Arc<str>> {
        let member = self.logs.members.get(&lane).filter(|member| member.index() == 0)?;
        self.initial_of(&member.log)
    }

    fn note_replayed(&mut self, lane: LaneNumber, next: &Next, writes: Vec<Write>, aborted: Option<String>) {
        let Some(log) = self.logs.members.get(&lane).map(|member| member.log.clone()) else { return };
        let own = match next {
            Next::Entry(entry) => self.own_of(&log, entry),
            Next::Nothing => None,
        };
        let delivered = self.await_operation(lane, own.filter(|_| aborted.is_none()));
        let rows = self.cache.apply(&writes);
        self.move_on(lane, next);
        if let Some(counter) = own {
            let at = self.committed_at(counter);
            self.end(
                counter,
                aborted.map_or(MutationStatus::Confirmed { at }, |reason| MutationStatus::Rejected { reason }),
            );
        }
        self.outputs.extend(delivered.map(Output::Delivered));
        self.queue.unsettle(rows.iter().cloned());
        self.note_rows(rows);
        self.compare_due = true;
    }

    /// As foreseen: what the first own operation wrote when it ran is what it writes now, so nothing looks different to those behind it.
    fn note_own_replayed(&mut self, lane: LaneNumber, next: &Next, writes: &[Write]) {
        let own = self.queue.first_of(lane);
        let delivered = self.await_operation(lane, own);
        let rows = self.cache.apply(writes);
        self.move_on(lane, next);
        if let Some(counter) = own {
            let at = self.committed_at(counter);
            if let Some(entry) = self.queue.sink_replayed(counter) {
                self.note_ended(entry, MutationStatus::Confirmed { at });
            }
        }
        self.outputs.extend(delivered.map(Output::Delivered));
        self.note_rows(rows);
        self.compare_due = true;
    }

    fn move_on(&mut self, lane: LaneNumber, next: &Next) {
        let initial = self.logs.members.get(&lane).and_then(|member| self.initial_of(&member.log));
        let member = self.logs.members.get_mut(&lane);
        if member.is_some_and(|member| member.replayed(next, initial.as_deref())) {
            self.follow_pages(lane);
            self.take_state(lane);
        }
        self.disk.changed_logs.insert(lane);
    }

    pub(super) fn index_of(&self, lane: LaneNumber) -> u64 {
        self.logs.members.get(&lane).map_or(0, Member::index)
    }

    pub(super) fn committed_at(&self, counter: Counter) -> Timestamp {
        match self.queue.entry(counter).map(|entry| &entry.stage) {
            Some(Stage::Committed { at, .. }) => *at,
            _ => self.cache.at(),
        }
    }

    /// Stops a log on this device: an app of another version may know how. Others are not disturbed.
    pub(super) fn stop_log(&mut self, lane: LaneNumber, reason: &str) {
        let Some(member) = self.logs.members.get_mut(&lane) else { return };
        let reason = shortened(reason.to_owned());
        member.stop(reason.clone());
        let (log, index) = (member.log.clone(), member.index());
        self.checkpoints.forget(lane);
        self.batches.end(lane);
        // Nobody is to wait until it is replayed here.
        self.give_up_pages(lane, &[]);
        self.outputs.push_back(Output::LogStopped { log, index, reason });
    }

    /// The store's history is another one: nothing of it was replayed.
    pub(super) fn logs_history_lost(&mut self) {
        for lane in self.logs.members.keys().copied().collect::<Vec<_>>() {
            if let Some(member) = self.logs.members.get_mut(&lane) {
                *member = Member::new(member.log.clone());
            }
            self.checkpoints.forget(lane);
            self.batches.open(lane);
            self.logs.forget_difference(lane);
            self.logs.closed.remove(&lane);
            self.disk.changed_logs.insert(lane);
            self.follow_pages(lane);
        }
    }

    /// How far logs are replayed that were replayed since this was last stored.
    pub(super) fn collect_logs(&mut self) {
        if self.broken == Broken::ForgetReplayedPosition {
            return;
        }
        for lane in std::mem::take(&mut self.disk.changed_logs) {
            let Some(member) = self.logs.members.get(&lane) else { continue };
            let (page, place) = member.position();
            let LogId { name, instance } = member.log.clone();
            let stored = StoredLog { log: name.to_string(), instance, page, place, index: member.index() };
            self.disk.changes.log(&stored);
        }
    }

    pub(super) fn forget_stored_logs(&mut self) {
        for member in self.logs.members.values() {
            self.disk.changes.forget_log(&member.log);
        }
    }

    pub(super) fn validate_logs(&self) {
        assert!(self.logs.members.len() <= Client::LOGS_MAX, "a client joins so many logs at most");
        for (lane, member) in &self.logs.members {
            for block in member.blocks().into_iter().filter_map(|first| member.log.pages(first, 8).ok()) {
                let needed = self.cache.interests.needed_by(Demand::Log(*lane), &block);
                assert!(needed || member.stuck().is_some(), "the pages that come next are followed");
            }
        }
    }
}

fn unknown_operation(next: &Next) -> String {
    match next {
        Next::Entry(entry) => format!("the app has no operation {:?}: a newer version of it may", entry.operation),
        Next::Nothing => "an entry cannot be read".to_owned(),
    }
}
