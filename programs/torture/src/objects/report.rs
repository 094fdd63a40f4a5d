//! The report of a run with objects.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::json;

use super::calls::Moves;
use super::verdict::{Judged, Tally};
use crate::faults::FaultKind;
use crate::report::{Answers, Verdict};

#[derive(Debug)]
pub struct ObjectsReport {
    pub(super) seconds: u64,
    pub(super) seed: u64,
    /// Processes that there were at a time, for people.
    pub(super) shape: String,
    pub(super) faults: BTreeMap<FaultKind, u64>,
    /// Processes of devices: those that started again are others.
    pub(super) processes: usize,
    /// Problems from before anything was judged.
    pub(super) problems: Vec<String>,
    pub(super) answers: Answers,
    pub(super) moves: Moves,
    pub(super) judged: Judged,
}

impl ObjectsReport {
    pub fn verdict(&self) -> Verdict {
        let Ok(judgement) = &self.judged.judgement else { return Verdict::NotClean };
        let is_clean = self.problems.is_empty() && self.judged.findings.counts.is_empty() && judgement.is_clean();
        match (is_clean, judgement.is_whole()) {
            (true, true) => Verdict::Clean,
            (true, false) => Verdict::NotJudged,
            (false, _) => Verdict::NotClean,
        }
    }

    /// One object, for programs.
    pub fn to_json(&self) -> serde_json::Value {
        let faults: BTreeMap<&str, u64> = self.faults.iter().map(|(kind, count)| (kind.name(), *count)).collect();
        let findings: BTreeMap<&str, u64> =
            self.judged.findings.counts.iter().map(|(wrong, count)| (wrong.name(), *count)).collect();
        let kinds: BTreeMap<&str, serde_json::Value> =
            self.judged.tallies.iter().map(|(kind, tally)| (kind.manager(), tally.to_json())).collect();
        json!({
            "shape": self.shape,
            "seconds": self.seconds,
            "seed": self.seed,
            "faults": faults,
            "device_processes": self.processes,
            "problems": self.problems,
            "settled_after_ms": self.answers.after_ms(),
            "moves": self.moves.made,
            "moves_failed": self.moves.failed,
            "kinds": kinds,
            "findings": findings,
            "verdict": self.verdict().name(),
            "is_clean": self.verdict() == Verdict::Clean,
            "judgement": self.judged.judgement.as_ref().ok().map(iolite_histories::Report::to_json),
        })
    }
}

impl Tally {
    fn to_json(self) -> serde_json::Value {
        json!({
            "appended": self.appended,
            "read": self.read,
            "not_run": self.not_run,
            "unknown": self.unknown,
            "unknown_there": self.unknown_there,
            "again": self.again,
        })
    }
}

impl fmt::Display for ObjectsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<String> = self.faults.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        writeln!(f, "{}, {} s, seed {}: {}", self.shape, self.seconds, self.seed, faults.join(", "))?;
        writeln!(f, "{}; {} processes of devices", self.answers, self.processes)?;
        for problem in &self.problems {
            writeln!(f, "{problem}")?;
        }
        for (kind, tally) in &self.judged.tallies {
            let Tally { appended, read, not_run, unknown, unknown_there, again } = tally;
            write!(f, "{}: {appended} appended, {read} read, {not_run} did not run, ", kind.manager())?;
            writeln!(f, "{unknown} unknown ({unknown_there} there), {again} there again")?;
        }
        writeln!(f, "{} moves, {} that failed", self.moves.made, self.moves.failed)?;
        let findings: Vec<String> =
            self.judged.findings.counts.iter().map(|(wrong, count)| format!("{count} {wrong}")).collect();
        let findings = if findings.is_empty() { "nothing".to_owned() } else { findings.join(", ") };
        writeln!(f, "objects and WriteThroughCaching: {findings}")?;
        for explanation in &self.judged.findings.explained {
            writeln!(f, "{explanation}")?;
        }
        match &self.judged.judgement {
            Ok(judgement) => write!(f, "all other kinds: {judgement}")?,
            Err(error) => writeln!(f, "the history cannot be judged: {error}")?,
        }
        write!(f, "{}", self.verdict())
    }
}
