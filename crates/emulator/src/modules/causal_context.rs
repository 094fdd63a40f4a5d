//! The client's library of COPS: what each session has seen since its last write, which its next write comes after.
//!
//! Source: Lloyd et al. (COPS, 2011), section 4.2: the nearest dependencies only, as those behind them are theirs.

use std::collections::BTreeMap;

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{Dependency, Key, OperationId, Outputs, Session, Version};
use crate::file::{Problem, Section};

#[derive(Debug)]
pub(super) struct CausalContext {
    seen: BTreeMap<Session, BTreeMap<Key, Version>>,
    /// The dependencies of writes that are under way.
    attached: BTreeMap<OperationId, Vec<Dependency>>,
}

impl CausalContext {
    #[expect(clippy::unnecessary_wraps, reason = "modules are built alike")]
    pub(super) fn build(_: &Section, _: &Site<'_>) -> Result<CausalContext, Problem> {
        Ok(CausalContext { seen: BTreeMap::new(), attached: BTreeMap::new() })
    }

    fn attach(&mut self, work: &mut Work) {
        let message = &mut work.message;
        let seen = self.seen.entry(message.session).or_default();
        message.after = seen.iter().map(|(key, version)| Dependency { key: *key, version: *version }).collect();
        self.attached.insert(message.operation, message.after.clone());
    }

    /// The answer to an operation. A write stands for all that it came after.
    fn observe(&mut self, work: &Work) {
        let message = &work.message;
        let Some(version) = message.version else { return };
        let seen = self.seen.entry(message.session).or_default();
        for Dependency { key, version } in self.attached.remove(&message.operation).unwrap_or_default() {
            if seen.get(&key) == Some(&version) {
                seen.remove(&key);
            }
        }
        let newest = seen.entry(message.key).or_default();
        *newest = version.max(*newest);
    }
}

impl Module for CausalContext {
    fn run(&mut self, _now: Instant, call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        match call {
            "attach" => self.attach(work),
            _ => self.observe(work),
        }
        Outcome("ok")
    }

    fn forget(&mut self, operation: OperationId) {
        self.attached.remove(&operation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Asked;
    use crate::testing::site;
    use crate::workload::request;

    fn work(operation: u64, key: u64, version: Option<u64>) -> Work {
        let mut work = Work::new(request(OperationId(operation), Asked::Put, Key(key), None, 0));
        work.message.version = version.map(Version);
        work
    }

    #[test]
    fn a_write_comes_after_what_its_session_saw_and_then_stands_for_it() {
        let section = Section::empty("a.toml", "context", 1);
        let mut context = CausalContext::build(&section, &site()).expect("no parameters");
        let after = |context: &mut CausalContext, operation| {
            let mut work = work(operation, 9, None);
            context.attach(&mut work);
            work.message.after.iter().map(|after| (after.key.0, after.version.0)).collect::<Vec<_>>()
        };
        context.observe(&work(1, 1, Some(5)));
        context.observe(&work(2, 2, Some(7)));
        assert_eq!(after(&mut context, 3), [(1, 5), (2, 7)]);
        // While the write is under way, the session reads on: that stays.
        context.observe(&work(4, 2, Some(8)));
        context.observe(&work(3, 9, Some(11)));
        assert_eq!(after(&mut context, 5), [(2, 8), (9, 11)]);
        let mut other = work(6, 9, None);
        other.message.session = Session(1);
        context.attach(&mut other);
        assert_eq!(other.message.after, []);
    }
}
