//! The limits of keys, schemas and timestamps, each met and passed by one. They are listed in docs/limits.md.

use std::collections::BTreeMap;

use iolite_values::{
    Blob, Column, ColumnType, CoordinatorId, Cutting, Edit, Effect, HybridTime, IndexKey, KeyError, Query, RowKey,
    Scalar, Schema, Table, Test, Timestamp, Tree, Value,
};

fn named(prefix: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{prefix}{number}"))
}

fn columns(count: usize) -> BTreeMap<String, Column> {
    named("c", count).map(|name| (name, Column::of(ColumnType::Scalar(Scalar::Int)))).collect()
}

fn table(name: &str, count: usize) -> Result<Table, String> {
    Table::new(name, vec!["c0".into()], columns(count)).map_err(|error| error.to_string())
}

#[test]
fn a_key_has_a_length() {
    // A tag before and an end behind.
    let longest = "x".repeat(RowKey::MAX_BYTES - 2);
    assert!(RowKey::new(&[Value::from(longest.clone())]).is_ok());
    let bytes = RowKey::MAX_BYTES + 1;
    assert_eq!(RowKey::new(&[Value::from(longest + "x")]), Err(KeyError::TooLong { bytes }));
    let from_a_peer = [&[0x30], "x".repeat(RowKey::MAX_BYTES - 1).as_bytes(), &[0]].concat();
    assert_eq!(RowKey::from_bytes(&from_a_peer), Err(KeyError::TooLong { bytes }));
}

#[test]
fn a_table_has_so_many_columns() {
    assert!(table("t", Table::COLUMNS_MAX).is_ok());
    let error = table("t", Table::COLUMNS_MAX + 1).expect_err("one too many");
    assert!(error.contains(&format!("more than {} columns", Table::COLUMNS_MAX)), "{error}");
}

#[test]
fn a_table_has_so_many_indexes() {
    let indexed = |count| {
        let all = named("i", count);
        all.fold(Table::new("t", vec!["c0".into()], columns(1)), |table, name| {
            table?.indexed("t", &name, vec!["c0".into()])
        })
    };
    assert!(indexed(Table::INDEXES_MAX).is_ok());
    let error = indexed(Table::INDEXES_MAX + 1).expect_err("one too many").to_string();
    assert!(error.contains(&format!("at most {} indexes", Table::INDEXES_MAX)), "{error}");
}

#[test]
fn an_index_has_so_many_columns() {
    let table = Table::new("t", vec!["c0".into()], columns(10)).expect("a good table");
    let indexed = |count| table.clone().indexed("t", "i", named("c", count).collect());
    assert!(indexed(Table::INDEX_COLUMNS_MAX).is_ok());
    let error = indexed(Table::INDEX_COLUMNS_MAX + 1).expect_err("one too many").to_string();
    assert!(error.contains(&format!("1 to {} columns", Table::INDEX_COLUMNS_MAX)), "{error}");
}

#[test]
fn a_schema_has_so_many_tables() {
    let of =
        |count| Schema::new(named("t", count).map(|name| (name.clone(), table(&name, 1).expect("good"))).collect());
    assert!(of(Schema::TABLES_MAX).is_ok());
    let error = of(Schema::TABLES_MAX + 1).expect_err("one too many").to_string();
    assert!(error.contains(&format!("more than {} tables", Schema::TABLES_MAX)), "{error}");
}

