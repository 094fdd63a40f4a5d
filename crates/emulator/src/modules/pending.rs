//! Keeps a value in memory until another message says where it goes.
//!
//! Invariant: a value is recalled once. One that nobody recalls goes when its client gives up, or when a time trigger drops it.

use std::collections::BTreeMap;

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{Content, OperationId, Outputs};
use crate::file::{Problem, Section};
use crate::quantity::Span;

#[derive(Debug)]
pub(super) struct Pending {
    give_up: Span,
    values: BTreeMap<OperationId, (Instant, Content)>,
}

impl Pending {
    pub(super) fn build(section: &Section, _: &Site<'_>) -> Result<Pending, Problem> {
        Ok(Pending { give_up: section.span_or("give_up", Span::from_secs(10))?, values: BTreeMap::new() })
    }
}

impl Module for Pending {
    fn run(&mut self, now: Instant, call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        let operation = work.message.operation;
        match call {
            "keep" => {
                let value = work.message.value.expect("the ports were checked");
                self.values.insert(operation, (now, value));
            }
            "expire" => self.values.retain(|_, (since, _)| *since + self.give_up > now),
            _ => {
                work.message.value = self.values.remove(&operation).map(|(_, value)| value);
                return Outcome(if work.message.value.is_some() { "ok" } else { "gone" });
            }
        }
        Outcome("ok")
    }

    fn forget(&mut self, operation: OperationId) {
        self.values.remove(&operation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Asked, Key};
    use crate::testing::site;
    use crate::workload::request;

    #[test]
    fn a_value_is_recalled_once_and_not_after_it_was_given_up() {
        let section = Section::parse("a.toml", "give_up = \"2 s\"").expect("this is TOML");
        let mut pending = Pending::build(&section, &site()).expect("these parameters are right");
        let mut call = |seconds: u64, call: &str, operation: u64| {
            let value = Some(Content { digest: operation, length: 1 });
            let mut work = Work::new(request(OperationId(operation), Asked::Put, Key(7), value, 0));
            let at = Instant::default() + Span::from_secs(seconds);
            pending.run(at, call, &mut work, &mut Outputs::default()).0
        };
        assert_eq!([call(0, "keep", 1), call(0, "recall", 1), call(0, "recall", 1)], ["ok", "ok", "gone"]);
        assert_eq!([call(0, "keep", 2), call(1, "keep", 3), call(2, "expire", 0)], ["ok"; 3]);
        assert_eq!([call(2, "recall", 2), call(2, "recall", 3)], ["gone", "ok"]);
    }
}
