//! Numbers writes. The node that a write reaches first numbers it; the others keep the number.

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{Outputs, Version};
use crate::file::{Problem, Section};

#[derive(Debug)]
pub(super) struct VersionCounter {
    last: Version,
}

impl VersionCounter {
    #[expect(clippy::unnecessary_wraps, reason = "modules are built alike")]
    pub(super) fn build(_: &Section, _: &Site<'_>) -> Result<VersionCounter, Problem> {
        Ok(VersionCounter { last: Version(0) })
    }
}

impl Module for VersionCounter {
    fn run(&mut self, _now: Instant, _call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        work.message.version.get_or_insert_with(|| {
            self.last = Version(self.last.0 + 1);
            self.last
        });
        Outcome("ok")
    }
}
