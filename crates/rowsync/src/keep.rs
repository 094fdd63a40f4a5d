//! How a call becomes a kept one.
//!
//! Invariant: a call is kept whole, with a base for each row that it wrote, or nothing of it is. A group never outgrows a frame.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Counter, Operation, Row, RowKey, Table, Value, Write};

use crate::chain::{Chain, Effect};
use crate::change::{Change, scalar};
use crate::group::Group;
use crate::limits::{GROUP_BYTES_MAX, KEPT_BYTES_MAX, KEPT_CALLS_MAX, KEPT_ROWS_MAX, SET_WRITES_MAX};
use crate::rowsync::{Broken, RowSync, Scheme, kept_bytes};
use crate::stored::Entry;
use crate::{RowVersion, row_version};

/// Why a call is not kept. Nothing of it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeepError {
    #[error("call {} is kept already", .0.0)]
    Twice(Counter),
    #[error("a table that syncs holds scalars and blobs, and a call writes one table: {0:?} is none of its operations")]
    Operation(Box<Operation>),
    #[error("a row of a table that syncs holds scalars and blobs, up to {max} cells", max = Table::COLUMNS_MAX)]
    Row,
    #[error("{KEPT_CALLS_MAX} calls of this table wait already: connect, so that they are sent, or resolve conflicts")]
    TooManyCalls,
    #[error("calls of this table have written {KEPT_ROWS_MAX} rows already: connect, so that they are sent")]
    TooManyRows,
    #[error("calls of this table that wait take {KEPT_BYTES_MAX} bytes already: connect, so that they are sent")]
    TooManyBytes,
    #[error(
        "this call and the ones that share rows with it have more than {GROUP_BYTES_MAX} bytes or {SET_WRITES_MAX} writes: write fewer rows in one call"
    )]
    GroupTooLarge,
}

impl RowSync {
    /// Keeps a call that ran: its writes, and the rows that the run saw. `bases` has the version of the row that the user saw, where the app told it.
    ///
    /// # Errors
    /// [`KeepError`], and nothing is kept.
    pub fn keep(
        &mut self,
        call: Counter,
        writes: &[Write],
        saw: impl Fn(&RowKey) -> Row,
        bases: &BTreeMap<RowKey, RowVersion>,
    ) -> Result<(), KeepError> {
        if self.calls.contains_key(&call) {
            return Err(KeepError::Twice(call));
        }
        let changes = Change::of_writes(self.table, writes);
        let changes = changes.map_err(|write| KeepError::Operation(Box::new(write.operation.clone())))?;
        let mut next = RowSync { dirty: BTreeSet::new(), ..self.clone_for(changes.keys()) };
        for (key, change) in changes {
            let row = saw(&key);
            check_row(&row)?;
            next.add_effect(&key, call, change, row, bases.get(&key).copied());
        }
        let bytes = self.check_room(&next, call)?;
        self.adopt(RowSync { bytes, ..next });
        Ok(())
    }

