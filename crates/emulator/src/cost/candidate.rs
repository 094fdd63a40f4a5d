//! A design on a hardware as a candidate: what a size of it costs, and whether that size meets an SLO.
//!
//! Invariant: a size meets an SLO only if it keeps up with its clients in each seed. In a short run a store that falls behind can look fast.

use std::collections::BTreeMap;

use super::{Measured, Prices, Slo};
use crate::engine::Deployment;
use crate::file::Problem;
use crate::judge::{Verdict, judge};
use crate::plan::{Plan, PlanError, PlanFiles};
use crate::quantity::Span;
use crate::report::{Busy, Report};
use crate::virtual_time::{Roughness, run};

/// The size of a deployment: nodes of each role that has disks, and disks of each such node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub servers: u32,
    pub disks: u32,
}

/// All that a deployment pays for, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    pub servers: u32,
    pub diskless: u32,
    pub disks: u32,
}

/// A size that was run, by the worst of its seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub size: Size,
    pub parts: Parts,
    pub cost: f64,
    pub measured: Vec<Measured>,
    /// Whether the store answered what came about as fast as it came.
    pub keeps_up: bool,
    pub busiest: Option<Busy>,
    /// Why it did not start or is wrong, where that is so.
    pub stopped: Option<String>,
}

#[derive(Debug)]
pub struct Candidate {
    files: PlanFiles,
    pub design: String,
    pub promise: &'static str,
    pub hardware: String,
    /// The roles whose nodes have disks; all, if no role has any.
    scaled: Vec<String>,
    /// The other nodes.
    others: u32,
    pub has_disks: bool,
    server: f64,
    diskless: f64,
    disk: f64,
}

/// A store keeps up if its last answer comes so soon after the last operation began: this share of the run, and half a second.
const LAST_ANSWER: (f64, Span) = (0.03, Span::from_millis(500));

impl Candidate {
    /// # Errors
    /// What is wrong with the files, or a price that is missing.
    pub fn new(files: &PlanFiles, prices: &Prices) -> Result<Candidate, PlanError> {
        let plan = Plan::read(files)?;
        let with_disks = plan.design.roles_with_disks().map_err(told)?;
        let counts = plan.counts();
        let has_disks = !with_disks.is_empty();
        let scaled: Vec<String> = match has_disks {
            true => with_disks,
            false => counts.keys().cloned().collect(),
        };
        Ok(Candidate {
            files: files.clone(),
            promise: plan.design.promise.name(),
            others: counts.iter().filter(|(role, _)| !scaled.contains(role)).map(|(_, count)| count).sum(),
            scaled,
            has_disks,
            server: prices.server,
            diskless: prices.diskless_server,
            disk: prices.disk(&plan.hardware.name).map_err(told)?,
            design: plan.design.name,
            hardware: plan.hardware.name,
        })
    }

    pub fn parts(&self, size: Size) -> Parts {
        let scaled = size.servers * self.scaled.len() as u32;
        match self.has_disks {
            true => Parts { servers: scaled, diskless: self.others, disks: scaled * size.disks },
            false => Parts { diskless: scaled + self.others, ..Parts::default() },
        }
    }

    pub fn cost(&self, size: Size) -> f64 {
        let Parts { servers, diskless, disks } = self.parts(size);
        f64::from(servers) * self.server + f64::from(diskless) * self.diskless + f64::from(disks) * self.disk
    }

    /// The files of a run of this size.
    pub fn files(&self, size: Size, seed: u64) -> PlanFiles {
        let scaled = self.scaled.iter().map(|role| (role.clone(), size.servers));
        let roles: BTreeMap<String, u32> = self.files.roles.clone().into_iter().chain(scaled).collect();
        PlanFiles { roles, disks: Some(size.disks), seed, ..self.files.clone() }
    }

    /// The most nodes of each role with disks that so many servers are enough for.
    pub fn servers_within(&self, servers: u32) -> u32 {
        servers.saturating_sub(self.others) / self.scaled.len().max(1) as u32
    }

    /// Runs a size from each seed, up to the first that does not meet the SLO.
    pub fn run(&self, size: Size, slo: &Slo, seeds: &[u64]) -> Trial {
        let mut worst: Option<Trial> = None;
        for seed in seeds {
            let trial = self.run_once(size, slo, *seed);
            let is_worse = worst.as_ref().is_none_or(|worst| trial.closeness() < worst.closeness());
            let meets = trial.meets();
            if is_worse {
                worst = Some(trial);
            }
            if !meets {
                break;
            }
        }
        worst.expect("a search has a seed")
    }

    fn run_once(&self, size: Size, slo: &Slo, seed: u64) -> Trial {
        let (parts, cost) = (self.parts(size), self.cost(size));
        let (measured, busiest) = (Vec::new(), None);
        let empty = Trial { size, parts, cost, measured, keeps_up: false, busiest, stopped: None };
        let ran = Plan::read(&self.files(size, seed))
            .and_then(|plan| run(&plan, &Roughness::default()).map(|ran| (plan, ran)));
        let (plan, ran) = match ran {
            Ok(ran) => ran,
            Err(error) => return Trial { stopped: Some(error.to_string()), ..empty },
        };
        let report = Report::of_virtual(&plan, &ran);
        let busiest = report.busiest.into_iter().max_by(|one, other| one.share.total_cmp(&other.share));
        let duration = plan.workload.duration;
        let last = duration + duration.mul_f64(LAST_ANSWER.0) + LAST_ANSWER.1;
        let mut trial = Trial {
            measured: slo.measure(&ran.history, plan.workload.warm_up),
            keeps_up: Span::from_nanos(ran.end.as_nanos()) <= last,
            busiest,
            ..empty
        };
        if trial.meets()
            && let Verdict::Broken { key, what } = judge(plan.design.promise, &ran.history, |key| plan.before(key))
        {
            trial.stopped = Some(format!("the judge finds it not {}, at object {}: {what}", self.promise, key.0));
        }
        trial
    }
}

fn told(problem: Problem) -> PlanError {
    PlanError::Files(vec![problem])
}

impl Trial {
    pub fn meets(&self) -> bool {
        self.stopped.is_none() && self.keeps_up && self.measured.iter().all(Measured::is_met)
    }

    /// The least ratio of a bound over what was measured.
    pub fn ratio(&self) -> f64 {
        self.measured.iter().map(Measured::ratio).fold(f64::INFINITY, f64::min)
    }

    /// Larger is closer to the SLO: a store that starts, then one that keeps up, then by the ratio.
    pub fn closeness(&self) -> (bool, bool, f64) {
        (self.stopped.is_none(), self.keeps_up, self.ratio())
    }

    /// The part that limits it, as people read it.
    pub fn limit(&self) -> String {
        if let Some(stopped) = &self.stopped {
            return stopped.clone();
        }
        let Some(Busy { what, share, seeking, rotating }) = &self.busiest else { return "nothing was busy".to_owned() };
        let disk = match *seeking + *rotating > 0.0 {
            true => format!(" ({:.0} % of it seeks, {:.0} % rotation)", seeking * 100.0, rotating * 100.0),
            false => String::new(),
        };
        let behind = if self.keeps_up { "" } else { "; it falls behind its clients" };
        format!("{what} {:.0} % busy{disk}{behind}", share * 100.0)
    }
}

impl Plan {
    /// How many nodes of each role there are, but for the client.
    pub fn counts(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for node in self.deployment.nodes().filter(|node| *node != Deployment::CLIENT) {
            *counts.entry(self.deployment.place(node).role.clone()).or_default() += 1;
        }
        counts
    }
}
