//! The program of an arm: it makes its objects, says so, writes to its working set if it is to, and checks everything when asked.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use iolite_memory::{Link, Options, Pool, Region, Slot};

use super::arm::{Hear, Keeping, Say};
use crate::part::{hear_now, say};

/// A message of the parent to a program.
#[derive(Args, Debug)]
pub struct ProgramArguments {
    #[arg(long)]
    keeping: Keeping,
    #[arg(long)]
    mb: u64,
    #[arg(long)]
    object_bytes: u64,
    #[arg(long)]
    working_set: u64,
    #[arg(long)]
    writes: bool,
    #[arg(long)]
    socket: PathBuf,
    #[arg(long)]
    swap_in: PathBuf,
}

/// Objects, however they are kept.
enum Objects {
    Region {
        _region: Region,
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

/// # Errors
/// When the objects cannot be made, or the parent is gone.
pub fn run_program(arguments: &ProgramArguments) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut objects = Objects::make(arguments)?;
    let heap_at = objects.heap_at();
    let pid = std::process::id();
    say(&Hear::Ready { pid, ready_ms: begun.elapsed().as_secs_f64() * 1e3, heap_at })?;
    let is_asked = AtomicBool::new(false);
    let asked = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let asked = hear_now::<Say>();
            is_asked.store(true, Ordering::Release);
            asked
        });
        while arguments.writes && !is_asked.load(Ordering::Acquire) {
            objects.write_working_set(arguments.working_set)?;
        }
        asking.join().ok().context("the thread that listens does not panic")?
    })?;
    let Say::UseAll = asked;
    let begun = Instant::now();
    let wrong_bytes = !objects.use_all(arguments.object_bytes)?;
    say(&Hear::Used { ms: begun.elapsed().as_secs_f64() * 1e3, wrong_bytes })
}

/// The bytes of an object: every word tells which one it is. The first word is left to writers.
fn content(number: usize, bytes: usize) -> Vec<u8> {
    let word = |at: usize| ((number as u64) << 20) ^ (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..bytes / 8).flat_map(|at| word(at).to_le_bytes()).collect()
}

fn is_right(bytes: &[u8], number: usize, expected: &[u8]) -> bool {
    let shift = (number as u64) << 20;
    let words = bytes.as_chunks::<8>().0.iter().zip(expected.as_chunks::<8>().0);
    words.skip(1).all(|(found, of_zero)| u64::from_le_bytes(*found) == u64::from_le_bytes(*of_zero) ^ shift)
}

impl Objects {
    fn make(arguments: &ProgramArguments) -> anyhow::Result<Objects> {
        let bytes = usize::try_from(arguments.object_bytes)?;
        let count = usize::try_from(arguments.mb * 1_000_000 / arguments.object_bytes)?;
        let contents = (0..count).map(|number| content(number, bytes));
        match arguments.keeping {
            Keeping::Heap | Keeping::HugeHeap => {
                // The allocator asks for huge pages otherwise.
                rustix::thread::disable_transparent_huge_pages(arguments.keeping == Keeping::Heap)?;
                let mut all = Vec::with_capacity(count * bytes);
                contents.for_each(|content| all.extend_from_slice(&content));
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
        Ok(Objects::Region { _region: region, pool, slots, is_lost: true })
    }

    fn in_region(
        arguments: &ProgramArguments,
        contents: impl Iterator<Item = Vec<u8>>,
        huge_pages: bool,
    ) -> anyhow::Result<Objects> {
        let options = Options::new("memory-reclaim").bytes_max(arguments.mb * 1_000_000 + (1 << 20));
        let options = options.swap_in(&arguments.swap_in).memoryd_at(&arguments.socket).huge_pages(huge_pages);
        let region = Region::create(options.save_every(Duration::from_secs(3600)))?;
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
        Ok(Objects::Region { _region: region, pool, slots, is_lost: false })
    }

    fn len(&self) -> usize {
        match self {
            Objects::Region { slots, .. } => slots.len(),
            Objects::Heap { bytes, each } => bytes.len() / each,
        }
    }

    fn heap_at(&self) -> u64 {
        match self {
            Objects::Region { .. } => 0,
            Objects::Heap { bytes, .. } => bytes.as_ptr().addr() as u64,
        }
    }

    /// Flips a bit of the first byte of each object that the program still uses.
    fn write_working_set(&mut self, percent: u64) -> anyhow::Result<()> {
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

    /// Uses every object; whether all bytes were right.
    fn use_all(&self, each: u64) -> anyhow::Result<bool> {
        let expected = content(0, usize::try_from(each)?);
        let mut right = true;
        match self {
            Objects::Region { is_lost: true, .. } => {}
            Objects::Region { pool, slots, is_lost: false, .. } => {
                for (number, slot) in slots.iter().enumerate() {
                    right &= is_right(&pool.read(slot)?, number, &expected);
                }
            }
            Objects::Heap { bytes, each } => {
                let objects = bytes.chunks(*each).enumerate();
                right = objects.fold(true, |right, (number, object)| right & is_right(object, number, &expected));
            }
        }
        Ok(right)
    }
}
