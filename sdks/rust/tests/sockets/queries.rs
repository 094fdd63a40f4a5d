//! Queries of structs.

use std::borrow::Cow;
use std::sync::Arc;

use iolite::table::{Counter, Set};
use iolite::{Abort, Client, Options, Table, View, schema};
use iolite_values::{Direction, IndexKey, Interest, KeyRange, Query, Row, RowKey, TableId, Test, Timestamp, Value};
use iolite_wire::message::{Advance, First, RowSnapshot, Snapshot};

use crate::scripted_gateway::ScriptedGateway;

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "tasks", index(by_owner = [owner, created]))]
struct Task {
    #[key]
    id: String,
    owner: Option<String>,
    created: i64,
    #[index]
    title: String,
    #[column(default = false)]
    done: bool,
    votes: Counter,
    tags: Set<String>,
}

fn task(id: &str, owner: &str, created: i64) -> RowSnapshot {
    let column = |name: &str| iolite_values::ColumnId::of(name);
    let cells = [
        (column("owner"), iolite_values::CellState::Scalar(Value::from(owner))),
        (column("created"), iolite_values::CellState::Scalar(Value::Int(created))),
        (column("title"), iolite_values::CellState::Scalar(Value::from(id))),
    ];
    let key = RowKey::new(&[Value::from(id)]).expect("short");
    RowSnapshot { table: TableId::of("tasks"), key, row: Row::from_parts(true, cells) }
}

async fn opened() -> (Client, ScriptedGateway) {
    let (url, gateway) = ScriptedGateway::listen().await;
    let tables = schema().with::<Task>().build().expect("valid");
    let client = Client::connect(&url, "", tables, Options::new()).expect("in memory");
    (client, gateway.await)
}

/// Answers the next subscription, of which there is one, to a query. Returns how it was asked.
async fn answer(gateway: &mut ScriptedGateway, rows: Vec<RowSnapshot>) -> (Arc<Query>, Option<First>) {
    let subscribe = gateway.subscription().await;
    let [(subscription, Interest::Query(query))] = &subscribe.interests[..] else { panic!("{subscribe:?}") };
    let rows = rows.into_iter().filter(|row| query.selects(&row.key, &row.row)).collect();
    let snapshot = Snapshot { subscription: *subscription, rows, reaches: None };
    gateway.advance(Timestamp::end_of(10), Advance { snapshots: vec![snapshot], ..Advance::default() }).await;
    (query.clone(), subscribe.first.get(subscription).copied())
}

