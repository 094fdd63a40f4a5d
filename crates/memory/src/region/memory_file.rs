//! Memory files that are sealed, so that neither side can make the other one touch what is not there.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags};

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Makes an empty memory file of a fixed size.
pub fn make(name: &str, bytes: u64) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&file, bytes)?;
    rustix::fs::fcntl_add_seals(&file, SEALS)?;
    Ok(file)
}

/// The size of a memory file, if it can never change.
pub fn sealed_bytes(file: impl AsFd) -> Option<u64> {
    let seals = rustix::fs::fcntl_get_seals(&file).ok()?;
    if !seals.contains(SealFlags::SHRINK | SealFlags::GROW) {
        return None;
    }
    u64::try_from(rustix::fs::fstat(&file).ok()?.st_size).ok()
}
