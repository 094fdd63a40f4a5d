//! `iolite emulate`, which is the program `iolite-emulate`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

#[derive(Args)]
pub struct Arguments {
    /// The command and options of `iolite-emulate`; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND AND OPTIONS")]
    words: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    crate::beside::run("iolite-emulate", "iolite-emulate", &arguments.words)
}
