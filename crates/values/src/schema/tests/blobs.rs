//! Blobs in schemas: columns of their own, in no key, index, condition or default.

use super::*;
use crate::{Blob, BlobDigest, ChunkId, ChunkName, Condition, Cutting, Id, Interest, Query, Test, Tree};

const ALBUM: &str = r#"{"tables":{"photos":{"columns":{
    "id":{"type":"id"}, "photo":{"fetch":"on-demand","type":"blob"}, "thumbnail":{"optional":true,"type":"blob"}},
  "key":["id"]}}}"#;

fn album() -> Schema {
    Schema::from_json(ALBUM).expect("a good schema")
}

fn column_error(column: &str) -> String {
    let text = error(&table(&format!(r#""id":{{"type":"id"}},"photo":{column}"#), ""));
    text.strip_prefix(r#"schema, table "t", column "photo": "#).map(str::to_owned).unwrap_or(text)
}

fn put(column: &str, value: impl Into<Value>) -> Write {
    let row = RowKey::new(&[Value::Id(Id::from_u128(1))]).expect("short");
    let cell = Cell { table: TableId::of("photos"), row, column: ColumnId::of(column) };
    Write { cell, operation: Operation::Put(value.into()) }
}

#[test]
fn a_column_of_blobs_says_when_they_are_fetched() {
    let schema = album();
    assert!(schema.to_json().contains(r#""photo":{"fetch":"on-demand","type":"blob"}"#), "{}", schema.to_json());
    assert_eq!(Schema::from_json(&schema.to_json()).as_ref(), Ok(&schema));
    let with_row = Schema::from_json(&ALBUM.replace(r#""fetch":"on-demand","#, "")).expect("good");
    assert_eq!(with_row, Schema::from_json(&ALBUM.replace("on-demand", "with-row")).expect("good"));
    assert!(!with_row.to_json().contains("fetch"));
    assert!(with_row.merged_with(&schema).is_err_and(|error| error.to_string().contains("defined otherwise")));
}

#[test]
fn a_blob_is_in_no_key_index_default_or_collection() {
    let id = r#""id":{"type":"blob"}"#;
    assert_eq!(error(&table(id, "")), r#"schema, table "t", column "id": a blob cannot be in a primary key"#);
    let columns = r#""id":{"type":"id"},"photo":{"type":"blob"}"#;
    let indexed = error(&table(columns, r#","indexes":{"by_photo":["photo"]}"#));
    assert!(indexed.contains(r#"column "photo" is a blob, which has no order"#), "{indexed}");
    assert_eq!(column_error(r#"{"type":"blob","default":"00"}"#), "a blob column has no default: make it optional");
    for kind in ["set", "list", "map", "register"] {
        let problem = column_error(&format!(r#"{{"type":"{kind}","of":"blob"}}"#));
        assert_eq!(problem, format!("a {kind} has no blobs: a blob is a column of its own"));
    }
    assert_eq!(column_error(r#"{"type":"bytes","fetch":"on-demand"}"#), "fetch belongs to blobs, not to a bytes");
    assert_eq!(column_error(r#"{"type":"blob","fetch":"never"}"#), r#"fetch is with-row or on-demand, not "never""#);
}

#[test]
fn a_blob_column_takes_blobs_and_null_if_it_is_optional() {
    let blob = || Value::from(Blob::inline([1, 2]).expect("short"));
    assert_eq!(album().check_write(&put("photo", blob())), Ok(()));
    assert_eq!(album().check_write(&put("thumbnail", Value::Null)), Ok(()));
    assert!(album().check_write(&put("photo", Value::Null)).is_err());
    assert!(album().check_write(&put("photo", Value::bytes([1]))).is_err());
    assert!(matches!(RowKey::new(&[blob()]), Err(crate::KeyError::Type(_))));
}

#[test]
fn a_blob_column_takes_a_blob_with_chunks() {
    let length = 5000;
    let root = vec![ChunkName { lease: 0, id: ChunkId::of(&[0; 5000]) }];
    let digest = BlobDigest::of(Cutting::Fixed64K, [root[0].id], length);
    let tree = Tree::new(Cutting::Fixed64K, 0, Vec::new(), root).expect("a tree");
    let large = Blob::tree(length, digest, tree).expect("a blob");
    assert_eq!(album().check_write(&put("photo", large)), Ok(()));
}

#[test]
fn no_condition_asks_for_a_blob() {
    let schema = album();
    let field = schema.table("photos").and_then(|photos| photos.field("thumbnail")).expect("a column");
    for test in [Test::Equal(Value::Null), Test::NotEqual(Blob::inline([]).expect("short").into())] {
        let query = Query {
            conditions: vec![Condition { field: field.clone(), test }],
            ..Query::all(TableId::of("photos"), false)
        };
        let checked = schema.check_interest(&Interest::Query(query.into()));
        assert!(
            checked.is_err_and(|error| error.to_string().contains(r#"column "thumbnail" of table "photos" is a blob"#))
        );
    }
}
