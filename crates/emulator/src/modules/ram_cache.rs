//! Values in memory, by object and version; the one that was not used for longest goes first.

use std::collections::BTreeMap;

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{Content, Key, Outputs, Version};
use crate::file::{Problem, Section};
use crate::quantity::Bytes;

#[derive(Debug)]
struct Kept {
    version: Version,
    content: Content,
    used: u64,
}

#[derive(Debug)]
pub(super) struct RamCache {
    capacity: u64,
    bytes: u64,
    uses: u64,
    kept: BTreeMap<Key, Kept>,
    by_use: BTreeMap<u64, Key>,
}

impl RamCache {
    pub(super) fn build(section: &Section, _: &Site<'_>) -> Result<RamCache, Problem> {
        let capacity = section.bytes_or("capacity", Bytes(1 << 30))?.0;
        Ok(RamCache { capacity, bytes: 0, uses: 0, kept: BTreeMap::new(), by_use: BTreeMap::new() })
    }

    fn find(&mut self, key: Key, version: Option<Version>) -> Option<Content> {
        let kept = self.kept.get_mut(&key).filter(|kept| Some(kept.version) == version)?;
        self.by_use.remove(&kept.used);
        self.uses += 1;
        kept.used = self.uses;
        self.by_use.insert(kept.used, key);
        Some(kept.content)
    }

    fn insert(&mut self, key: Key, version: Version, content: Content) {
        self.remove(key);
        self.uses += 1;
        self.bytes += content.length;
        self.by_use.insert(self.uses, key);
        self.kept.insert(key, Kept { version, content, used: self.uses });
        while self.bytes > self.capacity {
            let (_, oldest) = self.by_use.first_key_value().expect("what has bytes has an entry");
            self.remove(*oldest);
        }
    }

    fn remove(&mut self, key: Key) {
        if let Some(kept) = self.kept.remove(&key) {
            self.by_use.remove(&kept.used);
            self.bytes -= kept.content.length;
        }
    }
}

impl Module for RamCache {
    fn run(&mut self, _now: Instant, call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        let message = &mut work.message;
        if call == "find" {
            let found = self.find(message.key, message.version);
            message.value = found.or(message.value);
            return Outcome(if found.is_some() { "hit" } else { "miss" });
        }
        if let (Some(version), Some(content)) = (message.version, message.value) {
            self.insert(message.key, version, content);
        }
        Outcome("ok")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_goes_and_another_version_is_a_miss() {
        let empty = Section::empty("a.toml", "ram-cache", 1);
        let mut cache =
            RamCache { capacity: 250, ..RamCache::build(&empty, &crate::testing::site()).expect("defaults") };
        let content = |digest| Content { digest, length: 100 };
        cache.insert(Key(1), Version(1), content(1));
        cache.insert(Key(2), Version(1), content(2));
        assert_eq!(cache.find(Key(1), Some(Version(1))), Some(content(1)));
        cache.insert(Key(3), Version(1), content(3));
        assert_eq!(cache.find(Key(2), Some(Version(1))), None);
        assert_eq!(cache.find(Key(1), Some(Version(1))), Some(content(1)));
        cache.insert(Key(1), Version(2), content(4));
        assert_eq!(cache.find(Key(1), Some(Version(1))), None);
        assert_eq!((cache.bytes, cache.by_use.len()), (200, 2));
    }
}
