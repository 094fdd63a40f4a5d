//! Values in sorted tables: a table in memory takes writes, and is written to disk as a whole; tables on disk are merged from time to time.
//!
//! Invariant: a version that is older never hides a newer one, in whatever order writes come; a table is read from disk only when it is there,
//! as long as the design publishes it after its writing.
//! Source: O'Neil et al., "The log-structured merge-tree" (1996); Lakshman and Malik, "Cassandra" (2010), section 5.6. Deviation: each disk has
//! tables of its own share of the keys, and what filters and the coarse index take of memory always fits.

mod space;
mod table;

use iolite_machine::Instant;

use self::space::Piece;
use self::table::{Found, Inserted, Table};
use super::{Module, Outcome, Placed, Position, Site, Work};
use crate::disk::{DiskAlloc, Owner, Shape, Transfer};
use crate::engine::{Content, DiskOrder, Outputs};
use crate::file::{Problem, Section};
use crate::quantity::Bytes;

/// Tables are read and written in pieces of about so many bytes, so that gets come between.
const CHUNK: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct SortedTables {
    /// For tables, on each disk.
    bytes: u64,
    is_index_cached: bool,
    tables: Vec<Table>,
    /// The disk whose tables are looked at first for a merge.
    next: usize,
}

impl SortedTables {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<SortedTables, Problem> {
        let disks = site.deployment.disks();
        let bytes = section.bytes_or("table_bytes", Bytes(site.disk_capacity.0 / 10 * 9))?.0;
        // A node's memory is shared by its disks.
        let limit = (section.bytes_or("memtable", Bytes(64 << 20))?.0 / disks as u64).max(1);
        Ok(SortedTables {
            bytes,
            is_index_cached: section.flag_or("index_cached", false)?,
            tables: (0..disks).map(|_| Table::new(bytes, limit)).collect(),
            next: 0,
        })
    }

    fn insert(&mut self, work: &Work, out: &mut Outputs) -> &'static str {
        let Placed { disk, .. } = work.placed.expect("the ports were checked");
        let message = &work.message;
        let (version, content) = (message.version.expect("likewise"), message.value.expect("likewise"));
        let table = &mut self.tables[disk];
        if message.room > 0 {
            let Some(slot) = table.load(message.key, version, content, message.room) else { return "full" };
            let transfer = Transfer::Write { content, is_durable: true };
            out.disk(DiskOrder { disk, owner: owner(), offset: slot.offset, length: slot.bytes(), transfer });
            return "ok";
        }
        match table.insert(message.key, version, content) {
            Inserted::Taken => "ok",
            Inserted::Large => "large",
            Inserted::Full => "full",
        }
    }

    fn find(&mut self, work: &mut Work, out: &mut Outputs) -> &'static str {
        let placed = work.placed.expect("the ports were checked");
        let (found, looked) = self.tables[placed.disk].find(work.message.key);
        // What a disk reads becomes the message's value, so a value from memory comes without reads. That leaves out what a real store reads
        // where a table on disk holds something newer of another object.
        if !matches!(found, Found::Memory(..)) {
            let index = looked.index.into_iter().filter(|_| !self.is_index_cached);
            index.chain(looked.data).for_each(|piece| read(placed.disk, piece, out));
        }
        match found {
            Found::Memory(version, content) => {
                (work.message.version, work.message.value) = (Some(version), Some(content));
                "memory"
            }
            Found::Disk(slot) => {
                work.message.version = Some(slot.version);
                work.position = Some(Position { placed, offset: slot.offset, length: slot.bytes() });
                "found"
            }
            Found::Missing => "missing",
        }
    }

    fn seal(&mut self, work: &mut Work) -> &'static str {
        let placed = work.placed.expect("the ports were checked");
        work.position = self.tables[placed.disk].seal().map(|piece| position(placed, piece));
        if work.position.is_some() { "ok" } else { "idle" }
    }

    fn merge(&mut self, work: &mut Work, out: &mut Outputs) -> &'static str {
        let disks = self.tables.len();
        for disk in (self.next..self.next + disks).map(|number| number % disks) {
            let Some((room, pieces)) = self.tables[disk].merge() else { continue };
            pieces.into_iter().flat_map(chunks).for_each(|piece| read(disk, piece, out));
            work.position = Some(position(Placed { disk, log: 0 }, room));
            self.next = (disk + 1) % disks;
            return "ok";
        }
        "idle"
    }

    /// Writes a table in one go; operations of gets come between its pieces.
    fn write(&self, position: Position, out: &mut Outputs) {
        let disk = position.placed.disk;
        let Some(run) = self.tables[disk].written(position.offset) else { return };
        let mut order: Option<(Piece, Vec<(u64, Content)>)> = None;
        let give = |order: &mut Option<(Piece, Vec<(u64, Content)>)>, out: &mut Outputs| {
            let Some((Piece { offset, length }, contents)) = order.take() else { return };
            out.disk(DiskOrder { disk, owner: owner(), offset, length, transfer: Transfer::WriteMany { contents } });
        };
        for slot in run.slots.values() {
            let (piece, contents) = order.get_or_insert((Piece { offset: slot.offset, length: 0 }, Vec::new()));
            piece.length += slot.bytes();
            contents.push((slot.offset, slot.content));
            if piece.length >= CHUNK {
                give(&mut order, out);
            }
        }
        give(&mut order, out);
    }
}

fn owner() -> Owner {
    Owner("sorted-tables".to_owned())
}

fn position(placed: Placed, piece: Piece) -> Position {
    Position { placed, offset: piece.offset, length: piece.length }
}

fn read(disk: usize, piece: Piece, out: &mut Outputs) {
    let Piece { offset, length } = piece;
    out.disk(DiskOrder { disk, owner: owner(), offset, length, transfer: Transfer::Read });
}

fn chunks(piece: Piece) -> impl Iterator<Item = Piece> {
    (piece.offset..piece.end())
        .step_by(CHUNK as usize)
        .map(move |offset| Piece { offset, length: CHUNK.min(piece.end() - offset) })
}

impl Module for SortedTables {
    fn allocations(&self) -> Vec<DiskAlloc> {
        let piece = |disk| DiskAlloc { disk, owner: owner(), shape: Shape::piece(Bytes(self.bytes)) };
        (0..self.tables.len()).map(piece).collect()
    }

    fn run(&mut self, _now: Instant, call: &str, work: &mut Work, out: &mut Outputs) -> Outcome {
        match call {
            "insert" => return Outcome(self.insert(work, out)),
            "find" => return Outcome(self.find(work, out)),
            "seal" => return Outcome(self.seal(work)),
            "merge" => return Outcome(self.merge(work, out)),
            _ => {}
        }
        let position = work.position.expect("the ports were checked");
        let table = &mut self.tables[position.placed.disk];
        match call {
            "write" => self.write(position, out),
            "publish" => table.publish(position.offset),
            "release" => table.release(position.offset),
            _ => read(position.placed.disk, Piece { offset: position.offset, length: position.length }, out),
        }
        Outcome("ok")
    }
}

#[cfg(test)]
mod tests;
