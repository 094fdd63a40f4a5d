//! SwiftSocial: people who read each other's pages, post and make friends, each with a whole client that holds the pages of its friends.
//!
//! `--embedded` measures one server (this file); `--centres` measures several data centres beside other ways to run the same (`several.rs`).
//!
//! Invariants: every client holds at most `--cache-rows` rows on purpose; a run in which a page was torn, went back, differs between clients or from what was
//! called has a fault.
//! Source: SwiftCloud (Zawirski 2013), sections 5.1 and 6.2. The shares of transactions are those of its authors' program.

mod arm;
mod cloud;
mod comparison;
mod failover;
mod gone;
mod group;
mod held;
mod ledger;
mod loading;
mod metadata;
mod network;
mod person;
mod plan;
mod plot;
mod report;
mod scatter;
mod seat;
mod several;
mod staleness;
mod tables;
mod tally;
mod waiting;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::Args;
use futures_util::future::try_join_all;
use tokio::sync::Barrier;

use crate::arguments::Arguments;
use crate::cells::Cells;
use crate::child::Address;
use crate::cluster::ClusterDirectory;
use crate::server::Server;

pub use cloud::{CloudArguments, run_cloud};

use arm::Arm;
use failover::{FailKind, Failover, Failure};
use ledger::{FreshAt, Ledger};
use network::Network;
use person::Person;
use plan::Mix;
use seat::{Device, Seat, UpdateEnds};
use several::{Question, Several, check_clients};
use tally::Tally;

#[derive(Args, Debug)]
pub struct SwiftSocialOptions {
    /// For swiftsocial: people of the network [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub users: Option<u32>,
    /// For swiftsocial: friends of each of them, drawn uniformly [default: 25]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub friends: Option<u32>,
    /// For swiftsocial: percent of transactions that write [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(..=100))]
    pub updates: Option<u32>,
    /// For swiftsocial: percent of transactions that are about the user and the friends; others read anybody's page [default: 90]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(..=100))]
    pub locality: Option<u32>,
    /// For swiftsocial: rows that each client holds, at most [default: 512]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(16..=1_000_000))]
    pub cache_rows: Option<u32>,
    /// For swiftsocial: how many data centres, each a gateway and a replica; several numbers are measured one after the other
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=7), conflicts_with_all = ["embedded", "target"])]
    pub centres: Vec<u32>,
    /// For swiftsocial --centres: the round trips that clients' links get in addition; clients have them in turn [default: 20,60,110]
    #[arg(long, value_name = "MS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(..=60_000))]
    pub client_rtt_ms: Vec<u32>,
    /// For swiftsocial --centres: the round trip that links between data centres get in addition [default: 80]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub centre_rtt_ms: Option<u32>,
    /// For swiftsocial --centres: measure these percents of transactions that read anybody's page too, in place of those of --locality
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(..=100))]
    pub miss_share: Vec<u32>,
    /// For swiftsocial --centres: measure throughput with these numbers of clients, one after the other
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with_all = ["miss_share", "staleness", "metadata"])]
    pub load: Vec<u32>,
    /// For swiftsocial --centres: count the reads for which a newer version existed that K data centres did not have yet
    #[arg(long, conflicts_with_all = ["miss_share", "metadata"])]
    pub staleness: bool,
    /// For swiftsocial --centres: count the bytes of an update with these numbers of clients, one after the other
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "miss_share")]
    pub metadata: Vec<u32>,
    /// For swiftsocial --centres: a data centre is away between these seconds, such as eu@33..64; clients have one of --client-rtt-ms to each data centre
    #[arg(long, value_name = "CENTRE@FROM..TO", conflicts_with_all = ["miss_share", "load", "staleness", "metadata"])]
    pub fail: Option<Failure>,
    /// For swiftsocial --fail: how it fails [default: cut]
    #[arg(long, value_enum, requires = "fail")]
    pub fail_kind: Option<FailKind>,
    /// For swiftsocial --fail: where each transaction of one client goes, as a table (.csv) and a plot (.svg)
    #[arg(long, value_name = "FILE", requires = "fail")]
    pub scatter: Option<PathBuf>,
    /// For swiftsocial --centres: the memory of data centres for these numbers of clients, each of which wrote once and went
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_000_000), conflicts_with_all = ["miss_share", "load", "staleness", "metadata", "fail"])]
    pub gone: Vec<u32>,
    /// For swiftsocial --centres: how long a person waits before the next transaction [default: 0, and 100 with --fail]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(..=60_000))]
    pub pause_ms: Option<u32>,
    /// For swiftsocial --centres --beside cloud: rows that the server process caches for each connection [default: 128, as lists of friends grow and have to fit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(128..=1_000_000))]
    pub cloud_cache_rows: Option<u32>,
}

