//! What a row holds: its cells, and whether it exists.
//!
//! Invariants: creating or deleting a row empties it, so nothing of an earlier row under the same key is ever seen. A row that merges exists while it has a
//! life; otherwise its cells are kept and not shown.
//! Source: docs/decisions/0031-lives-are-the-cell-of-the-row.md

use std::collections::BTreeMap;
use std::fmt;

use litemap::LiteMap;

use crate::{CellState, ColumnId, Effect, Lives, Merged, MergedState, Operation, TypeMismatch, map_of};

/// The state of one row at one timestamp.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Row {
    exists: bool,
    /// The lives of a row that merges and exists are among them, as the cell of [`ColumnId::ROW`].
    cells: LiteMap<ColumnId, CellState>,
}

impl Row {
    /// What a cell takes beside its content.
    pub const CELL_BYTES: usize = 4;

    /// A row as a peer or a disk described it. Of two states of one cell the later one counts. If lives are among the cells, they say whether it exists.
    pub fn from_parts(exists: bool, cells: impl IntoIterator<Item = (ColumnId, CellState)>) -> Row {
        let mut row = Row { exists, cells: LiteMap::default() };
        for (column, state) in cells {
            row.cells.insert(column, state);
        }
        if let Some(lives) = row.lives().cloned() {
            row.live(lives);
        }
        row
    }

    /// This row with other cells: parts of its own, as they are stored. It keeps its life.
    #[must_use]
    pub fn with_cells(&self, cells: impl IntoIterator<Item = (ColumnId, CellState)>) -> Row {
        let life = self.stored(ColumnId::ROW).map(|lives| (ColumnId::ROW, lives.clone()));
        let cells = cells.into_iter().filter(|(column, _)| *column != ColumnId::ROW);
        Row::from_parts(self.exists, cells.chain(life))
    }

    /// This row with one of its cells only.
    #[must_use]
    pub fn with_only(&self, column: ColumnId) -> Row {
        self.with_cells(self.stored(column).map(|state| (column, state.clone())))
    }

    /// Whether the row was created and not deleted since. (In a live table rows hold cells without existing in this sense.)
    pub fn exists(&self) -> bool {
        self.exists
    }

    /// The lives of a row that merges; none if it does not exist, or does not merge.
    pub fn lives(&self) -> Option<&Lives> {
        let CellState::Merged(merged) = self.stored(ColumnId::ROW)? else { return None };
        match merged.state() {
            MergedState::Lives(lives) => Some(lives),
            MergedState::Counter(_) | MergedState::Register(_) | MergedState::Set(_) => None,
        }
    }

    /// A cell as readers see it. Of a cell that merges its plain value, and nothing while the row does not exist.
    pub fn cell(&self, column: ColumnId) -> Option<&CellState> {
        match self.cells.get(&column)? {
            CellState::Merged(merged) => (self.exists && column != ColumnId::ROW).then(|| merged.plain()),
            state => Some(state),
        }
    }

    /// A cell as it is stored.
    pub fn stored(&self, column: ColumnId) -> Option<&CellState> {
        self.cells.get(&column)
    }

    /// All cells as they are stored.
    pub fn cells(&self) -> impl Iterator<Item = (ColumnId, &CellState)> {
        self.cells.iter().map(|(column, state)| (*column, state))
    }

    /// All cells as they are stored.
    pub fn into_cells(self) -> impl Iterator<Item = (ColumnId, CellState)> {
        self.cells.into_iter()
    }

    /// Never written, or deleted and not written since. A row that merges keeps its cells when it is deleted.
    pub fn is_empty(&self) -> bool {
        !self.exists && self.cells.is_empty()
    }

    /// # Errors
    /// [`TypeMismatch`], and the row is as before.
    pub fn apply(&mut self, column: ColumnId, operation: &Operation) -> Result<(), TypeMismatch> {
        match (column, operation) {
            (ColumnId::ROW, Operation::Merge(effect)) => self.merge_life(effect),
            (ColumnId::ROW, _) => self.apply_to_life(operation),
            (_, Operation::Merge(effect)) => self.merge(column, effect),
            (_, _) => self.apply_to_cell(column, operation),
        }
    }

    fn apply_to_life(&mut self, operation: &Operation) -> Result<(), TypeMismatch> {
        if self.lives().is_some() {
            return Err(TypeMismatch { is: MergedState::OF_ROWS, wants: CellState::empty_for(operation).name() });
        }
        let mut life = CellState::Row(self.exists);
        life.apply(operation)?;
        *self = Row { exists: life == CellState::Row(true), cells: LiteMap::default() };
        Ok(())
    }

    fn merge_life(&mut self, effect: &Effect) -> Result<(), TypeMismatch> {
        let is_plain = self.exists && self.lives().is_none();
        let is = if is_plain { CellState::Row(true).name() } else { MergedState::OF_ROWS };
        if is_plain || !effect.is_of_lives() {
            return Err(TypeMismatch { is, wants: MergedState::empty_for(effect).name() });
        }
        let mut lives = self.lives().cloned().unwrap_or_default();
        lives.apply(effect);
        self.live(lives);
        Ok(())
    }

    fn merge(&mut self, column: ColumnId, effect: &Effect) -> Result<(), TypeMismatch> {
        let lives = &self.lives().cloned().unwrap_or_default();
        match self.cells.get_mut(&column) {
            Some(CellState::Merged(merged)) => merged.apply(effect, lives),
            Some(state) => Err(TypeMismatch { is: state.name(), wants: MergedState::empty_for(effect).name() }),
            None => {
                let mut merged = Merged::new(MergedState::empty_for(effect), lives);
                merged.apply(effect, lives)?;
                self.cells.insert(column, CellState::Merged(Box::new(merged)));
                Ok(())
            }
        }
    }

