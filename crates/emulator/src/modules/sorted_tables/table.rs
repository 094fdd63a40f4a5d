//! The tables of one disk: one in memory, those that are being written, and those that are on disk.
//!
//! Invariant: a table in memory has its room on disk before it takes anything, so all that it took can be written. The room of a table that
//! another one replaces is free when its last reader has gone.

use std::collections::BTreeMap;

use super::space::{Piece, Space};
use crate::engine::{Content, Key, Version, scattered};

/// Before each value: key, version, length, checksum.
pub const HEADER_BYTES: u64 = 64;

/// A block of a table's index.
pub const BLOCK: u64 = 4096;

/// A merge takes so many tables of about one size.
const MERGED_LEAST: usize = 4;
const MERGED_MOST: usize = 32;

/// One filter in so many says that a table may have an object which it does not have.
const FALSE_POSITIVES: u64 = 100;

/// The place of an object in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub version: Version,
    pub offset: u64,
    pub content: Content,
}

impl Slot {
    pub fn bytes(&self) -> u64 {
        self.content.length + HEADER_BYTES
    }
}

/// A table on disk, or on its way there.
#[derive(Debug)]
pub struct Run {
    pub room: Piece,
    pub slots: BTreeMap<Key, Slot>,
    newest: Version,
    /// Gets that read it, and have not ended.
    readers: u32,
    /// The tables whose place it takes, by their offsets.
    replaces: Vec<u64>,
    is_merging: bool,
    /// The data that were there before a run. They stay in a table of their own, as merges of the largest tables are rare.
    is_base: bool,
}

#[derive(Debug, Default)]
struct Memory {
    entries: BTreeMap<Key, (Version, Content)>,
    bytes: u64,
    room: Option<Piece>,
}

/// The outcome of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    Taken,
    /// Taken, and the table is large enough to be written.
    Large,
    Full,
}

/// Where the newest version is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Memory(Version, Content),
    Disk(Slot),
    Missing,
}

/// The pieces that a get reads before it knows which table has the newest version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    pub index: Vec<Piece>,
    /// Older versions of the object.
    pub data: Vec<Piece>,
}

#[derive(Debug)]
pub struct Table {
    limit: u64,
    space: Space,
    memory: Memory,
    /// Tables that are being written, and are still read in memory.
    sealed: Vec<Run>,
    /// Tables that are made of others, and are not there yet.
    merging: Vec<Run>,
    /// Tables on disk.
    runs: Vec<Run>,
    /// Tables that were replaced, and still have readers.
    retired: Vec<Run>,
}

impl Table {
    pub fn new(bytes: u64, limit: u64) -> Table {
        let (sealed, merging, runs, retired) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Table { limit, space: Space::new(bytes), memory: Memory::default(), sealed, merging, runs, retired }
    }

    /// Takes an object into memory, unless it has a newer version.
    pub fn insert(&mut self, key: Key, version: Version, content: Content) -> Inserted {
        let had = self.memory.entries.get(&key).copied();
        if had.is_some_and(|(had, _)| had > version) {
            return Inserted::Taken;
        }
        let bytes = self.memory.bytes + content.length + HEADER_BYTES
            - had.map_or(0, |(_, content)| content.length + HEADER_BYTES);
        if !self.has_room(bytes) {
            return Inserted::Full;
        }
        self.memory.bytes = bytes;
        self.memory.entries.insert(key, (version, content));
        if bytes >= self.limit { Inserted::Large } else { Inserted::Taken }
    }

    /// Whether the table in memory has so much room on disk; it is taken where it can be.
    fn has_room(&mut self, bytes: u64) -> bool {
        let had = self.memory.room;
        if had.is_some_and(|had| had.length >= bytes) {
            return true;
        }
        if let Some(had) = had {
            self.space.give(had);
        }
        let enough = self.space.take(bytes.saturating_add(self.limit)).or_else(|| self.space.take(bytes));
        let is_enough = enough.is_some();
        self.memory.room = enough.or_else(|| self.space.take(had?.length));
        is_enough
    }

