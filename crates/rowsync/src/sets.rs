//! Change sets: what is sent, and what came of it.
//!
//! Invariants: one set is open at a time. A chain that a set carries is neither judged nor changed before the set has an outcome that no late copy can change.
//! A set has whole groups, and reads each row that it writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_values::{
    Blob, Cell, Chunks, ColumnId, Counter, Element, KeyRange, Read, Row, RowKey, Timestamp, Value, Write, set_of,
};

use crate::chain::{Chain, Judged, Kept};
use crate::change::{Change, scalar};
use crate::group::Group;
use crate::limits::{SET_BYTES_MAX, SET_WRITES_MAX};
use crate::rowsync::{Broken, Confirmed, Ending, How, RowSync, Scheme};
use crate::stored::Entry;

/// A transaction that is due: the folded changes of some groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSet {
    pub writes: Vec<Write>,
    /// All of each row that is written, in an eventual table its life: as of the position that the set was made at.
    pub reads: Vec<Read>,
    pub calls: BTreeSet<Counter>,
    /// The rows that its chains rest on, as the server has them.
    onto: BTreeMap<RowKey, Row>,
    groups: usize,
}

/// A blob that has to be sealed before its row can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsealed {
    pub key: RowKey,
    pub column: ColumnId,
    pub blob: Arc<Blob>,
    /// The blob that the server has in that cell. The new one may share chunks with it.
    pub from: Option<Arc<Blob>>,
}

/// The set that was sent and has no outcome yet, or one that the confirmed rows do not contain yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) counter: Counter,
    pub(crate) calls: BTreeSet<Counter>,
    /// The set has one group.
    pub(crate) alone: bool,
    pub(crate) stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Sent,
    /// An abort under the same counter makes sure that no copy takes effect.
    Closing(Why),
    Committed(Timestamp),
}

/// The reason for which a set is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Somebody else has written a row. The confirmed rows tell at this timestamp.
    Conflict(Timestamp),
    Refused(String),
    /// The app ended before there was an outcome.
    Restarted,
}

/// Some groups, ready to be sent.
#[derive(Default)]
struct Prepared {
    writes: Vec<Write>,
    onto: BTreeMap<RowKey, Row>,
}