    fn apply_to_cell(&mut self, column: ColumnId, operation: &Operation) -> Result<(), TypeMismatch> {
        match self.cells.get_mut(&column) {
            Some(state) => state.apply(operation),
            None => {
                let mut state = CellState::empty_for(operation);
                state.apply(operation)?;
                self.cells.insert(column, state);
                Ok(())
            }
        }
    }

    /// The row has these lives now, and its counters count them.
    fn live(&mut self, lives: Lives) {
        for (_, state) in self.cells.iter_mut() {
            if let CellState::Merged(merged) = state {
                merged.show(&lives);
            }
        }
        self.exists = lives.exist();
        if self.exists {
            let lives = Merged::new(MergedState::Lives(lives), &Lives::default());
            self.cells.insert(ColumnId::ROW, CellState::Merged(Box::new(lives)));
        } else {
            self.cells.remove(&ColumnId::ROW);
        }
    }

    /// Bytes of content, for limits and accounting.
    pub fn size_bytes(&self) -> usize {
        1 + self.cells.values().map(|state| Row::CELL_BYTES + state.size_bytes()).sum::<usize>()
    }
}

/// Its cells print as a map.
impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells: BTreeMap<_, _> = map_of(self.cells());
        f.debug_struct("Row").field("exists", &self.exists).field("cells", &cells).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mark, Value};

    #[test]
    fn a_row_that_is_created_again_remembers_nothing() {
        let column = ColumnId(7);
        let mut row = Row::default();
        row.apply(ColumnId::ROW, &Operation::Create).expect("a row operation");
        row.apply(column, &Operation::Put(Value::Int(1))).expect("a scalar");
        row.apply(ColumnId::ROW, &Operation::Delete).expect("a row operation");
        assert!(row.is_empty());
        row.apply(ColumnId::ROW, &Operation::Create).expect("a row operation");
        assert_eq!((row.exists(), row.cell(column)), (true, None));
    }

    fn merged(row: &mut Row, column: ColumnId, effect: Effect) {
        row.apply(column, &Operation::Merge(effect.into())).expect("its type");
    }

    /// A row of one life, with a counter at 5 and a set of one member.
    fn merging() -> (Row, ColumnId, ColumnId) {
        let (mut row, counter, set) = (Row::default(), ColumnId(1), ColumnId(2));
        merged(&mut row, ColumnId::ROW, Lives::insertion(Mark(1)));
        merged(&mut row, counter, Effect::Add { life: Mark(1), amount: 5 });
        merged(&mut row, set, Effect::Insert { value: Value::Int(7), mark: Mark(2) });
        (row, counter, set)
    }

    #[test]
    fn a_row_that_merges_shows_plain_values_and_hides_them_when_it_is_deleted() {
        let (mut row, counter, set) = merging();
        let shown = |row: &Row| (row.exists(), row.cell(counter).cloned(), row.cell(set).cloned());
        let whole = (true, Some(CellState::Counter(5)), Some(CellState::Set([Value::Int(7)].into())));
        assert_eq!(shown(&row), whole);
        let update = row.lives().expect("it merges").update(|| Mark(3)).next().expect("one life");
        let deletion = row.lives().expect("it merges").deletion();
        merged(&mut row, ColumnId::ROW, deletion);
        assert_eq!((shown(&row), row.is_empty()), ((false, None, None), false));
        merged(&mut row, ColumnId::ROW, update);
        assert_eq!(shown(&row), whole, "an update at the same time brings it back whole");
    }

    #[test]
    fn a_row_that_merges_is_what_its_parts_say() {
        let (row, counter, set) = merging();
        let lives = row.lives().expect("it merges").clone();
        assert_eq!(Row::from_parts(true, row.clone().into_cells()), row);
        let gone = Row::default().with_cells(row.clone().into_cells());
        assert_eq!((gone.exists(), gone.lives()), (false, None), "a life comes with its own row only");
        assert!(lives.has(Mark(1)));
        let part = row.with_only(counter);
        assert_eq!((part.lives(), part.cell(counter), part.cell(set)), (row.lives(), row.cell(counter), None));
    }

    #[test]
    fn a_row_that_merges_is_neither_created_nor_deleted() {
        let (row, counter, _) = merging();
        for (column, operation) in [
            (ColumnId::ROW, Operation::Create),
            (ColumnId::ROW, Operation::Delete),
            (ColumnId::ROW, Operation::Merge(Effect::Add { life: Mark(1), amount: 1 }.into())),
            (counter, Operation::Add(1)),
            (counter, Operation::Merge(Effect::Bury { seen: [].into() }.into())),
        ] {
            let mut after = row.clone();
            assert!(after.apply(column, &operation).is_err(), "{operation:?}");
            assert_eq!(after, row);
        }
        let mut plain = Row::from_parts(true, []);
        assert!(plain.apply(ColumnId::ROW, &Operation::Merge(Lives::insertion(Mark(1)).into())).is_err());
    }

    #[test]
    fn a_mismatch_changes_nothing() {
        let mut row = Row::default();
        row.apply(ColumnId(7), &Operation::Add(2)).expect("a counter");
        let before = row.clone();
        assert!(row.apply(ColumnId(7), &Operation::Put(Value::Null)).is_err());
        assert_eq!(row, before);
        assert!(row.apply(ColumnId::ROW, &Operation::Add(1)).is_err());
        assert_eq!(row, before);
    }
}
