//! The answer to a `Subscribe`, or to a session that fell behind, while it is being read from the store.
//!
//! Invariant: what was read is as of the feed position at which it was asked for, and the buffer holds every change of its interests
//! since then. So both together are as of the feed's position, whenever the last reply comes.

use std::collections::{BTreeMap, BTreeSet};

use iolite_store::{Commit, RequestId, RowAt};
use iolite_values::{Interest, KeyRange, Row, RowKey, TableId, Timestamp, Write};
use iolite_wire::message::{Declination, Declined, RowSnapshot, Snapshot, SubscriptionId};

use crate::SessionId;
use crate::following::answer::Answer;
use crate::following::index::{InterestIndex, Target};
use crate::following::queries::Place;
use crate::following::reading::Reading;
use crate::limits::{self, Limits};
use crate::sessions::session::Subscription;
use crate::size;
use crate::telling::coalesce::coalesce;

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
    /// The interests that were left out because they are too large, to be told with the answer.
    declined: Vec<Declined>,
    buffer: Vec<Write>,
    buffer_bytes: usize,
    /// How often it was read again because the buffer was full.
    refills: u32,
}

#[derive(Debug)]
pub enum Stage {
    /// Not asked for: the session is behind.
    Idle,
    /// The store keeps nothing as old as the feed's position: asked for when that is here.
    Early { until: Timestamp },
    /// Some interests by what changed since the client was told, the others whole.
    Reading { missed: Missed, rows: Box<Reading> },
}

/// What changed of some interests since the client was told.
#[derive(Debug, Default)]
pub struct Missed {
    pub of: BTreeSet<SubscriptionId>,
    /// Those of the others that the client holds, and of which no row has changed since: they are read to be followed, and not told again.
    pub unchanged: BTreeSet<SubscriptionId>,
    pub request: Option<RequestId>,
    changes: Vec<Write>,
}

/// What a segment brings to a load.
#[derive(Debug, Default)]
pub struct LoadNews {
    pub buffer: Vec<Write>,
    /// Of rows that were read as answers.
    pub of_answers: Vec<(SubscriptionId, Write)>,
    pub entered: Vec<(SubscriptionId, RowSnapshot)>,
    /// Rows that are lacked no longer.
    pub found: Vec<(SubscriptionId, RowKey)>,
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
    pub entered: Vec<RowSnapshot>,
    pub gone: BTreeSet<Place>,
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

impl Missed {
    pub fn new(
        of: BTreeSet<SubscriptionId>,
        unchanged: BTreeSet<SubscriptionId>,
        request: Option<RequestId>,
    ) -> Missed {
        Missed { of, unchanged, request, changes: Vec::new() }
    }
}

impl Load {
    pub fn new(subscriptions: BTreeSet<SubscriptionId>) -> Load {
        Load {
            subscriptions,
            stage: Stage::Idle,
            declined: Vec::new(),
            buffer: Vec::new(),
            buffer_bytes: 0,
            refills: 0,
        }
    }

    /// When it is to be asked for, if that is not yet.
    pub fn is_early_until(&self) -> Option<Timestamp> {
        match &self.stage {
            Stage::Early { until } => Some(*until),
            Stage::Idle | Stage::Reading { .. } => None,
        }
    }

    /// What is read for it.
    pub fn requests(&self) -> Vec<RequestId> {
        match &self.stage {
            Stage::Idle | Stage::Early { .. } => Vec::new(),
            Stage::Reading { missed, rows } => missed.request.into_iter().chain(rows.requests()).collect(),
        }
    }

    /// Begins anew: whatever was read or buffered is dropped. Returns what was being read, and is not waited for any more.
    #[must_use]
    pub fn restart(&mut self, stage: Stage) -> Vec<RequestId> {
        let given_up = self.requests();
        let (subscriptions, declined) = (std::mem::take(&mut self.subscriptions), std::mem::take(&mut self.declined));
        *self = Load { stage, declined, refills: self.refills, ..Load::new(subscriptions) };
        given_up
    }

