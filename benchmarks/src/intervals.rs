//! The tenths of a run, which show whether a system gets slower while it runs.
//!
//! Invariant: an operation counts in the tenth in which it ended; one that ended after the run counts in none.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::latency::{Latencies, LatencyCounts, Percentiles};

const COUNT: usize = 10;

/// One recorder's tenths. Times mostly go forward, so only the current tenth has a histogram.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    ended: Vec<LatencyCounts>,
    current: Latencies,
}

/// The latencies of each tenth, as processes tell them to each other. A tenth that is missing had no operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalCounts(Vec<LatencyCounts>);

/// The report of one tenth of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub throughput_per_s: f64,
    pub latency_ms: Percentiles,
}

impl Intervals {
    /// Records an operation that ended `after` the begin of a run that lasts for `whole`.
    pub fn record(&mut self, after: Duration, whole: Duration, nanos: u64) {
        if after >= whole {
            return;
        }
        let place = usize::try_from(after.as_nanos() * COUNT as u128 / whole.as_nanos()).unwrap_or(COUNT - 1);
        while self.ended.len() < place {
            self.ended.push(std::mem::take(&mut self.current).counts());
        }
        match self.ended.get_mut(place) {
            Some(ended) => *ended = ended.with(&LatencyCounts::of_one(nanos)),
            None => self.current.record(nanos),
        }
    }

    pub fn counts(&self) -> IntervalCounts {
        IntervalCounts(self.ended.iter().cloned().chain([self.current.counts()]).collect())
    }
}

impl IntervalCounts {
    pub fn add(&mut self, other: &IntervalCounts) {
        let count = self.0.len().max(other.0.len());
        self.0.resize_with(count, LatencyCounts::default);
        for (own, more) in self.0.iter_mut().zip(&other.0) {
            *own = own.with(more);
        }
    }

    /// The tenths of a run of so many seconds.
    pub fn report(&self, seconds: f64) -> Vec<Interval> {
        let mut tenths = self.0.clone();
        tenths.resize_with(COUNT, LatencyCounts::default);
        let interval = |counts: &LatencyCounts| {
            let mut latencies = Latencies::default();
            latencies.add(counts);
            let per_s = if seconds > 0.0 { counts.count() as f64 * COUNT as f64 / seconds } else { 0.0 };
            Interval { throughput_per_s: per_s, latency_ms: latencies.percentiles() }
        };
        tenths.iter().map(interval).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn throughputs(counts: &IntervalCounts) -> Vec<f64> {
        counts.report(1.0).iter().map(|tenth| tenth.throughput_per_s).collect()
    }

    #[test]
    fn each_operation_counts_in_the_tenth_in_which_it_ended() {
        let mut intervals = Intervals::default();
        for after in [0, 99, 100, 450, 120, 999, 1000] {
            intervals.record(millis(after), millis(1000), after * 1_000_000 + 1);
        }
        let counts = intervals.counts();
        assert_eq!(throughputs(&counts), [20.0, 20.0, 0.0, 0.0, 10.0, 0.0, 0.0, 0.0, 0.0, 10.0]);
        let p99 = counts.report(1.0)[1].latency_ms.p99;
        assert!((p99 - 120.0).abs() < 0.2, "{p99}");
    }

    #[test]
    fn tenths_of_several_processes_are_added_even_if_one_of_them_ended_early() {
        let (mut one, mut other) = (Intervals::default(), Intervals::default());
        one.record(millis(10), millis(1000), 1);
        other.record(millis(10), millis(1000), 1);
        other.record(millis(910), millis(1000), 1);
        let mut all = IntervalCounts::default();
        all.add(&one.counts());
        all.add(&other.counts());
        assert_eq!(throughputs(&all), [20.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0]);
    }
}
