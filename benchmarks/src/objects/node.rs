//! A null call from Node to a server in Rust, and from the server to Node: `iolite bench object-null --from node`.
//!
//! The server is a process, and Node is its child: `benchmarks/objects/nullCall.mjs`, which has the `@iolite/objects` that apps have.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use iolite::objects::{Ref, sapphire};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::own;
use super::pair::percentiles;
use super::report::row;
use super::side::{Count, Looped, Part, Ready, nanos_since};
use crate::cells::Cells;
use crate::cluster::program;
use crate::latency::Latencies;
use crate::part::{PartProcess, hear, say};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/objects/nullCall.mjs");
/// The package that the script takes.
const BUILT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../sdks/typescript/objects/dist/index.js");
const OBJECT: &str = "node";

/// The object that lives in Node. The server calls it, and has no such class.
#[sapphire(name = "NodeNull", devices = "hold")]
struct NodeNull {}

#[sapphire::methods]
impl NodeNull {
    fn call(&mut self) {}

    #[read]
    fn runs(&self) -> u64 {
        0
    }
}

/// The server's answer: calls that Node made, and calls that the server made.
#[derive(Debug, Serialize, Deserialize)]
struct Ways {
    from_node: Looped,
    to_node: Looped,
    /// Runs of the server's object and of Node's, since they are there.
    ran: [u64; 2],
}

/// One of the two ways.
type Way = fn(&Ways) -> &Looped;

/// The server with its Node, and what was measured between them.
pub struct NodePair {
    process: PartProcess,
    /// Calls each way, also of the warm-up.
    called: [u64; 2],
    ran: [u64; 2],
    measured: Vec<Ways>,
}

impl NodePair {
    /// # Errors
    /// When Node or its packages are not there, or a process does not start.
    pub fn start() -> anyhow::Result<NodePair> {
        ensure!(std::path::Path::new(BUILT).is_file(), "--from node needs @iolite/objects: run `make build`");
        let mut process = PartProcess::start(&["bench-part", "node-call"])?;
        let Ready::Ready = process.hear().context("the server of Node does not start")?;
        Ok(NodePair { process, called: [0; 2], ran: [0; 2], measured: Vec::new() })
    }

    /// # Errors
    /// When a process ends.
    pub fn warm_up(&mut self, time: Duration) -> anyhow::Result<()> {
        self.ways(time).map(drop)
    }

    /// Measures each way for so long.
    ///
    /// # Errors
    /// As [`NodePair::warm_up`].
    pub fn run(&mut self, time: Duration) -> anyhow::Result<()> {
        let ways = self.ways(time)?;
        self.measured.push(ways);
        Ok(())
    }

    fn ways(&mut self, time: Duration) -> anyhow::Result<Ways> {
        self.process.tell(&Part::of(time))?;
        let ways: Ways = self.process.hear()?;
        self.called[0] += ways.from_node.latency.count();
        self.called[1] += ways.to_node.latency.count();
        self.ran = ways.ran;
        Ok(ways)
    }

    pub fn report(&self, cells: &mut Cells, table: &mut String) {
        let ways: [(&str, &str, Way); 2] =
            [("node", "process", |ways| &ways.from_node), ("process", "node", |ways| &ways.to_node)];
        for (from, to, of) in ways {
            let counts = |ways: &[Ways]| percentiles(ways.iter().map(|ways| &of(ways).latency));
            let calls: u64 = self.measured.iter().map(|ways| of(ways).latency.count()).sum();
            let nanos: u64 = self.measured.iter().map(|ways| of(ways).nanos).sum();
            let rate = calls as f64 * 1e9 / nanos.max(1) as f64;
            row(table, &format!("{from} to {to}"), 1, counts(&self.measured), rate);
            let rounds: Vec<f64> = self.measured.chunks(1).map(|ways| counts(ways).p50).collect();
            cells.push(json!({
                "from": from, "to": to, "calls": calls, "latency_ms": counts(&self.measured), "round_p50_ms": rounds,
                "throughput_per_s": rate,
            }));
        }
        let NodePair { called, ran, .. } = self;
        if called != ran || called.contains(&0) {
            cells.fault(format!("node: {called:?} calls from it and to it were made, and {ran:?} ran"));
        }
    }
}

/// The server's process, until its parent is gone.
///
/// # Errors
/// When the server or Node does not start, or a call fails.
pub fn run_node() -> anyhow::Result<()> {
    // As a side of the other systems: one thread, and the work is a task of it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { tokio::spawn(answer()).await? })
}

async fn answer() -> anyhow::Result<()> {
    let count = Count::default();
    let host = own::serve(count.clone()).await?;
    let mut command = Command::new(program("node")?);
    command.arg(SCRIPT).args([host.url(), host.token()]);
    let node = PartProcess::start_by(command)?;
    let (node, Ready::Ready) = heard_by(node).await.context("Node does not start")?;
    let object = host.find(OBJECT).await?.context("Node has no object to call")?;
    say(&Ready::Ready)?;
    ways(node, &object, &count).await?;
    Ok(host.stop().await?)
}

async fn ways(mut node: PartProcess, object: &Ref<NodeNull>, count: &Count) -> anyhow::Result<()> {
    while let Ok(part) = hear::<Part>().await {
        node.tell(&part)?;
        let from_node: Looped;
        (node, from_node) = heard_by(node).await?;
        let to_node = call(object, part.time()).await?;
        say(&Ways { from_node, to_node, ran: [count.ran(), object.runs().await?] })?;
    }
    Ok(())
}

/// Waits for the process's word, while the server goes on.
async fn heard_by<T: serde::de::DeserializeOwned + Send + 'static>(
    mut process: PartProcess,
) -> anyhow::Result<(PartProcess, T)> {
    tokio::task::spawn_blocking(move || process.hear().map(|word| (process, word))).await?
}

async fn call(object: &Ref<NodeNull>, time: Duration) -> anyhow::Result<Looped> {
    let mut latencies = Latencies::default();
    let begun = Instant::now();
    while begun.elapsed() < time {
        let called = Instant::now();
        object.call().await?;
        latencies.record(nanos_since(called));
    }
    Ok(Looped { latency: latencies.counts(), nanos: nanos_since(begun) })
}
