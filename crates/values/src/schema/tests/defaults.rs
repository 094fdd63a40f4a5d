//! Defaults of columns: what a schema says survives its way through JSON, to the last digit.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::{Column, ColumnType, Scalar, Schema, SchemaError, Table, Value};

fn with_default(scalar: Scalar, default: Value) -> Result<Schema, SchemaError> {
    let id = ("id".to_owned(), Column::of(ColumnType::Scalar(Scalar::Id)));
    let mut column = Column::of(ColumnType::Scalar(scalar));
    column.default = Some(default);
    let columns = BTreeMap::from([id, ("n".to_owned(), column)]);
    Schema::new(BTreeMap::from([("t".to_owned(), Table::new("t", vec!["id".to_owned()], columns)?)]))
}

/// What a server makes of the schema that a client sends it.
fn sent(schema: &Schema) -> Schema {
    Schema::from_json(&schema.to_json()).expect("its own output")
}

#[test]
fn a_float_default_arrives_with_every_digit() {
    // Read by the quick way of `serde_json` this ends in ...394.
    let schema = with_default(Scalar::Float, Value::Float(31.245_270_191_439_438)).expect("good");
    assert_eq!(sent(&schema).hash(), schema.hash());
}

proptest! {
    #[test]
    fn every_finite_float_default_arrives_as_it_is(number in any::<f64>().prop_filter("finite", |number| number.is_finite())) {
        let schema = with_default(Scalar::Float, Value::float(number).expect("a number")).expect("good");
        prop_assert_eq!(sent(&schema), schema.clone());
        prop_assert_eq!(sent(&schema).hash(), schema.hash());
    }
}

#[test]
fn a_default_that_json_does_not_have_is_refused() {
    let error = |scalar, default| with_default(scalar, default).expect_err("no JSON").to_string();
    assert_eq!(
        error(Scalar::Float, Value::Float(f64::INFINITY)),
        r#"schema, table "t", column "n": its default inf is no finite number"#
    );
    assert_eq!(
        error(Scalar::Bytes, Value::Bytes(vec![1].into())),
        r#"schema, table "t", column "n": a bytes column has no default: make it optional"#
    );
}
