//! Reads for which a newer version existed in the reader's data centre that K data centres did not have yet.
//!
//! Invariant: all times are of one clock, as gateways, clients and this process are on one machine.
//! Source: SwiftCloud (Zawirski 2013), section 6.4.
//!
//! A version is *waiting* from the time in its commit timestamp, which its data centre's gateway gave it, until the gateway showed it: that is when its
//! writer knew it as confirmed, less the way to the writer. A read is stale if a version of its row or wall was waiting that somebody else had
//! written in the same data centre. A version of another data centre never waits: it is in two when it arrives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use iolite::MutationHandle;
use serde_json::{Value, json};

use super::seat::Call;
use super::waiting::Waited;
use crate::cells::Cells;
use crate::latency::Latencies;

/// A row of `people`, or all rows of `wall` of one person.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Object {
    Row(String),
    Wall(String),
}

/// Microseconds since 1970.
type Micros = u64;

/// A version of one object, in the time in which it was waiting.
#[derive(Clone, Debug)]
struct Waiting {
    writer: u32,
    committed: Micros,
    shown: Micros,
}

/// A transaction that only read.
#[derive(Clone, Debug)]
struct Reading {
    at: Micros,
    objects: Vec<Object>,
}

/// The versions that were written in one data centre, and when each was waiting.
#[derive(Clone, Debug, Default)]
pub struct Versions(Arc<Mutex<BTreeMap<Object, Vec<Waiting>>>>);

/// Takes down what one person reads and writes.
pub struct Watcher {
    person: u32,
    versions: Versions,
    /// The time from a gateway to the person.
    one_way: Duration,
    readings: Vec<Reading>,
}

/// Sums of all people.
#[derive(Debug, Default)]
pub struct Staleness {
    reads: u64,
    stale_reads: u64,
    transactions: u64,
    stale_transactions: u64,
}

impl Watcher {
    pub fn new(person: u32, versions: Versions, round_trip: Duration) -> Watcher {
        Watcher { person, versions, one_way: round_trip / 2, readings: Vec::new() }
    }

    pub fn read_page(&mut self, of: &str, waited: Waited) {
        self.read(vec![Object::Row(of.to_owned()), Object::Wall(of.to_owned())], waited);
    }

    pub fn read_rows<'a>(&mut self, of: impl Iterator<Item = &'a str>, waited: Waited) {
        self.read(of.map(|of| Object::Row(of.to_owned())).collect(), waited);
    }

    /// A fetched page was read at the gateway, before it came here.
    fn read(&mut self, objects: Vec<Object>, waited: Waited) {
        let at = match waited {
            Waited::Not => now(),
            Waited::ForData => before(now(), self.one_way),
        };
        self.readings.push(Reading { at, objects });
    }

    /// Follows a call to its end. It never ended if it is not taken down: only a fault does that, and the run tells it.
    pub fn wrote(&self, call: &Call, handle: MutationHandle) {
        let (objects, versions) = (objects_of(call), self.versions.clone());
        let (writer, one_way) = (self.person, self.one_way);
        tokio::spawn(async move {
            if let Ok(at) = handle.confirmed().await {
                let version = Waiting { writer, committed: at.micros(), shown: before(now(), one_way) };
                versions.add(&objects, &version);
            }
        });
    }

    /// Counts the stale ones of the readings. All writers have to have settled.
    pub fn count(&self, into: &mut Staleness) {
        let versions = self.versions.0.lock().expect("nobody panics with it");
        for Reading { at, objects } in &self.readings {
            let is_stale = |object: &&Object| {
                let waiting = versions.get(object).into_iter().flatten();
                waiting.into_iter().any(|version| version.writer != self.person && version.is_waiting(*at))
            };
            let stale = objects.iter().filter(is_stale).count() as u64;
            into.reads += objects.len() as u64;
            into.stale_reads += stale;
            into.transactions += 1;
            into.stale_transactions += u64::from(stale > 0);
        }
    }
}

