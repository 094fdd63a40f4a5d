//! Waits until all replicas of a write have answered.
//!
//! Invariant: the result is "all" once for an operation, at its last answer. A refusal ends the operation at the client without this module.

use std::collections::BTreeMap;

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{OperationId, Outputs};
use crate::file::{Problem, Section};

#[derive(Debug)]
pub(super) struct Acks {
    /// How many answers each operation still waits for.
    left: BTreeMap<OperationId, usize>,
}

impl Acks {
    #[expect(clippy::unnecessary_wraps, reason = "modules are built alike")]
    pub(super) fn build(_: &Section, _: &Site<'_>) -> Result<Acks, Problem> {
        Ok(Acks { left: BTreeMap::new() })
    }

    fn count(&mut self, work: &Work) -> &'static str {
        let operation = work.message.operation;
        let Some(left) = self.left.get_mut(&operation) else { return "gone" };
        *left -= 1;
        if *left > 0 {
            return "waiting";
        }
        self.left.remove(&operation);
        "all"
    }
}

impl Module for Acks {
    fn run(&mut self, _now: Instant, call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        if call == "count" {
            return Outcome(self.count(work));
        }
        self.left.insert(work.message.operation, work.message.replicas.len());
        Outcome("ok")
    }

    fn forget(&mut self, operation: OperationId) {
        self.left.remove(&operation);
    }
}
