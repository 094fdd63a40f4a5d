//! How far own commits are delivered, and what the gateway is told of those of others.
//!
//! Invariants: nothing is said to be applied before the pending mutations and the reactions have run on it; the delivered view shows the state before
//! the first own commit that is not delivered, or nothing. The tables of a log have a state of their own, before its first own operation that is not.
//! Source: Hercules (Lebeck 2020, sections 3.4.4 and 3.4.5).

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Counter, LaneNumber, Schema, Timestamp};
use iolite_wire::message::{Advance, FromClient};

use super::Client;
use crate::cache::{Cache, Moment, RowId};
use crate::interface::{Broken, Output};
use crate::view::Unheld;

#[derive(Debug)]
pub(super) struct Delivery {
    /// Whether some table says `delivered`. Otherwise nothing of this is kept.
    has_tables: bool,
    /// Own commits that the confirmed state contains and that are not delivered, by their timestamps.
    waiting: BTreeMap<Timestamp, Waiting>,
    /// Own commits up to here are delivered, by what was told in this life of the app.
    through: Timestamp,
    /// Own operations of logs that are replayed here and not delivered, by the timestamps of their entries.
    operations: BTreeMap<(Timestamp, Counter), Replayed>,
    /// Commits of an earlier life of the app may not be delivered, and it is not known which.
    is_unknown: bool,
    /// Up to where advances are to be said to be applied.
    applied_due: Option<Timestamp>,
}

#[derive(Debug)]
struct Waiting {
    counter: Counter,
    /// The advance that brought it.
    with: Timestamp,
}

/// Where an own operation was replayed.
#[derive(Clone, Copy, Debug)]
struct Replayed {
    /// None: nothing of its log is held any more.
    log: Option<LaneNumber>,
    entry: Moment,
}

impl Delivery {
    /// The state of a client that is new, or of one whose storage was there before.
    pub(super) fn opened(schema: &Schema, has_past: bool) -> Delivery {
        let has_tables = schema.follows_delivery();
        Delivery {
            has_tables,
            waiting: BTreeMap::new(),
            through: Timestamp::ZERO,
            operations: BTreeMap::new(),
            is_unknown: has_past,
            applied_due: None,
        }
    }

    pub(super) fn unheld<'a>(&self, cache: &'a Cache) -> Unheld<'a> {
        if self.is_unknown { Unheld::Everything } else { Unheld::Loaded(&cache.past) }
    }

    /// Whether commits of an earlier life of the app may not be delivered.
    pub(super) fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    pub(super) fn session_lost(&mut self) {
        self.applied_due = None;
    }

    pub(super) fn history_lost(&mut self) {
        (self.waiting, self.is_unknown) = (BTreeMap::new(), false);
        (self.through, self.operations) = (Timestamp::ZERO, BTreeMap::new());
        self.session_lost();
    }

    /// The first own operation of a log that is not delivered.
    fn first_of(&self, log: LaneNumber) -> Option<Moment> {
        self.operations.values().find(|own| own.log == Some(log)).map(|own| own.entry)
    }

    /// Forgets a log of which nothing is held any more. Operations of it are told as delivered all the same.
    pub(super) fn forget_log(&mut self, log: LaneNumber) {
        self.operations.values_mut().filter(|own| own.log == Some(log)).for_each(|own| own.log = None);
    }

    pub(super) fn validate(&self, cache: &Cache, logs: impl Iterator<Item = LaneNumber>) {
        let is_kept = |domain| cache.past.is_kept(domain);
        assert_eq!(
            self.waiting.is_empty(),
            !is_kept(LaneNumber::STRONG),
            "the past is kept while a commit is not delivered"
        );
        for log in logs {
            let waits = self.first_of(log).is_some();
            assert_eq!(waits, is_kept(log), "the past of a log is kept while an own operation of it is not delivered");
        }
    }
}

impl Client {
    /// Whether some table of the schema says `delivered`, so that confirmed mutations are told as delivered later.
    pub fn follows_delivery(&self) -> bool {
        self.delivery.has_tables
    }

