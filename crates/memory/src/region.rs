//! A region: memory of a program that a daemon may take back, and what belongs to it.

pub(crate) mod data;
pub(crate) mod guards;
mod mapping;
pub(crate) mod memory_file;
pub(crate) mod table;
mod trap;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::thread::{MembarrierCommand, MembarrierQuery};

use crate::clock::{Warmth, round_of};
use crate::counts::Counts;
use crate::error::{AccessError, CreateError, PoolError, SaveError};
use crate::heap::Heap;
use crate::limits::{ENTRIES_MAX, EXTENT_BYTES, PAGE_BYTES, REGION_BYTES_MAX};
use crate::link::{Link, LinkState, Linking};
use crate::message::socket_path;
use crate::pool::Pool;
use crate::restoring::restore_all;
use crate::saving::{self, Saved};
use crate::shared::{Shared, Wish};
use crate::swap::Swap;

use data::{Data, pages_of};
use table::{MAGIC, Mode, Table, VERSION};

const LOCKED: &str = "nothing panics while it holds this lock";

/// How a region is to be.
#[derive(Clone, Debug)]
pub struct Options {
    name: String,
    bytes_max: u64,
    entries_max: Option<u32>,
    swap_folder: Option<PathBuf>,
    swap_bytes_max: Option<u64>,
    socket: Option<PathBuf>,
    save_every: Duration,
    huge_pages: bool,
    has_bundles: bool,
}

impl Options {
    /// A region of 1 GiB at most, without a swap file: nothing is taken from it until `swap_in` names a folder.
    #[must_use]
    pub fn new(name: &str) -> Options {
        Options {
            name: name.to_owned(),
            bytes_max: 1 << 30,
            entries_max: None,
            swap_folder: None,
            swap_bytes_max: None,
            socket: Some(socket_path()),
            save_every: Duration::from_secs(1),
            huge_pages: false,
            has_bundles: true,
        }
    }

    /// How many bytes the objects may have together, in memory or not. Each takes whole pages of 4 KiB; those of less than 2 KiB share bundles of 64 KiB.
    #[must_use]
    pub fn bytes_max(mut self, bytes: u64) -> Options {
        self.bytes_max = bytes;
        self
    }

    /// How many objects there may be; without it as many as there are pages, 4 million at most.
    #[must_use]
    pub fn entries_max(mut self, entries: u32) -> Options {
        self.entries_max = Some(entries);
        self
    }

    /// The folder of the swap file. The file has no name, only this user may read it, and it ends with the program.
    #[must_use]
    pub fn swap_in(mut self, folder: impl Into<PathBuf>) -> Options {
        self.swap_folder = Some(folder.into());
        self
    }

    /// How large the swap file may become; without it a quarter more than the objects.
    #[must_use]
    pub fn swap_bytes_max(mut self, bytes: u64) -> Options {
        self.swap_bytes_max = Some(bytes);
        self
    }

    /// Where memoryd listens, if not at [`socket_path`].
    #[must_use]
    pub fn memoryd_at(mut self, socket: impl Into<PathBuf>) -> Options {
        self.socket = Some(socket.into());
        self
    }

    /// Tell no daemon of the region.
    #[must_use]
    pub fn without_memoryd(mut self) -> Options {
        self.socket = None;
        self
    }

    /// How often what was written is saved.
    #[must_use]
    pub fn save_every(mut self, time: Duration) -> Options {
        self.save_every = time;
        self
    }

    /// Ask for huge pages, which the kernel gives if root has set `/sys/kernel/mm/transparent_hugepage/shmem_enabled` to `advise`.
    #[must_use]
    pub fn huge_pages(mut self, wanted: bool) -> Options {
        self.huge_pages = wanted;
        self
    }

    /// Give each object memory and a checksum of its own, also those of less than 2 KiB, which share both in bundles of 64 KiB otherwise.
    /// Each then takes a whole page.
    #[must_use]
    pub fn without_bundles(mut self) -> Options {
        self.has_bundles = false;
        self
    }

    /// The length of the region in the address space: an eighth more than its objects, so that an object can be moved.
    fn data_bytes(&self) -> u64 {
        let spare = (self.bytes_max / 8).max(2 * EXTENT_BYTES);
        (self.bytes_max + spare).next_multiple_of(EXTENT_BYTES)
    }

    fn entries(&self) -> u32 {
        let pages = u32::try_from(self.bytes_max.div_ceil(PAGE_BYTES)).unwrap_or(u32::MAX);
        self.entries_max.unwrap_or_else(|| pages.min(ENTRIES_MAX))
    }
}

