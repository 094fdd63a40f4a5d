//! Transactions that are under way: who waits for them and who does not, and what becomes of them when their connections break.

use std::time::Duration;

use iolite_store::{CommitReply, Reply, Request};
use iolite_values::{
    Attempt, CellState, ClientId, Counter, Decision, Element, Id, Level, Operation, Read, Timestamp, Transaction,
    TransactionId, Value, Write,
};
use tokio_postgres::Client;

use crate::gateway::Gateway;
use crate::server::Server;
use crate::writer::{Writer, counts, in_time, number, raw, read_all, settings, write};

/// The lock of the store in schema `iolite`: releases that share a database have to agree on it.
const STORE_LOCK: i64 = 2022840986473724343;

/// Long enough for what need not wait.
const A_MOMENT: Duration = Duration::from_millis(500);

#[tokio::test]
async fn the_feed_waits_for_who_is_under_way_and_not_for_others() {
    let server = Server::start();
    let gateway = Gateway::open(settings(&server, 1)).await;
    let (mut own, mut strange) = (raw(&server).await, raw(&server).await);
    // Somebody else's transaction, which has written something and does not end.
    let long = strange.transaction().await.expect("a transaction");
    long.batch_execute("CREATE TABLE strange (number int8); SELECT pg_current_xact_id()").await.expect("allowed");
    let mut writer = Writer::at(&gateway, 1);
    let at = writer.commit(vec![write(1, Operation::Add(1))]).await;
    in_time(gateway.reach(at)).await;
    // A store's transaction that has looked and not ended.
    let under_way = own.transaction().await.expect("a transaction");
    under_way.execute("SELECT pg_advisory_xact_lock_shared($1)", &[&STORE_LOCK]).await.expect("allowed");
    let next = writer.commit(vec![write(1, Operation::Add(1))]).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(gateway.resolved(), at, "nobody knows yet what that one will commit");
    under_way.commit().await.expect("it ends");
    in_time(gateway.reach(next)).await;
}

/// Writes the outcome of client 2's first transaction and may take it back: so that one waits, with all its locks.
async fn hold(holder: &mut Client) -> tokio_postgres::Transaction<'_> {
    let held = holder.transaction().await.expect("a transaction");
    let client = Id::from_u128(2).to_bytes();
    let outcome = "INSERT INTO iolite.completions VALUES ($1, (-9223372036854775807)::int8, 1, 0, false)";
    held.execute(outcome, &[&&client[..]]).await.expect("allowed");
    held
}

#[tokio::test]
async fn writers_that_commute_go_on_beside_each_other_and_the_feed_waits_for_the_lower_one() {
    let server = Server::start();
    let gateway = Gateway::open(settings(&server, 1)).await;
    let begun = Writer::at(&gateway, 1).commit(vec![write(1, Operation::Add(1))]).await;
    in_time(gateway.reach(begun)).await;
    let mut holder = raw(&server).await;
    let held = hold(&mut holder).await;
    let (mut first, mut second) = (Writer::at(&gateway, 2), Writer::at(&gateway, 3));
    let under_way = first.commit(vec![write(1, Operation::Add(10))]);
    tokio::pin!(under_way);
    assert!(tokio::time::timeout(A_MOMENT, &mut under_way).await.is_err(), "it waits for its outcome's row");
    let later = in_time(second.commit(vec![write(1, Operation::Add(100))])).await;
    tokio::time::sleep(A_MOMENT).await;
    assert_eq!(gateway.resolved(), begun, "somebody may commit below {later:?}");
    held.rollback().await.expect("it ends");
    let earlier = in_time(under_way).await;
    assert!(earlier < later, "it had its timestamp first, and became visible last");
    in_time(gateway.reach(later)).await;
    let told: Vec<Timestamp> = gateway.told().commits.iter().map(|commit| commit.at).collect();
    assert_eq!(told, [begun, earlier, later]);
}

/// A transaction on what was before one that is under way, and does `operation` once more, waits for that one and loses to it.
async fn assert_waits(operation: Operation, level: Level, reads: Vec<Read>, writes: Vec<Write>) {
    let server = Server::start();
    let gateway = Gateway::open(settings(&server, 1)).await;
    let begun = Writer::at(&gateway, 1).commit(vec![write(1, operation.clone())]).await;
    in_time(gateway.reach(begun)).await;
    let mut holder = raw(&server).await;
    let held = hold(&mut holder).await;
    let mut first = Writer::at(&gateway, 2);
    let under_way = first.commit(vec![write(1, operation)]);
    tokio::pin!(under_way);
    assert!(tokio::time::timeout(A_MOMENT, &mut under_way).await.is_err(), "it waits for its outcome's row");
    let id = TransactionId { client: ClientId(Id::from_u128(4)), counter: Counter(1) };
    let decision = Decision::Commit(writes);
    let transaction = Transaction { id, attempt: Attempt(1), snapshot: begun, reads, decision, level };
    let later = gateway.ask(Request::Commit { transaction, floor: Timestamp::ZERO, within: None });
    tokio::pin!(later);
    assert!(tokio::time::timeout(A_MOMENT, &mut later).await.is_err(), "nothing is in its way yet");
    held.rollback().await.expect("it ends");
    let changed = in_time(under_way).await;
    let reply = in_time(later).await;
    assert_eq!(reply, Reply::Commit(CommitReply::Conflict { at_least: changed }));
}

