//! One run: the cluster, its clients, the faults, the last state, the judgement.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use iolite::{Client, View};
use iolite_cluster::{ClusterShape, Ports};
use iolite_histories::{
    BankSetup, Client as ClientNumber, Commit, History, Outcome, Recorder, Setup, Transaction, judge,
};
use iolite_node::config::DurabilityWord;
use tokio::task::JoinHandle;

use crate::bed::Bed;
use crate::chaos::Chaos;
use crate::client::{Asked, Target, run_client};
use crate::faults::FaultKind;
use crate::moment::moment;
use crate::random::Random;
use crate::report::TortureReport;
use crate::step::{ACCOUNTS, BALANCE, Plan, Planner, Seen, Step, operations};

/// What is run.
#[derive(Clone, Debug)]
pub struct TortureOptions {
    /// The program `iolite`.
    pub program: PathBuf,
    pub shards: u32,
    pub replicas: u64,
    pub gateways: u16,
    pub clients: u32,
    pub time: Duration,
    pub faults: BTreeSet<FaultKind>,
    /// In class memory a power cut loses what was acknowledged, which has to be found.
    pub durability: DurabilityWord,
    /// Chooses transactions and faults; not the times at which processes do what they do.
    pub seed: u64,
    /// The history is written here; a run that is not clean leaves it in any case, beside the folder of the cluster.
    pub history: Option<PathBuf>,
}

/// A cluster without faults is up within this.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// And answers everything within this after the faults.
const SETTLES_WITHIN: Duration = Duration::from_secs(90);

/// What was left behind, by client and number.
type Left = BTreeMap<(i64, i64), Vec<Seen>>;