impl RowSync {
    /// The next change set: groups without conflict whose bases are the confirmed rows at `position`. None while another set is open.
    ///
    /// `sealed` gives a blob with its lease filled in. A group with a blob of which it gives none is left out.
    pub fn due<'a>(
        &self,
        position: Timestamp,
        confirmed: impl Fn(&RowKey) -> Confirmed<'a>,
        sealed: impl Fn(&RowKey, ColumnId, &Arc<Blob>) -> Option<Arc<Blob>>,
    ) -> Option<ChangeSet> {
        if self.set.is_some() {
            return None;
        }
        let (mut all, mut calls, mut groups, mut bytes) = (Prepared::default(), BTreeSet::new(), 0, 0);
        for group in self.groups().into_iter().filter(|group| self.is_due(group, position, &confirmed)) {
            let Some(own) = self.prepare(&group, &confirmed, &sealed) else { continue };
            let together = (bytes + own.size_bytes(), all.writes.len() + own.writes.len());
            let has_room = groups == 0 || (together.0 <= SET_BYTES_MAX && together.1 <= SET_WRITES_MAX);
            if !has_room || own.writes.is_empty() {
                continue;
            }
            bytes = together.0;
            let is_alone = self.goes_alone(&group);
            calls.extend(group.calls);
            all.writes.extend(own.writes);
            all.onto.extend(own.onto);
            groups += 1;
            if is_alone {
                break;
            }
        }
        let written: BTreeSet<&RowKey> = set_of(all.writes.iter().map(|write| &write.cell.row));
        let reads: Vec<Read> = written.into_iter().map(|key| self.read_of(key)).collect();
        (groups > 0).then_some(ChangeSet { writes: all.writes, reads, calls, onto: all.onto, groups })
    }

    /// The read that a set has of a row that it writes. In an eventual table only its life matters.
    fn read_of(&self, key: &RowKey) -> Read {
        match self.scheme {
            Scheme::Causal => Read::Range { table: self.table, range: KeyRange::one(key) },
            Scheme::Eventual => Read::Cell { cell: Cell::row(self.table, key.clone()), element: Element::Whole },
        }
    }

    /// The blobs that keep groups out of the next set.
    pub fn unsealed<'a>(
        &self,
        position: Timestamp,
        confirmed: impl Fn(&RowKey) -> Confirmed<'a>,
        sealed: impl Fn(&RowKey, ColumnId, &Arc<Blob>) -> Option<Arc<Blob>>,
    ) -> Vec<Unsealed> {
        let (mut unsealed, mut bytes) = (Vec::new(), 0);
        for group in self.groups().into_iter().filter(|group| self.is_due(group, position, &confirmed)) {
            if bytes > SET_BYTES_MAX {
                break;
            }
            for key in group.keys {
                let Some(change) = self.waiting(&key).and_then(Chain::fold) else { continue };
                bytes += change.size_bytes();
                let trees =
                    change.cells().into_iter().flatten().filter_map(|(column, value)| Some((column, tree(value)?)));
                for (column, blob) in trees.filter(|(column, blob)| sealed(&key, **column, blob).is_none()) {
                    let from = match confirmed(&key) {
                        Confirmed::There(row) => row.cell(*column).and_then(scalar).and_then(tree).cloned(),
                        Confirmed::Absent | Confirmed::Unknown => None,
                    };
                    unsealed.push(Unsealed { key: key.clone(), column: *column, blob: blob.clone(), from });
                }
            }
        }
        unsealed
    }

    /// A set leaves under a counter of its own: the client submits it when the changes of storage are on disk.
    ///
    /// # Panics
    /// If another set is open, or this one is not from the last [`RowSync::due`].
    pub fn send(&mut self, counter: Counter, set: ChangeSet) {
        assert!(self.set.is_none(), "one set is open at a time");
        let ChangeSet { calls, onto, groups, .. } = set;
        for (key, row) in onto {
            let kept = self.rows.get_mut(&key).expect("it was due");
            let chain = kept.waiting.take().expect("it was due");
            kept.sent = Some(Chain { onto: row, given: None, ..chain });
            self.dirty.insert(Entry::Row(key));
        }
        self.set = Some(Set { counter, calls, alone: groups == 1, stage: Stage::Sent });
        self.dirty.insert(Entry::Set);
        self.bytes = self.count_bytes();
    }

    /// The counter of the open set, if the client has to submit an abort under it before anything else is sent.
    pub fn closing(&self) -> Option<Counter> {
        self.set.as_ref().filter(|set| matches!(set.stage, Stage::Closing(_))).map(|set| set.counter)
    }

    /// The counter of the open set. The client acknowledges no counter from it on.
    pub fn open_set(&self) -> Option<Counter> {
        self.set.as_ref().map(|set| set.counter)
    }

    /// The open set is committed. Its calls end when [`RowSync::advance`] has come to that timestamp.
    pub fn committed(&mut self, at: Timestamp) {
        self.stage(Stage::Committed(at));
    }

    /// The store told of a conflict, which shows in the confirmed rows at `told`. The set has to be closed.
    pub fn conflict(&mut self, told: Timestamp) {
        self.stage(Stage::Closing(Why::Conflict(told)));
    }

    /// The store or the gateway refused the set, for a reason that people read. The set has to be closed.
    pub fn refused(&mut self, reason: String) {
        self.stage(Stage::Closing(Why::Refused(reason)));
    }

    fn stage(&mut self, stage: Stage) {
        if let Some(set) = &mut self.set {
            set.stage = stage;
            self.dirty.insert(Entry::Set);
        }
    }

    /// The open set is aborted for good: no copy of it takes effect any more. Its chains go back, or end if they were sent alone and refused.
    pub fn closed(&mut self) -> Vec<Ending> {
        let Some(set) = self.set.take() else { return Vec::new() };
        self.dirty.insert(Entry::Set);
        let mut endings = Vec::new();
        if let Stage::Closing(Why::Refused(reason)) = &set.stage {
            let ends = set.alone || self.broken == Broken::OneRefusedAll;
            for call in &set.calls {
                if ends {
                    endings.extend(self.end(*call, How::Refused(reason.clone())));
                } else if let Some(own) = self.calls.get_mut(call) {
                    own.alone = true;
                    self.dirty.insert(Entry::Call(*call));
                }
            }
        }
        let judge_from = match set.stage {
            Stage::Closing(Why::Conflict(told)) => told,
            Stage::Sent | Stage::Committed(_) | Stage::Closing(Why::Refused(_) | Why::Restarted) => Timestamp::ZERO,
        };
        self.go_back(judge_from);
        self.bytes = self.count_bytes();
        endings
    }

    /// The server has another history. It may be a restored one that has the open set, so the set is closed: the answer tells.
    pub fn history_lost(&mut self) {
        self.stage(Stage::Closing(Why::Restarted));
        for (key, kept) in &mut self.rows {
            if let Some(waiting) = &mut kept.waiting {
                waiting.judge_from = Timestamp::ZERO;
                self.dirty.insert(Entry::Row(key.clone()));
            }
        }
        self.bytes = self.count_bytes();
    }

    /// Whether the confirmed rows are still those that the open set rests on. A set that was not submitted yet may be submitted as of their timestamp then.
    pub fn still_rests<'a>(&self, confirmed: impl Fn(&RowKey) -> Confirmed<'a>) -> bool {
        let sent = self.rows.iter().filter_map(|(key, kept)| Some((key, kept.sent.as_ref()?)));
        let holds = |(key, chain): (&RowKey, &Chain)| match (self.scheme, confirmed(key)) {
            (Scheme::Causal, _) => chain.judge(Timestamp::MAX, confirmed(key)) == Judged::Same,
            (Scheme::Eventual, Confirmed::Unknown) => true,
            (Scheme::Eventual, Confirmed::Absent) => !chain.onto.exists(),
            (Scheme::Eventual, Confirmed::There(_)) => chain.onto.exists(),
        };
        sent.into_iter().all(holds)
    }

    fn go_back(&mut self, judge_from: Timestamp) {
        for (key, kept) in &mut self.rows {
            let Some(sent) = kept.sent.take() else { continue };
            let chain = sent.joined(kept.waiting.take());
            let judge_from = chain.judge_from.max(judge_from);
            kept.waiting = Some(Chain { judge_from, came_back: true, ..chain });
            self.dirty.insert(Entry::Row(key.clone()));
        }
    }

    /// The confirmed rows are as of `position` now. Returns the calls that end by that.
    pub fn advance<'a>(&mut self, position: Timestamp, confirmed: impl Fn(&RowKey) -> Confirmed<'a>) -> Vec<Ending> {
        let mut endings = self.contain(position);
        if self.broken == Broken::BaseMovesOn {
            self.move_bases(&confirmed);
        }
        endings.extend(self.end_gone(position, &confirmed));
        endings.extend(self.end_without_effect(position, &confirmed));
        self.bytes = self.count_bytes();
        endings
    }

    /// Ends the calls of a committed set that the confirmed rows contain.
    fn contain(&mut self, position: Timestamp) -> Vec<Ending> {
        let contained = self.set.take_if(|set| matches!(set.stage, Stage::Committed(at) if at <= position));
        let Some(Set { stage: Stage::Committed(at), calls, .. }) = contained else { return Vec::new() };
        self.dirty.insert(Entry::Set);
        let folded = self.rows.values().flat_map(|kept| &kept.sent).flat_map(Chain::calls);
        // Of a set that is as it was sent, these are the same.
        let calls: BTreeSet<Counter> = set_of(folded.chain(calls));
        calls.into_iter().filter_map(|call| self.end(call, How::Confirmed(Some(at)))).collect()
    }

    /// An update of a row that is gone ends refused in an eventual table, and so does all else that its call wrote.
    fn end_gone<'a>(&mut self, position: Timestamp, confirmed: &impl Fn(&RowKey) -> Confirmed<'a>) -> Vec<Ending> {
        let mut endings = Vec::new();
        if self.scheme != Scheme::Eventual {
            return endings;
        }
        let gone = |(key, kept): (&RowKey, &Kept)| {
            let chain = kept.waiting.as_ref().filter(|chain| kept.sent.is_none() && position >= chain.judge_from)?;
            updates_none(chain, confirmed(key))
        };
        while let Some(call) = self.rows.iter().find_map(gone) {
            let reason = "a row that it updates was deleted meanwhile".to_owned();
            endings.extend(self.end(call, How::Refused(reason)));
        }
        endings
    }

    /// Ends groups whose effects took each other back: there is nothing to send.
    fn end_without_effect<'a>(
        &mut self,
        position: Timestamp,
        confirmed: &impl Fn(&RowKey) -> Confirmed<'a>,
    ) -> Vec<Ending> {
        let as_it_is = |_: &RowKey, _, blob: &Arc<Blob>| Some(blob.clone());
        let is_without = |group: &Group| {
            self.is_due(group, position, confirmed)
                && self.prepare(group, confirmed, &as_it_is).is_some_and(|own| own.writes.is_empty())
        };
        let calls: Vec<Counter> =
            self.groups().iter().filter(|group| is_without(group)).flat_map(|group| group.calls.clone()).collect();
        calls.into_iter().filter_map(|call| self.end(call, How::Confirmed(None))).collect()
    }

    /// Whether all of a group may be sent: storage has it, no set carries a row of it, and each base is the confirmed row.
    fn is_due<'a>(&self, group: &Group, position: Timestamp, confirmed: &impl Fn(&RowKey) -> Confirmed<'a>) -> bool {
        let is_ready = |key: &RowKey| {
            let Some(Kept { sent: None, waiting: Some(chain) }) = self.rows.get(key) else { return false };
            match (self.scheme, chain.judge(position, confirmed(key))) {
                (Scheme::Causal, judged) => judged == Judged::Same,
                (Scheme::Eventual, Judged::Same | Judged::Other) => updates_none(chain, confirmed(key)).is_none(),
                (Scheme::Eventual, Judged::Open) => false,
            }
        };
        let is_durable = |call: &Counter| self.calls.get(call).is_some_and(|call| call.durable);
        group.calls.iter().all(is_durable) && group.keys.iter().all(is_ready)
    }

    /// The writes of a group. None if a blob of it is not sealed.
    fn prepare<'a>(
        &self,
        group: &Group,
        confirmed: &impl Fn(&RowKey) -> Confirmed<'a>,
        sealed: &impl Fn(&RowKey, ColumnId, &Arc<Blob>) -> Option<Arc<Blob>>,
    ) -> Option<Prepared> {
        let mut prepared = Prepared::default();
        for key in &group.keys {
            let row = match confirmed(key) {
                Confirmed::There(row) => row.clone(),
                Confirmed::Absent | Confirmed::Unknown => Row::default(),
            };
            let with_lease = |column, blob: &Arc<Blob>| match blob.chunks() {
                Chunks::Inline(_) => Some(blob.clone()),
                Chunks::Tree(_) => sealed(key, column, blob),
            };
            let change = self.waiting(key)?.fold()?.with_blobs(with_lease)?;
            prepared.writes.extend(change.writes(self.scheme, self.table, key, &row));
            prepared.onto.insert(key.clone(), row);
        }
        Some(prepared)
    }

    /// [`Broken::BaseMovesOn`].
    fn move_bases<'a>(&mut self, confirmed: &impl Fn(&RowKey) -> Confirmed<'a>) {
        for (key, kept) in self.rows.iter_mut().filter(|(_, kept)| kept.sent.is_none()) {
            let Some(chain) = &mut kept.waiting else { continue };
            match confirmed(key) {
                Confirmed::Unknown => {}
                Confirmed::Absent => chain.onto = Row::default(),
                Confirmed::There(row) => chain.onto = row.clone(),
            }
        }
    }
}

impl Prepared {
    fn size_bytes(&self) -> usize {
        let write = |write: &Write| write.cell.row.as_bytes().len() + 4 + write.operation.size_bytes();
        let read = |key: &RowKey| 2 * key.as_bytes().len();
        self.writes.iter().map(write).sum::<usize>() + self.onto.keys().map(read).sum::<usize>()
    }
}

/// The first call of a chain that updates the row while it is not there.
fn updates_none(chain: &Chain, confirmed: Confirmed<'_>) -> Option<Counter> {
    let mut exists = match confirmed {
        // The store tells.
        Confirmed::Unknown => return None,
        Confirmed::Absent => false,
        Confirmed::There(_) => true,
    };
    for effect in &chain.effects {
        match &effect.change {
            Change::Update(_) if !exists => return Some(effect.call),
            Change::Update(_) => {}
            Change::Insert(_) => exists = true,
            Change::Delete => exists = false,
        }
    }
    None
}

/// The blob of a value, if it is a tree of chunks.
pub(crate) fn tree(value: &Value) -> Option<&Arc<Blob>> {
    match value {
        Value::Blob(blob) => matches!(blob.chunks(), Chunks::Tree(_)).then_some(blob),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::Id(_) => None,
    }
}
