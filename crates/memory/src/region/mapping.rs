//! A shared mapping of a sealed memory file.
//!
//! Invariant: the file is sealed against shrinking before it is mapped, so that no access to the mapping ends in SIGBUS.
#![allow(unsafe_code, reason = "mapping memory and reaching into it is what this file is for")]

use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags};

/// The mapping of a whole file, unmapped when it is dropped.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is memory of the process like any other, not of one thread; what is read and written in it is ruled where it is done.
unsafe impl Send for Mapping {}
// SAFETY: likewise; a shared `Mapping` only gives pointers and atomics.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` bytes of the file from its start, to be read and written.
    pub fn of(file: impl AsFd, bytes: u64, huge_pages: bool) -> io::Result<Mapping> {
        let bytes = usize::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // SAFETY: the kernel chooses the address, so nothing that exists is mapped over.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )?
        };
        let start = NonNull::new(start.cast()).expect("the kernel maps nothing at address 0");
        let mapping = Mapping { start, bytes };
        mapping.advise(Advice::LinuxDontFork)?;
        if huge_pages {
            mapping.advise(Advice::LinuxHugepage)?;
        }
        Ok(mapping)
    }

    fn advise(&self, advice: Advice) -> io::Result<()> {
        // SAFETY: the range is the mapping's own, and neither advice changes what is in it.
        unsafe { rustix::mm::madvise(self.start.as_ptr().cast(), self.bytes, advice)? };
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.bytes
    }

    /// The address of a range of the mapping.
    ///
    /// # Panics
    /// When the range ends beyond the mapping.
    pub fn pointer(&self, offset: u64, bytes: usize) -> NonNull<u8> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.checked_add(bytes);
        assert!(end.is_some_and(|end| end <= self.bytes), "offset {offset} is beyond the mapping");
        // SAFETY: the sum stays within the mapping, as the line above says.
        unsafe { self.start.add(start) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nothing borrows from the mapping any more: all that does has a lifetime of it.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "the range was mapped: {unmapped:?}");
    }
}
