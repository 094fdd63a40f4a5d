//! `live` operations: a mutation that is a list of operations on cells, and needs no closure of the app.
//!
//! Invariant: what is stored names tables, columns and values as people do, so it means the same to a later version of the app, and can be shown.
//! Source: operations outside of transactions (Zhang 2017, section 3.2.3).

mod edits;

use iolite_values::{
    Cell, Column, ColumnId, ColumnType, Operation, OperationError, RowKey, Scalar, Schema, Table, TableId, Value, Write,
};
use serde_json::{Map, Value as Json};

use crate::transaction::{Closed, RunError, Transaction};

/// The name of such a mutation. Names that begin so are not for apps.
pub const LIVE: &str = "$live";

/// The arguments of the mutation that makes these changes of columns, in JSON.
///
/// # Errors
/// [`OperationError`] of the first that does not fit the schema; rows are created and deleted by mutators only.
pub fn live_arguments(schema: &Schema, writes: &[Write]) -> Result<String, OperationError> {
    let steps = writes.iter().map(|write| {
        schema.check_asked(write)?;
        let (name, table) = schema.find(write.cell.table)?;
        let unfit = || OperationError::LifeOfLiveRow { table: name.into() };
        let (column, definition) = table.column(write.cell.column).ok_or_else(unfit)?;
        let key: Vec<Json> =
            table.key_types().zip(write.cell.row.values()?).map(|(scalar, value)| scalar.to_json(&value)).collect();
        let mut step = written(definition, &write.operation).ok_or_else(unfit)?;
        step.extend([("table", name.into()), ("key", key.into()), ("column", column.into())].map(named));
        Ok(Json::Object(step))
    });
    Ok(Json::Array(steps.collect::<Result<_, OperationError>>()?).to_string())
}

/// Runs the mutation with these arguments.
pub(crate) fn run(transaction: &mut Transaction<'_>, arguments: &str) -> Closed {
    let Ok(Json::Array(steps)) = serde_json::from_str(arguments) else {
        return Closed::Failed("its arguments are not those of live operations".into());
    };
    for step in steps {
        let Some(Write { cell, operation }) = read(transaction.schema(), &step) else {
            return Closed::Failed(format!("the app's schema has no such column any more: {step}"));
        };
        match transaction.write(cell, operation) {
            // A run that was stopped goes on, to learn what else it misses.
            Ok(()) | Err(RunError::Stopped) => {}
            Err(error) => return Closed::Failed(error.to_string()),
        }
    }
    Closed::Returned
}

/// What these arguments write. Nothing of a step that the schema does not have.
pub(crate) fn writes(schema: &Schema, arguments: &str) -> Vec<Write> {
    let steps: Vec<Json> = serde_json::from_str(arguments).unwrap_or_default();
    steps.iter().filter_map(|step| read(schema, step)).collect()
}

fn named((name, value): (&str, Json)) -> (String, Json) {
    (name.to_owned(), value)
}

/// What it does, with what.
fn written(column: &Column, operation: &Operation) -> Option<Map<String, Json>> {
    let json = |value: &Value| column.kind.element().to_json(value);
    let whole = |name: &str, number: i64| (name.to_owned(), Scalar::Int.to_json(&Value::Int(number)));
    let (what, with) = match operation {
        Operation::Put(value) | Operation::Assign(value) => ("set", vec![named(("to", json(value)))]),
        Operation::PutTotal(total) => ("setTotal", vec![whole("to", *total)]),
        Operation::Add(amount) => ("increment", vec![whole("by", *amount)]),
        Operation::Insert(value) => ("add", vec![named(("value", json(value)))]),
        Operation::Remove(value) => ("delete", vec![named(("value", json(value)))]),
        Operation::Append { value, order: _ } => ("push", vec![named(("value", json(value)))]),
        Operation::SetAt { index, value } => {
            ("setAt", vec![named(("index", (*index).into())), named(("to", json(value)))])
        }
        Operation::PutEntry { key, value } => {
            ("setEntry", vec![named(("entry", key.as_ref().into())), named(("to", json(value)))])
        }
        Operation::RemoveEntry { key } => ("deleteEntry", vec![named(("entry", key.as_ref().into()))]),
        Operation::Edit(edit) => return Some(edits::written(edit)),
        Operation::Create | Operation::Delete | Operation::Merge(_) => return None,
    };
    Some([named(("do", what.into()))].into_iter().chain(with).collect())
}

/// `None`: the schema has no such column any more, or one of another type.
fn read(schema: &Schema, step: &Json) -> Option<Write> {
    let name = step["table"].as_str()?;
    let (table, column_name) = (schema.table(name)?, step["column"].as_str()?);
    let column = table.columns.get(column_name)?;
    let row = read_key(table, step["key"].as_array()?)?;
    let cell = Cell { table: TableId::of(name), row, column: ColumnId::of(column_name) };
    let value = |part: &str| match &step[part] {
        Json::Null => Some(Value::Null),
        json => column.kind.element().from_json(json),
    };
    let integer = |part: &str| match value(part)? {
        Value::Int(number) => Some(number),
        _ => None,
    };
    let entry = || step["entry"].as_str().map(Into::into);
    let operation = match (step["do"].as_str()?, column.kind) {
        ("set", ColumnType::Register(_)) => Operation::Assign(value("to")?),
        ("set", _) => Operation::Put(value("to")?),
        ("setTotal", _) => Operation::PutTotal(integer("to")?),
        ("increment", _) => Operation::Add(integer("by")?),
        ("add", _) => Operation::Insert(value("value")?),
        ("delete", _) => Operation::Remove(value("value")?),
        ("push", ColumnType::List { of: _, order }) => Operation::Append { value: value("value")?, order },
        ("setAt", _) => Operation::SetAt { index: u32::try_from(step["index"].as_u64()?).ok()?, value: value("to")? },
        ("setEntry", _) => Operation::PutEntry { key: entry()?, value: value("to")? },
        ("deleteEntry", _) => Operation::RemoveEntry { key: entry()? },
        ("edit", _) => Operation::Edit(edits::read(step)?.into()),
        _ => return None,
    };
    Some(Write { cell, operation })
}

