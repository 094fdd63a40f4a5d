//! How full the store of chunks is: what was listed last, plus what this gateway has stored since. A small object counts as 4 KiB.
//!
//! Invariant: a chunk that is stored while the store is listed counts, perhaps twice, until the next listing. So the count is never too low for what
//! this gateway stored. What other gateways stored counts from the next listing on.

use std::sync::{Arc, Mutex, PoisonError};

use iolite_gateway::BlobRoom;
use iolite_host::{Metric, Metrics};
use tokio::sync::watch;

/// How full the store is, beside its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fullness {
    /// The store has a bound, and was not listed yet.
    Counting,
    Free,
    /// Nine tenths or more.
    Nearly,
    Full,
}

impl Fullness {
    pub fn room(self) -> BlobRoom {
        match self {
            Fullness::Counting => BlobRoom::Counting,
            Fullness::Free | Fullness::Nearly => BlobRoom::Free,
            Fullness::Full => BlobRoom::Full,
        }
    }

    pub fn is_nearly(self) -> bool {
        match self {
            Fullness::Nearly | Fullness::Full => true,
            Fullness::Counting | Fullness::Free => false,
        }
    }
}

/// The bytes that an object counts as at least. Else tiny ones would fill a disk, or cost their operator more than their bytes.
pub(crate) const OBJECT_BYTES_MIN: u64 = 4 << 10;

/// Objects and their bytes, of each [`OBJECT_BYTES_MIN`] at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub chunks: u64,
    pub bytes: u64,
}

impl Amount {
    pub fn of_object(bytes: u64) -> Amount {
        Amount { chunks: 1, bytes: bytes.max(OBJECT_BYTES_MIN) }
    }

    pub fn plus(self, more: Amount) -> Amount {
        Amount { chunks: self.chunks + more.chunks, bytes: self.bytes + more.bytes }
    }

    fn minus(self, less: Amount) -> Amount {
        Amount { chunks: self.chunks.saturating_sub(less.chunks), bytes: self.bytes.saturating_sub(less.bytes) }
    }
}

/// The count of one store of chunks.
pub(crate) struct Usage {
    pub bytes_max: Option<u64>,
    counted: Mutex<Counted>,
    fullness: watch::Sender<Fullness>,
}

/// Names a listing of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing(u64);

#[derive(Default)]
struct Counted {
    /// The last listing, without what was deleted since, and what had been stored when it began.
    listed: Option<(Amount, Amount)>,
    last: Listing,
    /// All that this process has stored.
    stored: Amount,
    shown: Option<(Metric, Metric)>,
}

impl Counted {
    fn now(&self) -> Option<Amount> {
        let (listed, before) = self.listed?;
        Some(listed.plus(self.stored.minus(before)))
    }
}

impl Usage {
    pub fn new(bytes_max: Option<u64>) -> Arc<Usage> {
        let fullness = watch::Sender::new(if bytes_max.is_some() { Fullness::Counting } else { Fullness::Free });
        Arc::new(Usage { bytes_max, counted: Mutex::default(), fullness })
    }

    /// Shows the count in these metrics from now on.
    pub fn show(&self, metrics: &Metrics) {
        let bytes =
            metrics.gauge("iolite_blob_store_bytes", "Bytes of chunks in the store, as this gateway has counted.");
        let chunks = metrics.gauge("iolite_blob_store_chunks", "Chunks in the store, as this gateway has counted.");
        self.change(|counted| counted.shown = Some((bytes, chunks)));
    }

    pub fn stored(&self, bytes: u64) {
        self.change(|counted| counted.stored = counted.stored.plus(Amount::of_object(bytes)));
    }

