//! The table held to what the types do.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::{
    Author, Cell, CellState, ColumnId, Edit, Effect, Insertion, ListOrder, Mark, RowKey, TableId, Text, Unit,
    UnitRange, Value,
};

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![(0i64..4).prop_map(Value::Int), "[ab]{1,2}".prop_map(Value::from)]
}

fn key() -> impl Strategy<Value = std::sync::Arc<str>> {
    prop_oneof![Just("k".into()), Just("l".into())]
}

/// Operations of one data type: a schema never lets others meet on one cell.
fn operations_of(family: u8) -> BoxedStrategy<Operation> {
    match family {
        0 => prop_oneof![Just(Operation::Create), Just(Operation::Delete)].boxed(),
        1 => value().prop_map(Operation::Put).boxed(),
        2 => value().prop_map(Operation::Assign).boxed(),
        3 => prop_oneof![any::<i64>().prop_map(Operation::Add), any::<i64>().prop_map(Operation::PutTotal)].boxed(),
        4 => prop_oneof![value().prop_map(Operation::Insert), value().prop_map(Operation::Remove)].boxed(),
        5 => list_operations(ListOrder::Strict).boxed(),
        6 => list_operations(ListOrder::Commit).boxed(),
        7 => edits().boxed(),
        _ => prop_oneof![
            (key(), value()).prop_map(|(key, value)| Operation::PutEntry { key, value }),
            key().prop_map(|key| Operation::RemoveEntry { key }),
        ]
        .boxed(),
    }
}

/// Of few authors, so that they meet; most fit only some texts.
fn edits() -> impl Strategy<Value = Operation> {
    let unit = || (1u64..4, 0u32..4).prop_map(|(author, number)| Unit::new(Author(author), number));
    let neighbour = || proptest::option::of(unit());
    let inserted = (unit(), neighbour(), neighbour(), "[ab\u{1fa91}]{1,2}")
        .prop_map(|(first, left, right, text)| Insertion { first, left, right, text: text.into() });
    let inserted = inserted.prop_map(|mut own| {
        own.first.number = own.first.number.saturating_sub(2);
        own
    });
    let range = (unit(), 1u32..3).prop_map(|(unit, length)| UnitRange { length, ..UnitRange::one(unit) });
    let removed = proptest::collection::vec(range, 0..2);
    (proptest::option::weighted(0.8, inserted), removed).prop_filter_map("an edit", |(inserted, removed)| {
        let edit = Edit { inserted, removed };
        edit.check().ok().map(|()| Operation::Edit(edit.into()))
    })
}

fn list_operations(order: ListOrder) -> impl Strategy<Value = Operation> {
    prop_oneof![
        value().prop_map(move |value| Operation::Append { value, order }),
        (0u32..2, value()).prop_map(|(index, value)| Operation::SetAt { index, value }),
    ]
}

/// A base state and two operations that are valid in it.
fn cases() -> impl Strategy<Value = (Vec<Operation>, Operation, Operation)> {
    (0u8..9).prop_flat_map(|family| {
        let base = proptest::collection::vec(operations_of(family), 0..4);
        (base, operations_of(family), operations_of(family))
    })
}

fn valid_in(state: Option<&CellState>, operation: &Operation) -> bool {
    match (operation, state) {
        (Operation::SetAt { index, .. }, Some(CellState::List(list))) => (*index as usize) < list.len(),
        (Operation::SetAt { .. }, _) => false,
        (Operation::Edit(edit), Some(CellState::Text(text))) => text.check(edit).is_ok(),
        (Operation::Edit(edit), _) => Text::default().check(edit).is_ok(),
        _ => true,
    }
}

