//! Values and what is made of them.

use std::sync::Arc;

use iolite_values::{
    AnyOf, Author, Blob, Cell, CellState, ColumnId, Condition, Direction, Edit, Effect, Element, Field, HybridTime, Id,
    Insertion, Interest, KeyRange, ListOrder, Mark, Operation, Query, Read, Row, RowKey, Stamp, TableId, Test, Text,
    Timestamp, Unit, UnitRange, Value, Write,
};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

/// Few of them, so that cells come again.
pub fn table() -> impl Strategy<Value = TableId> {
    prop_oneof![(0u32..3).prop_map(TableId), any::<u32>().prop_map(TableId)]
}

pub fn column() -> impl Strategy<Value = ColumnId> {
    prop_oneof![(0u32..3).prop_map(ColumnId), any::<u32>().prop_map(ColumnId)]
}

pub fn timestamp() -> impl Strategy<Value = Timestamp> {
    prop_oneof![any::<u64>(), 0u64..3, (1u64 << 62)..(1 << 62) + (1 << 20), Just(u64::MAX)]
        .prop_map(Timestamp::from_u64)
}

pub fn id() -> impl Strategy<Value = Id> {
    any::<u128>().prop_map(Id::from_u128)
}

fn float() -> impl Strategy<Value = Value> {
    any::<f64>().prop_filter_map("NaN is no value", |number| Value::float(number).ok())
}

pub fn value() -> BoxedStrategy<Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        float(),
        ".{0,6}".prop_map(Value::from),
        vec(any::<u8>(), 0..6).prop_map(Value::bytes),
        id().prop_map(Value::Id),
        vec(any::<u8>(), 0..6).prop_map(|bytes| Blob::inline(bytes).expect("short").into()),
    ]
    .boxed()
}

pub fn key() -> impl Strategy<Value = RowKey> {
    let part = prop_oneof![(0i64..4).prop_map(Value::Int), ".{0,4}".prop_map(Value::from), id().prop_map(Value::Id)];
    vec(part, 1..3).prop_map(|values| RowKey::new(&values).expect("short"))
}

pub fn cell() -> impl Strategy<Value = Cell> {
    (table(), key(), column()).prop_map(|(table, row, column)| Cell { table, row, column })
}

fn text() -> impl Strategy<Value = Arc<str>> {
    ".{0,4}".prop_map(Arc::from)
}

pub fn operation() -> BoxedStrategy<Operation> {
    let order = prop_oneof![Just(ListOrder::Strict), Just(ListOrder::Commit)];
    prop_oneof![
        Just(Operation::Create),
        Just(Operation::Delete),
        any::<i64>().prop_map(Operation::Add),
        any::<i64>().prop_map(Operation::PutTotal),
        value().prop_map(Operation::Put),
        value().prop_map(Operation::Assign),
        value().prop_map(Operation::Insert),
        value().prop_map(Operation::Remove),
        (value(), order).prop_map(|(value, order)| Operation::Append { value, order }),
        (any::<u32>(), value()).prop_map(|(index, value)| Operation::SetAt { index, value }),
        (text(), value()).prop_map(|(key, value)| Operation::PutEntry { key, value }),
        text().prop_map(|key| Operation::RemoveEntry { key }),
        edit().prop_map(|edit| Operation::Edit(edit.into())),
        effect().prop_map(|effect| Operation::Merge(effect.into())),
    ]
    .boxed()
}

fn mark() -> impl Strategy<Value = Mark> {
    prop_oneof![0u64..4, any::<u64>()].prop_map(Mark)
}

pub(super) fn effect() -> impl Strategy<Value = Effect> {
    let seen = || btree_set(mark(), 0..4);
    let stamp = (any::<u64>(), mark()).prop_map(|(time, mark)| Stamp { time: HybridTime(time), mark });
    prop_oneof![
        (mark(), any::<i64>()).prop_map(|(life, amount)| Effect::Add { life, amount }),
        (stamp, value()).prop_map(|(stamp, value)| Effect::Assign { stamp, value }),
        (value(), mark()).prop_map(|(value, mark)| Effect::Insert { value, mark }),
        (value(), seen()).prop_map(|(value, seen)| Effect::Remove { value, seen }),
        (mark(), mark(), seen()).prop_map(|(life, mark, seen)| Effect::Touch { life, mark, seen }),
        seen().prop_map(|seen| Effect::Bury { seen }),
    ]
}

/// A row as effects make it: a column of each type.
fn merging_row() -> impl Strategy<Value = Row> {
    vec(effect(), 0..12).prop_map(|effects| {
        let mut row = Row::default();
        for effect in effects {
            let column = match effect {
                Effect::Touch { .. } | Effect::Bury { .. } => ColumnId::ROW,
                Effect::Add { .. } => ColumnId(1),
                Effect::Assign { .. } => ColumnId(2),
                Effect::Insert { .. } | Effect::Remove { .. } => ColumnId(3),
            };
            row.apply(column, &Operation::Merge(effect.into())).expect("its type");
        }
        row
    })
}

fn unit() -> impl Strategy<Value = Unit> {
    let few = (1u64..4, 0u32..300);
    let any = (1..=Author::LAST.0, 0..Edit::UNITS_MAX);
    prop_oneof![few, any].prop_map(|(author, number)| Unit::new(Author(author), number))
}

