//! Where the versions of each object are: the newest that the whole chain has, and those that are still on their way along it.
//!
//! Invariant: a version that is on its way replaces nothing; the one that all have, and all that are newer, stay.
//! Source: Terrace and Freedman, "Object storage on CRAQ" (2009), section 2.3.

use std::collections::BTreeMap;

use iolite_machine::Instant;

use super::{Module, Outcome, Position, Site, Work};
use crate::engine::{Key, Outputs, Version};
use crate::file::{Problem, Section};

#[derive(Debug, Default)]
struct Versions {
    known: BTreeMap<Version, Position>,
    /// The newest that all replicas have.
    committed: Option<Version>,
}

#[derive(Debug)]
pub(super) struct VersionedIndex {
    objects: BTreeMap<Key, Versions>,
}

impl VersionedIndex {
    #[expect(clippy::unnecessary_wraps, reason = "modules are built alike")]
    pub(super) fn build(_: &Section, _: &Site<'_>) -> Result<VersionedIndex, Problem> {
        Ok(VersionedIndex { objects: BTreeMap::new() })
    }

    fn commit(&mut self, key: Key, version: Version) {
        let versions = self.objects.entry(key).or_default();
        versions.committed = versions.committed.max(Some(version));
        let committed = versions.committed;
        versions.known.retain(|known, _| Some(*known) >= committed);
    }

    fn find(&self, work: &mut Work) -> &'static str {
        let newest = self.objects.get(&work.message.key).and_then(|versions| {
            let (version, position) = versions.known.last_key_value()?;
            Some((*version, *position, versions.committed == Some(*version)))
        });
        let Some((version, position, is_clean)) = newest else { return "missing" };
        (work.message.version, work.position) = (Some(version), Some(position));
        if is_clean { "clean" } else { "dirty" }
    }

    /// The version that was asked for, or a newer one if all have that by now.
    fn at(&self, work: &mut Work) -> &'static str {
        let asked = work.message.version.expect("the ports were checked");
        let versions = self.objects.get(&work.message.key);
        let Some((version, position)) = versions.and_then(|versions| versions.known.range(asked..).next()) else {
            return "missing";
        };
        (work.message.version, work.position) = (Some(*version), Some(*position));
        "found"
    }

    fn committed(&self, work: &mut Work) -> &'static str {
        work.message.version = self.objects.get(&work.message.key).and_then(|versions| versions.committed);
        if work.message.version.is_some() { "found" } else { "missing" }
    }
}

impl Module for VersionedIndex {
    fn run(&mut self, _now: Instant, call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        let (key, version) = (work.message.key, work.message.version);
        match call {
            "find" => return Outcome(self.find(work)),
            "at" => return Outcome(self.at(work)),
            "committed" => return Outcome(self.committed(work)),
            "commit" => self.commit(key, version.expect("the ports were checked")),
            _ => {
                let (version, position) = (version.expect("the ports were checked"), work.position.expect("likewise"));
                let versions = self.objects.entry(key).or_default();
                let is_late = versions.committed.is_some_and(|committed| version < committed);
                if !is_late {
                    versions.known.insert(version, position);
                }
            }
        }
        Outcome("ok")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Asked, OperationId};
    use crate::modules::Placed;
    use crate::workload::request;

    fn call(index: &mut VersionedIndex, call: &str, version: u64) -> (&'static str, Option<u64>) {
        let mut work = Work::new(request(OperationId(1), Asked::Get, Key(7), None, 0));
        work.message.version = Some(Version(version));
        work.position = Some(Position { placed: Placed { disk: 0, log: 0 }, offset: version, length: 1 });
        let Outcome(result) = index.run(Instant::default(), call, &mut work, &mut Outputs::default());
        (result, work.message.version.map(|version| version.0))
    }

    #[test]
    fn an_object_is_dirty_from_a_write_until_the_chain_has_it() {
        let mut index = VersionedIndex { objects: BTreeMap::new() };
        assert_eq!(call(&mut index, "find", 0).0, "missing");
        call(&mut index, "insert", 1);
        call(&mut index, "commit", 1);
        assert_eq!(call(&mut index, "find", 0), ("clean", Some(1)));
        call(&mut index, "insert", 2);
        call(&mut index, "insert", 3);
        assert_eq!(call(&mut index, "find", 0), ("dirty", Some(3)));
        assert_eq!(
            (call(&mut index, "at", 1), call(&mut index, "committed", 0)),
            (("found", Some(1)), ("found", Some(1)))
        );
        call(&mut index, "commit", 3);
        // What is older than the committed version goes, and an older commit that comes late changes nothing.
        call(&mut index, "commit", 2);
        assert_eq!((call(&mut index, "at", 1), call(&mut index, "find", 0)), (("found", Some(3)), ("clean", Some(3))));
        call(&mut index, "insert", 2);
        assert_eq!(call(&mut index, "at", 2), ("found", Some(3)));
    }
}
