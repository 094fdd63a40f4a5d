//! Change sets at a client: made, withdrawn, answered.
//!
//! Invariants: a set leaves once it is stored, and as of a timestamp at which the rows are those that it rests on. What came of it is known before its rows are
//! judged. A set that conflicted is aborted first, so that no late copy takes effect.

use std::sync::Arc;

use iolite_rowsync::Scheme;
use iolite_values::{Blob, Chunks, ColumnId, Counter, Domain, LaneNumber, RowKey, TableId, Timestamp};
use iolite_wire::message::{Outcome, Rejection};

use super::confirmed;
use crate::client::Client;
use crate::client::advance::denied;
use crate::queue::{Decided, Entry, Frozen, GivenUp, Trail};
use crate::reason::shortened;

/// Why a set is closed.
enum Closing {
    /// The rows know that already.
    AsBefore,
    /// The rows are judged by those of this time, or later ones.
    Conflict(Timestamp),
    Refused(String),
}

impl Client {
    /// The server has another history.
    pub(in crate::client) fn kept_history_lost(&mut self) {
        let sets: Vec<Counter> =
            self.queue.entries().filter(|entry| entry.is_change_set()).map(Entry::counter).collect();
        sets.into_iter().for_each(|counter| drop(self.queue.remove(counter)));
        self.rows.tables.values_mut().for_each(|own| own.rows.history_lost());
        let closing: Vec<(TableId, Counter)> =
            self.rows.tables.iter().filter_map(|(table, own)| Some((*table, own.rows.closing()?))).collect();
        for (table, counter) in closing {
            self.push_closing_set(table, counter);
        }
        self.look_at_kept_again();
    }

    /// Closes the sets that were sent under another id, as nobody can tell now what came of them. Their rows are judged by those of the server.
    pub(in crate::client) fn doubt_sent_sets(&mut self) {
        let sent = self.queue.entries().filter(|entry| entry.is_change_set() && !entry.is_unsent());
        let sent = sent.filter_map(|entry| match entry.domain {
            Domain::Rows(table) => Some((table, entry.counter())),
            Domain::Strong | Domain::Log(_) | Domain::Causal => None,
        });
        for (table, counter) in sent.collect::<Vec<_>>() {
            self.queue.remove(counter);
            self.close_set(table, Closing::Conflict(Timestamp::ZERO));
        }
    }

    /// Has the store tell what came of a set, and see to it that no copy takes effect later.
    pub(super) fn push_closing_set(&mut self, table: TableId, counter: Counter) {
        let (lane, base) = (self.lane_of_rows(table), self.counters.attempts_base());
        self.queue.push(Entry::closing_set(counter, table, base).in_lane(lane));
    }

    /// The server's row has another blob by now than the one that a set shares chunks with. In a causal table that is a conflict. False if it is none.
    pub(in crate::client) fn conflict_over_blob(&mut self, counter: Counter) -> bool {
        let Some(Domain::Rows(table)) = self.queue.entry(counter).map(|entry| entry.domain.clone()) else {
            return false;
        };
        let own = self.rows.tables.get(&table);
        let is_open =
            own.is_some_and(|own| own.rows.scheme() == Scheme::Causal && own.rows.open_set() == Some(counter));
        if is_open {
            self.queue.remove(counter);
            // The confirmed rows that show it are still on their way.
            let at = Timestamp::from_u64(self.cache.at().as_u64().saturating_add(1));
            self.close_set(table, Closing::Conflict(at));
        }
        is_open
    }

    /// Sends what is due of each table as a change set, and withdraws a set that rests on rows which are others by now.
    pub(in crate::client) fn send_kept(&mut self) -> bool {
        if self.rows.calls.is_empty() || !self.session.is_open() {
            return false;
        }
        let unlooked = self.rows.tables.iter().filter(|(_, own)| own.is_unlooked).map(|(table, _)| *table);
        for table in unlooked.collect::<Vec<_>>() {
            if self.withdraw_set(table) || self.send_set(table) {
                return true;
            }
            if let Some(own) = self.rows.tables.get_mut(&table) {
                own.is_unlooked = false;
            }
        }
        false
    }

    fn send_set(&mut self, table: TableId) -> bool {
        let (at, cache) = (self.cache.at(), &self.cache);
        let Some(own) = self.rows.tables.get_mut(&table) else { return false };
        let confirmed = |key: &RowKey| confirmed(cache, table, key);
        // Rows whose chunks have to be sent first do not hold up the others.
        let small = |_: &RowKey, _, blob: &Arc<Blob>| is_in_cell(blob).then(|| blob.clone());
        let all = |_: &RowKey, _: ColumnId, blob: &Arc<Blob>| Some(blob.clone());
        let due = own.rows.due(at, confirmed, small).or_else(|| own.rows.due(at, confirmed, all));
        let Some(set) = due else { return false };
        let (reads, writes, calls) = (set.reads.clone(), set.writes.clone(), set.calls.clone());
        let counter = self.next_counter();
        let lane = self.lane_of_rows(table);
        let Some(own) = self.rows.tables.get_mut(&table) else { return false };
        own.rows.send(counter, set);
        let before = own.last_set.replace(counter);
        let entry = Entry::change_set(counter, table, Frozen { reads, writes }, self.disk.last.next());
        self.queue.push(entry.in_lane(lane));
        before.into_iter().for_each(|before| self.carry_upload(before, counter));
        self.disk.due = true;
        self.note_kept(table, Vec::new());
        calls.into_iter().for_each(|call| self.report_kept(call));
        true
    }

