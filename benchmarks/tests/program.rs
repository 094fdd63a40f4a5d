//! `iolite-bench` as a process. What it measures is tested in `programs/server/tests/bench`; this makes `cargo test` build the program for those tests.

use std::process::Command;

#[test]
fn without_a_workload_it_says_which_there_are_and_fails() {
    let output = Command::new(env!("CARGO_BIN_EXE_iolite-bench")).output().expect("the program can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("<WORKLOAD>"), "{said}");
    let output = Command::new(env!("CARGO_BIN_EXE_iolite-bench")).arg("nothing").output();
    let said = String::from_utf8_lossy(&output.expect("the program can be run").stderr).into_owned();
    assert!(said.contains("propagate") && said.contains("retwis-diamond"), "{said}");
}