/// In which order objects come back when a program is in the foreground again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restore {
    /// Each when it is used.
    OnDemand,
    /// All of them, before the call returns.
    All,
    /// The objects that the last foreground used in its last rounds of the Clock, before the call returns. Each other one when it is used.
    LastTouchedFirst,
}

/// Memory that may be taken back at any moment, and is not lost.
#[derive(Debug)]
pub struct Region {
    shared: Arc<Shared>,
    table: OwnedFd,
    link: Arc<LinkState>,
    saver: Option<JoinHandle<()>>,
    linker: Option<JoinHandle<()>>,
}

impl Region {
    /// Makes a region, and tells memoryd if there is one.
    ///
    /// # Errors
    /// When the machine lacks what the lock needs, or the swap file or the memory cannot be had.
    pub fn create(options: Options) -> Result<Region, CreateError> {
        ask_the_kernel()?;
        let (data_bytes, entries) = (options.data_bytes(), options.entries());
        if options.bytes_max > REGION_BYTES_MAX || entries > ENTRIES_MAX {
            return Err(CreateError::TooLarge { bytes: options.bytes_max, entries: entries.into() });
        }
        let swap = options.swap_folder.as_deref().map(|folder| {
            let most = options.swap_bytes_max.unwrap_or(options.bytes_max + options.bytes_max / 4);
            let swap = Swap::make(folder, most);
            swap.map_err(|source| CreateError::Swap { folder: folder.display().to_string(), source })
        });
        let swap = swap.transpose()?;
        let (data, table_file, table) = memory(data_bytes, entries, options.huge_pages).map_err(CreateError::Memory)?;
        let shared = Arc::new(Shared::new(data, table, swap, data_bytes / PAGE_BYTES, options.has_bundles));
        let mut region = Region { shared, table: table_file, link: Arc::default(), saver: None, linker: None };
        if region.is_reclaimable() {
            region.start_threads(options)?;
        }
        Ok(region)
    }

    fn start_threads(&mut self, options: Options) -> Result<(), CreateError> {
        let shared = Arc::clone(&self.shared);
        let every = options.save_every;
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let saver = thread("memory-saver").spawn(move || saving::run(&shared, every, round_of));
        self.saver = Some(saver.map_err(CreateError::Memory)?);
        if let Some(socket) = options.socket {
            let linking = Linking {
                shared: Arc::clone(&self.shared),
                table: self.table.try_clone().map_err(CreateError::Memory)?,
                name: options.name,
                socket,
                state: Arc::clone(&self.link),
            };
            let linker = thread("memory-link").spawn(move || linking.run());
            self.linker = Some(linker.map_err(CreateError::Memory)?);
        }
        Ok(())
    }

    /// A way into the region for one thread.
    ///
    /// # Errors
    /// When there are 1,024 already.
    pub fn pool(&self) -> Result<Pool, PoolError> {
        Pool::of(Arc::clone(&self.shared))
    }

    /// A heap in the region, for objects that refer to each other.
    ///
    /// # Errors
    /// When there are 1,024 pools already: a heap has one.
    pub fn heap(&self) -> Result<Heap, PoolError> {
        self.pool().map(Heap::of)
    }

    /// Whether memory can be taken from the region: it has a swap file.
    #[must_use]
    pub fn is_reclaimable(&self) -> bool {
        self.shared.swap.is_some()
    }

    /// Whether memoryd knows the region.
    #[must_use]
    pub fn link(&self) -> Link {
        self.link.link.lock().expect(LOCKED).clone()
    }

    /// Saves everything now, also what was written a moment ago.
    ///
    /// # Errors
    /// When the swap file is full or cannot be written. What is not saved stays in memory.
    pub fn save(&self) -> Result<Saved, SaveError> {
        saving::pass(&self.shared, Wish::Everything)
    }

    /// The program rests: what is not saved is saved soon, and memoryd may take everything.
    pub fn background(&self) {
        let table = &self.shared.table;
        if table.mode() == Mode::Foreground {
            let entries = (0..table.entries_used()).map(|index| table.entry(index));
            entries.for_each(|entry| entry.set_at_rest(entry.registers_now()));
        }
        table.set_mode(Mode::Background);
        *self.shared.saver.wish.lock().expect(LOCKED) = Wish::Everything;
        self.shared.saver.woken.notify_all();
    }

