//! Deeds: the things that a transaction does to one row in the end, and so which rules judge it.
//!
//! Invariants: a row is judged by what is done in the end. To create a row where one is, is no creation. A row that merges is deleted and inserted by
//! effects that hold beside others: whoever inserts where a row is, changes that row, too.

use std::borrow::Cow;
use std::collections::BTreeMap;

use iolite_values::{Cell, ColumnId, Effect, Element, Operation, Read, Row, Table, Write};

use super::scene::{Asking, Scene};
use super::view::View;
use super::{Judge, RowName, Why};
use crate::{Right, Version};

pub(super) struct Deeds<'a> {
    /// The rules that judge it.
    pub(super) rights: Vec<Right>,
    /// The reads of all that it presumes of the row's life.
    pub(super) reads: Vec<Read>,
    table: &'a Table,
    name: RowName,
    writes: &'a [Write],
    old: Cow<'a, Row>,
    new: Row,
}

impl<'a> Deeds<'a> {
    /// Why not: the row is there, or is not, against what the writes presume.
    pub(super) fn of(
        table: &'a Table,
        name: &RowName,
        old: Cow<'a, Row>,
        writes: &'a [Write],
    ) -> Result<Deeds<'a>, Why> {
        let (rights, new) = match table.merges() {
            true => effects(&old, writes)?,
            false => changes(table, &old, writes)?,
        };
        let life = Read::Cell { cell: Cell::row(name.table, name.key.clone()), element: Element::Whole };
        let presumes = if table.merges() { rights.contains(&Right::Create) && !old.exists() } else { !table.live };
        let reads = if presumes { vec![life] } else { Vec::new() };
        let is_kept = rights.iter().any(|right| matches!(right, Right::Create | Right::Update));
        let rights = rights.into_iter().chain(is_kept.then_some(Right::Check)).collect();
        let old = if table.merges() { Cow::Owned(shown(&old)) } else { old };
        Ok(Deeds { rights, reads, table, name: name.clone(), writes, old, new })
    }

    /// The scene that one of its rules sees.
    pub(super) fn scene<'s>(
        &'s self,
        judge: &'s Judge<'s>,
        writes: &'s BTreeMap<RowName, Vec<Write>>,
        right: Right,
    ) -> Scene<'s> {
        let view = |row, writes| Some(View { table: self.table, name: self.name.clone(), row, writes });
        let before = || view(Cow::Borrowed(&*self.old), &[]);
        // A check sees a row that is created as one that was empty before.
        let empty = || view(Cow::Owned(Row::from_parts(true, [])), self.writes);
        let old = match right {
            Right::Create => None,
            Right::Check if self.rights.contains(&Right::Create) => empty(),
            Right::Check | Right::Update | Right::Delete => before(),
            Right::Read | Right::Join | Right::Run | Right::Call | Right::Copy | Right::Hold => None,
        };
        let is_deletion = right == Right::Delete;
        let new = if is_deletion { None } else { view(Cow::Borrowed(&self.new), self.writes) };
        let row = if is_deletion { Version::Old } else { Version::New };
        let updates = (right == Right::Update).then_some(self.writes);
        Scene { judge, writes, asking: Asking::Row { old, new, row, updates } }
    }
}

/// The rules of writes to a row that does not merge, and the row after them.
fn changes(table: &Table, old: &Row, writes: &[Write]) -> Result<(Vec<Right>, Row), Why> {
    let mut new = old.clone();
    // A row that is created and deleted again is judged as it was in between.
    let mut between = None;
    for write in writes {
        if write.operation == Operation::Delete && new.exists() {
            between = Some(new.clone());
        }
        apply(&mut new, write);
    }
    let first = writes.iter().find(|write| write.operation.is_of_life()).map(|write| &write.operation);
    if table.live {
        return Ok((vec![Right::Update], new));
    }
    let rights = match (old.exists(), first.map(|life| *life == Operation::Create), new.exists()) {
        (true, None, _) => vec![Right::Update],
        (true, Some(true), _) => return Err(Why::Taken),
        (true, Some(false), false) => vec![Right::Delete],
        (true, Some(false), true) => vec![Right::Delete, Right::Create],
        (false, Some(true), _) => vec![Right::Create],
        (false, None | Some(false), _) => return Err(Why::Missing),
    };
    let is_created = rights.contains(&Right::Create);
    Ok((rights, if is_created && !new.exists() { between.unwrap_or(new) } else { new }))
}

/// The rules of effects on a row that merges, and the row after them.
fn effects(old: &Row, writes: &[Write]) -> Result<(Vec<Right>, Row), Why> {
    let mut new = old.clone();
    writes.iter().for_each(|write| apply(&mut new, write));
    let inserts = writes.iter().any(|write| write.operation.creates());
    let deletes = writes.iter().any(is_bury);
    let touches = writes.iter().any(|write| !write.operation.creates() && !is_bury(write));
    let was_there = !old.is_empty();
    if !inserts && !was_there {
        return Err(Why::Missing);
    }
    let updates = if inserts { was_there } else { touches };
    let rights = [(Right::Create, inserts), (Right::Update, updates), (Right::Delete, deletes)];
    Ok((rights.into_iter().filter_map(|(right, is_done)| is_done.then_some(right)).collect(), shown(&new)))
}

/// A row that merges, as it is when it has a life: a deletion hides its cells, and an update shows them again.
fn shown(row: &Row) -> Row {
    if row.exists() || row.is_empty() {
        return row.clone();
    }
    Row::from_parts(true, row.cells().map(|(column, state)| (column, state.clone())))
}

/// An operation of another type changes nothing, here as in the store.
fn apply(row: &mut Row, write: &Write) {
    let _ = row.apply(write.cell.column, &write.operation);
}

fn is_bury(write: &Write) -> bool {
    let is_bury = matches!(&write.operation, Operation::Merge(effect) if matches!(&**effect, Effect::Bury { .. }));
    is_bury && write.cell.column == ColumnId::ROW
}