    /// The part of it that effects on these rows can change. (A call is tried on it first, so that one that is refused leaves nothing.)
    fn clone_for<'a>(&self, keys: impl Iterator<Item = &'a RowKey>) -> RowSync {
        let rows = keys.filter_map(|key| Some((key.clone(), self.rows.get(key)?.clone())));
        RowSync {
            rows: rows.collect(),
            next_place: self.next_place,
            broken: self.broken,
            ..RowSync::new(self.table, self.scheme)
        }
    }

    /// Returns the bytes of all that is kept then.
    fn check_room(&self, next: &RowSync, call: Counter) -> Result<usize, KeepError> {
        let new_rows = next.rows.keys().filter(|key| !self.rows.contains_key(*key)).count();
        if self.calls.len() + next.calls.len() > KEPT_CALLS_MAX {
            return Err(KeepError::TooManyCalls);
        }
        if self.rows.len() + new_rows > KEPT_ROWS_MAX {
            return Err(KeepError::TooManyRows);
        }
        let of = |rows: &RowSync, key| rows.rows.get(key).map_or(0, |kept| kept_bytes(key, kept));
        let grown: usize = next.rows.keys().map(|key| of(next, key)).sum();
        let before: usize = next.rows.keys().map(|key| of(self, key)).sum();
        let kept = self.bytes + grown - before;
        if kept > KEPT_BYTES_MAX {
            return Err(KeepError::TooManyBytes);
        }
        let (bytes, writes) = self.group_size(next, call);
        let fits = bytes <= GROUP_BYTES_MAX && writes <= SET_WRITES_MAX;
        if fits { Ok(kept) } else { Err(KeepError::GroupTooLarge) }
    }

    /// Bytes and writes of the group that a call would be of.
    fn group_size(&self, next: &RowSync, call: Counter) -> (usize, usize) {
        let joined = next.rows.values().filter_map(|kept| kept.waiting.as_ref()).flat_map(Chain::calls);
        let mut group = Group { keys: next.rows.keys().cloned().collect(), ..Group::default() };
        for other in joined.filter(|other| *other != call) {
            if !group.calls.contains(&other) {
                let own = self.group_of(other);
                group.keys.extend(own.keys);
                group.calls.extend(own.calls);
            }
        }
        size_of(&group, |key| next.waiting(key).or_else(|| self.waiting(key)))
    }

    /// Bytes and writes of a group that waits.
    pub(crate) fn size_of_group(&self, group: &Group) -> (usize, usize) {
        size_of(group, |key| self.waiting(key))
    }

    fn adopt(&mut self, next: RowSync) {
        self.calls.extend(next.calls);
        self.rows.extend(next.rows);
        self.dirty.extend(next.dirty);
        self.next_place = next.next_place;
        self.bytes = next.bytes;
    }

    pub(crate) fn add_effect(
        &mut self,
        key: &RowKey,
        call: Counter,
        change: Change,
        saw: Row,
        given: Option<RowVersion>,
    ) {
        let effect = Effect { place: self.next_place, call, change };
        self.next_place += 1;
        let (scheme, broken) = (self.scheme, self.broken);
        let kept = self.rows.entry(key.clone()).or_default();
        let given = given.filter(|version| {
            scheme == Scheme::Causal
                && *version != row_version(&saw)
                && !kept.chains().any(|chain| chain.has_shown(scheme, *version))
        });
        let onto = match &kept.sent {
            Some(sent) => sent.shown(scheme),
            None => base_of(scheme, saw),
        };
        let chain = match &mut kept.sent {
            Some(sent) if broken == Broken::FoldWhatWasSent => sent,
            Some(_) | None => kept.waiting.get_or_insert_with(|| Chain::on(onto)),
        };
        chain.given = given.or(chain.given);
        chain.effects.push(effect);
        self.calls.entry(call).or_default().keys.insert(key.clone());
        self.dirty.extend([Entry::Row(key.clone()), Entry::Call(call)]);
    }
}

fn size_of<'a>(group: &Group, chain: impl Fn(&RowKey) -> Option<&'a Chain>) -> (usize, usize) {
    let changes = group.keys.iter().filter_map(|key| Some((key, chain(key)?.fold()?)));
    changes.fold((0, 0), |(bytes, writes), (key, change)| {
        let own = 2 * key.as_bytes().len() + change.size_bytes();
        (bytes + own, writes + 1 + change.cells().map_or(0, |cells| cells.len()))
    })
}

/// The part of a row that is kept as a base.
fn base_of(scheme: Scheme, row: Row) -> Row {
    match scheme {
        Scheme::Causal => row,
        Scheme::Eventual => {
            let exists = row.exists();
            let is_blob = |state: &_| matches!(scalar(state), Some(Value::Blob(_)));
            Row::from_parts(exists, row.into_cells().filter(|(_, state)| is_blob(state)))
        }
    }
}

fn check_row(row: &Row) -> Result<(), KeepError> {
    let fits = row.cells().count() <= Table::COLUMNS_MAX && row.cells().all(|(_, state)| scalar(state).is_some());
    if fits { Ok(()) } else { Err(KeepError::Row) }
}
