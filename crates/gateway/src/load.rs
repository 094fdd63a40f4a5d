//! The answer to a `Subscribe`, or to a session that fell behind, while it is being read from the store.
//!
//! Invariant: what was read is as of the feed position at which it was asked for, and the buffer holds every change of its interests
//! since then. So both together are as of the feed's position, whenever the last reply comes.

use std::collections::{BTreeMap, BTreeSet};

use iolite_store::{Commit, RequestId, RowAt};
use iolite_values::{Row, RowKey, TableId, Write};
use iolite_wire::message::{Declination, Declined, RowSnapshot, Snapshot, SubscriptionId};

use crate::SessionId;
use crate::coalesce::coalesce;
use crate::index::{InterestIndex, Target};
use crate::limits;
use crate::reading::Reading;
use crate::session::Subscription;
use crate::size;

/// Names a load of a session. Never used again in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct LoadId(u64);

impl LoadId {
    pub fn next(self) -> LoadId {
        LoadId(self.0 + 1)
    }
}

#[derive(Debug)]
pub struct Load {
    pub subscriptions: BTreeSet<SubscriptionId>,
    pub stage: Stage,
    /// What was left out because it is too large, to be told with the answer.
    declined: Vec<Declined>,
    buffer: Vec<Write>,
    buffer_bytes: usize,
}

#[derive(Debug)]
pub enum Stage {
    /// Not asked for: the session is behind.
    Idle,
    /// All rows are read.
    Snapshots(Reading),
    /// Only what changed since the client was told is read.
    Changes { request: RequestId },
    /// It has been.
    Changed(Vec<Write>),
}

/// How large the answer is so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnswerSize {
    rows: usize,
    bytes: usize,
}

/// What an advance tells, apart from outcomes.
#[derive(Debug, Default)]
pub struct News {
    pub changes: Vec<Write>,
    pub snapshots: Vec<Snapshot>,
    pub declined: Vec<Declined>,
}

type Rows = BTreeMap<(TableId, RowKey), Row>;

impl AnswerSize {
    pub fn of(rows: &[RowAt]) -> AnswerSize {
        let bytes = rows.iter().map(|row| size::row(&row.key, &row.row)).sum();
        AnswerSize { rows: rows.len(), bytes }
    }

    pub fn plus(self, other: AnswerSize) -> AnswerSize {
        AnswerSize { rows: self.rows + other.rows, bytes: self.bytes + other.bytes }
    }

    pub fn is_too_large(&self) -> bool {
        self.rows > limits::ANSWER_ROWS_MAX || self.bytes > limits::ANSWER_BYTES_MAX
    }
}

impl Load {
    pub fn new(subscriptions: BTreeSet<SubscriptionId>) -> Load {
        Load { subscriptions, stage: Stage::Idle, declined: Vec::new(), buffer: Vec::new(), buffer_bytes: 0 }
    }

    /// Begins anew: whatever was read or buffered is dropped.
    pub fn restart(&mut self, stage: Stage) {
        self.stage = stage;
        self.buffer = Vec::new();
        self.buffer_bytes = 0;
    }

    /// Adds changes of its interests.
    pub fn push(&mut self, changes: Vec<Write>) {
        self.buffer_bytes += changes.iter().map(size::write).sum::<usize>();
        self.buffer.extend(changes);
    }

    pub fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// What has been read so far.
    pub fn answer_size(&self) -> AnswerSize {
        match &self.stage {
            Stage::Idle | Stage::Changes { .. } | Stage::Changed(_) => AnswerSize::default(),
            Stage::Snapshots(reading) => reading.size(),
        }
    }

    /// Its rows, while they are read.
    pub fn reading(&mut self) -> Option<&mut Reading> {
        match &mut self.stage {
            Stage::Idle | Stage::Changes { .. } | Stage::Changed(_) => None,
            Stage::Snapshots(reading) => Some(reading),
        }
    }

