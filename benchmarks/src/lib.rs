//! (being built)
use std::process::ExitCode;
#[derive(clap::Args)]
pub struct Arguments {}
#[derive(clap::Args)]
pub struct ClientArguments {}
pub fn run(_: &Arguments) -> anyhow::Result<ExitCode> { anyhow::bail!("being built") }
pub fn run_client(_: &ClientArguments) -> anyhow::Result<()> { anyhow::bail!("being built") }
