//! The database is killed with everything that it has under way, some of it done and not told, and a gateway with it: what was acknowledged took effect
//! once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use iolite::{Client, Mutators, Options, Schema, Value, View};
use tokio::task::JoinHandle;

use super::gateway::{Gateway, NodeFile, psql};
use super::server::{Server, USER};
use crate::support::folder::{Folder, PATIENCE};

fn schema() -> Schema {
    let json = r#"{"tables": {"marks": {"key": ["name"], "columns": {"name": {"type": "string"}}},
        "totals": {"key": ["name"], "columns": {"name": {"type": "string"}, "marks": {"type": "counter"}}}}}"#;
    Schema::from_json(json).expect("a valid schema")
}

fn open(gateway: &Gateway) -> Client {
    let mutators =
        Mutators::new().with("begin", |tx, ()| tx.insert("totals", "all", [])).with("mark", |tx, name: String| {
            tx.insert("marks", &name, [])?;
            tx.add("totals", "all", "marks", 1)
        });
    Client::connect(&gateway.sync_url(), gateway.token(), schema(), Options::new().mutators(mutators))
        .expect("in memory")
}

/// At least so many: what was acknowledged at the other gateway is here a moment later.
async fn all_marks(client: &Client, least: usize) -> (BTreeSet<Value>, i64) {
    let mut read = client.react(View::Confirmed, |tx| {
        let rows = tx.rows("marks", &[])?;
        let marks = rows.iter().flat_map(|row| row.key().to_vec()).collect::<BTreeSet<Value>>();
        Ok((marks, tx.counter("totals", "all", "marks")?))
    });
    loop {
        let found = tokio::time::timeout(PATIENCE, read.next()).await.expect("it comes").expect("it can be read");
        if found.0.len() >= least {
            return (*found).clone();
        }
    }
}

/// A client that marks one after the other until it is told that it is enough.
struct Marking {
    enough: Arc<AtomicBool>,
    task: JoinHandle<BTreeSet<Value>>,
}

impl Marking {
    fn start(client: &Client, number: usize) -> Marking {
        let enough = Arc::new(AtomicBool::new(false));
        Marking { task: tokio::spawn(mark_many(client.clone(), number, enough.clone())), enough }
    }

    /// What was acknowledged.
    async fn end(self) -> BTreeSet<Value> {
        self.enough.store(true, Ordering::Relaxed);
        tokio::time::timeout(PATIENCE, self.task).await.expect("clients go on by themselves").expect("it did not panic")
    }
}

async fn mark_many(client: Client, number: usize, enough: Arc<AtomicBool>) -> BTreeSet<Value> {
    let mut held = client.react(View::Confirmed, |tx| {
        tx.rows("marks", &[])?;
        tx.exists("totals", "all")
    });
    // The other gateway hears of it a moment later.
    while !*held.next().await.expect("a gateway answers") {}
    let mut acknowledged = BTreeSet::new();
    while !enough.load(Ordering::Relaxed) {
        let name = format!("{number}.{}", acknowledged.len());
        client.mutate("mark", &name).expect("called").confirmed().await.expect("it is marked once, by whoever asks");
        acknowledged.insert(Value::from(name));
    }
    acknowledged
}

async fn settles(client: &Client, times: usize) {
    let mut watched = client.settled();
    for _ in 0..times {
        tokio::time::timeout(PATIENCE, watched.recv()).await.expect("the load goes on").expect("the client is open");
    }
}

/// Returns when commits are done on the server's disk, and nobody has been told: they wait for a standby that is not there.
fn hold_commits(server: &Server) {
    psql(server, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    psql(server, "SELECT pg_reload_conf()");
    let begun = Instant::now();
    while psql(server, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "0" {
        assert!(begun.elapsed() < PATIENCE, "the load has stopped");
    }
    // For the next start: this one goes on as it is.
    psql(server, "ALTER SYSTEM RESET synchronous_standby_names");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_or_doubled_when_the_database_is_killed_under_load() {
    let mut server = Server::start();
    let folder = Folder::new("postgres-killed");
    let address = format!("address = \"host={} user={USER} dbname=postgres\"", server.folder().display());
    let mut gateways = [0, 1].map(|number| NodeFile::write(&folder.0, number, &address).start(&[]));
    gateways.iter_mut().for_each(Gateway::wait_until_ready);
    let clients = [open(&gateways[0]), open(&gateways[1])];
    clients[0].mutate("begin", &()).expect("called").confirmed().await.expect("it is the first");
    let marking: Vec<Marking> = (0..6).map(|number| Marking::start(&clients[number % 2], number)).collect();
    for round in 0..2 {
        settles(&clients[0], 30).await;
        settles(&clients[1], 30).await;
        hold_commits(&server);
        server.kill();
        assert!(gateways[1].get("/healthz").is_some(), "it lives while the database does not");
        server.start_again();
        if round == 1 {
            gateways[1].kill_and_start_again();
        }
    }
    settles(&clients[0], 30).await;
    settles(&clients[1], 30).await;
    let metrics = gateways[0].get("/metrics").expect("it lives");
    assert!(!metrics.contains("\niolite_postgres_reconnected_total 0\n"), "{metrics}");
    let mut acknowledged = BTreeSet::new();
    for marking in marking {
        acknowledged.extend(marking.end().await);
    }
    for gateway in &mut gateways {
        let (found, counted) = all_marks(&open(gateway), acknowledged.len()).await;
        assert_eq!(found, acknowledged);
        assert_eq!(counted as usize, acknowledged.len(), "each took effect once");
        assert!(found.len() >= 180, "{} were marked", found.len());
        gateway.wait_for("/metrics", |metrics| metrics.contains("iolite_postgres_requests_waiting 0\n"));
    }
    for gateway in gateways {
        gateway.terminate();
    }
}
