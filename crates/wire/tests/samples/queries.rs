//! Queries, and what is said of them.

use std::sync::Arc;

use iolite_values::{AnyOf, ColumnId, Condition, Direction, Field, Interest, KeyRange, Query, Read, Test, Value};
use iolite_wire::message::{
    Advance, First, FromClient, FromGateway, GoneRow, RowSnapshot, Snapshot, Subscribe, SubscriptionId,
};

use super::values::{every_state, key, ranges, submit, table, time};
use crate::decoders::Content;

fn field() -> Field {
    Field::Cell { column: ColumnId::of("moves"), absent: Value::Int(0) }
}

fn fields() -> Vec<Field> {
    let optional = Field::Cell { column: ColumnId::of("owner"), absent: Value::Null };
    vec![optional, field(), Field::Key(1)]
}

fn every_test() -> Vec<Test> {
    let (x, y) = (|| Value::from("x"), || Value::Int(7));
    vec![
        Test::Equal(x()),
        Test::NotEqual(Value::Null),
        Test::Less(y()),
        Test::AtMost(y()),
        Test::Greater(y()),
        Test::AtLeast(y()),
        Test::OneOf([y(), x()].into()),
        Test::BeginsWith("x".into()),
        Test::Contains(x()),
    ]
}

fn subscribes(queries: Vec<Query>) -> Content {
    let named = (1..).map(SubscriptionId).zip(queries);
    let interests: Vec<_> = named.map(|(name, query)| (name, Interest::Query(Arc::new(query)))).collect();
    let first = First { rows: 20, direction: Direction::Ascending };
    let last = First { direction: Direction::Descending, ..first };
    let first = interests.iter().map(|(name, _)| *name).skip(1).zip([first, last]).collect();
    Content::FromClient(vec![FromClient::Subscribe(Subscribe { held: false, interests, first })])
}

fn answer() -> Content {
    let row = || RowSnapshot { table: table(), key: key("chair"), row: every_state() };
    let snapshot =
        Snapshot { subscription: SubscriptionId(2), rows: vec![row()], reaches: Some(Box::new(ranges()[1].clone())) };
    let (snapshots, entered) = (vec![snapshot], vec![row()]);
    Content::FromGateway(vec![FromGateway::Advance(Advance { to: time(9), snapshots, entered, ..Advance::default() })])
}

fn gone() -> Content {
    let gone = ["chair", "table"].map(|name| GoneRow { table: table(), key: key(name) }).to_vec();
    Content::FromGateway(vec![FromGateway::Advance(Advance { to: time(9), gone, ..Advance::default() })])
}

pub fn all() -> Vec<(&'static str, &'static str, Content)> {
    let every = || Query::all(table(), false);
    let conditions = every_test().into_iter().map(|test| Condition { field: field(), test }).collect();
    let conditional = Query { conditions, ..every() };
    let asks = |test| Condition { field: field(), test };
    let more = vec![asks(Test::Greater(Value::Int(3))), asks(Test::Less(Value::Int(9)))];
    let none = vec![asks(Test::Equal(Value::Int(0)))];
    let either = AnyOf(vec![more, none]);
    let alternative = Query { any_of: vec![either.clone()], ..every() };
    let beside = Query { any_of: vec![either.clone(), either], ..conditional.clone() };
    let by_index = Query { live: true, index: fields(), range: ranges()[2].clone(), ..every() };
    let some = Query { keys: KeyRange::one(&key("chair")), ..every() };
    let read = Read::Query(Arc::new(Query { index: fields(), ..conditional.clone() }));
    let decision = iolite_values::Decision::Commit(Vec::new());
    vec![
        ("query", "all of a table, the first and the last of others", subscribes(vec![every(), by_index, some])),
        ("query_field", "a read by an index of three fields", {
            Content::FromClient(vec![FromClient::Submit(submit(vec![read], decision))])
        }),
        ("query_condition", "every kind of condition", subscribes(vec![conditional])),
        ("query_any_of", "one of two alternatives; the same twice, beside conditions", {
            subscribes(vec![alternative.clone(), beside])
        }),
        ("query_alternative", "an alternative of two conditions, and one of one", subscribes(vec![alternative])),
        ("key_bounds", "an answer that reaches to a row, and a row that came in", answer()),
        ("gone_row", "two rows that are out of sight", gone()),
    ]
}
