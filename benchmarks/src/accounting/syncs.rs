//! Calls that make data durable, counted by strace at running processes. It slows them down, so it gets a stretch of its own.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Signal, kill_process};

use super::Pid;

const CALLS: &str = "trace=fsync,fdatasync,sync_file_range,syncfs,sync,msync";
const ATTACHES_WITHIN: Duration = Duration::from_secs(10);

/// A count of one node; it ends with this.
#[derive(Debug)]
pub struct SyncCount {
    strace: Child,
    lines: Receiver<String>,
    processes: usize,
    summary: PathBuf,
}

impl SyncCount {
    /// Counts nothing before [`Self::attached`].
    ///
    /// # Errors
    /// When strace is not installed.
    pub fn begin(processes: &[Pid], summary: PathBuf) -> anyhow::Result<SyncCount> {
        let mut command = Command::new("strace");
        command.args(["-f", "-c", "-e", CALLS, "-o"]).arg(&summary);
        for pid in processes {
            command.args(["-p", &pid.number().to_string()]);
        }
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut strace = started.context("strace is not installed: run `make setup`, which installs it from Debian")?;
        let lines = lines_of(strace.stderr.take().expect("its errors are a pipe"));
        Ok(SyncCount { strace, lines, processes: processes.len(), summary })
    }

    /// Returns once every process is watched.
    ///
    /// # Errors
    /// When strace may not watch these processes.
    pub fn attached(&self) -> anyhow::Result<()> {
        wait_until_attached(&self.lines, self.processes)
    }

    /// Lets the processes go.
    pub fn interrupt(&self) {
        // It ends by itself when all that it watches end.
        let _ = kill_process(Pid::of(&self.strace).process(), Signal::INT);
    }

    /// Calls until it was interrupted.
    ///
    /// # Errors
    /// When strace did not end as it should.
    pub fn total(mut self) -> anyhow::Result<u64> {
        self.strace.wait()?;
        total(&std::fs::read_to_string(&self.summary).context("strace wrote no summary")?)
    }
}

impl Drop for SyncCount {
    fn drop(&mut self) {
        // It has ended already, in every case but an error. What it watched goes on.
        let _ = self.strace.kill();
        let _ = self.strace.wait();
    }
}

fn lines_of(errors: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        // Read to the end, so that strace never waits for us.
        BufReader::new(errors).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
    });
    lines
}

fn wait_until_attached(lines: &Receiver<String>, processes: usize) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut attached = 0;
    while attached < processes {
        let left = ATTACHES_WITHIN.saturating_sub(begun.elapsed());
        let line = lines.recv_timeout(left).context("strace does not attach to the servers")?;
        if !line.contains("attached") {
            bail!("strace may not watch the servers: {line}");
        }
        attached += 1;
    }
    Ok(())
}

/// The sum of strace's table; no table is no calls.
fn total(summary: &str) -> anyhow::Result<u64> {
    let Some(line) = summary.lines().find(|line| line.trim_end().ends_with(" total")) else { return Ok(0) };
    // % time, seconds, usecs/call, calls; errors only where there are some.
    let calls = line.split_whitespace().nth(3).and_then(|calls| calls.parse().ok());
    calls.with_context(|| format!("strace's table has another form: {line}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_sum_of_a_table_is_found() {
        let table = "% time     seconds  usecs/call     calls    errors syscall\n\
                     ------ ----------- ----------- --------- --------- ----------------\n\
                     100.00    0.331744           5     64834           fdatasync\n\
                     ------ ----------- ----------- --------- --------- ----------------\n\
                     100.00    0.331744           5     64834         1 total\n";
        assert_eq!(total(table).expect("it has this form"), 64834);
        assert_eq!(total("").expect("no table is no calls"), 0);
    }

    #[test]
    fn syncs_of_a_running_process_are_counted() {
        let folder = std::env::temp_dir().join(format!("iolite-syncs-{:032x}", iolite_host::random_id()));
        std::fs::create_dir(&folder).expect("a new folder");
        let script = format!(
            "read go; for i in 1 2 3; do dd if=/dev/zero of={}/x bs=1 count=1 conv=fdatasync; done",
            folder.display()
        );
        let mut shell = Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
        let shell = shell.as_mut().expect("there is a shell");
        let count = SyncCount::begin(&[Pid::of(shell)], folder.join("summary")).expect("strace is installed");
        count.attached().expect("a child may be watched");
        shell.stdin.take().expect("its input is a pipe").write_all(b"go\n").expect("it reads");
        shell.wait().expect("it ends");
        count.interrupt();
        assert_eq!(count.total().expect("strace writes its table"), 3);
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
