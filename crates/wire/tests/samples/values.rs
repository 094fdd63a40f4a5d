//! Values, operations, rows and ranges, each inside a frame.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{
    Attempt, Author, Blob, BlobDigest, Cell, CellState, ChunkId, ChunkName, ColumnId, Counter, Cutting, Decision, Edit,
    Effect, Element, HybridTime, Id, Insertion, Interest, KeyRange, LaneNumber, LeaseName, ListOrder, Lives, Mark,
    Operation, Read, Row, RowKey, Stamp, TableId, Text, TextRun, Timestamp, Tree, Unit, UnitRange, Value, Write,
};
use iolite_wire::message::{
    Advance, FromClient, FromGateway, RowSnapshot, Snapshot, Submit, Subscribe, SubscriptionId,
};

use crate::decoders::Content;

pub fn table() -> TableId {
    TableId::of("furniture")
}

pub fn column() -> ColumnId {
    ColumnId::of("moves")
}

pub fn key(name: &str) -> RowKey {
    RowKey::new(&[Value::from(name)]).expect("short")
}

pub fn cell(row: &str) -> Cell {
    Cell { table: table(), row: key(row), column: column() }
}

pub fn write(operation: Operation) -> Write {
    Write { cell: cell("chair"), operation }
}

/// The first quarter of 2025.
pub fn time(micros: u64) -> Timestamp {
    Timestamp::from_u64((1_740_000_000_000_000 + micros) << 12 | 1)
}

pub fn submit(reads: Vec<Read>, decision: Decision) -> Submit {
    let (counter, attempt) = (Counter(42), Attempt(1));
    let (lane, follows) = (LaneNumber::STRONG, None);
    Submit { counter, attempt, snapshot: time(0), reads, decision, acknowledged: Some(Counter(41)), lane, follows }
}

fn submits(reads: Vec<Read>, writes: Vec<Write>) -> Content {
    Content::FromClient(vec![FromClient::Submit(submit(reads, Decision::Commit(writes)))])
}

pub fn advance(changes: Vec<Write>, snapshots: Vec<Snapshot>) -> FromGateway {
    FromGateway::Advance(Advance { to: time(9), more: false, changes, snapshots, ..Advance::default() })
}

fn changes(operations: Vec<Operation>) -> Content {
    Content::FromGateway(vec![advance(operations.into_iter().map(write).collect(), Vec::new())])
}

pub fn every_value() -> Vec<Value> {
    vec![
        Value::Null,
        Value::Bool(false),
        Value::Bool(true),
        Value::Int(-1),
        Value::Int(i64::MIN),
        Value::float(1.5).expect("a number"),
        Value::float(f64::INFINITY).expect("a number"),
        Value::from("Stuhl \u{1fa91}"),
        Value::bytes([0, 1, 255]),
        Value::Id(Id::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10)),
    ]
}

fn inline_blob() -> Value {
    Blob::inline(*b"a small photo").expect("short").into()
}

/// 100,000 bytes: the first chunk is stored under a lease, and the second one has none yet.
fn blob_of_chunks() -> Value {
    let chunk = |lease, content: &[u8]| ChunkName { lease, id: ChunkId::of(content) };
    let root = vec![chunk(0, &[7; Cutting::CHUNK_BYTES_MAX]), chunk(1, &[8; 100_000 - Cutting::CHUNK_BYTES_MAX])];
    let digest = BlobDigest::of(Cutting::Fixed64K, root.iter().map(|name| name.id), 100_000);
    let leases = vec![LeaseName(Id::from_u128(0x1112_1314))];
    let tree = Tree::new(Cutting::Fixed64K, 0, leases, root).expect("a tree");
    Blob::tree(100_000, digest, tree).expect("a blob").into()
}

pub fn every_operation() -> Vec<Operation> {
    let (x, y) = (|| Value::from("x"), || Value::Int(7));
    vec![
        Operation::Create,
        Operation::Delete,
        Operation::Put(x()),
        Operation::Assign(y()),
        Operation::Add(-3),
        Operation::Insert(x()),
        Operation::Remove(x()),
        Operation::Append { value: x(), order: ListOrder::Strict },
        Operation::Append { value: x(), order: ListOrder::Commit },
        Operation::SetAt { index: 300, value: y() },
        Operation::PutEntry { key: "k".into(), value: y() },
        Operation::RemoveEntry { key: "k".into() },
    ]
}

