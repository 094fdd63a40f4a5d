//! A disk that makes a killed process lose what a power cut would: what was not synced is held in memory, and nowhere else.
//!
//! For tests with real processes, whose writes the kernel keeps when they are killed. A sync writes what is held to the disk below and syncs that,
//! so a kill in its middle leaves a part, as a power cut does.
//!
//! Invariant: the disk below has nothing that was not synced, or is being synced.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::Disk;

/// Any disk, with what it has not synced in memory.
#[derive(Debug)]
pub struct HoldingDisk<D> {
    below: D,
    /// Unsynced changes of files.
    held: BTreeMap<String, Held>,
    /// Files whose names are not synced.
    created: BTreeSet<String>,
    removed: BTreeSet<String>,
}

/// What a file is to become: so much of what is below, and then this.
#[derive(Clone, Debug, Default)]
struct Held {
    kept: u64,
    tail: Vec<u8>,
    /// Of a file whose name is not synced: how much of the tail is.
    synced: usize,
}

impl<D: Disk> HoldingDisk<D> {
    pub fn new(below: D) -> HoldingDisk<D> {
        HoldingDisk { below, held: BTreeMap::new(), created: BTreeSet::new(), removed: BTreeSet::new() }
    }

    fn is_below(&self, name: &str) -> io::Result<bool> {
        Ok(!self.created.contains(name)
            && !self.removed.contains(name)
            && self.below.list()?.iter().any(|own| own == name))
    }

    fn held(&mut self, name: &str) -> io::Result<&mut Held> {
        if !self.held.contains_key(name) {
            let kept = if self.is_below(name)? {
                self.below.length(name)?
            } else {
                self.created.insert(name.to_owned());
                0
            };
            self.held.insert(name.to_owned(), Held { kept, ..Held::default() });
        }
        Ok(self.held.get_mut(name).expect("it is there or has just been inserted"))
    }

    /// Writes the first bytes of a file's tail through, and syncs them.
    fn write_through(&mut self, name: &str, held: &Held, bytes: usize) -> io::Result<()> {
        let is_there = self.below.list()?.iter().any(|own| own == name);
        if is_there && self.below.length(name)? > held.kept {
            self.below.truncate(name, held.kept)?;
        }
        self.below.append(name, &held.tail[..bytes])?;
        self.below.sync(name)
    }
}

fn missing(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no file {name}"))
}

impl<D: Disk> Disk for HoldingDisk<D> {
    fn list(&self) -> io::Result<Vec<String>> {
        let below = self.below.list()?.into_iter().filter(|name| !self.removed.contains(name));
        Ok(below.chain(self.created.iter().cloned()).collect::<BTreeSet<String>>().into_iter().collect())
    }

    fn length(&self, name: &str) -> io::Result<u64> {
        match self.held.get(name) {
            Some(held) => Ok(held.kept + held.tail.len() as u64),
            None if self.removed.contains(name) => Err(missing(name)),
            None => self.below.length(name),
        }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let length = self.length(name)?;
        self.read_range(name, 0, usize::try_from(length).map_err(io::Error::other)?)
    }

    fn read_range(&self, name: &str, offset: u64, length_max: usize) -> io::Result<Vec<u8>> {
        let Some(held) = self.held.get(name) else {
            return if self.removed.contains(name) {
                Err(missing(name))
            } else {
                self.below.read_range(name, offset, length_max)
            };
        };
        let mut bytes = Vec::new();
        if offset < held.kept {
            let most = usize::try_from(held.kept - offset).map_or(length_max, |kept| kept.min(length_max));
            bytes = self.below.read_range(name, offset, most)?;
        }
        let from = usize::try_from(offset.saturating_sub(held.kept)).map_err(io::Error::other)?;
        let tail = held.tail.get(from..).unwrap_or_default();
        bytes.extend_from_slice(&tail[..tail.len().min(length_max - bytes.len())]);
        Ok(bytes)
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.held(name)?.tail.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, name: &str, length: u64) -> io::Result<()> {
        let held = self.held(name)?;
        match length.checked_sub(held.kept) {
            Some(tail) => held.tail.truncate(usize::try_from(tail).map_err(io::Error::other)?),
            None => {
                held.kept = length;
                held.tail.clear();
            }
        }
        held.synced = held.synced.min(held.tail.len());
        Ok(())
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        if self.created.contains(name) {
            // Without its name nobody finds it after a power cut.
            let held = self.held(name)?;
            held.synced = held.tail.len();
            return Ok(());
        }
        match self.held.remove(name) {
            Some(held) => self.write_through(name, &held, held.tail.len()),
            None => self.below.sync(name),
        }
    }

