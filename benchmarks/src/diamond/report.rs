//! What a run of the Twitter clone reports of one system.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::person::{KindTally, Tally};
use crate::accounting::Pid;
use crate::arguments::Arguments;
use crate::beside::{Line, Record};
use crate::latency::{Latencies, LatencyCounts};
use crate::probe;
use crate::report::Report;
use crate::verify::Findings;

pub struct Measured {
    pub system: String,
    pub version: String,
    pub durability_setting: String,
    pub tally: Tally,
    pub findings: Findings,
    pub cpu: Cpu,
}

/// Processor time, by who used it.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    pub stores: Duration,
    /// The gateway, or the HTTP server.
    pub front: Duration,
    pub clients: Duration,
}

/// Of this workload alone.
pub const LINES: &[Line] = &[
    ("mean_latency_ms", "/mean_latency_ms"),
    ("open", "/open"),
    ("oldest_open_ms", "/oldest_open_ms"),
    ("get-timeline a second", "/transactions/get-timeline/throughput_per_s"),
    ("  latency_ms p50", "/transactions/get-timeline/latency_ms/p50"),
    ("post-tweet a second", "/transactions/post-tweet/throughput_per_s"),
    ("  latency_ms p50", "/transactions/post-tweet/latency_ms/p50"),
    ("  aborts", "/transactions/post-tweet/aborts"),
    ("follow a second", "/transactions/follow/throughput_per_s"),
    ("  aborts", "/transactions/follow/aborts"),
    ("add-user a second", "/transactions/add-user/throughput_per_s"),
    ("  aborts", "/transactions/add-user/aborts"),
    ("like a second", "/transactions/like/throughput_per_s"),
    ("  latency_ms p50", "/transactions/like/latency_ms/p50"),
    ("  aborts", "/transactions/like/aborts"),
    ("stores cpu_us_per_op", "/cpu_us_per_op/stores"),
    ("front cpu_us_per_op", "/cpu_us_per_op/front"),
    ("clients cpu_us_per_op", "/cpu_us_per_op/clients"),
];

impl Measured {
    pub fn record(self, arguments: &Arguments) -> anyhow::Result<Record> {
        let Measured { system, version, durability_setting, tally, findings, cpu } = self;
        let seconds = f64::from(arguments.seconds);
        let mut latencies = Latencies::default();
        tally.kinds.values().for_each(|kind| latencies.add(&kind.latency));
        let committed = tally.sum(|kind| kind.committed);
        let aborts = tally.sum(KindTally::aborts);
        let per_op = |count: f64| if committed == 0 { 0.0 } else { count / committed as f64 };
        let micros = |time: Duration| per_op(time.as_secs_f64() * 1e6);
        let report = Report {
            workload: "retwis-diamond".to_owned(),
            seconds,
            throughput_per_s: committed as f64 / seconds,
            by_interval: tally.intervals.report(seconds),
            latency_ms: latencies.percentiles(),
            commit_latency_ms: latencies.percentiles(),
            committed,
            aborts,
            retries: aborts,
            unknown: tally.sum(|kind| kind.unknown),
            lost_updates: findings.lost_updates,
            violations: findings.violations,
            bytes_up_per_op: per_op(tally.bytes_up as f64),
            bytes_down_per_op: per_op(tally.bytes_down as f64),
            durability: arguments.durability.name(),
            fsync_ms: probe::sync_ms(arguments.durability)?.into(),
        };
        let kinds = tally.kinds.iter().map(|(kind, tally)| (kind.name(), of_kind(tally, seconds)));
        let cpu = json!({"stores": micros(cpu.stores), "front": micros(cpu.front), "clients": micros(cpu.clients)});
        let open = tally.kinds.values().fold(LatencyCounts::default(), |all, kind| all.with(&kind.open));
        let more = Map::from_iter([
            ("mean_latency_ms".to_owned(), json!(mean_latency_ms(arguments.clients, committed, seconds))),
            ("open".to_owned(), json!(open.count())),
            ("oldest_open_ms".to_owned(), json!(open.longest_ms())),
            ("transactions".to_owned(), Value::Object(kinds.collect())),
            ("cpu_us_per_op".to_owned(), cpu),
        ]);
        Ok(Record { system, version, durability_setting, report, more })
    }
}

/// Every client has one transaction outstanding at each time, also one that never ends: so this is the mean of all, by Little's law. None if nothing
/// was committed.
fn mean_latency_ms(clients: u32, committed: u64, seconds: f64) -> Option<f64> {
    (committed > 0).then(|| f64::from(clients) * seconds * 1e3 / committed as f64)
}

fn of_kind(tally: &KindTally, seconds: f64) -> Value {
    let mut latencies = Latencies::default();
    latencies.add(&tally.latency);
    json!({
        "committed": tally.committed,
        "throughput_per_s": tally.committed as f64 / seconds,
        "aborts": tally.aborts(),
        "latency_ms": latencies.percentiles(),
        "open": tally.open.count(),
        "oldest_open_ms": tally.open.longest_ms(),
    })
}

impl Cpu {
    pub fn now(stores: &[Pid], front: Pid, clients: &[Pid]) -> Cpu {
        let of = |pids: &[Pid]| pids.iter().map(|pid| pid.tree_cpu()).sum();
        Cpu { stores: of(stores), front: front.tree_cpu(), clients: of(clients) }
    }

    pub fn since(&self, before: &Cpu) -> Cpu {
        Cpu {
            stores: self.stores.saturating_sub(before.stores),
            front: self.front.saturating_sub(before.front),
            clients: self.clients.saturating_sub(before.clients),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_wins_does_not_hide_those_who_wait() {
        assert_eq!(mean_latency_ms(64, 256, 10.0), Some(2500.0));
        assert_eq!(mean_latency_ms(64, 0, 10.0), None);
    }
}
