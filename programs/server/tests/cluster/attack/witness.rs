//! A client that uses the cluster while it is attacked, and what the cluster's processes say and take meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use iolite::{Client, Mutators, Options, Schema, Value, View};
use iolite_cluster::NodeState;

use crate::support::local::{Local, PATIENCE};

/// A cluster that is flooded answers the flood first.
const WORKS_WITHIN: Duration = Duration::from_secs(120);

pub fn schema() -> Schema {
    let json = r#"{"tables": {"marks": {"key": ["name"], "columns": {"name": {"type": "string"},
        "seen": {"type": "int", "default": 0}}},
        "floods": {"key": ["name"], "columns": {"name": {"type": "string"}}}}}"#;
    Schema::from_json(json).expect("a valid schema")
}

pub struct Witness {
    client: Client,
    marked: usize,
}

fn client(cluster: &Local) -> Client {
    let mutators = Mutators::new().with("mark", |tx, name: String| tx.insert("marks", &name, []));
    let options = Options::new().mutators(mutators);
    Client::connect(&cluster.sync_url(0), cluster.token(), schema(), options).expect("in memory")
}

impl Witness {
    pub async fn arrive(cluster: &Local) -> Witness {
        let mut witness = Witness { client: client(cluster), marked: 0 };
        witness.works().await;
        witness
    }

    /// Its mutations are confirmed.
    pub async fn works(&mut self) {
        let name = format!("mark {}", self.marked);
        self.marked += 1;
        let handle = self.client.mutate("mark", &name).expect("called");
        tokio::time::timeout(WORKS_WITHIN, handle.confirmed()).await.expect("it is served").expect("confirmed");
    }

    /// All that it did is there and nothing else, for one that comes new as well.
    pub async fn finds_all(&mut self, cluster: &Local) {
        self.works().await;
        let all: BTreeSet<Value> = (0..self.marked).map(|number| Value::from(format!("mark {number}"))).collect();
        for client in [&self.client, &client(cluster)] {
            let rows = client.read(View::Confirmed, |tx| {
                let rows = tx.rows("marks", &[])?;
                Ok(rows.iter().flat_map(|row| row.key().to_vec()).collect::<BTreeSet<Value>>())
            });
            let found = tokio::time::timeout(PATIENCE, rows).await.expect("it is served").expect("it can be read");
            assert_eq!(*found, all);
        }
    }
}

/// Every process of the cluster runs still, and said no more than so many lines, none of them of a panic.
pub fn runs_quietly(cluster: &Local, lines_max: usize) {
    for node in cluster.cluster.nodes() {
        let log = std::fs::read_to_string(node.log()).expect("it is there");
        assert!(!log.contains("panicked"), "{}: {log}", node.role);
        assert!(log.lines().count() <= lines_max, "{} said {} lines: {log}", node.role, log.lines().count());
        let state = node.state().expect("it can be asked");
        assert!(
            matches!(state, NodeState::Ready { .. } | NodeState::Starting { .. }),
            "{} has ended: {log}",
            node.role
        );
    }
}

/// Bytes of memory that a node's process has at this moment.
pub fn resident_bytes(cluster: &Local, name: &str) -> usize {
    let pid = cluster.node(name).pid().expect("it can be read").expect("it runs");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

/// Waits until a metric has at least this value: what is refused is counted after it was.
pub async fn until_metric(cluster: &Local, node: &str, name: &str, value: u64) {
    let begun = std::time::Instant::now();
    while cluster.metric(node, name) < value {
        assert!(begun.elapsed() < PATIENCE, "{name} does not reach {value}: {}", cluster.metrics(node));
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