fn edit() -> impl Strategy<Value = Edit> {
    let neighbour = || proptest::option::of(unit());
    let inserted = (unit(), neighbour(), neighbour(), ".{1,4}").prop_map(|(first, left, right, text)| Insertion {
        first,
        left,
        right,
        text: text.into(),
    });
    let range = (unit(), 1u32..300).prop_map(|(unit, length)| UnitRange { length, ..UnitRange::one(unit) });
    let ranges = vec(range, 0..4).prop_map(|mut ranges| {
        ranges.sort_unstable();
        ranges.dedup_by(|next, last| next.author == last.author && next.from <= last.end());
        ranges
    });
    (proptest::option::of(inserted), ranges).prop_filter_map("an edit", |(inserted, removed)| {
        let edit = Edit { inserted, removed };
        edit.check().ok().map(|()| edit)
    })
}

/// What random edits lead to, of which few fit: the others change nothing.
fn written() -> impl Strategy<Value = Text> {
    let first = |author| {
        let first = Unit::new(Author(author), 0);
        let inserted = Insertion { first, left: None, right: None, text: "abcdefg".repeat(40).into() };
        Edit { inserted: Some(inserted), removed: Vec::new() }
    };
    vec(edit(), 0..8).prop_map(move |edits| {
        let mut text = Text::default();
        (1..4).map(first).chain(edits).for_each(|edit| text.apply(&edit.into()));
        text
    })
}

pub fn writes() -> impl Strategy<Value = Vec<Write>> {
    vec((cell(), operation()).prop_map(|(cell, operation)| Write { cell, operation }), 0..5)
}

pub fn range() -> impl Strategy<Value = KeyRange> {
    let bound = || vec(any::<u8>(), 0..5).prop_map(Arc::<[u8]>::from);
    (bound(), proptest::option::of(bound())).prop_map(|(lower, upper)| KeyRange { lower, upper })
}

pub fn interest() -> BoxedStrategy<Interest> {
    let range = (table(), range()).prop_map(|(table, range)| Interest::Range { table, range });
    prop_oneof![cell().prop_map(Interest::Cell), range, query().prop_map(Interest::Query)].boxed()
}

pub fn read() -> impl Strategy<Value = Read> {
    let element = prop_oneof![
        Just(Element::Whole),
        value().prop_map(Element::Member),
        text().prop_map(Element::Entry),
        any::<u32>().prop_map(Element::Index),
        value().prop_map(Element::UpTo),
        (0..=Author::LAST.0).prop_map(|author| Element::Author(Author(author))),
        (0..u32::MAX / 2, 0..u32::MAX / 2).prop_map(|(from, count)| Element::Slice { from, to: from + count }),
    ];
    let range = (table(), range()).prop_map(|(table, range)| Read::Range { table, range });
    let cell = (cell(), element).prop_map(|(cell, element)| Read::Cell { cell, element });
    prop_oneof![3 => cell, 1 => range, 1 => query().prop_map(Read::Query)]
}

pub fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Ascending), Just(Direction::Descending)]
}

fn field() -> impl Strategy<Value = Field> {
    let cell = (column(), value()).prop_map(|(column, absent)| Field::Cell { column, absent });
    prop_oneof![any::<u16>().prop_map(Field::Key), cell]
}

fn condition() -> impl Strategy<Value = Condition> {
    let test = prop_oneof![
        value().prop_map(Test::Equal),
        value().prop_map(Test::NotEqual),
        value().prop_map(Test::Less),
        value().prop_map(Test::AtMost),
        value().prop_map(Test::Greater),
        value().prop_map(Test::AtLeast),
        btree_set(value(), 0..4).prop_map(Test::OneOf),
        text().prop_map(Test::BeginsWith),
        value().prop_map(Test::Contains),
    ];
    (field(), test).prop_map(|(field, test)| Condition { field, test })
}

pub fn query() -> impl Strategy<Value = Arc<Query>> {
    let any_of = vec(vec(condition(), 0..3), 0..3).prop_map(AnyOf);
    let conditions = (vec(condition(), 0..3), vec(any_of, 0..3));
    let parts = (table(), any::<bool>(), vec(field(), 0..3), range(), range(), conditions);
    parts.prop_map(|(table, live, index, range, keys, (conditions, any_of))| {
        Arc::new(Query { table, live, index, range, keys, conditions, any_of })
    })
}

fn state() -> impl Strategy<Value = CellState> {
    prop_oneof![
        any::<bool>().prop_map(CellState::Row),
        value().prop_map(CellState::Scalar),
        value().prop_map(CellState::Register),
        any::<i64>().prop_map(CellState::Counter),
        btree_set(value(), 0..4).prop_map(CellState::Set),
        vec(value(), 0..4).prop_map(CellState::List),
        vec((text(), value()), 0..4).prop_map(|entries| CellState::Map(entries.into_iter().collect())),
        written().prop_map(|text| CellState::Text(Box::new(text))),
    ]
}

pub fn row() -> impl Strategy<Value = Row> {
    let cells = vec((column(), state()), 0..4);
    let plain = (any::<bool>(), cells).prop_map(|(exists, cells)| Row::from_parts(exists, cells));
    prop_oneof![3 => plain, 1 => merging_row()]
}