#[test]
fn a_schema_has_a_length() {
    let json = |length: usize| format!(r#"{{"tables":{{}}{}}}"#, " ".repeat(length - r#"{"tables":{}}"#.len()));
    assert!(Schema::from_json(&json(Schema::JSON_BYTES_MAX)).is_ok());
    let error = Schema::from_json(&json(Schema::JSON_BYTES_MAX + 1)).expect_err("one too long").to_string();
    assert!(error.contains(&format!("longer than {} bytes as JSON", Schema::JSON_BYTES_MAX)), "{error}");
}

/// So many tables that their canonical JSON is a little over `bytes`.
fn tables_of(prefix: &str, bytes: usize) -> BTreeMap<String, Table> {
    let of = |count| named(prefix, count).map(|name| (name.clone(), table(&name, 100).expect("good")));
    let each = Schema::new(of(2).collect()).expect("small").to_json().len() / 2;
    of(bytes / each + 3).collect()
}

#[test]
fn a_schema_that_is_put_together_has_the_same_length() {
    let of_length = |prefix, bytes| Schema::new(tables_of(prefix, bytes));
    let error = of_length("t", Schema::JSON_BYTES_MAX).map(drop).expect_err("too long").to_string();
    assert!(error.contains(&format!("longer than {} bytes as JSON", Schema::JSON_BYTES_MAX)), "{error}");
    let half = |prefix| of_length(prefix, Schema::JSON_BYTES_MAX / 2).expect("it fits");
    let error = half("a").merged_with(&half("b")).map(drop).expect_err("too long together").to_string();
    assert!(error.contains(&format!("longer than {} bytes as JSON", Schema::JSON_BYTES_MAX)), "{error}");
}

#[test]
fn a_name_has_a_length() {
    assert!(Schema::new([("n".repeat(64), table("t", 1).expect("good"))].into()).is_ok());
    let error = Schema::new([("n".repeat(65), table("t", 1).expect("good"))].into()).expect_err("one too long");
    assert!(error.to_string().contains("64 at most"), "{error}");
}

#[test]
fn coordinators_are_numbered_to_a_limit() {
    assert!(CoordinatorId::new(CoordinatorId::MAX).is_some());
    assert_eq!(CoordinatorId::new(CoordinatorId::MAX + 1), None);
}

#[test]
fn times_past_the_last_one_are_held_at_it() {
    let last = CoordinatorId::new(CoordinatorId::MAX).expect("allowed");
    assert_eq!(Timestamp::new(u64::MAX, last), Timestamp::MAX);
    assert_eq!(Timestamp::end_of(u64::MAX), Timestamp::MAX);
}

/// Whether docs/limits.md has a row with this limit and this value.
fn is_on_page(limit: &str, value: &str) -> bool {
    include_str!("../../../docs/limits.md").lines().any(|line| line.starts_with(&format!("| `{limit}` | {value} |")))
}

#[test]
fn the_page_has_these_values() {
    let limits = [
        ("RowKey::MAX_BYTES", RowKey::MAX_BYTES as u64),
        ("Schema::TABLES_MAX", Schema::TABLES_MAX as u64),
        ("Table::COLUMNS_MAX", Table::COLUMNS_MAX as u64),
        ("Table::INDEXES_MAX", Table::INDEXES_MAX as u64),
        ("Table::INDEX_COLUMNS_MAX", Table::INDEX_COLUMNS_MAX as u64),
        ("IndexKey::VALUE_BYTES_MAX", IndexKey::VALUE_BYTES_MAX as u64),
        ("IndexKey::MAX_BYTES", IndexKey::MAX_BYTES as u64),
        ("Query::CONDITIONS_MAX", Query::CONDITIONS_MAX as u64),
        ("Query::CONDITIONS_BYTES_MAX", Query::CONDITIONS_BYTES_MAX as u64),
        ("Test::VALUES_MAX", Test::VALUES_MAX as u64),
        ("Schema::JSON_BYTES_MAX", Schema::JSON_BYTES_MAX as u64),
        ("Edit::TEXT_BYTES_MAX", Edit::TEXT_BYTES_MAX as u64),
        ("Edit::UNITS_MAX", Edit::UNITS_MAX.into()),
        ("Blob::INLINE_BYTES_MAX", Blob::INLINE_BYTES_MAX as u64),
        ("Blob::BYTES_MAX", Blob::BYTES_MAX),
        ("Cutting::CHUNK_BYTES_MAX", Cutting::CHUNK_BYTES_MAX as u64),
        ("Tree::NAMES_MAX", Tree::NAMES_MAX as u64),
        ("Tree::LEASES_MAX", Tree::LEASES_MAX as u64),
        ("Tree::NODE_NAMES_MAX", Tree::NODE_NAMES_MAX as u64),
        ("Effect::TRANSACTION_BYTES_MAX", Effect::TRANSACTION_BYTES_MAX as u64),
        ("CoordinatorId::MAX", CoordinatorId::MAX.into()),
        ("Timestamp::MAX", Timestamp::MAX.as_u64()),
    ];
    assert!(is_on_page("values::HybridTime::AHEAD_MAX", &format!("{}s", HybridTime::AHEAD_MAX.as_secs())));
    for (name, value) in limits {
        assert!(is_on_page(&format!("values::{name}"), &value.to_string()), "{name}: {value}");
    }
}
