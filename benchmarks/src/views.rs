//! One state seen at four consistencies: how long a change takes to each view, what a member that fails costs the others, and what `delivered` adds in bytes.
//!
//! Source: Hercules (Lebeck 2020), section 3.7, figures 3.13 and 3.15.

mod bytes;
mod cut;
mod delays;
mod faults;
mod member;
mod place;
mod seats;
mod sheet;
mod talk;

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, ValueEnum};

use crate::arguments::{AppWorkload, Arguments};
use crate::game::Kill;
use crate::peer::Peer;
use crate::rows;

pub use member::{MemberArguments, run_member};

#[derive(Args, Debug)]
pub struct ViewsOptions {
    /// For views and rebase: how many members there are; of `views --bytes` and rebase also several numbers
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=64))]
    pub members: Vec<u32>,
    /// For views: stop this process for a while (SIGSTOP), and measure what the others wait for
    #[arg(long)]
    pub stop: Option<Victim>,
    /// For views: hold back whatever the process sends and receives for a while, and measure what the others wait for
    #[arg(long)]
    pub partition: Option<Victim>,
    /// For views: count bytes and messages of a change, with so many --members. For blob: its length, like 64MiB. For object-null: the frame of echo
    #[arg(long, value_name = "LENGTH", value_parser = rows::length)]
    pub bytes: Option<Option<u64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Victim {
    /// One of the members, other than the one that is measured
    Member,
}

/// A way in which a member fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Kill,
    Stop,
    Partition,
}

impl ViewsOptions {
    /// An option that was given and that only `views` has.
    pub fn name_of_any(&self) -> Option<&'static str> {
        let all = [("--stop", self.stop.is_some()), ("--partition", self.partition.is_some())];
        all.into_iter().find_map(|(name, is_asked)| is_asked.then_some(name))
    }

    /// The same of one that `blob` has too.
    pub fn name_of_bytes(&self) -> Option<&'static str> {
        self.bytes.is_some().then_some("--bytes")
    }

    pub fn name_of_members(&self) -> Option<&'static str> {
        (!self.members.is_empty()).then_some("--members")
    }
}

/// # Errors
/// When options do not fit together, or a server or a member does not start or fails. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(other) = arguments.transactions.beside.iter().find(|peer| **peer != Peer::Hocuspocus) {
        bail!("{} is beside {}, not beside views", other.name(), other.beside());
    }
    if arguments.game.kill.iter().any(|kill| *kill != Kill::Member) {
        bail!("views has --kill member, and kills nothing else");
    }
    let ViewsOptions { members, stop, partition, bytes } = &arguments.views;
    if let Some(Some(length)) = bytes {
        bail!("views --bytes counts bytes, and takes no number: leave out {length}");
    }
    let faults = [
        (Fault::Kill, !arguments.game.kill.is_empty()),
        (Fault::Stop, stop.is_some()),
        (Fault::Partition, partition.is_some()),
    ];
    let faults: Vec<Fault> = faults.into_iter().filter_map(|(fault, is_asked)| is_asked.then_some(fault)).collect();
    let has_peer = !arguments.transactions.beside.is_empty();
    match (&faults[..], bytes.is_some()) {
        ([], false) if arguments.clients < 2 => {
            bail!("views is about one who changes and others who see it: say --clients 2")
        }
        ([], false) if !members.is_empty() => {
            bail!("--members goes with --kill, --stop, --partition or --bytes: say --clients 2")
        }
        ([], false) => delays::run(arguments),
        (_, _) if has_peer => bail!("--beside goes with neither --bytes nor a member that fails"),
        ([], true) => bytes::run(arguments, members),
        ([fault], false) => match &members[..] {
            [] => faults::run(arguments, *fault, 4),
            [count] if *count >= 3 => faults::run(arguments, *fault, *count),
            _ => bail!("with a member that fails, say one number of --members, 3 or more"),
        },
        (_, _) => bail!("say one of --kill, --stop, --partition and --bytes"),
    }
}

/// The name of the workload, as reports say it.
fn name() -> String {
    AppWorkload::Views.name()
}
