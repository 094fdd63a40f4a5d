//! What came of a run.

use std::collections::BTreeMap;
use std::fmt;

use iolite_histories::Report;
use serde_json::json;

use crate::evidence::Kept;
use crate::faults::FaultKind;

#[derive(Debug)]
pub struct TortureReport {
    pub cluster: String,
    pub seconds: u64,
    pub seed: u64,
    pub faults: BTreeMap<FaultKind, u64>,
    /// What went wrong before anything was judged: nodes that ended by themselves, clients without an answer.
    pub problems: Vec<String>,
    /// `None`: the last state could not be read.
    pub kept: Option<Kept>,
    /// From the end of the faults until every client had an answer, in milliseconds. `None`: not every client has one.
    pub settled_after_ms: Option<u64>,
    pub judgement: Report,
}

impl TortureReport {
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty() && self.kept == Some(Kept::default()) && self.judgement.is_clean()
    }

    /// One line for programs.
    pub fn to_json(&self) -> serde_json::Value {
        let faults: BTreeMap<&str, u64> = self.faults.iter().map(|(kind, count)| (kind.name(), *count)).collect();
        json!({
            "cluster": self.cluster,
            "seconds": self.seconds,
            "seed": self.seed,
            "faults": faults,
            "problems": self.problems,
            "acknowledged_lost": self.kept.map(|kept| kept.acknowledged_lost),
            "aborted_there": self.kept.map(|kept| kept.aborted_there),
            "settled_after_ms": self.settled_after_ms,
            "is_clean": self.is_clean(),
            "judgement": self.judgement.to_json(),
        })
    }
}

impl fmt::Display for TortureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<String> = self.faults.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        writeln!(f, "cluster {}, {} s, seed {}: {}", self.cluster, self.seconds, self.seed, faults.join(", "))?;
        match self.settled_after_ms {
            Some(after) => writeln!(f, "every client had an answer {after} ms after the faults")?,
            None => writeln!(f, "not every client had an answer after the faults")?,
        }
        for problem in &self.problems {
            writeln!(f, "{problem}")?;
        }
        match self.kept {
            Some(Kept { acknowledged_lost: lost, aborted_there: there }) => {
                writeln!(f, "{lost} acknowledged transactions lost, {there} refused ones found")?;
            }
            None => writeln!(f, "what was lost is not known: the last state was not read")?,
        }
        write!(f, "{}", self.judgement)?;
        write!(f, "{}", if self.is_clean() { "clean" } else { "NOT CLEAN" })
    }
}
