//! The processes of the nodes: started, told of each other, stopped, and never left behind.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use iolite_emulator::{DiskCounts, NodeId, Plan, PlanFiles};
use serde::{Deserialize, Serialize};

/// The first line that a node's process reads.
#[derive(Debug, Serialize, Deserialize)]
pub struct Start {
    pub files: PlanFiles,
    pub own: NodeId,
}

#[derive(Debug)]
struct Process {
    name: String,
    child: Child,
    /// Taken when it is to end: a process whose input has ended ends as well.
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

#[derive(Debug)]
pub struct Cluster {
    processes: Vec<Process>,
}

impl Cluster {
    /// A process for each node but the client.
    pub fn start(files: &PlanFiles, plan: &Plan) -> Result<Cluster> {
        let mut cluster = Cluster { processes: Vec::new() };
        for own in plan.deployment.nodes().skip(1) {
            let process = Process::start(plan.deployment.name(own))?;
            cluster.processes.push(process);
            let start = serde_json::to_string(&Start { files: files.clone(), own })?;
            cluster.processes.last_mut().expect("it was pushed").tell(&start)?;
        }
        Ok(cluster)
    }

    /// Tells all nodes the ports of all, the client's first, when all have filled themselves with data.
    pub fn introduce(&mut self, client: u16) -> Result<Vec<u16>> {
        let ports = self.processes.iter_mut().map(|process| -> Result<u16> { Ok(process.hear()?.trim().parse()?) });
        let ports = std::iter::once(Ok(client)).chain(ports).collect::<Result<Vec<u16>>>()?;
        let line = serde_json::to_string(&ports)?;
        self.processes.iter_mut().try_for_each(|process| process.tell(&line))?;
        Ok(ports)
    }

    /// Ends all processes: the counts of their disks.
    pub fn stop(mut self) -> Result<Vec<Vec<DiskCounts>>> {
        let mut counts = Vec::new();
        for process in &mut self.processes {
            process.to = None;
            counts.push(serde_json::from_str(&process.hear()?)?);
        }
        Ok(counts)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // One that has ended already cannot be killed, which is as well.
            _ = process.child.kill();
            _ = process.child.wait();
        }
    }
}

impl Process {
    fn start(name: String) -> Result<Process> {
        let program = std::env::current_exe().context("this program does not find itself")?;
        let mut command = Command::new(program);
        let mut child = command.arg("node").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().expect("it is piped"));
        Ok(Process { name, child, to, from })
    }

    fn tell(&mut self, line: &str) -> Result<()> {
        let to = self.to.as_mut().expect("it is told nothing after its end");
        writeln!(to, "{line}").and_then(|()| to.flush()).with_context(|| format!("{} has gone", self.name))
    }

    fn hear(&mut self) -> Result<String> {
        let mut line = String::new();
        let read = self.from.read_line(&mut line).with_context(|| format!("{} cannot be heard", self.name))?;
        anyhow::ensure!(read > 0, "{} has ended: what it said is above", self.name);
        Ok(line)
    }
}
