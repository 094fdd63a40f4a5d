//! A store in this process's memory, for tests: right, or wrong on purpose.

use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};

use anyhow::anyhow;

use super::system::{About, Interrupted, Outcome, Session, Setup, System};
use super::workload::{KeyNumber, Mode, Value};
use crate::accounting::{Node, Pid};

/// What a wrong store leaves out.
pub trait Wrong: std::fmt::Debug + Send + Sync + 'static {
    /// That nothing that was read has changed is checked.
    const VALIDATES: bool;
    /// Every so manyth commit is acknowledged and thrown away; 0 is none.
    const DROPS_EVERY: u64;
    /// Every so manyth commit has no known outcome, and happened every other time; every so manyth get breaks the session.
    const BREAKS_EVERY: u64 = 0;
}

#[derive(Debug)]
pub struct Right;
#[derive(Debug)]
pub struct Unvalidated;
#[derive(Debug)]
pub struct Forgetful;
/// It breaks no promise: it is only hard to reach.
#[derive(Debug)]
pub struct Faint;

impl Wrong for Right {
    const VALIDATES: bool = true;
    const DROPS_EVERY: u64 = 0;
}

impl Wrong for Unvalidated {
    const VALIDATES: bool = false;
    const DROPS_EVERY: u64 = 0;
}

impl Wrong for Faint {
    const VALIDATES: bool = true;
    const DROPS_EVERY: u64 = 0;
    const BREAKS_EVERY: u64 = 500;
}

impl Wrong for Forgetful {
    const VALIDATES: bool = true;
    const DROPS_EVERY: u64 = 50;
}

pub struct Memory<W> {
    store: Arc<Mutex<Store>>,
    /// A server that does nothing, least of all a sync.
    server: Child,
    wrong: std::marker::PhantomData<W>,
}

#[derive(Debug, Default)]
struct Store {
    values: BTreeMap<KeyNumber, Value>,
    commits: u64,
    gets: u64,
}

#[derive(Debug)]
pub struct MemorySession<W> {
    store: Arc<Mutex<Store>>,
    reads: Vec<(KeyNumber, Value)>,
    puts: Vec<(KeyNumber, Value)>,
    broken: bool,
    wrong: std::marker::PhantomData<W>,
}

impl<W: Wrong> System for Memory<W> {
    type Session = MemorySession<W>;

    async fn start(_: Setup) -> anyhow::Result<Memory<W>> {
        let server = Command::new("sleep").arg("60").spawn()?;
        Ok(Memory { store: Arc::default(), server, wrong: std::marker::PhantomData })
    }

    fn about(&self) -> About {
        About { name: "memory", version: "1".into(), isolation: "none", setting: "none", copies: 1 }
    }

    fn nodes(&self) -> Vec<Node> {
        vec![Node { name: "own".into(), root: Pid::of(&self.server), traffic: Arc::default() }]
    }

    fn between(&self) -> Vec<std::net::SocketAddr> {
        Vec::new()
    }

