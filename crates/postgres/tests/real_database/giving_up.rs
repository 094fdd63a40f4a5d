//! What nobody waits for any more, while the database is away and when it is back.

use std::time::Duration;

use iolite_postgres::{PostgresSettings, PostgresStore};
use iolite_store::{CommitReply, Event, ReadLimit, Reply, Request, RequestId};
use iolite_values::{
    Attempt, ClientId, Counter, Decision, Id, Interest, KeyRange, Level, Operation, Timestamp, Transaction,
    TransactionId,
};

use crate::server::Server;
use crate::writer::{TABLE, in_time, settings, write};

/// With which the database logs what it is told.
const LOGGED: [&str; 1] = ["log_statement=all"];

/// The first attempt of one mutation.
fn commit(within: Option<Duration>) -> Request {
    let transaction = Transaction {
        id: TransactionId { client: ClientId(Id::from_u128(1)), counter: Counter(1) },
        attempt: Attempt(1),
        snapshot: Timestamp::ZERO,
        reads: Vec::new(),
        decision: Decision::Commit(vec![write(1, Operation::Add(1))]),
        level: Level::Strict,
    };
    Request::Commit { transaction, floor: Timestamp::ZERO, within }
}

/// A store that is ready.
async fn open(settings: PostgresSettings) -> PostgresStore {
    let mut store = PostgresStore::open(settings).await.expect("the database is there");
    assert!(matches!(in_time(store.next_event()).await, Event::Ready { .. }));
    store
}

/// The next reply to this request; the feed and replies to others are passed over.
async fn reply(store: &mut PostgresStore, id: RequestId) -> Reply {
    loop {
        match in_time(store.next_event()).await {
            Event::Reply(own, reply) if own == id => return reply,
            Event::Reply(..) | Event::Feed(_) | Event::Ready { .. } => {}
        }
    }
}

#[tokio::test]
async fn an_attempt_in_doubt_is_not_tried_again_for_nobody_and_the_one_that_comes_next_is_served_at_once() {
    let mut server = Server::start_with(5432, &[], &LOGGED);
    let settings = settings(&server, 1);
    let connections = settings.commit_connections;
    let mut store = open(settings).await;
    server.kill();
    for number in 0..100 {
        store.request(RequestId(number), commit(Some(Duration::from_millis(10))));
    }
    let mut in_doubt = 0;
    while in_doubt < 100 {
        if let Event::Reply(_, reply) = in_time(store.next_event()).await {
            assert!(matches!(reply, Reply::Commit(CommitReply::InDoubt { .. })), "{reply:?}");
            in_doubt += 1;
        }
    }
    assert_eq!(store.figures().waiting, 0);
    server.start_again();
    store.request(RequestId(100), commit(None));
    let reply = reply(&mut store, RequestId(100)).await;
    assert!(matches!(reply, Reply::Commit(CommitReply::Completed(_))), "{reply:?}");
    let decided = server.log().matches("statement: BEGIN ISOLATION LEVEL READ COMMITTED").count();
    // Setting up and collecting begin some, too.
    assert!((1..10 + connections).contains(&decided), "{decided} transactions were decided for one that is waited for");
}

#[tokio::test]
async fn reads_that_are_given_up_are_not_done_when_the_database_is_back() {
    let mut server = Server::start_with(5432, &[], &LOGGED);
    let settings = settings(&server, 1);
    let connections = settings.read_connections;
    let mut store = open(settings).await;
    server.kill();
    let interest = Interest::Range { table: TABLE, range: KeyRange::all() };
    let read = Request::ReadAt { interest, at: Timestamp::ZERO, limit: ReadLimit::NONE };
    for number in 0..100 {
        store.request(RequestId(number), read.clone());
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    for number in 0..100 {
        store.give_up(RequestId(number));
    }
    assert_eq!(store.figures().waiting, 0);
    server.start_again();
    store.request(RequestId(100), read);
    assert!(matches!(reply(&mut store, RequestId(100)).await, Reply::ReadAt(Ok(_))));
    let read = server.log().matches("statement: BEGIN ISOLATION LEVEL REPEATABLE READ").count();
    assert!((1..=1 + connections).contains(&read), "{read} were done for one that is waited for");
}
