//! What a run reports. The keys of the JSON are stable: scripts depend on them.

use serde::Serialize;

use crate::intervals::Interval;
use crate::latency::Percentiles;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub workload: String,
    pub seconds: f64,
    pub throughput_per_s: f64,
    /// Of each tenth of the run, the first one first.
    pub by_interval: Vec<Interval>,
    /// Of the workload: for `propagate` from the call to the reader's run, for others the same as `commit_latency_ms`.
    pub latency_ms: Percentiles,
    /// From the call until the caller's confirmed view contains it, repeated attempts included.
    pub commit_latency_ms: Percentiles,
    pub committed: u64,
    /// Attempts that did not commit, whatever the reason.
    pub aborts: u64,
    /// Attempts that were made again after a conflict.
    pub retries: u64,
    pub unknown: u64,
    pub lost_updates: u64,
    pub violations: u64,
    pub bytes_up_per_op: f64,
    pub bytes_down_per_op: f64,
    pub durability: String,
    /// The disk's own; null in class memory, which never syncs.
    pub fsync_ms: SyncTime,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct SyncTime {
    pub p50: Option<f64>,
}

impl From<Option<f64>> for SyncTime {
    fn from(p50: Option<f64>) -> SyncTime {
        SyncTime { p50 }
    }
}

impl Report {
    /// Nothing lost or violated, something committed, and at most one in a hundred without a known end.
    pub fn is_good(&self) -> bool {
        let known = self.unknown.saturating_mul(100) <= self.committed + self.unknown;
        self.lost_updates == 0 && self.violations == 0 && self.committed > 0 && known
    }

    /// One line of JSON, or a line for each field but the tenths.
    pub fn text(&self, json: bool) -> anyhow::Result<String> {
        let value = serde_json::to_value(self)?;
        if json {
            return Ok(format!("{value}\n"));
        }
        // The tenths are for programs: ten lines of them would hide the rest.
        let fields = value.as_object().into_iter().flatten().filter(|(name, _)| *name != "by_interval");
        Ok(fields.map(|(name, value)| format!("{name:<20} {value}\n")).collect())
    }
}

/// The part of a report that scripts know, of every workload.
#[cfg(test)]
pub const KEYS: [&str; 16] = [
    "workload",
    "seconds",
    "throughput_per_s",
    "by_interval",
    "latency_ms",
    "commit_latency_ms",
    "committed",
    "aborts",
    "retries",
    "unknown",
    "lost_updates",
    "violations",
    "bytes_up_per_op",
    "bytes_down_per_op",
    "durability",
    "fsync_ms",
];

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::intervals::IntervalCounts;

    pub fn report() -> Report {
        Report {
            workload: "counter".into(),
            seconds: 1.0,
            throughput_per_s: 100.0,
            by_interval: IntervalCounts::default().report(1.0),
            latency_ms: Percentiles::default(),
            commit_latency_ms: Percentiles::default(),
            committed: 100,
            aborts: 0,
            retries: 0,
            unknown: 0,
            lost_updates: 0,
            violations: 0,
            bytes_up_per_op: 1.0,
            bytes_down_per_op: 1.0,
            durability: "fsync".into(),
            fsync_ms: Some(1.0).into(),
        }
    }

    #[test]
    fn a_run_is_bad_when_anything_was_lost_violated_or_left_open() {
        assert!(report().is_good());
        assert!(Report { unknown: 1, ..report() }.is_good());
        for bad in [
            Report { lost_updates: 1, ..report() },
            Report { violations: 1, ..report() },
            Report { committed: 0, ..report() },
            Report { unknown: 2, ..report() },
        ] {
            assert!(!bad.is_good(), "{bad:?}");
        }
    }

    #[test]
    fn the_keys_are_those_that_scripts_know() {
        let value = serde_json::to_value(report()).expect("plain data");
        let keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
        let mut known = KEYS.to_vec();
        known.sort_unstable();
        assert_eq!(keys, known);
    }
}
