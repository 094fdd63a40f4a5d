//! Pools and slots: how a thread puts objects into a region and gets at them.
//!
//! Invariant: a pool is used by one thread at a time, so that the hazard slots of its line need no lock.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::clock::Registers;
use crate::error::{PoolError, PutError};
use crate::limits::{OBJECT_BYTES_MAX, POOLS_MAX};
use crate::region::data::pages_of;
use crate::region::table::{Line, NOT_IN_SWAP};
use crate::shared::Shared;

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
        let shared = &self.shared;
        let mut place = shared.take_place(pages_of(length.into())).ok_or(PutError::RegionFull)?;
        let filled = shared.data.fill(&mut place, length.into(), |into| into.copy_from_slice(bytes));
        let index = filled.ok().and_then(|()| shared.take_entry());
        let Some(index) = index else {
            shared.give_place(&place);
            return Err(PutError::RegionFull);
        };
        let entry = shared.table.entry(index);
        entry.offset.store(place.offset(), Ordering::Relaxed);
        entry.bytes.store(length.into(), Ordering::Relaxed);
        entry.swap_at.store(NOT_IN_SWAP, Ordering::Relaxed);
        entry.was_written.store(1, Ordering::Relaxed);
        entry.set_registers(Registers::NEW);
        entry.set_at_rest(Registers::NEW);
        let word = entry.word();
        let put = word.put().expect("the entry was free");
        assert!(entry.change(word, put), "nobody else changes a free entry");
        Ok(Slot { shared: Arc::clone(shared), index, bytes: length })
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

    /// The number of the object's entry, as errors name it.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.index
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.drop_object(self.index, self.bytes.into());
    }
}
