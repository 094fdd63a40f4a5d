//! Answers the client while the graph goes on.

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{Answer, NodeId, Outputs, reply};
use crate::file::{Problem, Section};

#[derive(Debug)]
pub(super) struct Acknowledge {
    own: NodeId,
}

impl Acknowledge {
    #[expect(clippy::unnecessary_wraps, reason = "modules are built alike")]
    pub(super) fn build(_: &Section, site: &Site<'_>) -> Result<Acknowledge, Problem> {
        Ok(Acknowledge { own: site.own })
    }
}

impl Module for Acknowledge {
    fn run(&mut self, _now: Instant, _call: &str, work: &mut Work, out: &mut Outputs) -> Outcome {
        out.send(work.message.client, reply(self.own, &work.message, Answer::Stored));
        Outcome("ok")
    }
}