    /// A set that was not submitted, and whose rows are others now, would only conflict.
    fn withdraw_set(&mut self, table: TableId) -> bool {
        let Some(counter) = self.rows.tables.get(&table).and_then(|own| own.rows.open_set()) else { return false };
        let is_stale = self
            .queue
            .entry(counter)
            .is_some_and(|entry| entry.trail == Trail::None && !self.rows.may_submit(entry, &self.cache));
        if is_stale {
            self.queue.remove(counter);
            let at = self.cache.at();
            self.close_set(table, Closing::Conflict(at));
        }
        is_stale
    }

    pub(super) fn lane_of_rows(&mut self, table: TableId) -> LaneNumber {
        if let Some(lane) = self.rows.tables.get(&table).and_then(|own| own.lane) {
            return lane;
        }
        let lane = self.logs.new_lane();
        if let Some(own) = self.rows.tables.get_mut(&table) {
            own.lane = Some(lane);
        }
        lane
    }

    /// Takes the outcome of a change set. False if it is of something else.
    pub(in crate::client) fn on_set_outcome(&mut self, outcome: &Outcome) -> bool {
        let Some(entry) = self.queue.entry(outcome.counter).filter(|entry| entry.is_change_set()) else { return false };
        let Domain::Rows(table) = entry.domain else { return false };
        let counter = outcome.counter;
        match self.queue.decide(outcome) {
            None => {}
            Some(Decided::Committed(at)) => {
                self.queue.remove(counter);
                if let Some(own) = self.rows.tables.get_mut(&table) {
                    own.rows.committed(at);
                }
                self.note_kept(table, Vec::new());
            }
            // No late copy may take effect behind what follows, so the store is to record that it is aborted.
            Some(Decided::Again) => {
                if let Some(entry) = self.queue.entry_mut(counter) {
                    let told = entry.wait_for;
                    entry.close("it conflicted");
                    if let Some(own) = self.rows.tables.get_mut(&table) {
                        own.rows.conflict(told);
                    }
                }
                self.note_kept(table, Vec::new());
            }
            Some(Decided::GivenUp(GivenUp::ByApp(_) | GivenUp::ByClient(_))) => {
                self.queue.remove(counter);
                self.close_set(table, Closing::AsBefore);
            }
            // The store has recorded the refusal.
            Some(Decided::Rejected(Rejection::Invalid(reason))) => {
                self.queue.remove(counter);
                self.close_set(table, Closing::Refused(reason));
            }
            Some(Decided::Rejected(Rejection::Denied(reason))) => {
                self.queue.remove(counter);
                self.close_set(table, Closing::Refused(denied(&reason)));
            }
            Some(Decided::Rejected(Rejection::Forgotten)) => {
                self.queue.remove(counter);
                self.close_set(table, Closing::Conflict(Timestamp::ZERO));
            }
        }
        true
    }

    /// A change set cannot be sent, as its blobs cannot.
    pub(in crate::client) fn refuse_set(&mut self, counter: Counter, reason: &str) {
        let Some(entry) = self.queue.entry_mut(counter) else { return };
        let Domain::Rows(table) = entry.domain else { return };
        let is_unsent = entry.trail == Trail::None;
        if is_unsent {
            self.queue.remove(counter);
            self.close_set(table, Closing::Refused(shortened(reason.to_owned())));
        } else {
            entry.close(reason);
            if let Some(own) = self.rows.tables.get_mut(&table) {
                own.rows.refused(shortened(reason.to_owned()));
            }
            self.note_kept(table, Vec::new());
        }
    }

    fn close_set(&mut self, table: TableId, why: Closing) {
        let Some(own) = self.rows.tables.get_mut(&table) else { return };
        let keys: Vec<RowKey> = own.rows.keys().cloned().collect();
        let calls: Vec<Counter> = own.rows.calls().filter(|call| own.rows.is_sent(*call)).collect();
        match why {
            Closing::AsBefore => {}
            Closing::Conflict(at) => own.rows.conflict(at),
            Closing::Refused(reason) => own.rows.refused(reason),
        }
        let endings = own.rows.closed();
        self.disk.due = true;
        self.end_kept(endings);
        self.note_kept(table, keys);
        calls.into_iter().for_each(|call| self.report_kept(call));
    }
}

fn is_in_cell(blob: &Blob) -> bool {
    match blob.chunks() {
        Chunks::Inline(_) => true,
        Chunks::Tree(_) => false,
    }
}
