//! What docs/postgres.md tells to do works: its commands are run in their order, by one shell, with a database that the page's reader has.

use std::path::Path;
use std::process::Command;

use super::server::{Server, USER};
use crate::support::folder::Folder;

const PAGE: &str = include_str!("../../../../../docs/postgres.md");

/// The text of every block of commands, on ports that are free.
fn commands() -> String {
    let blocks = PAGE.split("\n```sh\n").skip(1);
    let blocks: Vec<&str> = blocks.map(|rest| rest.split_once("\n```").expect("a block ends").0).collect();
    assert!(blocks.len() >= 3, "the page has commands: {}", blocks.len());
    let ports = iolite_cluster::free_ports(&["127.0.0.1".parse().expect("an address")], 2).expect("some are free");
    blocks.join("\n").replace(":7800", &format!(":{}", ports[0])).replace(":7801", &format!(":{}", ports[1]))
}

#[test]
fn the_commands_of_the_page_about_postgresql_work() {
    let access = [("pg_hba.conf", "local all iolite trust\nlocal all all scram-sha-256\n")];
    let server = Server::start_with(5432, &access, &[]);
    let folder = Folder::new("postgres-page");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let program = Path::new(env!("CARGO_BIN_EXE_iolite")).parent().expect("it is in a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let script = commands().replace("/run/postgresql", server.folder().to_str().expect("plain letters"));
    // What a block leaves running ends with the test.
    let script = format!("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{script}");
    let mut shell = Command::new("timeout");
    shell.args(["--kill-after", "5", "60", "bash", "-c", &script]).current_dir(&folder.0).env("PATH", path);
    shell.env("PGHOST", server.folder()).env("PGUSER", USER).env("PGDATABASE", "postgres");
    let output = shell.output().expect("there is a shell");
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{errors}", output.status);
}
