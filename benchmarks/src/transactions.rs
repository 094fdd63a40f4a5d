//! Interactive transactions, measured the same way on every system: `iolite bench retwis-tapir|ycsb-t --beside ...`.
//!
//! Workloads are data (`workload`), a system is a driver behind one trait (`system`), and everything else is one code for all: the closed
//! loop (`client`), what it costs (`accounting`, `ledger`, `durable`), and whether anything was lost (`history`).
//! Source: TAPIR (TOCS 2018) 7.

mod baselines;
mod client;
mod durable;
mod etcd;
mod history;
mod iolite;
mod ledger;
mod measure;
#[cfg(test)]
mod memory;
mod options;
mod peer;
mod postgres;
mod redis;
mod report;
mod system;
mod tally;
mod workload;

pub use options::TransactionOptions;
pub use workload::TransactionWorkload;

use std::process::ExitCode;

use crate::arguments::Arguments;
use crate::{probe, system_run};
use report::{Report, Table};

/// Measures a workload on every system that is asked for, one after the other, and prints one table.
///
/// # Errors
/// When a system is not installed, does not start, or breaks. What a run found wrong is in the exit code.
pub fn run(arguments: &Arguments, workload: TransactionWorkload) -> anyhow::Result<ExitCode> {
    let course = arguments.transactions.course(arguments, workload)?;
    let table = system_run::block_on(measure_all(arguments, &course))?;
    iolite_host::print(&table.text(arguments.json)?)?;
    Ok(if table.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn measure_all(arguments: &Arguments, course: &measure::Course) -> anyhow::Result<Table> {
    let own = match arguments.transactions.cluster {
        None => None,
        Some(_) => {
            let sync_ms = probe::sync_ms(course.setup.durability)?;
            Some(Report::of(course, measure::measure::<iolite::Iolite>(course).await?, sync_ms))
        }
    };
    let mut beside = Vec::new();
    for peer in arguments.transactions.beside.iter().copied() {
        let sync_ms = probe::sync_ms(course.setup.durability)?;
        let measured = peer::measure_peer(peer, course).await?;
        if let Some(reason) = &measured.tally.first_unknown {
            iolite_host::warn(&format!("note: {}: an outcome is unknown: {reason}", measured.about.name));
        }
        beside.push(Report::of(course, measured, sync_ms));
    }
    Ok(Table::of(course, own, beside))
}