#[tokio::test]
async fn a_reader_waits_for_who_is_changing_what_it_read() {
    let reads = vec![Read::Cell { cell: write(1, Operation::Create).cell, element: Element::Whole }];
    assert_waits(Operation::Add(1), Level::Strict, reads, vec![write(2, Operation::Add(1))]).await;
}

#[tokio::test]
async fn a_snapshot_waits_for_who_writes_the_entry_that_it_puts() {
    let put = Operation::PutEntry { key: "a".into(), value: Value::Int(1) };
    assert_waits(put.clone(), Level::Snapshot, Vec::new(), vec![write(1, put)]).await;
}

#[tokio::test]
async fn a_transaction_whose_connection_is_lost_before_it_commits_takes_effect_once() {
    let server = Server::start();
    let gateway = Gateway::open(settings(&server, 1)).await;
    let mut holder = raw(&server).await;
    let held = hold(&mut holder).await;
    let mut first = Writer::at(&gateway, 2);
    let under_way = first.commit(vec![write(1, Operation::Add(10))]);
    tokio::pin!(under_way);
    assert!(tokio::time::timeout(A_MOMENT, &mut under_way).await.is_err(), "it waits for its outcome's row");
    let waiting = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'transactionid'";
    assert_eq!(number(&raw(&server).await, waiting).await, 1);
    held.rollback().await.expect("it ends");
    let at = in_time(under_way).await;
    in_time(gateway.reach(at)).await;
    assert_eq!(counts(&read_all(&gateway, at).await.expect("kept")), [Some(&CellState::Counter(10))]);
}

#[tokio::test]
async fn a_commit_that_was_done_and_never_told_is_found_by_its_completion_record() {
    let server = Server::start();
    let gateway = Gateway::open(settings(&server, 1)).await;
    let raw = raw(&server).await;
    // COMMIT is done on this server, and waits for a standby that is not there.
    raw.batch_execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'").await.expect("a superuser");
    raw.batch_execute("SELECT pg_reload_conf()").await.expect("a superuser");
    let mut writer = Writer::at(&gateway, 2);
    let under_way = writer.commit(vec![write(1, Operation::Add(10))]);
    tokio::pin!(under_way);
    assert!(tokio::time::timeout(A_MOMENT, &mut under_way).await.is_err(), "it waits for the standby");
    raw.batch_execute("ALTER SYSTEM RESET synchronous_standby_names").await.expect("a superuser");
    let waiting = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    assert_eq!(number(&raw, waiting).await, 1);
    raw.batch_execute("SELECT pg_reload_conf()").await.expect("a superuser");
    let at = in_time(under_way).await;
    in_time(gateway.reach(at)).await;
    let told: Vec<Timestamp> = gateway.told().commits.iter().map(|commit| commit.at).collect();
    assert_eq!(told, [at]);
    assert_eq!(counts(&read_all(&gateway, at).await.expect("kept")), [Some(&CellState::Counter(10))]);
}

#[tokio::test]
async fn a_long_stretch_of_the_feed_comes_in_pieces() {
    let server = Server::start();
    let gateway = Gateway::open(settings(&server, 1)).await;
    let mut own = raw(&server).await;
    let under_way = own.transaction().await.expect("a transaction");
    under_way.execute("SELECT pg_advisory_xact_lock_shared($1)", &[&STORE_LOCK]).await.expect("allowed");
    let mut writer = Writer::at(&gateway, 1);
    let large = |row| write(row, Operation::Put(Value::bytes(vec![7; 1_000_000])));
    let mut last = Timestamp::ZERO;
    for _ in 0..3 {
        last = writer.commit(vec![large(1), large(2)]).await;
    }
    under_way.commit().await.expect("it ends");
    in_time(gateway.reach(last)).await;
    let told = gateway.told();
    assert_eq!((told.commits.len(), told.violation), (3, None));
    assert!(told.segments > 1, "six megabytes at once");
}
