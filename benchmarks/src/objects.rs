//! A null call from one process to another, beside the same call of other systems: `iolite bench object-null --beside echo,rmi,thrift,rest`.
//!
//! All systems run in one measurement, in alternation.
//! Source: Sapphire (Zhang 2017, 2.7.3), Table 2.5 and Figure 2.6.

mod arm;
mod cache;
mod echo;
mod far;
mod front;
mod game;
mod java;
mod local;
mod moves;
mod node;
mod own;
mod pair;
mod report;
mod rest;
mod side;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};

use crate::arguments::{AppWorkload, Arguments, Durability};
use crate::cluster::ClusterDirectory;
use arm::{Arm, Setup};
use local::Local;
use node::NodePair;
use pair::Pair;

pub use cache::run as run_cache;
pub use front::run as run_front;
pub use game::run as run_game;
pub use local::run_local;
pub use moves::run as run_moves;
pub use node::run_node;
pub use side::{NullArguments, run_null};

/// Parts of each system's time, between which the others have theirs.
const ROUNDS: u32 = 5;
/// The frame of `echo`, if nothing is said: the mean of a null call's two frames, by the server's `iolite_object_received_bytes_total` (71 bytes a frame) and
/// `iolite_object_sent_bytes_total` (11).
const FRAME_BYTES: u64 = 41;
/// The longest frame that `echo` sends.
const FRAME_BYTES_MOST: u64 = 1 << 20;

#[derive(Args, Debug)]
pub struct ObjectOptions {
    /// For object-null: the callers beside a process in Rust; `node` is measured to the server and back
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub from: Vec<From>,
}

/// A caller of a null call. A process in Rust is always measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum From {
    Process,
    Node,
}

/// Everything that is measured in a run.
struct Run {
    pairs: Vec<Pair>,
    local: Local,
    node: Option<NodePair>,
}

impl ObjectOptions {
    /// An option that was given and that only `object-null` has.
    pub fn name_of_any(&self) -> Option<&'static str> {
        (!self.from.is_empty()).then_some("--from")
    }
}

/// # Errors
/// When options do not fit together, or a peer is not installed, does not start or breaks. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let arms = arms(arguments)?;
    let frame_bytes = arguments.views.bytes.flatten().unwrap_or(FRAME_BYTES);
    if !(1..=FRAME_BYTES_MOST).contains(&frame_bytes) {
        bail!("--bytes of object-null is a frame of echo: 1 byte to 1MiB");
    }
    let directory = ClusterDirectory::new(Durability::Memory)?;
    let setup = Setup { folder: directory.path(), frame_bytes };
    let pairs = arms.into_iter().map(|arm| Pair::start(arm, &setup)).collect::<anyhow::Result<Vec<_>>>()?;
    let is_from_node = arguments.objects.from.contains(&From::Node);
    let node = if is_from_node { Some(NodePair::start()?) } else { None };
    let mut run = Run { pairs, local: Local::start()?, node };
    run.measure(arguments)?;
    let mut cells = report::cells(&mut run.pairs, arguments, frame_bytes)?;
    let mut table = report::table(&run.pairs);
    run.local.report(&mut cells, &mut table);
    if let Some(node) = &run.node {
        node.report(&mut cells, &mut table);
    }
    cells.print_table(&table, arguments.json)
}

fn arms(arguments: &Arguments) -> anyhow::Result<Vec<Arm>> {
    if arguments.delay_ms() > 0 || arguments.clients != 1 {
        bail!("object-null has one client on loopback: leave out --delay-ms and --clients");
    }
    let mut arms = vec![Arm::Iolite];
    for peer in &arguments.transactions.beside {
        let arm = Arm::of(*peer)
            .with_context(|| format!("{} is beside {}, not beside object-null", peer.name(), peer.beside()))?;
        if !arms.contains(&arm) {
            arms.push(arm);
        }
    }
    Ok(arms)
}

impl Run {
    /// Lets each system warm up, and gives each its time in parts. Every second round goes the other way, so that none is always the one after another.
    fn measure(&mut self, arguments: &Arguments) -> anyhow::Result<()> {
        let warm_up = Duration::from_secs(arguments.transactions.warm_up.into());
        if !warm_up.is_zero() {
            self.pairs.iter_mut().try_for_each(|pair| pair.warm_up(warm_up))?;
            self.local.warm_up(warm_up)?;
            self.node.iter_mut().try_for_each(|node| node.warm_up(warm_up))?;
        }
        let part = Duration::from_secs(arguments.seconds.into()) / ROUNDS;
        for round in 0..ROUNDS {
            if round.is_multiple_of(2) {
                self.pairs.iter_mut().try_for_each(|pair| pair.run(part))?;
            } else {
                self.pairs.iter_mut().rev().try_for_each(|pair| pair.run(part))?;
            }
            self.local.run(part)?;
            self.node.iter_mut().try_for_each(|node| node.run(part))?;
        }
        Ok(())
    }
}

/// The name of the workload, as reports say it.
fn name() -> String {
    AppWorkload::ObjectNull.name()
}
