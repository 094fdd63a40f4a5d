//! What a coordinator has done, for whoever watches a gateway.

use std::time::Duration;

use iolite_store::{CommitReply, Reply};

/// Upper bounds of the classes of [`Latencies`].
pub const LATENCY_BOUNDS: [Duration; 13] = {
    let ms = Duration::from_millis;
    [ms(1), ms(2), ms(5), ms(10), ms(20), ms(50), ms(100), ms(200), ms(500), ms(1000), ms(2000), ms(5000), ms(10_000)]
};

/// Since the coordinator was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Transactions that have their outcome: those with writes, and aborts that clients asked for.
    pub completed: u64,
    /// Those that have to run again, for something that they read has changed.
    pub conflicts: u64,
    /// Those that make no sense, or were acknowledged before.
    pub refused: u64,
    /// Callers whose time was up before the outcome was known.
    pub in_doubt: u64,
    /// Proposals that were voted down and made again.
    pub proposed_again: u64,
    /// Votes of shards that took a second round trip: once for each transaction, shard and view.
    pub slow_paths: u64,
    /// Proposals that were taken over because they stayed undecided: its own, and those of others.
    pub taken_over: u64,
    /// From the request to its outcome, of those that have one.
    pub latencies: Latencies,
}

/// How many durations are in which class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Up to each of [`LATENCY_BOUNDS`] and above the one before; then those above all.
    pub counts: [u64; LATENCY_BOUNDS.len() + 1],
    pub sum: Duration,
}

impl Tally {
    pub(super) fn count_answer(&mut self, reply: &Reply, took: Duration) {
        match reply {
            Reply::Commit(CommitReply::Completed(_)) => {
                self.completed += 1;
                self.latencies.add(took);
            }
            Reply::Commit(CommitReply::Conflict { .. }) => self.conflicts += 1,
            _ => self.refused += 1,
        }
    }
}

impl Latencies {
    fn add(&mut self, took: Duration) {
        let class = LATENCY_BOUNDS.partition_point(|bound| *bound < took);
        self.counts[class] += 1;
        self.sum += took;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_class_of_the_next_bound() {
        let mut latencies = Latencies::default();
        for millis in [0, 1, 2, 3, 10_000, 10_001] {
            latencies.add(Duration::from_millis(millis));
        }
        let mut expected = [0; LATENCY_BOUNDS.len() + 1];
        (expected[0], expected[1], expected[2], expected[12], expected[13]) = (2, 1, 1, 1, 1);
        assert_eq!(latencies, Latencies { counts: expected, sum: Duration::from_millis(20_007) });
    }
}
