//! docs/protocols/operations.md says what the code decides: which operations a type has, which go together, and what a read watches.

use std::collections::BTreeSet;

use iolite_values::{
    Author, Cell, CellState, ColumnId, Edit, Effect, Element, Insertion, ListOrder, Mark, Operation, Read, RowKey,
    TableId, Unit, Value, Write, commutativity, observes,
};

const PAGE: &str = include_str!("../../../docs/protocols/operations.md");
const RUST: &str = include_str!("../../../sdks/rust/tests/sockets/data_types.rs");
const TYPESCRIPT: &str = include_str!("../../../sdks/typescript/client/src/dataTypes.test.ts");

/// The rows of the table whose first column has this title.
fn table(title: &str) -> Vec<Vec<&'static str>> {
    let (_, after) = PAGE.split_once(&format!("\n| {title} |")).expect("the page has this table");
    let rows = after.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// The names in code marks of a cell.
fn names(cell: &'static str) -> BTreeSet<&'static str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Every operation on a part of its cell: value, key or index.
fn operations(part: u32) -> Vec<(&'static str, Operation)> {
    let value = Value::Int(part.into());
    let append = |order| Operation::Append { value: value.clone(), order };
    let key = if part == 0 { "a" } else { "b" };
    vec![
        ("`Create`", Operation::Create),
        ("`Delete`", Operation::Delete),
        ("`Put`", Operation::Put(value.clone())),
        ("`Assign`", Operation::Assign(value.clone())),
        ("`Add`", Operation::Add(1)),
        ("`PutTotal`", Operation::PutTotal(1)),
        ("`Insert`", Operation::Insert(value.clone())),
        ("`Remove`", Operation::Remove(value.clone())),
        ("`Append` strict", append(ListOrder::Strict)),
        ("`Append` commit", append(ListOrder::Commit)),
        ("`SetAt`", Operation::SetAt { index: part, value: value.clone() }),
        ("`PutEntry`", Operation::PutEntry { key: key.into(), value }),
        ("`RemoveEntry`", Operation::RemoveEntry { key: key.into() }),
        ("`Edit`", Operation::Edit(edit(part).into())),
        ("`Merge`", Operation::Merge(Effect::Insert { value: Value::Int(part.into()), mark: Mark(1) }.into())),
    ]
}

/// The part of a text that an edit concerns is who inserts.
fn edit(part: u32) -> Edit {
    let first = Unit::new(Author(u64::from(part) + 1), 0);
    Edit { inserted: Some(Insertion { first, left: None, right: None, text: "x".into() }), removed: Vec::new() }
}

/// An operation that is added breaks this until the list above has it.
fn name_of(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create => "Create",
        Operation::Delete => "Delete",
        Operation::Put(_) => "Put",
        Operation::Assign(_) => "Assign",
        Operation::Add(_) => "Add",
        Operation::PutTotal(_) => "PutTotal",
        Operation::Insert(_) => "Insert",
        Operation::Remove(_) => "Remove",
        Operation::Append { .. } => "Append",
        Operation::SetAt { .. } => "SetAt",
        Operation::PutEntry { .. } => "PutEntry",
        Operation::RemoveEntry { .. } => "RemoveEntry",
        Operation::Edit(_) => "Edit",
        Operation::Merge(_) => "Merge",
    }
}

#[test]
fn every_type_has_the_operations_of_the_page() {
    for row in table("Type") {
        let kind = row[0].trim_matches('`');
        let own = operations(0).into_iter().filter(|(_, operation)| CellState::empty_for(operation).name() == kind);
        let own: BTreeSet<&str> = own.map(|(_, operation)| name_of(&operation)).collect();
        assert_eq!(names(row[2]), own, "{kind}");
    }
    let on_page: BTreeSet<&str> = table("Type").iter().flat_map(|row| names(row[2])).collect();
    assert_eq!(on_page, operations(0).iter().map(|(_, operation)| name_of(operation)).collect());
}

/// Whether a text uses a member of this name.
fn uses(text: &str, member: &str) -> bool {
    text.split(&format!(".{member}")).skip(1).any(|rest| !rest.starts_with(char::is_alphanumeric))
}

