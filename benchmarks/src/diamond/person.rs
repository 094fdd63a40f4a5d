//! Whoever uses the Twitter clone, on any system: a closed loop with one transaction outstanding.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::plan::{Kind, Plan, Plans};
use crate::intervals::{IntervalCounts, Intervals};
use crate::latency::{Latencies, LatencyCounts};
use crate::verify::Findings;

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Committed,
    /// Its end was not known in time.
    Unknown,
}

pub trait Person {
    /// Runs a transaction to its end.
    async fn run(&mut self, plan: &Plan) -> anyhow::Result<Done>;
    /// Says, whenever it is called, how many attempts of transactions that write were made up to then.
    fn attempts(&self) -> impl Fn() -> u64 + 'static;
    /// Bytes to the server and from it, up to now.
    fn traffic(&self) -> (u64, u64);
}

/// What is counted at the end, over all users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub users: i64,
    pub posts: i64,
    pub likes: i64,
}

/// What people did: of each transaction, while it was measured and at all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    pub kinds: BTreeMap<Kind, KindTally>,
    pub bytes_up: u64,
    pub bytes_down: u64,
    pub intervals: IntervalCounts,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KindTally {
    /// Committed while it was measured.
    pub committed: u64,
    /// Made while it was measured, also of transactions that ended later.
    pub attempts: u64,
    /// Of those that were committed while it was measured.
    pub latency: LatencyCounts,
    /// How old those were that had not ended when it was over.
    pub open: LatencyCounts,
    /// At all, before and after too.
    pub committed_ever: u64,
    pub unknown: u64,
}

/// When a run is measured.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    pub seed: u64,
    pub warm_up: Duration,
    pub seconds: Duration,
}

