//! The reclamation table in shared memory: a header, a line of hazard slots for each pool, and an entry for each object.
//!
//! Invariant: everything in it is an atomic, because another process reads and changes it.
//! Source: Marvin (Lebeck 2020) 4.5.2. The page docs/protocols/memory.md has the layout.
#![allow(unsafe_code, reason = "the table's types are laid over shared memory")]

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::mapping::Mapping;
use crate::clock::Registers;
use crate::limits::{ENTRIES_MAX, GUARDS_MAX, PAGE_BYTES, POOLS_MAX};
use crate::steps::{Point, at};
use crate::word::Word;

/// "IOLITEMT", the first bytes of a table.
pub const MAGIC: u64 = u64::from_le_bytes(*b"IOLITEMT");
/// The version of this layout.
pub const VERSION: u32 = 2;

const LINES_AT: u64 = PAGE_BYTES;
const ENTRIES_AT: u64 = LINES_AT + POOLS_MAX as u64 * size_of::<Line>() as u64;

/// The first page of a table.
#[derive(Debug)]
#[repr(C)]
pub struct Header {
    pub magic: AtomicU64,
    pub version: AtomicU32,
    pub entries_max: AtomicU32,
    pub data_bytes: AtomicU64,
    /// No entry from this one on was ever used.
    pub entries_used: AtomicU32,
    /// No line from this one on was ever used.
    pub lines_used: AtomicU32,
    /// See [`Mode`].
    pub mode: AtomicU32,
    unused: AtomicU32,
    /// Counted up by the daemon when a batch of claims begins and when it is done: odd while it has claims.
    pub batch: AtomicU64,
}

/// Whether the daemon may take anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Foreground,
    Background,
}

/// The hazard slots of one pool. A slot holds 0, or the number of an entry plus one.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Line {
    /// One for each guard, and the last one for the pool's own puts into bundles.
    pub slots: [AtomicU64; GUARDS_MAX + 1],
}

/// Set in a hazard slot by a guard that writes.
pub const WRITES: u64 = 1 << 63;

/// One object.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Entry {
    word: AtomicU64,
    /// Where the object is in the region.
    pub offset: AtomicU64,
    pub bytes: AtomicU64,
    /// Where the object is in the swap file; [`NOT_IN_SWAP`] if it is not there.
    pub swap_at: AtomicU64,
    /// CRC-32C of what was saved.
    pub crc: AtomicU32,
    /// The first reference of the object in the table's side memory: a later stage.
    pub first_reference: AtomicU32,
    /// Set by each guard, plainly: whoever estimates the working set clears it.
    pub was_read: AtomicU8,
    pub was_written: AtomicU8,
    /// The Clock's shift registers.
    registers: AtomicU8,
    /// The registers at the last change to the background.
    at_rest: AtomicU8,
}

pub const NOT_IN_SWAP: u64 = u64::MAX;

impl Entry {
    pub fn word(&self) -> Word {
        Word::from_bits(self.word.load(Ordering::Acquire))
    }

