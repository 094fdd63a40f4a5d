//! Makes what `released/store-1` holds: run `cargo test -p iolite-node --test released -- --ignored` before a format changes, and keep the folder.
//!
//! Three replicas and a fourth one that takes the place of the first, while clients commit, abort and acknowledge; all are stopped while some
//! transactions have no outcome. The second replica's directory is kept: it has a checkpoint and records, of both epochs.

use std::path::Path;
use std::time::Duration;

use iolite_engine::Durability;
use iolite_host::{Clock, LinkSecurity, Metrics, Shutdown};
use iolite_node::config::{Cluster, Faults, StoreConfig};
use iolite_node::{Directory, Start, StoreClient, StoreClientSettings, StoreServer, StoreSettings};
use iolite_replication::configuration_write;
use iolite_replication::node::{Configuration, ReplicaId};
use iolite_store::Request;
use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, CoordinatorId, Counter, Decision, Id, Level, ListOrder, Operation, RowKey,
    TableId, Timestamp, Transaction, TransactionId, Value, Write,
};

const CHECKPOINT_BYTES_MIN: u64 = 8 << 10;

const CLIENTS: u128 = 4;

pub async fn make(folder: &Path) {
    let file = folder.join("cluster.toml");
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, description())).expect("a temporary folder");
    let cluster = Cluster::read(&file).expect("it is one");
    let shutdown = Shutdown::new();
    let mut servers = Vec::new();
    for (id, address) in &cluster.addresses {
        let data = folder.join(format!("store-{}", id.0));
        let store =
            StoreConfig { id: *id, data, durability: Durability::Fsync, listen: vec![address.clone()], observe: None };
        let settings = StoreSettings {
            directory: Directory::fixed(cluster.clone()),
            store,
            security: LinkSecurity::PlainOnLoopback,
            delay: Duration::ZERO,
            start: Start::First,
            faults: Faults::default(),
            clock: Clock::start(),
            checkpoint_bytes_min: CHECKPOINT_BYTES_MIN,
        };
        let server = StoreServer::open(settings, shutdown.clone()).await.expect("it opens");
        servers.push(tokio::spawn(server.run()));
    }
    let store = client(&cluster);
    run(&store, 1..40).await;
    let group = cluster.shards.groups().next().expect("there is one").clone();
    let next = [1, 2, 3].map(ReplicaId);
    let change = configuration_write(&Configuration::after(&group, &next).expect("one is replaced"));
    store.request(commit(9, 1, vec![change])).await.expect("it is chosen");
    run(&store, 40..120).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    run(&store, 120..125).await;
    // Nobody hears of the outcome of these.
    for number in 10..50 {
        let store = store.clone();
        tokio::spawn(async move { store.request(commit(number, 1, writes(number, 1))).await });
    }
    tokio::time::sleep(Duration::from_millis(4)).await;
    shutdown.begin();
    for server in servers {
        server.await.expect("it ends").expect("its disk works");
    }
}

fn client(cluster: &Cluster) -> StoreClient {
    let settings = StoreClientSettings {
        directory: Directory::fixed(cluster.clone()),
        id: CoordinatorId::new(5).expect("small"),
        security: LinkSecurity::PlainOnLoopback,
        delay: Duration::ZERO,
        clock: Clock::start(),
        metrics: Metrics::default(),
    };
    StoreClient::open(settings).expect("no certificates")
}

fn description() -> String {
    let free = || {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.local_addr().expect("it is bound")
    };
    let [a, b, c, d] = [free(), free(), free(), free()];
    format!(
        r#"
        store = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
        [[shards]]
        number = 0
        replicas = [{{ number = 0, address = "{a}" }}, {{ number = 1, address = "{b}" }}, {{ number = 2, address = "{c}" }}]
        joining = [{{ number = 3, address = "{d}" }}]
        "#
    )
}

/// Every client commits one after the other, aborts one in seven, and acknowledges but the last ones.
async fn run(store: &StoreClient, counters: std::ops::Range<u64>) {
    for counter in counters {
        for client in 1..=CLIENTS {
            let request = match counter % 7 {
                0 => abort(client, counter),
                _ => commit(client, counter, writes(client, counter)),
            };
            store.request(request).await.expect("it is answered");
        }
        if counter % 10 == 0 {
            let through = Counter(counter - 5);
            let request = Request::Acknowledge { client: ClientId(Id::from_u128(2)), through };
            store.request(request).await.expect("it is answered");
        }
    }
}

/// Of every kind, to few rows.
fn writes(client: u128, counter: u64) -> Vec<Write> {
    let row = |name: &str| RowKey::new(&[Value::from(name), Value::Int((counter % 8) as i64)]).expect("short");
    let write = |name: &str, operation| Write {
        cell: Cell { table: TableId::of("made"), row: row(name), column: ColumnId::of(name) },
        operation,
    };
    let value = Value::from(format!("{client}.{counter}").as_str());
    vec![
        write("count", Operation::Add(1)),
        write("register", Operation::Assign(value.clone())),
        write(
            "set",
            if counter.is_multiple_of(5) { Operation::Remove(value.clone()) } else { Operation::Insert(value.clone()) },
        ),
        write("list", Operation::Append { value: value.clone(), order: ListOrder::Commit }),
        write("map", Operation::PutEntry { key: format!("{}", counter % 3).into(), value }),
    ]
}

fn commit(client: u128, counter: u64, writes: Vec<Write>) -> Request {
    request(client, counter, Decision::Commit(writes))
}

fn abort(client: u128, counter: u64) -> Request {
    request(client, counter, Decision::Abort("no".into()))
}

fn request(client: u128, counter: u64, decision: Decision) -> Request {
    let id = TransactionId { client: ClientId(Id::from_u128(client)), counter: Counter(counter) };
    let (snapshot, reads, level) = (Timestamp::ZERO, Vec::new(), Level::Strict);
    let transaction = Transaction { id, attempt: Attempt(1), snapshot, reads, decision, level };
    Request::Commit { transaction, floor: Timestamp::ZERO, within: None }
}
