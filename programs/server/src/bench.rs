//! `iolite bench`, which is the program `iolite-bench`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

#[derive(Args)]
pub struct Arguments {
    /// Words for `iolite-bench`; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORKLOAD AND OPTIONS")]
    words: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    crate::beside::run("iolite-bench", "iolite-benchmarks", &arguments.words)
}
