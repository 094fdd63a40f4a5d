//! About how much memory cells and rows take: the bound with which caches count.
//!
//! Invariants: what is counted is not below what an allocator hands out for them (`crates/client/tests/footprint.rs` measures it); what an operation
//! adds to a row is the difference of what the row counts after it and before, and costs no more to tell than to apply.
//! Source: Iolite's own.

use std::collections::BTreeSet;

use crate::{CellState, ColumnId, Lives, Mark, MergedState, Operation, Row, RowKey, Text, TypeMismatch, Value};

/// A row in a map of rows: its place in the map's nodes, of which half may be free, and the room that its first cells get.
const ROW_BYTES: usize = 320;
/// The place of a cell in its row, of which half may be free.
const CELL_BYTES: usize = 80;
/// The first node of a set or a map, and what else a collection takes however few it holds.
const COLLECTION_BYTES: usize = 512;
/// The head of what a value points to.
const HEAD_BYTES: usize = 48;
/// A run of a text, beside what it says.
const RUN_BYTES: usize = 192;
/// The place of a value in a collection, of which half may be free.
const PLACE_BYTES: usize = 56;

/// The place of a set of marks, or of a sum, under its life or member.
const MARKS_BYTES: usize = 192;
/// One mark in a set of them, of whose places half may be free.
const MARK_BYTES: usize = 16;

/// What a row counts in a map of rows by table and key.
pub fn row_footprint(key: &RowKey, row: &Row) -> usize {
    ROW_BYTES + key.as_bytes().len() + row.cells().map(|(_, state)| cell_footprint(state)).sum::<usize>()
}

/// Applies an operation to a row. Returns what the row counts more then, or less.
///
/// # Errors
/// [`TypeMismatch`], and the row is as before.
pub fn apply_and_count(row: &mut Row, column: ColumnId, operation: &Operation) -> Result<isize, TypeMismatch> {
    let measured = |row: &Row| text_of(row, column) + merged_of(row, column, operation);
    let (growth, before) = (footprint_growth(row, column, operation), measured(row));
    row.apply(column, operation)?;
    Ok(growth + measured(row) - before)
}

/// What a text counts. How it grows by an edit shows only when it is applied, and costs nothing to tell then.
fn text_of(row: &Row, column: ColumnId) -> isize {
    let Some(CellState::Text(text)) = row.cell(column) else { return 0 };
    signed(text_parts(text))
}

/// A row's count for all that an effect can change, before or after it. How it grows shows only then.
fn merged_of(row: &Row, column: ColumnId, operation: &Operation) -> isize {
    let Operation::Merge(effect) = operation else { return 0 };
    if column == ColumnId::ROW {
        return row.stored(column).map_or(0, |lives| signed(cell_footprint(lives)));
    }
    let empty = MergedState::empty_for(effect);
    let state = match row.stored(column) {
        Some(CellState::Merged(merged)) => merged.state(),
        Some(_) | None => &empty,
    };
    signed(match (state, effect.member()) {
        (MergedState::Set(set), Some(value)) => set.marks_of(value).map_or(0, |marks| marked_member(value, marks)),
        (MergedState::Set(_) | MergedState::Counter(_) | MergedState::Register(_) | MergedState::Lives(_), _) => {
            merged_parts(state)
        }
    })
}

/// A cell's count, if it merges, beside that of one on which nothing has happened yet.
fn merged_parts(state: &MergedState) -> usize {
    match state {
        MergedState::Counter(counter) => MARKS_BYTES * counter.sums().len(),
        MergedState::Register(register) => content(register.value()),
        MergedState::Set(set) => set.marks().map(|(value, marks)| marked_member(value, marks)).sum(),
        MergedState::Lives(lives) => lives_parts(lives),
    }
}

/// A member of a set that merges: with its marks, and among the plain members.
fn marked_member(value: &Value, marks: &BTreeSet<Mark>) -> usize {
    PLACE_BYTES + part(value) + MARKS_BYTES + MARK_BYTES * marks.len()
}

fn lives_parts(lives: &Lives) -> usize {
    lives.marks().map(|(_, marks)| MARKS_BYTES + MARK_BYTES * marks.len()).sum()
}

/// What a row counts more, or less, once an operation of its cell's type is applied; but for what a text and an effect count.
fn footprint_growth(row: &Row, column: ColumnId, operation: &Operation) -> isize {
    if column == ColumnId::ROW && operation.is_of_life() {
        return -signed(row.cells().map(|(_, state)| cell_footprint(state)).sum());
    }
    let state = row.stored(column);
    let new = if state.is_none() && column != ColumnId::ROW {
        signed(cell_footprint(&CellState::empty_for(operation)))
    } else {
        0
    };
    new + growth(state, operation)
}

fn cell_footprint(state: &CellState) -> usize {
    CELL_BYTES
        + match state {
            CellState::Row(_) | CellState::Counter(_) => 0,
            CellState::Scalar(value) | CellState::Register(value) => content(value),
            CellState::Set(set) => COLLECTION_BYTES + set.iter().map(part).sum::<usize>(),
            CellState::List(list) => COLLECTION_BYTES + list.iter().map(part).sum::<usize>(),
            CellState::Text(text) => COLLECTION_BYTES + text_parts(text),
            CellState::Merged(merged) => COLLECTION_BYTES + merged_parts(merged.state()),
            CellState::Map(map) => COLLECTION_BYTES + map.iter().map(|(key, value)| entry(key, value)).sum::<usize>(),
        }
}

