//! A data directory of the operating system.
//!
//! Invariant: at most one `NativeDisk` in the world has a directory open, held by a lock on its file `LOCK`. The operating
//! system drops the lock when the process ends, however it ends.
//! Invariant: a file that was written stays open until it is synced, because Linux reports a failed write-back only to
//! those who had the file open when it failed.
//! Invariant: a file that is being written stays open, so one that takes its place at its path is never taken for it.

mod place;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::Disk;
use place::{Held, find};

const LOCK_FILE: &str = "LOCK";

/// Files that stay open though they are synced: the segment, the checkpoint that is written beside it, and the segment before.
const KEPT_OPEN: usize = 3;

/// Files in one directory, locked against other processes.
#[derive(Debug)]
pub struct NativeDisk {
    directory: PathBuf,
    open: BTreeMap<String, OpenFile>,
    /// How often a file was written, cut or synced.
    uses: u64,
    /// Closing it would let another process in.
    lock: Held,
    /// The directory itself. Windows opens none.
    #[cfg(unix)]
    itself: Held,
}

#[derive(Debug)]
struct OpenFile {
    held: Held,
    state: WriteState,
    /// By the count of uses.
    last_use: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteState {
    Synced,
    Unsynced,
}

/// Why a data directory could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum NativeDiskError {
    #[error(
        "the data directory {} is in use by another process. Stop that one, or choose another directory with --data",
        directory.display()
    )]
    InUse { directory: PathBuf },
    #[error(
        "the data directory {} cannot be opened: {source}. Make it a folder that this user can write, or choose another with --data",
        directory.display()
    )]
    Io { directory: PathBuf, source: io::Error },
}

impl NativeDisk {
    /// Opens `directory`, creating it if it is missing, and locks it until this value is dropped.
    ///
    /// # Errors
    /// [`NativeDiskError`]: another process has it, or the operating system does not let this one.
    pub fn open(directory: impl Into<PathBuf>) -> Result<NativeDisk, NativeDiskError> {
        let directory = directory.into();
        match open_and_lock(&directory).and_then(|lock| NativeDisk::of(&directory, lock).map_err(TryLockError::Error)) {
            Ok(disk) => Ok(disk),
            Err(TryLockError::WouldBlock) => Err(NativeDiskError::InUse { directory }),
            Err(TryLockError::Error(source)) => Err(NativeDiskError::Io { directory, source }),
        }
    }

    fn of(directory: &Path, lock: File) -> io::Result<NativeDisk> {
        Ok(NativeDisk {
            directory: directory.to_owned(),
            open: BTreeMap::new(),
            uses: 0,
            lock: Held::new(lock)?,
            #[cfg(unix)]
            itself: Held::new(File::open(directory)?)?,
        })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn writable(&mut self, name: &str) -> io::Result<&mut OpenFile> {
        if !self.open.contains_key(name) {
            self.close_all_but(KEPT_OPEN - 1);
            let file = OpenOptions::new().append(true).create(true).open(self.path(name))?;
            let open = OpenFile { held: Held::new(file)?, state: WriteState::Synced, last_use: 0 };
            self.open.insert(name.to_owned(), open);
        }
        self.uses += 1;
        let open = self.open.get_mut(name).expect("it was there or has just been inserted");
        open.last_use = self.uses;
        Ok(open)
    }

    /// Closes files that are synced, those first that were not used for the longest time.
    fn close_all_but(&mut self, kept: usize) {
        while self.open.len() > kept {
            let synced = self.open.iter().filter(|(_, open)| open.state == WriteState::Synced);
            let Some(oldest) = synced.min_by_key(|(_, open)| open.last_use).map(|(name, _)| name.clone()) else {
                return;
            };
            self.open.remove(&oldest);
        }
    }
}

impl Disk for NativeDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let entry = entry?;
            if !entry.file_type()?.is_file() {
                continue;
            }
            // A name that is not Unicode is not one of ours.
            if let Ok(name) = entry.file_name().into_string()
                && name != LOCK_FILE
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn length(&self, name: &str) -> io::Result<u64> {
        Ok(std::fs::metadata(self.path(name))?.len())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.path(name))
    }

    fn read_range(&self, name: &str, offset: u64, length_max: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.path(name))?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(length_max as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let open = self.writable(name)?;
        open.state = WriteState::Unsynced;
        open.held.file.write_all(bytes)
    }

    fn truncate(&mut self, name: &str, length: u64) -> io::Result<()> {
        let open = self.writable(name)?;
        open.state = WriteState::Unsynced;
        open.held.file.set_len(length)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        let open = self.writable(name)?;
        open.held.file.sync_data()?;
        open.state = WriteState::Synced;
        Ok(())
    }

    fn sync_directory(&mut self) -> io::Result<()> {
        sync_directory(&self.directory)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.open.remove(name);
        std::fs::remove_file(self.path(name))
    }

    fn expect_in_place(&self, name: &str) -> io::Result<()> {
        #[cfg(unix)]
        self.itself.expect_at(&self.directory, "the data directory")?;
        self.lock.expect_at(&self.path(LOCK_FILE), "the file")?;
        match self.open.get(name) {
            Some(open) => open.held.expect_at(&self.path(name), "the file"),
            None => find(&self.path(name), "the file").map(drop),
        }
    }
}

fn open_and_lock(directory: &Path) -> Result<File, TryLockError> {
    create_durably(directory).map_err(TryLockError::Error)?;
    let lock = OpenOptions::new().write(true).create(true).truncate(false).open(directory.join(LOCK_FILE));
    let lock = lock.map_err(TryLockError::Error)?;
    lock.try_lock()?;
    Ok(lock)
}

fn create_durably(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let parent = match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    create_durably(parent)?;
    match std::fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => sync_directory(parent),
    }
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Windows cannot sync a directory; NTFS journals the names itself.
#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}
