//! One run: the cluster, its clients, the faults, the last state, the judgement.
//!
//! Invariant: once clients work, whatever happens leaves their history in a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use iolite_cluster::{ClusterShape, Ports};
use iolite_histories::{History, Recorder, judge};
use iolite_node::config::DurabilityWord;

use crate::bed::Bed;
use crate::book::Book;
use crate::chaos::Chaos;
use crate::client::{Clients, Target};
use crate::evidence::{Kept, LastState, Reader, history};
use crate::faults::FaultKind;
use crate::party::Party;
use crate::random::Random;
use crate::report::{Answers, TortureReport, Verdict};

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
    /// After the faults every client has an answer within this, or the run fails.
    pub answers_within: Duration,
}

/// A cluster without faults is up within this.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Each step of reading the last state ends within this,
const STEP_WITHIN: Duration = Duration::from_secs(90);
/// and within this where something is wrong already.
const STEP_WITHIN_OF_BROKEN: Duration = Duration::from_secs(15);

/// Runs, and judges.
///
/// # Errors
/// What keeps a run from being made: a history that cannot be begun, a cluster that does not start, and the machine's own.
pub async fn run(options: &TortureOptions) -> anyhow::Result<TortureReport> {
    // Before the run: it would be in vain.
    let own = options.history.as_deref().map(create).transpose()?;
    let folder = std::env::temp_dir().join(format!("iolite-torture-{:08x}", iolite_host::random_id() as u32));
    let report = run_in(options, &folder, own).await;
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

pub fn create(file: &Path) -> anyhow::Result<File> {
    File::create(file).with_context(|| format!("cannot write {}", file.display()))
}

/// Writes the history before it is judged.
async fn run_in(options: &TortureOptions, folder: &Path, own: Option<File>) -> anyhow::Result<TortureReport> {
    let mut ended = torture(options, folder).await?;
    let own = own.zip(options.history.as_deref());
    let unwritten = write(&ended.history, own, &folder.join("history.jsonl"));
    ended.problems.extend(unwritten);
    Ok(report(options, ended))
}

/// Into the file of the user's and that of the folder, each whatever becomes of the other. Returns what is wrong.
pub fn write(history: &History, own: Option<(File, &Path)>, kept: &Path) -> Vec<String> {
    let own = own.map(|(file, path)| record(history, file, path));
    let kept = create(kept).and_then(|file| record(history, file, kept));
    own.into_iter().chain([kept]).filter_map(Result::err).map(|error| format!("{error:#}")).collect()
}

fn record(history: &History, file: File, path: &Path) -> anyhow::Result<()> {
    Recorder::record(history, BufWriter::new(file)).with_context(|| format!("cannot write {}", path.display()))
}

/// Judges. That it cannot be done is a problem after all others.
fn report(options: &TortureOptions, ended: Ended) -> TortureReport {
    let Ended { history, counts, mut problems, kept, answers } = ended;
    let judgement =
        judge(&history).map_err(|error| problems.push(format!("the history cannot be judged: {error}"))).ok();
    TortureReport {
        cluster: format!("{}x{}", options.shards, options.replicas),
        seconds: options.time.as_secs(),
        seed: options.seed,
        faults: counts,
        problems,
        kept,
        answers,
        judgement,
    }
}

/// What came of it, to be judged.
struct Ended {
    history: History,
    counts: BTreeMap<FaultKind, u64>,
    problems: Vec<String>,
    kept: Option<Kept>,
    answers: Answers,
}

async fn torture(options: &TortureOptions, folder: &Path) -> anyhow::Result<Ended> {
    let hold_unsynced = options.faults.contains(&FaultKind::Power);
    let bed = Bed::new(folder, &shape(options)?, &options.program, hold_unsynced).await?;
    let mut chaos = Chaos::new(bed, &options.faults, Random::new(options.seed, 0));
    start(chaos.bed()).await?;
    let target = target(chaos.bed())?;

    let book = Book::new(options.clients);
    let mut clients = Clients::start(options.clients, &target, options.seed, &book)?;
    let mut problems = Vec::new();
    let answers = endure(options, &mut chaos, &mut clients, &mut problems).await;
    clients.end().await;
    let asked = book.take();
    let within = if problems.is_empty() { STEP_WITHIN } else { STEP_WITHIN_OF_BROKEN };
    let (state, unread) = match target.connect() {
        Ok(client) => Reader::new(client, options.clients, within).read(&asked).await,
        Err(error) => (LastState::default(), vec![format!("the last state was not read: {error:#}")]),
    };
    // A node that ended may be why it was not read.
    problems.extend(chaos.bed().ended());
    problems.extend(unread);
    let counts = chaos.counts().clone();
    let (history, kept) = history(asked, state, chaos.into_faults());
    Ok(Ended { history, counts, problems, kept, answers })
}

/// Makes the faults, ends them, and waits for everyone's answer.
async fn endure(
    options: &TortureOptions,
    chaos: &mut Chaos,
    clients: &mut Clients,
    problems: &mut Vec<String>,
) -> Answers {
    let made = chaos.run(options.time).await;
    let healed = chaos.heal();
    problems.extend([made, healed].into_iter().filter_map(Result::err).map(|error| format!("{error:#}")));
    if !problems.is_empty() {
        return Answers::NotAwaited;
    }
    let begun = Instant::now();
    let settled = clients.settle(options.answers_within).await;
    let after_ms = begun.elapsed().as_millis() as u64;
    // A node that ended may be why clients have no answer.
    problems.extend(chaos.bed().ended());
    match settled {
        Ok(()) => Answers::All { after_ms },
        Err(without) => {
            problems.extend(without);
            Answers::NotAll
        }
    }
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

/// Shards begin in the middle of what transactions use, so that most of them are of several.
fn splits(shards: u32) -> anyhow::Result<Vec<iolite_cluster::Split>> {
    let places = ["registers:2", "accounts:4", "lists:3", "sets:2", "counters:3", "seen", "registers:4"];
    ensure!((shards as usize) <= places.len() + 1, "torture has at most {} shards", places.len() + 1);
    let chosen = places.iter().take(shards.saturating_sub(1) as usize);
    chosen.map(|place| place.parse().map_err(anyhow::Error::msg)).collect()
}

/// Starts the nodes of the cluster.
pub async fn start(bed: &mut Bed) -> anyhow::Result<()> {
    for role in bed.roles() {
        bed.start(Party::Node(role))?;
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

#[cfg(test)]
mod tests {
    use iolite_histories::{Client, Commit, Moment, Outcome, Transaction};

    use super::*;

    /// It completed before it was invoked.
    fn malformed() -> History {
        let mut history = History::default();
        history.transactions.push(Transaction {
            client: Client(0),
            invoked: Moment(2),
            completed: Moment(1),
            operations: Vec::new(),
            outcome: Outcome::Committed(Commit::Unstamped),
        });
        history
    }

    fn options() -> TortureOptions {
        TortureOptions {
            program: PathBuf::new(),
            shards: 1,
            replicas: 1,
            gateways: 1,
            clients: 1,
            time: Duration::ZERO,
            faults: BTreeSet::new(),
            durability: DurabilityWord::Fsync,
            seed: 1,
            history: None,
            answers_within: Duration::ZERO,
        }
    }

    #[test]
    fn a_history_is_in_the_file_of_the_users_when_the_folder_takes_none() {
        let path = std::env::temp_dir().join(format!("iolite-torture-own-{}", std::process::id()));
        let own = create(&path).expect("the folder of temporary files is there");
        let problems = write(&malformed(), Some((own, &path)), Path::new("/nowhere/history.jsonl"));
        let written = std::fs::read_to_string(&path).expect("it was made");
        std::fs::remove_file(&path).expect("it was made");
        assert_eq!(written.lines().count(), 3, "{written}");
        assert!(matches!(&problems[..], [one] if one.contains("cannot write /nowhere/history.jsonl")), "{problems:?}");
    }

    #[test]
    fn problems_are_told_of_a_history_that_cannot_be_judged() {
        let problems = vec!["store-1 ended by itself".to_owned()];
        let (counts, answers) = (BTreeMap::new(), Answers::NotAwaited);
        let report = report(&options(), Ended { history: malformed(), counts, problems, kept: None, answers });
        assert_eq!(report.verdict(), Verdict::NotClean);
        let told = report.to_string();
        assert!(told.contains("store-1 ended by itself\nthe history cannot be judged: T0: completed at"), "{told}");
    }
}