    /// Puts an object into the table of data that were there before a run: its place.
    pub fn load(&mut self, key: Key, version: Version, content: Content, room: u64) -> Option<Slot> {
        let piece = self.space.take(room.max(content.length + HEADER_BYTES))?;
        if self.runs.is_empty() {
            let base = Run { is_base: true, ..Run::of(Piece { offset: piece.offset, length: 0 }) };
            self.runs.push(base);
        }
        let base = &mut self.runs[0];
        let slot = Slot { version, offset: piece.offset, content };
        base.room.length = piece.end() - base.room.offset;
        base.newest = base.newest.max(version);
        base.slots.insert(key, slot);
        Some(slot)
    }

    /// Ends the table in memory: from here on it is written, and another one takes what comes.
    pub fn seal(&mut self) -> Option<Piece> {
        let Memory { entries, bytes, room } = std::mem::take(&mut self.memory);
        let room = room?;
        let used = Piece { offset: room.offset, length: bytes };
        self.space.give(Piece { offset: used.end(), length: room.length - bytes });
        self.sealed.push(Run::laid_out(used, entries));
        Some(used)
    }

    /// Begins a merge of tables of about one size: the new table's room, and the pieces to read.
    pub fn merge(&mut self) -> Option<(Piece, Vec<Piece>)> {
        let tier = self.crowded_tier()?;
        let mut entries: BTreeMap<Key, (Version, Content)> = BTreeMap::new();
        for number in &tier {
            for (key, slot) in &self.runs[*number].slots {
                let is_newer = entries.get(key).is_none_or(|(had, _)| *had < slot.version);
                if is_newer {
                    entries.insert(*key, (slot.version, slot.content));
                }
            }
        }
        let bytes = entries.values().map(|(_, content)| content.length + HEADER_BYTES).sum();
        let room = self.space.take(bytes)?;
        let mut merged = Run::laid_out(room, entries);
        for number in &tier {
            self.runs[*number].is_merging = true;
            merged.replaces.push(self.runs[*number].room.offset);
        }
        self.merging.push(merged);
        Some((room, tier.iter().map(|number| self.runs[*number].room).collect()))
    }

    /// Size-tiered: as many tables as a merge needs, none of them twice as large as another one.
    fn crowded_tier(&self) -> Option<Vec<usize>> {
        let mut free: Vec<usize> = (0..self.runs.len())
            .filter(|number| !self.runs[*number].is_merging && !self.runs[*number].is_base)
            .collect();
        let size = |number: &usize| self.runs[*number].room.length;
        free.sort_by_key(size);
        let mut tier: Vec<usize> = Vec::new();
        for number in free {
            let is_larger = tier.first().is_some_and(|least| size(&number) > 2 * size(least));
            if is_larger && tier.len() >= MERGED_LEAST {
                break;
            }
            if is_larger {
                tier.clear();
            }
            tier.push(number);
        }
        tier.truncate(MERGED_MOST);
        (tier.len() >= MERGED_LEAST).then_some(tier)
    }

    /// The table that is at this offset and is being written.
    pub fn written(&self, offset: u64) -> Option<&Run> {
        self.sealed.iter().chain(&self.merging).chain(&self.runs).find(|run| run.room.offset == offset)
    }

    /// A table is on disk: gets read it from here on, in place of those that it replaces.
    pub fn publish(&mut self, offset: u64) {
        let take = |from: &mut Vec<Run>| {
            let place = from.iter().position(|run| run.room.offset == offset)?;
            Some(from.remove(place))
        };
        let Some(mut run) = take(&mut self.sealed).or_else(|| take(&mut self.merging)) else { return };
        let replaced = std::mem::take(&mut run.replaces);
        self.runs.push(run);
        let (gone, left) =
            std::mem::take(&mut self.runs).into_iter().partition(|run| replaced.contains(&run.room.offset));
        self.runs = left;
        self.retired.extend::<Vec<Run>>(gone);
        self.free_retired();
    }

