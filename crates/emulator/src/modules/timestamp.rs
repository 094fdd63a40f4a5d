//! Stamps a write that has no version yet with the time, and the node that stamps it; later stamps are larger.

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{NodeId, Outputs, Version};
use crate::file::{Problem, Section};

/// A deployment has at most a thousand nodes.
const NODES: u64 = 1 << 10;

#[derive(Debug)]
pub(super) struct Timestamp {
    own: NodeId,
    /// The last time that was given, in nanoseconds.
    last: u64,
}

impl Timestamp {
    #[expect(clippy::unnecessary_wraps, reason = "modules are built alike")]
    pub(super) fn build(_: &Section, site: &Site<'_>) -> Result<Timestamp, Problem> {
        Ok(Timestamp { own: site.own, last: 0 })
    }
}

impl Module for Timestamp {
    fn run(&mut self, now: Instant, _call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        if work.message.version.is_none() {
            self.last = now.as_nanos().max(self.last + 1);
            work.message.version = Some(Version(self.last * NODES + u64::from(self.own.0)));
        }
        Outcome("ok")
    }
}
