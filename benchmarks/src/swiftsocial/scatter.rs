//! Single transactions of a client: when each was called, how long it took, and which data centre served the client when it ended.
//!
//! Invariant: a point belongs to the time in which its data centre was away if it ended after the failure and was called before the end of it.

use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use iolite::{Centre, Client, MutationHandle};
use serde_json::{Value, json};

use super::plan::Kind;
use super::waiting::Waited;
use crate::latency::Latencies;

/// Takes down what one loop of a client runs.
pub struct Scatter {
    client: Client,
    points: Vec<Point>,
    /// Updates until K data centres have them.
    confirmed: Arc<Mutex<Vec<Point>>>,
}

#[derive(Clone, Debug)]
pub struct Point {
    pub called: Instant,
    pub took: Duration,
    pub kind: Kind,
    pub waited: Waited,
    pub served_by: Option<Centre>,
}

/// The moments between which a data centre is away.
#[derive(Clone, Copy, Debug)]
pub struct Away {
    pub begun: Instant,
    pub from: Instant,
    pub to: Instant,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Before,
    Away,
    After,
}

impl Scatter {
    pub fn of(client: Client) -> Scatter {
        Scatter { client, points: Vec::new(), confirmed: Arc::default() }
    }

    /// A transaction has ended now.
    pub fn add(&mut self, kind: Kind, waited: Waited, called: Instant, took: Duration) {
        let served_by = self.client.centre().borrow().clone();
        self.points.push(Point { called, took, kind, waited, served_by });
    }

    /// Follows a call until K data centres have it.
    pub fn wrote(&self, kind: Kind, called: Instant, handle: MutationHandle) {
        let (confirmed, client) = (self.confirmed.clone(), self.client.clone());
        tokio::spawn(async move {
            if handle.confirmed().await.is_ok() {
                let served_by = client.centre().borrow().clone();
                let point = Point { called, took: called.elapsed(), kind, waited: Waited::Not, served_by };
                confirmed.lock().expect("nobody panics with it").push(point);
            }
        });
    }

    pub fn points(&self) -> &[Point] {
        &self.points
    }

    pub fn confirmed(&self) -> Vec<Point> {
        self.confirmed.lock().expect("nobody panics with it").clone()
    }
}

impl Point {
    pub fn ended(&self) -> Instant {
        self.called + self.took
    }

    /// Whether it read the person's own page, or that of somebody whom the person knows: the client holds all of these.
    pub fn is_of_held_page(&self) -> bool {
        self.kind == Kind::Page
    }

    pub fn missed(&self) -> bool {
        self.waited == Waited::ForData
    }

    pub fn when(&self, away: Away) -> When {
        if self.ended() < away.from {
            When::Before
        } else if self.called < away.to {
            When::Away
        } else {
            When::After
        }
    }

    /// Milliseconds that it took.
    pub fn ms(&self) -> f64 {
        self.took.as_secs_f64() * 1e3
    }

    /// Seconds from the begin of the run until the call.
    pub fn second(&self, away: Away) -> f64 {
        self.called.saturating_duration_since(away.begun).as_secs_f64()
    }
}

impl When {
    pub const ALL: [When; 3] = [When::Before, When::Away, When::After];

    pub fn name(self) -> &'static str {
        match self {
            When::Before => "before",
            When::Away => "away",
            When::After => "after",
        }
    }
}

/// Count, percentiles and the longest of some points.
pub fn figures<'a>(points: impl Iterator<Item = &'a Point>) -> Value {
    let (mut latencies, mut count, mut longest) = (Latencies::default(), 0_u64, 0.0);
    for point in points {
        latencies.record(u64::try_from(point.took.as_nanos()).unwrap_or(u64::MAX));
        count += 1;
        longest = point.ms().max(longest);
    }
    json!({"transactions": count, "latency_ms": latencies.percentiles(), "longest_ms": longest})
}

/// One line a point, in the order of calls.
pub fn csv(points: &[Point], away: Away) -> String {
    let mut text = "second,ms,transaction,waited,data_centre\n".to_owned();
    for point in points {
        let (second, ms, centre) = (point.second(away), point.ms(), name_of(point.served_by.as_ref()));
        let _ = writeln!(text, "{second:.3},{ms:.3},{},{},{centre}", point.kind.name(), point.missed());
    }
    text
}

pub fn name_of(centre: Option<&Centre>) -> String {
    match centre {
        Some(Centre::At(name)) => name.to_string(),
        Some(Centre::Moving) => "moving".to_owned(),
        None => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_that_a_failure_meets_is_one_of_its_time() {
        let begun = Instant::now();
        let at = |second| begun + Duration::from_secs(second);
        let away = Away { begun, from: at(10), to: at(20) };
        let point = |called, took| Point {
            called: at(called),
            took: Duration::from_secs(took),
            kind: Kind::Stranger,
            waited: Waited::ForData,
            served_by: None,
        };
        let whens = [(1, 1), (8, 3), (19, 5), (20, 1)].map(|(called, took)| point(called, took).when(away));
        assert_eq!(whens, [When::Before, When::Away, When::Away, When::After]);
        assert_eq!(csv(&[point(8, 3)], away).lines().last(), Some("8.000,3000.000,stranger,true,none"));
    }
}
