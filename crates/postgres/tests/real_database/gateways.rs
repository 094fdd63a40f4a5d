//! Several gateways on one real PostgreSQL: whatever they do at once, and whatever connections break, is one history that all of them tell.
//!
//! A failure names its seed. Timing is the machine's, so a seed gives the same transactions and not the same interleaving.

mod checker;
mod client;
mod history;
mod random;
mod workload;

use std::time::Duration;

use iolite_postgres::{Broken, Clock, PostgresSettings, Retention, SchemaName};
use iolite_store::{Reply, Request};
use iolite_values::{
    Attempt, ClientId, CoordinatorId, Counter, Decision, Id, Interest, KeyRange, Level, Timestamp, Transaction,
    TransactionId,
};

use self::client::Client;
use self::history::{History, Inner};
use self::workload::{ACCOUNTS, COUNTERS, LISTS, TOKENS, View};
use crate::gateway::Gateway;
use crate::server::Server;
use crate::writer::{number, raw};

const GATEWAYS: u16 = 3;
const CLIENTS: u64 = 18;

#[derive(Clone, Copy)]
struct Run {
    seed: u64,
    transactions: u64,
    broken: Broken,
    retention: Retention,
    /// How far each gateway's clock is ahead.
    clocks: [i64; GATEWAYS as usize],
    connections: Connections,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Connections {
    Stay,
    /// Random ones, again and again.
    AreKilled,
    /// All at once, with the memory of the server, a few times.
    Crash,
}

const CALM: Run = Run {
    seed: 1,
    transactions: 40,
    broken: Broken::Nothing,
    retention: Retention {
        age: Duration::from_secs(60),
        operations_max: 1 << 20,
        collect_every: Duration::from_secs(5),
    },
    clocks: [0, -3_000_000, 2_000_000],
    connections: Connections::Stay,
};

impl Run {
    fn settings(&self, server: &Server, gateway: u16) -> PostgresSettings {
        let schema = format!("seed_{}_{:?}", self.seed, self.broken).to_lowercase();
        PostgresSettings {
            schema: SchemaName::new(&schema).expect("letters and digits"),
            retention: self.retention,
            broken: self.broken,
            poll_every: Duration::from_millis(200),
            clock: Clock::Skewed { micros: self.clocks[usize::from(gateway)] },
            ..PostgresSettings::new(server.database(), CoordinatorId::new(gateway + 1).expect("few"))
        }
    }

    /// Runs, and says what is wrong, if anything is.
    fn check(&self, server: &Server) -> Result<Inner, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime").block_on(self.run(server))
    }

    async fn run(&self, server: &Server) -> Result<Inner, String> {
        let opened = (0..GATEWAYS).map(|gateway| Gateway::open(self.settings(server, gateway)));
        let gateways: Vec<Gateway> = futures_util::future::join_all(opened).await;
        let history = History::default();
        open_accounts(&gateways[0], &history).await;
        let clients = (0..CLIENTS).map(|number| Client::new(number, self.seed, &gateways, &history));
        let work = futures_util::future::join_all(clients.map(|client| client.run(self.transactions)));
        match self.connections {
            Connections::Stay => drop(work.await),
            Connections::AreKilled => tokio::select! {
                _ = work => {}
                () = kill_connections(server, self.seed, &history) => unreachable!("it goes on"),
            },
            Connections::Crash => tokio::select! {
                _ = work => {}
                () = crash(server, self.seed, &history) => unreachable!("it goes on"),
            },
        }
        settle(&gateways, &history).await?;
        let told: Vec<_> = gateways.iter().map(Gateway::told).collect();
        let history = history.take();
        checker::check(&history, &told).map(|of_the_past| Inner { of_the_past, ..history })
    }
}

/// The first transaction, of a client of its own.
async fn open_accounts(gateway: &Gateway, history: &History) {
    let id = TransactionId { client: ClientId(Id::from_u128(u128::MAX)), counter: Counter(1) };
    let decision = Decision::Commit(workload::opening());
    let transaction = Transaction {
        id,
        attempt: Attempt(1),
        snapshot: Timestamp::ZERO,
        reads: Vec::new(),
        decision,
        level: Level::Strict,
    };
    let request = Request::Commit { transaction: transaction.clone(), floor: Timestamp::ZERO, within: None };
    match gateway.ask(request).await {
        Reply::Commit(iolite_store::CommitReply::Completed(completion)) => {
            gateway.reach(completion.at).await;
            let told_before = Timestamp::ZERO;
            history.outcome(history::Outcome { read: Vec::new(), transaction, completion, told_before });
        }
        other => panic!("{other:?}"),
    }
}

