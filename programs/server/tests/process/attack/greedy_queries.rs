//! Clients that are let in and want more than their part of queries: as many as fit and one more, conditions without an end, all of a large table again and again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use iolite_values::{Cell, Condition, Field, Interest, Operation, Query, RowKey, TableId, Test, Value, Write};
use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason, Subscribe, SubscriptionId, Verdict};

use super::contents::{enter, outcome, submit};
use super::greed::{at_most, enter_as, goodbye, stays_below};
use super::witness::Witness;
use crate::support::dev::{Dev, Folder};
use crate::support::raw_session::RawSession;

/// Another one than that of the witness.
const TABLE: &str = "heap";
/// Of 900 bytes each, so that a few answers are more than may wait undrained for a session.
const ROWS: usize = 2_000;
/// Of all queries of a session.
const QUERIES_BYTES_MAX: usize = 1 << 20;

/// All rows but the one with this name, of which there is none.
fn all_but(name: String) -> Interest {
    let condition = Condition { field: Field::Key(0), test: Test::NotEqual(Value::from(name)) };
    Interest::Query(Arc::new(Query { conditions: vec![condition], ..Query::all(TableId::of(TABLE), false) }))
}

/// No two are the same, so each is followed for itself.
fn all_but_number(number: usize, bytes: usize) -> Interest {
    all_but(format!("{number} {}", "x".repeat(bytes)))
}

fn ask(name: usize, interest: Interest) -> FromClient {
    let interests = vec![(SubscriptionId(name as u32), interest)];
    FromClient::Subscribe(Subscribe { held: false, interests, first: BTreeMap::new() })
}

fn leave(name: usize) -> FromClient {
    FromClient::Unsubscribe(vec![SubscriptionId(name as u32)])
}

/// Writes a table of so many rows.
async fn heap_up(server: &Dev) {
    let mut writer = enter(server).await;
    let create = |number: usize| {
        let row = RowKey::new(&[Value::from(format!("{number:0900}"))]).expect("short enough");
        Write { cell: Cell::row(TableId::of(TABLE), row), operation: Operation::Create }
    };
    for (counter, first) in (1..).zip((0..ROWS).step_by(500)) {
        writer.say(&FromClient::Submit(submit(counter, (first..first + 500).map(create).collect()))).await;
        assert!(matches!(outcome(&mut writer).await.verdict, Verdict::Committed(_)));
    }
}

/// The rows of the next answer.
async fn answer(session: &mut RawSession) -> usize {
    let mut rows = 0;
    loop {
        let Some(FromGateway::Advance(advance)) = session.hear().await else { panic!("it is answered") };
        assert_eq!(advance.declined, vec![]);
        let is_answer = !advance.snapshots.is_empty();
        rows += advance.snapshots.iter().map(|snapshot| snapshot.rows.len()).sum::<usize>();
        if is_answer && !advance.more {
            return rows;
        }
    }
}

#[tokio::test]
async fn who_asks_for_more_queries_than_a_session_may_have_is_sent_away_at_the_limit_and_the_next_one_too() {
    let folder = Folder::new("greed-queries");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let before = server.resident_bytes();
    let bytes = Query::CONDITIONS_BYTES_MAX - 1000;
    let fitting = QUERIES_BYTES_MAX / Query::CONDITIONS_BYTES_MAX;
    for client in 100..120 {
        let mut greedy = enter_as(&server, client).await;
        for number in 0..fitting {
            greedy.say(&ask(number, all_but_number(number, bytes))).await;
            assert_eq!(answer(&mut greedy).await, 0);
        }
        witness.works().await;
        // It would go on, if it were let.
        for number in fitting..2 * fitting {
            greedy.say(&ask(number, all_but_number(number, bytes))).await;
        }
        let goodbye = goodbye(&mut greedy).await;
        let max = QUERIES_BYTES_MAX.to_string();
        assert_eq!((goodbye.reason, goodbye.message.contains(&max)), (GoodbyeReason::Limit, true), "{goodbye:?}");
        witness.works().await;
    }
    at_most(&server, 1).await;
    stays_below(&server, before, 96 << 20);
    witness.noticed_nothing().await;
}

#[tokio::test]
async fn conditions_without_an_end_are_refused_with_what_they_may_take() {
    let folder = Folder::new("greed-conditions");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let most = Query::CONDITIONS_BYTES_MAX;
    for (client, bytes) in [(100, most), (101, 10 * most)] {
        let mut greedy = enter_as(&server, client).await;
        greedy.say(&ask(1, all_but_number(1, bytes))).await;
        let goodbye = goodbye(&mut greedy).await;
        let says_it = goodbye.message.contains(&most.to_string()) && goodbye.message.len() < 1000;
        assert_eq!((goodbye.reason, says_it), (GoodbyeReason::Schema, true), "{goodbye:?}");
        witness.works().await;
    }
    at_most(&server, 1).await;
    witness.noticed_nothing().await;
}

#[tokio::test]
async fn who_asks_for_a_large_table_and_leaves_it_in_a_loop_costs_little_whether_it_reads_or_not() {
    let folder = Folder::new("greed-query-loop");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    heap_up(&server).await;
    let before = server.resident_bytes();
    let mut reader = enter_as(&server, 100).await;
    let mut deaf = Vec::new();
    for client in 101..105 {
        deaf.push(enter_as(&server, client).await);
    }
    for round in 0..10 {
        reader.say(&ask(round, all_but_number(round, 10))).await;
        for session in &mut deaf {
            session.say(&ask(round, all_but_number(round, 10))).await;
        }
        assert_eq!(answer(&mut reader).await, ROWS);
        witness.works().await;
        for session in deaf.iter_mut().chain([&mut reader]) {
            session.say(&leave(round)).await;
        }
    }
    // All that they asked for is 90 MB.
    stays_below(&server, before, 64 << 20);
    witness.works().await;
    drop((reader, deaf));
    at_most(&server, 1).await;
    witness.noticed_nothing().await;
}

/// With `--nocapture` it says how long the witness waited: docs/limits.md has the figure.
#[tokio::test]
async fn who_asks_for_hundreds_of_queries_and_leaves_each_at_once_holds_up_nobody() {
    let folder = Folder::new("greed-query-hundreds");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    heap_up(&server).await;
    let mut greedy = enter_as(&server, 100).await;
    for round in 0..400 {
        greedy.say(&ask(round, all_but_number(round, 10))).await;
        greedy.say(&leave(round)).await;
    }
    let mut waits = Vec::new();
    for _ in 0..8 {
        let start = Instant::now();
        witness.works().await;
        waits.push(start.elapsed());
    }
    println!("a mutation beside 400 queries of {ROWS} rows waited for {waits:.2?}");
    witness.noticed_nothing().await;
}
