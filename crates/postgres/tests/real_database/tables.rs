//! What a store makes of its database: tables, versions, history and notifications.

use std::time::Duration;

use iolite_postgres::{OpenError, PostgresSettings, PostgresStore, Retention};
use iolite_store::{ChangesError, Reply, Request, TooOld};
use iolite_values::{Cell, CellState, Interest, Operation, RowKey, Timestamp, Write};

use crate::gateway::{Gateway, Told};
use crate::server::Server;
use crate::writer::{TABLE, Writer, counts, in_time, key, number, raw, read_all, settings, write};

/// History that is forgotten as soon as it is resolved.
fn forgetful() -> Retention {
    Retention { age: Duration::ZERO, operations_max: 0, collect_every: Duration::from_millis(20) }
}

fn life(row: i64, operation: Operation) -> Write {
    Write { cell: Cell::row(TABLE, key(row)), operation }
}

/// Asks again until it is so.
async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..1000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it does not come to be that {what}");
}

#[tokio::test]
async fn stores_that_start_at_once_share_one_history() {
    let server = Server::start();
    let opened = (0..6).map(|coordinator| Gateway::open(settings(&server, coordinator)));
    let gateways = futures_util::future::join_all(opened).await;
    let told: Vec<Told> = gateways.iter().map(Gateway::told).collect();
    assert!(told.iter().all(|other| other.ready.len() == 1 && other.ready == told[0].ready), "{told:?}");
}

#[tokio::test]
async fn a_store_that_starts_again_goes_on_in_the_same_history() {
    let server = Server::start();
    let first = Gateway::open(settings(&server, 1)).await;
    let at = Writer::at(&first, 1).commit(vec![write(1, Operation::Add(1))]).await;
    let history = first.told().ready[0].0;
    drop(first);
    let second = Gateway::open(settings(&server, 1)).await;
    assert_eq!(second.told().ready, [(history, at)]);
    assert_eq!(counts(&read_all(&second, at).await.expect("kept")), [Some(&CellState::Counter(1))]);
}