fn growth(state: Option<&CellState>, operation: &Operation) -> isize {
    match operation {
        Operation::Create
        | Operation::Delete
        | Operation::Add(_)
        | Operation::PutTotal(_)
        | Operation::Edit(_)
        | Operation::Merge(_) => 0,
        Operation::Put(value) | Operation::Assign(value) => signed(content(value)) - signed(content(single(state))),
        Operation::Insert(value) => signed(part(value)) - member(state, value),
        Operation::Remove(value) => -member(state, value),
        Operation::Append { value, order: _ } => signed(part(value)),
        Operation::SetAt { index, value } => element(state, *index).map_or(0, |old| signed(part(value)) - signed(old)),
        Operation::PutEntry { key, value } => signed(entry(key, value)) - entry_of(state, key),
        Operation::RemoveEntry { key } => -entry_of(state, key),
    }
}

/// What a cell of one value holds; nothing, before it is first written.
fn single(state: Option<&CellState>) -> &Value {
    let Some(CellState::Scalar(value) | CellState::Register(value)) = state else { return &Value::Null };
    value
}

/// What a set counts for a member, if it has it.
fn member(state: Option<&CellState>, value: &Value) -> isize {
    let Some(CellState::Set(set)) = state else { return 0 };
    if set.contains(value) { signed(part(value)) } else { 0 }
}

fn element(state: Option<&CellState>, index: u32) -> Option<usize> {
    let Some(CellState::List(list)) = state else { return None };
    list.get(index as usize).map(part)
}

/// What a map counts for an entry, if it has it.
fn entry_of(state: Option<&CellState>, key: &str) -> isize {
    let Some(CellState::Map(map)) = state else { return 0 };
    map.get(key).map_or(0, |value| signed(entry(key, value)))
}

/// Runs, and edits that are not folded in yet.
fn text_parts(text: &Text) -> usize {
    let (bytes, parts) = text.held();
    2 * bytes + RUN_BYTES * parts
}

fn content(value: &Value) -> usize {
    HEAD_BYTES + value.size_bytes()
}

fn part(value: &Value) -> usize {
    PLACE_BYTES + content(value)
}

fn entry(key: &str, value: &Value) -> usize {
    PLACE_BYTES + HEAD_BYTES + key.len() + content(value)
}

/// No allocation is larger.
fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).expect("what is in memory is smaller than half of all addresses")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{Author, Edit, Effect, HybridTime, Insertion, ListOrder, Stamp, Unit};

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![(0i64..4).prop_map(Value::Int), "[ab]{0,3}".prop_map(Value::from), Just(Value::Null)]
    }

    /// Of the type that a column has, one column a type.
    fn operation() -> impl Strategy<Value = (ColumnId, Operation)> {
        let order = ListOrder::Commit;
        let operation = prop_oneof![
            Just((0, Operation::Create)),
            Just((0, Operation::Delete)),
            value().prop_map(|value| (1, Operation::Put(value))),
            value().prop_map(|value| (2, Operation::Assign(value))),
            Just((3, Operation::Add(1))),
            Just((3, Operation::PutTotal(7))),
            value().prop_map(|value| (4, Operation::Insert(value))),
            value().prop_map(|value| (4, Operation::Remove(value))),
            value().prop_map(move |value| (5, Operation::Append { value, order })),
            (0u32..3, value()).prop_map(|(index, value)| (5, Operation::SetAt { index, value })),
            ("[kl]", value()).prop_map(|(key, value)| (6, Operation::PutEntry { key: key.into(), value })),
            "[kl]".prop_map(|key| (6, Operation::RemoveEntry { key: key.into() })),
            (0u32..4).prop_map(|number| (7, Operation::Edit(typed(number)))),
        ];
        operation
            .prop_map(|(column, operation)| (if column == 0 { ColumnId::ROW } else { ColumnId(column) }, operation))
    }

    /// A row that merges.
    fn effect() -> impl Strategy<Value = (ColumnId, Operation)> {
        let mark = || (0u64..5).prop_map(Mark);
        let seen = || proptest::collection::btree_set(mark(), 0..4);
        let stamp = |mark| Stamp { time: HybridTime(1), mark };
        let effect = prop_oneof![
            (mark(), mark(), seen()).prop_map(|(life, mark, seen)| (0, Effect::Touch { life, mark, seen })),
            seen().prop_map(|seen| (0, Effect::Bury { seen })),
            (mark(), 0i64..9).prop_map(|(life, amount)| (1, Effect::Add { life, amount })),
            (mark(), value()).prop_map(move |(mark, value)| (2, Effect::Assign { stamp: stamp(mark), value })),
            (value(), mark()).prop_map(|(value, mark)| (3, Effect::Insert { value, mark })),
            (value(), seen()).prop_map(|(value, seen)| (3, Effect::Remove { value, seen })),
        ];
        effect.prop_map(|(column, effect)| {
            (if column == 0 { ColumnId::ROW } else { ColumnId(column) }, Operation::Merge(effect.into()))
        })
    }

    /// A letter of one author at the end; it fits if it is that author's next.
    fn typed(number: u32) -> Arc<Edit> {
        let unit = |number| Unit::new(Author(1), number);
        let left = number.checked_sub(1).map(unit);
        let inserted = Some(Insertion { first: unit(number), left, right: None, text: "x".into() });
        Arc::new(Edit { inserted, removed: Vec::new() })
    }

    proptest! {
        #[test]
        fn growth_is_what_a_row_counts_more_afterwards(operations in prop_oneof![
            proptest::collection::vec(operation(), 1..40),
            proptest::collection::vec(effect(), 1..40),
        ]) {
            let key = RowKey::new(&[Value::Int(1)]).expect("short");
            let mut row = Row::default();
            for (column, operation) in operations {
                let before = signed(row_footprint(&key, &row));
                let growth = apply_and_count(&mut row, column, &operation).expect("its type");
                prop_assert_eq!(signed(row_footprint(&key, &row)), before + growth, "{:?} on {:?}", operation, row);
            }
        }
    }
}
