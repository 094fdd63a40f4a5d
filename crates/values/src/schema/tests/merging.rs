//! Tables that merge.

use super::*;
use crate::{Domain, Effect, HybridTime, Lives, Mark, Stamp, TableId, Value};

const COLUMNS: &str = r#""id":{"type":"int"},"by":{"type":"string"},"name":{"type":"register","of":"string"},
    "tags":{"type":"set","of":"int"},"visits":{"type":"counter"}"#;

fn merging() -> Schema {
    Schema::from_json(&table(COLUMNS, r#","consistency":"causal""#)).expect("a good schema")
}

fn write(column: &str, operation: Operation) -> Write {
    let column = if column.is_empty() { ColumnId::ROW } else { ColumnId::of(column) };
    let row = RowKey::new(&[Value::Int(1)]).expect("short");
    Write { cell: Cell { table: TableId::of("t"), row, column }, operation }
}

fn merge(column: &str, effect: Effect) -> Write {
    write(column, Operation::Merge(effect.into()))
}

fn assign(value: Value) -> Effect {
    Effect::Assign { stamp: Stamp { time: HybridTime(1), mark: Mark(1) }, value }
}

#[test]
fn a_causal_table_merges_unless_it_says_otherwise() {
    let json = merging().to_json();
    assert!(json.ends_with(r#""live":false,"offline":"queue","onConflict":"merge","rows":"updates-win"}}}"#), "{json}");
    assert!(!json.contains("isolation"));
    let said =
        Schema::from_json(&table(COLUMNS, r#","consistency":"causal","onConflict":"merge","rows":"updates-win""#));
    assert_eq!((Schema::from_json(&json), said), (Ok(merging()), Ok(merging())));
    assert_eq!(merging().domain(&write("by", Operation::Create).cell), Domain::Causal);
    assert!(merging().merges(TableId::of("t")) && !merging().syncs(TableId::of("t")));
    let manual = table(r#""id":{"type":"int"}"#, r#","consistency":"causal","onConflict":"manual""#);
    assert!(!Schema::from_json(&manual).expect("a good schema").merges(TableId::of("t")));
}

#[test]
fn what_cannot_merge_is_an_error_that_says_what_to_do() {
    for (columns, rest, problem) in [
        (
            r#","x":{"type":"list","of":"int"}"#,
            "",
            "has no lists, whose order is that of one store: make each element a row",
        ),
        (r#","x":{"type":"map","of":"int"}"#, "", "maps that merge are not built yet: make each entry a row"),
        (r#","x":{"type":"text"}"#, "", "texts that merge are not built yet: take a register"),
        (
            r#","x":{"type":"blob"}"#,
            "",
            r#"has no blobs, whose chunks are leased from one store: make the table onConflict "manual""#,
        ),
        (
            r#","x":{"type":"set","of":"int","wins":"removes"}"#,
            "",
            "sets where removes win are not built yet: leave out wins",
        ),
        ("", r#","rows":"deletes-win""#, r#"rows where deletes win are not built yet: say rows "updates-win""#),
        ("", r#","rows":"all""#, r#"rows is updates-win, not "all""#),
        ("", r#","onConflict":"manual","rows":"updates-win""#, "rows belongs to tables that merge"),
        ("", r#","delivered":true"#, "has no delivered view: leave out `delivered`"),
        ("", r#","live":true"#, "is not live"),
        ("", r#","offline":"refuse""#, "takes changes offline"),
        ("", r#","isolation":"snapshot""#, "has no isolation to choose"),
    ] {
        let told =
            error(&table(&format!(r#""id":{{"type":"int"}}{columns}"#), &format!(r#","consistency":"causal"{rest}"#)));
        assert!(told.contains(problem), "{told}");
    }
}

#[test]
fn a_table_that_merges_takes_effects_of_its_columns_types_only() {
    let schema = merging();
    let (life, seven) = (Mark(1), Value::Int(7));
    let insert = |value| Effect::Insert { value, mark: life };
    for good in [
        merge("", Lives::insertion(life)),
        merge("by", assign(Value::from("me"))),
        merge("name", assign(Value::from("me"))),
        merge("tags", insert(seven.clone())),
        merge("visits", Effect::Add { life, amount: 1 }),
    ] {
        assert_eq!(schema.check_write(&good), Ok(()));
    }
    for bad in [
        merge("", Effect::Add { life, amount: 1 }),
        merge("visits", Lives::insertion(life)),
        merge("name", assign(seven.clone())),
        merge("tags", insert(Value::from("x"))),
    ] {
        assert!(matches!(schema.check_write(&bad), Err(OperationError::Type { .. })), "{bad:?}");
    }
    for plain in
        [write("visits", Operation::Add(1)), write("", Operation::Create), write("visits", Operation::PutTotal(1))]
    {
        assert_eq!(schema.check_write(&plain), Err(OperationError::NoEffect { table: "t".into() }));
    }
    let strong = Schema::from_json(&table(COLUMNS, "")).expect("a good schema");
    for effect in [merge("visits", Effect::Add { life, amount: 1 }), merge("", Lives::insertion(life))] {
        assert!(strong.check_write(&effect).is_err(), "{effect:?}");
    }
}
