//! Bundles: small objects that share an entry, and with it a place, a record and a checksum.
//!
//! Invariants: two objects of a bundle share no byte; a bundle has its entry for as long as it has an object; a put restores nothing.
//! Source: Marvin (Lebeck 2020) 4.6.2 puts small objects together, too. Here a bundle's free room is used again while it is in memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::BUNDLE_BYTES;
use crate::runs::Runs;

/// The unit of room in a bundle.
const UNIT_BYTES: u64 = 16;
const UNITS: u64 = BUNDLE_BYTES / UNIT_BYTES;
/// How many bundles with room a put looks at, before it makes another one.
const LOOKS: usize = 8;

/// The bundles of a region.
#[derive(Debug, Default)]
pub struct Bundles {
    known: BTreeMap<u32, Bundle>,
    /// The bundle that the last object went into.
    open: Option<u32>,
    /// Bundles of which at least half is free.
    roomy: BTreeSet<u32>,
}

#[derive(Debug)]
struct Bundle {
    free: Runs,
    objects: u32,
}

/// The place of an object in a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub entry: u32,
    /// The first of its units.
    pub unit: u16,
}

impl Spot {
    /// Where the object begins in its bundle, in bytes.
    pub fn offset(self) -> u64 {
        u64::from(self.unit) * UNIT_BYTES
    }
}

fn units_of(bytes: u64) -> u64 {
    bytes.div_ceil(UNIT_BYTES).max(1)
}

impl Bundles {
    /// Takes room for so many bytes in a bundle that is in memory, as `is_usable` says of its entry.
    pub fn take(&mut self, bytes: u64, is_usable: impl Fn(u32) -> bool) -> Option<Spot> {
        let first = self.open.into_iter().chain(self.roomy.iter().copied().take(LOOKS));
        let entries: Vec<u32> = first.filter(|&entry| is_usable(entry)).collect();
        entries.into_iter().find_map(|entry| self.take_in(entry, bytes))
    }

    fn take_in(&mut self, entry: u32, bytes: u64) -> Option<Spot> {
        let bundle = self.known.get_mut(&entry)?;
        let unit = bundle.free.take(units_of(bytes))?;
        bundle.objects += 1;
        self.open = Some(entry);
        self.note_room(entry);
        Some(Spot { entry, unit: u16::try_from(unit).expect("a bundle has fewer units") })
    }

    /// Adds an empty bundle, and takes room in it.
    pub fn add(&mut self, entry: u32, bytes: u64) -> Spot {
        self.known.insert(entry, Bundle { free: Runs::new(UNITS), objects: 0 });
        self.take_in(entry, bytes).expect("an empty bundle has room for a small object")
    }

    /// Gives an object's room back. Returns whether its bundle is empty now, and forgotten.
    pub fn give(&mut self, spot: Spot, bytes: u64) -> bool {
        let bundle = self.known.get_mut(&spot.entry).expect("a bundle with an object is known");
        bundle.free.give(spot.unit.into(), units_of(bytes));
        bundle.objects -= 1;
        if bundle.objects > 0 {
            self.note_room(spot.entry);
            return false;
        }
        self.known.remove(&spot.entry);
        self.roomy.remove(&spot.entry);
        self.open = self.open.filter(|&open| open != spot.entry);
        true
    }

    fn note_room(&mut self, entry: u32) {
        let is_roomy = self.known.get(&entry).is_some_and(|bundle| bundle.free.free_units() * 2 >= UNITS);
        if is_roomy {
            self.roomy.insert(entry);
        } else {
            self.roomy.remove(&entry);
        }
    }

    /// How many objects an entry has: one, if it is no bundle.
    pub fn objects(&self, entry: u32) -> u64 {
        self.known.get(&entry).map_or(1, |bundle| bundle.objects.into())
    }
}

#[cfg(test)]
mod tests;
