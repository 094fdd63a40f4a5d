//! The floor: one hole in a program's memory file, made from outside, without a table or a lock.

use std::fs::File;

use anyhow::Context;
use rustix::fs::FallocateFlags;

/// The region's memory file, by the kernel's list of what the program has open.
pub fn memory_file_of(pid: u32) -> anyhow::Result<File> {
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd"))? {
        let path = entry?.path();
        let target = std::fs::read_link(&path).unwrap_or_default();
        if target.to_string_lossy().starts_with("/memfd:iolite-region") {
            let file = File::options().read(true).write(true).open(&path);
            return file.context("another process's memory file cannot be opened");
        }
    }
    anyhow::bail!("process {pid} has no region")
}

/// Makes one hole.
pub fn punch(file: &File, from: u64, bytes: u64) -> anyhow::Result<()> {
    Ok(rustix::fs::fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, from, bytes)?)
}
