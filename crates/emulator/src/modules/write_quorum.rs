//! Waits in a coordinator until so many replicas have a write.
//!
//! Source: DeCandia et al., "Dynamo" (2007), section 4.5.

use iolite_machine::Instant;

use super::waits::{Waits, quorum};
use super::{Module, Outcome, Site, Work};
use crate::engine::Outputs;
use crate::file::{Problem, Section};

#[derive(Debug)]
pub(super) struct WriteQuorum {
    quorum: usize,
    /// For each operation, how many answers it still needs.
    waits: Waits<usize>,
}

impl WriteQuorum {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<WriteQuorum, Problem> {
        Ok(WriteQuorum { quorum: quorum(section, "write_quorum")?, waits: Waits::build(section, site.own)? })
    }

    fn count(&mut self, work: &Work) -> &'static str {
        let operation = work.message.operation;
        let Some(left) = self.waits.state(operation) else { return "gone" };
        *left -= 1;
        if *left > 0 {
            return "waiting";
        }
        self.waits.end(operation);
        "enough"
    }
}

impl Module for WriteQuorum {
    fn run(&mut self, now: Instant, call: &str, work: &mut Work, out: &mut Outputs) -> Outcome {
        match call {
            "count" => return Outcome(self.count(work)),
            "expect" => self.waits.begin(now, &work.message, self.quorum),
            _ => self.waits.expire(now, out),
        }
        Outcome("ok")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Answer, Asked, Key, OperationId, Refusal};
    use crate::quantity::Span;
    use crate::testing::site;
    use crate::workload::request;

    fn module(text: &str) -> Result<WriteQuorum, Problem> {
        WriteQuorum::build(&Section::parse("a.toml", text).expect("this is TOML"), &site())
    }

    fn work(operation: u64) -> Work {
        Work::new(request(OperationId(operation), Asked::Put, Key(7), None, 0))
    }

    #[test]
    fn the_answer_that_is_enough_ends_the_wait_and_later_ones_find_it_gone() {
        let mut module = module("write_quorum = 2").expect("two of three can answer");
        let mut out = Outputs::default();
        let mut call = |call: &str| module.run(Instant::default(), call, &mut work(1), &mut out).0;
        assert_eq!(["expect", "count", "count", "count"].map(&mut call), ["ok", "waiting", "enough", "gone"]);
    }

    #[test]
    fn a_wait_that_takes_too_long_ends_with_a_refusal() {
        let mut module = module("give_up = \"2 s\"").expect("two of three can answer");
        let at = |seconds| Instant::default() + Span::from_secs(seconds);
        let mut out = Outputs::default();
        module.run(at(0), "expect", &mut work(1), &mut out);
        module.run(at(1), "expect", &mut work(2), &mut out);
        module.run(at(2), "expire", &mut work(0), &mut out);
        let (messages, _) = out.taken();
        let told: Vec<_> = messages.iter().map(|(_, message)| (message.operation.0, message.answer)).collect();
        assert_eq!(told, [(1, Some(Answer::Refused(Refusal::TimedOut)))]);
        assert_eq!(module.run(at(2), "count", &mut work(1), &mut Outputs::default()), Outcome("gone"));
        assert_eq!(module.run(at(2), "count", &mut work(2), &mut Outputs::default()), Outcome("waiting"));
    }

    #[test]
    fn more_answers_than_replicas_are_told() {
        let problem = module("replicas = 3\nwrite_quorum = 4").expect_err("four of three cannot answer");
        assert_eq!((problem.line, problem.what.as_str()), (2, "4 of 3 replicas cannot answer"));
    }
}
