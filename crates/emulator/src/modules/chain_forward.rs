//! Chain replication: a write goes from the head of its chain to the tail.
//!
//! Source: van Renesse and Schneider, "Chain replication" (2004).

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{NodeId, Outputs};
use crate::file::{Problem, Section};

#[derive(Debug)]
pub(super) struct ChainForward {
    own: NodeId,
}

impl ChainForward {
    #[expect(clippy::unnecessary_wraps, reason = "modules are built alike")]
    pub(super) fn build(_: &Section, site: &Site<'_>) -> Result<ChainForward, Problem> {
        Ok(ChainForward { own: site.own })
    }
}

impl Module for ChainForward {
    fn run(&mut self, _now: Instant, _call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        Outcome(if work.message.replicas.last() == Some(&self.own) { "tail" } else { "middle" })
    }
}