/// The size of a run.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub clients: u32,
    pub cache_rows: u32,
    pub seconds: Duration,
    /// The round trip that was added to the link of each client.
    pub delay: Duration,
    /// A person waits so long before the next transaction.
    pub pause: Duration,
}

/// Every stream of chance of a run begins with it.
const SEED: u64 = 37;

impl SwiftSocialOptions {
    /// An option that was given and that only this workload has.
    pub fn name_of_any(&self) -> Option<&'static str> {
        let all = [
            ("--users", self.users.is_some()),
            ("--friends", self.friends.is_some()),
            ("--updates", self.updates.is_some()),
            ("--locality", self.locality.is_some()),
            ("--cache-rows", self.cache_rows.is_some()),
            ("--centres", !self.centres.is_empty()),
        ];
        all.into_iter().find_map(|(name, is_asked)| is_asked.then_some(name)).or(self.name_of_several())
    }

    /// An option that was given and that only runs with `--centres` have. The command line cannot demand it: it does not when `--embedded` is there.
    fn name_of_several(&self) -> Option<&'static str> {
        let all = [
            ("--client-rtt-ms", !self.client_rtt_ms.is_empty()),
            ("--centre-rtt-ms", self.centre_rtt_ms.is_some()),
            ("--miss-share", !self.miss_share.is_empty()),
            ("--load", !self.load.is_empty()),
            ("--staleness", self.staleness),
            ("--metadata", !self.metadata.is_empty()),
            ("--fail", self.fail.is_some()),
            ("--gone", !self.gone.is_empty()),
            ("--pause-ms", self.pause_ms.is_some()),
            ("--cloud-cache-rows", self.cloud_cache_rows.is_some()),
        ];
        all.into_iter().find_map(|(name, is_asked)| is_asked.then_some(name))
    }

    fn network(&self) -> anyhow::Result<Network> {
        let (users, friends) = (self.users.unwrap_or(1_000), self.friends.unwrap_or(25));
        if friends >= users {
            bail!("--users has to be more than --friends: nobody is a friend of themselves, or twice of another");
        }
        Ok(Network { users, friends, seed: SEED })
    }

    fn mix(&self) -> anyhow::Result<Mix> {
        let (updates, locality) = (self.updates.unwrap_or(10), self.locality.unwrap_or(90));
        if updates > locality {
            bail!("--updates is a part of --locality: people write to themselves and their friends only");
        }
        Ok(Mix { updates, locality })
    }

    fn client_rtts(&self) -> Vec<Duration> {
        let given = if self.client_rtt_ms.is_empty() { &[20, 60, 110][..] } else { &self.client_rtt_ms };
        given.iter().map(|ms| Duration::from_millis(u64::from(*ms))).collect()
    }

    fn question(&self, mix: Mix) -> anyhow::Result<Question> {
        if let Some(share) = self.miss_share.iter().find(|share| mix.updates + **share > 100) {
            bail!("--miss-share {share} and --updates {} are more than all", mix.updates);
        }
        // The command line lets only one of them be given.
        Ok(if self.staleness {
            Question::Staleness
        } else if !self.load.is_empty() {
            Question::Load { clients: self.load.clone() }
        } else if let Some(failure) = self.fail.clone() {
            let (kind, scatter) = (self.fail_kind.unwrap_or_default(), self.scatter.clone());
            Question::Failover(Failover { failure, kind, scatter })
        } else if !self.gone.is_empty() {
            Question::Memory { clients: self.gone.clone() }
        } else if !self.metadata.is_empty() {
            Question::Metadata { clients: self.metadata.clone() }
        } else {
            Question::Latency { miss_shares: self.miss_share.clone() }
        })
    }
}

