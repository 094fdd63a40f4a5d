//! Many distinct queries at one gateway: what a changed row costs is in proportion to the queries that it concerns.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, LazyLock};

use iolite_store::Commit;
use iolite_values::{
    Condition, Counter, IndexRange, KeyRange, Operation, Query, Row, RowKey, Schema, TableId, Test, Timestamp,
    TransactionId, Value, Write,
};
use iolite_wire::message::SubscriptionId;

use super::queries::{TASKS, create_task, state, task, vote};
use super::world::{client, key, schema};
use crate::SessionId;
use crate::following::queries::Queries;
use crate::gateway::target;

/// Query number so much, and what is written to row 7, which was in state 3 with two votes.
type Case = (&'static str, fn(usize) -> Query, fn() -> Vec<Write>);

const ROW: i64 = 7;

fn condition(column: &str, test: Test) -> Condition {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(schema);
    Condition { field: SCHEMA.table(TASKS).expect("declared").field(column).expect("declared"), test }
}

fn name(number: usize) -> String {
    format!("s{number}")
}

fn by_state(number: usize) -> Query {
    let conditions = vec![condition("state", Test::Equal(Value::from(name(number))))];
    Query { conditions, ..Query::all(TableId::of(TASKS), false) }
}

fn in_index(number: usize) -> Query {
    let range = IndexRange::new(&[Value::from(name(number))], Bound::Unbounded, Bound::Unbounded).range;
    Query { range, ..above_in_index(0) }
}

fn above(number: usize) -> Query {
    let conditions = vec![condition("votes", Test::Greater(Value::Int(number as i64)))];
    Query { conditions, ..Query::all(TableId::of(TASKS), false) }
}

/// Of one state and more votes than this, by their index.
fn above_in_index(number: usize) -> Query {
    let fields = ["state", "votes"].map(|column| condition(column, Test::NotEqual(Value::Null)).field);
    let from = Value::Int(number as i64);
    let range = IndexRange::new(&[Value::from("s7")], Bound::Excluded(&from), Bound::Unbounded).range;
    Query { index: fields.into(), range, ..Query::all(TableId::of(TASKS), false) }
}

/// Two of each state, which reach to places of their own: the latest of each.
fn newest(number: usize) -> Query {
    let from = Value::Int(-(number as i64));
    let state = Value::from(name(number / 2));
    let range = IndexRange::new(&[state], Bound::Excluded(&from), Bound::Unbounded).range;
    Query { range, ..above_in_index(0) }
}

fn of_row(number: usize) -> Query {
    let keys = KeyRange::one(&key(number as i64));
    Query { keys, conditions: vec![condition("state", Test::NotEqual(Value::from("x")))], ..above(1) }
}

fn both(number: usize) -> Query {
    Query { conditions: [by_state(number).conditions, above(1).conditions].concat(), ..by_state(number) }
}

/// As a read rule asks for the rooms of a user, far from each other.
fn of_some_states(number: usize) -> Query {
    let states = [number, number + 5_000, number + 9_999].map(|own| Value::from(name(own)));
    Query { conditions: vec![condition("state", Test::OneOf(states.into()))], ..Query::all(TableId::of(TASKS), false) }
}

/// By two fields, of which one tells them apart.
fn of_state_and_title(number: usize) -> Query {
    let title = condition("title", Test::Equal(Value::from("same")));
    Query { conditions: [vec![title], by_state(number).conditions].concat(), ..by_state(number) }
}

fn some_state() -> Vec<Write> {
    vec![state(ROW, "s7")]
}

fn titled_too() -> Vec<Write> {
    vec![task(ROW, "title", Operation::Put(Value::from("same"))), state(ROW, "s7")]
}

fn some_votes() -> Vec<Write> {
    vec![task(ROW, "votes", Operation::PutTotal(3))]
}

fn one_more() -> Vec<Write> {
    vec![vote(ROW, 1)]
}

fn anew() -> Vec<Write> {
    create_task(ROW, "s7", 3)
}

/// How many queries are looked at for a change, if so many are followed.
fn looked_at(of: fn(usize) -> Query, writes: Vec<Write>, count: usize) -> usize {
    let before: Row = applied(Row::default(), &create_task(ROW, "s3", 2));
    let mut queries = Queries::default();
    for number in 0..count {
        let query = Arc::new(of(number));
        let rows: BTreeMap<RowKey, Row> = [(key(ROW), before.clone())].into();
        let rows = rows.into_iter().filter(|(key, row)| query.selects(key, row)).collect();
        let who = target(SessionId(1), SubscriptionId(number as u32));
        queries.follow(&query, who, &rows, &BTreeSet::new());
    }
    let transaction = TransactionId { client: client(1), counter: Counter(1) };
    let after = applied(before, &writes);
    let changes = queries.changes(&[Commit { at: Timestamp::from_u64(1), transaction, writes: writes.into() }]);
    let read = queries.unknown(&changes).into_iter().map(|place| (place, after.clone())).collect();
    queries.turn(&changes, &read);
    let mut answered = 0;
    for number in 0..count {
        answered += usize::from(of(number).selects(&key(ROW), &after));
    }
    assert_eq!(queries.answers_of(&(TableId::of(TASKS), key(ROW))), answered);
    queries.looked_at.get()
}

fn applied(mut row: Row, writes: &[Write]) -> Row {
    crate::following::queries::apply_all(&mut row, writes);
    row
}

#[test]
fn a_changed_row_costs_no_more_for_queries_that_it_does_not_concern() {
    let cases: [Case; 15] = [
        ("state, put", by_state, some_state),
        ("state, created", by_state, anew),
        ("state in the index, put", in_index, some_state),
        ("state in the index, created", in_index, anew),
        ("votes, put", above, some_votes),
        ("votes, created", above, anew),
        ("votes behind the state in the index, put", above_in_index, some_votes),
        ("votes behind the state in the index, created", above_in_index, anew),
        ("the newest of each state, created", newest, anew),
        ("key, put", of_row, some_state),
        ("one of some states, put", of_some_states, some_state),
        ("one of some states, created", of_some_states, anew),
        ("state and votes, counted", both, one_more),
        ("state and title, both put", of_state_and_title, titled_too),
        ("state and title, state put", of_state_and_title, some_state),
    ];
    for (name, of, writes) in cases {
        let counts = [1, 100, 2_000].map(|count| looked_at(of, writes(), count));
        assert!(counts[2] <= counts[1] && counts[1] <= 8, "{name}: {counts:?} of 1, 100 and 2,000");
    }
}
