//! How fast a client that comes back drains what was called offline, by how much that is, and what another client waits for meanwhile.
//!
//! The delay is on the way of the client that drains. The other client is next to the server.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clap::Args;
use iolite::table::Counter;
use iolite::{CallError, Client, MutationHandle, Mutators, Options, Table, View, schema};
use serde_json::json;

use crate::arguments::{AppWorkload, Arguments};
use crate::cells::Cells;
use crate::child::Address;
use crate::latency::{Latencies, Percentiles};
use crate::server::Server;

#[derive(Args, Debug)]
pub struct QueueOptions {
    /// For queue: so many calls are made offline; several with commas
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub calls: Vec<u32>,
}

impl QueueOptions {
    /// An option that was given and that only this workload has.
    pub fn name_of_any(&self) -> Option<&'static str> {
        (!self.calls.is_empty()).then_some("--calls")
    }
}

#[derive(Table)]
#[table(name = "todos")]
struct Todo {
    #[key]
    id: i64,
    title: String,
}

#[derive(Table)]
#[table(name = "hits", live)]
struct Hits {
    #[key]
    page: String,
    n: Counter,
}

/// The effect of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Each inserts a row of its own.
    Inserts,
    /// All increment one counter.
    Increments,
}

const WITHIN: Duration = Duration::from_secs(300);
/// How long the other client is looked at while nothing drains.
const ALONE: Duration = Duration::from_secs(3);

/// # Errors
/// When the server does not start, or a client is not let in. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let calls = &arguments.queue.calls;
    if calls.is_empty() {
        bail!("nothing to measure: queue needs --calls 1000,4000");
    }
    let settings = json!({"delay_ms": arguments.delay_ms(), "durability": arguments.durability.name()});
    let mut cells = Cells::new(&AppWorkload::Queue.name(), settings);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for kind in [Kind::Inserts, Kind::Increments] {
        let mut rates = Vec::new();
        for count in calls {
            let server = Server::of(arguments)?;
            let (far, near) = (server.clients_address(), server.near_address());
            let drained = runtime.block_on(drain(&far, &near, kind, *count))?;
            rates.push((*count, drained.rate));
            report(&mut cells, kind, *count, &drained);
        }
        if let ([(least, slow), ..], Some((most, fast))) = (&rates[..], rates.last()) {
            cells.ratio(&format!("{} rate of {most} calls of {least}", kind.name()), *fast, *slow);
        }
    }
    cells.print(arguments.json)
}

struct Drained {
    seconds: f64,
    rate: f64,
    stored: u64,
    alone: Percentiles,
    meanwhile: Percentiles,
}

fn report(cells: &mut Cells, kind: Kind, count: u32, drained: &Drained) {
    let Drained { seconds, rate, stored, alone, meanwhile } = drained;
    let name = kind.name();
    if *stored != u64::from(count) {
        cells.fault(format!("{name}: of {count} calls {stored} took effect"));
    }
    cells.push(json!({
        "of": name, "calls": count, "seconds": seconds, "per_second": rate, "other_ms": meanwhile, "other_alone_ms": alone,
    }));
    cells.ratio(&format!("{name} {count} other p99 of alone"), meanwhile.p99, alone.p99);
}

async fn drain(far: &Address, near: &Address, kind: Kind, count: u32) -> anyhow::Result<Drained> {
    let (client, other) = (connect(far, "ann")?, connect(near, "bob")?);
    for one in [&client, &other] {
        one.online().await.map_err(|state| anyhow!("the server does not let a client in: {state:?}"))?;
    }
    let alone = look(&other, tokio::time::sleep(ALONE)).await?;
    client.go_offline();
    let handles = (0..count).map(|id| kind.call(&client, id)).collect::<Result<Vec<_>, _>>()?;
    let begun = Instant::now();
    client.go_online();
    let mut took = Duration::ZERO;
    let all = async {
        for handle in handles {
            let _ = handle.confirmed().await;
        }
        took = begun.elapsed();
    };
    let meanwhile = look(&other, all).await?;
    let stored = kind.stored(&other).await?;
    client.close().await;
    other.close().await;
    let seconds = took.as_secs_f64();
    Ok(Drained { seconds, rate: f64::from(count) / seconds, stored, alone, meanwhile })
}

/// Latencies of another client's calls, one after the other, until something has ended.
async fn look(client: &Client, until: impl Future<Output = ()>) -> anyhow::Result<Percentiles> {
    let mut latencies = Latencies::default();
    tokio::pin!(until);
    let begun = Instant::now();
    loop {
        let call = Instant::now();
        let confirmed = async { client.mutate("hit", "other")?.confirmed().await.map_err(anyhow::Error::from) };
        tokio::select! {
            () = &mut until => return Ok(latencies.percentiles()),
            ended = confirmed => drop(ended?),
        }
        latencies.record(call.elapsed().as_nanos() as u64);
        if begun.elapsed() > WITHIN {
            bail!("the queue is not empty after {WITHIN:?}");
        }
    }
}

fn connect(address: &Address, user: &str) -> anyhow::Result<Client> {
    let tables = schema().with::<Todo>().with::<Hits>().build()?;
    let mutators = Mutators::new()
        .with("add", |tx, id: i64| tx.create(&Todo { id, title: "x".into() }))
        .with("hit", |tx, page: String| tx.at(Hits::N, page.as_str()).add(1));
    Ok(Client::connect(&address.url, &address.token, tables, Options::new().user(user).mutators(mutators))?)
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Inserts => "inserts",
            Kind::Increments => "increments",
        }
    }

    fn call(self, client: &Client, number: u32) -> Result<MutationHandle, CallError> {
        match self {
            Kind::Inserts => client.mutate("add", &i64::from(number)),
            Kind::Increments => client.mutate("hit", "shared"),
        }
    }

    /// How many calls took effect, as another client sees it.
    async fn stored(self, other: &Client) -> anyhow::Result<u64> {
        let stored = match self {
            Kind::Inserts => *other.read(View::Confirmed, |tx| Ok(tx.all::<Todo>()?.len() as u64)).await?,
            Kind::Increments => other.read(View::Confirmed, |tx| tx.at(Hits::N, "shared").get()).await?.cast_unsigned(),
        };
        Ok(stored)
    }
}
