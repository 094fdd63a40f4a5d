//! The costs of a file system with a file an object, besides its bytes: inodes that are read, and a journal that is synced.
//!
//! Invariant: only costs are emulated; where a file's bytes are, the index and the store of the design say.
//! Source: Beaver et al., "Finding a needle in Haystack" (2010), section 2.3, on reads of metadata before reads of data.

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::disk::{DiskAlloc, Owner, Shape, Transfer};
use crate::engine::{Content, DiskOrder, Outputs, scattered};
use crate::file::{Problem, Section};
use crate::quantity::Bytes;

/// A block of the file system.
const BLOCK: u64 = 4096;
const JOURNAL_BYTES: u64 = 128 << 20;

#[derive(Debug)]
pub(super) struct Filesystem {
    /// Bytes of inodes and directories on each disk: a fiftieth of it.
    inodes: u64,
    /// Where each disk's journal goes on.
    journals: Vec<u64>,
    /// Blocks that a rename or a creation writes to the journal.
    journal_blocks: u64,
    is_inode_cached: bool,
}

impl Filesystem {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<Filesystem, Problem> {
        Ok(Filesystem {
            inodes: (site.disk_capacity.0 / 50).max(BLOCK),
            journals: vec![0; site.deployment.disks()],
            journal_blocks: section.count_or("journal_blocks", 2)?.min(JOURNAL_BYTES / BLOCK),
            is_inode_cached: section.flag_or("inodes_cached", false)?,
        })
    }

    fn journal(&mut self, disk: usize, out: &mut Outputs) {
        let (end, length) = (&mut self.journals[disk], self.journal_blocks * BLOCK);
        // Round and round, as journals are.
        let offset = if *end + length > JOURNAL_BYTES { 0 } else { *end };
        *end = offset + length;
        let transfer = Transfer::Write { content: Content { digest: 1, length }, is_durable: true };
        out.disk(DiskOrder { disk, owner: journal(), offset, length, transfer });
    }
}

fn journal() -> Owner {
    Owner("filesystem, journal".to_owned())
}

fn inodes() -> Owner {
    Owner("filesystem, inodes".to_owned())
}

impl Module for Filesystem {
    fn allocations(&self) -> Vec<DiskAlloc> {
        let parts = [(journal(), JOURNAL_BYTES), (inodes(), self.inodes)];
        let of =
            |disk| parts.clone().map(|(owner, bytes)| DiskAlloc { disk, owner, shape: Shape::piece(Bytes(bytes)) });
        (0..self.journals.len()).flat_map(of).collect()
    }

    fn run(&mut self, _now: Instant, call: &str, work: &mut Work, out: &mut Outputs) -> Outcome {
        let disk = work.placed.expect("the ports were checked").disk;
        if call == "record" {
            self.journal(disk, out);
        } else if !self.is_inode_cached {
            let offset = scattered(work.message.key.0 ^ 0x1_0de) % (self.inodes / BLOCK) * BLOCK;
            out.disk(DiskOrder { disk, owner: inodes(), offset, length: BLOCK, transfer: Transfer::Read });
        }
        Outcome("ok")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Asked, Key, OperationId};
    use crate::modules::Placed;
    use crate::testing::site;
    use crate::workload::request;

    fn orders(module: &mut Filesystem, call: &str) -> Vec<(String, u64)> {
        let mut work = Work::new(request(OperationId(1), Asked::Get, Key(7), None, 0));
        work.placed = Some(Placed { disk: 1, log: 0 });
        let mut out = Outputs::default();
        module.run(Instant::default(), call, &mut work, &mut out);
        out.taken().1.into_iter().map(|order| (order.owner.0, order.offset)).collect()
    }

    #[test]
    fn a_journal_goes_round_and_an_inode_has_its_place() {
        let section = Section::parse("a.toml", "journal_blocks = 16384").expect("this is TOML");
        let mut module = Filesystem::build(&section, &site()).expect("these parameters are right");
        let journal: Vec<u64> = (0..3).map(|_| orders(&mut module, "record")[0].1).collect();
        assert_eq!(journal, [0, 64 << 20, 0]);
        let inode = orders(&mut module, "look-up");
        assert_eq!(inode, orders(&mut module, "look-up"));
        assert!(inode[0].0 == "filesystem, inodes" && inode[0].1.is_multiple_of(BLOCK) && inode[0].1 < module.inodes);
        let section = Section::parse("a.toml", "inodes_cached = true").expect("this is TOML");
        let mut cached = Filesystem::build(&section, &site()).expect("these parameters are right");
        assert_eq!(orders(&mut cached, "look-up"), []);
    }
}
