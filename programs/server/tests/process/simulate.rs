//! `iolite simulate` as a process.

use std::process::{Command, Output, Stdio};

/// A seed that ends soon, since this build is not optimised: the variant is found after a few steps.
const SHORT: [&str; 5] = ["--seeds", "2..2", "--broken", "keep-taken-back", "--json"];

fn simulate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iolite"));
    command.arg("simulate").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> Output {
    simulate(arguments).output().expect("the program can be run")
}

#[test]
fn a_reader_that_leaves_changes_nothing_about_the_verdict() {
    let heard = run(&SHORT);
    let mut unheard = simulate(&SHORT).spawn().expect("the program can be run");
    drop(unheard.stdout.take());
    drop(unheard.stderr.take());
    let said = String::from_utf8_lossy(&heard.stdout).into_owned();
    assert!(heard.status.success() && said.contains("\"trace_hash\""), "{said}");
    assert_eq!(unheard.wait().expect("it ends").code(), heard.status.code());
}
