//! A data directory of the operating system.
//!
//! Invariant: at most one `NativeDisk` in the world has a directory open, held by a lock on its file `LOCK`. The operating
//! system drops the lock when the process ends, however it ends.
//! Invariant: a file that was written stays open until it is synced, because Linux reports a failed write-back only to
//! those who had the file open when it failed.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::Disk;

const LOCK_FILE: &str = "LOCK";

/// Files in one directory, locked against other processes.
#[derive(Debug)]
pub struct NativeDisk {
    directory: PathBuf,
    open: BTreeMap<String, OpenFile>,
    /// Held, never read: closing it would let another process in.
    _lock: File,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    state: WriteState,
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
        match open_and_lock(&directory) {
            Ok(lock) => Ok(NativeDisk { directory, open: BTreeMap::new(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(NativeDiskError::InUse { directory }),
            Err(TryLockError::Error(source)) => Err(NativeDiskError::Io { directory, source }),
        }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn writable(&mut self, name: &str) -> io::Result<&mut OpenFile> {
        if !self.open.contains_key(name) {
            self.open.retain(|_, open| open.state == WriteState::Unsynced);
            let file = OpenOptions::new().append(true).create(true).open(self.path(name))?;
            self.open.insert(name.to_owned(), OpenFile { file, state: WriteState::Synced });
        }
        Ok(self.open.get_mut(name).expect("it was there or has just been inserted"))
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
        open.file.write_all(bytes)
    }

    fn truncate(&mut self, name: &str, length: u64) -> io::Result<()> {
        let open = self.writable(name)?;
        open.state = WriteState::Unsynced;
        open.file.set_len(length)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        let open = self.writable(name)?;
        open.file.sync_data()?;
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
