//! What a run reports: a record a system, and one table of all. The keys of the JSON are stable: scripts depend on them.

mod table;

use serde::Serialize;

use super::durable::{Enough, Verdict};
use super::ledger::NodeCost;
use super::measure::{Course, Measured};
use crate::intervals::Interval;
use crate::latency::Percentiles;
use crate::report::SyncTime;

pub use table::Table;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub system: &'static str,
    pub version: String,
    pub isolation: &'static str,
    pub workload: String,
    pub seconds: f64,
    pub throughput_per_s: f64,
    /// Of each tenth of the run, the first one first.
    pub by_interval: Vec<Interval>,
    /// From the beginning of a transaction to its commit, with all attempts.
    pub latency_ms: Percentiles,
    /// From the call of the commit that succeeded to its outcome.
    pub commit_latency_ms: Percentiles,
    /// The same of transactions that write: those that only read may commit without a message.
    pub write_commit_latency_ms: Percentiles,
    pub committed: u64,
    pub aborts: u64,
    pub retries: u64,
    /// Of Iolite: proposals made again with another timestamp, and votes of shards that took a second round trip.
    pub proposed_again_per_op: Option<f64>,
    pub slow_paths_per_op: Option<f64>,
    pub unknown: u64,
    pub lost_updates: u64,
    pub violations: u64,
    pub bytes_up_per_op: f64,
    pub bytes_down_per_op: f64,
    pub durability: String,
    /// The setting behind the class.
    pub durability_setting: &'static str,
    /// `counted`, `not counted: why`, `missing` (too few syncs were counted) or `not promised`.
    pub durability_verified: String,
    /// The counts of each node, by the transaction that wrote.
    pub syncs_per_write: Option<Vec<NodeSyncs>>,
    /// The disk's own.
    pub fsync_ms: SyncTime,
    pub nodes: Vec<NodeCost>,
    pub busiest_node: Option<BusiestNode>,
    /// The client's, which is one process for all clients, with the links' delay.
    pub client_cpu_us_per_op: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct NodeSyncs {
    pub name: String,
    pub syncs: f64,
}

/// The node that uses the processor most.
#[derive(Clone, Debug, Serialize)]
pub struct BusiestNode {
    pub name: String,
    pub cpu_us_per_op: f64,
    pub messages_per_op: f64,
    /// Transactions a second when it has one core.
    pub projected_peak_per_s: f64,
}

impl Report {
    pub fn of(course: &Course, measured: Measured, sync_ms: Option<f64>) -> Report {
        let Measured { about, tally, seconds, costs, verdict, findings } = measured;
        let counts = tally.counts;
        Report {
            system: about.name,
            version: about.version,
            isolation: about.isolation,
            workload: course.workload.name(),
            seconds: seconds.as_secs_f64(),
            throughput_per_s: counts.committed as f64 / seconds.as_secs_f64(),
            by_interval: tally.intervals.counts().report(course.seconds.as_secs_f64()),
            latency_ms: tally.latency.percentiles(),
            commit_latency_ms: tally.commit_latency.percentiles(),
            write_commit_latency_ms: tally.write_commit_latency.percentiles(),
            committed: counts.committed,
            aborts: counts.aborts,
            retries: counts.retries,
            proposed_again_per_op: costs.proposed_again_per_op,
            slow_paths_per_op: costs.slow_paths_per_op,
            unknown: counts.unknown,
            lost_updates: findings.lost_updates,
            violations: findings.violations,
            bytes_up_per_op: costs.bytes_up_per_op,
            bytes_down_per_op: costs.bytes_down_per_op,
            durability: course.setup.durability.name(),
            durability_setting: about.setting,
            durability_verified: verified(&verdict),
            syncs_per_write: syncs_per_write(&verdict),
            fsync_ms: sync_ms.into(),
            busiest_node: costs.busiest().map(BusiestNode::of),
            nodes: costs.nodes,
            client_cpu_us_per_op: costs.client_cpu_us_per_op,
        }
    }

    /// Nothing lost or violated, syncs where they are promised, something committed, and at most one in a hundred unknown.
    pub fn is_good(&self) -> bool {
        let known = self.unknown.saturating_mul(100) <= self.committed + self.unknown;
        let durable = self.durability_verified != MISSING;
        self.lost_updates == 0 && self.violations == 0 && self.committed > 0 && known && durable
    }
}

const MISSING: &str = "missing";

fn verified(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Counted { enough: Enough::Yes, .. } => "counted".to_owned(),
        Verdict::Counted { enough: Enough::No, .. } => MISSING.to_owned(),
        Verdict::NotPromised => "not promised".to_owned(),
        Verdict::NotCounted { why } => format!("not counted: {why}"),
    }
}

fn syncs_per_write(verdict: &Verdict) -> Option<Vec<NodeSyncs>> {
    match verdict {
        Verdict::Counted { syncs, .. } => {
            Some(syncs.per_write().into_iter().map(|(name, syncs)| NodeSyncs { name, syncs }).collect())
        }
        Verdict::NotPromised | Verdict::NotCounted { .. } => None,
    }
}

impl BusiestNode {
    fn of(node: &NodeCost) -> BusiestNode {
        BusiestNode {
            name: node.name.clone(),
            cpu_us_per_op: node.cpu_us_per_op,
            messages_per_op: node.messages_per_op(),
            projected_peak_per_s: node.projected_peak_per_s(),
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn report() -> Report {
        Report {
            system: "memory",
            version: "1".into(),
            isolation: "strict",
            workload: "ycsb-t".into(),
            seconds: 1.0,
            throughput_per_s: 100.0,
            by_interval: Vec::new(),
            latency_ms: Percentiles::default(),
            commit_latency_ms: Percentiles::default(),
            write_commit_latency_ms: Percentiles::default(),
            committed: 100,
            aborts: 0,
            retries: 0,
            proposed_again_per_op: None,
            slow_paths_per_op: None,
            unknown: 0,
            lost_updates: 0,
            violations: 0,
            bytes_up_per_op: 1.0,
            bytes_down_per_op: 1.0,
            durability: "fsync".into(),
            durability_setting: "all",
            durability_verified: "counted".into(),
            syncs_per_write: Some(vec![NodeSyncs { name: "a".into(), syncs: 1.0 }]),
            fsync_ms: Some(1.0).into(),
            nodes: Vec::new(),
            busiest_node: None,
            client_cpu_us_per_op: 1.0,
        }
    }

    #[test]
    fn a_run_is_bad_when_anything_was_lost_violated_left_open_or_not_synced() {
        assert!(report().is_good());
        assert!(Report { unknown: 1, ..report() }.is_good());
        assert!(Report { durability_verified: "not counted: no strace".into(), ..report() }.is_good());
        for bad in [
            Report { lost_updates: 1, ..report() },
            Report { violations: 1, ..report() },
            Report { committed: 0, ..report() },
            Report { unknown: 2, ..report() },
            Report { durability_verified: MISSING.into(), ..report() },
        ] {
            assert!(!bad.is_good(), "{bad:?}");
        }
    }

    #[test]
    fn every_key_of_other_workloads_is_there() {
        let value = serde_json::to_value(report()).expect("plain data");
        for key in crate::report::KEYS {
            assert!(value.get(key).is_some(), "{key}");
        }
    }
}
