//! What a disk suffers while it has power: it is full, or what was synced changes by itself.

use std::io;

use super::{Change, Content, MemoryDisk};

/// What still fits on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Room {
    #[default]
    Plenty,
    Bytes(u64),
}

impl MemoryDisk {
    /// So many more bytes can be appended. An append that does not fit writes what does, and fails. Removals give nothing back.
    pub fn fill_up_to(&mut self, bytes: u64) {
        self.room = Room::Bytes(bytes);
    }

    /// Everything fits again.
    pub fn make_room(&mut self) {
        self.room = Room::Plenty;
    }

    /// How many of `bytes` fit.
    pub(super) fn take_room(&mut self, bytes: usize) -> usize {
        match &mut self.room {
            Room::Plenty => bytes,
            Room::Bytes(left) => {
                let fits = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes);
                *left -= fits as u64;
                fits
            }
        }
    }

    /// One bit of what was synced is another one from now on. Returns the file, or nothing where nothing was synced.
    ///
    /// `choose(n)` gives a number below `n`; the simulation draws it from its seed.
    pub fn flip_bit(&mut self, choose: &mut dyn FnMut(u64) -> u64) -> Option<String> {
        let files = self.names.iter().filter(|(_, inode)| safe_bytes(&self.inodes[inode]) > 0);
        let files: Vec<_> = files.map(|(name, inode)| (name.clone(), *inode)).collect();
        if files.is_empty() {
            return None;
        }
        let (name, inode) = files[choose(files.len() as u64) as usize].clone();
        let content = self.inodes.get_mut(&inode)?;
        let place = choose(safe_bytes(content) as u64) as usize;
        let bit = 1 << choose(8);
        content.synced[place] ^= bit;
        content.visible[place] ^= bit;
        Some(name)
    }
}

/// So many bytes at the beginning of a file are the same on the platter and in the buffers.
fn safe_bytes(content: &Content) -> usize {
    let cuts = content.pending.iter().filter_map(|change| match change {
        Change::Truncate(length) => Some(*length),
        Change::Append(_) => None,
    });
    cuts.chain([content.synced.len(), content.visible.len()]).min().unwrap_or_default()
}

pub(super) fn no_room() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "the disk is full")
}

#[cfg(test)]
mod tests {
    use crate::{Disk, MemoryDisk};

    #[test]
    fn a_full_disk_takes_what_fits_until_there_is_room() {
        let mut disk = MemoryDisk::new();
        disk.fill_up_to(5);
        disk.append("a", b"123").expect("it fits");
        let error = disk.append("a", b"456").expect_err("it does not fit");
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        assert_eq!(disk.read("a").expect("it is there"), b"12345");
        disk.make_room();
        disk.append("a", b"6").expect("it fits");
        assert_eq!(disk.read("a").expect("it is there"), b"123456");
    }

    #[test]
    fn a_bit_changes_in_what_was_synced_only() {
        let mut disk = MemoryDisk::new();
        assert_eq!(disk.flip_bit(&mut |_| 0), None);
        disk.append("a", b"ab").expect("it works");
        assert_eq!(disk.flip_bit(&mut |_| 0), None);
        disk.sync("a").expect("it works");
        disk.append("a", b"c").expect("it works");
        assert_eq!(disk.flip_bit(&mut |below| below - 1), Some("a".into()));
        assert_eq!(disk.read("a").expect("it is there"), [b'a', b'b' ^ 0x80, b'c']);
        disk.sync("a").expect("it works");
        disk.crash(&crate::CrashFault::ALL, &mut |_| 0);
        assert_eq!(disk.read("a").expect("it is there"), [b'a', b'b' ^ 0x80, b'c']);
    }
}