/// Lets one person do one thing after the other.
pub async fn live<P: Person>(mut person: P, mut plans: Plans, course: Course) -> anyhow::Result<Tally> {
    let begin = Instant::now() + course.warm_up;
    let end = begin + course.seconds;
    let mut tally = Tally::default();
    let mut latencies: BTreeMap<Kind, Latencies> = BTreeMap::new();
    let mut intervals = Intervals::default();
    let mut traffic = None;
    let attempts = person.attempts();
    while Instant::now() < end {
        let plan = plans.next(course.seed);
        let called = Instant::now();
        if traffic.is_none() && Instant::now() >= begin {
            traffic = Some(person.traffic());
        }
        let (done, attempts) = between(begin, end, &attempts, person.run(&plan)).await;
        let (done, now) = (done?, Instant::now());
        let kind = tally.kinds.entry(plan.kind()).or_default();
        kind.attempts += attempts;
        match done {
            Done::Unknown => kind.unknown += 1,
            Done::Committed => {
                kind.committed_ever += 1;
                if (begin..end).contains(&now) {
                    kind.committed += 1;
                    latencies.entry(plan.kind()).or_default().record(nanos(now - called));
                    intervals.record(now - begin, course.seconds, nanos(now - called));
                }
            }
        }
        if now >= end {
            kind.open = LatencyCounts::of_one(nanos(end.saturating_duration_since(called)));
        }
    }
    let after = person.traffic();
    let before = traffic.unwrap_or(after);
    (tally.bytes_up, tally.bytes_down) = (after.0 - before.0, after.1 - before.1);
    tally.intervals = intervals.counts();
    for (kind, latencies) in latencies {
        tally.kinds.entry(kind).or_default().latency = latencies.counts();
    }
    Ok(tally)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What a future comes to, and how much was counted meanwhile, between two times: one that does not come to its end is counted too.
async fn between<T>(
    begin: Instant,
    end: Instant,
    count: &impl Fn() -> u64,
    future: impl Future<Output = T>,
) -> (T, u64) {
    tokio::pin!(future);
    let mut from = count();
    let mut last = None;
    if Instant::now() < begin {
        tokio::select! {
            biased;
            value = &mut future => return (value, 0),
            () = tokio::time::sleep_until(begin) => from = count(),
        }
    }
    let value = tokio::select! {
        biased;
        value = &mut future => value,
        () = tokio::time::sleep_until(end) => {
            last = Some(count());
            future.await
        }
    };
    (value, last.unwrap_or_else(count) - from)
}

impl KindTally {
    /// Attempts that did not commit.
    pub fn aborts(&self) -> u64 {
        self.attempts.saturating_sub(self.committed)
    }
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.bytes_up += other.bytes_up;
        self.bytes_down += other.bytes_down;
        self.intervals.add(&other.intervals);
        for (kind, more) in &other.kinds {
            let own = self.kinds.entry(*kind).or_default();
            own.committed += more.committed;
            own.attempts += more.attempts;
            own.committed_ever += more.committed_ever;
            own.unknown += more.unknown;
            own.latency = own.latency.with(&more.latency);
            own.open = own.open.with(&more.open);
        }
    }

    pub fn sum(&self, of: impl Fn(&KindTally) -> u64) -> u64 {
        self.kinds.values().map(of).sum()
    }

    /// Every committed transaction is in what was found, and nothing else is.
    pub fn check(&self, before: Totals, after: Totals) -> Findings {
        let counted = [
            (Kind::AddUser, before.users, after.users),
            (Kind::PostTweet, before.posts, after.posts),
            (Kind::Like, before.likes, after.likes),
        ];
        let mut findings = Findings::default();
        for (kind, before, after) in counted {
            let own = self.kinds.get(&kind).cloned().unwrap_or_default();
            let found = u64::try_from(after - before).unwrap_or(0);
            findings.lost_updates += own.committed_ever.saturating_sub(found);
            findings.violations += found.saturating_sub(own.committed_ever + own.unknown);
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::draws::Zipf;

    #[tokio::test(start_paused = true)]
    async fn attempts_count_between_two_times_only() {
        let millis = Duration::from_millis;
        let count = std::cell::Cell::new(0);
        let tick = async || {
            for _ in 0..30 {
                tokio::time::sleep(millis(2)).await;
                count.set(count.get() + 1);
            }
        };
        let counted = || count.get();
        let after = |from, to| between(Instant::now() + millis(from), Instant::now() + millis(to), &counted, tick());
        assert_eq!(after(100, 200).await, ((), 0));
        assert_eq!(after(0, 100).await, ((), 30));
        assert_eq!(after(0, 11).await, ((), 5), "the rest was counted after the end");
        assert_eq!(after(11, 100).await, ((), 25), "the first were counted before the begin");
    }

    /// Whose transactions never end, but that nobody waits for ever.
    struct Starving;

    impl Person for Starving {
        async fn run(&mut self, _: &Plan) -> anyhow::Result<Done> {
            tokio::time::sleep(Duration::from_millis(300)).await;
            Ok(Done::Unknown)
        }

        fn attempts(&self) -> impl Fn() -> u64 + 'static {
            || 0
        }

        fn traffic(&self) -> (u64, u64) {
            (0, 0)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_until_the_end_is_counted_with_all_the_time_that_it_waited() {
        let plans = || Plans::of(Arc::new(Zipf::new(10, 0.8)), 1, 0, Some(Kind::AddUser));
        let course = Course { seed: 1, warm_up: Duration::from_millis(40), seconds: Duration::from_millis(60) };
        let mut tally = live(Starving, plans(), course).await.expect("it runs");
        tally.add(&live(Starving, plans(), course).await.expect("it runs"));
        let kind = &tally.kinds[&Kind::AddUser];
        assert_eq!((kind.committed, kind.unknown, kind.latency.count(), kind.open.count()), (0, 2, 0, 2));
        // Called at the beginning of the warm-up, and open at the end.
        assert_eq!(kind.open, LatencyCounts::of_one(100_000_000).with(&LatencyCounts::of_one(100_000_000)));
    }

    #[test]
    fn what_was_committed_has_to_be_found() {
        let mut tally = Tally::default();
        tally.kinds.insert(Kind::Like, KindTally { committed_ever: 5, unknown: 1, ..KindTally::default() });
        let check =
            |likes| tally.check(Totals { likes: 2, ..Totals::default() }, Totals { likes, ..Totals::default() });
        assert_eq!(check(7), Findings::default());
        assert_eq!(check(8), Findings::default());
        assert_eq!(check(6), Findings { lost_updates: 1, violations: 0 });
        assert_eq!(check(9), Findings { lost_updates: 0, violations: 1 });
    }
}
