//! The report of a run: percentiles of puts and gets, what failed, and how busy what was.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::disk::DiskCounts;
use crate::engine::{Answer, Asked, Refusal};
use crate::plan::Plan;
use crate::quantity::{Span, nanos};
use crate::virtual_time::VirtualRun;
use crate::workload::Recorded;

/// Latencies in milliseconds, from when operations were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    pub count: u64,
    pub p50_ms: f64,
    pub p90_ms: f64,
    pub p99_ms: f64,
    pub longest_ms: f64,
}

/// How much of the run something was busy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Busy {
    pub what: String,
    pub share: f64,
    /// Shares of a disk's time: seeks, and waiting for the sector.
    pub seeking: f64,
    pub rotating: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub puts: Percentiles,
    pub gets: Percentiles,
    /// How often what went wrong.
    pub failures: BTreeMap<String, u64>,
    /// Operations that were answered before any counted.
    pub warm_up: u64,
    /// The busiest disk, processor and link; nothing of a real run but its disks.
    pub busiest: Vec<Busy>,
}

/// Latencies up to an hour, to three digits.
const NANOS_LONGEST: u64 = 3_600_000_000_000;

impl Report {
    /// The report of a history, after its warm-up.
    pub fn of(history: &[Recorded], warm_up: u64) -> Report {
        let counted = &history[history.len().min(warm_up as usize)..];
        let of = |asked| Percentiles::of(counted.iter().filter(move |one| one.asked == asked && is_answer(one)));
        let mut failures = BTreeMap::new();
        for failure in history.iter().filter_map(failure) {
            *failures.entry(failure.to_owned()).or_default() += 1;
        }
        let (puts, gets) = (of(Asked::Put), of(Asked::Get));
        Report { puts, gets, failures, warm_up: warm_up.min(history.len() as u64), busiest: Vec::new() }
    }

    /// The report of a virtual run, with what was busiest.
    pub fn of_virtual(plan: &Plan, run: &VirtualRun) -> Report {
        let whole = Span::from_nanos(run.end.as_nanos());
        let names: Vec<String> = plan.deployment.nodes().map(|node| plan.deployment.name(node)).collect();
        let mut busiest = Vec::new();
        busiest.extend(Report::busiest_disk(&names, &run.disks, whole));
        let workers = plan.hardware.workers as u32;
        for (what, spans, by) in [("processor", &run.processors, workers), ("link", &run.links, 1)] {
            let most = spans.iter().zip(&names).max_by_key(|(span, _)| **span);
            busiest.extend(most.map(|(span, name)| Busy {
                what: format!("{what} of {name}"),
                share: share(*span, whole * by),
                seeking: 0.0,
                rotating: 0.0,
            }));
        }
        Report { busiest, ..Report::of(&run.history, plan.workload.warm_up) }
    }

    /// The disk that was busy for longest in a run of `whole`.
    pub fn busiest_disk(names: &[String], disks: &[Vec<DiskCounts>], whole: Span) -> Option<Busy> {
        let all =
            disks.iter().zip(names).flat_map(|(disks, name)| disks.iter().enumerate().map(move |disk| (name, disk)));
        let (name, (number, counts)) = all.max_by_key(|(_, (_, counts))| counts.busy)?;
        Some(Busy {
            what: format!("disk {number} of {name}"),
            share: share(counts.busy, whole),
            seeking: share(counts.seeking, counts.busy),
            rotating: share(counts.rotating, counts.busy),
        })
    }
}

impl Percentiles {
    fn of<'a>(operations: impl Iterator<Item = &'a Recorded>) -> Percentiles {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, NANOS_LONGEST, 3).expect("these bounds are valid");
        operations.for_each(|one| histogram.saturating_record(nanos(one.end.since(one.due)).max(1)));
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e6;
        Percentiles {
            count: histogram.len(),
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            longest_ms: if histogram.is_empty() { 0.0 } else { histogram.max() as f64 / 1e6 },
        }
    }
}

fn share(part: Span, whole: Span) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

fn is_answer(one: &Recorded) -> bool {
    match one.answer {
        Answer::Stored | Answer::Found | Answer::Missing => true,
        Answer::Refused(_) => false,
    }
}

fn failure(one: &Recorded) -> Option<&'static str> {
    match one.answer {
        Answer::Stored | Answer::Found => None,
        Answer::Missing => Some("there is no such object"),
        Answer::Refused(Refusal::Full) => Some("the store is full"),
        Answer::Refused(Refusal::TimedOut) => Some("no answer in time"),
    }
}