    async fn settle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    async fn connect(&self) -> anyhow::Result<MemorySession<W>> {
        let store = self.store.clone();
        let (reads, puts) = (Vec::new(), Vec::new());
        Ok(MemorySession { store, reads, puts, broken: false, wrong: std::marker::PhantomData })
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

impl<W> Drop for Memory<W> {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl<W: Wrong> Session for MemorySession<W> {
    async fn load(&mut self, keys: &[KeyNumber], value: Value) -> anyhow::Result<()> {
        self.store.lock().expect("nobody panics").values.extend(keys.iter().map(|key| (*key, value)));
        Ok(())
    }

    async fn read(&mut self, keys: &[KeyNumber]) -> anyhow::Result<Vec<Option<Value>>> {
        let store = self.store.lock().expect("nobody panics");
        Ok(keys.iter().map(|key| store.values.get(key).copied()).collect())
    }

    fn begin(&mut self, _: Mode) {
        assert!(!self.broken, "a session that broke is not used again");
        self.reads.clear();
        self.puts.clear();
    }

    async fn get(&mut self, key: KeyNumber) -> Result<Value, Interrupted> {
        let value = {
            let mut store = self.store.lock().expect("nobody panics");
            store.gets += 1;
            self.broken = is_turn(store.gets, W::BREAKS_EVERY);
            store.values[&key]
        };
        if self.broken {
            return Err(Interrupted::Broken(anyhow!("out of reach")));
        }
        self.reads.push((key, value));
        // Others get their turn between a read and a commit.
        tokio::task::yield_now().await;
        Ok(value)
    }

    fn put(&mut self, key: KeyNumber, value: Value) {
        self.puts.push((key, value));
    }

    async fn commit(&mut self) -> Outcome {
        let mut store = self.store.lock().expect("nobody panics");
        if W::VALIDATES && self.reads.iter().any(|(key, value)| store.values[key] != *value) {
            return Outcome::Aborted;
        }
        store.commits += 1;
        let is_unknown = is_turn(store.commits, W::BREAKS_EVERY);
        let is_dropped =
            is_turn(store.commits, W::DROPS_EVERY) || is_unknown && (store.commits / W::BREAKS_EVERY).is_multiple_of(2);
        if !is_dropped {
            store.values.extend(self.puts.drain(..));
        }
        if is_unknown {
            self.broken = true;
            return Outcome::Unknown(anyhow!("out of reach"));
        }
        Outcome::Committed
    }
}

fn is_turn(count: u64, every: u64) -> bool {
    every > 0 && count.is_multiple_of(every)
}

mod tests {
    use std::time::Duration;

    use super::*;
    use crate::arguments::Durability;
    use crate::transactions::measure::{Course, measure};
    use crate::transactions::report::Report;
    use crate::transactions::workload::{TransactionWorkload, Zipf};

    async fn run<W: Wrong>(workload: TransactionWorkload) -> Report {
        run_in::<W>(Durability::Memory, workload).await
    }

    async fn run_in<W: Wrong>(durability: Durability, workload: TransactionWorkload) -> Report {
        let course = Course {
            workload,
            zipf: Arc::new(Zipf::new(20, 0.75)),
            seed: 5,
            warm_up: Duration::from_millis(50),
            seconds: Duration::from_millis(300),
            setup: Setup {
                durability,
                delay: Duration::ZERO,
                clients: 4,
                cluster: crate::transactions::options::ClusterShape::default(),
                down: 0,
                coordinators: 1,
                skew: Duration::ZERO,
            },
        };
        let measured = measure::<Memory<W>>(&course).await.expect("nothing can break");
        Report::of(&course, measured, None)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_right_store_loses_nothing_though_transactions_conflict() {
        for workload in [TransactionWorkload::YcsbT, TransactionWorkload::RetwisTapir] {
            let report = run::<Right>(workload).await;
            assert!(report.is_good(), "{report:?}");
            // At each end of the measured stretch, each of the 4 clients may be between the two.
            assert!(report.retries > 0 && report.aborts.abs_diff(report.retries) <= 8, "{report:?}");
            assert!(report.latency_ms.p99 >= report.commit_latency_ms.p50 && report.throughput_per_s > 0.0);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_store_that_validates_nothing_is_reported_as_losing_updates() {
        for workload in [TransactionWorkload::YcsbT, TransactionWorkload::RetwisTapir] {
            let report = run::<Unvalidated>(workload).await;
            assert!(report.lost_updates > 0 && !report.is_good(), "{report:?}");
            assert_eq!(report.aborts, 0);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_store_that_forgets_acknowledged_commits_is_reported_as_losing_updates() {
        for workload in [TransactionWorkload::YcsbT, TransactionWorkload::RetwisTapir] {
            let report = run::<Forgetful>(workload).await;
            assert!(report.lost_updates > 0 && !report.is_good(), "{report:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_unknown_outcome_counts_as_unknown_and_never_as_lost_or_failed() {
        for workload in [TransactionWorkload::YcsbT, TransactionWorkload::RetwisTapir] {
            let report = run::<Faint>(workload).await;
            assert!(report.unknown > 0 && report.unknown < report.committed / 100, "{report:?}");
            assert!(report.is_good(), "{report:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_store_that_syncs_nothing_is_not_durable_whatever_it_says() {
        let report = run_in::<Right>(Durability::Fsync, TransactionWorkload::YcsbT).await;
        assert_eq!((report.lost_updates, report.violations), (0, 0));
        assert_eq!(report.durability_verified, "missing");
        assert!(!report.is_good(), "{report:?}");
    }
}
