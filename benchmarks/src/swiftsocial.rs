//! SwiftSocial: people who read each other's pages, post and make friends, each with a whole client that holds the pages of its friends.
//!
//! Invariants: every client holds at most `--cache-rows` rows on purpose; a run in which a page was torn, went back, differs between clients or from what was
//! called has a fault.
//! Source: SwiftCloud (Zawirski 2013), sections 5.1 and 6.2. The shares of transactions are those of its authors' program.

mod held;
mod ledger;
mod loading;
mod network;
mod person;
mod plan;
mod report;
mod tables;
mod tally;
mod waiting;

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

use ledger::Ledger;
use network::Network;
use person::Person;
use plan::Mix;
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
}

/// The size of a run.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub clients: u32,
    pub cache_rows: u32,
    pub seconds: Duration,
    /// The round trip that was added to the link of each client.
    pub delay: Duration,
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
}

/// # Errors
/// When options do not fit together, the server does not start, or a client fails. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let options = &arguments.swiftsocial;
    let (network, mix) = (options.network()?, options.mix()?);
    if !arguments.embedded {
        bail!("swiftsocial measures one data centre, which is one server: say --embedded");
    }
    if arguments.clients > network.users {
        bail!("--clients: each client is one of the --users");
    }
    let shape = Shape {
        clients: arguments.clients,
        cache_rows: options.cache_rows.unwrap_or(512),
        seconds: Duration::from_secs(u64::from(arguments.seconds)),
        delay: Duration::from_millis(u64::from(arguments.delay_ms())),
    };
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
        people.push(Person::arrive(far, network, shape, number, &device).await?);
    }
    let begun = Instant::now();
    let lives = people.into_iter().map(|person| tokio::spawn(person.live(mix, shape, together.clone())));
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
    let holders = people.iter().map(Person::held).collect();
    ledger::check(cells, &ledger, network, near, holders).await
}
