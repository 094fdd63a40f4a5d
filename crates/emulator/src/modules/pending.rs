//! Keeps a value at the client while it asks where the value goes.

use std::collections::BTreeMap;

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{Content, OperationId, Outputs};
use crate::file::{Problem, Section};

#[derive(Debug)]
pub(super) struct Pending {
    values: BTreeMap<OperationId, Content>,
}

impl Pending {
    #[expect(clippy::unnecessary_wraps, reason = "modules are built alike")]
    pub(super) fn build(_: &Section, _: &Site<'_>) -> Result<Pending, Problem> {
        Ok(Pending { values: BTreeMap::new() })
    }
}

impl Module for Pending {
    fn run(&mut self, _now: Instant, call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        let operation = work.message.operation;
        if call == "keep" {
            self.values.insert(operation, work.message.value.expect("the ports were checked"));
            return Outcome("ok");
        }
        work.message.value = self.values.remove(&operation);
        Outcome(if work.message.value.is_some() { "ok" } else { "gone" })
    }

    fn forget(&mut self, operation: OperationId) {
        self.values.remove(&operation);
    }
}
