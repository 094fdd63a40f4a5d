//! Where each object is, in memory. A checkpoint notes on disk what came since the one before.
//!
//! Invariants: an older version never replaces a newer one, in whatever order disks end their writes. A version is *reached* when it was inserted itself: a
//! newer one of the object may be of another site, and come after other causes.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;

use super::{Module, Outcome, Position, Site, Work};
use crate::disk::{DiskAlloc, Owner, Shape, Transfer};
use crate::engine::{Content, DiskOrder, Key, Outputs, Version};
use crate::file::{Problem, Section};
use crate::quantity::Bytes;

/// Key, version, offset, length.
const ENTRY_BYTES: u64 = 32;

#[derive(Debug)]
pub(super) struct RamIndex {
    entries: BTreeMap<Key, (Version, Position)>,
    /// All that was inserted, where `reached` asks for it.
    inserted: Option<BTreeSet<(Key, Version)>>,
    /// Bytes of the index file on each disk; none without checkpoints.
    file_bytes: u64,
    /// For each disk: entries that no checkpoint has, and where the next goes.
    unnoted: Vec<u64>,
    ends: Vec<u64>,
}

impl RamIndex {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<RamIndex, Problem> {
        let disks = site.deployment.disks();
        let file_bytes = section.bytes_or("index_file", Bytes(0))?.0;
        let inserted = section.flag_or("remembers", false)?.then(BTreeSet::new);
        Ok(RamIndex { entries: BTreeMap::new(), inserted, file_bytes, unnoted: vec![0; disks], ends: vec![0; disks] })
    }

    fn insert(&mut self, key: Key, version: Version, position: Position) {
        let is_newer = self.entries.get(&key).is_none_or(|(had, _)| *had <= version);
        if is_newer {
            self.entries.insert(key, (version, position));
        }
        if let Some(inserted) = &mut self.inserted {
            inserted.insert((key, version));
        }
        self.unnoted[position.placed.disk] += 1;
    }

    fn has_reached(&self, key: Key, version: Version) -> bool {
        match &self.inserted {
            Some(inserted) => inserted.contains(&(key, version)),
            None => self.entries.get(&key).is_some_and(|(had, _)| *had >= version),
        }
    }

    fn checkpoint(&mut self, out: &mut Outputs) {
        for (disk, unnoted) in self.unnoted.iter_mut().enumerate() {
            let length = (std::mem::take(unnoted) * ENTRY_BYTES).min(self.file_bytes);
            if length == 0 {
                continue;
            }
            // The file is written round and round: only what it costs is emulated, not its recovery.
            let offset = if self.ends[disk] + length > self.file_bytes { 0 } else { self.ends[disk] };
            self.ends[disk] = offset + length;
            let transfer = Transfer::Write { content: Content { digest: 1, length }, is_durable: false };
            out.disk(DiskOrder { disk, owner: owner(), offset, length, transfer });
        }
    }
}

fn owner() -> Owner {
    Owner("ram-index, index file".to_owned())
}

impl Module for RamIndex {
    fn allocations(&self) -> Vec<DiskAlloc> {
        let disks = if self.file_bytes == 0 { 0 } else { self.ends.len() };
        let piece = |disk| DiskAlloc { disk, owner: owner(), shape: Shape::piece(Bytes(self.file_bytes)) };
        (0..disks).map(piece).collect()
    }

    fn run(&mut self, _now: Instant, call: &str, work: &mut Work, out: &mut Outputs) -> Outcome {
        if call == "checkpoint" {
            self.checkpoint(out);
            return Outcome("ok");
        }
        let message = &mut work.message;
        if call == "insert" {
            let position = work.position.expect("the ports were checked");
            self.insert(message.key, message.version.unwrap_or_default(), position);
            return Outcome("ok");
        }
        if call == "reached" {
            let reached = message.version.is_some_and(|version| self.has_reached(message.key, version));
            return Outcome(if reached { "there" } else { "later" });
        }
        let Some((version, position)) = self.entries.get(&message.key) else { return Outcome("missing") };
        message.version = Some(*version);
        work.position = Some(*position);
        Outcome("found")
    }
}