/// Waits until every feed has everything, and reads it all at every gateway.
async fn settle(gateways: &[Gateway], history: &History) -> Result<(), String> {
    let end = history.highest_told();
    for gateway in gateways {
        let reached = tokio::time::timeout(Duration::from_secs(20), gateway.reach(end)).await;
        let at = reached.map_err(|_| format!("a feed is at {:?} and not at {end:?}", gateway.resolved()))?;
        let view = View { gateway, history, at };
        for table in [ACCOUNTS, COUNTERS, LISTS, TOKENS] {
            view.rows(Interest::Range { table, range: KeyRange::all() }).await;
        }
    }
    Ok(())
}

/// Ends the connections of random gateways, whatever they are doing.
async fn kill_connections(server: &Server, seed: u64, history: &History) {
    let (client, connection) = server.database().connect(tokio_postgres::NoTls).await.expect("the server runs");
    tokio::spawn(connection);
    let mut random = random::Random::new(seed);
    loop {
        tokio::time::sleep(Duration::from_millis(10 + random.below(50))).await;
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'iolite%' ORDER BY random() LIMIT 3";
        let killed = client.execute(kill, &[]).await.expect("this connection is no gateway's");
        history.disturbed(killed);
    }
}

/// Crashes the database. Recovery takes its time, so not often.
async fn crash(server: &Server, seed: u64, history: &History) {
    let mut random = random::Random::new(seed);
    let mut crashes = 0;
    loop {
        if crashes == 4 {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(Duration::from_millis(700 + random.below(500))).await;
        // While it recovers it cannot be crashed again.
        let Ok((client, connection)) = server.database().connect(tokio_postgres::NoTls).await else { continue };
        tokio::spawn(connection);
        if let Ok(row) = client.query_one("SELECT pg_backend_pid()", &[]).await {
            server.crash(row.get(0));
            crashes += 1;
            history.disturbed(1);
        }
    }
}

fn assert_whole(run: Run) -> Inner {
    assert_whole_on(&Server::start(), run)
}

fn assert_whole_on(server: &Server, run: Run) -> Inner {
    let result = run.check(server);
    let history = result.unwrap_or_else(|violation| panic!("seed {}: {violation}", run.seed));
    assert_eq!(history.outcomes.len() as u64, CLIENTS * run.transactions + 1);
    history
}

#[test]
fn three_gateways_at_once_make_one_history_that_all_feeds_tell_whole() {
    let history = assert_whole(CALM);
    assert!(history.conflicts > 0, "clients came in each other's way");
    assert!(history.of_the_past > 0, "weaker levels came to no more than strict ones may");
}

#[test]
fn connections_that_are_killed_in_the_middle_lose_and_double_nothing() {
    let history = assert_whole(Run { seed: 2, connections: Connections::AreKilled, ..CALM });
    assert!(history.disturbances > 10, "{} connections were killed", history.disturbances);
}

#[test]
fn a_database_that_crashes_loses_and_doubles_nothing() {
    let history = assert_whole(Run { seed: 3, connections: Connections::Crash, ..CALM });
    assert!(history.disturbances > 1, "it crashed {} times", history.disturbances);
}

#[test]
fn history_that_is_collected_all_the_while_changes_nothing() {
    let retention =
        Retention { age: Duration::from_secs(4), operations_max: 1 << 20, collect_every: Duration::from_millis(50) };
    // By timestamps, so that a clock far ahead would make everything else old.
    let (server, run) = (Server::start(), Run { seed: 4, transactions: 80, retention, clocks: [0; 3], ..CALM });
    assert_whole_on(&server, run);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let folded = "SELECT count(*) FROM seed_4_nothing.states";
    let folded = runtime.block_on(async { number(&raw(&server).await, folded).await });
    assert!(folded > 0, "nothing was old enough");
}

/// Longer, with everything that can break.
#[test]
#[ignore = "for `make soak`"]
fn soak_many_seeds() {
    for seed in 100..110 {
        for connections in [Connections::Stay, Connections::AreKilled, Connections::Crash] {
            assert_whole(Run { seed, connections, ..CALM });
        }
    }
}

/// With one rule taken out, some run of a few comes to a violation.
#[test]
fn the_checks_find_every_rule_that_is_taken_out() {
    let server = Server::start();
    let rules = [
        Broken::SkipReadValidation,
        Broken::LastCommitterWins,
        Broken::NoCompletionRecords,
        Broken::SkipDrain,
        Broken::IgnoreHighest,
        Broken::SkipLocks,
    ];
    for broken in rules {
        let found = (1..=8).find_map(|seed| Run { seed, broken, transactions: 25, ..CALM }.check(&server).err());
        println!("{broken:?}: {found:?}");
        assert!(found.is_some(), "nobody notices {broken:?}");
    }
}
