//! A disk in memory that can lose power.
//!
//! It keeps apart what was synced and what was only written, for the content of files and for their names. A crash decides
//! the fate of the second part; the first part always survives.
//! Invariant: equal calls and equal choices give an equal disk, so a seeded simulation repeats exactly.

mod crash;
mod harm;

use std::collections::BTreeMap;
use std::io;

pub use crash::CrashFault;
use harm::{Room, no_room};

use crate::Disk;

/// Files in memory, for tests and the simulation. See [`MemoryDisk::crash`].
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    inodes: BTreeMap<Inode, Content>,
    next_inode: Inode,
    /// Names as a running process sees them.
    names: BTreeMap<String, Inode>,
    /// Names as they are on the platter.
    synced_names: BTreeMap<String, Inode>,
    power: Power,
    room: Room,
    next_sync: NextSync,
    fired: BTreeMap<CrashFault, u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Inode(u64);

#[derive(Clone, Debug, Default)]
struct Content {
    synced: Vec<u8>,
    /// What a running process reads.
    visible: Vec<u8>,
    /// The way from `synced` to `visible`.
    pending: Vec<Change>,
    write_back: WriteBack,
}

#[derive(Clone, Debug)]
enum Change {
    Append(Vec<u8>),
    Truncate(usize),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::Append(more) => bytes.extend_from_slice(more),
            Change::Truncate(length) => bytes.truncate(*length),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WriteBack {
    #[default]
    Works,
    /// A sync failed. As on Linux, later ones report success and write nothing.
    Lies,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Power {
    #[default]
    On,
    OffAfter(u64),
    Off,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NextSync {
    #[default]
    Works,
    Fails,
}

impl MemoryDisk {
    pub fn new() -> MemoryDisk {
        MemoryDisk::default()
    }

    /// A disk that holds `files`, all synced.
    pub fn with_files(files: BTreeMap<String, Vec<u8>>) -> MemoryDisk {
        let mut disk = MemoryDisk::new();
        for (name, bytes) in files {
            let content = Content { synced: bytes.clone(), visible: bytes, ..Content::default() };
            let inode = disk.new_inode(content);
            disk.names.insert(name.clone(), inode);
            disk.synced_names.insert(name, inode);
        }
        disk
    }

    /// Every file as a running process reads it.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.names.iter().map(|(name, inode)| (name.clone(), self.inodes[inode].visible.clone())).collect()
    }

    /// Lets `operations` more appends, cuts, syncs and removals happen; from then on every call fails until
    /// [`MemoryDisk::crash`] brings the power back.
    pub fn power_off_after(&mut self, operations: u64) {
        self.power = Power::OffAfter(operations);
    }

    /// Whether every call fails until the next [`MemoryDisk::crash`].
    pub fn is_off(&self) -> bool {
        self.power == Power::Off
    }

    /// The next sync of a file fails. As on Linux, later syncs of that file succeed and write nothing.
    pub fn fail_next_sync(&mut self) {
        self.next_sync = NextSync::Fails;
    }

    fn new_inode(&mut self, content: Content) -> Inode {
        let inode = self.next_inode;
        self.next_inode = Inode(inode.0 + 1);
        self.inodes.insert(inode, content);
        inode
    }

    fn content(&self, name: &str) -> io::Result<&Content> {
        if self.is_off() {
            return Err(power_is_off());
        }
        let inode = self.names.get(name).ok_or_else(|| missing(name))?;
        Ok(&self.inodes[inode])
    }

    fn content_mut(&mut self, name: &str) -> io::Result<&mut Content> {
        let inode = self.names.get(name).ok_or_else(|| missing(name))?;
        Ok(self.inodes.get_mut(inode).expect("a name has an inode"))
    }

    fn spend_power(&mut self) -> io::Result<()> {
        match self.power {
            Power::On => Ok(()),
            Power::OffAfter(0) | Power::Off => {
                self.power = Power::Off;
                Err(power_is_off())
            }
            Power::OffAfter(operations) => {
                self.power = Power::OffAfter(operations - 1);
                Ok(())
            }
        }
    }

    fn drop_unnamed_inodes(&mut self) {
        let (names, synced_names) = (&self.names, &self.synced_names);
        self.inodes.retain(|inode, _| names.values().chain(synced_names.values()).any(|named| named == inode));
    }
}

impl Disk for MemoryDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        if self.is_off() {
            return Err(power_is_off());
        }
        Ok(self.names.keys().cloned().collect())
    }

    fn length(&self, name: &str) -> io::Result<u64> {
        Ok(self.content(name)?.visible.len() as u64)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(self.content(name)?.visible.clone())
    }

    fn read_range(&self, name: &str, offset: u64, length_max: usize) -> io::Result<Vec<u8>> {
        let bytes = &self.content(name)?.visible;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(length_max).min(bytes.len());
        Ok(bytes[start..end].to_vec())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.spend_power()?;
        if !self.names.contains_key(name) {
            let inode = self.new_inode(Content::default());
            self.names.insert(name.to_owned(), inode);
        }
        let fits = self.take_room(bytes.len());
        let (written, lost) = bytes.split_at(fits);
        let content = self.content_mut(name)?;
        content.visible.extend_from_slice(written);
        content.pending.push(Change::Append(written.to_vec()));
        if lost.is_empty() { Ok(()) } else { Err(no_room()) }
    }

    fn truncate(&mut self, name: &str, length: u64) -> io::Result<()> {
        self.spend_power()?;
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let content = self.content_mut(name)?;
        content.visible.truncate(length);
        content.pending.push(Change::Truncate(length));
        Ok(())
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        self.spend_power()?;
        let fate = std::mem::take(&mut self.next_sync);
        let content = self.content_mut(name)?;
        match (fate, content.write_back) {
            (NextSync::Fails, _) => {
                content.write_back = WriteBack::Lies;
                Err(io::Error::other("the disk could not write"))
            }
            (NextSync::Works, WriteBack::Lies) => Ok(()),
            (NextSync::Works, WriteBack::Works) => {
                for change in content.pending.drain(..) {
                    change.apply(&mut content.synced);
                }
                Ok(())
            }
        }
    }

    fn sync_directory(&mut self) -> io::Result<()> {
        self.spend_power()?;
        self.synced_names.clone_from(&self.names);
        self.drop_unnamed_inodes();
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.spend_power()?;
        self.names.remove(name).ok_or_else(|| missing(name))?;
        self.drop_unnamed_inodes();
        Ok(())
    }
}

fn missing(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("no file {name}"))
}

fn power_is_off() -> io::Error {
    io::Error::other("the power is off")
}
