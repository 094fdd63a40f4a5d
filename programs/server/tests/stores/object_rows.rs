//! Rows of objects and of their nodes in a store. The test writes them itself, as no gateway of a cluster has objects yet.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use iolite_host::{Clock, Metrics};
use iolite_node::{Directory, StoreClient, StoreClientSettings};
use iolite_store::{CommitReply, ReadLimit, Reply, Request};
use iolite_values::{
    Attempt, Bucket, Cell, ClientId, ColumnId, CoordinatorId, Counter, Decision, Id, Interest, KeyRange, Level,
    ObjectName, Operation, Row, RowKey, TableId, Timestamp, Transaction, TransactionId, Value, Write,
};

use crate::support::local::{Local, PATIENCE};

/// One that no command of these tests has.
const NUMBER: u16 = 4_050;
const DEVICE: Id = Id::from_u128(0xada);

/// The store of a cluster, as a server of objects asks it.
pub struct ObjectRows {
    store: StoreClient,
    last: Counter,
}

impl ObjectRows {
    pub fn of(cluster: &Local) -> ObjectRows {
        let id = CoordinatorId::new(NUMBER).expect("a number of commands");
        let security = cluster.cluster.command_security(id).expect("it has an authority");
        let directory = Directory::open(&cluster.cluster.file()).expect("it was made");
        let (clock, metrics, delay) = (Clock::start(), Metrics::default(), Duration::ZERO);
        let settings = StoreClientSettings { directory, id, security, delay, clock, metrics };
        ObjectRows { store: StoreClient::open(settings).expect("its certificate is good"), last: Counter(0) }
    }

    /// A node comes to a server, which registers it and needs no record of that any more.
    pub async fn register(&mut self) {
        let key = RowKey::new(&[Value::from("device"), Value::Id(DEVICE)]).expect("it is short");
        self.create("_nodes", &key, "life", Value::Int(1)).await;
    }

    /// An object begins at that node, in a bucket.
    pub async fn begin(&mut self) {
        self.create("_objects", &object(), "places", Value::string(format!("1 device-{DEVICE}#1"))).await;
        self.create("_buckets", &RowKey::new(&[Value::Int(7)]).expect("it is short"), "epoch", Value::Int(1)).await;
    }

    /// The object's row, and how many rows there are of nodes and of buckets.
    pub async fn all(&self) -> (Option<Row>, usize) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_micros() as u64;
        let now = Timestamp::new(now, self.store.id());
        let standing = tokio::time::timeout(PATIENCE, self.store.resolved_through(now)).await.expect("in time");
        let at = standing.expect("it runs").resolved;
        let objects = self.table("_objects", at).await.into_iter();
        let object = objects.filter_map(|(key, row)| (key == object()).then_some(row)).next();
        (object, self.table("_nodes", at).await.len() + self.table("_buckets", at).await.len())
    }

    async fn create(&mut self, table: &str, key: &RowKey, column: &str, value: Value) {
        self.last = Counter(self.last.0 + 1);
        let (table, client) = (TableId::of(table), ClientId(Id::from_u128(7)));
        let cell = Cell { table, row: key.clone(), column: ColumnId::of(column) };
        let row = Write { cell: Cell::row(table, key.clone()), operation: Operation::Create };
        let transaction = Transaction {
            id: TransactionId { client, counter: self.last },
            attempt: Attempt(1),
            snapshot: Timestamp::ZERO,
            reads: Vec::new(),
            level: Level::Strict,
            decision: Decision::Commit(vec![row, Write { cell, operation: Operation::Put(value) }]),
        };
        let reply = self.ask(Request::Commit { transaction, floor: Timestamp::ZERO, within: None }).await;
        assert!(matches!(reply, Reply::Commit(CommitReply::Completed(_))), "{reply:?}");
        let reply = self.ask(Request::Acknowledge { client, through: self.last }).await;
        assert!(matches!(reply, Reply::Acknowledged), "{reply:?}");
    }

    async fn table(&self, name: &str, at: Timestamp) -> Vec<(RowKey, Row)> {
        let interest = Interest::Range { table: TableId::of(name), range: KeyRange::all() };
        match self.ask(Request::ReadAt { interest, at, limit: ReadLimit::NONE }).await {
            Reply::ReadAt(Ok(page)) => page.rows.into_iter().map(|row| (row.key, row.row)).collect(),
            other => panic!("{other:?}"),
        }
    }

    async fn ask(&self, request: Request) -> Reply {
        let reply = tokio::time::timeout(PATIENCE, self.store.request(request)).await;
        reply.expect("in time").expect("it runs")
    }
}

fn object() -> RowKey {
    let name = ObjectName::new("TodoList", "home").expect("it is short");
    let bucket = Value::Int(Bucket::of(&name).number().into());
    RowKey::new(&[bucket, Value::from(name.class()), Value::from(name.id())]).expect("it is short")
}
