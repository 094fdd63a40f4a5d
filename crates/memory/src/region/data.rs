//! The region's bytes.
//!
//! Invariant: a place has one owner, who alone writes to it; a punched place is read by nobody.
#![allow(unsafe_code, reason = "objects are slices of shared memory")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::FallocateFlags;

use super::mapping::Mapping;
use crate::limits::PAGE_BYTES;

/// Pages of a region that follow each other. Whoever has it owns them: it is neither copied nor made but where pages are taken,
/// and where an entry's own place is read under its restoring thread's word.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) page: u64,
    pub(crate) pages: u64,
}

impl Place {
    /// The place of so many bytes at an offset.
    pub(crate) fn at(offset: u64, bytes: u64) -> Place {
        Place { page: offset / PAGE_BYTES, pages: pages_of(bytes) }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.page * PAGE_BYTES
    }
}

/// How many pages an object takes; the empty one takes one, too.
pub(crate) fn pages_of(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE_BYTES).max(1)
}

/// The memory file of a region, and its mapping.
#[derive(Debug)]
pub struct Data {
    file: OwnedFd,
    mapping: Mapping,
    /// Whether a page that is missing traps: then pages are made by a call, never by touching them.
    traps: AtomicBool,
}

impl Data {
    pub fn of(file: OwnedFd, bytes: u64, huge_pages: bool) -> io::Result<Data> {
        let mapping = Mapping::of(&file, bytes, huge_pages)?;
        Ok(Data { file, mapping, traps: AtomicBool::new(false) })
    }

    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub fn len(&self) -> u64 {
        self.mapping.len() as u64
    }

    /// Lets the owner of a place write to its first bytes.
    pub fn fill<R>(&self, place: &mut Place, bytes: u64, write: impl FnOnce(&mut [u8]) -> R) -> io::Result<R> {
        if self.traps.load(Ordering::Relaxed) {
            rustix::fs::fallocate(&self.file, FallocateFlags::empty(), place.offset(), place.pages * PAGE_BYTES)?;
        }
        assert!(bytes <= place.pages * PAGE_BYTES, "the place is too small");
        let bytes = usize::try_from(bytes).expect("what is mapped has an address");
        let start = self.mapping.pointer(place.offset(), bytes);
        // SAFETY: the range is within the mapping. The caller owns the place, so no guard and no other thread uses it, and the daemon punches no
        // place that it has not claimed. `place` is borrowed mutably for as long as the slice lives.
        let slice = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), bytes) };
        Ok(write(slice))
    }

    /// The bytes of an object for a reader.
    ///
    /// # Safety
    /// A hazard slot names the object's entry, its word was usable afterwards, and nobody of this process writes to it: its `Slot` is borrowed.
    pub unsafe fn bytes(&self, offset: u64, bytes: usize) -> &[u8] {
        let start = self.mapping.pointer(offset, bytes);
        // SAFETY: the range is within the mapping; the caller keeps writers and the daemon away for the lifetime of the slice.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes) }
    }

    /// The bytes of an object for a writer.
    ///
    /// # Safety
    /// As for [`Data::bytes`], the word was dirty, and the `Slot` is borrowed mutably.
    #[allow(
        clippy::mut_from_ref,
        reason = "the caller has the object's slot mutably: the region is only where it lies"
    )]
    pub unsafe fn bytes_mut(&self, offset: u64, bytes: usize) -> &mut [u8] {
        let start = self.mapping.pointer(offset, bytes);
        // SAFETY: the range is within the mapping; the caller keeps everybody else away for the lifetime of the slice.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), bytes) }
    }

    /// The address of the region, for the trap that tests set.
    pub fn range(&self) -> (u64, u64) {
        (self.mapping.pointer(0, 0).as_ptr().addr() as u64, self.len())
    }

    pub fn set_trap(&self) {
        self.traps.store(true, Ordering::Relaxed);
    }

    /// Copies an object by the kernel, which may read while another thread writes: then the copy is worth nothing, and the caller finds that out.
    pub fn copy(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        read_exactly(&self.file, into, offset)
    }

    /// Gives pages back to the kernel.
    pub fn punch(&self, page: u64, pages: u64) -> io::Result<()> {
        punch(&self.file, page * PAGE_BYTES, pages * PAGE_BYTES)
    }
}

/// Makes a hole in a memory file.
pub fn punch(file: impl AsFd, offset: u64, bytes: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, bytes)?)
}

/// Fills the buffer from a position of a file.
pub fn read_exactly(file: impl AsFd, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match rustix::io::pread(&file, &mut *buffer, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                buffer = &mut buffer[read..];
                at += read as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
