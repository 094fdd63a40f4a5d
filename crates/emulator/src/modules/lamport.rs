//! Versions by a clock of Lamport: a write's version is above all that it comes after and all that the node has seen.

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{NodeId, Outputs, Version};
use crate::file::{Problem, Section};

/// A deployment has at most a thousand nodes; the node breaks ties.
const NODES: u64 = 1 << 10;

#[derive(Debug)]
pub(super) struct Lamport {
    own: NodeId,
    clock: u64,
}

impl Lamport {
    #[expect(clippy::unnecessary_wraps, reason = "modules are built alike")]
    pub(super) fn build(_: &Section, site: &Site<'_>) -> Result<Lamport, Problem> {
        Ok(Lamport { own: site.own, clock: 0 })
    }
}

impl Module for Lamport {
    fn run(&mut self, _now: Instant, _call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        let message = &mut work.message;
        let seen = message.after.iter().map(|after| after.version).chain(message.version);
        self.clock = seen.map(|version| version.0 / NODES).fold(self.clock, u64::max);
        if message.version.is_none() {
            self.clock += 1;
            message.version = Some(Version(self.clock * NODES + u64::from(self.own.0)));
        }
        Outcome("ok")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Asked, Dependency, Key, OperationId};
    use crate::testing::site;
    use crate::workload::request;

    #[test]
    fn a_version_is_above_all_that_was_seen() {
        let mut module = Lamport::build(&Section::empty("a.toml", "lamport", 1), &site()).expect("no parameters");
        let mut version = |had: Option<u64>, after: Vec<u64>| {
            let mut work = Work::new(request(OperationId(1), Asked::Put, Key(7), None, 0));
            work.message.version = had.map(|clock| Version(clock * NODES + 2));
            work.message.after = after
                .into_iter()
                .map(|clock| Dependency { key: Key(1), version: Version(clock * NODES + 3) })
                .collect();
            module.run(Instant::default(), "", &mut work, &mut Outputs::default());
            work.message.version.map(|version| (version.0 / NODES, version.0 % NODES))
        };
        assert_eq!(version(None, vec![]), Some((1, 1)));
        assert_eq!(version(None, vec![7, 4]), Some((8, 1)));
        assert_eq!(version(Some(20), vec![]), Some((20, 2)));
        assert_eq!(version(None, vec![9]), Some((21, 1)));
    }
}