    /// Takes what a segment brings, if it is to be put together with what is read.
    pub fn push(&mut self, news: LoadNews) {
        if self.reading().is_none() {
            return;
        }
        self.buffer_bytes += news.buffer.iter().map(size::write).sum::<usize>();
        self.buffer.extend(news.buffer);
        for (name, write) in &news.of_answers {
            if let Some(answer) = self.answer_mut(*name) {
                answer.change(write);
            }
        }
        for (name, row) in news.entered {
            if let Some(answer) = self.answer_mut(name) {
                answer.enter(row);
            }
        }
        for (name, key) in &news.found {
            if let Some(answer) = self.answer_mut(*name) {
                answer.found(key);
            }
        }
    }

    pub fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// How much a session may keep while this is read.
    pub fn room(&self, limits: &Limits) -> usize {
        let doubled = limits.load_buffer_bytes.saturating_mul(2usize.saturating_pow(self.refills));
        doubled.min(limits.load_buffer_bytes_max)
    }

    pub fn note_refill(&mut self) {
        self.refills += 1;
    }

    /// Keeps what still matters.
    pub fn coalesce_buffer(&mut self) {
        self.buffer = coalesce(std::mem::take(&mut self.buffer));
        self.buffer_bytes = self.buffer.iter().map(size::write).sum();
    }

    pub fn drop_buffer(&mut self) {
        (self.buffer, self.buffer_bytes) = (Vec::new(), 0);
    }

    pub fn buffer(&self) -> &[Write] {
        &self.buffer
    }

    /// What has been read so far.
    pub fn answer_size(&self) -> AnswerSize {
        match &self.stage {
            Stage::Idle | Stage::Early { .. } => AnswerSize::default(),
            Stage::Reading { missed: _, rows } => rows.size(),
        }
    }

    /// Its rows, while they are read.
    pub fn reading(&mut self) -> Option<&mut Reading> {
        match &mut self.stage {
            Stage::Idle | Stage::Early { .. } => None,
            Stage::Reading { missed: _, rows } => Some(rows),
        }
    }

    /// Whether the answers of a query were read.
    pub fn has_answer_to(&self, name: SubscriptionId) -> bool {
        match &self.stage {
            Stage::Idle | Stage::Early { .. } => false,
            Stage::Reading { missed: _, rows } => rows.answers.contains_key(&name),
        }
    }

    fn answer_mut(&mut self, name: SubscriptionId) -> Option<&mut Answer> {
        self.reading()?.answers.get_mut(&name)
    }

    /// Takes the commits since the client was told. Returns false if their changes are past `bytes_max`: snapshots are better then.
    pub fn take_commits(
        &mut self,
        commits: &[Commit],
        subscriptions: &BTreeMap<SubscriptionId, Subscription>,
        bytes_max: usize,
    ) -> bool {
        let Stage::Reading { missed, rows: _ } = &mut self.stage else { return true };
        let index = index(&missed.of, subscriptions);
        let all = commits.iter().flat_map(|commit| commit.writes.iter());
        let is_changed = |table: TableId, keys: &KeyRange| {
            all.clone().any(|write| write.cell.table == table && keys.contains(&write.cell.row))
        };
        missed.unchanged.retain(|name| match subscriptions.get(name).map(|own| &own.interest) {
            Some(Interest::Query(query)) => !is_changed(query.table, &query.keys),
            Some(Interest::Range { table, range }) => !is_changed(*table, range),
            Some(Interest::Cell(cell)) => !is_changed(cell.table, &KeyRange::one(&cell.row)),
            None => false,
        });
        let changes = all.filter(|write| index.has_match(&write.cell)).cloned().collect();
        missed.changes = coalesce(changes);
        missed.request = None;
        missed.changes.iter().map(size::write).sum::<usize>() <= bytes_max
    }

