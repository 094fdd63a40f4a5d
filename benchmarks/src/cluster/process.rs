//! One server process of another system, and all its children.
//!
//! Invariant: it ends when it is dropped, when this thread ends, and when this process is killed (setpriv asks the kernel for that).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Signal, kill_process};

use crate::accounting::{Node, Pid, Traffic};

/// As whom servers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// As whoever runs the benchmark.
    Same,
    /// As the user of this name, when root runs the benchmark.
    UnlessRoot(&'static str),
}

/// How a server is asked to end at once.
#[derive(Clone, Copy, Debug)]
pub enum Ending {
    Kill,
    /// By SIGQUIT, because it has children and shared memory to take down.
    Quit,
}

#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    ending: Ending,
    log: PathBuf,
}

const ENDS_WITHIN: Duration = Duration::from_secs(5);
/// Debian installs PostgreSQL's programs aside, in a folder of their version.
const POSTGRES: &str = "/usr/lib/postgresql";

impl Runner {
    /// A command that runs as this user and dies with this thread.
    pub fn command(self, program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if let Some(user) = self.user() {
            command.args(["--reuid", user, "--regid", user, "--clear-groups"]);
        }
        command.arg("--").arg(program).current_dir("/").stdin(Stdio::null());
        command
    }

    /// The user's name, where it is another one.
    pub fn user(self) -> Option<&'static str> {
        match self {
            Runner::Same => None,
            Runner::UnlessRoot(user) => rustix::process::geteuid().is_root().then_some(user),
        }
    }
}

impl ServerProcess {
    pub fn start(mut command: Command, ending: Ending, log: &Path) -> anyhow::Result<ServerProcess> {
        let output = File::options().create(true).append(true).open(log)?;
        command.stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        Ok(ServerProcess { child, ending, log: log.to_owned() })
    }

    pub fn pid(&self) -> Pid {
        Pid::of(&self.child)
    }

    /// An error with the last words of the server, once it has ended.
    pub fn is_alive(&mut self) -> anyhow::Result<()> {
        let Some(status) = self.child.try_wait()? else { return Ok(()) };
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        bail!("a server ended: {status}; its last words: {}", lines[lines.len().saturating_sub(5)..].join(" / "))
    }

    /// Kills it and its children where they are, and waits until all are gone.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let tree = self.pid().tree();
        tree.iter().for_each(|pid| pid.kill());
        self.child.wait()?;
        let begun = Instant::now();
        while tree.iter().any(|pid| pid.exists()) {
            if begun.elapsed() > ENDS_WITHIN {
                bail!("a process of {:?} does not end", self.log.file_name());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// The servers of a system as nodes, each with its name and its traffic.
pub fn nodes<const COUNT: usize>(
    names: [&str; COUNT],
    servers: &[ServerProcess],
    traffic: &[Arc<Traffic>; COUNT],
) -> Vec<Node> {
    let node = |((name, server), traffic): ((&str, &ServerProcess), &Arc<Traffic>)| Node {
        name: name.to_owned(),
        root: server.pid(),
        traffic: traffic.clone(),
    };
    names.into_iter().zip(servers).zip(traffic).map(node).collect()
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let (Ending::Quit, Ok(None)) = (self.ending, self.child.try_wait()) {
            let begun = Instant::now();
            let _ = kill_process(self.pid().process(), Signal::QUIT);
            while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < ENDS_WITHIN {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        if let Ok(None) = self.child.try_wait() {
            let _ = self.kill();
        }
    }
}

/// Where a program is.
///
/// # Errors
/// When it is not installed, with what to do.
pub fn program(name: &str) -> anyhow::Result<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).chain(["/usr/sbin".into()]).collect();
    if let Ok(versions) = std::fs::read_dir(POSTGRES) {
        let mut versions: Vec<PathBuf> = versions.flatten().map(|version| version.path().join("bin")).collect();
        versions.sort();
        folders.extend(versions.into_iter().rev());
    }
    let found = folders.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    found.with_context(|| format!("{name} is not installed: run `make setup`, which installs it from Debian"))
}

/// Where a program is that is built with this one: in the same folder, or, for tests, in the one above it.
///
/// # Errors
/// When it was not built, with what to do.
pub fn program_beside(name: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let found = own.ancestors().skip(1).take(2).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.with_context(|| {
        format!(
            "{name} is not built: run `make baselines`, or `cargo build` for a debug build, which put it beside {}",
            own.display()
        )
    })
}

/// The first line that a program says of its version.
pub fn version(program: &Path) -> anyhow::Result<String> {
    let output = Command::new(program).arg("--version").output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}
