//! Sweeps of a gateway: by themselves once a day and when the store is nearly full, and by command.
//!
//! Invariants: sweeps by themselves come one after the other, and two at most go on by command. No command keeps the sweeps by themselves waiting.
//! The gateway knows whether the store has room.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use iolite_blobs::SweepReport;
use iolite_gateway::{BlobRoom, Input};
use iolite_host::{Metric, Metrics, Stop};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::Standing;
use crate::blob_store::{BlobStore, Unavailable};
use crate::blobs::asks::Asks;
use crate::blobs::pass::{Order, Pass};
use crate::blobs::rows::SweepError;
use crate::blobs::usage::{Amount, Fullness};

/// From the end of a sweep to the next one by itself.
pub(crate) const SWEEP_EACH: Duration = Duration::from_secs(24 * 60 * 60);
/// The same where the store is nearly full; and from the start of a gateway to its first sweep.
pub(crate) const SWEEP_SOON: Duration = Duration::from_secs(60 * 60);
/// Sweeps by command that go on at a time. The one by itself has a place of its own.
pub(crate) const SWEEPS_MAX: usize = 2;
/// After a listing that failed.
const LIST_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// The sweeps of one gateway.
pub(crate) struct Sweeper {
    pub asks: Arc<Asks>,
    pub chunks: BlobStore,
    /// Tells the gateway.
    tell: Box<dyn Fn(Input) + Send + Sync>,
    /// The places of sweeps: that of the sweeps by themselves, and those for commands.
    by_itself: Semaphore,
    by_command: Semaphore,
    last: Mutex<Option<Swept>>,
    metrics: SweepMetrics,
}

/// A sweep that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Swept {
    pub at: SystemTime,
    pub report: SweepReport,
}

struct SweepMetrics {
    garbage_bytes: Metric,
    garbage_chunks: Metric,
    deleted: Metric,
    leases: Metric,
}

impl SweepMetrics {
    fn new(metrics: &Metrics) -> SweepMetrics {
        SweepMetrics {
            garbage_bytes: metrics.gauge(
                "iolite_blob_garbage_bytes",
                "Bytes of chunks that the last sweep found garbage and that are there still.",
            ),
            garbage_chunks: metrics.gauge(
                "iolite_blob_garbage_chunks",
                "Chunks that the last sweep found garbage and that are there still.",
            ),
            deleted: metrics.counter("iolite_blob_chunks_deleted_total", "Chunks that sweeps of this gateway deleted."),
            leases: metrics.gauge("iolite_blob_leases", "Leases for uploads, as this gateway knows them."),
        }
    }
}

impl Sweeper {
    pub fn new(
        asks: Arc<Asks>,
        chunks: BlobStore,
        metrics: &Metrics,
        tell: impl Fn(Input) + Send + Sync + 'static,
    ) -> Arc<Sweeper> {
        chunks.usage().show(metrics);
        // In front of whatever connections say.
        if *chunks.usage().fullness().borrow() == Fullness::Counting {
            tell(Input::BlobRoom(BlobRoom::Counting));
        }
        let (tell, last, metrics) = (Box::new(tell), Mutex::default(), SweepMetrics::new(metrics));
        let (by_itself, by_command) = (Semaphore::new(1), Semaphore::new(SWEEPS_MAX));
        Arc::new(Sweeper { asks, chunks, tell, by_itself, by_command, last, metrics })
    }

    /// Keeps the gateway told, and sweeps, until the server ends.
    pub async fn run(self: Arc<Sweeper>, mut stop: Stop) {
        tokio::select! {
            () = stop.wait() => {}
            () = self.tell_room() => {}
            () = self.sweep_by_itself() => {}
        }
    }

    pub fn leases(&self, count: usize) {
        self.metrics.leases.set(count as u64);
    }

    pub fn leases_known(&self) -> u64 {
        self.metrics.leases.get()
    }

    pub fn last(&self) -> Option<Swept> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a sweep goes on.
    pub fn is_sweeping(&self) -> bool {
        self.by_itself.available_permits() + self.by_command.available_permits() < 1 + SWEEPS_MAX
    }

    async fn tell_room(&self) {
        let mut fullness = self.chunks.usage().fullness();
        loop {
            let room = fullness.borrow_and_update().room();
            (self.tell)(Input::BlobRoom(room));
            if fullness.changed().await.is_err() {
                return;
            }
        }
    }