/// Units come in behind one of their author and before one of another, and units of both go.
pub fn edit() -> Edit {
    let (own, other) = (Author(1 << 52), Author(3));
    let (left, right) = (Some(Unit::new(own, 8)), Some(Unit::new(other, 0)));
    let inserted = Insertion { first: Unit::new(own, 9), left, right, text: "h\u{1fa91}".into() };
    let range = |author, from, length| UnitRange { author, from, length };
    Edit { inserted: Some(inserted), removed: vec![range(other, 0, 2), range(own, 3, 1), range(own, 5, 2)] }
}

/// A text of two authors, of which one has lost units.
pub fn text() -> Text {
    let (one, other) = (Author(3), Author(1 << 52));
    let run = |from, length, left, text: Option<&str>| TextRun {
        from,
        length,
        left,
        right: None,
        text: text.map(str::to_owned),
    };
    let first = vec![
        run(0, 3, None, Some("Stu")),
        run(3, 2, Some(Unit::new(one, 2)), None),
        run(5, 2, Some(Unit::new(one, 4)), Some("hl")),
    ];
    let second = vec![run(0, 3, Some(Unit::new(one, 6)), Some(" \u{1fa91}"))];
    Text::from_runs(BTreeMap::from([(one, first), (other, second)])).expect("edits lead to it")
}

/// Those that came after the first release.
pub fn later_operations() -> Vec<Operation> {
    vec![Operation::PutTotal(-4), Operation::Edit(edit().into())]
}

pub fn every_effect() -> Vec<Operation> {
    let (stamp, mark, life) = (Stamp { time: HybridTime(1_740_000_000_000_000), mark: Mark(2) }, Mark(3), Mark(1));
    let seen = BTreeSet::from([Mark(1), Mark(u64::MAX)]);
    let effects = [
        Effect::Add { life, amount: -3 },
        Effect::Assign { stamp, value: Value::from("x") },
        Effect::Insert { value: Value::Int(7), mark },
        Effect::Remove { value: Value::Int(7), seen: seen.clone() },
        Effect::Touch { life, mark, seen: seen.clone() },
        Effect::Bury { seen },
    ];
    effects.map(|effect| Operation::Merge(effect.into())).into()
}

/// A row of two lives with a cell of each type that merges, and the same after its deletion.
fn merging_rows() -> Vec<Row> {
    let mut row = Row::default();
    let merge = |row: &mut Row, column, effect: Effect| {
        row.apply(column, &Operation::Merge(effect.into())).expect("its type");
    };
    for (column, effect) in [
        (ColumnId::ROW, Lives::insertion(Mark(1))),
        (ColumnId::ROW, Lives::insertion(Mark(9))),
        (ColumnId(1), Effect::Add { life: Mark(1), amount: -5 }),
        (ColumnId(1), Effect::Add { life: Mark(9), amount: 300 }),
        (ColumnId(2), Effect::Assign { stamp: Stamp { time: HybridTime(4), mark: Mark(5) }, value: Value::from("x") }),
        (ColumnId(3), Effect::Insert { value: Value::Int(7), mark: Mark(6) }),
        (ColumnId(3), Effect::Insert { value: Value::Int(7), mark: Mark(7) }),
        (ColumnId(3), Effect::Insert { value: Value::Int(8), mark: Mark(8) }),
    ] {
        merge(&mut row, column, effect);
    }
    let mut deleted = row.clone();
    merge(&mut deleted, ColumnId::ROW, row.lives().expect("it exists").deletion());
    vec![row, deleted]
}

pub fn every_state() -> Row {
    let states = [
        CellState::Row(true),
        CellState::Scalar(Value::from("x")),
        CellState::Register(Value::Null),
        CellState::Counter(-9),
        CellState::Set(BTreeSet::from([Value::Int(1), Value::from("a")])),
        CellState::List(every_value()),
        CellState::Map(BTreeMap::from([("a".into(), Value::Int(1)), ("b".into(), Value::Null)])),
    ];
    Row::from_parts(true, (1u32..).map(ColumnId).zip(states))
}

