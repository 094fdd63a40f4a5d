//! What docs/operations.md tells to do works: its commands are run in their order, by one shell.

use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../../../docs/operations.md");

/// The text of every block of commands.
fn commands() -> Vec<&'static str> {
    let blocks = PAGE.split("\n```sh\n").skip(1);
    blocks.map(|rest| rest.split_once("\n```").expect("a block ends").0).collect()
}

/// Ports that the page uses, with others that are free now: several checkouts may be tested on one machine.
fn with_free_ports(text: &str) -> String {
    let mut text = text.to_owned();
    let mut after = 20_000 + (std::process::id() % 1_000) as u16 * 10;
    // The last digit is a node's.
    for tens in ["791", "781"] {
        let base = free_base(after);
        after = base + 10;
        text = text.replace(&format!("{tens}$number"), &format!("{}$number", base / 10));
        for digit in 0..REPLICAS {
            text = text.replace(&format!(":{tens}{digit}"), &format!(":{}", base + digit));
        }
    }
    let host = "127.0.0.1".parse().expect("an address");
    let free = iolite_cluster::free_ports(&[host], 3).expect("some are free");
    for (known, free) in [":7800", ":2379", ":2380"].into_iter().zip(free) {
        text = text.replace(known, &format!(":{free}"));
    }
    text.replace("--port 7700", "--port 0")
}

/// That the page speaks of.
const REPLICAS: u16 = 6;

/// A multiple of ten from which so many ports are free.
fn free_base(after: u16) -> u16 {
    let is_free = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
    let mut bases = (after..60_000).step_by(10);
    bases.find(|base| (0..REPLICAS).all(|digit| is_free(base + digit))).expect("some are free")
}

#[test]
fn the_commands_of_the_page_work() {
    let blocks = commands();
    assert!(blocks.len() >= 7, "the page has commands: {}", blocks.len());
    let folder = std::env::temp_dir().join(format!("iolite-operations-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let program = Path::new(env!("CARGO_BIN_EXE_iolite")).parent().expect("it is in a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    // What a block leaves running ends with the test.
    let script = format!(
        "set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true; iolite cluster down --data cluster || true; iolite cluster down --data restored || true' EXIT\n{}",
        blocks.join("\n")
    );
    let mut shell = Command::new("timeout");
    shell.args(["--kill-after", "5", "400", "bash", "-c", &with_free_ports(&script)]);
    let output = shell.current_dir(&folder).env("PATH", path).output().expect("there is a shell");
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{errors}", output.status);
    std::fs::remove_dir_all(&folder).expect("it is there");
}
