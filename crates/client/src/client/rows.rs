//! Tables that sync: calls that are kept, the change sets that carry them to the store, and how rows show them.
//!
//! Invariants:
//! - a kept call is in no queue: it has taken place, and does not run again;
//! - what kept calls show stands on the confirmed rows at the cache's timestamp, and every reader but a strong mutation sees it;
//! - a change set leaves once it is stored what it carries, and as of a timestamp at which the rows are those that it rests on;
//! - no counter from an open set on is acknowledged before what came of the set is stored.
//!
//! Source: Simba (Perkins 2015, chapter 3). What happens to a kept call is docs/protocols/rowsync.md.

mod conflicts;
mod restoring;
mod sending;

use std::collections::{BTreeMap, BTreeSet};

pub use conflicts::ConflictError;
use iolite_machine::PersistId;
use iolite_rowsync::{Confirmed, Ending, How, KeepError, RowSync, RowVersion, Scheme, Which};
use iolite_values::{
    Attempt, Blob, Counter, Domain, Interest, KeyRange, LaneNumber, Row, RowKey, TableId, Write, set_of,
};
use iolite_wire::client_storage::MutationStatus as StoredStatus;

use super::Client;
use super::mutations::stored_call;
use crate::cache::{Cache, Demand, RowId};
use crate::interface::{Broken, MutationStatus, Output, Pending, PendingMutation};
use crate::queue::{Copies, Entry, KeptRows, Mutation, MutationKind, RunState, Stage};
use crate::reason::shortened;
use crate::tabs::Ticket;
use crate::transaction::Run;
use crate::view::{Overlay, Reader, View};

/// All tables that sync.
#[derive(Debug, Default)]
pub(super) struct Rows {
    tables: BTreeMap<TableId, Synced>,
    calls: BTreeMap<Counter, KeptCall>,
    /// The rows that kept calls have written, as they are shown.
    shown: Overlay,
    /// The same, of the calls that a restart would find.
    durable: Overlay,
    /// The first open set of tables that the app's schema lacks.
    open_elsewhere: Option<Counter>,
    broken: iolite_rowsync::Broken,
}

#[derive(Debug)]
struct Synced {
    rows: RowSync,
    lane: Option<LaneNumber>,
    /// The last change set. The chunks that were sent for it serve the next one.
    last_set: Option<Counter>,
    /// The conflicts that the host was told of: the row, the server's version, the version that is shown.
    told: Vec<(RowKey, RowVersion, RowVersion)>,
    /// The conflicts may be others than these.
    is_doubtful: bool,
    /// Something may be due, or the open set may rest on other rows, since this was last looked at.
    is_unlooked: bool,
}

/// The attempt that a kept call counts as.
pub(super) const KEPT_ATTEMPT: Attempt = Attempt(1);

/// The part of a kept call that is for people and for other tabs.
#[derive(Debug)]
struct KeptCall {
    mutation: Mutation,
    table: TableId,
    /// On its way to the disk, with this batch.
    saving: Option<PersistId>,
    copies: Copies,
}

impl Rows {
    pub(super) fn break_for_simulation(&mut self, broken: Broken) {
        let Broken::Rows(broken) = broken else { return };
        self.broken = broken;
        self.tables.values_mut().for_each(|own| own.rows.break_for_tests(broken));
    }

    pub(super) fn shown(&self) -> &Overlay {
        &self.shown
    }

    /// The first counter that a set with an unknown outcome has, or one that is not stored yet.
    pub(super) fn first_open_set(&self) -> Option<Counter> {
        self.tables.values().filter_map(|own| own.rows.open_set()).chain(self.open_elsewhere).min()
    }

    pub(super) fn open_sets(&self) -> usize {
        self.tables.values().filter(|own| own.rows.open_set().is_some()).count()
    }

