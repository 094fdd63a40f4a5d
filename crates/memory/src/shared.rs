//! The state that a region, its pools, its slots and its threads share.
//!
//! Invariant: no lock is held while anybody waits for the daemon.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::bundles::{Bundles, Spot};
use crate::counts::Counters;
use crate::error::SaveError;
use crate::limits::BUNDLE_BYTES;
use crate::places::{Places, Resting, Until};
use crate::region::data::{Data, Place};
use crate::region::table::{Entry, NOT_IN_SWAP, Table, barrier};
use crate::steps::{Point, at};
use crate::swap::{Record, Swap};
use crate::word::Word;

const LOCKED: &str = "nothing panics while it holds this lock";
const STRIPES: usize = 256;

/// Everything of a region but its threads.
#[derive(Debug)]
pub struct Shared {
    pub data: Data,
    pub table: Table,
    pub swap: Option<Swap>,
    pub counters: Counters,
    pub saver: SaverState,
    pub daemon: Mutex<DaemonState>,
    /// `None` where each object has an entry of its own.
    pub bundles: Option<Mutex<Bundles>>,
    places: Mutex<Places>,
    free: Mutex<Free>,
    /// Held by a thread that restores, saves or drops an object, one of many by the entry's number.
    stripes: Vec<Mutex<()>>,
}

/// Numbers that are not in use.
#[derive(Debug, Default)]
struct Free {
    entries: Vec<u32>,
    entries_used: u32,
    lines: BTreeSet<u32>,
    lines_used: u32,
}

/// The daemon as far as the program knows it.
#[derive(Debug, Default)]
pub struct DaemonState {
    /// The number of the connection that there is, counted from 1.
    pub connected: Option<u64>,
    pub connections: u64,
    /// Every connection up to this one has ended at the daemon's side.
    pub ended: u64,
}

/// The order to the saving thread.
#[derive(Debug, Default)]
pub struct SaverState {
    pub wish: Mutex<Wish>,
    pub woken: Condvar,
    pub is_ending: AtomicBool,
    /// One saver at a time.
    pub turn: Mutex<()>,
    pub last_error: Mutex<Option<SaveError>>,
    pub passes: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    #[default]
    Nothing,
    /// Save everything, also what was written a moment ago.
    Everything,
}

impl Shared {
    pub fn new(data: Data, table: Table, swap: Option<Swap>, pages: u64, has_bundles: bool) -> Shared {
        Shared {
            data,
            table,
            swap,
            counters: Counters::default(),
            saver: SaverState::default(),
            daemon: Mutex::default(),
            bundles: has_bundles.then(Mutex::default),
            places: Mutex::new(Places::new(pages)),
            free: Mutex::default(),
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
        }
    }

