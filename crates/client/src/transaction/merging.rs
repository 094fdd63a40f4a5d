//! Writing to tables that merge: of an app's plain calls come effects.
//!
//! Invariants: an effect says what its writer saw, so it goes with every other one in any order; what a run makes is a function of the device, of the call and
//! of what it saw, so another run on the same state makes the same.
//! Source: Zawirski 2013, 2.2.1; docs/protocols/operations.md.

use std::sync::Arc;

use iolite_values::{
    Cell, CellState, ColumnId, Counter, Effect, Element, HybridTime, Id, Lives, Mark, MergedState, Operation, Read,
    Row, RowKey, Stamp, TableId, Write,
};

use super::{Content, RunError, Transaction};

/// The marks and times of a run's effects.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    device: Id,
    counter: Counter,
    last: u32,
    now: HybridTime,
    /// Times are the clock's, also below one that was seen. Never, but in a broken client.
    by_clock: bool,
}

impl Marks {
    pub(crate) fn of(device: Id, counter: Counter, now: HybridTime) -> Marks {
        Marks { device, counter, last: 0, now, by_clock: false }
    }

    pub(crate) fn by_clock(self, by_clock: bool) -> Marks {
        Marks { by_clock, ..self }
    }

    fn next(&mut self) -> Mark {
        self.last += 1;
        Mark::of(self.device, self.counter, self.last)
    }
}