    /// Whether the next change set of a table may need what was uploaded for this one.
    pub(super) fn may_need_upload_of(&self, set: Counter) -> bool {
        self.tables.values().any(|own| own.last_set == Some(set) && !own.rows.is_empty())
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = Counter> {
        self.calls.keys().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Bytes of the calls, as the queue counts them.
    pub(super) fn bytes(&self) -> usize {
        self.calls.values().map(|call| call.mutation.kind.size_bytes()).sum()
    }

    pub(super) fn of_ticket(&self, ticket: Ticket) -> Option<Counter> {
        self.calls.iter().find(|(_, call)| call.mutation.ticket == Some(ticket)).map(|(counter, _)| *counter)
    }

    pub(super) fn no_more_copies(&mut self, counter: Counter) {
        if let Some(call) = self.calls.get_mut(&counter) {
            call.copies = Copies::NoMore;
        }
    }

    pub(super) fn mutation(&self, counter: Counter) -> Option<&Mutation> {
        self.calls.get(&counter).map(|call| &call.mutation)
    }

    /// Whether a change set that is not submitted yet may be, as of the cache's timestamp.
    pub(super) fn may_submit(&self, entry: &Entry, cache: &Cache) -> bool {
        match (&entry.domain, &entry.state, &entry.stage) {
            (Domain::Rows(table), RunState::Frozen(_), Stage::Saving(_) | Stage::Saved) => {
                self.tables.get(table).is_some_and(|own| own.rows.still_rests(|key| confirmed(cache, *table, key)))
            }
            (Domain::Strong | Domain::Log(_) | Domain::Rows(_) | Domain::Causal, _, _) => true,
        }
    }

    /// Makes what is shown of these rows anew. Returns those that may look different.
    fn refresh(&mut self, table: TableId, keys: impl IntoIterator<Item = RowKey>, cache: &Cache) -> Vec<RowId> {
        let Some(own) = self.tables.get(&table) else { return Vec::new() };
        let mut ids = Vec::new();
        for key in keys {
            let confirmed = confirmed(cache, table, &key);
            let id = (table, key);
            for (which, layer) in [(Which::All, &mut self.shown), (Which::Durable, &mut self.durable)] {
                match own.rows.shown(&id.1, which, confirmed) {
                    // An update of a row that is not here shows nothing. Whoever reads the row asks for it.
                    Some(row) if row.exists() || !matches!(confirmed, Confirmed::Unknown) || own.knows_bases() => {
                        layer.put(id.clone(), row, true);
                    }
                    Some(_) | None => drop(layer.take(&id)),
                }
            }
            ids.push(id);
        }
        ids
    }

    /// The keys of a table whose rows are shown otherwise than they are confirmed.
    fn shown_keys(&self, table: TableId) -> Vec<RowKey> {
        self.shown.range(table, &KeyRange::all()).map(|(key, _)| key.clone()).collect()
    }
}

impl Synced {
    /// Without kept calls.
    fn empty(table: TableId, scheme: Scheme, broken: iolite_rowsync::Broken) -> Synced {
        let mut rows = RowSync::new(table, scheme);
        rows.break_for_tests(broken);
        Synced::new(rows)
    }

    fn new(rows: RowSync) -> Synced {
        Synced { rows, lane: None, last_set: None, told: Vec::new(), is_doubtful: true, is_unlooked: true }
    }

    /// Whether a row that is shown as gone is known to be gone: a causal chain has its base.
    fn knows_bases(&self) -> bool {
        self.rows.scheme() == Scheme::Causal
    }
}

/// A row as the server has it, as far as the cache can tell.
fn confirmed<'a>(cache: &'a Cache, table: TableId, key: &RowKey) -> Confirmed<'a> {
    if !cache.interests.holds_row(&(table, key.clone())) {
        return Confirmed::Unknown;
    }
    cache.row(table, key).filter(|row| row.exists()).map_or(Confirmed::Absent, Confirmed::There)
}

impl Client {
    /// Rows of a table that stay subscribed because kept calls have written them. What is beyond it is judged once some of these are gone.
    pub const FOLLOWED_MAX: usize = 2048;

    /// The table that a run's writes are kept for; none if they are sent by themselves.
    pub(super) fn keeps(&self, run: &Run) -> Option<TableId> {
        match self.schema.domain_of(&run.writes).ok().flatten() {
            Some(Domain::Rows(table)) => Some(table),
            Some(Domain::Strong | Domain::Log(_) | Domain::Causal) | None => None,
        }
    }

