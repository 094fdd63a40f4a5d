//! A client's process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use iolite::{Client, MutationEnd, Options, TransactError, View};
use iolite_host::monotonic_nanos;

use crate::arguments::{ClientArguments, Role, Workload};
use crate::intervals::Intervals;
use crate::latency::Latencies;
use crate::part::{hear, hear_now, say};
use crate::schema::schema;
use crate::talk::{Append, Called, FromClient, RunResult, ToClient};
use crate::workloads::{self, Transfer};

/// How long the last mutation of a run is waited for.
const END_WITHIN: Duration = Duration::from_secs(10);

/// Runs one client to its end.
///
/// # Errors
/// When the server or the parent does not do what it should.
pub fn run_client(arguments: &ClientArguments) -> anyhow::Result<()> {
    // One thread: between a call and its frame there is no other to wake.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let options = Options::new().mutators(workloads::mutators());
        let client = Client::connect(&arguments.url, &arguments.token, schema(), options)?;
        client.online().await.map_err(|state| anyhow!("the server does not let the client in: {state:?}"))?;
        match arguments.role {
            Role::Prepare => client.transact(workloads::prepare).await.context("the accounts cannot be made"),
            Role::Load => load(&client, arguments).await,
            Role::Writer => write(&client).await,
            Role::Reader => read(&client).await,
            Role::Verify => {
                let workload = arguments.workload;
                let state = client.read(View::Confirmed, move |tx| workloads::state(tx, workload)).await?;
                say(&FromClient::State((*state).clone()))
            }
        }
    })
}

async fn load(client: &Client, arguments: &ClientArguments) -> anyhow::Result<()> {
    let violations = Arc::new(AtomicU64::new(0));
    let _audit = audit(client, arguments.workload, violations.clone()).await?;
    warm_up(client, arguments.workload).await?;
    say(&FromClient::Ready)?;
    let ToClient::Run { seconds } = hear().await? else { bail!("a run was expected") };
    let (before, attempts) = (client.traffic(), client.attempts());
    let begun = monotonic_nanos();
    let mut run = Run {
        result: RunResult::default(),
        begun,
        whole: Duration::from_secs(u64::from(seconds)),
        latencies: Latencies::default(),
        intervals: Intervals::default(),
        random: Random::of(arguments.number),
    };
    let end = begun + u64::from(seconds) * 1_000_000_000;
    while monotonic_nanos() < end {
        run.once(client, arguments).await?;
        if run.result.unknown > 0 {
            break;
        }
    }
    let after = client.traffic();
    let mut result = run.result;
    result.nanos = monotonic_nanos() - begun;
    result.attempts = client.attempts() - attempts;
    result.commit_latency = run.latencies.counts();
    result.intervals = run.intervals.counts();
    result.bytes_up = after.bytes_up - before.bytes_up;
    result.bytes_down = after.bytes_down - before.bytes_down;
    result.violations += violations.load(Ordering::Relaxed);
    say(&FromClient::Result(Box::new(result)))
}

struct Run {
    result: RunResult,
    begun: u64,
    whole: Duration,
    intervals: Intervals,
    latencies: Latencies,
    random: Random,
}

impl Run {
    async fn once(&mut self, client: &Client, arguments: &ClientArguments) -> anyhow::Result<()> {
        let called = monotonic_nanos();
        let outcome = tokio::time::timeout(END_WITHIN, async {
            match workloads::mutation(arguments.workload) {
                Some(name) => call(client, arguments.workload, name, self.random.next()).await.map(|()| None),
                None => append(client, arguments.number, self.random.next(), self.result.committed).await.map(Some),
            }
        });
        match outcome.await {
            Err(_) => self.result.unknown += 1,
            Ok(Ok(append)) => {
                let now = monotonic_nanos();
                self.latencies.record(now - called);
                self.intervals.record(Duration::from_nanos(now - self.begun), self.whole, now - called);
                self.result.committed += 1;
                self.result.appends.extend(append);
            }
            Ok(Err(TransactError::End(MutationEnd::Rejected { .. }))) => self.result.rejected += 1,
            Ok(Err(error)) => return Err(error.into()),
        }
        Ok(())
    }
}