    /// Takes the commits since the client was told. Returns false if their changes are past `bytes_max`: snapshots are better then.
    pub fn take_commits(
        &mut self,
        commits: &[Commit],
        subscriptions: &BTreeMap<SubscriptionId, Subscription>,
        bytes_max: usize,
    ) -> bool {
        let index = self.index(subscriptions);
        let all = commits.iter().flat_map(|commit| commit.writes.iter());
        let changes = all.filter(|write| index.has_match(&write.cell)).cloned().collect();
        let changes = coalesce(changes);
        let fits = changes.iter().map(size::write).sum::<usize>() <= bytes_max;
        self.stage = Stage::Changed(changes);
        fits
    }

    pub fn waits_for_changes(&self, request: RequestId) -> bool {
        match &self.stage {
            Stage::Idle | Stage::Changed(_) | Stage::Snapshots(_) => false,
            Stage::Changes { request: own } => *own == request,
        }
    }

    pub fn is_answered(&self) -> bool {
        match &self.stage {
            Stage::Idle | Stage::Changes { .. } => false,
            Stage::Snapshots(reading) => reading.is_answered(),
            Stage::Changed(_) => true,
        }
    }

    /// Leaves an interest out. Its rows need not be waited for.
    pub fn leave_out(&mut self, subscription: SubscriptionId) {
        self.subscriptions.remove(&subscription);
        if let Some(reading) = self.reading() {
            reading.leave_out(subscription);
        }
    }

    /// Leaves an interest out, and has that told.
    pub fn decline(&mut self, subscription: SubscriptionId, why: Declination) {
        self.leave_out(subscription);
        self.declined.push(Declined { subscription, why });
    }

    /// Whether nothing is to be read for it, nor told.
    pub fn is_empty(&self) -> bool {
        self.subscriptions.is_empty() && self.declined.is_empty()
    }

    /// What makes the client's state that of the feed's position.
    pub fn answer(self, subscriptions: &BTreeMap<SubscriptionId, Subscription>) -> News {
        let index = self.index(subscriptions);
        match self.stage {
            Stage::Idle | Stage::Changes { .. } => unreachable!("only answered loads are asked for their answer"),
            Stage::Changed(changes) => {
                let all = changes.into_iter().chain(self.buffer);
                // Interests may have been left out since the changes were taken.
                let wanted = all.filter(|write| index.has_match(&write.cell));
                News { changes: coalesce(wanted.collect()), snapshots: Vec::new(), declined: self.declined }
            }
            Stage::Snapshots(reading) => News {
                changes: Vec::new(),
                snapshots: fold(reading.into_rows(), &index, &self.buffer),
                declined: self.declined,
            },
        }
    }

    /// Which of its subscriptions a change concerns.
    fn index(&self, subscriptions: &BTreeMap<SubscriptionId, Subscription>) -> InterestIndex {
        let mut index = InterestIndex::default();
        for name in &self.subscriptions {
            let own = subscriptions.get(name).expect("a load is made of subscriptions");
            index.insert(&own.interest, Target { session: SessionId(0), subscription: *name });
        }
        index
    }
}

/// The rows after the changes that concern them.
fn fold(read: BTreeMap<SubscriptionId, Vec<RowAt>>, index: &InterestIndex, changes: &[Write]) -> Vec<Snapshot> {
    let by_place = |rows: Vec<RowAt>| rows.into_iter().map(|row| ((row.table, row.key), row.row)).collect();
    let mut all: BTreeMap<SubscriptionId, Rows> = read.into_iter().map(|(name, rows)| (name, by_place(rows))).collect();
    for write in changes {
        index.matches(&write.cell, |target| apply(all.entry(target.subscription).or_default(), write));
    }
    let row = |((table, key), row)| RowSnapshot { table, key, row };
    all.into_iter()
        .map(|(subscription, rows)| Snapshot { subscription, rows: rows.into_iter().map(row).collect(), reaches: None })
        .collect()
}

fn apply(rows: &mut Rows, write: &Write) {
    let place = (write.cell.table, write.cell.row.clone());
    let row = rows.entry(place.clone()).or_default();
    // An operation of another type changes nothing, here as in the store.
    let _ = row.apply(write.cell.column, &write.operation);
    if row.is_empty() {
        rows.remove(&place);
    }
}