    /// All that was stored by now: said before a listing, and given back with it.
    pub fn before_listing(&self) -> Amount {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).stored
    }

    pub fn listed(&self, before: Amount, listed: Amount) -> Listing {
        self.change(|counted| {
            counted.listed = Some((listed, before));
            counted.last = Listing(counted.last.0 + 1);
            counted.last
        })
    }

    /// A sweep has deleted so much of what was in this listing. If there is a later one, it may lack that already.
    pub fn deleted(&self, of: Listing, amount: Amount) {
        self.change(|counted| {
            if counted.last == of {
                counted.listed = counted.listed.map(|(listed, before)| (listed.minus(amount), before));
            }
        });
    }

    /// `None`: the store was not listed yet.
    pub fn now(&self) -> Option<Amount> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    pub fn fullness(&self) -> watch::Receiver<Fullness> {
        self.fullness.subscribe()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Counted) -> T) -> T {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut counted);
        let now = counted.now();
        if let (Some((bytes, chunks)), Some(now)) = (&counted.shown, now) {
            bytes.set(now.bytes);
            chunks.set(now.chunks);
        }
        let is = fullness(now.map(|now| now.bytes), self.bytes_max);
        self.fullness.send_if_modified(|fullness| std::mem::replace(fullness, is) != is);
        changed
    }
}

fn fullness(bytes: Option<u64>, bytes_max: Option<u64>) -> Fullness {
    match (bytes, bytes_max) {
        (_, None) => Fullness::Free,
        (None, Some(_)) => Fullness::Counting,
        (Some(bytes), Some(most)) if bytes >= most => Fullness::Full,
        (Some(bytes), Some(most)) if bytes >= most - most / 10 => Fullness::Nearly,
        (Some(_), Some(_)) => Fullness::Free,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(chunks: u64, bytes: u64) -> Amount {
        Amount { chunks, bytes }
    }

    #[test]
    fn a_store_is_as_full_as_was_listed_and_stored_since() {
        let usage = Usage::new(Some(100_000));
        let fullness = usage.fullness();
        assert_eq!((usage.now(), *fullness.borrow()), (None, Fullness::Counting));
        usage.stored(10_000);
        let before = usage.before_listing();
        // Stored while the store is listed: it may be in the list, and counts nevertheless.
        usage.stored(5_000);
        let listing = usage.listed(before, of(8, 70_000));
        assert_eq!((usage.now(), *fullness.borrow()), (Some(of(9, 75_000)), Fullness::Free));
        usage.stored(15_000);
        assert_eq!((usage.now(), *fullness.borrow()), (Some(of(10, 90_000)), Fullness::Nearly));
        usage.stored(10_000);
        assert_eq!(*fullness.borrow(), Fullness::Full);
        usage.deleted(listing, of(4, 40_000));
        assert_eq!((usage.now(), *fullness.borrow()), (Some(of(7, 60_000)), Fullness::Free));
    }

    #[test]
    fn a_small_object_counts_as_4_kib() {
        assert_eq!([0, 4096, 4097].map(Amount::of_object), [of(1, 4096), of(1, 4096), of(1, 4097)]);
        let usage = Usage::new(Some(8_192));
        usage.listed(usage.before_listing(), Amount::of_object(1));
        usage.stored(1);
        assert_eq!((usage.now(), *usage.fullness().borrow()), (Some(of(2, 8_192)), Fullness::Full));
    }

    /// Else two sweeps that delete the same garbage would make the store look emptier than it is.
    #[test]
    fn what_a_later_listing_lacks_already_is_not_taken_off_again() {
        let usage = Usage::new(Some(1_000));
        let [first, second] = [900, 500].map(|bytes| usage.listed(usage.before_listing(), of(9, bytes)));
        usage.deleted(first, of(4, 400));
        assert_eq!(usage.now(), Some(of(9, 500)));
        usage.deleted(second, of(1, 100));
        assert_eq!(usage.now(), Some(of(8, 400)));
    }

    #[test]
    fn a_store_without_a_bound_is_never_full() {
        let usage = Usage::new(None);
        assert_eq!(*usage.fullness().borrow(), Fullness::Free);
        usage.listed(usage.before_listing(), of(1, u64::MAX));
        assert_eq!((*usage.fullness().borrow()).room(), BlobRoom::Free);
    }

    #[test]
    fn metrics_show_the_count() {
        let (usage, metrics) = (Usage::new(None), Metrics::default());
        usage.show(&metrics);
        usage.listed(usage.before_listing(), of(3, 70));
        usage.stored(5);
        let text = metrics.render();
        assert!(
            text.contains("iolite_blob_store_bytes 4166\n") && text.contains("iolite_blob_store_chunks 4\n"),
            "{text}"
        );
    }
}