    fn free_retired(&mut self) {
        let (free, left) = std::mem::take(&mut self.retired).into_iter().partition(|run: &Run| run.readers == 0);
        self.retired = left;
        Vec::into_iter(free).for_each(|run: Run| self.space.give(run.room));
    }

    /// The newest version of an object, and what is read to learn which one that is. Its table is kept until [`Table::release`].
    pub fn find(&mut self, key: Key) -> (Found, Looked) {
        let in_memory = self.memory.entries.get(&key).copied();
        let sealed = self.sealed.iter().filter_map(|run| run.slots.get(&key));
        let known =
            sealed.map(|slot| (slot.version, slot.content)).chain(in_memory).max_by_key(|(version, _)| *version);
        let mut newest_first: Vec<usize> = (0..self.runs.len()).collect();
        newest_first
            .sort_by_key(|number| std::cmp::Reverse((self.runs[*number].newest, self.runs[*number].room.offset)));
        let (mut newest, mut looked) = (known.map(|(version, _)| version), Looked::default());
        let mut had: Vec<(usize, Slot)> = Vec::new();
        for number in newest_first {
            let run = &self.runs[number];
            if newest.is_some_and(|newest| newest >= run.newest) {
                break;
            }
            let slot = run.slots.get(&key).copied();
            if slot.is_some() || run.seems_to_have(key) {
                looked.index.push(run.index_block(key));
            }
            newest = newest.max(slot.map(|slot| slot.version));
            had.extend(slot.map(|slot| (number, slot)));
        }
        let best = had
            .iter()
            .copied()
            .find(|(_, slot)| known.is_none_or(|(known, _)| known < slot.version) && Some(slot.version) == newest);
        looked.data = had.iter().filter(|one| Some(**one) != best).map(|(_, slot)| slot.piece()).collect();
        let found = match (best, known) {
            (Some((number, slot)), _) => {
                self.runs[number].readers += 1;
                Found::Disk(slot)
            }
            (None, Some((version, content))) => Found::Memory(version, content),
            (None, None) => Found::Missing,
        };
        (found, looked)
    }

    /// A get has read its object.
    pub fn release(&mut self, offset: u64) {
        let has = |run: &&mut Run| run.readers > 0 && (run.room.offset..run.room.end()).contains(&offset);
        if let Some(run) = self.retired.iter_mut().chain(&mut self.runs).find(has) {
            run.readers -= 1;
        }
        self.free_retired();
    }

    /// Tables that a get may have to look into.
    #[cfg(test)]
    pub fn runs(&self) -> usize {
        self.runs.len()
    }
}

impl Slot {
    fn piece(&self) -> Piece {
        Piece { offset: self.offset, length: self.bytes() }
    }
}

impl Run {
    fn of(room: Piece) -> Run {
        let (slots, newest, replaces) = (BTreeMap::new(), Version::default(), Vec::new());
        Run { room, slots, newest, readers: 0, replaces, is_merging: false, is_base: false }
    }

    /// A table with these objects, in the order of their keys.
    fn laid_out(room: Piece, entries: BTreeMap<Key, (Version, Content)>) -> Run {
        let mut run = Run::of(room);
        let mut offset = room.offset;
        for (key, (version, content)) in entries {
            let slot = Slot { version, offset, content };
            offset += slot.bytes();
            run.newest = run.newest.max(version);
            run.slots.insert(key, slot);
        }
        run
    }

    /// By its filter.
    fn seems_to_have(&self, key: Key) -> bool {
        scattered(key.0 ^ scattered(self.room.offset)).is_multiple_of(FALSE_POSITIVES)
    }

    fn index_block(&self, key: Key) -> Piece {
        let blocks = (self.room.length / BLOCK).max(1);
        let offset = self.room.offset + scattered(key.0) % blocks * BLOCK;
        Piece { offset, length: BLOCK.min(self.room.length) }
    }
}