    pub fn waits_for_changes(&self, request: RequestId) -> bool {
        match &self.stage {
            Stage::Idle | Stage::Early { .. } => false,
            Stage::Reading { missed, rows: _ } => missed.request == Some(request),
        }
    }

    pub fn is_answered(&self) -> bool {
        match &self.stage {
            Stage::Idle | Stage::Early { .. } => false,
            Stage::Reading { missed, rows } => missed.request.is_none() && rows.is_answered(),
        }
    }

    /// Leaves an interest out. Returns what was being read for it, which is not waited for any more.
    #[must_use]
    pub fn leave_out(&mut self, subscription: SubscriptionId) -> Vec<RequestId> {
        self.subscriptions.remove(&subscription);
        match &mut self.stage {
            Stage::Idle | Stage::Early { .. } => Vec::new(),
            Stage::Reading { missed, rows } => {
                missed.of.remove(&subscription);
                missed.unchanged.remove(&subscription);
                rows.leave_out(subscription)
            }
        }
    }

    /// Leaves an interest out likewise, and has that told.
    #[must_use]
    pub fn decline(&mut self, subscription: SubscriptionId, why: Declination) -> Vec<RequestId> {
        self.declined.push(Declined { subscription, why });
        self.leave_out(subscription)
    }

    /// Whether nothing is to be read for it, nor told.
    pub fn is_empty(&self) -> bool {
        self.subscriptions.is_empty() && self.declined.is_empty()
    }

    /// What makes the client's state that of the feed's position.
    pub fn answer(self, subscriptions: &BTreeMap<SubscriptionId, Subscription>) -> News {
        let Stage::Reading { missed, rows } = self.stage else {
            unreachable!("only answered loads are asked for their answer")
        };
        let by_changes = index(&missed.of, subscriptions);
        let changes = missed.changes.into_iter().chain(self.buffer.iter().cloned());
        // Interests may have been left out since the changes were taken.
        let changes = changes.filter(|write| by_changes.has_match(&write.cell));
        let whole: BTreeSet<SubscriptionId> = self.subscriptions.difference(&missed.of).copied().collect();
        let (read, answers) = rows.into_parts();
        let by_rows = index(&whole, subscriptions);
        let mut snapshots = fold(read, &by_rows, &self.buffer);
        let mut changed = BTreeSet::new();
        for write in &self.buffer {
            by_rows.matches(&write.cell, |target| {
                changed.insert(target.subscription);
            });
        }
        snapshots.retain(|own| changed.contains(&own.subscription) || !missed.unchanged.contains(&own.subscription));
        let news = answers.into_iter().filter(|(name, own)| own.is_changed() || !missed.unchanged.contains(name));
        snapshots.extend(news.map(|(name, answer)| shaped(answer.snapshot(name), subscriptions.get(&name))));
        snapshots.sort_unstable_by_key(|own| own.subscription);
        News { changes: coalesce(changes.collect()), snapshots, declined: self.declined, ..News::default() }
    }
}

/// The rows as they were asked for: of a cell no more than that.
fn shaped(mut snapshot: Snapshot, own: Option<&Subscription>) -> Snapshot {
    if let Some(Interest::Cell(cell)) = own.map(Subscription::asked) {
        snapshot.rows.iter_mut().for_each(|own| own.row = own.row.with_only(cell.column));
    }
    snapshot
}

/// Which of these subscriptions a change concerns. (Of queries it takes their answers to tell.)
fn index(names: &BTreeSet<SubscriptionId>, subscriptions: &BTreeMap<SubscriptionId, Subscription>) -> InterestIndex {
    let mut index = InterestIndex::default();
    for name in names {
        let own = subscriptions.get(name).expect("a load is made of subscriptions");
        match &own.interest {
            Interest::Cell(_) | Interest::Range { .. } => {
                index.insert(&own.interest, Target { session: SessionId(0), subscription: *name });
            }
            Interest::Query(_) => {}
        }
    }
    index
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