#[test]
fn both_languages_test_the_papers_types_by_what_the_page_names() {
    for row in table("Theirs") {
        for (tests, cell) in [(RUST, row[2]), (TYPESCRIPT, row[3])] {
            assert!(!names(cell).is_empty(), "{}", row[0]);
            names(cell).into_iter().for_each(|name| assert!(uses(tests, name), "{name} of {} is in no test", row[0]));
        }
    }
    let rust = RUST
        .split("#[tokio::test]\nasync fn ")
        .skip(1)
        .filter_map(|test| Some(test.split_once("()")?.0.replace('_', " ")));
    let typescript =
        TYPESCRIPT.split("\n  test(\"").skip(1).filter_map(|test| Some(test.split_once('"')?.0.to_owned()));
    assert_eq!(rust.collect::<Vec<_>>(), typescript.collect::<Vec<_>>(), "the same tests");
}

#[test]
fn the_table_of_commutativity_is_the_pages() {
    let rows = table("First");
    let mut found = 0;
    for (first, a) in operations(0) {
        for ((second, same), (_, other)) in operations(0).into_iter().zip(operations(1)) {
            let row =
                rows.iter().find(|row| (row[0], row[1]) == (first, second) || (row[1], row[0]) == (first, second));
            let (expected_same, expected_other) = row.map_or(("Conflict", "Conflict"), |row| (row[2], row[3]));
            found += usize::from(row.is_some());
            assert_eq!(format!("{:?}", commutativity(&a, &same)), expected_same, "{first} and {second}, same part");
            assert_eq!(format!("{:?}", commutativity(&a, &other)), expected_other, "{first} and {second}, other part");
        }
    }
    let unlike = rows.iter().filter(|row| row[0] != row[1]).count();
    assert_eq!(found, rows.len() + unlike, "every row of the page was met, those of two operations in both orders");
}

#[test]
fn what_a_read_watches_is_the_pages() {
    let row = RowKey::new(&[Value::Int(1)]).expect("short");
    let cell = Cell { table: TableId(1), row: row.clone(), column: ColumnId(2) };
    let write = |operation: &Operation| {
        let life = operation.is_of_life();
        let cell = if life { Cell::row(TableId(1), row.clone()) } else { cell.clone() };
        Write { cell, operation: operation.clone() }
    };
    let watched = |element: &Element, part: u32| -> BTreeSet<&'static str> {
        let read = Read::Cell { cell: cell.clone(), element: element.clone() };
        let own_type = operations(part).into_iter().filter(|(_, operation)| is_of(element, operation));
        own_type.filter(|(_, operation)| observes(&read, &write(operation))).map(|(_, own)| name_of(&own)).collect()
    };
    let elements = [
        ("`Whole`", Element::Whole),
        ("`Member`", Element::Member(Value::Int(0))),
        ("`UpTo`", Element::UpTo(Value::Int(0))),
        ("`Entry`", Element::Entry("a".into())),
        ("`Index`", Element::Index(0)),
        ("`Slice`", Element::Slice { from: 0, to: 1 }),
        ("`Author`", Element::Author(Author(1))),
    ];
    let rows = table("Read");
    assert_eq!(rows.len(), elements.len());
    for (name, element) in elements {
        let row = rows.iter().find(|row| row[0] == name).expect("the page has every kind of read");
        assert_eq!(watched(&element, 0), names(row[1]), "{name}");
        if element != Element::Whole {
            assert_eq!(watched(&element, 1), BTreeSet::from(["Create", "Delete"]), "{name} of another part");
        }
    }
}

/// Whether a schema lets the operation meet a read of this part.
fn is_of(element: &Element, operation: &Operation) -> bool {
    let kind = CellState::empty_for(operation).name();
    let own = match element {
        Element::Whole => return true,
        Element::Member(_) | Element::UpTo(_) if kind == "merging set" => return true,
        Element::Member(_) | Element::UpTo(_) => "set",
        Element::Entry(_) => "map",
        Element::Index(_) | Element::Slice { .. } => "list",
        Element::Author(_) => "text",
    };
    kind == own || kind == "row"
}