    /// Whether a run that is strong rests on rows as kept calls show them. It runs again then, on the confirmed ones.
    pub(super) fn rests_on_kept(&mut self, counter: Counter, run: &Run) -> bool {
        let Some(entry) = self.queue.entry_mut(counter).filter(|entry| entry.kept_rows == KeptRows::Shown) else {
            return false;
        };
        entry.kept_rows = KeptRows::Below;
        if self.rows.calls.is_empty() || self.broken == Broken::StrongReadsKept {
            return false;
        }
        let reads: Vec<_> = run.reads.iter().filter(|(read, _)| self.schema.syncs(read.table())).collect();
        let reader = Reader::new(&self.cache, Some(self.queue.overlay()), None);
        let demand = Demand::Mutation(counter);
        reads.into_iter().any(|(read, digest)| !reader.tells_of(demand, read) || reader.digest(read) != *digest)
    }

    /// Whether a run that is to be kept saw no kept rows. It runs once more then, and sees them: its effects stand upon them.
    pub(super) fn sees_kept_again(&mut self, counter: Counter) -> bool {
        let entry = self.queue.entry_mut(counter).filter(|entry| entry.kept_rows == KeptRows::Below);
        entry.map(|entry| entry.kept_rows = KeptRows::ShownAgain).is_some()
    }

    pub(super) fn has_seen_kept_again(&self, counter: Counter) -> bool {
        self.queue.entry(counter).is_some_and(|entry| entry.kept_rows == KeptRows::ShownAgain)
    }

    /// Keeps a call that ran, and takes it out of the queue.
    ///
    /// # Errors
    /// Why it cannot be kept, and nothing has changed.
    pub(super) fn keep_call(&mut self, counter: Counter, table: TableId, run: &Run) -> Result<(), KeepError> {
        let cache = &self.cache;
        let scheme = self.schema.table_by_id(table).and_then(|own| Scheme::of(&own.consistency));
        let (scheme, broken) = (scheme.unwrap_or(Scheme::Causal), self.rows.broken);
        let own = self.rows.tables.entry(table).or_insert_with(|| Synced::empty(table, scheme, broken));
        let reader = Reader::new(cache, None, None).over_kept(Some(&self.rows.shown));
        let saw = |key: &RowKey| reader.row(table, key).filter(|row| row.exists()).cloned().unwrap_or_default();
        own.rows.keep(counter, &run.writes, saw, &run.bases)?;
        let keys: Vec<RowKey> = own.rows.rows_of(counter).cloned().collect();
        let Some(entry) = self.queue.remove(counter) else { return Ok(()) };
        self.cache.interests.settle(Demand::Mutation(counter), &BTreeSet::new());
        if let Some(stored) = stored_call(&entry.mutation, StoredStatus::Kept) {
            self.disk.changes.mutation(&stored);
        }
        let saving = Some(self.disk.last.next());
        let (mutation, copies) = (entry.mutation, entry.copies);
        self.rows.calls.insert(counter, KeptCall { mutation, table, saving, copies });
        self.disk.due = true;
        self.note_kept(table, keys);
        self.report_kept(counter);
        Ok(())
    }

    /// Kept calls of a table are others than before: stores that, shows it, follows the rows.
    fn note_kept(&mut self, table: TableId, keys: Vec<RowKey>) {
        let Some(own) = self.rows.tables.get_mut(&table) else { return };
        (own.is_doubtful, own.is_unlooked) = (true, true);
        for change in own.rows.take_changes() {
            self.disk.changes.kept(change);
        }
        let last_calls: BTreeSet<Counter> = set_of(keys.iter().filter_map(|key| own.rows.last_call(key)));
        let ids = self.rows.refresh(table, keys, &self.cache);
        last_calls.into_iter().for_each(|counter| self.leader.note_mutation(counter));
        self.queue.unsettle(ids.iter().cloned());
        self.changed.add(ids);
        self.compare_due = true;
        self.follow_kept(table);
    }

