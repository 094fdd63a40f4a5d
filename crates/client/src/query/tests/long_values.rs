//! Values about as long as what an index key has of one at most: whatever is asked, the plan selects what a plain look at each row does.

use iolite_values::{CellState, ColumnId, Row};

use super::*;

const FILES: &str = r#"{"tables":{"files":{"columns":{"id":{"type":"int"},"kind":{"type":"int"},"name":{"type":"string"},
    "raw":{"type":"bytes"}},"key":["id"],"indexes":{"byName":["name","kind"],"byKind":["kind","name"],"byRaw":["raw"]}}}}"#;

/// Around the bound, on either side of one another, and with a letter that the bound cuts.
fn values() -> Vec<Value> {
    let begins = "x".repeat(IndexKey::VALUE_BYTES_MAX - 2);
    let names =
        ["", "x", "y", "xx", "xy", "x\0", "xé", "xxx", "xxa", "xx\0", "xxxx"].map(|end| format!("{begins}{end}"));
    let raw = names.clone().map(|name| Value::bytes(name.into_bytes()));
    names.into_iter().map(Value::from).chain(raw).collect()
}

fn column_of(value: &Value) -> &'static str {
    if matches!(value, Value::String(_)) { "name" } else { "raw" }
}

fn with(value: &Value) -> Row {
    let cells = [
        (ColumnId::of("kind"), CellState::Scalar(Value::Int(1))),
        (ColumnId::of(column_of(value)), CellState::Scalar(value.clone())),
    ];
    Row::from_parts(true, cells)
}

/// Every comparison with a value.
fn tests(value: &Value) -> Vec<Test> {
    let compared = [Test::Equal, Test::NotEqual, Test::Less, Test::AtMost, Test::Greater, Test::AtLeast];
    let beginning = if let Value::String(text) = value { Some(Test::BeginsWith(text.clone())) } else { None };
    let one_of = Test::OneOf([value.clone()].into());
    compared.map(|compared| compared(value.clone())).into_iter().chain([one_of]).chain(beginning).collect()
}

/// Asks for rows of kind 1 whose value in a column satisfies tests, and looks at each value that it may have there.
fn check(column: &str, asked: &[(&str, Test)]) {
    let schema = Schema::from_json(FILES).expect("a good schema");
    let conditions = asked.iter().map(|(column, test)| ((*column).to_owned(), test.clone())).collect();
    let question = Question { conditions, ..Question::default() };
    let plan = question.plan(&schema, TableId::of("files")).expect("a good question");
    let (key, kind) = (RowKey::new(&[Value::Int(7)]).expect("short"), Value::Int(1));
    for value in values().iter().filter(|value| column_of(value) == column) {
        let holds = asked.iter().all(|(own, test)| test.holds(if *own == column { value } else { &kind }));
        assert_eq!(plan.query.selects(&key, &with(value)), holds, "{}", shown(&format!("{value:?} for {asked:?}")));
    }
}

/// The beginning that all values have says nothing.
fn shown(message: &str) -> String {
    message
        .replace(&"x".repeat(IndexKey::VALUE_BYTES_MAX - 2), "..")
        .replace(&"120, ".repeat(IndexKey::VALUE_BYTES_MAX - 2), ".. ")
}

#[test]
fn every_comparison_holds_for_the_values_that_it_says_whatever_their_length() {
    for value in values() {
        let column = column_of(&value);
        for test in tests(&value) {
            check(column, &[(column, test.clone())]);
            check(column, &[("kind", Test::Equal(Value::Int(1))), (column, test)]);
        }
    }
}

#[test]
fn what_lies_between_two_values_is_found_whatever_their_length() {
    let values = values();
    for (low, high) in values.iter().flat_map(|low| values.iter().map(move |high| (low, high))) {
        let column = column_of(low);
        if column != column_of(high) {
            continue;
        }
        for from in [Test::Greater(low.clone()), Test::AtLeast(low.clone())] {
            for to in [Test::Less(high.clone()), Test::AtMost(high.clone())] {
                check(column, &[(column, from.clone()), (column, to)]);
            }
        }
    }
}

#[test]
fn rows_stand_by_the_beginning_of_a_value_that_is_in_a_key_and_then_by_their_primary_keys() {
    let schema = Schema::from_json(FILES).expect("a good schema");
    for column in ["name", "raw"] {
        let question =
            Question { order: vec![(column.into(), Direction::Ascending)], limit: Some(9), ..Question::default() };
        let query = question.plan(&schema, TableId::of("files")).expect("an index has this order").query;
        let own = values().into_iter().filter(|value| column_of(value) == column);
        let mut rows: Vec<(Vec<u8>, i64, IndexKey)> = (0i64..)
            .zip(own)
            .map(|(id, value)| {
                let key = RowKey::new(&[Value::Int(-id)]).expect("short");
                let bytes = match &value {
                    Value::String(text) => text.as_bytes(),
                    Value::Bytes(bytes) => bytes,
                    other => panic!("{other:?} is not long"),
                };
                (
                    bytes[..bytes.len().min(IndexKey::VALUE_BYTES_MAX)].to_vec(),
                    -id,
                    query.index_key(&key, &with(&value)),
                )
            })
            .collect();
        rows.sort();
        assert!(rows.is_sorted_by_key(|(.., place)| place), "{rows:?}");
    }
}
