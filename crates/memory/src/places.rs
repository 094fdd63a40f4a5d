//! The pages of a region that are free, and those that must rest before they are used again.
//!
//! Invariant: a place that a claim was on is not used again before its daemon is done with the batch or gone, and no guard is left on it.
//! Source: issue "Memory that swaps objects"; docs/protocols/memory.md, "Taking a claim over".

use crate::limits::EXTENT_PAGES;
use crate::region::data::Place;
use crate::runs::Runs;

/// The pages of a region.
#[derive(Debug)]
pub struct Places {
    free: Runs,
    resting: Vec<Resting>,
}

/// A place that its object left while the daemon had a claim on it.
#[derive(Debug)]
pub struct Resting {
    pub place: Place,
    /// The entry that was there: a guard that came before the claim names it.
    pub entry: u32,
    /// When the daemon is done with the place.
    pub until: Until,
}

/// When the daemon is done with a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The batch of this number has ended, or the connection of this number has.
    BatchEnds { batch: u64, connection: u64 },
    /// There is no daemon.
    Now,
}

impl Until {
    /// Whether the daemon is done, by the batch that it is in now and the connections that have ended.
    #[must_use]
    pub fn has_come(self, batch_now: u64, connections_ended: u64) -> bool {
        match self {
            Until::Now => true,
            // An even number: no batch is open, so that of the claim is not either.
            Until::BatchEnds { batch, connection } => {
                batch.is_multiple_of(2) || batch != batch_now || connection <= connections_ended
            }
        }
    }
}

impl Places {
    pub fn new(pages: u64) -> Places {
        Places { free: Runs::new(pages), resting: Vec::new() }
    }

    pub fn take(&mut self, pages: u64) -> Option<Place> {
        self.free.take(pages).map(|page| Place { page, pages })
    }

    /// Gives a place back. Returns the pages to punch: whole extents that are free now and were not before.
    pub fn give(&mut self, place: &Place) -> Option<Place> {
        let (first, length) = self.free.give(place.page, place.pages);
        let extents_of_place = (place.page / EXTENT_PAGES, (place.page + place.pages).div_ceil(EXTENT_PAGES));
        let extents_of_run = (first.div_ceil(EXTENT_PAGES), (first + length) / EXTENT_PAGES);
        let from = extents_of_place.0.max(extents_of_run.0);
        let to = extents_of_place.1.min(extents_of_run.1);
        (from < to).then(|| Place { page: from * EXTENT_PAGES, pages: (to - from) * EXTENT_PAGES })
    }

    pub fn rest(&mut self, resting: Resting) {
        self.resting.push(resting);
    }

    /// Takes out the places that the daemon is done with and that no guard is on.
    pub fn rested(&mut self, is_done: impl Fn(&Resting) -> bool) -> Vec<Resting> {
        self.resting.extract_if(.., |resting| is_done(resting)).collect()
    }

    pub fn has_resting(&self) -> bool {
        !self.resting.is_empty()
    }

    #[cfg(test)]
    pub fn free_pages(&self) -> u64 {
        self.free.free_units()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_is_punched_when_its_last_page_is_free() {
        let mut places = Places::new(3 * EXTENT_PAGES);
        let first = places.take(EXTENT_PAGES - 1).expect("there is room");
        let across = places.take(2).expect("there is room");
        let rest = places.take(2 * EXTENT_PAGES - 1).expect("there is room");
        assert_eq!(places.give(&first), None);
        assert_eq!(places.give(&across), Some(Place { page: 0, pages: EXTENT_PAGES }));
        assert_eq!(places.give(&rest), Some(Place { page: EXTENT_PAGES, pages: 2 * EXTENT_PAGES }));
    }

    #[test]
    fn a_place_rests_until_its_batch_or_its_connection_has_ended() {
        let until = Until::BatchEnds { batch: 5, connection: 2 };
        assert!(!until.has_come(5, 1));
        assert!(until.has_come(6, 1));
        assert!(until.has_come(5, 2));
        assert!(Until::BatchEnds { batch: 6, connection: 2 }.has_come(6, 1));
        assert!(Until::Now.has_come(5, 0));
    }
}
