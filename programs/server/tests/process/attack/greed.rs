//! Clients that are let in and want more than their part: all data and no reading of it, a million cells, an endless change of mind, one session after the
//! other.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use iolite_values::{Cell, ClientId, ColumnId, Id, Interest, Operation, RowKey, TableId, Value, Write};
use iolite_wire::message::{
    FromClient, FromGateway, Goodbye, GoodbyeReason, Hello, Subscribe, SubscriptionId, Verdict,
};

use super::contents::{enter, outcome, submit};
use super::witness::{Witness, schema};
use crate::support::dev::{Dev, Folder, PATIENCE};
use crate::support::raw_session::{RawSession, hello};

const TABLE: &str = "marks";
fn cell(number: usize) -> Cell {
    let row = RowKey::new(&[Value::from(format!("cell {number}"))]).expect("short");
    Cell { table: TableId::of(TABLE), row, column: ColumnId::of("seen") }
}

fn hello_of(server: &Dev, client: u128) -> FromClient {
    FromClient::Hello(Hello { client: ClientId(Id::from_u128(client)), ..hello(&server.token(), schema().hash()) })
}

pub async fn enter_as(server: &Dev, client: u128) -> RawSession {
    let mut session = RawSession::connect(&server.sync_url()).await;
    session.say(&hello_of(server, client)).await;
    assert!(matches!(session.hear().await, Some(FromGateway::Welcome(_))));
    session
}

fn cells(numbers: std::ops::Range<usize>) -> FromClient {
    let interests = numbers.map(|number| (SubscriptionId(number as u32), Interest::Cell(cell(number))));
    FromClient::Subscribe(Subscribe { held: false, interests: interests.collect(), first: BTreeMap::new() })
}

pub async fn goodbye(session: &mut RawSession) -> Goodbye {
    loop {
        match session.hear().await.expect("it says why it closes") {
            FromGateway::Goodbye(goodbye) => return goodbye,
            FromGateway::Advance(_)
            | FromGateway::Welcome(_)
            | FromGateway::Renewed(_)
            | FromGateway::Pong(_)
            | FromGateway::SchemaWanted
            | FromGateway::LogWanted(_)
            | FromGateway::LogDiffers(_)
            | FromGateway::Stored(_) => {}
        }
    }
}

fn sessions(server: &Dev) -> usize {
    let metrics = server.get("/metrics", "");
    let line = metrics.lines().find_map(|line| line.strip_prefix("iolite_sessions ")).expect("it is a metric");
    line.parse::<f64>().expect("a number") as usize
}

/// Waits until no more than so many sessions are open.
pub async fn at_most(server: &Dev, most: usize) {
    let begun = Instant::now();
    while sessions(server) > most {
        assert!(begun.elapsed() < PATIENCE + Duration::from_secs(60), "{} sessions are open still", sessions(server));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

pub fn stays_below(server: &Dev, before: usize, more: usize) {
    let now = server.resident_bytes();
    assert!(now < before + more, "{before} bytes before, {now} now");
}

/// Whose names are so long, and so many, that each advance with changes of 500 of them has 450 KB on the wire.
fn long_row(number: usize) -> RowKey {
    RowKey::new(&[Value::from(format!("{number:0900}"))]).expect("short enough")
}

#[tokio::test]
async fn who_wants_all_and_reads_nothing_is_given_up_and_costs_little() {
    let folder = Folder::new("greed-deaf");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let mut writer = enter(&server).await;
    let mut deaf = Vec::new();
    for client in 100..120 {
        let mut session = enter_as(&server, client).await;
        session.subscribe_to_all(TABLE).await;
        deaf.push(session);
    }
    let before = server.resident_bytes();
    for counter in 1..=100 {
        let first = counter as usize % 3 * 500;
        let put = |number: usize| {
            let cell = Cell { table: TableId::of(TABLE), row: long_row(number), column: ColumnId::of("seen") };
            Write { cell, operation: Operation::Put(Value::Int(counter as i64)) }
        };
        writer.say(&FromClient::Submit(submit(counter, (first..first + 500).map(put).collect()))).await;
        assert!(matches!(outcome(&mut writer).await.verdict, Verdict::Committed(_)));
        if counter % 20 == 0 {
            witness.works().await;
        }
    }
    // All that was sent to them is 900 MB.
    stays_below(&server, before, 300 << 20);
    at_most(&server, 2).await;
    witness.works().await;
    drop(deaf);
}

#[tokio::test]
async fn a_session_that_subscribes_to_a_million_cells_is_sent_away_at_the_limit_and_the_next_one_too() {
    let folder = Folder::new("greed-million");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let before = server.resident_bytes();
    for client in 100..130 {
        let mut greedy = enter_as(&server, client).await;
        // It would go on, if it were let.
        for first in (0..1_000_000).step_by(1000).take(10) {
            greedy.say(&cells(first..first + 1000)).await;
        }
        let goodbye = goodbye(&mut greedy).await;
        assert_eq!((goodbye.reason, goodbye.message.contains("4096")), (GoodbyeReason::Limit, true), "{goodbye:?}");
        witness.works().await;
    }
    at_most(&server, 1).await;
    stays_below(&server, before, 96 << 20);
    witness.noticed_nothing().await;
}

#[tokio::test]
async fn who_subscribes_and_unsubscribes_in_a_loop_keeps_nobody_waiting() {
    let folder = Folder::new("greed-loop");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let before = server.resident_bytes();
    let restless = (100..102).map(|client| {
        let (url, hello) = (server.sync_url(), hello_of(&server, client));
        tokio::spawn(async move {
            let mut session = RawSession::connect(&url).await;
            session.say(&hello).await;
            // It does not wait for a single answer, and sends what takes the server much longer to do than it takes to say.
            for round in 0..1_000_000_usize {
                let names = round * 100..round * 100 + 100;
                session.say(&cells(names.clone())).await;
                session.say(&FromClient::Unsubscribe(names.map(|name| SubscriptionId(name as u32)).collect())).await;
            }
        })
    });
    let restless: Vec<_> = restless.collect();
    for _ in 0..10 {
        witness.works().await;
    }
    assert!(restless.iter().all(|session| !session.is_finished()), "they were at it all the time");
    stays_below(&server, before, 96 << 20);
    for session in restless {
        session.abort();
    }
    at_most(&server, 1).await;
    witness.noticed_nothing().await;
}

#[tokio::test]
async fn who_comes_anew_in_a_loop_takes_the_place_of_its_last_session_only() {
    let folder = Folder::new("greed-anew");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let before = server.resident_bytes();
    let mut last: Option<RawSession> = None;
    for round in 0..300 {
        let mut session = enter_as(&server, 100).await;
        session.say(&cells(0..100)).await;
        if let Some(mut replaced) = last.replace(session) {
            assert_eq!(goodbye(&mut replaced).await.reason, GoodbyeReason::Replaced);
        }
        if round % 30 == 0 {
            witness.works().await;
        }
    }
    let mut again = last.expect("the last one is open");
    again.say(&hello_of(&server, 100)).await;
    let goodbye = goodbye(&mut again).await;
    assert_eq!((goodbye.reason, goodbye.message.contains("once")), (GoodbyeReason::Protocol, true), "{goodbye:?}");
    at_most(&server, 1).await;
    stays_below(&server, before, 96 << 20);
    witness.noticed_nothing().await;
}
