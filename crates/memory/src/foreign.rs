//! The daemon's side: taking the memory of another process, which may run, be stopped, or lie.
//!
//! Invariants: only a place that lies within the region, of an entry that this side has claimed and no hazard slot names, is punched;
//! nothing that the program wrote is trusted beyond that.
//! Source: Marvin (Lebeck 2020) 4.5.3, reclaiming objects. Deviation: a barrier a batch instead of a lock an object.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use crate::clock::Warmth;
use crate::error::ForeignError;
use crate::limits::{ENTRIES_MAX, OBJECT_BYTES_MAX, PAGE_BYTES, REGION_BYTES_MAX};
use crate::region::data::{pages_of, punch};
use crate::region::memory_file::sealed_bytes;
use crate::region::table::{MAGIC, Mode, Table, VERSION, barrier};
use crate::word::Word;

/// How many entries are claimed together: 16 MiB of objects of one page. The program's readers wait or move while a batch lasts.
const BATCH: usize = 4096;

/// The region of another program.
#[derive(Debug)]
pub struct Foreign {
    data: OwnedFd,
    data_bytes: u64,
    table: Table,
}

/// An entry that may be claimed, and its place, checked to be within the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub index: u32,
    pub offset: u64,
    pub bytes: u64,
    warmth: Warmth,
    word: Word,
}

/// The memory that was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Bytes of pages.
    pub bytes: u64,
    pub objects: u64,
    /// Claims on objects that were in use.
    pub given_back: u64,
    /// Calls to the kernel.
    pub holes: u64,
}

/// The contents of a table, as it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    pub objects: u64,
    pub resident_bytes: u64,
    pub reclaimable_bytes: u64,
    /// The part of the reclaimable bytes that the Clock calls cold.
    pub cold_bytes: u64,
    /// The resident bytes of objects that were written in the Clock's last four rounds.
    pub working_set_bytes: u64,
    /// Entries whose place is not within the region.
    pub lies: u64,
}

impl Foreign {
    /// Takes the descriptors that a program sent.
    ///
    /// # Errors
    /// When they are not a region and its table.
    pub fn open(data: OwnedFd, table: OwnedFd) -> Result<Foreign, ForeignError> {
        let data_bytes = sealed_bytes(&data).ok_or(ForeignError::NotSealed { which: "region" })?;
        let table_bytes = sealed_bytes(&table).ok_or(ForeignError::NotSealed { which: "table" })?;
        if data_bytes > REGION_BYTES_MAX + REGION_BYTES_MAX / 8 + (4 << 20) || !data_bytes.is_multiple_of(PAGE_BYTES) {
            return Err(ForeignError::Sizes { what: "the region is larger than any, or not made of pages" });
        }
        if table_bytes < Table::bytes_for(0) {
            return Err(ForeignError::NotATable { version: VERSION });
        }
        let header = Table::of(&table, 0).map_err(ForeignError::Memory)?;
        let read = header.header();
        let entries_max = read.entries_max.load(Ordering::Relaxed);
        if read.magic.load(Ordering::Relaxed) != MAGIC || read.version.load(Ordering::Relaxed) != VERSION {
            return Err(ForeignError::NotATable { version: VERSION });
        }
        if read.data_bytes.load(Ordering::Relaxed) != data_bytes {
            return Err(ForeignError::Sizes { what: "the table is of a region of another size" });
        }
        if entries_max > ENTRIES_MAX || Table::bytes_for(entries_max) != table_bytes {
            return Err(ForeignError::Sizes { what: "the table has another size than its entries" });
        }
        let table = Table::of(&table, entries_max).map_err(ForeignError::Memory)?;
        Ok(Foreign { data, data_bytes, table })
    }

    #[must_use]
    pub fn is_background(&self) -> bool {
        self.table.mode() == Mode::Background
    }

