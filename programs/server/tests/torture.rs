//! `iolite torture`: a cluster of real processes stands it, and one that does not keep its promise is found out.

use std::process::{Command, Output};

fn torture(arguments: &[&str]) -> (Output, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iolite"));
    let output = command.arg("torture").args(arguments).output().expect("the program can be run");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output, said)
}

#[test]
fn a_cluster_under_all_faults_loses_nothing_and_stays_strictly_serializable() {
    let (output, said) = torture(&["--cluster", "2x3", "--seconds", "12", "--seed", "7"]);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("0 acknowledged transactions lost") && said.contains("\nclean"), "{said}");
    assert!(said.contains("adya") && said.contains("lists and sets valid; registers valid"), "{said}");
}

/// Without syncs a power cut of all replicas takes what was acknowledged.
#[test]
fn a_cluster_that_does_not_sync_is_found_out() {
    let arguments =
        ["--cluster", "1x1", "--gateways", "1", "--faults", "power", "--durability", "memory", "--seconds", "8"];
    let (output, said) = torture(&arguments);
    assert!(!output.status.success(), "{said}");
    // Its replica may have lost so much that it says so itself, or that clients start anew.
    assert!(said.contains("NOT CLEAN") || said.contains("its disk is lost"), "{said}");
    if let Some((_, folder)) = said.split_once("files and logs stay in ") {
        std::fs::remove_dir_all(folder.lines().next().unwrap_or_default()).expect("it is there");
    }
}

#[test]
fn what_cannot_be_tortured_is_said() {
    for (arguments, told) in [
        (&["--cluster", "three"][..], "--cluster is like 2x3"),
        (&["--faults", "kill,flood"], "there is no fault \"flood\""),
        (&["--cluster", "1x2"], "1, 3, 5 or 7"),
        (&["--clients", "0"], "at least 1"),
    ] {
        let (output, said) = torture(arguments);
        assert!(!output.status.success() && said.contains(told), "{said}");
    }
}
