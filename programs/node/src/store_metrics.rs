//! What `/metrics` tells of a replica.

use iolite_host::{Metric, Metrics};
use iolite_replication::{Figures, Votes};

pub(crate) struct StoreMetrics {
    epoch: Metric,
    view: Metric,
    takes_part: Metric,
    fetches: Metric,
    complete: Metric,
    undecided: Metric,
    recorded: Metric,
    needed: Metric,
    clients: Metric,
    completions: Metric,
    journaled: Metric,
    votes: [Metric; 6],
    absurd: Metric,
}

impl StoreMetrics {
    pub fn new(metrics: &Metrics) -> StoreMetrics {
        StoreMetrics {
            epoch: metrics.gauge("iolite_replica_epoch", "The configuration of the group that the replica is in."),
            view: metrics.gauge("iolite_replica_view", "The view of that configuration."),
            takes_part: metrics.gauge("iolite_replica_takes_part", "1 in a view, 0 on the way to one."),
            fetches: metrics.gauge("iolite_replica_fetches", "1 while it fetches what other replicas have."),
            // A time, and not how long ago that is, which would stand still while nothing happens.
            complete: metrics.gauge(
                "iolite_replica_complete_until_milliseconds",
                "Since 1970: it has everything that committed until then.",
            ),
            undecided: metrics
                .gauge("iolite_replica_undecided", "Proposals that it voted for and that have no outcome yet."),
            recorded: metrics.gauge("iolite_replica_recorded", "Proposals whose votes it has to remember."),
            needed: metrics.gauge(
                "iolite_replica_needed",
                "0 when its shard has ended and all replicas of its parts have begun without it, else 1.",
            ),
            clients: metrics
                .gauge("iolite_replica_clients", "Clients that ever came to its shard: each leaves a counter."),
            completions: metrics
                .gauge("iolite_replica_completions", "Outcomes that are kept until their clients acknowledge them."),
            journaled: metrics.counter(
                "iolite_replica_journaled_bytes_total",
                "Bytes of records for the journal, without checkpoints.",
            ),
            votes: ["ok", "busy", "conflict", "retry", "completed", "refused"].map(|vote| {
                let help = "Votes on proposals: OK, or No, for this reason.";
                metrics.counter_of("iolite_replica_votes_total", help, &[("vote", vote)])
            }),
            absurd: metrics.counter("iolite_replica_absurd_total", "Messages that made no sense and did nothing."),
        }
    }

    pub fn set(&self, figures: Figures) {
        let Figures { view, is_normal, is_fetching, complete, undecided, recorded, is_needed, .. } = figures;
        let Figures { clients, completions, journaled, votes, absurd, .. } = figures;
        let Votes { ok, busy, conflict, retry, completed, refused } = votes;
        self.epoch.set(view.epoch.0.into());
        self.view.set(view.number.into());
        self.takes_part.set(is_normal.into());
        self.fetches.set(is_fetching.into());
        self.complete.set(complete.micros() / 1000);
        self.undecided.set(undecided as u64);
        self.recorded.set(recorded as u64);
        self.needed.set(is_needed.into());
        self.clients.set(clients as u64);
        self.completions.set(completions as u64);
        self.journaled.set(journaled);
        for (metric, count) in self.votes.iter().zip([ok, busy, conflict, retry, completed, refused]) {
            metric.set(count);
        }
        self.absurd.set(absurd);
    }
}
