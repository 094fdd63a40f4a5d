//! The hosts and devices of a run: how each is started, and where its records are.
//!
//! Invariant: a device that was killed is another device when it starts again: it has another name and another record.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};

use super::node::{Generations, NodePlan, Part};
use super::record::{self, Record};
use crate::party::Party;

/// How many of each there are.
#[derive(Clone, Copy, Debug)]
pub struct CrewShape {
    pub hosts: u32,
    pub devices: u32,
}

#[derive(Debug)]
pub struct Crew {
    folder: PathBuf,
    pub shape: CrewShape,
    token: String,
    seed: u64,
    generations: Generations,
    /// Where each reaches the gateways.
    pub gates: BTreeMap<Party, SocketAddr>,
    /// The names of hosts, to which objects are moved.
    hosts: Vec<String>,
    /// How many devices have been started.
    lives: u32,
    /// The record of each device that was started, in the order of their lives.
    records: Vec<PathBuf>,
}

/// The number of devices that move objects.
const MOVERS: u32 = 2;

impl Crew {
    /// # Errors
    /// When its folder cannot be made.
    pub fn new(
        folder: &Path,
        shape: CrewShape,
        token: String,
        seed: u64,
        generations: Generations,
    ) -> anyhow::Result<Crew> {
        let folder = folder.join("objects");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let (hosts, records, gates) = (Vec::new(), Vec::new(), BTreeMap::new());
        Ok(Crew { folder, shape, token, seed, generations, gates, hosts, lives: 0, records })
    }

    pub fn parties(&self) -> impl Iterator<Item = Party> + use<> {
        let CrewShape { hosts, devices } = self.shape;
        (0..hosts).map(Party::Host).chain((0..devices).map(Party::Device))
    }

    /// All generations begin to be used now.
    pub fn begin(&mut self, at: u64) {
        self.generations.begun = at;
    }

    /// Starts a host or a device by a command that becomes the program.
    ///
    /// # Errors
    /// About files and processes.
    pub fn start(&mut self, party: Party, mut command: Command) -> anyhow::Result<Child> {
        let (name, part) = match party {
            Party::Node(role) => bail!("{role} is a node of the cluster"),
            Party::Host(number) => (party.to_string(), Part::Host { number, hosts: self.shape.hosts }),
            Party::Device(number) => {
                let moves_to = if number < MOVERS { self.hosts.clone() } else { Vec::new() };
                let part = Part::Device { life: self.lives, seed: self.seed, moves_to };
                let name = format!("device-{number}-life-{}", self.lives);
                self.lives += 1;
                self.records.push(self.record(&name));
                (name, part)
            }
        };
        let plan = NodePlan {
            url: format!("ws://{}/sync", self.gates.get(&party).context("it has a gate")?),
            token: self.token.clone(),
            part,
            generations: self.generations,
            record: self.record(&name),
        };
        let file = self.folder.join(format!("{name}.json"));
        std::fs::write(&file, serde_json::to_string(&plan).expect("texts and numbers"))?;
        let log = File::options().create(true).append(true).open(self.log(party))?;
        command.args(["torture", "--objects-node"]).arg(file);
        // Its input ends when it is asked to end.
        command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
        command.spawn().with_context(|| format!("cannot start {party}"))
    }

    fn record(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.jsonl"))
    }

    fn log(&self, party: Party) -> PathBuf {
        self.folder.join(format!("{party}.log"))
    }

    /// The end of its log.
    pub fn last_words(&self, party: Party) -> String {
        let text = std::fs::read_to_string(self.log(party)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Whether all hosts have their objects. Devices that start from then on know the hosts.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn hosts_are_ready(&mut self) -> anyhow::Result<bool> {
        let mut hosts = Vec::new();
        for number in 0..self.shape.hosts {
            let file = self.record(&Party::Host(number).to_string());
            let said = if file.exists() { record::read(&file)? } else { Vec::new() };
            hosts.extend(said.into_iter().filter_map(|record| match record {
                Record::Ready { node } => Some(node),
                Record::Begins { .. } | Record::Ends { .. } | Record::Moved { .. } | Record::Missing { .. } => None,
            }));
        }
        self.hosts = hosts;
        Ok(self.hosts.len() == self.shape.hosts as usize)
    }

    /// The records of each device's process, by its life.
    ///
    /// # Errors
    /// When one cannot be read. One that was killed before it wrote has none.
    pub fn told(&self) -> anyhow::Result<Vec<Vec<Record>>> {
        let read = |file: &PathBuf| if file.exists() { record::read(file) } else { Ok(Vec::new()) };
        self.records.iter().map(read).collect()
    }

    /// The calls that a device waits for, for people.
    pub fn waits_for(&self, party: Party) -> String {
        let Party::Device(number) = party else { return format!("{party} waits for nothing") };
        let of_device = |file: &&PathBuf| {
            let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.starts_with(&format!("device-{number}-life-"))
        };
        let last = self.records.iter().rfind(of_device).map(|file| record::read(file));
        let Some(Ok(records)) = last else { return format!("{party} has not begun") };
        let mut open = BTreeMap::new();
        for record in &records {
            match record {
                Record::Begins { call, place, .. } => drop(open.insert(*call, place.to_string())),
                Record::Ends { call, .. } => drop(open.remove(call)),
                Record::Ready { .. } | Record::Moved { .. } | Record::Missing { .. } => {}
            }
        }
        format!("{party} waits for {}", open.into_values().collect::<Vec<_>>().join(", "))
    }
}