pub fn rows(rows: Vec<Row>) -> FromGateway {
    let snapshot = |row| RowSnapshot { table: table(), key: key("chair"), row };
    let rows = rows.into_iter().map(snapshot).collect();
    advance(Vec::new(), vec![Snapshot { subscription: SubscriptionId(3), rows, reaches: None }])
}

pub fn ranges() -> Vec<KeyRange> {
    vec![KeyRange::all(), KeyRange::one(&key("chair")), KeyRange::prefix(&[Value::from("c")]).expect("short")]
}

fn every_read() -> Vec<Read> {
    let elements = [Element::Whole, Element::Member(Value::Int(1)), Element::Entry("k".into()), Element::Index(4)];
    let ranges = ranges().into_iter().map(|range| Read::Range { table: table(), range });
    elements.map(read).into_iter().chain(ranges).collect()
}

/// Those that came after the first release.
fn later_reads() -> Vec<Read> {
    vec![
        read(Element::UpTo(Value::Int(1))),
        read(Element::Slice { from: 0, to: 3 }),
        read(Element::Author(Author(7))),
        read(Element::Author(Author::LAST)),
    ]
}

fn read(element: Element) -> Read {
    Read::Cell { cell: cell("table"), element }
}

pub fn all() -> Vec<(&'static str, &'static str, Content)> {
    let one = |operation| changes(vec![operation]);
    let row = |state| Content::FromGateway(vec![rows(vec![Row::from_parts(false, [(column(), state)])])]);
    let named = ["chair", "table", "chair", "lamp"].map(|row| Write { cell: cell(row), operation: Operation::Add(1) });
    let range = |(id, range)| (SubscriptionId(id), Interest::Range { table: table(), range });
    let ranges = (0..).zip(ranges()).map(range).collect();
    vec![
        ("value", "puts of every kind of value", changes(every_value().into_iter().map(Operation::Put).collect())),
        (
            "blob_tree",
            "a blob in its cell, then one of two chunks, of which the second waits for its lease",
            changes(vec![Operation::Put(inline_blob()), Operation::Put(blob_of_chunks())]),
        ),
        ("cell_name", "a cell named, another, the first by its number, a third", submits(Vec::new(), named.into())),
        ("list_slice", "a slice of a list", { submits(vec![read(Element::Slice { from: 2, to: 300 })], Vec::new()) }),
        ("list_element", "a list's element set", one(Operation::SetAt { index: 2, value: Value::from("z") })),
        ("map_entry", "a map's entry put", one(Operation::PutEntry { key: "k".into(), value: Value::Bool(true) })),
        ("map_entries", "a map's state", row(CellState::Map(BTreeMap::from([("k".into(), Value::Int(1))])))),
        ("value_list", "a set's state", row(CellState::Set(BTreeSet::from([Value::Int(1), Value::Int(2)])))),
        ("row_cell", "a counter's state", row(CellState::Counter(12))),
        ("text_edit", "an edit of a text", one(Operation::Edit(edit().into()))),
        ("text_state", "a text's state", row(CellState::Text(Box::new(text())))),
        ("merge_effect", "every effect of a table that merges", changes(every_effect())),
        (
            "merged_state",
            "a row that merges, with two lives and a cell of each type, and the same after its deletion",
            Content::FromGateway(vec![rows(merging_rows())]),
        ),
        ("row", "a row with every type of cell, and one that does not exist", {
            Content::FromGateway(vec![rows(vec![every_state(), Row::default()])])
        }),
        ("write", "every operation on one cell, and those of later versions", {
            let all = [every_operation(), later_operations()];
            Content::FromGateway(all.map(|some| advance(some.into_iter().map(write).collect(), Vec::new())).into())
        }),
        ("table_range", "subscriptions to a table, a row and a prefix", {
            Content::FromClient(vec![FromClient::Subscribe(Subscribe {
                held: false,
                interests: ranges,
                first: Default::default(),
            })])
        }),
        ("read", "every kind of read, and those of later versions", {
            let all = [every_read(), later_reads()].map(|some| submit(some, Decision::Commit(Vec::new())));
            Content::FromClient(all.map(FromClient::Submit).into())
        }),
    ]
}