    /// Stays subscribed to the rows of which nobody else would tell that they are in conflict.
    fn follow_kept(&mut self, table: TableId) {
        let Some(own) = self.rows.tables.get(&table) else { return };
        let range = |key: &RowKey| Interest::Range { table, range: KeyRange::one(key) };
        let wanted: Vec<Interest> = own.rows.wanted().take(self.limits.followed_rows_max).map(range).collect();
        let mut kept = BTreeSet::new();
        for interest in &wanted {
            if self.cache.interests.check_room_for(std::iter::once(interest)).is_ok() {
                kept.insert(self.cache.interests.require(interest, None, Demand::Kept(table)));
            }
        }
        self.cache.interests.settle(Demand::Kept(table), &kept);
    }

    /// The confirmed rows are others: kept calls are judged on them.
    pub(super) fn judge_kept(&mut self, changed: &[RowId]) {
        let at = self.cache.at();
        let tables: Vec<TableId> =
            self.rows.tables.iter().filter(|(_, own)| !own.rows.is_empty()).map(|(table, _)| *table).collect();
        for table in tables {
            let Some(own) = self.rows.tables.get_mut(&table) else { continue };
            let before: BTreeSet<RowKey> = set_of(own.rows.keys().cloned());
            let cache = &self.cache;
            let endings = own.rows.advance(at, |key| confirmed(cache, table, key));
            let after: BTreeSet<&RowKey> = set_of(own.rows.keys());
            let mut keys: BTreeSet<RowKey> = set_of(before.iter().filter(|key| !after.contains(key)).cloned());
            keys.extend(
                changed.iter().filter(|(of, key)| *of == table && before.contains(key)).map(|(_, key)| key.clone()),
            );
            if endings.is_empty() && keys.is_empty() {
                (own.is_doubtful, own.is_unlooked) = (true, true);
                continue;
            }
            // What ends may have been one of several calls of a row.
            keys.extend(if endings.is_empty() { BTreeSet::new() } else { before });
            self.end_kept(endings);
            self.note_kept(table, keys.into_iter().collect());
        }
    }

    /// The rows that are held may be others: all kept calls are shown and followed anew.
    pub(super) fn look_at_kept_again(&mut self) {
        let tables: Vec<TableId> = self.rows.tables.keys().copied().collect();
        for table in tables {
            let keys = self.rows.shown_keys(table);
            let of_calls = self.rows.tables.get(&table).into_iter().flat_map(|own| own.rows.keys().cloned());
            let keys: BTreeSet<RowKey> = set_of(keys.into_iter().chain(of_calls));
            if !keys.is_empty() {
                self.note_kept(table, keys.into_iter().collect());
            }
        }
    }

    /// Takes a kept call back that no change set carries. A decision stays: without it, what it had kept would cover the server's row unseen.
    pub(super) fn cancel_kept(&mut self, counter: Counter) -> bool {
        let has_name = |call: &&KeptCall| matches!(call.mutation.kind, MutationKind::Named { .. });
        let Some(table) = self.rows.calls.get(&counter).filter(has_name).map(|call| call.table) else { return false };
        let Some(own) = self.rows.tables.get_mut(&table) else { return false };
        let keys: Vec<RowKey> = own.rows.rows_of(counter).cloned().collect();
        if !own.rows.take_back(counter) {
            return false;
        }
        self.note_kept(table, keys);
        self.end_kept_call(counter, MutationStatus::Cancelled { reason: "taken back".into() }, false);
        true
    }

    fn end_kept(&mut self, endings: Vec<Ending>) {
        for Ending { call, how } in endings {
            // Of a call without effect no commit tells.
            let is_committed = matches!(how, How::Confirmed(Some(_)));
            let status = match how {
                How::Confirmed(at) => MutationStatus::Confirmed { at: at.unwrap_or(self.cache.at()) },
                How::Overruled => MutationStatus::Overruled,
                How::Refused(reason) => MutationStatus::Rejected { reason: shortened(reason) },
            };
            self.end_kept_call(call, status, is_committed);
        }
    }

    fn end_kept_call(&mut self, counter: Counter, status: MutationStatus, is_committed: bool) {
        if let Some(call) = self.rows.calls.remove(&counter) {
            self.note_kept_ended(call.mutation, call.copies, status, is_committed);
        }
    }