/// Runs, and judges.
///
/// # Errors
/// What keeps a run from being judged: a node that ended by itself, clients that get no answer after the faults, and the machine's own.
pub async fn run(options: &TortureOptions) -> anyhow::Result<TortureReport> {
    let folder = std::env::temp_dir().join(format!("iolite-torture-{:08x}", iolite_host::random_id() as u32));
    let ended = run_in(options, &folder).await;
    match &ended {
        Ok((report, _)) if report.is_clean() => {
            std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        Ok(_) | Err(_) => iolite_host::warn(&format!("the cluster's files and logs stay in {}", folder.display())),
    }
    let (report, history) = ended?;
    let kept = (!report.is_clean()).then(|| folder.join("history.jsonl"));
    for file in options.history.iter().chain(&kept) {
        let sink = std::fs::File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
        Recorder::record(&history, std::io::BufWriter::new(sink))?;
    }
    Ok(report)
}

async fn run_in(options: &TortureOptions, folder: &std::path::Path) -> anyhow::Result<(TortureReport, History)> {
    let hold_unsynced = options.faults.contains(&FaultKind::Power);
    let bed = Bed::new(folder, &shape(options)?, &options.program, hold_unsynced).await?;
    let mut chaos = Chaos::new(bed, &options.faults, Random::new(options.seed, 0));
    start(chaos.bed()).await?;
    let target = target(chaos.bed())?;

    let stop = Arc::new(AtomicBool::new(false));
    let clients =
        (0..options.clients).map(|number| tokio::spawn(run_client(number, target.clone(), options.seed, stop.clone())));
    let clients: Vec<_> = clients.collect();
    let made = chaos.run(options.time).await;
    stop.store(true, Ordering::Relaxed);
    made?;
    chaos.heal()?;
    let healed = Instant::now();
    let asked = ends(clients).await?;
    let settled_after_ms = healed.elapsed().as_millis() as u64;
    chaos.bed().expect_alive()?;

    let reader = target.connect(0)?;
    let last_number = asked.iter().map(|asked| asked.plan.number).max().unwrap_or_default();
    let last = read_last(&reader, options.clients, Planner::objects(last_number)).await?;
    let left = read_left(&reader, options.clients).await?;
    let faults = chaos.counts().clone();
    let (history, acknowledged_lost, aborted_there) = history(asked, &left, last, chaos);
    let report = TortureReport {
        cluster: format!("{}x{}", options.shards, options.replicas),
        seconds: options.time.as_secs(),
        seed: options.seed,
        faults,
        acknowledged_lost,
        aborted_there,
        settled_after_ms,
        judgement: judge(&history)?,
    };
    Ok((report, history))
}

fn shape(options: &TortureOptions) -> anyhow::Result<ClusterShape> {
    Ok(ClusterShape {
        shards: options.shards,
        replicas: options.replicas,
        gateways: options.gateways,
        ports: Ports::Free,
        splits: splits(options.shards)?,
        durability: options.durability,
        ..ClusterShape::default()
    })
}

/// What clients asked, once all have their answers.
async fn ends(clients: Vec<JoinHandle<anyhow::Result<Vec<Asked>>>>) -> anyhow::Result<Vec<Asked>> {
    let begun = Instant::now();
    let mut asked = Vec::new();
    for client in clients {
        let left = SETTLES_WITHIN.saturating_sub(begun.elapsed());
        let ended = tokio::time::timeout(left, client).await;
        asked.extend(ended.with_context(|| format!("a client has no answer {SETTLES_WITHIN:?} after the faults"))???);
    }
    Ok(asked)
}

/// Shards begin in the middle of what transactions use, so that most of them are of several.
fn splits(shards: u32) -> anyhow::Result<Vec<iolite_cluster::Split>> {
    let places = ["registers:2", "accounts:4", "lists:3", "sets:2", "counters:3", "seen", "registers:4"];
    ensure!((shards as usize) <= places.len() + 1, "torture has at most {} shards", places.len() + 1);
    let chosen = places.iter().take(shards.saturating_sub(1) as usize);
    chosen.map(|place| place.parse().map_err(anyhow::Error::msg)).collect()
}

async fn start(bed: &mut Bed) -> anyhow::Result<()> {
    for role in bed.roles() {
        bed.start(role)?;
    }
    let begun = Instant::now();
    loop {
        bed.expect_alive()?;
        if bed.cluster().unready()?.is_empty() {
            return Ok(());
        }
        ensure!(begun.elapsed() < READY_WITHIN, "the cluster does not get ready");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn target(bed: &mut Bed) -> anyhow::Result<Target> {
    let addresses = bed.cluster().gateways().filter_map(|gateway| gateway.address);
    let urls: Vec<String> = addresses.map(|address| format!("ws://{address}/sync")).collect();
    Ok(Target { urls, token: bed.cluster().token()? })
}

/// Everything there is, by transactions that only read. They leave what they saw behind like all others.
async fn read_last(reader: &Client, clients: u32, objects: u32) -> anyhow::Result<Vec<Asked>> {
    let all = (0..objects).flat_map(|n| [Step::Read(n), Step::List(n), Step::Count(n), Step::Set(n)]);
    let steps: Vec<Step> = all.chain([Step::Bank]).collect();
    let mut asked = Vec::new();
    // A closure may find out that it lacks something a few times only.
    for (number, steps) in steps.chunks(5).enumerate() {
        let plan = Plan { client: clients.into(), number: number as i64 + 1, steps: steps.to_vec() };
        let invoked = moment();
        let handle = reader.mutate("transact", &plan)?;
        let ended = tokio::time::timeout(SETTLES_WITHIN, handle.confirmed()).await;
        ended.context("the last state cannot be read")??;
        asked.push(Asked { plan, invoked, completed: moment(), outcome: Outcome::Committed(Commit::Unstamped) });
    }
    Ok(asked)
}

/// What transactions wrote down, of all clients and of the reader.
async fn read_left(reader: &Client, clients: u32) -> anyhow::Result<Left> {
    let mut left = Left::new();
    for client in 0..=i64::from(clients) {
        let rows = reader.read(View::Confirmed, move |tx| tx.rows("seen", &[iolite::Value::Int(client)]));
        let rows = tokio::time::timeout(SETTLES_WITHIN, rows).await.context("the last state cannot be read")??;
        for row in rows.iter() {
            let iolite::Value::Int(number) = row.key()[1] else { continue };
            let what: String = row.get("what").map_err(|error| anyhow::anyhow!("{error}"))?;
            left.insert((client, number), serde_json::from_str(&what)?);
        }
    }
    Ok(left)
}

/// The history, how many acknowledged transactions are not in the store, and how many refused ones are.
fn history(asked: Vec<Asked>, left: &Left, last: Vec<Asked>, chaos: Chaos) -> (History, u64, u64) {
    let bank = BankSetup { balances: vec![BALANCE; ACCOUNTS as usize], lowest: 0 };
    let (mut lost, mut there) = (0, 0);
    for asked in asked.iter().chain(&last) {
        let is_there = left.contains_key(&(asked.plan.client, asked.plan.number));
        match asked.outcome {
            Outcome::Committed(_) if !is_there => lost += 1,
            Outcome::Aborted if is_there => there += 1,
            Outcome::Committed(_) | Outcome::Aborted | Outcome::Unknown => {}
        }
    }
    let transaction = |asked: Asked| {
        let seen = left.get(&(asked.plan.client, asked.plan.number));
        let is_committed = matches!(asked.outcome, Outcome::Committed(_));
        Transaction {
            client: ClientNumber(asked.plan.client as u32),
            invoked: asked.invoked,
            completed: asked.completed,
            operations: operations(&asked.plan.steps, seen.filter(|_| is_committed).map(Vec::as_slice)),
            outcome: asked.outcome,
        }
    };
    let history = History {
        setup: Setup { banks: vec![bank] },
        transactions: asked.into_iter().map(transaction).collect(),
        last: last.into_iter().map(transaction).collect(),
        faults: chaos.into_faults(),
    };
    (history, lost, there)
}
