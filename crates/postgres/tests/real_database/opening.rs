//! What is said to whoever opens a store with a database that cannot be used, and what need not be as one may think.

use std::time::Duration;

use iolite_postgres::{OpenError, PostgresSettings, PostgresStore};
use iolite_values::{CellState, CoordinatorId, Operation};

use crate::gateway::Gateway;
use crate::server::{Server, USER};
use crate::writer::{Writer, counts, in_time, raw, read_all, settings, write};

/// Whoever made the server may do everything; others need a password.
const ACCESS: &str = "local all iolite trust\nlocal all all scram-sha-256\n";

fn guarded() -> Server {
    Server::start_with(5432, &[("pg_hba.conf", ACCESS)], &[])
}

fn settings_of(server: &Server, user: &str, password: Option<&str>) -> PostgresSettings {
    let mut database = server.database();
    database.user(user);
    if let Some(password) = password {
        database.password(password);
    }
    PostgresSettings::new(database, CoordinatorId::default())
}

async fn refusal(settings: PostgresSettings) -> OpenError {
    PostgresStore::open(settings).await.expect_err("it cannot be used")
}

#[tokio::test]
async fn a_wrong_password_a_missing_one_and_an_unknown_user_are_told() {
    let server = guarded();
    raw(&server).await.batch_execute("CREATE ROLE app LOGIN PASSWORD 'right'").await.expect("a superuser");
    for (user, password) in [("app", Some("wrong")), ("nobody", Some("right"))] {
        let refused = refusal(settings_of(&server, user, password)).await;
        assert!(matches!(&refused, OpenError::Denied(_)) && !refused.may_pass(), "{refused:?}");
        assert!(refused.to_string().contains(user) && refused.to_string().contains("password"), "{refused}");
        assert!(!format!("{refused} {refused:?}").contains("right"), "{refused:?}");
    }
    let missing = refusal(settings_of(&server, "app", None)).await;
    assert!(missing.to_string().contains("password missing") && !missing.may_pass(), "{missing}");
}

#[tokio::test]
async fn a_database_that_is_not_there_is_told() {
    let server = Server::start();
    let mut database = server.database();
    database.dbname("nowhere");
    let refused = refusal(PostgresSettings::new(database, CoordinatorId::default())).await;
    assert!(matches!(&refused, OpenError::NoDatabase(_)) && !refused.may_pass(), "{refused:?}");
    assert!(refused.to_string().contains("nowhere") && refused.to_string().contains("create it"), "{refused}");
}

#[tokio::test]
async fn a_right_that_is_missing_is_named() {
    let server = guarded();
    let admin = raw(&server).await;
    admin.batch_execute("CREATE ROLE app LOGIN PASSWORD 'right'").await.expect("a superuser");
    let app = || settings_of(&server, "app", Some("right"));
    let cannot_create = refusal(app()).await;
    assert!(matches!(&cannot_create, OpenError::Rights { .. }) && !cannot_create.may_pass(), "{cannot_create:?}");
    assert!(cannot_create.to_string().contains("permission denied for database"), "{cannot_create}");
    // Tables of another user, of which it may use some.
    drop(PostgresStore::open(settings(&server, 1)).await.expect("a superuser"));
    let cannot_look = refusal(app()).await;
    assert!(cannot_look.to_string().contains("permission denied for schema iolite"), "{cannot_look}");
    let all = "GRANT USAGE ON SCHEMA iolite TO app; GRANT ALL ON ALL TABLES IN SCHEMA iolite TO app";
    let but = "REVOKE DELETE ON iolite.commits FROM app; REVOKE INSERT ON iolite.touches FROM app";
    admin.batch_execute(&format!("{all}; {but}")).await.expect("a superuser");
    let lacks = refusal(app()).await;
    assert!(lacks.to_string().contains("it lacks DELETE on commits, INSERT on touches"), "{lacks}");
    admin.batch_execute(all).await.expect("a superuser");
    drop(PostgresStore::open(app()).await.expect("it may do everything now"));
    // Its own schema is all that it needs.
    admin
        .batch_execute("DROP SCHEMA iolite CASCADE; CREATE SCHEMA iolite AUTHORIZATION app")
        .await
        .expect("a superuser");
    drop(PostgresStore::open(app()).await.expect("the schema is its own"));
}

#[tokio::test]
async fn a_server_that_takes_no_writes_is_not_used() {
    let server = Server::start();
    let admin = raw(&server).await;
    admin
        .batch_execute("CREATE ROLE app LOGIN; ALTER ROLE app SET default_transaction_read_only = on")
        .await
        .expect("ok");
    let refused = refusal(settings_of(&server, "app", None)).await;
    assert!(matches!(&refused, OpenError::ReadOnly) && refused.may_pass(), "{refused:?}");
}

#[tokio::test]
async fn a_database_that_is_not_there_yet_is_waited_for_and_what_has_to_be_corrected_is_not() {
    let mut server = Server::start();
    server.kill();
    let unreachable = refusal(settings(&server, 1)).await;
    assert!(matches!(&unreachable, OpenError::Unreachable(_)), "{unreachable:?}");
    let mut waited = 0;
    let mut told = Vec::new();
    let patient = PostgresStore::open_patiently(settings(&server, 1), |error| {
        assert!(error.may_pass());
        told.push(error.to_string());
        waited += 1;
        if waited == 3 {
            server.start_again();
        }
    });
    drop(in_time(patient).await.expect("it is there in the end"));
    assert!(told.len() >= 3 && told[0].contains("cannot be reached"), "{told:?}");
    let mut database = server.database();
    database.dbname("nowhere");
    let wrong = PostgresSettings::new(database, CoordinatorId::default());
    let refused = in_time(PostgresStore::open_patiently(wrong, |error| panic!("{error}"))).await;
    assert!(matches!(&refused, Err(OpenError::NoDatabase(_))), "{refused:?}");
}

#[tokio::test]
async fn the_databases_encoding_does_not_matter() {
    let server = Server::start();
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let create = format!("CREATE DATABASE {encoding} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'");
        raw(&server).await.batch_execute(&create).await.expect("a superuser");
        let mut database = server.database();
        database.user(USER).dbname(encoding.to_lowercase());
        let gateway = Gateway::open(PostgresSettings { database, ..settings(&server, 1) }).await;
        let at = Writer::at(&gateway, 1).commit(vec![write(1, Operation::Add(1))]).await;
        in_time(gateway.reach(at)).await;
        assert_eq!(counts(&read_all(&gateway, at).await.expect("kept")), [Some(&CellState::Counter(1))]);
    }
}

#[tokio::test]
async fn a_store_counts_its_connections_and_what_it_did_again() {
    let server = Server::start();
    let mut store = PostgresStore::open(settings(&server, 1)).await.expect("the database is there");
    in_time(store.next_event()).await;
    let before = store.figures();
    assert!(before.connections >= 1 && before.waiting == 0 && before.heard_at_millis > 0, "{before:?}");
    let lost = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'iolite_1'";
    raw(&server).await.batch_execute(lost).await.expect("a superuser");
    in_time(async {
        while store.figures().reconnected == before.reconnected {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}
