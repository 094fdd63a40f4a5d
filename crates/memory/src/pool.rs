//! Pools and slots: how a thread puts objects into a region and gets at them.
//!
//! Invariant: a pool is used by one thread at a time, so that the hazard slots of its line need no lock.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use crate::bundles::{Bundles, Spot};
use crate::clock::Registers;
use crate::error::{PoolError, PutError};
use crate::limits::{BUNDLE_BYTES, OBJECT_BYTES_MAX, POOLS_MAX, SMALL_BYTES};
use crate::region::data::pages_of;
use crate::region::table::{Line, NOT_IN_SWAP};
use crate::shared::Shared;
use crate::steps::{Point, at};

const LOCKED: &str = "nothing panics while it holds this lock";

/// A thread's way into a region. It may be sent to another thread, and is not shared: make one for each.
#[derive(Debug)]
pub struct Pool {
    pub(crate) shared: Arc<Shared>,
    line: u32,
    /// A bit for each hazard slot of the line that is in use.
    pub(crate) taken: Cell<u8>,
}

/// An object of a region. Dropping it frees its memory and its room in the swap file.
#[derive(Debug)]
pub struct Slot {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: u32,
    pub(crate) bytes: u32,
    /// Where the object begins in the entry's bundle, if it is small.
    unit: Option<u16>,
}

impl Pool {
    pub(crate) fn of(shared: Arc<Shared>) -> Result<Pool, PoolError> {
        let line = shared.take_line(POOLS_MAX).ok_or(PoolError::TooMany { most: POOLS_MAX })?;
        Ok(Pool { shared, line, taken: Cell::new(0) })
    }

    pub(crate) fn line(&self) -> &Line {
        self.shared.table.line(self.line)
    }

    /// Puts a copy of the bytes into the region.
    ///
    /// # Errors
    /// When the object is too large or the region is full.
    pub fn put(&self, bytes: &[u8]) -> Result<Slot, PutError> {
        let length = u32::try_from(bytes.len()).ok().filter(|&length| u64::from(length) <= OBJECT_BYTES_MAX);
        let Some(length) = length else {
            return Err(PutError::TooLarge { bytes: bytes.len() as u64, most: OBJECT_BYTES_MAX });
        };
        match &self.shared.bundles {
            Some(bundles) if u64::from(length) < SMALL_BYTES => self.put_in_bundle(bundles, length, bytes),
            Some(_) | None => {
                let index = self.put_alone(length.into(), |into| into.copy_from_slice(bytes))?;
                Ok(Slot { shared: Arc::clone(&self.shared), index, bytes: length, unit: None })
            }
        }
    }

    fn put_in_bundle(&self, bundles: &Mutex<Bundles>, length: u32, bytes: &[u8]) -> Result<Slot, PutError> {
        let shared = &self.shared;
        let is_usable = |entry: u32| shared.table.entry(entry).word().is_usable();
        loop {
            let spot = {
                let mut bundles = bundles.lock().expect(LOCKED);
                match bundles.take(length.into(), is_usable) {
                    Some(spot) => spot,
                    None => bundles.add(self.put_alone(BUNDLE_BYTES, |into| into.fill(0))?, length.into()),
                }
            };
            at(Point::PutTookRoom);
            if self.fill(spot, bytes) {
                return Ok(Slot {
                    shared: Arc::clone(shared),
                    index: spot.entry,
                    bytes: length,
                    unit: Some(spot.unit),
                });
            }
            // The bundle is not usable any more, so it is not taken again.
            shared.drop_bundled(spot, length.into());
        }
    }

    /// An entry with so many bytes of its own, written by the closure.
    fn put_alone(&self, length: u64, write: impl FnOnce(&mut [u8])) -> Result<u32, PutError> {
        let shared = &self.shared;
        let mut place = shared.take_place(pages_of(length)).ok_or(PutError::RegionFull)?;
        let filled = shared.data.fill(&mut place, length, write);
        let index = filled.ok().and_then(|()| shared.take_entry());
        let Some(index) = index else {
            shared.give_place(&place);
            return Err(PutError::RegionFull);
        };
        let entry = shared.table.entry(index);
        entry.offset.store(place.offset(), Ordering::Relaxed);
        entry.bytes.store(length, Ordering::Relaxed);
        entry.swap_at.store(NOT_IN_SWAP, Ordering::Relaxed);
        entry.was_written.store(1, Ordering::Relaxed);
        entry.set_registers(Registers::NEW);
        entry.set_at_rest(Registers::NEW);
        let word = entry.word();
        let put = word.put().expect("the entry was free");
        assert!(entry.change(word, put), "nobody else changes a free entry");
        Ok(index)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // A guard that was forgotten has left its hazard slot behind.
        for slot in &self.line().slots {
            slot.store(0, Ordering::Release);
        }
        self.shared.give_line(self.line);
    }
}

impl Slot {
    /// How long the object is.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.into()
    }

    /// The number of the object's entry, as errors name it. Objects of less than 2 KiB share one, and the saved bytes.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.index
    }

    /// Where the object begins in its entry's place, in bytes.
    pub(crate) fn offset(&self) -> u64 {
        self.spot().map_or(0, Spot::offset)
    }

    fn spot(&self) -> Option<Spot> {
        self.unit.map(|unit| Spot { entry: self.index, unit })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        match self.spot() {
            Some(spot) => self.shared.drop_bundled(spot, self.bytes.into()),
            None => self.shared.drop_object(self.index, self.bytes.into()),
        }
    }
}
