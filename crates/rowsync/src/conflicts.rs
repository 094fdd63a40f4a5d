//! Conflicts: kept effects whose base is not the row that the server has, and how a person decides.
//!
//! Invariants: a conflict is derived from rows, and ends by itself if the row is again what was read. A choice counts only for the server's row that the
//! person looked at. All choices of one `resolve` take effect, or none. A decision that can never be sent is refused, so it ends no call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_values::{Blob, Chunks, ColumnId, Counter, LeaseName, Row, RowKey, Table, Timestamp, Value, map_of, set_of};

use crate::chain::{Base, Chain, Judged, Kept};
use crate::change::{Cells, Change, scalar};
use crate::limits::{GROUP_BYTES_MAX, SET_WRITES_MAX};
use crate::rowsync::{Broken, Call, Confirmed, Ending, How, RowSync, Scheme};
use crate::sets::tree;
use crate::stored::Entry;
use crate::{RowVersion, row_version};

/// A row that calls of this device and somebody else have written, unseen by each other. A row that is deleted is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub key: RowKey,
    /// The row that the calls had read.
    pub base: Base,
    /// The row as the device shows it.
    pub local: Option<Row>,
    /// The row as the server has it.
    pub server: Option<Row>,
    pub server_version: RowVersion,
    pub calls: BTreeSet<Counter>,
}

/// A person's decision about a row in conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub key: RowKey,
    /// The version of the server's row that the person looked at.
    pub server: RowVersion,
    pub keep: Keep,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    Local,
    Server,
    /// The server's row with these cells. If the row is deleted, they are all of its cells.
    Values(Cells),
}

/// Why no choice took effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("row {0:?} is in no conflict any more: list the conflicts again")]
    NoConflict(RowKey),
    #[error("row {0:?} was written again meanwhile: show the conflict again, and let the person choose")]
    Moved(RowKey),
    #[error("row {0:?} is chosen for twice: give one choice for a row")]
    Twice(RowKey),
    #[error("call {} is kept already: give `resolve` a counter of its own", .0.0)]
    CounterUsed(Counter),
    #[error("a row has up to {max} cells", max = Table::COLUMNS_MAX)]
    TooManyCells,
    #[error(
        "these decisions would be sent together, and have more than a change set holds: decide about fewer rows at once"
    )]
    TooLarge,
    #[error(
        "the blob that row {0:?} shows here was replaced or deleted on the server meanwhile, so it cannot be kept as it is: keep the server's row, or put the content again and choose it by values"
    )]
    BlobReplaced(RowKey),
}

/// The outcome of [`RowSync::resolve`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The calls of which an effect was not kept.
    pub endings: Vec<Ending>,
    /// Whether the resolution is a kept call itself now, and has to be stored and sent. Otherwise nothing of it is left to do.
    pub is_kept: bool,
}

