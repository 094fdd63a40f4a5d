//! Asks so many replicas of an object, and takes the newest version that they have.
//!
//! Source: DeCandia et al., "Dynamo" (2007), section 4.5. Deviation: one coordinator numbers the writes of an object, so versions are numbers and never
//! concurrent; replicas that are behind are not repaired.

use iolite_machine::Instant;

use super::waits::{Waits, quorum};
use super::{Module, Outcome, Site, Work};
use crate::engine::{Content, NodeId, Outputs, Version};
use crate::file::{Problem, Section};

/// The answers so far.
#[derive(Debug)]
struct Answers {
    left: usize,
    newest: Option<(Version, Option<Content>)>,
}

#[derive(Debug)]
pub(super) struct ReadQuorum {
    own: NodeId,
    quorum: usize,
    waits: Waits<Answers>,
}

impl ReadQuorum {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<ReadQuorum, Problem> {
        let (quorum, waits) = (quorum(section, "read_quorum")?, Waits::build(section, site.own)?);
        Ok(ReadQuorum { own: site.own, quorum, waits })
    }

    /// This node itself, if it has a replica, and those behind it.
    fn expect(&mut self, now: Instant, work: &mut Work) {
        self.waits.begin(now, &work.message, Answers { left: self.quorum, newest: None });
        let replicas = &mut work.message.replicas;
        let first = replicas.iter().position(|node| *node == self.own).unwrap_or(0);
        replicas.rotate_left(first);
        replicas.truncate(self.quorum);
    }

    fn count(&mut self, work: &mut Work) -> &'static str {
        let message = &mut work.message;
        let Some(answers) = self.waits.state(message.operation) else { return "gone" };
        answers.left -= 1;
        if let Some(version) = message.version {
            let is_newer = answers.newest.is_none_or(|(had, _)| had < version);
            if is_newer {
                answers.newest = Some((version, message.value));
            }
        }
        if answers.left > 0 {
            return "waiting";
        }
        let Some((version, value)) = self.waits.end(message.operation).and_then(|answers| answers.newest) else {
            return "missing";
        };
        (message.version, message.value) = (Some(version), value);
        "enough"
    }
}

impl Module for ReadQuorum {
    fn run(&mut self, now: Instant, call: &str, work: &mut Work, out: &mut Outputs) -> Outcome {
        match call {
            "count" => return Outcome(self.count(work)),
            "expect" => self.expect(now, work),
            _ => self.waits.expire(now, out),
        }
        Outcome("ok")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Asked, Key, OperationId};
    use crate::testing::site;
    use crate::workload::request;

    fn answer(version: Option<u64>) -> Work {
        let mut work = Work::new(request(OperationId(1), Asked::Get, Key(7), None, 0));
        work.message.version = version.map(Version);
        work.message.value = version.map(|digest| Content { digest, length: 1 });
        work
    }

    #[test]
    fn the_newest_of_the_answers_is_taken() {
        for (answers, newest) in [([Some(3), Some(5)], Some(5)), ([Some(5), None], Some(5)), ([None, None], None)] {
            let mut module = ReadQuorum::build(&Section::empty("a.toml", "quorum", 1), &site()).expect("defaults");
            let mut asked = answer(None);
            asked.message.replicas = [2, 1, 3].map(NodeId).to_vec();
            module.expect(Instant::default(), &mut asked);
            assert_eq!(asked.message.replicas, [NodeId(1), NodeId(3)]);
            let [mut first, mut second] = answers.map(answer);
            assert_eq!(module.count(&mut first), "waiting");
            assert_eq!(module.count(&mut second), if newest.is_some() { "enough" } else { "missing" });
            assert_eq!(second.message.version, newest.map(Version));
            assert_eq!(second.message.value.map(|value| value.digest), newest);
            assert_eq!(module.count(&mut answer(Some(9))), "gone");
        }
    }
}
