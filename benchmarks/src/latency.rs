//! Latencies: recorded in nanoseconds, sent between processes as counts, reported in milliseconds.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// A histogram of three digits, from a nanosecond to an hour.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
}

/// Values and how often they came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyCounts(Vec<(u64, u64)>);

/// Percentiles in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
}

const NANOS_MAX: u64 = 3_600_000_000_000;

impl Default for Latencies {
    fn default() -> Latencies {
        let histogram = Histogram::new_with_bounds(1, NANOS_MAX, 3).expect("these bounds are valid");
        Latencies { histogram }
    }
}

impl LatencyCounts {
    pub fn of_one(nanos: u64) -> LatencyCounts {
        LatencyCounts(vec![(nanos, 1)])
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// These and others.
    pub fn with(&self, others: &LatencyCounts) -> LatencyCounts {
        let mut latencies = Latencies::default();
        latencies.add(self);
        latencies.add(others);
        latencies.counts()
    }

    /// The longest in milliseconds, if there is any.
    pub fn longest_ms(&self) -> Option<f64> {
        self.0.iter().map(|(nanos, _)| *nanos).max().map(|nanos| nanos as f64 / 1e6)
    }
}

impl Latencies {
    pub fn record(&mut self, nanos: u64) {
        self.histogram.saturating_record(nanos.max(1));
    }

    pub fn counts(&self) -> LatencyCounts {
        let values = self.histogram.iter_recorded();
        LatencyCounts(values.map(|value| (value.value_iterated_to(), value.count_at_value())).collect())
    }

    pub fn add(&mut self, counts: &LatencyCounts) {
        for (value, count) in &counts.0 {
            self.histogram.saturating_record_n(*value, *count);
        }
    }

    pub fn percentiles(&self) -> Percentiles {
        let at = |quantile| self.histogram.value_at_quantile(quantile) as f64 / 1e6;
        Percentiles { p50: at(0.5), p90: at(0.9), p99: at(0.99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_survive_the_way_between_processes() {
        let mut child = Latencies::default();
        (1..=100).for_each(|millis| child.record(millis * 1_000_000));
        let mut parent = Latencies::default();
        parent.add(&child.counts());
        let Percentiles { p50, p90, p99 } = parent.percentiles();
        assert!((p50 - 50.0).abs() < 0.1 && (p90 - 90.0).abs() < 0.1 && (p99 - 99.0).abs() < 0.1, "{p50} {p90} {p99}");
    }

    #[test]
    fn every_latency_in_json_has_the_three_percentiles_that_scripts_know() {
        let value = serde_json::to_value(Percentiles { p50: 1.0, p90: 2.0, p99: 3.0 }).expect("plain data");
        assert_eq!(value, serde_json::json!({"p50": 1.0, "p90": 2.0, "p99": 3.0}));
    }
}
