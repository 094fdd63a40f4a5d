//! Spreads keys over the disks of a node, a log a disk.

use iolite_machine::Instant;

use super::{Module, Outcome, Placed, Site, Work};
use crate::engine::{Outputs, scattered};
use crate::file::{Problem, Section};

#[derive(Debug)]
pub(super) struct DiskPlacement {
    disks: usize,
}

impl DiskPlacement {
    #[expect(clippy::unnecessary_wraps, reason = "modules are built alike")]
    pub(super) fn build(_: &Section, site: &Site<'_>) -> Result<DiskPlacement, Problem> {
        Ok(DiskPlacement { disks: site.deployment.disks() })
    }
}

impl Module for DiskPlacement {
    fn run(&mut self, _now: Instant, _call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        // Another number than the ring's, so that the keys of a node are spread evenly.
        let disk = (scattered(work.message.key.0 ^ 0xd15c) % self.disks as u64) as usize;
        work.placed = Some(Placed { disk, log: 0 });
        Outcome("ok")
    }
}