    /// Before an advance is applied: keeps what it changes, if own commits are not delivered then. Returns those that are.
    pub(super) fn await_delivery(&mut self, advance: &Advance) -> Vec<Counter> {
        let mut delivered = Vec::new();
        if !self.delivery.has_tables {
            return delivered;
        }
        for (counter, at) in self.queue.about_to_contain(&advance.outcomes, advance.to) {
            let is_told = advance.delivered.is_some_and(|through| at <= through);
            let writes = self.queue.entry(counter).map(|entry| entry.writes()).unwrap_or_default();
            let is_followed = writes.iter().any(|write| self.schema.is_delivered(write.cell.table));
            if !is_told && (is_followed || !self.delivery.waiting.is_empty()) {
                self.delivery.waiting.insert(at, Waiting { counter, with: advance.to });
            } else {
                delivered.push(counter);
            }
        }
        if !self.delivery.waiting.is_empty() {
            self.cache.past.begin(LaneNumber::STRONG, Moment::advance(advance.to));
        }
        delivered
    }

    /// After an advance is applied.
    pub(super) fn note_delivery(&mut self, advance: &AdvanceSummary, delivered: Vec<Counter>) {
        if !self.delivery.has_tables {
            return;
        }
        self.outputs.extend(delivered.into_iter().map(Output::Delivered));
        if advance.is_owed {
            self.delivery.applied_due = Some(advance.to);
        }
        if self.broken == Broken::AcknowledgeBeforeApplying {
            self.tell_applied();
        }
        let Some(through) = advance.delivered else { return };
        if through >= advance.to && std::mem::take(&mut self.delivery.is_unknown) {
            self.compare_due = true;
        }
        self.move_delivered(through);
    }

    /// Before an entry of a log is replayed, which may be an own one that takes effect: keeps what it changes, if own operations of the log are not
    /// delivered then. Returns the own one if it is.
    pub(super) fn await_operation(&mut self, log: LaneNumber, own: Option<Counter>) -> Option<Counter> {
        let (own, entry) =
            (own.map(|counter| (self.committed_at(counter), counter)), Moment::entry(self.index_of(log)));
        let delivered = own.filter(|(at, _)| *at <= self.delivery.through);
        if let Some(name) = own.filter(|_| delivered.is_none()) {
            self.delivery.operations.insert(name, Replayed { log: Some(log), entry });
        }
        if self.delivery.first_of(log).is_some() {
            self.cache.past.begin(log, entry);
        }
        delivered.map(|(_, counter)| counter)
    }

    /// Returns the rows of logs that look different.
    fn move_delivered_operations(&mut self, through: Timestamp) -> BTreeSet<RowId> {
        self.delivery.through = self.delivery.through.max(through);
        let mut logs = BTreeSet::new();
        while let Some(own) = self.delivery.operations.first_entry().filter(|own| own.key().0 <= through) {
            let ((_, counter), Replayed { log, entry: _ }) = own.remove_entry();
            logs.extend(log);
            self.outputs.push_back(Output::Delivered(counter));
        }
        let past = &mut self.cache.past;
        let moved = logs.into_iter().flat_map(|log| match self.delivery.first_of(log) {
            Some(first) => past.keep_from(log, first),
            None => past.end(log),
        });
        moved.collect()
    }

    /// Own commits up to here are delivered.
    fn move_delivered(&mut self, through: Timestamp) {
        let mut moved = self.move_delivered_operations(through);
        let mut rest = std::mem::take(&mut self.delivery.waiting);
        while rest.first_key_value().is_some_and(|(at, _)| *at <= through) {
            if let Some((_, Waiting { counter, .. })) = rest.pop_first() {
                self.outputs.push_back(Output::Delivered(counter));
            }
        }
        moved.extend(match rest.first_key_value() {
            Some((_, first)) => self.cache.past.keep_from(LaneNumber::STRONG, Moment::advance(first.with)),
            None => self.cache.past.end(LaneNumber::STRONG),
        });
        self.delivery.waiting = rest;
        if !moved.is_empty() {
            self.changed.add(moved);
            self.compare_due = true;
        }
    }

    /// Says what is applied, once nothing is left to run on it.
    pub(super) fn tell_applied(&mut self) -> bool {
        if self.reactions.wait_for_turn() || self.batches.hold_back() || self.checkpoints.hold_back() {
            return false;
        }
        let Some(to) = self.delivery.applied_due.take() else { return false };
        self.send(FromClient::Applied(to));
        true
    }
}

/// The part of an advance that speaks of delivery, kept while the rest is applied.
pub(super) struct AdvanceSummary {
    to: Timestamp,
    delivered: Option<Timestamp>,
    is_owed: bool,
}

impl AdvanceSummary {
    pub(super) fn of(advance: &Advance) -> AdvanceSummary {
        AdvanceSummary { to: advance.to, delivered: advance.delivered, is_owed: advance.is_owed }
    }
}
