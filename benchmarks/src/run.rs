//! Whatever `iolite bench` is asked for.

use std::process::ExitCode;

use anyhow::bail;

use crate::arguments::{AnyWorkload, Arguments};
use crate::{measure, text, transactions};

/// Measures a workload and prints the report.
///
/// # Errors
/// When options do not fit together, or servers or clients do not start or fail. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let (Some(_), AnyWorkload::OfClients(_) | AnyWorkload::Transactions(_)) =
        (&arguments.text.trace, arguments.workload)
    {
        bail!("only text has a --trace");
    }
    match arguments.workload {
        AnyWorkload::Text => match &arguments.text.trace {
            Some(trace) => text::run(&arguments.text, trace, arguments.json),
            None => bail!("nothing to replay: text needs --trace FILE"),
        },
        AnyWorkload::Transactions(workload) => transactions::run(arguments, workload),
        AnyWorkload::OfClients(workload) => {
            if let Some(option) = arguments.transactions.name_of_any() {
                bail!("{} has no {option}: it measures clients of one server", workload.name());
            }
            if !arguments.embedded && arguments.target.is_none() {
                bail!("nothing to measure: {} needs --embedded or --target URL", workload.name());
            }
            measure::run(arguments, workload)
        }
    }
}