    /// The program is used again: memoryd begins no further claims.
    ///
    /// # Errors
    /// When an object cannot be brought back for want of room or of the disk. One whose saved bytes are wrong is told to whoever reads it.
    pub fn foreground(&self, restore: Restore) -> Result<u64, AccessError> {
        self.shared.table.set_mode(Mode::Foreground);
        match restore {
            Restore::OnDemand => Ok(0),
            Restore::All => restore_all(&self.shared, |_| true),
            Restore::LastTouchedFirst => restore_all(&self.shared, |entry| entry.at_rest().warmth() != Warmth::Cold),
        }
    }

    /// Counts what is there.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let (table, counters) = (&self.shared.table, &self.shared.counters);
        let mut counts = Counts {
            swap_bytes: self.shared.swap.as_ref().map_or(0, Swap::used_bytes),
            saved: counters.saved.get(),
            saved_bytes: counters.saved_bytes.get(),
            restored: counters.restored.get(),
            restored_bytes: counters.restored_bytes.get(),
            taken_over: counters.taken_over.get(),
            corrupt: counters.corrupt.get(),
            ..Counts::default()
        };
        let bundles = self.shared.bundles.as_ref().map(|bundles| bundles.lock().expect(LOCKED));
        let entries = (0..table.entries_used()).map(|index| (index, table.entry(index)));
        for (index, entry, word) in entries.map(|(index, entry)| (index, entry, entry.word())) {
            if !word.is_valid() {
                continue;
            }
            let objects = bundles.as_ref().map_or(1, |bundles| bundles.objects(index));
            counts.objects += objects;
            counts.reclaimable += if word.claimed(0).is_some() { objects } else { 0 };
            if word.is_resident() {
                counts.resident += objects;
                counts.resident_bytes += pages_of(entry.bytes.load(Ordering::Relaxed)) * PAGE_BYTES;
            }
        }
        counts
    }

    /// The files that memoryd gets: the memory files of the region and of its table.
    #[must_use]
    pub fn files(&self) -> (BorrowedFd<'_>, BorrowedFd<'_>) {
        (self.shared.data.file(), self.table.as_fd())
    }

    /// For tests: lets a read of memory that was taken end the program by SIGBUS, instead of reading zeros. Guards are not affected.
    ///
    /// # Errors
    /// When the kernel does not allow it: without privileges it needs `vm.unprivileged_userfaultfd` to be 1.
    pub fn trap_unguarded_reads(&self) -> io::Result<OwnedFd> {
        trap::set(&self.shared.data)
    }

    /// For tests, which damage it.
    #[doc(hidden)]
    #[must_use]
    pub fn swap_file(&self) -> Option<&std::fs::File> {
        self.shared.swap.as_ref().map(Swap::file)
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.link.end();
        self.shared.saver.is_ending.store(true, Ordering::Release);
        drop(self.shared.saver.wish.lock().expect(LOCKED));
        self.shared.saver.woken.notify_all();
        for thread in self.saver.take().into_iter().chain(self.linker.take()) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Whether the lock works on this machine; registers the process for its barrier.
fn ask_the_kernel() -> Result<(), CreateError> {
    if rustix::param::page_size() as u64 != PAGE_BYTES {
        let what = "places of 4 KiB";
        return Err(CreateError::NotAllowed { what, remedy: "run it on a kernel whose pages have 4 KiB" });
    }
    let needed = MembarrierQuery::GLOBAL_EXPEDITED | MembarrierQuery::REGISTER_GLOBAL_EXPEDITED;
    let is_there = rustix::thread::membarrier_query().contains(needed);
    let registered = is_there.then(|| rustix::thread::membarrier(MembarrierCommand::RegisterGlobalExpedited));
    if !matches!(registered, Some(Ok(()))) {
        let remedy = "it needs Linux 4.16, and a sandbox that lets the call through";
        return Err(CreateError::NotAllowed { what: "membarrier", remedy });
    }
    Ok(())
}

fn memory(data_bytes: u64, entries: u32, huge_pages: bool) -> io::Result<(Data, OwnedFd, Table)> {
    let data = Data::of(memory_file::make("iolite-region", data_bytes)?, data_bytes, huge_pages)?;
    let table_file = memory_file::make("iolite-table", Table::bytes_for(entries))?;
    let table = Table::of(&table_file, entries)?;
    let header = table.header();
    header.entries_max.store(entries, Ordering::Relaxed);
    header.data_bytes.store(data_bytes, Ordering::Relaxed);
    header.version.store(VERSION, Ordering::Relaxed);
    header.magic.store(MAGIC, Ordering::Release);
    Ok((data, table_file, table))
}
