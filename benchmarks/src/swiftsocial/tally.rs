//! Times of transactions by kind, and what was wrong with what they read.

use std::collections::BTreeMap;
use std::time::Duration;

use super::plan::Kind;
use super::waiting::Waited;
use crate::latency::{Latencies, Percentiles};

/// One end of a transaction: its kind, and whether it waited for data.
type Case = (Kind, bool);

#[derive(Debug, Default)]
pub struct Tally {
    cases: BTreeMap<Case, Times>,
    /// Updates from the call until the app sees them, which is before they are durable.
    shown: Times,
    /// Pages on which a transaction was there in part.
    pub torn: u64,
    /// Pages that showed less than the same client had seen or written before.
    pub went_back: u64,
    /// Pages that were read.
    pub pages: u64,
}

#[derive(Debug, Default)]
struct Times {
    latencies: Latencies,
    count: u64,
    /// Transactions within 0.02 of the delay.
    fast: u64,
}

/// Sums of some cases.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub count: u64,
    pub fast: u64,
    pub misses: u64,
    pub latency_ms: Percentiles,
}

impl Tally {
    /// `fast` is the longest time that counts as such.
    pub fn record(&mut self, kind: Kind, waited: Waited, took: Duration, fast: Duration) {
        self.cases.entry((kind, waited == Waited::ForData)).or_default().record(took, fast);
    }

    /// The same of an update that the app sees now.
    pub fn record_shown(&mut self, took: Duration, fast: Duration) {
        self.shown.record(took, fast);
    }

    pub fn add(&mut self, other: &Tally) {
        for (case, more) in &other.cases {
            self.cases.entry(*case).or_default().add(more);
        }
        self.shown.add(&other.shown);
        self.torn += other.torn;
        self.went_back += other.went_back;
        self.pages += other.pages;
    }

    /// The figures of the cases of which a condition holds. It is told the kind, and whether data was waited for.
    pub fn figures(&self, of: impl Fn(Kind, bool) -> bool) -> Figures {
        let (mut sum, mut misses) = (Times::default(), 0);
        for ((_, missed), times) in self.cases.iter().filter(|((kind, missed), _)| of(*kind, *missed)) {
            sum.add(times);
            misses += if *missed { times.count } else { 0 };
        }
        Figures { misses, ..sum.figures() }
    }

    /// The figures of updates until the app sees them.
    pub fn shown(&self) -> Figures {
        self.shown.figures()
    }
}

impl Times {
    fn record(&mut self, took: Duration, fast: Duration) {
        self.latencies.record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        self.count += 1;
        self.fast += u64::from(took <= fast);
    }

    fn add(&mut self, other: &Times) {
        self.latencies.add(&other.latencies.counts());
        self.count += other.count;
        self.fast += other.fast;
    }

    fn figures(&self) -> Figures {
        let Times { latencies, count, fast } = self;
        Figures { count: *count, fast: *fast, misses: 0, latency_ms: latencies.percentiles() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_misses_and_fast_ones_are_counted_apart_and_together() {
        let millis = Duration::from_millis;
        let (mut tally, mut other) = (Tally::default(), Tally::default());
        for took in 1..=9 {
            tally.record(Kind::Page, Waited::Not, millis(took), millis(2));
        }
        other.record(Kind::Stranger, Waited::ForData, millis(100), millis(2));
        other.record(Kind::Post, Waited::Not, millis(2), millis(2));
        other.record_shown(millis(1), millis(2));
        tally.add(&other);
        let all = tally.figures(|_, _| true);
        assert_eq!((all.count, all.fast, all.misses), (11, 3, 1));
        assert!((all.latency_ms.p99 - 100.0).abs() < 0.2, "{:?}", all.latency_ms);
        let reads = tally.figures(|kind, _| !kind.writes());
        assert_eq!((reads.count, reads.fast, reads.misses), (10, 2, 1));
        let hits = tally.figures(|_, missed| !missed);
        assert_eq!((hits.count, hits.misses), (10, 0));
        assert_eq!((tally.shown().count, tally.shown().fast), (1, 1));
    }
}
