//! One run with objects: the cluster, its hosts and devices, the faults, the last reads, the judgement.
//!
//! Invariant: once devices work, whatever happens leaves their records and a history in the folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use iolite::objects::Host;
use iolite_cluster::{ClusterShape, Ports};
use iolite_histories::Fault;
use tokio::time::{sleep, timeout};

use super::calls::{Call, Process, Told};
use super::classes::{List, of_kind};
use super::crew::{Crew, CrewShape};
use super::device::failed;
use super::kind::Place;
use super::node::{Generations, connected};
use super::record::End;
use super::report::ObjectsReport;
use super::verdict::judged;
use crate::bed::Bed;
use crate::chaos::Chaos;
use crate::faults::FaultKind;
use crate::moment::moment;
use crate::party::Party;
use crate::random::Random;
use crate::report::{Answers, Verdict};
use crate::run::{create, start, write};

/// The choices of a run.
#[derive(Clone, Debug)]
pub struct ObjectsOptions {
    /// The program `iolite`.
    pub program: PathBuf,
    /// Replicas of the one shard.
    pub replicas: u64,
    pub gateways: u16,
    pub devices: u32,
    pub time: Duration,
    pub faults: BTreeSet<FaultKind>,
    /// Chooses calls and faults; not the times at which processes do what they do.
    pub seed: u64,
    /// The history of the kinds whose calls have one order is written here, and beside the folder of the cluster in any case.
    pub history: Option<PathBuf>,
    /// After the faults every device has its answers within this, or the run fails.
    pub answers_within: Duration,
}

/// Hosts, which objects begin at and are moved between.
const HOSTS: u32 = 3;
/// How long an object of each kind is used, before all go on with the next one.
const GENERATION_MS: u64 = 6_000;
/// Hosts have their objects within this,
const READY_WITHIN: Duration = Duration::from_secs(60);
/// and each is read at the end within this.
const READ_WITHIN: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// Runs, and judges.
///
/// # Errors
/// What keeps a run from being made: a history that cannot be begun, a cluster that does not start, and the machine's own.
pub async fn run_objects(options: &ObjectsOptions) -> anyhow::Result<ObjectsReport> {
    let own = options.history.as_deref().map(create).transpose()?;
    let folder = std::env::temp_dir().join(format!("iolite-torture-{:08x}", iolite_host::random_id() as u32));
    let ended = torture(options, &folder).await;
    let report = ended.map(|ended| {
        let judged = judged(&ended.told, &ended.last, ended.faults);
        let own = own.zip(options.history.as_deref());
        let mut problems = ended.problems;
        problems.extend(write(&judged.history, own, &folder.join("history.jsonl")));
        ObjectsReport {
            seconds: options.time.as_secs(),
            seed: options.seed,
            shape: format!(
                "{} gateways, 1x{}, {HOSTS} hosts, {} devices",
                options.gateways, options.replicas, options.devices
            ),
            faults: ended.counts,
            processes: ended.processes,
            problems,
            answers: ended.answers,
            moves: ended.told.moves,
            judged,
        }
    });
    match &report {
        Ok(report) if report.verdict() == Verdict::Clean => {
            if let Err(error) = std::fs::remove_dir_all(&folder) {
                iolite_host::warn(&format!("cannot remove {}: {error}", folder.display()));
            }
        }
        Ok(_) | Err(_) => iolite_host::warn(&format!("the cluster's files and logs stay in {}", folder.display())),
    }
    report
}

/// A run that has ended, to be judged.
struct Ended {
    told: Told,
    last: Vec<Call>,
    faults: Vec<Fault>,
    counts: BTreeMap<FaultKind, u64>,
    /// Processes of devices that there were.
    processes: usize,
    problems: Vec<String>,
    answers: Answers,
}

async fn torture(options: &ObjectsOptions, folder: &Path) -> anyhow::Result<Ended> {
    let mut chaos = begun(options, folder).await?;
    let mut problems = Vec::new();
    let answers = endure(options, &mut chaos, &mut problems).await;
    let bed = chaos.bed();
    for party in bed.parties().into_iter().filter(|party| matches!(party, Party::Device(_))) {
        bed.kill(party)?;
    }
    let records = bed.crew()?.told()?;
    let processes = records.len();
    let told = Told::of(records, moment());
    let (last, unread) = read_last(bed, &told).await?;
    problems.extend(unread);
    problems.extend(bed.ended());
    let counts = chaos.counts().clone();
    Ok(Ended { told, last, faults: chaos.into_faults(), counts, processes, problems, answers })
}