    /// Changes the word if it still is what it was. A full barrier on either side, as every exchange on the machines that this is for.
    pub fn change(&self, from: Word, to: Word) -> bool {
        self.word.compare_exchange(from.bits(), to.bits(), Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    pub fn registers(&self) -> Registers {
        Registers::from_bits(self.registers.load(Ordering::Relaxed))
    }

    /// The registers, with what guards have said since they were last moved on.
    pub fn registers_now(&self) -> Registers {
        let was = |bit: &AtomicU8| bit.load(Ordering::Relaxed) != 0;
        self.registers().with(was(&self.was_read), was(&self.was_written))
    }

    pub fn set_registers(&self, registers: Registers) {
        self.registers.store(registers.bits(), Ordering::Relaxed);
    }

    /// The use of the object in the last rounds of the last foreground.
    pub fn at_rest(&self) -> Registers {
        Registers::from_bits(self.at_rest.load(Ordering::Relaxed))
    }

    pub fn set_at_rest(&self, registers: Registers) {
        self.at_rest.store(registers.bits(), Ordering::Relaxed);
    }
}

/// The mapped table.
#[derive(Debug)]
pub struct Table {
    mapping: Mapping,
    entries_max: u32,
}

impl Table {
    /// How many bytes a table for so many entries has.
    pub fn bytes_for(entries_max: u32) -> u64 {
        let bytes = ENTRIES_AT + u64::from(entries_max) * size_of::<Entry>() as u64;
        bytes.next_multiple_of(PAGE_BYTES)
    }

    /// Maps a table. `entries_max` is what the caller knows to fit into the file.
    pub fn of(file: impl AsFd, entries_max: u32) -> io::Result<Table> {
        assert!(entries_max <= ENTRIES_MAX, "the caller has checked it");
        Ok(Table { mapping: Mapping::of(file, Table::bytes_for(entries_max), false)?, entries_max })
    }

    pub fn entries_max(&self) -> u32 {
        self.entries_max
    }

    pub fn header(&self) -> &Header {
        let at = self.mapping.pointer(0, size_of::<Header>());
        // SAFETY: within the mapping, page-aligned, all fields are atomics for which every bit pattern is a value, and it lives as long as `self`.
        unsafe { at.cast::<Header>().as_ref() }
    }

    /// # Panics
    /// When there is no such line.
    pub fn line(&self, line: u32) -> &Line {
        assert!(line < POOLS_MAX, "there is no line {line}");
        let at = self.mapping.pointer(LINES_AT + u64::from(line) * size_of::<Line>() as u64, size_of::<Line>());
        // SAFETY: as for the header; lines begin at a page and are 64 bytes long.
        unsafe { at.cast::<Line>().as_ref() }
    }

    /// # Panics
    /// When there is no such entry.
    pub fn entry(&self, entry: u32) -> &Entry {
        assert!(entry < self.entries_max, "there is no entry {entry}");
        let at = self.mapping.pointer(ENTRIES_AT + u64::from(entry) * size_of::<Entry>() as u64, size_of::<Entry>());
        // SAFETY: as for the header; entries begin at a multiple of 64 and are 64 bytes long.
        unsafe { at.cast::<Entry>().as_ref() }
    }

    /// How many entries may be in use: never more than there are, whatever the other process wrote.
    pub fn entries_used(&self) -> u32 {
        self.header().entries_used.load(Ordering::Acquire).min(self.entries_max)
    }

    pub fn mode(&self) -> Mode {
        match self.header().mode.load(Ordering::Acquire) {
            1 => Mode::Background,
            _ => Mode::Foreground,
        }
    }

    pub fn set_mode(&self, mode: Mode) {
        let number = match mode {
            Mode::Foreground => 0,
            Mode::Background => 1,
        };
        self.header().mode.store(number, Ordering::Release);
    }

    /// The entries that hazard slots name, in order, with whether a guard writes. Call it after a barrier.
    pub fn hazards(&self) -> Vec<(u32, bool)> {
        let used = self.header().lines_used.load(Ordering::Acquire).min(POOLS_MAX);
        let slots = (0..used).flat_map(|line| &self.line(line).slots);
        let named = slots.map(|slot| slot.load(Ordering::Acquire)).filter(|&value| value != 0);
        let mut hazards: Vec<(u32, bool)> = named
            .filter_map(|value| Some((u32::try_from((value & !WRITES).wrapping_sub(1)).ok()?, value & WRITES != 0)))
            .collect();
        hazards.sort_unstable();
        hazards
    }
}

/// Makes every store to memory that a thread of a registered program has made so far visible, and the same the other way round:
/// what the program pays with one plain store, its counterpart pays with this call.
pub fn barrier() {
    at(Point::Barrier);
    let passed = rustix::thread::membarrier(rustix::thread::MembarrierCommand::GlobalExpedited);
    assert!(passed.is_ok(), "the kernel has the barrier: it was asked when the region was made ({passed:?})");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_the_page() {
        assert_eq!((size_of::<Line>(), size_of::<Entry>()), (64, 64));
        let page = include_str!("../../../../docs/protocols/memory.md");
        for at in [0, LINES_AT, ENTRIES_AT] {
            assert!(page.contains(&format!("\n| {at} | ")), "docs/protocols/memory.md has no row for {at}");
        }
        assert_eq!(std::mem::offset_of!(Header, batch), 40);
        assert_eq!(std::mem::offset_of!(Entry, was_read), 40);
        assert_eq!(Table::bytes_for(1), 4096 + 65536 + 4096);
    }
}