    /// Kept calls that were on their way to the disk are there.
    pub(super) fn note_kept_saved(&mut self) {
        let done = self.disk.done;
        let is_saved = |call: &KeptCall| call.saving.is_some_and(|with| with <= done);
        let saved: Vec<(Counter, TableId)> = self
            .rows
            .calls
            .iter_mut()
            .filter(|(_, call)| is_saved(call))
            .map(|(counter, call)| {
                call.saving = None;
                (*counter, call.table)
            })
            .collect();
        for (counter, table) in saved {
            let Some(own) = self.rows.tables.get_mut(&table) else { continue };
            own.rows.saved(counter);
            let keys = own.rows.rows_of(counter).cloned().collect();
            self.note_kept(table, keys);
            self.report_kept(counter);
        }
    }

    pub(super) fn report_kept(&mut self, counter: Counter) {
        if let Some(pending) = self.pending_kept(counter) {
            self.leader.note_mutation(counter);
            // Its one run counts as the first attempt, once it is stored.
            let attempt = if pending.status.durable { KEPT_ATTEMPT } else { Attempt(0) };
            let status = MutationStatus::Pending(pending.status);
            self.outputs.push_back(Output::Mutation { counter, attempt, status });
        }
    }

    pub(super) fn pending_kept(&self, counter: Counter) -> Option<PendingMutation> {
        let call = self.rows.calls.get(&counter)?;
        let (name, arguments) = match &call.mutation.kind {
            MutationKind::Named { name, arguments } => (Some(name.clone()), Some(arguments.clone())),
            MutationKind::Closure | MutationKind::ChangeSet => (None, None),
        };
        let own = self.rows.tables.get(&call.table)?;
        let status = Pending {
            durable: call.saving.is_none(),
            sent: own.rows.is_sent(counter),
            would_reject: None,
            waits_for_data: false,
            centres: 0,
            in_conflict: own
                .rows
                .is_in_conflict(counter, self.cache.at(), |key| confirmed(&self.cache, call.table, key)),
        };
        let Mutation { called_at, ticket, .. } = call.mutation;
        Some(PendingMutation { counter, name, arguments, called_at, ticket, status })
    }

    /// The writes by which a kept call changes the confirmed rows, for tabs that follow. Of a row that several calls have written, the last one shows all.
    pub(super) fn writes_of_kept(&self, counter: Counter) -> Vec<Write> {
        let Some(call) = self.rows.calls.get(&counter) else { return Vec::new() };
        let Some(own) = self.rows.tables.get(&call.table) else { return Vec::new() };
        let is_last = |key: &&RowKey| own.rows.last_call(key) == Some(counter);
        let none = Row::default();
        let keys = own.rows.rows_of(counter).filter(is_last);
        keys.flat_map(|key| {
            let below = self.cache.row(call.table, key).filter(|row| row.exists()).unwrap_or(&none);
            let shown = self.rows.shown.row(call.table, key).unwrap_or(below);
            own.rows.writes_between(key, below, shown)
        })
        .collect()
    }

    /// The blobs whose chunks have to stay on the device.
    pub fn kept_blobs(&self) -> impl Iterator<Item = &Blob> {
        self.rows.tables.values().flat_map(|own| own.rows.blobs())
    }

    pub(super) fn validate_kept(&self) {
        for (table, own) in &self.rows.tables {
            own.rows.validate();
            let of_table = self.rows.calls.iter().filter(|(_, call)| call.table == *table).map(|(counter, _)| *counter);
            assert!(own.rows.calls().eq(of_table), "each kept call is known by what it was called");
        }
        let sets = self.queue.entries().filter(|entry| entry.is_change_set()).count();
        assert!(sets <= self.rows.open_sets(), "a change set is of kept calls");
    }

    /// The layer of kept calls in a view.
    pub(super) fn kept_in(&self, view: View) -> Option<&Overlay> {
        match view {
            View::Optimistic => Some(&self.rows.shown),
            View::Durable => Some(&self.rows.durable),
            View::Confirmed | View::Delivered => None,
        }
    }
}
