//! PostgreSQL's three data directories and processes.
//!
//! The standbys begin as copies of the primary's directory, made before it was first started.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::arguments::Durability;
use crate::cluster::{
    BETWEEN_SERVERS, CLIENTS, ClusterDirectory, Ending, Runner, ServerProcess, ServiceUser, program, version,
};
use crate::transactions::system::Setup;

pub const NAMES: [&str; 3] = ["primary", "a", "b"];
pub const USER: &str = "iolite";
/// PostgreSQL does not run as root; Debian's package makes this user.
const RUNNER: Runner = Runner::UnlessRoot("postgres");

#[derive(Debug)]
pub struct Servers {
    program: PathBuf,
    version: String,
    folder: PathBuf,
}

impl Servers {
    /// Makes the directories of all three.
    pub fn create(
        directory: &ClusterDirectory,
        setup: &Setup,
        ports: [u16; 3],
        for_standbys: SocketAddr,
    ) -> anyhow::Result<Servers> {
        let (postgres, initdb) = (program("postgres")?, program("initdb")?);
        let version = version(&postgres)?;
        let version = version.split_whitespace().nth(2).context("postgres tells no version")?.to_owned();
        let owner = RUNNER.user().map(ServiceUser::named).transpose()?;
        let folder = directory.folder("postgres", owner)?;
        let primary = folder.join(NAMES[0]);
        let mut command = RUNNER.command(&initdb);
        command.arg("-D").arg(&primary).args(["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
        succeed(command)?;
        append(&primary.join("postgresql.conf"), &settings(setup))?;
        append(
            &primary.join("pg_hba.conf"),
            "host all all 127.0.0.0/8 trust\nhost replication all 127.0.0.0/8 trust\n",
        )?;
        for name in &NAMES[1..] {
            let mut copy = RUNNER.command(&program("cp")?);
            copy.arg("-a").arg(&primary).arg(folder.join(name));
            succeed(copy)?;
            let (host, port) = (for_standbys.ip(), for_standbys.port());
            let line = format!("primary_conninfo = 'host={host} port={port} user={USER} application_name={name}'\n");
            append(&folder.join(name).join("postgresql.conf"), &line)?;
            append(&folder.join(name).join("standby.signal"), "")?;
        }
        for (name, port) in NAMES.iter().zip(ports) {
            append(&folder.join(name).join("postgresql.conf"), &format!("port = {port}\n"))?;
        }
        append(&primary.join("postgresql.conf"), "synchronous_standby_names = 'ANY 1 (a, b)'\n")?;
        Ok(Servers { program: postgres, version, folder })
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn start(&self) -> anyhow::Result<Vec<ServerProcess>> {
        let start = |name: &str| {
            let mut command = RUNNER.command(&self.program);
            command.arg("-D").arg(self.folder.join(name));
            ServerProcess::start(command, Ending::Quit, &self.folder.with_file_name(format!("{name}.log")))
        };
        NAMES.into_iter().map(start).collect()
    }
}

/// What all three are set to. Everything else is PostgreSQL's default.
fn settings(setup: &Setup) -> String {
    let mut text = String::new();
    let mut set = |name: &str, value: &str| writeln!(text, "{name} = {value}").expect("a string takes everything");
    set("listen_addresses", &format!("'{CLIENTS}, {BETWEEN_SERVERS}'"));
    set("unix_socket_directories", "''");
    // Standbys may not allow fewer than the primary ever did, which was the default when it was made.
    set("max_connections", &(u32::from(setup.clients) + 30).max(100).to_string());
    // In the data directory, so that nothing is left when it is removed.
    set("dynamic_shared_memory_type", "mmap");
    set("shared_buffers", "256MB");
    set("max_wal_size", "4GB");
    set("wal_keep_size", "1GB");
    // Reads by key never lock whole tables or pages for want of room, or of statistics that say that a table is large.
    set("max_pred_locks_per_transaction", "256");
    set("enable_seqscan", "off");
    set("enable_bitmapscan", "off");
    set("synchronous_commit", "on");
    set(
        "fsync",
        match setup.durability {
            Durability::Fsync => "on",
            Durability::Memory => "off",
        },
    );
    text
}

fn append(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let mut file = std::fs::File::options().create(true).append(true).open(path)?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

fn succeed(mut command: Command) -> anyhow::Result<()> {
    let output = command.stdout(Stdio::null()).output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