/// A run with `--centres`.
fn several(arguments: &Arguments) -> anyhow::Result<Several> {
    let options = &arguments.swiftsocial;
    let (network, mix) = (options.network()?, options.mix()?);
    if arguments.delay_ms() > 0 {
        bail!("--delay-ms is for --embedded: with --centres say --client-rtt-ms and --centre-rtt-ms");
    }
    let beside = &arguments.transactions.beside;
    let others = beside.iter().map(|peer| Arm::of(*peer).ok_or(peer)).collect::<Result<Vec<_>, _>>();
    let others = others
        .map_err(|peer| anyhow::anyhow!("{} is beside {}, not beside swiftsocial", peer.name(), peer.beside()))?;
    let run = Several {
        centres: options.centres.iter().map(|count| *count as usize).collect(),
        arms: [Arm::Ours].into_iter().chain(others).collect(),
        client_rtts: options.client_rtts(),
        centre_rtt: Duration::from_millis(u64::from(options.centre_rtt_ms.unwrap_or(80))),
        network,
        mix,
        shape: shape(arguments),
        durability: arguments.durability,
        cloud_cache_rows: options.cloud_cache_rows.unwrap_or(128),
        question: options.question(mix)?,
    };
    let clients_max = match &run.question {
        Question::Load { clients } | Question::Metadata { clients } => {
            clients.iter().copied().max().unwrap_or_default()
        }
        Question::Latency { .. } | Question::Staleness => {
            check_clients(&run, arguments.clients)?;
            arguments.clients
        }
        // They play nobody in particular.
        Question::Memory { .. } => 0,
        Question::Failover(failover) => {
            failover.check(&run)?;
            arguments.clients
        }
    };
    let is_alone = !matches!(run.question, Question::Latency { .. } | Question::Load { .. });
    if is_alone && run.arms.len() > 1 {
        bail!("--staleness, --metadata, --gone and --fail measure Iolite alone: leave out --beside");
    }
    if clients_max > network.users {
        bail!("--clients: each client is one of the --users");
    }
    Ok(run)
}

fn shape(arguments: &Arguments) -> Shape {
    let options = &arguments.swiftsocial;
    Shape {
        clients: arguments.clients,
        cache_rows: options.cache_rows.unwrap_or(512),
        seconds: Duration::from_secs(u64::from(arguments.seconds)),
        delay: Duration::from_millis(u64::from(arguments.delay_ms())),
        pause: Duration::from_millis(u64::from(options.pause_ms.unwrap_or(if options.fail.is_some() {
            100
        } else {
            0
        }))),
    }
}

/// # Errors
/// When options do not fit together, the server does not start, or a client fails. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let options = &arguments.swiftsocial;
    if !options.centres.is_empty() {
        return several(arguments)?.run(arguments.json);
    }
    let (network, mix) = (options.network()?, options.mix()?);
    if !arguments.embedded {
        bail!("swiftsocial measures one data centre, which is one server, or several: say --embedded or --centres 3");
    }
    if let Some(option) = options.name_of_several() {
        bail!("{option} goes with --centres: swiftsocial --embedded measures one server");
    }
    if !arguments.transactions.beside.is_empty() {
        bail!("--beside goes with --centres: swiftsocial --embedded measures Iolite alone");
    }
    if arguments.clients > network.users {
        bail!("--clients: each client is one of the --users");
    }
    let shape = shape(arguments);
    let server = Server::of(arguments)?;
    let devices = ClusterDirectory::new(arguments.durability)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut cells = Cells::new(&report::name(), report::settings(&network, mix, shape, arguments.durability));
    let (far, near) = (server.clients_address(), server.near_address());
    runtime.block_on(measure(&mut cells, &network, mix, shape, [&far, &near], &devices))?;
    cells.print(arguments.json)
}

async fn measure(
    cells: &mut Cells,
    network: &Network,
    mix: Mix,
    shape: Shape,
    [far, near]: [&Address; 2],
    devices: &ClusterDirectory,
) -> anyhow::Result<()> {
    loading::fill(near, network).await?;
    let together = Arc::new(Barrier::new(shape.clients as usize));
    let mut people = Vec::new();
    for number in 0..shape.clients {
        let device = devices.folder(&format!("device-{number}"), None)?;
        let (user, rows) = (network.played_by(number, shape.clients), shape.cache_rows as usize);
        let options = iolite::Options::new().directory(device);
        let device = Device::open(far, network, user, rows, options, UpdateEnds::Durable).await?;
        people.push(Person::new(Seat::Device(device), network, user, mix, shape, 0));
    }
    let begun = Instant::now();
    let lives = people.into_iter().map(|person| tokio::spawn(person.live(together.clone())));
    let people: Vec<Person> = try_join_all(lives).await?.into_iter().collect::<anyhow::Result<_>>()?;
    let took = begun.elapsed();
    let (mut tally, mut ledger) = (Tally::default(), Ledger::default());
    for person in &people {
        tally.add(&person.tally);
        ledger.add(&person.ledger);
    }
    report::figures(cells, &tally, shape, took);
    report::checks(cells, &tally);
    for person in &people {
        person.settle(cells).await?;
    }
    let holders = people.iter().filter_map(Person::held).collect();
    ledger::check(cells, &ledger, network, &[FreshAt::one(near)], holders).await
}