impl Transaction<'_> {
    /// As [`Transaction::write`], of a table that merges.
    pub(super) fn change(&mut self, cell: &Cell, operation: &Operation) -> Result<(), RunError> {
        self.schema.check_change(cell, operation)?;
        if !self.exists(cell.table, &cell.row)? {
            let (name, _) = self.schema.find(cell.table)?;
            return Err(RunError::RowMissing { table: name.into(), key: cell.row.clone() });
        }
        let Some(effect) = self.effect_of(cell, operation)? else { return Ok(()) };
        self.touch(cell.table, &cell.row)?;
        self.push_effect(cell.clone(), effect)
    }

    /// As [`Transaction::insert`], of a table that merges. The row begins a life of its own: registers and scalars are assigned, and what the row held when it was deleted before does not come back.
    pub(super) fn insert_merging(&mut self, table: TableId, key: &RowKey, content: Content) -> Result<(), RunError> {
        let cell = |column| Cell { table, row: key.clone(), column };
        for (column, operations) in &content {
            operations.iter().try_for_each(|own| self.schema.check_content(&cell(*column), own))?;
        }
        let hidden = self.layered().row(table, key).cloned().unwrap_or_default();
        let life = self.run.marks.next();
        self.push_effect(Cell::row(table, key.clone()), Lives::insertion(life))?;
        self.run.touched.insert((table, key.clone()));
        let (_, definition) = self.schema.find(table)?;
        for (name, column) in definition.data_columns() {
            let id = ColumnId::of(name);
            for removal in removals(&hidden, id) {
                self.push_effect(cell(id), removal)?;
            }
            let given = content.get(&id).cloned().unwrap_or_else(|| column.initial_operations());
            for operation in given {
                if let Some(effect) = self.first_effect(&cell(id), life, operation, &hidden) {
                    self.push_effect(cell(id), effect)?;
                }
            }
        }
        Ok(())
    }

    /// As [`Transaction::delete`], of a row that exists in a table that merges.
    pub(super) fn bury(&mut self, table: TableId, key: &RowKey) -> Result<(), RunError> {
        let Some(lives) = self.lives_of(table, key) else { return Ok(()) };
        self.run.touched.remove(&(table, key.clone()));
        self.push_effect(Cell::row(table, key.clone()), lives.deletion())
    }

    /// The effect of a change, on what this writer sees; none if there is nothing to change.
    fn effect_of(&mut self, cell: &Cell, operation: &Operation) -> Result<Option<Effect>, RunError> {
        if let Operation::Remove(value) = operation {
            let member = Element::Member(value.clone());
            self.note(Read::Cell { cell: cell.clone(), element: member })?;
            let row = self.layered().row(cell.table, &cell.row);
            return Ok(row.and_then(|row| match merged(row, cell.column)? {
                MergedState::Set(set) => set.removal(value),
                MergedState::Counter(_) | MergedState::Register(_) | MergedState::Lives(_) => None,
            }));
        }
        let row = self.layered().row(cell.table, &cell.row).cloned().unwrap_or_default();
        let life = row.lives().and_then(Lives::lowest);
        Ok(life.and_then(|life| self.first_effect(cell, life, operation.clone(), &row)))
    }

    /// The effect of an operation on a cell of a row in this life, whose writer saw this of the row.
    fn first_effect(&mut self, cell: &Cell, life: Mark, operation: Operation, saw: &Row) -> Option<Effect> {
        match operation {
            Operation::Put(value) | Operation::Assign(value) => {
                Some(Effect::Assign { stamp: self.stamp(saw, cell.column), value })
            }
            Operation::Add(amount) => Some(Effect::Add { life, amount }),
            Operation::Insert(value) => Some(Effect::Insert { value, mark: self.run.marks.next() }),
            Operation::Create
            | Operation::Delete
            | Operation::PutTotal(_)
            | Operation::Remove(_)
            | Operation::Append { .. }
            | Operation::SetAt { .. }
            | Operation::PutEntry { .. }
            | Operation::RemoveEntry { .. }
            | Operation::Edit(_)
            | Operation::Merge(_) => None,
        }
    }

    /// A stamp above the one that the cell has, as far as this writer sees it.
    fn stamp(&mut self, saw: &Row, column: ColumnId) -> Stamp {
        let marks = &mut self.run.marks;
        let last = time_of(saw, column).map(HybridTime::next).filter(|_| !marks.by_clock);
        let time = last.map_or(marks.now, |last| last.max(marks.now));
        Stamp { time, mark: marks.next() }
    }

    /// Keeps the row in the lives that this writer sees: once a run, for all that it changes of the row.
    fn touch(&mut self, table: TableId, key: &RowKey) -> Result<(), RunError> {
        let Some(lives) = self.lives_of(table, key) else { return Ok(()) };
        if !self.run.touched.insert((table, key.clone())) {
            return Ok(());
        }
        let effects: Vec<Effect> = lives.update(|| self.run.marks.next()).collect();
        effects.into_iter().try_for_each(|effect| self.push_effect(Cell::row(table, key.clone()), effect))
    }

    fn lives_of(&self, table: TableId, key: &RowKey) -> Option<Lives> {
        self.layered().row(table, key).and_then(Row::lives).cloned()
    }

    fn push_effect(&mut self, cell: Cell, effect: Effect) -> Result<(), RunError> {
        self.push_checked(Write { cell, operation: Operation::Merge(Arc::new(effect)) })
    }
}

/// The removals of all members of a set that a deleted row had.
fn removals(hidden: &Row, column: ColumnId) -> Vec<Effect> {
    match merged(hidden, column) {
        Some(MergedState::Set(set)) => set.members().filter_map(|member| set.removal(member)).collect(),
        Some(MergedState::Counter(_) | MergedState::Register(_) | MergedState::Lives(_)) | None => Vec::new(),
    }
}

/// The time of the value that a register of a row has.
pub(crate) fn time_of(row: &Row, column: ColumnId) -> Option<HybridTime> {
    match merged(row, column)? {
        MergedState::Register(register) => register.last().map(|(stamp, _)| stamp.time),
        MergedState::Counter(_) | MergedState::Set(_) | MergedState::Lives(_) => None,
    }
}

fn merged(row: &Row, column: ColumnId) -> Option<&MergedState> {
    match row.stored(column)? {
        CellState::Merged(merged) => Some(merged.state()),
        CellState::Row(_)
        | CellState::Scalar(_)
        | CellState::Register(_)
        | CellState::Counter(_)
        | CellState::Set(_)
        | CellState::List(_)
        | CellState::Map(_)
        | CellState::Text(_) => None,
    }
}
