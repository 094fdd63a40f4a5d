//! A node's commit log: each write is noted at its end before the tables in memory take it.
//!
//! Invariant: only what the log costs is emulated, not how a node starts again from it. The log goes round and round; it takes it that tables
//! are on disk long before it comes round.
//! Source: Lakshman and Malik, "Cassandra" (2010), section 5.6.

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::disk::{DiskAlloc, Owner, Shape, Transfer};
use crate::engine::{Content, DiskOrder, Outputs};
use crate::file::{Problem, Section};
use crate::quantity::Bytes;

/// Before each write: key, version, length, checksum.
const HEADER_BYTES: u64 = 64;

/// The size that Cassandra comes with.
const USUAL: Bytes = Bytes(8 << 30);

/// A node has one log, on this disk; its tables are on all.
const DISK: usize = 0;

#[derive(Debug)]
pub(super) struct CommitLog {
    bytes: u64,
    is_durable: bool,
    end: u64,
    /// Bytes that were noted in memory only.
    unsynced: u64,
}

impl CommitLog {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<CommitLog, Problem> {
        let usual = USUAL.min(Bytes(site.disk_capacity.0 / 20));
        Ok(CommitLog {
            bytes: section.bytes_or("commit_log", usual)?.0.max(1),
            is_durable: section.flag_or("fsync", true)?,
            end: 0,
            unsynced: 0,
        })
    }

    fn write(&mut self, length: u64, out: &mut Outputs) {
        let length = length.min(self.bytes);
        let offset = if self.end + length > self.bytes { 0 } else { self.end };
        self.end = offset + length;
        let transfer = Transfer::Write { content: Content { digest: 1, length }, is_durable: true };
        out.disk(DiskOrder { disk: DISK, owner: owner(), offset, length, transfer });
    }
}

fn owner() -> Owner {
    Owner("commit-log".to_owned())
}

impl Module for CommitLog {
    fn allocations(&self) -> Vec<DiskAlloc> {
        vec![DiskAlloc { disk: DISK, owner: owner(), shape: Shape::piece(Bytes(self.bytes)) }]
    }

    fn run(&mut self, _now: Instant, call: &str, work: &mut Work, out: &mut Outputs) -> Outcome {
        if call == "append" {
            let length = work.message.value.map_or(0, |value| value.length) + HEADER_BYTES;
            match self.is_durable {
                true => self.write(length, out),
                false => self.unsynced += length,
            }
        } else if self.unsynced > 0 {
            let unsynced = std::mem::take(&mut self.unsynced);
            self.write(unsynced, out);
        }
        Outcome("ok")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Asked, Key, OperationId};
    use crate::testing::site;
    use crate::workload::request;

    /// The place and the length of each disk operation that these calls ask for.
    fn orders(text: &str, calls: &[&str]) -> Vec<(u64, u64)> {
        let section = Section::parse("a.toml", text).expect("this is TOML");
        let mut log = CommitLog::build(&section, &site()).expect("these parameters are right");
        let mut out = Outputs::default();
        for call in calls {
            let value = Content { digest: 7, length: 436 };
            let message = request(OperationId(1), Asked::Put, Key(7), Some(value), 0);
            log.run(Instant::default(), call, &mut Work::new(message), &mut out);
        }
        out.taken().1.into_iter().map(|order| (order.offset, order.length)).collect()
    }

    #[test]
    fn a_log_goes_round_and_is_synced_with_each_write_or_from_time_to_time() {
        let rounds = orders("commit_log = \"1200 B\"", &["append", "append", "sync", "append"]);
        assert_eq!(rounds, [(0, 500), (500, 500), (0, 500)]);
        let seldom = orders("fsync = false", &["append", "append", "sync", "sync", "append"]);
        assert_eq!(seldom, [(0, 1000)]);
    }
}
