//! Secondary indexes of a schema, and queries that do not fit it.

use std::sync::Arc;

use super::{NOTES, error, table};
use crate::schema::QueryError;
use crate::{AnyOf, ColumnId, Condition, Field, Interest, OperationError, Query, Schema, TableId, Test, Value};

fn indexed(indexes: &str) -> Schema {
    let json = NOTES.replace(r#""key":["id"]"#, &format!(r#""key":["id"],"indexes":{{{indexes}}}"#));
    Schema::from_json(&json).expect("a good schema")
}

fn by_owner() -> Schema {
    indexed(r#""byOwner":["owner","stars"]"#)
}

fn check(schema: &Schema, query: Query) -> Result<(), QueryError> {
    match schema.check_interest(&Interest::Query(Arc::new(query))) {
        Ok(()) => Ok(()),
        Err(OperationError::Query(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

fn notes() -> Query {
    Query::all(TableId::of("notes"), false)
}

fn asks(field: Field, test: Test) -> Query {
    Query { conditions: vec![Condition { field, test }], ..notes() }
}

#[test]
fn indexes_are_in_the_canonical_json_and_only_if_there_are_any() {
    let schema = by_owner();
    assert!(schema.to_json().contains(r#""consistency":"strong","indexes":{"byOwner":["owner","stars"]},"isolation""#));
    assert_eq!(Schema::from_json(&schema.to_json()), Ok(schema));
    assert!(!Schema::from_json(NOTES).expect("good").to_json().contains("indexes"));
}

#[test]
fn mistakes_in_an_index_are_named() {
    let id = r#""id":{"type":"id"},"tags":{"type":"set","of":"string"},"n":{"type":"int"}"#;
    let cases = [
        (r#"{"by":["m"]}"#, r#"schema, table "t": index "by": there is no column "m""#),
        (r#"{"by":["tags"]}"#, r#"schema, table "t": index "by": column "tags" is a set, which has no order"#),
        (r#"{"by":["n","n"]}"#, r#"schema, table "t": index "by": it names column "n" twice"#),
        (r#"{"by":[]}"#, r#"schema, table "t": index "by": it needs 1 to 8 columns"#),
        (
            r#"{"2":["n"]}"#,
            r#"schema, table "t": index "2": a name is a letter, then letters, digits and underscores, 64 at most"#,
        ),
    ];
    for (indexes, expected) in cases {
        assert_eq!(error(&table(id, &format!(r#","indexes":{indexes}"#))), expected);
    }
    let good = Schema::from_json(&table(id, "")).expect("good");
    let twice = good.table("t").expect("it is there").clone();
    let twice =
        twice.indexed("t", "by", vec!["n".into()]).and_then(|table| table.indexed("t", "by", vec!["id".into()]));
    let problem = twice.expect_err("a name that is taken").to_string();
    assert_eq!(problem, r#"schema, table "t": index "by": there is one of this name already"#);
}

#[test]
fn an_index_is_added_later_and_never_changed() {
    let (plain, schema) = (Schema::from_json(NOTES).expect("good"), by_owner());
    assert_eq!(plain.merged_with(&schema), Ok(schema.clone()));
    assert!(schema.covers(&plain) && !plain.covers(&schema));
    let other = indexed(r#""byOwner":["stars"]"#);
    let problem = schema.merged_with(&other).expect_err("another index").to_string();
    assert!(problem.contains(r#"index "byOwner" is of other columns"#), "{problem}");
    let more = indexed(r#""byStars":["stars"]"#);
    let both = schema.merged_with(&more).expect("additive");
    assert!(both.covers(&schema) && both.covers(&more));
}

#[test]
fn a_field_says_as_what_it_counts_where_nothing_was_written() {
    let schema = by_owner();
    let notes = schema.table("notes").expect("it is there");
    let cell = |name, absent| Some(Field::Cell { column: ColumnId::of(name), absent });
    assert_eq!(notes.field("id"), Some(Field::Key(0)));
    assert_eq!(notes.field("stars"), cell("stars", Value::Int(0)));
    assert_eq!(notes.field("votes"), cell("votes", Value::Int(0)));
    assert_eq!(notes.field("owner"), cell("owner", Value::Null));
    assert_eq!(
        notes.index_fields("byOwner"),
        Some([notes.field("owner"), notes.field("stars")].map(Option::unwrap).into())
    );
}

#[test]
fn a_query_by_an_index_that_is_not_declared_is_refused() {
    let schema = by_owner();
    let notes_table = schema.table("notes").expect("it is there");
    let declared = Query { index: notes_table.index_fields("byOwner").expect("declared"), ..notes() };
    assert_eq!(check(&schema, declared.clone()), Ok(()));
    let fields = declared.index[..1].to_vec();
    let error = check(&schema, Query { index: fields.clone(), ..notes() });
    assert_eq!(error, Err(QueryError::NoIndex { table: "notes".into(), fields }));
    assert!(matches!(check(&Schema::from_json(NOTES).expect("good"), declared), Err(QueryError::NoIndex { .. })));
}

#[test]
fn a_query_asks_of_each_column_what_its_type_has() {
    let schema = by_owner();
    let field = |name| schema.table("notes").and_then(|table| table.field(name)).expect("a column");
    let good = [
        ("title", Test::BeginsWith("a".into())),
        ("owner", Test::Equal(Value::Null)),
        ("votes", Test::Greater(Value::Int(3))),
        ("tags", Test::Contains(Value::from("a"))),
        ("id", Test::NotEqual(Value::Id(crate::Id::from_u128(1)))),
    ];
    for (name, test) in good {
        assert_eq!(check(&schema, asks(field(name), test)), Ok(()), "{name}");
    }
    let bad = [
        ("title", Test::Equal(Value::Int(1))),
        ("title", Test::Equal(Value::Null)),
        ("owner", Test::Less(Value::Null)),
        ("stars", Test::BeginsWith("a".into())),
        ("tags", Test::Equal(Value::from("a"))),
        ("tags", Test::Contains(Value::Int(1))),
        ("meta", Test::Contains(Value::from("a"))),
    ];
    for (name, test) in bad {
        assert!(matches!(check(&schema, asks(field(name), test)), Err(QueryError::Type { .. })), "{name}");
    }
    let other_absent = Field::Cell { column: ColumnId::of("stars"), absent: Value::Int(1) };
    assert!(matches!(check(&schema, asks(other_absent, Test::Equal(Value::Int(1)))), Err(QueryError::NoField { .. })));
    assert!(matches!(check(&schema, asks(Field::Key(1), Test::Equal(Value::Int(1)))), Err(QueryError::NoField { .. })));
    assert!(matches!(check(&schema, Query { live: true, ..notes() }), Err(QueryError::Life { .. })));
}

#[test]
fn a_query_has_so_many_conditions() {
    let schema = by_owner();
    let field = schema.table("notes").and_then(|table| table.field("stars")).expect("a column");
    let condition = Condition { field, test: Test::Equal(Value::Int(1)) };
    let of = |count| Query { conditions: vec![condition.clone(); count], ..notes() };
    assert_eq!(check(&schema, of(Query::CONDITIONS_MAX)), Ok(()));
    assert!(matches!(
        check(&schema, of(Query::CONDITIONS_MAX + 1)),
        Err(QueryError::TooMany { max: Query::CONDITIONS_MAX, .. })
    ));
    let with_alternatives = |count| {
        let any_of = vec![AnyOf(vec![vec![condition.clone(); 2], vec![condition.clone(); count - 3]])];
        Query { conditions: vec![condition.clone()], any_of, ..notes() }
    };
    assert_eq!(check(&schema, with_alternatives(Query::CONDITIONS_MAX)), Ok(()));
    assert!(matches!(
        check(&schema, with_alternatives(Query::CONDITIONS_MAX + 1)),
        Err(QueryError::TooMany { max: Query::CONDITIONS_MAX, .. })
    ));
}

#[test]
fn alternatives_are_asked_like_conditions_that_stand_alone_and_each_asks_something() {
    let schema = by_owner();
    let field = |name| schema.table("notes").and_then(|table| table.field(name)).expect("a column");
    let of = |any_of: Vec<Vec<Condition>>| Query { any_of: vec![AnyOf(any_of)], ..notes() };
    let owner = || Condition { field: field("owner"), test: Test::Equal(Value::from("ann")) };
    let tagged = |test| Condition { field: field("tags"), test };
    let good = of(vec![vec![owner()], vec![tagged(Test::Contains(Value::from("a")))]]);
    assert_eq!(check(&schema, good), Ok(()));
    let bad = of(vec![vec![owner()], vec![owner(), tagged(Test::Equal(Value::from("secret")))]]);
    let error = check(&schema, bad).expect_err("a set is equal to nothing").to_string();
    assert!(error.ends_with("is a set, and a query asked of it whether it is equal to: string"), "{error}");
    for nothing in [vec![], vec![vec![]], vec![vec![owner()], vec![]]] {
        assert_eq!(check(&schema, of(nothing)), Err(QueryError::NoAlternative { table: "notes".into() }));
    }
}

#[test]
fn a_condition_names_so_many_values() {
    let schema = by_owner();
    let field = schema.table("notes").and_then(|table| table.field("stars")).expect("a column");
    let of = |count: i64| asks(field.clone(), Test::OneOf((0..count).map(Value::Int).collect()));
    assert_eq!(check(&schema, of(Test::VALUES_MAX as i64)), Ok(()));
    assert!(matches!(
        check(&schema, of(Test::VALUES_MAX as i64 + 1)),
        Err(QueryError::TooMany { max: Test::VALUES_MAX, .. })
    ));
}

#[test]
fn the_conditions_of_a_query_take_so_many_bytes() {
    let schema = by_owner();
    let field = schema.table("notes").and_then(|table| table.field("title")).expect("a column");
    let of = |bytes: usize| {
        let begins =
            |bytes: usize| Condition { field: field.clone(), test: Test::BeginsWith("x".repeat(bytes).into()) };
        let mut query = Query { conditions: vec![begins(9), begins(0)], ..notes() };
        let rest = bytes - query.conditions_bytes();
        query.conditions[1] = begins(rest);
        query
    };
    assert_eq!(check(&schema, of(Query::CONDITIONS_BYTES_MAX)), Ok(()));
    let as_alternatives = |own: Query| {
        let alternatives = own.conditions.into_iter().map(|condition| vec![condition]).collect();
        Query { any_of: vec![AnyOf(alternatives)], ..notes() }
    };
    assert!(matches!(
        check(&schema, as_alternatives(of(Query::CONDITIONS_BYTES_MAX))),
        Err(QueryError::TooMany { max: Query::CONDITIONS_BYTES_MAX, .. })
    ));
    assert!(matches!(
        check(&schema, of(Query::CONDITIONS_BYTES_MAX + 1)),
        Err(QueryError::TooMany { max: Query::CONDITIONS_BYTES_MAX, .. })
    ));
}