fn read_key(table: &Table, key: &[Json]) -> Option<RowKey> {
    let values = table.key_types().zip(key).map(|(scalar, json)| scalar.from_json(json));
    RowKey::new(&values.collect::<Option<Vec<_>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use iolite_values::{Author, Edit, Insertion, ListOrder, Unit, UnitRange};

    use super::*;

    const SCHEMA: &str = r#"{"tables":{"t":{"columns":{"id":{"type":"id"},"place":{"type":"int"},
        "flag":{"type":"bool","default":false},"ratio":{"type":"float","optional":true},"raw":{"type":"bytes","optional":true},
        "owner":{"type":"register","of":"id","optional":true},"votes":{"type":"counter"},"tags":{"type":"set","of":"string"},
        "log":{"type":"list","of":"int","order":"commit"},"parts":{"type":"map","of":"int"},"body":{"type":"text"}},"key":["id","place"],"live":true}}}"#;

    fn write(column: &str, operation: Operation) -> Write {
        let id = iolite_values::Id::from_u128(77);
        let row = RowKey::new(&[Value::Id(id), Value::Int(-4)]).expect("short");
        Write { cell: Cell { table: TableId::of("t"), row, column: ColumnId::of(column) }, operation }
    }

    fn edit(inserted: Option<(&str, Option<Unit>, Option<Unit>)>, removed: &[(u64, u32, u32)]) -> Operation {
        let first = Unit::new(Author(7), 2);
        let inserted = inserted.map(|(text, left, right)| Insertion { first, left, right, text: text.into() });
        let range = |(author, from, length): &(u64, u32, u32)| UnitRange {
            author: Author(*author),
            from: *from,
            length: *length,
        };
        Operation::Edit(Edit { inserted, removed: removed.iter().map(range).collect() }.into())
    }

    fn all() -> Vec<Write> {
        let id = Value::Id(iolite_values::Id::from_u128(5));
        vec![
            write("flag", Operation::Put(Value::Bool(true))),
            write("ratio", Operation::Put(Value::float(f64::NEG_INFINITY).expect("a number"))),
            write("ratio", Operation::Put(Value::Null)),
            write("ratio", Operation::Put(Value::float(-0.1).expect("a number"))),
            write("raw", Operation::Put(Value::bytes([0, 255]))),
            write("owner", Operation::Assign(id)),
            write("votes", Operation::Add(i64::MIN)),
            write("votes", Operation::PutTotal(i64::MAX)),
            write("tags", Operation::Insert(Value::from("a \"b\""))),
            write("tags", Operation::Remove(Value::from(""))),
            write("log", Operation::Append { value: Value::Int(3), order: ListOrder::Commit }),
            write("log", Operation::SetAt { index: 9, value: Value::Int(1 << 60) }),
            write("parts", Operation::PutEntry { key: "k".into(), value: Value::Int(2) }),
            write("parts", Operation::RemoveEntry { key: "k".into() }),
            write("body", edit(Some(("a\n\u{1fa91}", None, Some(Unit::new(Author::LAST, 4)))), &[])),
            write("body", edit(Some(("b", Some(Unit::new(Author(2), 0)), None)), &[(2, 0, 1), (3, 7, 9)])),
            write("body", edit(None, &[(2, 0, 1)])),
        ]
    }

    #[test]
    fn every_operation_on_a_column_reads_back() {
        let schema = Schema::from_json(SCHEMA).expect("valid");
        let json = live_arguments(&schema, &all()).expect("they fit");
        let steps: Vec<Json> = serde_json::from_str(&json).expect("its own");
        let read: Option<Vec<Write>> = steps.iter().map(|step| read(&schema, step)).collect();
        assert_eq!(read, Some(all()));
    }

    #[test]
    fn it_can_be_read_by_people() {
        let schema = Schema::from_json(SCHEMA).expect("valid");
        let json = live_arguments(&schema, &[write("votes", Operation::Add(2))]).expect("it fits");
        let key = format!("{:032x}", 77);
        assert_eq!(json, format!(r#"[{{"by":2,"column":"votes","do":"increment","key":["{key}",-4],"table":"t"}}]"#));
    }

    #[test]
    fn what_does_not_fit_is_an_error_at_once() {
        let schema = Schema::from_json(SCHEMA).expect("valid");
        let refused = |write: Write| live_arguments(&schema, &[write]).is_err();
        assert!(refused(write("votes", Operation::Put(Value::Int(1)))));
        assert!(refused(write("tags", Operation::Insert(Value::Int(1)))));
        assert!(refused(write("nothing", Operation::Add(1))));
        let life = write("votes", Operation::Delete);
        assert!(refused(Write { cell: Cell { column: ColumnId::ROW, ..life.cell }, operation: life.operation }));
    }
}
