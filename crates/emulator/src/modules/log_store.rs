//! Values in logs that grow at their end: room is reserved, then written, and read by position.
//!
//! Invariant: no two values have a byte in common, and a full log refuses before anything is written.

use iolite_machine::Instant;

use super::{Module, Outcome, Placed, Position, Site, Work};
use crate::disk::{DiskAlloc, Owner, Shape, Transfer};
use crate::engine::{Content, DiskOrder, Outputs};
use crate::file::{Problem, Section};
use crate::quantity::Bytes;

/// Before each value: key, version, length, checksum.
const HEADER_BYTES: u64 = 64;

#[derive(Debug)]
pub(super) struct LogStore {
    disks: usize,
    logs_per_disk: u32,
    log_bytes: u64,
    is_durable: bool,
    /// The end of each log, by disk and log.
    ends: Vec<Vec<u64>>,
}

impl LogStore {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<LogStore, Problem> {
        let logs_per_disk = section.count_or("logs_per_disk", 1)?.min(1 << 16) as u32;
        let share = Bytes(site.disk_capacity.0 / 10 * 9 / u64::from(logs_per_disk));
        let disks = site.deployment.disks();
        Ok(LogStore {
            disks,
            logs_per_disk,
            log_bytes: section.bytes_or("log_bytes", share)?.0,
            is_durable: section.flag_or("fsync", false)?,
            ends: vec![vec![0; logs_per_disk as usize]; disks],
        })
    }

    fn owner(&self, log: u32) -> Owner {
        Owner(if self.logs_per_disk == 1 { "log-store".to_owned() } else { format!("log-store, log {log}") })
    }

    fn reserve(&mut self, placed: Placed, value: Content, room: u64) -> Option<Position> {
        let end = &mut self.ends[placed.disk][placed.log as usize];
        let taken = room.max(value.length + HEADER_BYTES);
        let position = Position { placed, offset: *end, length: value.length + HEADER_BYTES };
        *end = end.checked_add(taken).filter(|end| *end <= self.log_bytes)?;
        Some(position)
    }

    fn order(&self, position: Position, transfer: Transfer) -> DiskOrder {
        let Position { placed, offset, length } = position;
        DiskOrder { disk: placed.disk, owner: self.owner(placed.log), offset, length, transfer }
    }
}

impl Module for LogStore {
    fn allocations(&self) -> Vec<DiskAlloc> {
        let logs = (0..self.disks).flat_map(|disk| (0..self.logs_per_disk).map(move |log| (disk, log)));
        let piece =
            |(disk, log)| DiskAlloc { disk, owner: self.owner(log), shape: Shape::piece(Bytes(self.log_bytes)) };
        logs.map(piece).collect()
    }

    fn run(&mut self, _now: Instant, call: &str, work: &mut Work, out: &mut Outputs) -> Outcome {
        let value = work.message.value.unwrap_or_default();
        if call == "reserve" {
            let placed = work.placed.expect("the ports were checked");
            work.position = self.reserve(placed, value, work.message.room);
            return Outcome(if work.position.is_some() { "ok" } else { "full" });
        }
        let position = work.position.expect("the ports were checked");
        let transfer = match call == "write" {
            true => Transfer::Write { content: value, is_durable: self.is_durable },
            false => Transfer::Read,
        };
        out.disk(self.order(position, transfer));
        Outcome("ok")
    }

    /// The fullest log.
    fn measure(&self, name: &str) -> Option<f64> {
        let fullest = self.ends.iter().flatten().max()?;
        (name == "disk_used").then_some(*fullest as f64 / self.log_bytes as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::site;

    fn store(text: &str) -> LogStore {
        let section = Section::parse("a.toml", text).expect("this is TOML");
        LogStore::build(&section, &site()).expect("these parameters are right")
    }

    #[test]
    fn values_follow_each_other_and_a_full_log_refuses_without_taking_room() {
        let mut store = store("log_bytes = \"1 KB\"");
        let placed = Placed { disk: 1, log: 0 };
        let value = |length| Content { digest: 1, length };
        let offsets: Vec<Option<u64>> = [(400, 0), (400, 0), (400, 0), (8, 0), (8, 0)]
            .map(|(length, room)| store.reserve(placed, value(length), room).map(|position| position.offset))
            .to_vec();
        assert_eq!(offsets, [Some(0), Some(464), None, Some(928), None]);
        assert_eq!(store.measure("disk_used"), Some(1.0));
        assert_eq!(store.measure("memory"), None);
        let other = Placed { disk: 0, log: 0 };
        assert_eq!(store.reserve(other, value(10), 500).map(|position| position.offset), Some(0));
        assert_eq!(store.reserve(other, value(10), 0).map(|position| position.offset), Some(500));
    }

    #[test]
    fn each_log_of_each_disk_is_asked_for() {
        let asked = store("logs_per_disk = 3\nlog_bytes = \"1 KB\"").allocations();
        let asked: Vec<(usize, &str)> = asked.iter().map(|one| (one.disk, one.owner.0.as_str())).collect();
        let logs = ["log-store, log 0", "log-store, log 1", "log-store, log 2"];
        assert_eq!(asked, [0, 1].map(|disk| logs.map(|log| (disk, log))).concat());
    }
}
