//! A null call from one process to another, beside the same call of other systems: `iolite bench object-null --beside echo,rmi,thrift,rest`.
//!
//! All systems run in one measurement, in alternation.
//! Source: Sapphire (Zhang 2017, 2.7.3), Table 2.5 and Figure 2.6.

mod arm;
mod echo;
mod java;
mod own;
mod pair;
mod report;
mod rest;
mod side;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::arguments::{AppWorkload, Arguments, Durability};
use crate::cluster::ClusterDirectory;
use arm::{Arm, Setup};
use pair::Pair;

pub use side::{NullArguments, run_null};

/// Parts of each system's time, between which the others have theirs.
const ROUNDS: u32 = 5;
/// The frame of `echo`, if nothing is said: the mean of a null call's two frames, by the server's `iolite_object_received_bytes_total` (71 bytes a frame) and
/// `iolite_object_sent_bytes_total` (11).
const FRAME_BYTES: u64 = 41;
/// The longest frame that `echo` sends.
const FRAME_BYTES_MOST: u64 = 1 << 20;

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
    let mut pairs = arms.into_iter().map(|arm| Pair::start(arm, &setup)).collect::<anyhow::Result<Vec<_>>>()?;
    measure(&mut pairs, arguments)?;
    let cells = report::cells(&mut pairs, arguments, frame_bytes)?;
    cells.print_table(&report::table(&pairs), arguments.json)
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

/// Lets each system warm up, and gives each its time in parts. Every second round goes the other way, so that none is always the one after another.
fn measure(pairs: &mut [Pair], arguments: &Arguments) -> anyhow::Result<()> {
    let warm_up = Duration::from_secs(arguments.transactions.warm_up.into());
    if !warm_up.is_zero() {
        pairs.iter_mut().try_for_each(|pair| pair.warm_up(warm_up))?;
    }
    let part = Duration::from_secs(arguments.seconds.into()) / ROUNDS;
    for round in 0..ROUNDS {
        if round.is_multiple_of(2) {
            pairs.iter_mut().try_for_each(|pair| pair.run(part))?;
        } else {
            pairs.iter_mut().rev().try_for_each(|pair| pair.run(part))?;
        }
    }
    Ok(())
}

/// The name of the workload, as reports say it.
fn name() -> String {
    AppWorkload::ObjectNull.name()
}