impl Waiting {
    fn is_waiting(&self, at: Micros) -> bool {
        self.committed <= at && at < self.shown
    }
}

impl Versions {
    fn add(&self, objects: &[Object], version: &Waiting) {
        let mut versions = self.0.lock().expect("nobody panics with it");
        for object in objects {
            versions.entry(object.clone()).or_default().push(version.clone());
        }
    }

    /// The times for which versions were waiting, and how many times there are.
    fn windows(&self, into: &mut Latencies) -> u64 {
        let versions = self.0.lock().expect("nobody panics with it");
        let all = versions.values().flatten();
        all.map(|version| into.record(version.shown.saturating_sub(version.committed) * 1_000)).count() as u64
    }
}

impl Staleness {
    /// `writes` is how many transactions wrote: the share is one of all transactions, as in the paper, and of those that read.
    pub fn report(&self, cells: &mut Cells, of: &Value, versions: &[Versions]) {
        let Staleness { reads, stale_reads, transactions, stale_transactions } = self;
        let mut windows = Latencies::default();
        let written: u64 = versions.iter().map(|centre| centre.windows(&mut windows)).sum();
        let mut cell = json!({
            "of": "staleness", "reads": reads, "stale_reads": stale_reads, "transactions_that_read": transactions,
            "stale_transactions": stale_transactions, "versions": written, "waiting_ms": windows.percentiles(),
        });
        of.as_object().into_iter().flatten().for_each(|(name, value)| cell[name] = value.clone());
        cells.push(cell);
        cells.ratio("stale reads, of all", *stale_reads as f64, *reads as f64);
        cells.ratio("stale transactions, of those that read", *stale_transactions as f64, *transactions as f64);
    }
}

fn objects_of(call: &Call) -> Vec<Object> {
    match call {
        Call::Status(status) => vec![Object::Row(status.by.clone())],
        Call::Post(post) => vec![Object::Row(post.to.clone()), Object::Wall(post.to.clone())],
        Call::Befriend(both) => vec![Object::Row(both.one.clone()), Object::Row(both.other.clone())],
    }
}

fn now() -> Micros {
    let since = SystemTime::UNIX_EPOCH.elapsed().expect("it is after 1970");
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn before(at: Micros, by: Duration) -> Micros {
    at.saturating_sub(u64::try_from(by.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_stale_while_anothers_version_of_the_same_data_centre_waits() {
        let (here, elsewhere) = (Versions::default(), Versions::default());
        let version = Waiting { writer: 1, committed: 100, shown: 200 };
        here.add(&[Object::Wall("ann".to_owned())], &version);
        elsewhere.add(&[Object::Row("ann".to_owned())], &version);
        let counted = |person: u32, at: Micros| {
            let mut watcher = Watcher::new(person, here.clone(), Duration::ZERO);
            let objects = vec![Object::Row("ann".to_owned()), Object::Wall("ann".to_owned())];
            watcher.readings.push(Reading { at, objects });
            let mut sum = Staleness::default();
            watcher.count(&mut sum);
            assert_eq!((sum.reads, sum.transactions), (2, 1));
            (sum.stale_reads, sum.stale_transactions)
        };
        assert_eq!([99, 100, 199, 200].map(|at| counted(2, at)), [(0, 0), (1, 1), (1, 1), (0, 0)]);
        assert_eq!(counted(1, 150), (0, 0), "a writer is shown the own version");
    }

    #[test]
    fn what_came_over_the_link_was_read_before_that() {
        let mut watcher = Watcher::new(0, Versions::default(), Duration::from_secs(2));
        watcher.read_page("ann", Waited::Not);
        watcher.read_page("ann", Waited::ForData);
        let [here, fetched] = &watcher.readings[..] else { panic!("two readings") };
        assert!(fetched.at < here.at && here.objects == fetched.objects);
    }
}
