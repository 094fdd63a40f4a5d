//! What a command has written is on the disk when it ends, as the system's calls show.

use std::path::Path;
use std::process::Command;

use crate::support::folder::{Folder, PROGRAM};

/// Of which threads calls are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Threads {
    First,
    All,
}

/// The calls that sync or rename, in their order. `-y` shows the path of each open file.
fn calls(threads: Threads, folder: &Path, arguments: &[&str]) -> Vec<String> {
    let trace = folder.join("trace");
    let mut command = Command::new("strace");
    command.args(["-y", "-e", "trace=/^(fsync|fdatasync|rename.*)$", "-o"]).arg(&trace);
    if threads == Threads::All {
        command.arg("-f");
    }
    let status = command.arg(PROGRAM).args(arguments).stdout(std::process::Stdio::null()).status();
    assert!(status.expect("strace is there: `make setup` installs it").success());
    let text = std::fs::read_to_string(trace).expect("it was written");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_files_of_a_new_cluster_and_its_folder_are_synced() {
    let folder = Folder::new("synced");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let data = folder.0.join("cluster");
    let data = data.to_str().expect("plain letters");
    let up = ["cluster", "up", "--data", data, "--port", "0", "--shards", "1", "--replicas", "1"];
    let calls = calls(Threads::First, &folder.0, &up);
    let down = Command::new(PROGRAM).args(["cluster", "down", "--data", data]).output();
    assert!(down.expect("the program can be run").status.success());
    for file in ["cluster.toml", "store-0/node.toml", "gateway-0/node.toml", "authority/authority.crt"] {
        let renamed = calls.iter().position(|call| call.starts_with("rename") && call.contains(&format!("/{file}\"")));
        let renamed = renamed.unwrap_or_else(|| panic!("{file} is not made under another name: {calls:#?}"));
        let name = Path::new(file).file_name().and_then(|name| name.to_str()).expect("it has a name");
        let own = calls[..renamed].iter().rev().take(1).any(|call| call.contains("sync(") && call.contains(name));
        assert!(own, "{file} is synced before it has its name: {calls:#?}");
        assert!(calls[renamed + 1].contains("sync("), "and so is the folder, behind it: {calls:#?}");
    }
    let whole = calls.iter().position(|call| call.starts_with("rename") && call.contains(&format!("\"{data}\"")));
    let behind = &calls[whole.expect("the folder gets its name last") + 1];
    assert!(behind.contains("sync(") && behind.contains(folder.0.to_str().expect("plain letters")), "{behind}");
}

#[test]
fn the_folders_that_a_backup_makes_are_synced() {
    let folder = Folder::new("backup-synced");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let path = |name: &str| folder.0.join(name).to_str().expect("plain letters").to_owned();
    let (data, to) = (path("cluster"), path("backups/monday"));
    let up = ["cluster", "up", "--data", &data, "--port", "0", "--shards", "1", "--replicas", "1"];
    assert!(Command::new(PROGRAM).args(up).output().expect("the program can be run").status.success());
    let calls = calls(Threads::All, &folder.0, &["backup", "--data", &data, "--to", &to]);
    let down = Command::new(PROGRAM).args(["cluster", "down", "--data", &data]).output();
    assert!(down.expect("the program can be run").status.success());
    // The names `backups`, `monday` and those in it.
    for synced in [folder.0.to_str().expect("plain letters"), &path("backups"), &to] {
        let shown = format!("<{synced}>");
        assert!(calls.iter().any(|call| call.contains("sync(") && call.contains(&shown)), "{synced}: {calls:#?}");
    }
}