    pub fn stripe(&self, entry: u32) -> MutexGuard<'_, ()> {
        self.stripes[entry as usize % STRIPES].lock().expect(LOCKED)
    }

    #[cfg(test)]
    pub fn is_striped(&self, entry: u32) -> bool {
        self.stripes[entry as usize % STRIPES].try_lock().is_err()
    }

    pub fn take_entry(&self) -> Option<u32> {
        let mut free = self.free.lock().expect(LOCKED);
        if let Some(entry) = free.entries.pop() {
            return Some(entry);
        }
        let entry = free.entries_used;
        if entry == self.table.entries_max() {
            return None;
        }
        free.entries_used += 1;
        self.table.header().entries_used.store(free.entries_used, Ordering::Release);
        Some(entry)
    }

    pub fn give_entry(&self, entry: u32) {
        self.free.lock().expect(LOCKED).entries.push(entry);
    }

    pub fn take_line(&self, most: u32) -> Option<u32> {
        let mut free = self.free.lock().expect(LOCKED);
        if let Some(line) = free.lines.pop_first() {
            return Some(line);
        }
        let line = free.lines_used;
        if line == most {
            return None;
        }
        free.lines_used += 1;
        self.table.header().lines_used.store(free.lines_used, Ordering::Release);
        Some(line)
    }

    pub fn give_line(&self, line: u32) {
        self.free.lock().expect(LOCKED).lines.insert(line);
    }

    /// Takes pages; first those that never had a claim, then those that have rested.
    pub fn take_place(&self, pages: u64) -> Option<Place> {
        let mut places = self.places.lock().expect(LOCKED);
        places.take(pages).or_else(|| {
            self.end_rests(&mut places);
            places.take(pages)
        })
    }

    pub fn give_place(&self, place: &Place) {
        let mut places = self.places.lock().expect(LOCKED);
        self.give_locked(&mut places, place);
    }

    fn give_locked(&self, places: &mut Places, place: &Place) {
        if let Some(extents) = places.give(place) {
            // The pages are free either way; the kernel just does not have them back.
            let _ = self.data.punch(extents.page, extents.pages);
        }
    }

    /// Puts a place aside that an object left while a claim was on it.
    pub fn rest(&self, place: Place, entry: u32) {
        let until = {
            let daemon = self.daemon.lock().expect(LOCKED);
            let batch = self.table.header().batch.load(Ordering::SeqCst);
            daemon.connected.map_or(Until::Now, |connection| Until::BatchEnds { batch, connection })
        };
        self.places.lock().expect(LOCKED).rest(Resting { place, entry, until });
    }

    /// Frees the places that have rested.
    pub fn end_rests_now(&self) {
        self.end_rests(&mut self.places.lock().expect(LOCKED));
    }

    fn end_rests(&self, places: &mut Places) {
        if !places.has_resting() {
            return;
        }
        let ended = self.daemon.lock().expect(LOCKED).ended;
        let batch = self.table.header().batch.load(Ordering::SeqCst);
        barrier();
        let hazards = self.table.hazards();
        let is_held = |entry: u32| hazards.binary_search_by_key(&entry, |(named, _)| *named).is_ok();
        let rested = places.rested(|resting| resting.until.has_come(batch, ended) && !is_held(resting.entry));
        for resting in rested {
            self.give_locked(places, &resting.place);
        }
    }

    #[cfg(test)]
    pub fn free_pages(&self) -> u64 {
        self.places.lock().expect(LOCKED).free_pages()
    }

    /// Drops an object of a bundle, and the bundle with its last object. Reads nothing.
    pub fn drop_bundled(&self, spot: Spot, bytes: u64) {
        let bundles = self.bundles.as_ref().expect("the object is in a bundle");
        let is_empty = bundles.lock().expect(LOCKED).give(spot, bytes);
        if is_empty {
            self.drop_object(spot.entry, BUNDLE_BYTES);
        }
    }

    /// Drops an object: its place, its record and its entry are free.
    pub fn drop_object(&self, index: u32, bytes: u64) {
        let entry = self.table.entry(index);
        let stripe = self.stripe(index);
        at(Point::Drops);
        let word = free(entry);
        let place = Place::at(entry.offset.load(Ordering::Relaxed), bytes);
        if let Some(record) = take_record(entry, bytes)
            && let Some(swap) = &self.swap
        {
            swap.free_record(&record);
        }
        drop(stripe);
        if word.is_claimed() {
            self.rest(place, index);
        } else {
            self.give_place(&place);
        }
        self.give_entry(index);
    }
}

/// Frees the entry, whatever the daemon does with it meanwhile, and returns the word that it had.
fn free(entry: &Entry) -> Word {
    loop {
        let word = entry.word();
        let freed = word.freed().expect("a slot's entry holds its object until the slot is dropped");
        if entry.change(word, freed) {
            return word;
        }
    }
}

/// The entry's record, under the entry's stripe.
pub fn record_of(entry: &Entry, bytes: u64) -> Option<Record> {
    let at = entry.swap_at.load(Ordering::Relaxed);
    (at != NOT_IN_SWAP).then(|| Record { at, bytes, crc: entry.crc.load(Ordering::Relaxed) })
}

pub fn take_record(entry: &Entry, bytes: u64) -> Option<Record> {
    let record = record_of(entry, bytes);
    entry.swap_at.store(NOT_IN_SWAP, Ordering::Relaxed);
    record
}

pub fn set_record(entry: &Entry, record: &Record) {
    entry.swap_at.store(record.at, Ordering::Relaxed);
    entry.crc.store(record.crc, Ordering::Relaxed);
}