fn fold<'a>(operations: impl IntoIterator<Item = &'a Operation>) -> Option<CellState> {
    let mut state: Option<CellState> = None;
    for operation in operations {
        state.get_or_insert_with(|| CellState::empty_for(operation)).apply(operation).expect("one type");
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 16_000, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn operations_that_always_commute_give_equal_states_in_both_orders((base, a, b) in cases()) {
        let state = fold(&base);
        prop_assume!(valid_in(state.as_ref(), &a) && valid_in(state.as_ref(), &b));
        prop_assert_eq!(commutativity(&a, &b), commutativity(&b, &a), "the table is symmetric");
        if commutativity(&a, &b) == Commutativity::Always {
            prop_assert_eq!(fold(base.iter().chain([&a, &b])), fold(base.iter().chain([&b, &a])));
        }
    }

    /// `observes` misses nothing: where it says that a write cannot change what was read, the answer is the same before and after.
    #[test]
    fn an_operation_changes_only_what_observers_of_it_read((base, a, b) in cases()) {
        let cell = Cell { table: TableId(1), row: RowKey::new(&[Value::Int(1)]).expect("short"), column: ColumnId(2) };
        let before = fold(&base);
        let after = fold(base.iter().chain([&a]));
        let read = b.target(&cell);
        let write = Write { cell: cell.clone(), operation: a.clone() };
        let Read::Cell { element, .. } = &read else { panic!("targets are cells") };
        if let Element::Index(index) = element {
            prop_assume!(matches!(&before, Some(CellState::List(list)) if (*index as usize) < list.len()));
        }
        if !observes(&read, &write) {
            prop_assert_eq!(part(before.as_ref(), element), part(after.as_ref(), element));
        }
    }

    /// The same of what a closure reads by the place in an order.
    #[test]
    fn an_operation_changes_only_what_observers_of_places_read((base, a, b) in cases()) {
        let cell = Cell { table: TableId(1), row: RowKey::new(&[Value::Int(1)]).expect("short"), column: ColumnId(2) };
        let before = fold(&base);
        let after = fold(base.iter().chain([&a]));
        let element = match (b, &before) {
            (Operation::Insert(value) | Operation::Remove(value), _) => Element::UpTo(value),
            (Operation::SetAt { index, .. }, Some(CellState::List(list))) if (index as usize) < list.len() => {
                Element::Slice { from: index.saturating_sub(1), to: index + 1 }
            }
            _ => return Ok(()),
        };
        let read = Read::Cell { cell: cell.clone(), element: element.clone() };
        if !observes(&read, &Write { cell, operation: a }) {
            prop_assert_eq!(part(before.as_ref(), &element), part(after.as_ref(), &element));
        }
    }
}

/// What a read of `element` returns.
fn part(state: Option<&CellState>, element: &Element) -> Option<Value> {
    match (state, element) {
        (Some(CellState::Set(set)), Element::Member(value)) => Some(Value::Bool(set.contains(value))),
        (None, Element::Member(_)) => Some(Value::Bool(false)),
        (Some(CellState::Set(set)), Element::UpTo(last)) => Some(Value::from(format!("{:?}", set.range(..=last)))),
        (None, Element::UpTo(_)) => Some(Value::from(format!("{:?}", BTreeSet::<Value>::new().range(..)))),
        (Some(CellState::List(list)), Element::Slice { from, to }) => {
            Some(Value::from(format!("{:?}", &list[*from as usize..*to as usize])))
        }
        (Some(CellState::Map(map)), Element::Entry(key)) => map.get(key).cloned(),
        (Some(CellState::Text(text)), Element::Author(author)) => Some(Value::Int(text.count(*author).into())),
        (None, Element::Author(_)) => Some(Value::Int(0)),
        (Some(CellState::List(list)), Element::Index(index)) => list.get(*index as usize).cloned(),
        (state, _) => state.map(|state| Value::from(format!("{state:?}"))),
    }
}

#[test]
fn the_table_is_what_the_documentation_says() {
    use Commutativity::{Always, ByTimestamp, Conflict};
    let (x, y) = (Value::from("x"), Value::from("y"));
    let append = |order| Operation::Append { value: Value::from("x"), order };
    let put_entry = |key: &str| Operation::PutEntry { key: key.into(), value: Value::from("x") };
    let set_at = |index| Operation::SetAt { index, value: Value::from("x") };
    let edit = |author| {
        let first = Unit::new(Author(author), 0);
        let inserted = Some(Insertion { first, left: None, right: None, text: "x".into() });
        Operation::Edit(Edit { inserted, removed: Vec::new() }.into())
    };
    let rows = [
        (Operation::Put(x.clone()), Operation::Put(y.clone()), Conflict),
        (Operation::Assign(x.clone()), Operation::Assign(y.clone()), ByTimestamp),
        (Operation::Add(1), Operation::Add(2), Always),
        (Operation::Insert(x.clone()), Operation::Insert(x.clone()), Always),
        (Operation::Insert(x.clone()), Operation::Remove(x.clone()), Conflict),
        (Operation::Insert(x.clone()), Operation::Remove(y), Always),
        (append(ListOrder::Strict), append(ListOrder::Strict), Conflict),
        (append(ListOrder::Commit), append(ListOrder::Commit), ByTimestamp),
        (append(ListOrder::Strict), set_at(0), Always),
        (set_at(0), set_at(0), Conflict),
        (set_at(0), set_at(1), Always),
        (put_entry("k"), put_entry("l"), Always),
        (put_entry("k"), put_entry("k"), Conflict),
        (put_entry("k"), Operation::RemoveEntry { key: "k".into() }, Conflict),
        (Operation::Create, Operation::Create, Conflict),
        (Operation::Create, Operation::Delete, Conflict),
        (edit(1), edit(1), Conflict),
        (edit(1), edit(2), Always),
        (Operation::Add(1), Operation::Put(x.clone()), Conflict),
        (insertion(&x, 1), insertion(&x, 2), Always),
        (insertion(&x, 1), Operation::Insert(x), Conflict),
    ];
    for (a, b, expected) in rows {
        assert_eq!(commutativity(&a, &b), expected, "{a:?} with {b:?}");
        assert_eq!(commutativity(&b, &a), expected, "{b:?} with {a:?}");
    }
}

fn insertion(value: &Value, mark: u64) -> Operation {
    Operation::Merge(Effect::Insert { value: value.clone(), mark: Mark(mark) }.into())
}

#[test]
fn effects_of_a_row_commute_with_its_deletion_and_its_cells_change_with_it() {
    let row = Cell::row(TableId(1), RowKey::new(&[Value::Int(1)]).expect("short"));
    let column = Cell { column: ColumnId(2), ..row.clone() };
    let bury = Effect::Bury { seen: BTreeSet::new() };
    let bury = Write { cell: row.clone(), operation: Operation::Merge(bury.into()) };
    let insert = Write { cell: column.clone(), operation: insertion(&Value::Int(1), 1) };
    assert_eq!(writes_commute(&bury, &insert), Commutativity::Always);
    let strong = Write { cell: column.clone(), operation: Operation::Add(1) };
    assert_eq!(writes_commute(&bury, &strong), Commutativity::Conflict);
    let member = |value| Read::Cell { cell: column.clone(), element: Element::Member(Value::Int(value)) };
    assert!(observes(&member(1), &insert) && !observes(&member(2), &insert));
    assert!(observes(&member(2), &bury), "a hidden row shows none");
}

#[test]
fn the_life_of_a_row_concerns_all_its_cells() {
    let row = Cell::row(TableId(1), RowKey::new(&[Value::Int(1)]).expect("short"));
    let column = Cell { column: ColumnId(2), ..row.clone() };
    let elsewhere = Cell { row: RowKey::new(&[Value::Int(2)]).expect("short"), ..column.clone() };
    let delete = Write { cell: row.clone(), operation: Operation::Delete };
    let add = |cell: &Cell| Write { cell: cell.clone(), operation: Operation::Add(1) };
    assert_eq!(writes_commute(&delete, &add(&column)), Commutativity::Conflict);
    assert_eq!(writes_commute(&delete, &add(&elsewhere)), Commutativity::Always);
    let read = |cell: &Cell| Read::Cell { cell: cell.clone(), element: Element::Whole };
    assert!(observes(&read(&column), &delete), "a deleted row's cells are gone");
    assert!(!observes(&read(&row), &add(&column)), "a row exists whatever its cells hold");
    assert!(!observes(&read(&elsewhere), &delete));
}
