//! What came of a run.

use std::collections::BTreeMap;
use std::fmt;

use iolite_histories::Report;
use serde_json::json;

use crate::faults::FaultKind;

#[derive(Debug)]
pub struct TortureReport {
    pub cluster: String,
    pub seconds: u64,
    pub seed: u64,
    pub faults: BTreeMap<FaultKind, u64>,
    /// Transactions that were acknowledged, and left nothing of what they saw behind.
    pub acknowledged_lost: u64,
    /// Transactions that were refused, and left something behind.
    pub aborted_there: u64,
    /// From the end of the faults until every client had an answer, in milliseconds.
    pub settled_after_ms: u64,
    pub judgement: Report,
}

impl TortureReport {
    pub fn is_clean(&self) -> bool {
        self.acknowledged_lost == 0 && self.aborted_there == 0 && self.judgement.is_clean()
    }

    /// One line for programs.
    pub fn to_json(&self) -> serde_json::Value {
        let faults: BTreeMap<&str, u64> = self.faults.iter().map(|(kind, count)| (kind.name(), *count)).collect();
        json!({
            "cluster": self.cluster,
            "seconds": self.seconds,
            "seed": self.seed,
            "faults": faults,
            "acknowledged_lost": self.acknowledged_lost,
            "aborted_there": self.aborted_there,
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
        writeln!(f, "every client had an answer {} ms after the faults", self.settled_after_ms)?;
        writeln!(
            f,
            "{} acknowledged transactions lost, {} refused ones found",
            self.acknowledged_lost, self.aborted_there
        )?;
        write!(f, "{}", self.judgement)?;
        write!(f, "{}", if self.is_clean() { "clean" } else { "NOT CLEAN" })
    }
}
