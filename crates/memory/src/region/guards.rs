//! Guards: the only way to an object's bytes.
//!
//! Invariants: a guard's hazard slot names its entry for as long as the bytes are lent; a writer's object is dirty before its first byte is lent.
//! The bytes have the borrows of `Slot` and `Pool`: readers and the one writer of an object are kept apart by the compiler.
#![allow(unsafe_code, reason = "a guard lends bytes of shared memory")]

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use super::table::{Entry, WRITES};
use crate::bundles::Spot;
use crate::error::AccessError;
use crate::limits::GUARDS_MAX;
use crate::pool::{Pool, Slot};
use crate::restoring;
use crate::steps::{Point, at};

/// An object's bytes, to read.
#[derive(Debug)]
pub struct ReadGuard<'a> {
    bytes: &'a [u8],
    _hazard: Hazard<'a>,
}

/// An object's bytes, to change.
#[derive(Debug)]
pub struct WriteGuard<'a> {
    bytes: &'a mut [u8],
    _hazard: Hazard<'a>,
}

/// A hazard slot that names an entry until it is dropped.
#[derive(Debug)]
struct Hazard<'a> {
    slot: &'a AtomicU64,
    taken: &'a Cell<u8>,
    bit: u8,
}

impl<'a> Hazard<'a> {
    fn publish(pool: &'a Pool, value: u64) -> Result<Hazard<'a>, AccessError> {
        let taken = &pool.taken;
        let free = taken.get().trailing_ones();
        let Some(slot) = pool.line().slots[..GUARDS_MAX].get(free as usize) else {
            return Err(AccessError::TooManyGuards { most: GUARDS_MAX });
        };
        let bit = 1 << free;
        taken.set(taken.get() | bit);
        slot.store(value, Ordering::Relaxed);
        // The processor may still delay the store past the loads that follow; whoever needs to see it calls the barrier. Only the compiler must not.
        compiler_fence(Ordering::SeqCst);
        Ok(Hazard { slot, taken, bit })
    }
}

impl Drop for Hazard<'_> {
    fn drop(&mut self) {
        self.slot.store(0, Ordering::Release);
        self.taken.set(self.taken.get() & !self.bit);
    }
}

impl Pool {
    /// Lends an object's bytes, and restores them first if memoryd took them.
    ///
    /// # Errors
    /// When the saved bytes are not what was saved, or cannot be read; when memoryd was stopped with a claim on the object and there is no place to move it to;
    /// and when this pool has lent 4 already.
    ///
    /// # Panics
    /// When the slot is of another region.
    pub fn read<'a>(&'a self, slot: &'a Slot) -> Result<ReadGuard<'a>, AccessError> {
        let entry = self.entry_of(slot);
        let hazard = Hazard::publish(self, u64::from(slot.index) + 1)?;
        let offset = loop {
            if let Some(offset) = usable_place(entry) {
                break offset;
            }
            restoring::make_usable(&self.shared, slot.index)?;
        };
        entry.was_read.store(1, Ordering::Relaxed);
        // SAFETY: the hazard slot was published before the word was found usable, and stays until the guard is dropped; `slot` is borrowed, and no
        // other object has its bytes.
        let bytes = unsafe { self.shared.data.bytes(offset + slot.offset(), slot.bytes as usize) };
        Ok(ReadGuard { bytes, _hazard: hazard })
    }

    /// Lends an object's bytes to be changed, and restores them first if memoryd took them. They count as not saved from now on.
    ///
    /// # Errors
    /// As for [`Pool::read`].
    ///
    /// # Panics
    /// When the slot is of another region.
    pub fn write<'a>(&'a self, slot: &'a mut Slot) -> Result<WriteGuard<'a>, AccessError> {
        let slot = &*slot;
        let entry = self.entry_of(slot);
        let hazard = Hazard::publish(self, (u64::from(slot.index) + 1) | WRITES)?;
        while !is_dirty_now(entry) {
            restoring::make_usable(&self.shared, slot.index)?;
        }
        entry.was_written.store(1, Ordering::Relaxed);
        // A dirty object is not claimed, so nobody moves it.
        let offset = entry.offset.load(Ordering::Relaxed);
        // SAFETY: as for a reader; the word was dirty after the slot was published, and the `Slot` was borrowed mutably by the caller.
        let bytes = unsafe { self.shared.data.bytes_mut(offset + slot.offset(), slot.bytes as usize) };
        Ok(WriteGuard { bytes, _hazard: hazard })
    }

    /// Fills an object of a bundle that nobody else knows yet. Returns whether it did: memoryd may have claimed the bundle.
    pub(crate) fn fill(&self, spot: Spot, content: &[u8]) -> bool {
        let entry = self.shared.table.entry(spot.entry);
        let [.., hazard] = &self.line().slots;
        hazard.store((u64::from(spot.entry) + 1) | WRITES, Ordering::Relaxed);
        // As for a guard.
        compiler_fence(Ordering::SeqCst);
        let is_filled = is_dirty_now(entry);
        if is_filled {
            entry.was_written.store(1, Ordering::Relaxed);
            at(Point::PutFills);
            let offset = entry.offset.load(Ordering::Relaxed) + spot.offset();
            // SAFETY: as for a writer: the word was dirty after the slot was published. The spot was taken for this object, so no other one has its bytes.
            unsafe { self.shared.data.bytes_mut(offset, content.len()) }.copy_from_slice(content);
        }
        hazard.store(0, Ordering::Release);
        is_filled
    }

    fn entry_of(&self, slot: &Slot) -> &Entry {
        assert!(Arc::ptr_eq(&self.shared, &slot.shared), "the slot is of another region");
        self.shared.table.entry(slot.index)
    }
}

/// Where the object is, if it is in memory. The word is read again after the place: another thread that takes a claim over changes the place
/// before the bytes are there, and a reader that found the word usable before the claim would take the new place for the old one.
pub(crate) fn usable_place(entry: &Entry) -> Option<u64> {
    let word = entry.word();
    at(Point::ReaderSawWord);
    let offset = entry.offset.load(Ordering::Acquire);
    (word.is_usable() && entry.word() == word).then_some(offset)
}

/// Announces a write, if the object is in memory.
fn is_dirty_now(entry: &Entry) -> bool {
    loop {
        let word = entry.word();
        match word.dirtied() {
            None => return false,
            Some(dirty) if dirty == word || entry.change(word, dirty) => return true,
            Some(_) => {}
        }
    }
}

impl Deref for ReadGuard<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl Deref for WriteGuard<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl DerefMut for WriteGuard<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes
    }
}