    fn sync_directory(&mut self) -> io::Result<()> {
        for name in std::mem::take(&mut self.removed) {
            self.below.remove(&name)?;
        }
        for name in std::mem::take(&mut self.created) {
            let Some(mut held) = self.held.remove(&name) else { continue };
            self.write_through(&name, &held, held.synced)?;
            if held.synced < held.tail.len() {
                held.kept = held.synced as u64;
                held.tail.drain(..held.synced);
                held.synced = 0;
                self.held.insert(name, held);
            }
        }
        self.below.sync_directory()
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let was_created = self.created.remove(name);
        let was_held = self.held.remove(name).is_some();
        if !was_created && self.is_below(name)? {
            self.removed.insert(name.to_owned());
            return Ok(());
        }
        if was_created || was_held { Ok(()) } else { Err(missing(name)) }
    }

    fn expect_in_place(&self, name: &str) -> io::Result<()> {
        // A name that is not synced is nowhere else.
        if self.created.contains(name) { Ok(()) } else { self.below.expect_in_place(name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryDisk;

    fn disk() -> HoldingDisk<MemoryDisk> {
        let mut below = MemoryDisk::new();
        below.append("old", b"0123456789").expect("in memory");
        below.sync("old").expect("in memory");
        below.sync_directory().expect("in memory");
        HoldingDisk::new(below)
    }

    /// What a killed process leaves.
    fn left(disk: HoldingDisk<MemoryDisk>) -> BTreeMap<String, Vec<u8>> {
        let names = disk.below.list().expect("in memory");
        names.into_iter().map(|name| (name.clone(), disk.below.read(&name).expect("it is there"))).collect()
    }

    #[test]
    fn what_was_not_synced_is_seen_and_lost_with_the_process() {
        let mut disk = disk();
        disk.append("old", b"ab").expect("in memory");
        disk.truncate("old", 11).expect("in memory");
        disk.append("new", b"cd").expect("in memory");
        assert_eq!(disk.read("old").expect("it is there"), b"0123456789a");
        assert_eq!(disk.read_range("old", 8, 2).expect("it is there"), b"89");
        assert_eq!(disk.read_range("old", 9, 9).expect("it is there"), b"9a");
        assert_eq!(
            (disk.length("new").expect("it is there"), disk.list().expect("in memory")),
            (2, vec!["new".into(), "old".into()])
        );
        assert_eq!(left(disk), BTreeMap::from([("old".into(), b"0123456789".to_vec())]));
    }

    #[test]
    fn what_was_synced_stays_and_a_new_file_only_with_its_name() {
        let mut disk = disk();
        disk.truncate("old", 4).expect("in memory");
        disk.append("old", b"x").expect("in memory");
        disk.sync("old").expect("in memory");
        disk.append("old", b"y").expect("in memory");
        disk.append("named", b"1").expect("in memory");
        disk.sync("named").expect("in memory");
        disk.append("named", b"2").expect("in memory");
        disk.sync_directory().expect("in memory");
        assert_eq!(disk.read("named").expect("it is there"), b"12");
        disk.append("nameless", b"3").expect("in memory");
        disk.sync("nameless").expect("in memory");
        let expected = BTreeMap::from([("old".into(), b"0123x".to_vec()), ("named".into(), b"1".to_vec())]);
        assert_eq!(left(disk), expected);
    }

    #[test]
    fn a_removal_stays_undone_until_the_directory_is_synced() {
        let mut removed = disk();
        removed.remove("old").expect("it is there");
        assert!(removed.read("old").is_err() && removed.list().expect("in memory").is_empty());
        assert!(removed.remove("old").is_err());
        assert_eq!(left(removed).len(), 1);
        let mut synced = disk();
        synced.remove("old").expect("it is there");
        synced.sync_directory().expect("in memory");
        assert!(left(synced).is_empty());
        let mut again = disk();
        again.remove("old").expect("it is there");
        again.append("old", b"new").expect("in memory");
        again.sync("old").expect("in memory");
        again.sync_directory().expect("in memory");
        assert_eq!(left(again), BTreeMap::from([("old".into(), b"new".to_vec())]));
    }
}
