//! Schemas: canonical form, clear errors, additive change, and checks of reads and writes.

use super::*;
use crate::{Cell, Element, Operation, OperationError, Read, RowKey, Write};

const NOTES: &str = r#"{"tables":{"notes":{"columns":{
    "id":{"type":"id"}, "title":{"type":"string"}, "stars":{"type":"int","default":0}, "votes":{"type":"counter"},
    "tags":{"type":"set","of":"string"}, "log":{"type":"list","of":"int","order":"commit"}, "meta":{"type":"map","of":"float"},
    "owner":{"type":"register","of":"string","optional":true}},
  "key":["id"]}}}"#;

fn error(json: &str) -> String {
    Schema::from_json(json).expect_err("a bad schema").to_string()
}

fn table(columns: &str, rest: &str) -> String {
    format!(r#"{{"tables":{{"t":{{"columns":{{{columns}}},"key":["id"]{rest}}}}}}}"#)
}

#[test]
fn json_is_canonical() {
    let schema = Schema::from_json(NOTES).expect("a good schema");
    let json = schema.to_json();
    assert!(
        json.starts_with(
            r#"{"tables":{"notes":{"columns":{"id":{"type":"id"},"log":{"of":"int","order":"commit","type":"list"}"#
        ),
        "{json}"
    );
    let again = Schema::from_json(&json).expect("its own output");
    assert_eq!(again, schema);
    assert_eq!(again.hash(), schema.hash());
}

#[test]
fn what_is_not_built_is_refused_with_its_name() {
    let id = r#""id":{"type":"id"}"#;
    assert_eq!(
        error(&table(id, r#","isolation":"serializable""#)),
        r#"schema, table "t": isolation is one of strict-serializable, snapshot, read-committed, not "serializable""#
    );
}

#[test]
fn a_table_that_syncs_says_how_and_holds_scalars_and_blobs() {
    let id = r#""id":{"type":"id"},"photo":{"type":"blob"}"#;
    let causal = table(id, r#","consistency":"causal","onConflict":"manual""#);
    let schema = Schema::from_json(&causal).expect("a good schema");
    assert!(schema.to_json().contains(r#""consistency":"causal""#) && !schema.to_json().contains("isolation"));
    assert_eq!(Schema::from_json(&schema.to_json()), Ok(schema));
    let cases = [
        (r#","consistency":"eventual","isolation":"snapshot""#, "eventual has no isolation to choose"),
        (r#","consistency":"eventual","offline":"refuse""#, "takes changes offline"),
        (r#","consistency":"eventual","onConflict":"manual""#, "onConflict belongs to causal tables"),
        (r#","consistency":"causal","onConflict":"later""#, r#"onConflict is manual or merge, not "later""#),
        (r#","consistency":"causal","onConflict":"manual","delivered":true"#, "has no delivered view"),
    ];
    for (policy, problem) in cases {
        let told = error(&table(id, policy));
        assert!(told.contains(problem), "{policy}: {told}");
    }
    let merging = error(&table(r#""id":{"type":"id"},"n":{"type":"counter"}"#, r#","consistency":"eventual""#));
    assert!(merging.contains(r#"column "n""#) && merging.contains("this is a counter, which merges"), "{merging}");
}

#[test]
fn mistakes_are_named_with_their_place() {
    let cases = [
        (table(r#""id":{"type":"it"}"#, ""), r#"schema, table "t", column "id": unknown type "it""#),
        (
            table(r#""id":{"type":"float"}"#, ""),
            r#"schema, table "t", column "id": a float cannot be in a primary key"#,
        ),
        (
            table(r#""x":{"type":"int"}"#, ""),
            r#"schema, table "t", column "id": the primary key names it, but there is no such column"#,
        ),
        (
            table(r#""id":{"type":"id"},"s":{"type":"set"}"#, ""),
            r#"schema, table "t", column "s": set needs an element type ("of")"#,
        ),
        (
            table(r#""id":{"type":"id"},"n":{"type":"int","default":"x"}"#, ""),
            r#"schema, table "t", column "n": its default "x" is not of type int"#,
        ),
        (
            table(r#""id":{"type":"id"},"n":{"type":"counter","default":1}"#, ""),
            r#"schema, table "t", column "n": only scalars and registers have defaults"#,
        ),
        (
            table(r#""id":{"type":"id"},"n":{"type":"int"}"#, r#","live":true"#),
            r#"schema, table "t", column "n": in a live table nobody inserts rows: make the column optional or give it a default"#,
        ),
        (
            table(r#""id":{"type":"id"},"a b":{"type":"int"}"#, ""),
            r#"schema, table "t", column "a b": a name is a letter, then letters, digits and underscores, 64 at most"#,
        ),
    ];
    for (json, expected) in cases {
        assert_eq!(error(&json), expected);
    }
    assert!(error("{").starts_with("schema: "));
    assert!(error(r#"{"tables":{},"extra":1}"#).contains("unknown field"));
}

#[test]
fn a_schema_grows_by_adding_and_by_nothing_else() {
    let old = Schema::from_json(&table(r#""id":{"type":"id"},"n":{"type":"int"}"#, "")).expect("good");
    let more =
        Schema::from_json(&table(r#""id":{"type":"id"},"n":{"type":"int"},"m":{"type":"counter"}"#, "")).expect("good");
    let merged = old.merged_with(&more).expect("additive");
    assert_eq!(merged, more);
    assert!(merged.covers(&old) && !old.covers(&more));
    let changed = Schema::from_json(&table(r#""id":{"type":"id"},"n":{"type":"string"}"#, "")).expect("good");
    assert!(old.merged_with(&changed).expect_err("another type").to_string().contains("defined otherwise"));
    let needy =
        Schema::from_json(&table(r#""id":{"type":"id"},"n":{"type":"int"},"k":{"type":"int"}"#, "")).expect("good");
    assert!(old.merged_with(&needy).expect_err("needy").to_string().contains("optional or have a default"));
}

fn cell(column: &str) -> Cell {
    let row = RowKey::new(&[Value::Id(crate::Id::from_u128(1))]).expect("short");
    Cell { table: TableId::of("notes"), row, column: ColumnId::of(column) }
}

#[test]
fn writes_have_to_fit_the_column() {
    let schema = Schema::from_json(NOTES).expect("good");
    let good = [
        ("title", Operation::Put(Value::from("x"))),
        ("votes", Operation::Add(1)),
        ("tags", Operation::Insert(Value::from("x"))),
        ("owner", Operation::Assign(Value::Null)),
        ("log", Operation::Append { value: Value::Int(1), order: ListOrder::Commit }),
        ("meta", Operation::PutEntry { key: "k".into(), value: Value::Float(1.0) }),
    ];
    for (column, operation) in good {
        assert_eq!(schema.check_write(&Write { cell: cell(column), operation }), Ok(()));
    }
    let bad = [
        ("title", Operation::Put(Value::Int(1))),
        ("title", Operation::Put(Value::Null)),
        ("title", Operation::Add(1)),
        ("tags", Operation::Insert(Value::Int(1))),
        ("log", Operation::Append { value: Value::Int(1), order: ListOrder::Strict }),
        ("votes", Operation::Create),
        ("meta", Operation::PutEntry { key: "k".into(), value: Value::Float(f64::NAN) }),
        ("meta", Operation::PutEntry { key: "k".into(), value: Value::Float(-0.0) }),
    ];
    for (column, operation) in bad {
        let checked = schema.check_write(&Write { cell: cell(column), operation });
        assert!(matches!(checked, Err(OperationError::Type { .. })), "{column}: {checked:?}");
    }
    let unknown = schema.check_write(&Write { cell: cell("id"), operation: Operation::Put(Value::Int(1)) });
    assert!(matches!(unknown, Err(OperationError::UnknownColumn { .. })), "key columns are not cells");
}

#[test]
fn what_does_not_fit_is_told_in_words_without_its_value() {
    let schema = Schema::from_json(NOTES).expect("good");
    let write = Write { cell: cell("tags"), operation: Operation::Insert(Value::Int(4711)) };
    let error = schema.check_write(&write).expect_err("tags are strings");
    let words = r#"column "tags" of table "notes" is a set, and it was asked to insert a member: int"#;
    assert_eq!(error.to_string(), words);
    let read = Read::Cell { cell: cell("title"), element: Element::Member(Value::from("secret")) };
    let error = schema.check_read(&read).expect_err("a title has no members");
    let words = r#"column "title" of table "notes" is a string, and it was asked for a member: string"#;
    assert_eq!(error.to_string(), words);
}

#[test]
fn reads_have_to_fit_the_column_and_keys_the_table() {
    let schema = Schema::from_json(NOTES).expect("good");
    let member = |value: Value| Read::Cell { cell: cell("tags"), element: Element::Member(value) };
    assert_eq!(schema.check_read(&member(Value::from("x"))), Ok(()));
    assert!(matches!(schema.check_read(&member(Value::Int(1))), Err(OperationError::Type { .. })));
    let mut wrong_key = cell("title");
    wrong_key.row = RowKey::new(&[Value::Int(1)]).expect("short");
    let read = Read::Cell { cell: wrong_key, element: Element::Whole };
    assert!(matches!(schema.check_read(&read), Err(OperationError::Key { .. })));
}

mod blobs;
mod defaults;
mod indexes;
mod merging;
