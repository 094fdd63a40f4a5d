//! The objects of an arm's program, however they are kept. Each has bytes that tell which one it is.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use iolite_memory::{Link, Options, Pool, Region, Restore, Slot};
use rustix::fs::Advice;

use super::arm::{Keeping, Return};
use super::program::ProgramArguments;

/// Objects, however they are kept.
pub enum Objects {
    Region {
        region: Region,
        pool: Pool,
        slots: Vec<Slot>,
        is_lost: bool,
    },
    /// One after the other, each of so many bytes.
    Heap {
        bytes: Vec<u8>,
        each: usize,
    },
}

/// The bytes of an object: every word tells which one it is. The first word is left to writers.
pub fn content(number: usize, bytes: usize) -> Vec<u8> {
    let word = |at: usize| ((number as u64) << 20) ^ (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..bytes / 8).flat_map(|at| word(at).to_le_bytes()).collect()
}

/// Whether an object has its bytes. `expected` is the content of object 0.
pub fn is_right(bytes: &[u8], number: usize, expected: &[u8]) -> bool {
    let shift = (number as u64) << 20;
    let words = bytes.as_chunks::<8>().0.iter().zip(expected.as_chunks::<8>().0);
    words.skip(1).all(|(found, of_zero)| u64::from_le_bytes(*found) == u64::from_le_bytes(*of_zero) ^ shift)
}

/// Writes a file's bytes to the disk, and lets the kernel forget its copy of them: the next read comes from the disk.
pub fn forget(file: &File) -> anyhow::Result<()> {
    file.sync_data()?;
    Ok(rustix::fs::fadvise(file, 0, None, Advice::DontNeed)?)
}

impl Objects {
    pub fn make(arguments: &ProgramArguments) -> anyhow::Result<Objects> {
        let bytes = usize::try_from(arguments.object_bytes)?;
        let count = usize::try_from(arguments.mb * 1_000_000 / arguments.object_bytes)?;
        let contents = (0..count).map(|number| content(number, bytes));
        match arguments.keeping {
            Keeping::Heap | Keeping::HugeHeap => {
                // The allocator asks for huge pages otherwise.
                rustix::thread::disable_transparent_huge_pages(arguments.keeping == Keeping::Heap)?;
                let all = match &arguments.from_file {
                    Some(file) => std::fs::read(file).context("the objects are in a file")?,
                    None => contents.fold(Vec::with_capacity(count * bytes), |mut all, content| {
                        all.extend_from_slice(&content);
                        all
                    }),
                };
                Ok(Objects::Heap { bytes: all, each: bytes })
            }
            Keeping::Floor => Objects::in_lossy_region(arguments, contents),
            Keeping::Region => Objects::in_region(arguments, contents, false),
            Keeping::HugeRegion => Objects::in_region(arguments, contents, true),
        }
    }

    /// Memory like that of the others, but nothing is saved.
    fn in_lossy_region(
        arguments: &ProgramArguments,
        contents: impl Iterator<Item = Vec<u8>>,
    ) -> anyhow::Result<Objects> {
        let options = Options::new("memory-floor").bytes_max(arguments.mb * 1_000_000 + (1 << 20));
        let region = Region::create(options.without_memoryd())?;
        let pool = region.pool()?;
        let slots = contents.map(|content| pool.put(&content)).collect::<Result<Vec<Slot>, _>>()?;
        Ok(Objects::Region { region, pool, slots, is_lost: true })
    }

    fn in_region(
        arguments: &ProgramArguments,
        contents: impl Iterator<Item = Vec<u8>>,
        huge_pages: bool,
    ) -> anyhow::Result<Objects> {
        let options = Options::new("memory-bench").bytes_max(arguments.mb * 1_000_000 + (1 << 20));
        let options = options.swap_in(&arguments.swap_in).memoryd_at(&arguments.socket).huge_pages(huge_pages);
        let region = Region::create(options.save_every(Duration::from_millis(arguments.save_every_ms)))?;
        let pool = region.pool()?;
        let mut slots = contents.map(|content| pool.put(&content)).collect::<Result<Vec<Slot>, _>>()?;
        region.save()?;
        // Saved ahead of time: the disk is not to write it while it is measured.
        region.swap_file().context("the region has a swap file")?.sync_data()?;
        let used = slots.len() * usize::try_from(arguments.working_set)? / 100;
        // The working set is written to: what is dirty stays.
        for slot in &mut slots[..used] {
            pool.write(slot)?[0] ^= 1;
        }
        while region.link() != Link::Known {
            if let Link::Refused { reason } = region.link() {
                bail!("memoryd refuses: {reason}");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Objects::Region { region, pool, slots, is_lost: false })
    }

    pub fn len(&self) -> usize {
        match self {
            Objects::Region { slots, .. } => slots.len(),
            Objects::Heap { bytes, each } => bytes.len() / each,
        }
    }

    pub fn heap_at(&self) -> u64 {
        match self {
            Objects::Region { .. } => 0,
            Objects::Heap { bytes, .. } => bytes.as_ptr().addr() as u64,
        }
    }

    /// Flips a bit of the first byte of each object that the program still uses.
    pub fn write_working_set(&mut self, percent: u64) -> anyhow::Result<()> {
        let used = self.len() * usize::try_from(percent)? / 100;
        match self {
            Objects::Region { pool, slots, .. } => {
                for slot in &mut slots[..used] {
                    pool.write(slot)?[0] ^= 1;
                }
            }
            Objects::Heap { bytes, each } => bytes.chunks_mut(*each).take(used).for_each(|object| object[0] ^= 1),
        }
        if used == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Uses an object; whether its bytes were right. `expected` is the content of object 0.
    pub fn read(&self, number: usize, expected: &[u8]) -> anyhow::Result<bool> {
        match self {
            Objects::Region { is_lost: true, .. } => Ok(true),
            Objects::Region { pool, slots, is_lost: false, .. } => {
                Ok(is_right(&pool.read(&slots[number])?, number, expected))
            }
            Objects::Heap { bytes, each } => Ok(is_right(&bytes[number * each..(number + 1) * each], number, expected)),
        }
    }

    /// Goes to the background. What was saved is on the disk only, when this returns.
    pub fn rest(&self) -> anyhow::Result<()> {
        if let Objects::Region { region, .. } = self {
            region.background();
            region.save()?;
            forget(region.swap_file().context("the region has a swap file")?)?;
        }
        Ok(())
    }

    /// Comes back to the foreground.
    pub fn come_back(&self, by: Return) -> anyhow::Result<()> {
        if let Objects::Region { region, .. } = self {
            region.foreground(match by {
                Return::OnDemand => Restore::OnDemand,
                Return::All => Restore::All,
                Return::LastTouchedFirst => Restore::LastTouchedFirst,
            })?;
        }
        Ok(())
    }

    /// Lets the kernel forget its copy of the swap file.
    pub fn forget_saved(&self) -> anyhow::Result<()> {
        match self {
            Objects::Region { region, .. } => region.swap_file().map_or(Ok(()), forget),
            Objects::Heap { .. } => Ok(()),
        }
    }
}

/// Writes so many objects to a file, in order, and lets the kernel forget them.
pub fn write_file(path: &Path, count: usize, bytes: usize) -> anyhow::Result<()> {
    let mut into = std::io::BufWriter::with_capacity(1 << 20, File::create(path)?);
    for number in 0..count {
        std::io::Write::write_all(&mut into, &content(number, bytes))?;
    }
    forget(&into.into_inner().map_err(std::io::IntoInnerError::into_error)?)
}