#[test]
fn indexes_of_a_struct_are_in_its_schema() {
    let json = schema().with::<Task>().build().expect("valid").to_json();
    assert!(json.contains(r#""indexes":{"by_owner":["owner","created"],"by_title":["title"]}"#), "{json}");
}

#[tokio::test]
async fn a_query_of_columns_is_answered_in_order() {
    let (client, mut gateway) = opened().await;
    let newest = client.read(View::Confirmed, |tx| {
        tx.query::<Task>()
            .filter(Task::OWNER.eq("ann"))
            .filter(Task::DONE.eq(false))
            .order_by_descending(Task::CREATED)
            .limit(2)
            .all()
    });
    let rows = vec![task("a", "ann", 1), task("b", "ann", 3), task("c", "ben", 9), task("d", "ann", 2)];
    let (newest, (query, first)) = tokio::join!(newest, answer(&mut gateway, rows));
    let titles: Vec<String> = newest.expect("it ran").iter().map(|task| task.title.clone()).collect();
    assert_eq!(titles, ["b", "d"]);
    assert_eq!((query.index.len(), query.conditions.len()), (2, 1), "the owner is in the range");
    assert_eq!(first.map(|first| first.direction), Some(Direction::Descending));
}

#[tokio::test]
async fn every_comparison_says_what_it_is_called() {
    let (client, mut gateway) = opened().await;
    let asked = client.read(View::Confirmed, |tx| {
        tx.query::<Task>()
            .filter(Task::VOTES.at_least(0))
            .filter(Task::VOTES.less(5))
            .filter(Task::VOTES.ne(3))
            .filter(Task::VOTES.greater(-1))
            .filter(Task::VOTES.at_most(4))
            .filter(Task::OWNER.is_some())
            .filter(Task::TAGS.has("x"))
            .filter(Task::CREATED.one_of([1, 2]))
            .filter(Task::ID.begins_with("a"))
            .count()
    });
    let (count, (query, _)) = tokio::join!(asked, answer(&mut gateway, vec![task("a", "ann", 1)]));
    assert_eq!(*count.expect("it ran"), 0, "it has no tag");
    let tests: Vec<&Test> = query.conditions.iter().map(|condition| &condition.test).collect();
    let expected = [
        Test::AtLeast(Value::Int(0)),
        Test::Less(Value::Int(5)),
        Test::NotEqual(Value::Int(3)),
        Test::Greater(Value::Int(-1)),
        Test::AtMost(Value::Int(4)),
        Test::NotEqual(Value::Null),
        Test::Contains(Value::from("x")),
        Test::OneOf([Value::Int(1), Value::Int(2)].into()),
    ];
    assert_eq!(tests, expected.iter().collect::<Vec<_>>(), "the beginning of the key is the range");
}

#[tokio::test]
async fn one_alternative_has_to_hold_with_all_of_its_conditions() {
    let (client, mut gateway) = opened().await;
    let asked = client.read(View::Confirmed, |tx| {
        let recent = Task::OWNER.eq("ben").or(Task::OWNER.is_null()).and(Task::CREATED.greater(3));
        let found = tx.query::<Task>().filter(Task::DONE.eq(false)).filter(Task::OWNER.eq("ann").or(recent)).all()?;
        Ok(found.iter().map(|task| task.title.clone()).collect::<Vec<_>>())
    });
    let rows = vec![task("a", "ann", 1), task("b", "ben", 3), task("c", "ben", 4), task("d", "cid", 9)];
    let (titles, (query, _)) = tokio::join!(asked, answer(&mut gateway, rows));
    assert_eq!(*titles.expect("it ran"), ["a", "c"]);
    let [any_of] = &query.any_of[..] else { panic!("{query:?}") };
    let tests: Vec<Vec<&Test>> =
        any_of.0.iter().map(|own| own.iter().map(|condition| &condition.test).collect()).collect();
    let [ann, ben, nobody] = [Value::from("ann"), Value::from("ben"), Value::Null].map(Test::Equal);
    let recent = Test::Greater(Value::Int(3));
    assert_eq!(tests, [vec![&ann], vec![&ben, &recent], vec![&nobody, &recent]]);
    assert_eq!(query.conditions.len(), 1);
}

#[tokio::test]
async fn of_no_rows_there_is_no_first_one() {
    let (client, mut gateway) = opened().await;
    let asked = client.read(View::Confirmed, |tx| {
        let held = tx.query::<Task>().all()?.len();
        Ok((held, tx.query::<Task>().limit(0).first()?))
    });
    let (found, _) = tokio::join!(asked, answer(&mut gateway, vec![task("a", "ann", 1)]));
    assert_eq!(*found.expect("it ran"), (1, None));
}

#[tokio::test]
async fn a_limited_order_without_an_index_is_an_error_that_names_it() {
    let (client, _gateway) = opened().await;
    let found = client.read(View::Confirmed, |tx| tx.query::<Task>().order_by(Task::CREATED).first()).await;
    let error = found.expect_err("no index has it").to_string();
    assert!(error.contains(r#"declare one of the columns ["created"]"#), "{error}");
    let _: fn(iolite::RunError) -> Abort = Abort::Run;
}

/// The order of a column is asked for, and there is one by it with others behind, which are counted too.
#[tokio::test]
async fn after_a_struct_is_where_all_its_columns_say() {
    let (client, mut gateway) = opened().await;
    let nobody = Task {
        id: "b".into(),
        owner: None,
        created: 5,
        title: "t".into(),
        done: true,
        votes: Counter(0),
        tags: Set(vec!["x".into()]),
    };
    let asked = client.read(View::Confirmed, move |tx| tx.query::<Task>().order_by(Task::OWNER).after(&nobody).all());
    let (_, (query, _)) = tokio::join!(asked, answer(&mut gateway, Vec::new()));
    let key = RowKey::new(&[Value::from("b")]).expect("short");
    let place = IndexKey::new([Value::Null, Value::Int(5)].iter().map(Cow::Borrowed), &key);
    assert_eq!(query.range, KeyRange::all().behind(place.as_bytes(), Direction::Ascending));
}