impl RowSync {
    /// All conflicts, in the order of keys. An eventual table has none.
    pub fn conflicts<'a>(&self, position: Timestamp, confirmed: impl Fn(&RowKey) -> Confirmed<'a>) -> Vec<Conflict> {
        self.rows.keys().filter_map(|key| self.conflict_of(key, position, confirmed(key))).collect()
    }

    /// Whether a row that a call has written is in conflict.
    pub fn is_in_conflict<'a>(
        &self,
        call: Counter,
        position: Timestamp,
        confirmed: impl Fn(&RowKey) -> Confirmed<'a>,
    ) -> bool {
        self.rows_of(call).any(|key| self.conflict_of(key, position, confirmed(key)).is_some())
    }

    fn conflict_of(&self, key: &RowKey, position: Timestamp, confirmed: Confirmed<'_>) -> Option<Conflict> {
        let chain = self.judged_chain(self.rows.get(key)?)?;
        if self.scheme == Scheme::Eventual || chain.judge(position, confirmed) != Judged::Other {
            return None;
        }
        let there = |row: Row| Some(row).filter(Row::exists);
        let server = match confirmed {
            Confirmed::There(row) => row.clone(),
            Confirmed::Absent | Confirmed::Unknown => Row::default(),
        };
        Some(Conflict {
            key: key.clone(),
            base: chain.base(),
            local: there(chain.shown(self.scheme)),
            server_version: row_version(&server),
            server: there(server),
            calls: chain.calls(),
        })
    }

    /// The chain of a row that may be judged: none while a set carries the row.
    fn judged_chain<'a>(&self, kept: &'a Kept) -> Option<&'a Chain> {
        match &kept.sent {
            Some(sent) if self.broken == Broken::JudgeBeforeOutcome => Some(sent),
            Some(_) => None,
            None => kept.waiting.as_ref(),
        }
    }

    /// Decides conflicts, in one step. `by` is the resolution's own counter: what it writes is a kept call like any other.
    ///
    /// A call of which an effect is not kept ends overruled. What it wrote to other rows stays, as a part of the resolution.
    ///
    /// # Errors
    /// [`ResolveError`], and nothing changes.
    pub fn resolve<'a>(
        &mut self,
        by: Counter,
        choices: &[Choice],
        position: Timestamp,
        confirmed: impl Fn(&RowKey) -> Confirmed<'a>,
    ) -> Result<Resolved, ResolveError> {
        if self.calls.contains_key(&by) {
            return Err(ResolveError::CounterUsed(by));
        }
        let mut conflicts = BTreeMap::new();
        for choice in choices {
            let conflict = self.choosable(choice, position, confirmed(&choice.key))?;
            if conflicts.insert(choice.key.clone(), (conflict, &choice.keep)).is_some() {
                return Err(ResolveError::Twice(choice.key.clone()));
            }
        }
        let overruled: BTreeSet<Counter> = set_of(
            conflicts
                .values()
                .filter(|(_, keep)| !matches!(keep, Keep::Local))
                .flat_map(|(conflict, _)| conflict.calls.iter().copied()),
        );
        let chosen: Vec<RowKey> = conflicts.keys().cloned().collect();
        let mut next = self.clone();
        for (conflict, keep) in conflicts.into_values() {
            next.decide(by, conflict, keep);
        }
        let endings: Vec<Ending> = overruled.into_iter().filter_map(|call| next.overrule(call, by)).collect();
        next.bytes = next.count_bytes();
        next.check_sendable(by, &chosen)?;
        *self = next;
        Ok(Resolved { endings, is_kept: self.calls.contains_key(&by) })
    }

    /// # Errors
    /// What a decision writes can never be sent.
    fn check_sendable(&self, by: Counter, chosen: &[RowKey]) -> Result<(), ResolveError> {
        let (bytes, writes) = self.size_of_group(&self.group_of(by));
        if bytes > GROUP_BYTES_MAX || writes > SET_WRITES_MAX {
            return Err(ResolveError::TooLarge);
        }
        let has_replaced = |key: &&RowKey| {
            let chain = self.waiting(key).filter(|chain| chain.calls().contains(&by));
            chain.is_some_and(|chain| chain.fold().is_some_and(|change| names_replaced_blob(&change, &chain.onto)))
        };
        chosen.iter().find(has_replaced).map_or(Ok(()), |key| Err(ResolveError::BlobReplaced(key.clone())))
    }

    fn choosable(
        &self,
        choice: &Choice,
        position: Timestamp,
        confirmed: Confirmed<'_>,
    ) -> Result<Conflict, ResolveError> {
        let none = || ResolveError::NoConflict(choice.key.clone());
        let conflict = self.conflict_of(&choice.key, position, confirmed).ok_or_else(none)?;
        self.waiting(&choice.key).ok_or_else(none)?;
        if conflict.server_version != choice.server {
            return Err(ResolveError::Moved(choice.key.clone()));
        }
        match &choice.keep {
            Keep::Values(cells) if cells.len() > Table::COLUMNS_MAX => Err(ResolveError::TooManyCells),
            Keep::Values(_) | Keep::Local | Keep::Server => Ok(conflict),
        }
    }

    /// The chain rests on the server's row from now on.
    fn decide(&mut self, by: Counter, conflict: Conflict, keep: &Keep) {
        let server = conflict.server.unwrap_or_default();
        let change = match keep {
            Keep::Local => Some(Change::between(&server, &conflict.local.unwrap_or_default())),
            Keep::Server => None,
            Keep::Values(cells) if server.exists() => Some(Change::Update(without_same_blobs(cells, &server))),
            Keep::Values(cells) => Some(Change::Insert(cells.clone())),
        };
        if let Some(chain) = self.rows.get_mut(&conflict.key).and_then(|kept| kept.waiting.as_mut()) {
            (chain.onto, chain.given) = (server, None);
        }
        if !matches!(keep, Keep::Local) {
            let emptied = |call: &Counter| {
                if let Some(own) = self.calls.get_mut(call) {
                    own.keys.remove(&conflict.key);
                }
            };
            conflict.calls.iter().for_each(emptied);
            let row = self.waiting(&conflict.key).map(|chain| chain.onto.clone());
            self.without_effects(&conflict.key, |_| true);
            if let (Some(change), Some(row)) = (change, row) {
                self.add_effect(&conflict.key, by, change, row, None);
            }
        } else if let Some(change) = change {
            self.add_effect(&conflict.key, by, change, Row::default(), None);
        }
    }

    /// Ends a call, whose other effects become ones of the resolution.
    fn overrule(&mut self, call: Counter, by: Counter) -> Option<Ending> {
        let gone = self.calls.remove(&call)?;
        for key in &gone.keys {
            let waiting = self.rows.get_mut(key).and_then(|kept| kept.waiting.as_mut());
            for effect in waiting.into_iter().flat_map(|chain| &mut chain.effects) {
                if effect.call == call {
                    effect.call = by;
                }
            }
            self.dirty.insert(Entry::Row(key.clone()));
        }
        self.dirty.insert(Entry::Call(call));
        if !gone.keys.is_empty() {
            let own = self.calls.entry(by).or_default();
            *own = Call { keys: &own.keys | &gone.keys, alone: own.alone || gone.alone, durable: own.durable };
            self.dirty.insert(Entry::Call(by));
        }
        Some(Ending { call, how: How::Overruled })
    }
}

/// The server has these blobs already, and no row takes a blob of another one.
fn without_same_blobs(cells: &Cells, server: &Row) -> Cells {
    let is_same = |(column, value): &(&ColumnId, &Value)| {
        tree(value).is_some() && server.cell(**column).and_then(scalar) == Some(*value)
    };
    map_of(cells.iter().filter(|cell| !is_same(cell)).map(|(column, value)| (*column, value.clone())))
}

/// Whether a change puts a blob that the server's row does not hold: its chunks are of another blob, which may be swept by now.
fn names_replaced_blob(change: &Change, server: &Row) -> bool {
    let is_replaced = |(column, value): (&ColumnId, &Value)| {
        let Some(own) = tree(value) else { return false };
        let held = server.cell(*column).and_then(scalar).and_then(tree);
        let held = held.map_or(&[][..], leases);
        !own.waits_for_lease() || leases(own).iter().any(|lease| !held.contains(lease))
    };
    change.cells().into_iter().flatten().any(is_replaced)
}

fn leases(blob: &Arc<Blob>) -> &[LeaseName] {
    match blob.chunks() {
        Chunks::Inline(_) => &[],
        Chunks::Tree(tree) => tree.leases(),
    }
}
