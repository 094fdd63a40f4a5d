//! The client's library of COPS: what each session has seen since its last write, which its next write comes after.
//!
//! Invariants: each version that a session saw stays until a write of the session stands for it. A newer version of the same object does not: it
//! may be of another session, and come after other causes. An operation that was refused adds nothing, as other sites may never get its version.
//! Source: Lloyd et al. (COPS, 2011), section 4.2: the nearest dependencies only, as those behind them are theirs.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{Answer, Dependency, OperationId, Outputs, Session};
use crate::file::{Problem, Section};

#[derive(Debug)]
pub(super) struct CausalContext {
    seen: BTreeMap<Session, BTreeSet<Dependency>>,
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
        message.after = seen.iter().copied().collect();
        self.attached.insert(message.operation, message.after.clone());
    }

    /// The answer to an operation. A write stands for all that it came after.
    fn observe(&mut self, work: &Work) {
        let message = &work.message;
        let attached = self.attached.remove(&message.operation).unwrap_or_default();
        let is_refused = matches!(message.answer, Some(Answer::Refused(_)));
        let Some(version) = message.version.filter(|_| !is_refused) else { return };
        let seen = self.seen.entry(message.session).or_default();
        for dependency in attached {
            seen.remove(&dependency);
        }
        seen.insert(Dependency { key: message.key, version });
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
    use crate::engine::{Asked, Key, Refusal, Version};
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

    #[test]
    fn a_write_comes_after_each_version_of_an_object_that_its_session_saw() {
        let section = Section::empty("a.toml", "context", 1);
        let mut context = CausalContext::build(&section, &site()).expect("no parameters");
        for version in [5, 8, 7] {
            context.observe(&work(version, 1, Some(version)));
        }
        let mut write = work(9, 2, None);
        context.attach(&mut write);
        let after = write.message.after.iter().map(|after| (after.key.0, after.version.0)).collect::<Vec<_>>();
        assert_eq!(after, [(1, 5), (1, 7), (1, 8)]);
    }

    #[test]
    fn what_was_refused_is_no_cause_and_stands_for_none() {
        let section = Section::empty("a.toml", "context", 1);
        let mut context = CausalContext::build(&section, &site()).expect("no parameters");
        context.observe(&work(1, 1, Some(5)));
        let mut refused = work(2, 2, None);
        context.attach(&mut refused);
        refused.message.version = Some(Version(6));
        refused.message.answer = Some(Answer::Refused(Refusal::Full));
        context.observe(&refused);
        let mut write = work(3, 3, None);
        context.attach(&mut write);
        assert_eq!(write.message.after, [Dependency { key: Key(1), version: Version(5) }]);
    }
}