async fn call(client: &Client, workload: Workload, name: &str, random: u64) -> Result<(), TransactError> {
    let handle = match workload {
        Workload::Bank => client.mutate(name, &Transfer::random(random))?,
        Workload::Counter | Workload::Rmw | Workload::Append | Workload::Propagate => client.mutate(name, &())?,
    };
    handle.confirmed().await?;
    Ok(())
}

async fn append(client: &Client, number: u32, random: u64, sequence: u64) -> Result<Append, TransactError> {
    let (list, element) = (workloads::list_name(random), format!("{number}.{sequence}"));
    let (name, value) = (list.clone(), element.clone());
    let (seen, digest) = client.transact(move |tx| workloads::append(tx, &name, &value)).await?;
    Ok(Append { list, element, seen, digest })
}

/// Looks at every confirmed snapshot of the accounts.
async fn audit(
    client: &Client,
    workload: Workload,
    violations: Arc<AtomicU64>,
) -> anyhow::Result<Option<iolite::Reaction<()>>> {
    if workload != Workload::Bank {
        return Ok(None);
    }
    let mut audit = client.react(View::Confirmed, move |tx| {
        if workloads::sum(tx)? != workloads::SUM {
            violations.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    audit.next().await?;
    Ok(Some(audit))
}

/// What the workload reads is held from the beginning: a run measures commits, not the first fetch.
async fn warm_up(client: &Client, workload: Workload) -> anyhow::Result<()> {
    match workload {
        Workload::Counter | Workload::Propagate | Workload::Bank => {}
        Workload::Rmw | Workload::Append => {
            let mut reaction = client.react(View::Confirmed, move |tx| workloads::state(tx, workload));
            reaction.next().await?;
        }
    }
    Ok(())
}

async fn write(client: &Client) -> anyhow::Result<()> {
    say(&FromClient::Ready)?;
    let before = client.traffic();
    let mut result = RunResult::default();
    loop {
        match hear().await? {
            ToClient::Call => {
                let called_nanos = monotonic_nanos();
                client.mutate("increment", &())?.confirmed().await?;
                result.committed += 1;
                say(&FromClient::Called(Called { called_nanos, confirmed_nanos: monotonic_nanos() }))?;
            }
            ToClient::End => break,
            ToClient::Run { .. } => bail!("a writer calls when it is told to"),
        }
    }
    finish(client, before, result)
}

async fn read(client: &Client) -> anyhow::Result<()> {
    let ran = move |tx: &mut iolite::Transaction<'_>| Ok((workloads::total(tx)?, monotonic_nanos()));
    let mut reaction = client.react(View::Confirmed, ran);
    reaction.next().await?;
    say(&FromClient::Ready)?;
    let before = client.traffic();
    let (end, mut ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || drop(end.send(hear_now::<ToClient>())));
    loop {
        tokio::select! {
            value = reaction.next() => {
                let (total, at_nanos) = *value?;
                say(&FromClient::Ran { total, at_nanos })?;
            }
            _ = &mut ended => return finish(client, before, RunResult::default()),
        }
    }
}

fn finish(client: &Client, before: iolite::Traffic, mut result: RunResult) -> anyhow::Result<()> {
    let after = client.traffic();
    result.bytes_up = after.bytes_up - before.bytes_up;
    result.bytes_down = after.bytes_down - before.bytes_down;
    result.attempts = client.attempts();
    say(&FromClient::Result(Box::new(result)))
}

/// SplitMix64, seeded by the client's number: runs are alike.
struct Random(u64);

impl Random {
    fn of(number: u32) -> Random {
        Random(u64::from(number) << 32)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
