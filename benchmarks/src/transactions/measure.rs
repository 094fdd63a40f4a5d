//! One run of one system: loaded, warmed up, measured, its syncs counted, killed, started again, and read by a fresh session.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::task::JoinSet;

use crate::arguments::Durability;
use crate::cluster::ClusterDirectory;
use crate::transactions::client::{Client, Shared};
use crate::transactions::durable::{Verdict, count_syncs};
use crate::transactions::history::verify;
use crate::transactions::ledger::{Costs, Snapshot};
use crate::transactions::system::{About, Session, Setup, System};
use crate::transactions::tally::{Tally, Window};
use crate::transactions::workload::{KeyNumber, Plans, TransactionWorkload, Value, Zipf};
use crate::verify::Findings;

/// What every system runs, the same.
#[derive(Clone, Debug)]
pub struct Course {
    pub workload: TransactionWorkload,
    pub zipf: Arc<Zipf>,
    pub seed: u64,
    pub warm_up: Duration,
    pub seconds: Duration,
    pub setup: Setup,
}

/// What came of it.
#[derive(Debug)]
pub struct Measured {
    pub about: About,
    pub tally: Tally,
    pub seconds: Duration,
    pub costs: Costs,
    pub verdict: Verdict,
    pub findings: Findings,
}

/// Sessions that load and read all keys.
const LOADERS: usize = 4;
/// Keys that one of them takes at a time.
const KEYS_AT_ONCE: usize = 1000;

/// # Errors
/// When the system does not start, or breaks without a fault.
pub async fn measure<S: System>(course: &Course) -> anyhow::Result<Measured> {
    let mut system = Arc::new(S::start(course.setup).await?);
    let about = system.about();
    load(&system, course.zipf.keys()).await.with_context(|| format!("{} cannot be loaded", about.name))?;
    owned(&mut system)?.settle().await?;
    let driven = drive(&system, course).await.with_context(|| format!("{} broke", about.name))?;
    match course.setup.durability {
        Durability::Fsync => {
            owned(&mut system)?.restart().await.with_context(|| format!("{} does not start again", about.name))?;
        }
        // What is in memory alone does not survive the processes.
        Durability::Memory => {}
    }
    let found = read(&system, course.zipf.keys()).await?;
    let findings = verify(&driven.tally.writes, &found);
    let Driven { tally, costs, verdict } = driven;
    Ok(Measured { about, tally, seconds: course.seconds, costs, verdict, findings })
}

/// Between runs of clients.
fn owned<S: System>(system: &mut Arc<S>) -> anyhow::Result<&mut S> {
    Arc::get_mut(system).context("a client is left")
}

struct Driven {
    tally: Tally,
    costs: Costs,
    verdict: Verdict,
}

async fn drive<S: System>(system: &Arc<S>, course: &Course) -> anyhow::Result<Driven> {
    let (shared, mut clients) = start_clients(system, course).await?;
    let Window { from, to } = shared.window;
    let progress = || shared.tally().progress;
    tokio::time::sleep_until(from.into()).await;
    let before = Snapshot::of(&**system, progress)?;
    tokio::time::sleep_until(to.into()).await;
    let costs = Snapshot::of(&**system, progress)?.since(&before);
    let verdict = match course.setup.durability {
        Durability::Memory => Verdict::NotPromised,
        Durability::Fsync => {
            let folder = ClusterDirectory::new(Durability::Fsync)?;
            match count_syncs(&**system, folder.path(), course.seconds, progress).await {
                Ok(syncs) => syncs.verdict(course.setup.clients, system.about().copies),
                Err(error) => Verdict::NotCounted { why: format!("{error:#}") },
            }
        }
    };
    shared.over.store(true, Ordering::Relaxed);
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    let tally = std::mem::take(&mut *shared.tally());
    Ok(Driven { tally, costs, verdict })
}

async fn start_clients<S: System>(
    system: &Arc<S>,
    course: &Course,
) -> anyhow::Result<(Arc<Shared>, JoinSet<anyhow::Result<()>>)> {
    let mut sessions = Vec::new();
    for number in 1..=course.setup.clients {
        sessions.push((number, system.connect().await?));
    }
    let from = Instant::now() + course.warm_up;
    let shared = Arc::new(Shared::over(Window { from, to: from + course.seconds }));
    let mut clients = JoinSet::new();
    for (number, session) in sessions {
        let plans = Plans::of(course.workload, course.zipf.clone(), course.seed, number);
        clients.spawn(Client::new(system.clone(), session, number, plans, course.seed, shared.clone()).run());
    }
    Ok((shared, clients))
}

async fn load<S: System>(system: &Arc<S>, keys: u64) -> anyhow::Result<()> {
    let mut loaders = JoinSet::new();
    for parts in shares(keys) {
        let mut session = system.connect().await?;
        loaders.spawn(async move {
            for part in parts {
                session.load(&part, Value::LOADED).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = loaders.join_next().await {
        ended??;
    }
    Ok(())
}

async fn read<S: System>(system: &Arc<S>, keys: u64) -> anyhow::Result<Vec<Option<Value>>> {
    let mut readers = JoinSet::new();
    for parts in shares(keys) {
        let mut session = system.connect().await?;
        readers.spawn(async move {
            let mut read = Vec::new();
            for part in parts {
                let values = session.read(&part).await?;
                read.extend(part.into_iter().zip(values));
            }
            anyhow::Ok(read)
        });
    }
    let mut found = vec![None; usize::try_from(keys)?];
    while let Some(ended) = readers.join_next().await {
        ended??.into_iter().for_each(|(key, value)| found[key.index()] = value);
    }
    Ok(found)
}

/// All keys, in parts, in as many shares as there are loaders.
fn shares(keys: u64) -> Vec<Vec<Vec<KeyNumber>>> {
    let keys = u32::try_from(keys).expect("keys are counted in 32 bits");
    let keys: Vec<KeyNumber> = (0..keys).map(KeyNumber).collect();
    let mut shares = vec![Vec::new(); LOADERS];
    for (number, part) in keys.chunks(KEYS_AT_ONCE).enumerate() {
        shares[number % LOADERS].push(part.to_vec());
    }
    shares.retain(|share| !share.is_empty());
    shares
}