    /// The memory that the kernel counts for the region, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let blocks = rustix::fs::fstat(&self.data).map_or(0, |found| found.st_blocks);
        u64::try_from(blocks).unwrap_or(0) * 512
    }

    /// Reads the whole table.
    #[must_use]
    pub fn survey(&self) -> Survey {
        let mut survey = Survey::default();
        for index in 0..self.table.entries_used() {
            let entry = self.table.entry(index);
            let word = entry.word();
            if !word.is_valid() {
                continue;
            }
            let bytes = entry.bytes.load(Ordering::Relaxed);
            if !self.is_within(entry.offset.load(Ordering::Relaxed), bytes) {
                survey.lies += 1;
                continue;
            }
            survey.objects += 1;
            let bytes = pages_of(bytes) * PAGE_BYTES;
            let warmth = entry.registers_now().warmth();
            let may_be_taken = word.claimed(0).is_some();
            let if_so = |counts: bool| if counts { bytes } else { 0 };
            survey.resident_bytes += if_so(word.is_resident());
            survey.reclaimable_bytes += if_so(may_be_taken);
            survey.cold_bytes += if_so(may_be_taken && warmth == Warmth::Cold);
            survey.working_set_bytes += if_so(word.is_resident() && warmth == Warmth::Written);
        }
        survey
    }

    fn is_within(&self, offset: u64, bytes: u64) -> bool {
        let end =
            bytes.checked_next_multiple_of(PAGE_BYTES).and_then(|bytes| offset.checked_add(bytes.max(PAGE_BYTES)));
        bytes <= OBJECT_BYTES_MAX && offset.is_multiple_of(PAGE_BYTES) && end.is_some_and(|end| end <= self.data_bytes)
    }

    /// The entries that may be claimed: cold ones first, the working set last, each in the order of their places.
    #[must_use]
    pub fn candidates(&self) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> =
            (0..self.table.entries_used()).filter_map(|index| self.candidate(index)).collect();
        candidates.sort_unstable_by_key(|candidate| (candidate.warmth, candidate.offset));
        candidates
    }

    fn candidate(&self, index: u32) -> Option<Candidate> {
        let entry = self.table.entry(index);
        let word = entry.word();
        word.claimed(0)?;
        let (offset, bytes) = (entry.offset.load(Ordering::Relaxed), entry.bytes.load(Ordering::Relaxed));
        let warmth = entry.registers_now().warmth();
        self.is_within(offset, bytes).then_some(Candidate { index, offset, bytes, warmth, word })
    }

    /// Takes up to so many bytes, in batches, for as long as `goes_on` says so. Cold objects go first, the working set last.
    ///
    /// # Errors
    /// When the kernel makes no holes.
    pub fn reclaim(&self, bytes_max: u64, goes_on: impl Fn() -> bool) -> io::Result<Reclaimed> {
        let candidates = self.candidates();
        let mut rest = candidates.as_slice();
        let mut sum = Reclaimed::default();
        while !rest.is_empty() && sum.bytes < bytes_max && goes_on() {
            let count = self.count_for(rest, bytes_max - sum.bytes);
            let (now, later) = rest.split_at(count);
            rest = later;
            let mut batch = self.claim(now);
            batch.give_back_what_is_used();
            let punched = batch.punch();
            let taken = batch.end();
            sum.bytes += taken.bytes;
            sum.objects += taken.objects;
            sum.given_back += taken.given_back;
            sum.holes += taken.holes;
            punched?;
        }
        Ok(sum)
    }

    /// How many of the first candidates make up so many bytes.
    fn count_for(&self, candidates: &[Candidate], bytes_max: u64) -> usize {
        let mut bytes = 0;
        let batch = &candidates[..candidates.len().min(BATCH)];
        let before = batch.iter().take_while(|candidate| {
            let needed = bytes < bytes_max;
            bytes += pages_of(candidate.bytes) * PAGE_BYTES;
            needed
        });
        before.count()
    }

    /// Begins a batch: marks its entries. A batch that is dropped is as one whose daemon died.
    #[must_use]
    pub fn claim(&self, candidates: &[Candidate]) -> Batch<'_> {
        let counter = &self.table.header().batch;
        // The next odd number. If there is an odd one already, a daemon died in that batch.
        let number = counter.load(Ordering::SeqCst).wrapping_add(1) | 1;
        counter.store(number, Ordering::SeqCst);
        let epoch = u8::try_from((number >> 1) & 0xff).expect("eight bits fit into eight");
        let mut claims = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let claimed = candidate.word.claimed(epoch).expect("a candidate may be claimed");
            if self.table.entry(candidate.index).change(candidate.word, claimed) {
                claims.push((*candidate, claimed));
            }
        }
        Batch { foreign: self, number, claims, given_back: 0, holes: 0 }
    }
}

/// Claims on entries of a region, from the first mark to the end.
#[derive(Debug)]
pub struct Batch<'a> {
    foreign: &'a Foreign,
    number: u64,
    claims: Vec<(Candidate, Word)>,
    given_back: u64,
    holes: u64,
}

impl Batch<'_> {
    /// Waits until every guard that came before the marks can be seen, and gives back what is in use.
    pub fn give_back_what_is_used(&mut self) {
        barrier();
        let table = &self.foreign.table;
        let hazards = table.hazards();
        let before = self.claims.len();
        self.claims.retain(|(candidate, claimed)| {
            let is_used = hazards.binary_search_by_key(&candidate.index, |(named, _)| *named).is_ok();
            if is_used {
                let back = claimed.given_back().expect("the word is claimed");
                // If it is not as it was any more, a reader has taken the claim over.
                table.entry(candidate.index).change(*claimed, back);
            }
            !is_used
        });
        self.given_back += (before - self.claims.len()) as u64;
    }

    /// Makes the holes, as few as the places allow.
    ///
    /// # Errors
    /// When the kernel makes none. The batch is ended all the same: the bytes are saved.
    pub fn punch(&mut self) -> io::Result<()> {
        let mut joined: Option<(u64, u64)> = None;
        let mut punched = Ok(());
        let mut holes = 0;
        let mut make = |(start, end): (u64, u64)| {
            holes += 1;
            punched = std::mem::replace(&mut punched, Ok(())).and(punch(self.foreign.data.as_fd(), start, end - start));
        };
        for (candidate, _) in &self.claims {
            let (start, end) = (candidate.offset, candidate.offset + pages_of(candidate.bytes) * PAGE_BYTES);
            joined = match joined {
                Some((first, last)) if last == start => Some((first, end)),
                Some(hole) => {
                    make(hole);
                    Some((start, end))
                }
                None => Some((start, end)),
            };
        }
        if let Some(hole) = joined {
            make(hole);
        }
        self.holes += holes;
        punched
    }

    /// Says of every entry that its memory is gone, and that the batch is done.
    pub fn end(self) -> Reclaimed {
        let mut reclaimed = Reclaimed { given_back: self.given_back, holes: self.holes, ..Reclaimed::default() };
        for (candidate, claimed) in &self.claims {
            let gone = claimed.reclaimed().expect("the word is claimed");
            if self.foreign.table.entry(candidate.index).change(*claimed, gone) {
                reclaimed.objects += 1;
                reclaimed.bytes += pages_of(candidate.bytes) * PAGE_BYTES;
            }
        }
        self.foreign.table.header().batch.store(self.number.wrapping_add(1), Ordering::SeqCst);
        reclaimed
    }
}
