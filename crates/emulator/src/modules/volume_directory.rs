//! Haystack's directory: which volume each object is in, who holds a volume, and which volumes take writes.
//!
//! Invariant: an object is found where its newest committed version is; what is assigned and not committed is not found.
//! Source: Beaver et al., "Finding a needle in Haystack" (2010), section 3.4. Deviation: the directory numbers the versions of an object, which
//! Haystack's cookie does; so a cache never gives an old version for a new one.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;

use super::volume_placement::Layout;
use super::{Module, Outcome, Site, Work};
use crate::engine::{Key, Outputs, Version, Volume};
use crate::file::{Problem, Section};

#[derive(Debug)]
pub(super) struct VolumeDirectory {
    layout: Layout,
    objects: BTreeMap<Key, (Version, Volume)>,
    closed: BTreeSet<Volume>,
    next: u32,
    last: Version,
}

impl VolumeDirectory {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<VolumeDirectory, Problem> {
        let layout = Layout::build(section, site)?;
        let (objects, closed) = (BTreeMap::new(), BTreeSet::new());
        Ok(VolumeDirectory { layout, objects, closed, next: 0, last: Version(0) })
    }

    /// The next volume in turn that takes writes.
    fn assign(&mut self, work: &mut Work) -> &'static str {
        let volumes = self.layout.volumes;
        let turn = (0..volumes).map(|ahead| Volume((self.next + ahead) % volumes));
        let Some(volume) = turn.into_iter().find(|volume| !self.closed.contains(volume)) else { return "full" };
        self.next = (volume.0 + 1) % volumes;
        self.last = Version(self.last.0 + 1);
        self.tell(work, self.last, volume);
        "ok"
    }

    fn commit(&mut self, work: &Work) {
        let message = &work.message;
        let version = message.version.expect("the ports were checked");
        let volume = message.volume.expect("the ports were checked");
        let is_newer = self.objects.get(&message.key).is_none_or(|(had, _)| *had < version);
        if is_newer {
            self.objects.insert(message.key, (version, volume));
        }
    }

    fn find(&self, work: &mut Work) -> &'static str {
        let Some((version, volume)) = self.objects.get(&work.message.key) else { return "missing" };
        self.tell(work, *version, *volume);
        "found"
    }

    fn tell(&self, work: &mut Work, version: Version, volume: Volume) {
        work.message.version = Some(version);
        work.message.volume = Some(volume);
        work.message.replicas = self.layout.replicas(volume);
    }

    /// The store that says so is nearly full: none of its volumes takes writes any more.
    fn close(&mut self, work: &Work) {
        let store = work.message.from;
        let volumes = (0..self.layout.volumes).map(Volume);
        self.closed.extend(volumes.filter(|volume| self.layout.replicas(*volume).contains(&store)));
    }
}

impl Module for VolumeDirectory {
    fn run(&mut self, _now: Instant, call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        match call {
            "assign" => return Outcome(self.assign(work)),
            "find" => return Outcome(self.find(work)),
            "commit" => self.commit(work),
            _ => self.close(work),
        }
        Outcome("ok")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Asked, NodeId, OperationId};
    use crate::testing::site;
    use crate::workload::request;

    fn directory() -> VolumeDirectory {
        let section =
            Section::parse("a.toml", "role = \"store\"\nreplicas = 2\nlogs_per_disk = 1").expect("this is TOML");
        VolumeDirectory::build(&section, &site()).expect("these parameters are right")
    }

    fn work() -> Work {
        Work::new(request(OperationId(1), Asked::Put, Key(7), None, 0))
    }

    #[test]
    fn an_object_is_found_where_its_newest_committed_version_is() {
        let mut directory = directory();
        let [mut first, mut second] = [work(), work()];
        assert_eq!([&mut first, &mut second].map(|work| directory.assign(work)), ["ok", "ok"]);
        assert_ne!(first.message.volume, second.message.volume);
        assert_eq!(directory.find(&mut work()), "missing");
        directory.commit(&second);
        directory.commit(&first);
        let mut found = work();
        assert_eq!(directory.find(&mut found), "found");
        assert_eq!((found.message.version, found.message.volume), (second.message.version, second.message.volume));
        assert_eq!(found.message.replicas, second.message.replicas);
    }

    #[test]
    fn volumes_of_a_store_that_is_nearly_full_take_no_writes() {
        let mut directory = directory();
        let mut told = work();
        told.message.from = NodeId(2);
        directory.close(&told);
        for _ in 0..10 {
            let mut assigned = work();
            assert_eq!(directory.assign(&mut assigned), "ok");
            assert!(!assigned.message.replicas.contains(&NodeId(2)));
        }
        told.message.from = NodeId(1);
        directory.close(&told);
        assert_eq!(directory.assign(&mut work()), "full");
    }
}