#[tokio::test]
async fn tables_of_an_unknown_version_are_refused_and_left_untouched() {
    let server = Server::start();
    drop(Gateway::open(settings(&server, 1)).await);
    let raw = raw(&server).await;
    raw.batch_execute("UPDATE iolite.store SET version = 99; DROP TABLE iolite.touches").await.expect("its owner");
    let refused = PostgresStore::open(settings(&server, 1)).await.expect_err("a version of the future");
    assert!(matches!(&refused, OpenError::UnknownVersion { found: 99, .. }), "{refused}");
    assert!(refused.to_string().contains("nothing was changed"), "{refused}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'iolite' AND tablename = 'touches'";
    assert_eq!(number(&raw, tables).await, 0);
}

#[tokio::test]
async fn another_server_than_postgresql_is_refused_before_anything_is_made() {
    let server = Server::start();
    let raw = raw(&server).await;
    for found in ["CockroachDB CCL v23.1.0", "PostgreSQL 11.2-YB-2.21.0.0-b0 on x86_64"] {
        // Where the store looks first.
        let pretend =
            "CREATE SCHEMA IF NOT EXISTS iolite; CREATE OR REPLACE FUNCTION iolite.version() RETURNS text LANGUAGE sql";
        raw.batch_execute(&format!("{pretend} AS $$ SELECT '{found}' $$")).await.expect("its owner");
        let refused = PostgresStore::open(settings(&server, 1)).await.expect_err("another server");
        assert!(matches!(&refused, OpenError::Server { .. }), "{refused}");
    }
    assert_eq!(number(&raw, "SELECT count(*) FROM pg_tables WHERE schemaname = 'iolite'").await, 0);
}

#[tokio::test]
async fn others_hear_of_a_commit_by_notification() {
    let server = Server::start();
    let (one, other) = (Gateway::open(settings(&server, 1)).await, Gateway::open(settings(&server, 2)).await);
    let at = Writer::at(&one, 1).commit(vec![write(1, Operation::Add(1))]).await;
    in_time(other.reach(at)).await;
    // Which of the two hears first is nobody's promise.
    in_time(one.reach(at)).await;
    assert_eq!(other.told().commits, one.told().commits);
}

#[tokio::test]
async fn without_notifications_others_find_a_commit_by_polling() {
    let server = Server::start();
    let polling =
        |coordinator| PostgresSettings { poll_every: Duration::from_millis(100), ..settings(&server, coordinator) };
    let (one, other) = (Gateway::open(polling(1)).await, Gateway::open(polling(2)).await);
    // Where the stores look first.
    let mute = "CREATE FUNCTION iolite.pg_notify(text, text) RETURNS void LANGUAGE sql AS $$ SELECT $$";
    raw(&server).await.batch_execute(mute).await.expect("its owner");
    drop((one, other));
    let (one, other) = (Gateway::open(polling(1)).await, Gateway::open(polling(2)).await);
    let at = Writer::at(&one, 1).commit(vec![write(1, Operation::Add(1))]).await;
    in_time(other.reach(at)).await;
}

#[tokio::test]
async fn changes_of_several_pages_are_told_once_and_in_order() {
    let server = Server::start();
    let gateway = Gateway::open(settings(&server, 1)).await;
    let mut writer = Writer::at(&gateway, 1);
    let mut all = Vec::new();
    for _ in 0..=200 {
        all.push(writer.commit(vec![write(1, Operation::Add(1))]).await);
    }
    let interests = vec![Interest::Cell(write(1, Operation::Add(1)).cell)];
    in_time(gateway.reach(all[200])).await;
    // Nothing, what ends within a page or with one, and what one more begins.
    for count in [0, 1, 63, 64, 65, 192, 200] {
        let (after, through) = (all[0], all[count]);
        let changes = Request::Changes { interests: interests.clone(), after, through, bytes_max: usize::MAX };
        let Reply::Changes(Ok(told)) = gateway.ask(changes).await else { panic!("it is kept") };
        let told: Vec<Timestamp> = told.iter().map(|commit| commit.at).collect();
        assert_eq!(told, all[1..=count]);
    }
}

#[tokio::test]
async fn history_that_is_not_kept_is_folded_and_forgotten() {
    let server = Server::start();
    let gateway = Gateway::open(PostgresSettings { retention: forgetful(), ..settings(&server, 1) }).await;
    let mut writer = Writer::at(&gateway, 1);
    let first = writer.commit(vec![write(1, Operation::Add(1)), life(2, Operation::Create)]).await;
    writer.commit(vec![write(1, Operation::Add(2)), life(2, Operation::Delete)]).await;
    let last = writer.commit(vec![write(1, Operation::Add(3))]).await;
    let raw = raw(&server).await;
    let kept = "SELECT (SELECT count(*) FROM iolite.commits) + (SELECT count(*) FROM iolite.touches)";
    eventually("the log is empty", async || number(&raw, kept).await == 0).await;
    in_time(gateway.reach(last)).await;
    assert_eq!(counts(&read_all(&gateway, last).await.expect("the last is kept")), [Some(&CellState::Counter(6))]);
    assert_eq!(read_all(&gateway, first).await, Err(TooOld { low_watermark: last }));
    let changes = Request::Changes { interests: Vec::new(), after: first, through: last, bytes_max: usize::MAX };
    let too_old = ChangesError::TooOld(TooOld { low_watermark: last });
    assert_eq!(gateway.ask(changes).await, Reply::Changes(Err(too_old)));
    assert_eq!(number(&raw, "SELECT count(*) FROM iolite.states").await, 1, "the row that was deleted leaves nothing");
    let next = writer.commit(vec![write(1, Operation::Add(4))]).await;
    assert!(next > last, "although nothing of the log is left");
    in_time(gateway.reach(next)).await;
    assert_eq!(counts(&read_all(&gateway, next).await.expect("resolved")), [Some(&CellState::Counter(10))]);
}

#[tokio::test]
async fn a_store_that_was_away_for_longer_than_history_is_kept_says_that_there_is_a_gap() {
    let server = Server::start();
    let away = Gateway::open(settings(&server, 1)).await;
    let busy = Gateway::open(PostgresSettings { retention: forgetful(), ..settings(&server, 2) }).await;
    let mut writer = Writer::at(&busy, 1);
    let raw = raw(&server).await;
    let break_off = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'iolite_1'";
    let gap = async || {
        raw.execute(break_off, &[]).await.expect("a superuser");
        writer.commit(vec![write(1, Operation::Add(1))]).await;
        away.told().ready.len() > 1
    };
    eventually("one misses what the other has forgotten", gap).await;
    let ready = away.told().ready;
    assert!(ready[1].0 == ready[0].0 && ready[1].1 > ready[0].1, "the same history, further on: {ready:?}");
}

#[tokio::test]
async fn a_database_that_was_set_back_is_another_history() {
    let server = Server::start();
    let gateways = [Gateway::open(settings(&server, 1)).await, Gateway::open(settings(&server, 2)).await];
    let mut writer = Writer::at(&gateways[0], 1);
    writer.commit(vec![write(1, Operation::Add(1))]).await;
    let lost = writer.commit(vec![write(1, Operation::Add(1))]).await;
    for gateway in &gateways {
        in_time(gateway.reach(lost)).await;
    }
    let raw = raw(&server).await;
    let set_back = "
        WITH lost AS (DELETE FROM iolite.commits WHERE at = (SELECT max(at) FROM iolite.commits) RETURNING at)
        DELETE FROM iolite.touches WHERE at IN (SELECT at FROM lost)";
    raw.batch_execute(set_back).await.expect("a superuser");
    let break_off = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'iolite%'";
    raw.execute(break_off, &[]).await.expect("a superuser");
    for gateway in &gateways {
        eventually("the feed begins anew", async || gateway.told().ready.len() == 2).await;
    }
    let ready = gateways.each_ref().map(|gateway| gateway.told().ready);
    assert_eq!(ready[0], ready[1]);
    assert!(ready[0][0].0 != ready[0][1].0 && ready[0][1].1 < lost, "{ready:?}");
}

#[tokio::test]
async fn a_row_with_a_long_history_gets_states_on_the_way_and_reads_the_same_everywhere() {
    let server = Server::start();
    let gateway = Gateway::open(settings(&server, 1)).await;
    let raw = raw(&server).await;
    let writers = (1..=8).map(|client| {
        let mut writer = Writer::at(&gateway, client);
        async move {
            for _ in 0..100 {
                writer.commit(vec![write(1, Operation::Add(1))]).await;
            }
        }
    });
    futures_util::future::join_all(writers).await;
    let states = "SELECT count(*) FROM iolite.states";
    let end = Writer::at(&gateway, 9).commit(vec![write(1, Operation::Add(0))]).await;
    in_time(gateway.reach(end)).await;
    eventually("there is a state", async || {
        read_all(&gateway, end).await.expect("kept");
        number(&raw, states).await > 0
    })
    .await;
    for (index, commit) in gateway.told().commits.iter().enumerate().step_by(40) {
        let expected = CellState::Counter((index as i64 + 1).min(800));
        assert_eq!(counts(&read_all(&gateway, commit.at).await.expect("kept")), [Some(&expected)]);
    }
}

#[tokio::test]
async fn a_large_range_is_read_page_by_page() {
    let server = Server::start();
    let gateway = Gateway::open(settings(&server, 1)).await;
    let mut writer = Writer::at(&gateway, 1);
    writer.commit((0..500).map(|row| life(row, Operation::Create)).collect()).await;
    // A page of rows that hold nothing is not the end.
    let at = writer.commit((100..300).map(|row| life(row, Operation::Delete)).collect()).await;
    in_time(gateway.reach(at)).await;
    let keys: Vec<RowKey> = read_all(&gateway, at).await.expect("kept").into_iter().map(|row| row.key).collect();
    assert_eq!(keys, (0..100).chain(300..500).map(key).collect::<Vec<_>>());
}
