//! Spreads keys over the disks of a node, and over the logs of each disk.

use iolite_machine::Instant;

use super::{Module, Outcome, Placed, Site, Work};
use crate::engine::{Outputs, scattered};
use crate::file::{Problem, Section};

#[derive(Debug)]
pub(super) struct DiskPlacement {
    disks: usize,
    logs_per_disk: u64,
}

impl DiskPlacement {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<DiskPlacement, Problem> {
        let logs_per_disk = section.count_or("logs_per_disk", 1)?.min(1 << 16);
        Ok(DiskPlacement { disks: site.deployment.disks(), logs_per_disk })
    }
}

impl Module for DiskPlacement {
    fn run(&mut self, _now: Instant, _call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        // Another number than the ring's, so that the keys of a node are spread evenly.
        let place = scattered(work.message.key.0 ^ 0xd15c);
        let disk = (place % self.disks as u64) as usize;
        let log = (place / self.disks as u64 % self.logs_per_disk) as u32;
        work.placed = Some(Placed { disk, log });
        Outcome("ok")
    }
}