    async fn sweep_by_itself(&self) {
        self.count().await;
        let mut fullness = self.chunks.usage().fullness();
        let (mut since, mut was_nearly_full) = (Instant::now(), None);
        loop {
            let is_nearly_full = fullness.borrow_and_update().is_nearly();
            let pause = pause_before(is_nearly_full, was_nearly_full);
            tokio::select! {
                () = tokio::time::sleep_until(since + pause) => {}
                changed = fullness.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return,
                },
            }
            let order = Order { is_dry: false, grace: self.chunks.grace() };
            let _permit = self.by_itself.acquire().await;
            if let Err(problem) = self.sweep(order, |_| {}).await {
                tracing::warn!(%problem, "a sweep of the store of blobs did not come to its end");
            }
            (since, was_nearly_full) = (Instant::now(), Some(is_nearly_full));
        }
    }

    /// Lists the store once, so that it is known how full it is.
    async fn count(&self) {
        while self.list().await.is_err() {
            tokio::time::sleep(LIST_AGAIN_AFTER).await;
        }
    }

    async fn list(&self) -> Result<(), Unavailable> {
        let Standing { store, .. } = self.asks.standing().await;
        let (before, mut all) = (self.chunks.usage().before_listing(), Amount::default());
        let each = |_, bytes| all = all.plus(Amount::of_object(bytes));
        self.chunks.list(store, each).await?;
        self.chunks.usage().listed(before, all);
        Ok(())
    }

    /// Sweeps by a command. `None`: as many sweeps by command go on as may.
    pub async fn sweep_now(
        &self,
        order: Order,
        found: impl FnMut(&SweepReport),
    ) -> Option<Result<SweepReport, SweepError>> {
        let _permit = self.by_command.try_acquire().ok()?;
        Some(self.sweep(order, found).await)
    }

    async fn sweep(&self, order: Order, mut found: impl FnMut(&SweepReport)) -> Result<SweepReport, SweepError> {
        (self.tell)(Input::RevokeLeases);
        let (mut all, mut after) = (SweepReport::default(), None);
        loop {
            let sum = all.clone();
            let told = |of_pass: &SweepReport| {
                let report = joined(sum.clone(), of_pass);
                self.show_garbage(&report);
                found(&report);
            };
            let report = Pass::run(&self.asks, &self.chunks, order, after, told).await?;
            self.metrics.deleted.add(report.deleted);
            after = report.next;
            all = joined(all, &report);
            if after.is_none() || all.failure.is_some() {
                break;
            }
        }
        self.end(&all, order);
        Ok(all)
    }

    fn show_garbage(&self, report: &SweepReport) {
        self.metrics.garbage_chunks.set(report.garbage - report.deleted);
        self.metrics.garbage_bytes.set(if report.deleted == report.garbage { 0 } else { report.garbage_bytes });
    }

    fn end(&self, report: &SweepReport, order: Order) {
        self.show_garbage(report);
        let SweepReport { objects, bytes, garbage, garbage_bytes, deleted, damaged, .. } = *report;
        let (failure, is_dry) = (report.failure.as_deref().unwrap_or_default(), order.is_dry);
        tracing::info!(
            objects,
            bytes,
            garbage,
            garbage_bytes,
            deleted,
            damaged,
            is_dry,
            failure,
            "swept the store of blobs"
        );
        let swept = Swept { at: SystemTime::now(), report: report.clone() };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(swept);
    }
}

/// How long a sweep by itself comes after the one before, or after the start. A store that has become nearly full is swept at once.
fn pause_before(is_nearly_full: bool, was_nearly_full: Option<bool>) -> Duration {
    match (is_nearly_full, was_nearly_full) {
        (true, None | Some(false)) => Duration::ZERO,
        (true, Some(true)) | (false, None) => SWEEP_SOON,
        (false, Some(_)) => SWEEP_EACH,
    }
}

/// The sum of two passes, of which the later one has listed all again.
fn joined(before: SweepReport, later: &SweepReport) -> SweepReport {
    SweepReport {
        objects: later.objects,
        bytes: later.bytes,
        garbage: before.garbage + later.garbage,
        garbage_bytes: before.garbage_bytes + later.garbage_bytes,
        deleted: before.deleted + later.deleted,
        damaged: before.damaged.max(later.damaged),
        next: later.next,
        failure: later.failure.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BlobsConfig;
    use crate::objects::ObjectsAddress;

    #[test]
    fn a_store_is_swept_once_a_day_and_at_once_when_it_becomes_nearly_full() {
        assert_eq!(pause_before(false, None), SWEEP_SOON, "a gateway that starts often sweeps too");
        assert_eq!(pause_before(false, Some(false)), SWEEP_EACH);
        assert_eq!((pause_before(true, None), pause_before(true, Some(false))), (Duration::ZERO, Duration::ZERO));
        assert_eq!(pause_before(true, Some(true)), SWEEP_SOON, "what a sweep cannot help is not tried all the time");
    }

    #[test]
    fn passes_add_up() {
        let report = |garbage, deleted| SweepReport { objects: 9, garbage, deleted, ..SweepReport::default() };
        assert_eq!(joined(report(2, 2), &report(3, 1)), report(5, 3));
    }

    #[tokio::test]
    async fn two_commands_sweep_at_a_time_and_leave_room_for_the_sweep_by_itself() {
        let folder = std::env::temp_dir().join(format!("iolite-sweeps-{:032x}", iolite_host::random_id()));
        let chunks = BlobStore::open(&BlobsConfig::at(ObjectsAddress::Folder(folder.clone()))).expect("it is made");
        // The gateway serves nobody yet, so they wait.
        let sweeper = Sweeper::new(Asks::new(|_| {}), chunks, &Metrics::default(), |_| {});
        let order = Order { is_dry: false, grace: Duration::ZERO };
        let running: Vec<_> = (0..SWEEPS_MAX)
            .map(|_| {
                let own = sweeper.clone();
                tokio::spawn(async move { own.sweep_now(order, |_| {}).await.is_some() })
            })
            .collect();
        while sweeper.by_command.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(sweeper.is_sweeping());
        assert_eq!(sweeper.sweep_now(order, |_| {}).await, None);
        assert_eq!(sweeper.by_itself.available_permits(), 1, "no command takes the place of the sweep by itself");
        running.iter().for_each(tokio::task::JoinHandle::abort);
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
