//! The cost of others' operations at a member of a log: many members that call at the same time, and one remote operation below many pending ones.
//!
//! Source: Hercules (Lebeck 2020), section 3.7.3 and figure 3.14. Its state is a byte array; here it is a table of ints, 8 bytes each.

mod array;
mod machine;
mod member;
mod members;
mod pending;

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

use crate::arguments::{AppWorkload, Arguments};

pub use member::{MemberArguments, run_member};

#[derive(Args, Debug)]
pub struct RebaseOptions {
    /// For rebase: how often a member rebases at most, in milliseconds, 0 being at once; several with commas
    #[arg(long, value_name = "MS,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub batch_ms: Vec<u32>,
    /// For rebase: one remote operation below so many pending ones, in one client without a server; several with commas
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub pending: Vec<u32>,
    /// For rebase: operations of each member [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub operations: Option<u32>,
    /// For rebase: increments of an operation [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub increments: Option<u32>,
    /// For rebase: between two operations of a member [default: 100]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub every_ms: Option<u32>,
}

impl RebaseOptions {
    /// An option that was given and that only this workload has.
    pub fn name_of_any(&self) -> Option<&'static str> {
        let all = [
            ("--batch-ms", !self.batch_ms.is_empty()),
            ("--pending", !self.pending.is_empty()),
            ("--operations", self.operations.is_some()),
            ("--increments", self.increments.is_some()),
            ("--every-ms", self.every_ms.is_some()),
        ];
        all.into_iter().find_map(|(name, is_asked)| is_asked.then_some(name))
    }

    fn is_about_members(&self) -> bool {
        !self.batch_ms.is_empty() || self.operations.is_some() || self.increments.is_some() || self.every_ms.is_some()
    }
}

/// # Errors
/// When options do not fit together, or a server or a member does not start or fails. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (options, members) = (&arguments.rebase, &arguments.views.members);
    match (options.pending.is_empty(), members.is_empty()) {
        (true, true) => bail!("nothing to measure: rebase needs --members 2,8 or --pending 1000"),
        (false, false) => bail!("say --members or --pending, not both: they measure different things"),
        (false, true) if options.is_about_members() => bail!("--pending goes with none of the options of --members"),
        (false, true) => pending::run(&options.pending, arguments.json),
        (true, false) => members::run(arguments, members),
    }
}

/// The name of the workload, as reports say it.
fn name() -> String {
    AppWorkload::Rebase.name()
}