/// Everything runs: hosts have their objects, and devices begin to call them.
async fn begun(options: &ObjectsOptions, folder: &Path) -> anyhow::Result<Chaos> {
    let shape = ClusterShape {
        replicas: options.replicas,
        gateways: options.gateways,
        ports: Ports::Free,
        ..ClusterShape::default()
    };
    let hold_unsynced = options.faults.contains(&FaultKind::Power);
    let mut bed = Bed::new(folder, &shape, &options.program, hold_unsynced).await?;
    bed.serve_objects().await?;
    let shape = CrewShape { hosts: HOSTS, devices: options.devices };
    let token = bed.cluster().token()?;
    let count = (options.time.as_millis() as u64 / GENERATION_MS) as u32 + 1;
    let generations = Generations { count, begun: 0, each_ms: GENERATION_MS };
    let mut crew = Crew::new(folder, shape, token, options.seed, generations)?;
    crew.gates = bed.gates(&crew.parties().collect::<Vec<_>>()).await?;
    bed.join(crew);
    start(&mut bed).await?;
    (0..HOSTS).try_for_each(|number| bed.start(Party::Host(number)))?;
    let begun = Instant::now();
    while !bed.crew()?.hosts_are_ready()? {
        bed.expect_alive()?;
        ensure!(begun.elapsed() < READY_WITHIN, "hosts do not get their objects within {READY_WITHIN:?}");
        sleep(PAUSE).await;
    }
    bed.crew()?.begin(moment().0);
    (0..options.devices).try_for_each(|number| bed.start(Party::Device(number)))?;
    Ok(Chaos::new(bed, &options.faults, Random::new(options.seed, 0)))
}

/// Makes the faults, ends them, and waits for every device's answers.
async fn endure(options: &ObjectsOptions, chaos: &mut Chaos, problems: &mut Vec<String>) -> Answers {
    let made = chaos.run(options.time).await;
    let healed = chaos.heal();
    problems.extend([made, healed].into_iter().filter_map(Result::err).map(|error| format!("{error:#}")));
    if !problems.is_empty() {
        return Answers::NotAwaited;
    }
    let begun = Instant::now();
    let settled = settle(chaos.bed(), options.answers_within).await;
    let after_ms = begun.elapsed().as_millis() as u64;
    problems.extend(settled);
    if problems.is_empty() { Answers::All { after_ms } } else { Answers::NotAll }
}

/// Asks all devices to end, and waits until they have. Returns what is wrong.
async fn settle(bed: &mut Bed, within: Duration) -> Vec<String> {
    let mut waiting: Vec<Party> = bed.parties().into_iter().filter(|party| matches!(party, Party::Device(_))).collect();
    waiting.iter().for_each(|party| bed.ask_to_end(*party));
    let begun = Instant::now();
    let mut problems = Vec::new();
    while !waiting.is_empty() && begun.elapsed() < within {
        waiting.retain(|party| match bed.has_ended(*party) {
            Ok(has_ended) => !has_ended,
            Err(error) => {
                problems.push(format!("{error:#}"));
                false
            }
        });
        problems.extend(bed.ended());
        sleep(PAUSE).await;
    }
    for party in waiting {
        let waits = bed.crew().map_or_else(|error| error.to_string(), |crew| crew.waits_for(party));
        problems.push(format!("no answer within {within:?} after the faults: {waits}"));
    }
    problems
}

/// Reads every object that somebody called, by a device that keeps no copies. Returns what could not be read.
async fn read_last(bed: &mut Bed, told: &Told) -> anyhow::Result<(Vec<Call>, Vec<String>)> {
    let address = bed.cluster().gateways().find_map(|gateway| gateway.address).context("there is a gateway")?;
    let (url, token) = (format!("ws://{address}/sync"), bed.cluster().token()?);
    let host = timeout(READ_WITHIN, connected(|| Host::connect(&url, &token))).await;
    let host = match host.context("no gateway lets the last reader in") {
        Ok(host) => host?,
        Err(error) => return Ok((Vec::new(), vec![error.to_string()])),
    };
    let reader = Process(told.calls.iter().map(|call| call.process.0 + 1).max().unwrap_or_default());
    let places: BTreeSet<Place> = told.calls.iter().map(|call| call.place).collect();
    let (mut last, mut problems) = (Vec::new(), Vec::new());
    for place in places {
        let call = of_kind!(place.kind, Class => read_one::<Class>(&host, reader, place).await);
        match call {
            Ok(call) => last.push(call),
            Err(why) => problems.push(format!("{place} was not read at the end: {why}")),
        }
    }
    Ok((last, problems))
}

/// Reads one object, again and again until it has an answer. Otherwise the last reason why not.
async fn read_one<T: List>(host: &Host, process: Process, place: Place) -> Result<Call, String> {
    let begun = Instant::now();
    loop {
        let invoked = moment();
        let why = match host.find::<T>(&place.id()).await {
            Ok(Some(object)) => match T::read(&object).await {
                Ok((birth, list)) => {
                    let end = End::Read { birth, list };
                    return Ok(Call { process, invoked, completed: moment(), place, number: None, end });
                }
                Err(error) => format!("{:?}", failed(error)),
            },
            Ok(None) => "the store has no such object".to_owned(),
            Err(error) => error.to_string(),
        };
        if begun.elapsed() >= READ_WITHIN {
            return Err(why);
        }
        sleep(PAUSE).await;
    }
}
