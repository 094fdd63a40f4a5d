//! What `/metrics` tells of a gateway and its coordinator.

use iolite_host::{Histogram, Metric, Metrics};
use iolite_replication::{LATENCY_BOUNDS, Tally};

use crate::Front;

pub(crate) struct GatewayMetrics {
    commits: Histogram,
    completed: Metric,
    conflicts: Metric,
    refused: Metric,
    in_doubt: Metric,
    proposed_again: Metric,
    slow_paths: Metric,
    taken_over: Metric,
    open: Metric,
    lead: Metric,
    log_differences: Metric,
    tracking_requests: Metric,
    tracking_commits: Metric,
}

impl GatewayMetrics {
    pub fn new(metrics: &Metrics) -> GatewayMetrics {
        let ended = |outcome: &str| {
            let help = "Transactions that have their outcome, have to run again, or make no sense.";
            metrics.counter_of("iolite_gateway_transactions_total", help, &[("outcome", outcome)])
        };
        GatewayMetrics {
            commits: metrics.histogram(
                "iolite_gateway_commit_seconds",
                "From a transaction's request to its outcome.",
                &LATENCY_BOUNDS,
            ),
            completed: ended("completed"),
            conflicts: ended("conflict"),
            refused: ended("refused"),
            in_doubt: metrics
                .counter("iolite_gateway_in_doubt_total", "Requests whose time was up before the outcome was known."),
            proposed_again: metrics
                .counter("iolite_gateway_proposed_again_total", "Proposals that were voted down and made again."),
            slow_paths: metrics
                .counter("iolite_gateway_slow_paths_total", "Votes of shards that took a second round trip."),
            taken_over: metrics.counter(
                "iolite_gateway_taken_over_total",
                "Proposals that were taken over, for they stayed undecided.",
            ),
            open: metrics.gauge("iolite_gateway_requests_open", "Requests that are not answered yet."),
            lead: metrics.gauge(
                "iolite_gateway_lead_milliseconds",
                "How far its last proposal was ahead of its own clock, because others are.",
            ),
            log_differences: metrics.counter(
                "iolite_gateway_log_differences_total",
                "How often members of a log had different states after the same entries.",
            ),
            tracking_requests: metrics.counter(
                "iolite_object_tracking_requests_total",
                "Requests of tracking to the store, with those by which leases are renewed.",
            ),
            tracking_commits: metrics
                .counter("iolite_object_tracking_commits_total", "The commits among the requests of tracking."),
        }
    }

    pub fn set(&self, front: &Front) {
        let coordinator = front.coordinator();
        let Tally { completed, conflicts, refused, in_doubt, proposed_again, slow_paths, taken_over, latencies } =
            coordinator.tally();
        self.commits.set(&latencies.counts, latencies.sum);
        self.completed.set(completed);
        self.conflicts.set(conflicts);
        self.refused.set(refused);
        self.in_doubt.set(in_doubt);
        self.proposed_again.set(proposed_again);
        self.slow_paths.set(slow_paths);
        self.taken_over.set(taken_over);
        self.open.set(coordinator.open_requests() as u64);
        self.lead.set(coordinator.lead().as_millis() as u64);
        self.log_differences.set(front.log_differences());
        self.tracking_requests.set(front.tracked().requests);
        self.tracking_commits.set(front.tracked().commits);
    }
}
