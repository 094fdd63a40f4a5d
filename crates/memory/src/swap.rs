//! The swap file: where saved objects are, each with a checksum in its entry.
//!
//! Invariants: a record is in use from before it is written until its object is dropped or saved again; what is read is compared with its checksum.
//! The file has no name and ends with the program. Deviation from Marvin 4.6.3: freed records are used again at once, instead of rewriting the file
//! when a quarter of it is freed.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};

use crate::error::{AccessError, SaveError};
use crate::region::data::read_exactly;
use crate::runs::Runs;

const LOCKED: &str = "nothing panics while it holds the free runs";

/// The unit of records.
pub(crate) const BLOCK_BYTES: u64 = 512;

/// An open swap file.
#[derive(Debug)]
pub struct Swap {
    file: File,
    free: Mutex<Runs>,
    blocks: u64,
}

/// Where a record is, and what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub at: u64,
    pub bytes: u64,
    pub crc: u32,
}

impl Swap {
    /// Makes a swap file in a folder.
    pub fn make(folder: &Path, bytes_max: u64) -> io::Result<Swap> {
        let blocks = bytes_max / BLOCK_BYTES;
        Ok(Swap { file: open(folder)?, free: Mutex::new(Runs::new(blocks)), blocks })
    }

    /// Another descriptor of the file, for tests that damage it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Writes an object to a record of its own.
    pub fn write(&self, bytes: &[u8]) -> Result<Record, SaveError> {
        let length = bytes.len() as u64;
        let start = self.free.lock().expect(LOCKED).take(blocks_of(length)).ok_or(SaveError::SwapFull)?;
        let record = Record { at: start * BLOCK_BYTES, bytes: length, crc: crc32c::crc32c(bytes) };
        match write_all(&self.file, bytes, record.at) {
            Ok(()) => Ok(record),
            Err(error) => {
                self.free_record(&record);
                Err(error_of(error))
            }
        }
    }

    /// Reads an object and compares it with its checksum.
    pub fn read(&self, slot: u32, record: &Record, into: &mut [u8]) -> Result<(), AccessError> {
        match read_exactly(&self.file, into, record.at) {
            Ok(()) if crc32c::crc32c(into) == record.crc => Ok(()),
            Ok(()) => Err(AccessError::Corrupt { slot }),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(AccessError::Corrupt { slot }),
            Err(error) => Err(AccessError::SwapIo(error)),
        }
    }

    /// The record's object is gone, or was saved again elsewhere.
    pub fn free_record(&self, record: &Record) {
        let start = record.at / BLOCK_BYTES;
        self.free.lock().expect(LOCKED).give(start, blocks_of(record.bytes));
    }

    /// The bytes of all records.
    pub fn used_bytes(&self) -> u64 {
        (self.blocks - self.free.lock().expect(LOCKED).free_units()) * BLOCK_BYTES
    }
}

/// The error that a failed write means.
pub(crate) fn error_of(error: io::Error) -> SaveError {
    match rustix::io::Errno::from_io_error(&error) {
        Some(rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT) => SaveError::SwapFull,
        _ => SaveError::SwapIo(error),
    }
}

fn blocks_of(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK_BYTES).max(1)
}

/// Opens a file without a name, that only this user may read; where the file system has no such files, one that is removed at once.
fn open(folder: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::open(folder, flags | OFlags::TMPFILE, mode) {
        Ok(file) => Ok(file.into()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::INVAL) => open_named(folder),
        Err(error) => Err(error.into()),
    }
}

/// The number in the next name, so that two regions that are made at the same moment do not want the same one.
static NEXT_NAME: AtomicU64 = AtomicU64::new(0);

fn name_of(number: u64) -> String {
    format!(".iolite-memory-{}-{number}", std::process::id())
}

/// Opens a file and removes its name. A name that is there already is of a program that was killed between the two.
fn open_named(folder: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::CREATE | OFlags::EXCL;
    loop {
        let path = folder.join(name_of(NEXT_NAME.fetch_add(1, Ordering::Relaxed)));
        match rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file.into());
            }
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn write_all(file: impl AsFd, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(&file, bytes, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                at += written as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap(bytes_max: u64) -> Swap {
        Swap::make(&std::env::temp_dir(), bytes_max).expect("the folder can be written")
    }

    #[test]
    fn what_was_written_is_read_and_checked() {
        let swap = swap(1 << 20);
        let record = swap.write(b"a thumbnail").expect("there is room");
        let mut bytes = [0; 11];
        swap.read(7, &record, &mut bytes).expect("it is there");
        assert_eq!(&bytes, b"a thumbnail");
        write_all(swap.file(), b"e", record.at + 3).expect("the test damages the file");
        assert!(matches!(swap.read(7, &record, &mut bytes), Err(AccessError::Corrupt { slot: 7 })));
        swap.file().set_len(record.at + 4).expect("the test cuts the file short");
        assert!(matches!(swap.read(8, &record, &mut bytes), Err(AccessError::Corrupt { slot: 8 })));
    }

    #[test]
    fn records_are_used_again_and_the_file_has_an_end() {
        let swap = swap(4 * BLOCK_BYTES);
        let records: Vec<Record> = (0..4).map(|_| swap.write(&[1; 300]).expect("there is room")).collect();
        assert!(matches!(swap.write(b"more"), Err(SaveError::SwapFull)));
        swap.free_record(&records[2]);
        assert_eq!(swap.used_bytes(), 3 * BLOCK_BYTES);
        assert_eq!(swap.write(b"more").expect("a record is free").at, records[2].at);
    }

    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let folder = std::env::temp_dir().join(format!("iolite-swap-names-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("the folder is new");
        let taken = NEXT_NAME.load(Ordering::Relaxed);
        for number in taken..taken + 3 {
            std::fs::write(folder.join(name_of(number)), b"of another").expect("the folder is ours");
        }
        let opened = open_named(&folder).map(|_| ());
        let names = std::fs::read_dir(&folder).expect("it is there").count();
        std::fs::remove_dir_all(&folder).expect("the folder is ours");
        assert!(opened.is_ok(), "{opened:?}");
        assert_eq!(names, 3, "the file has no name any more, and nobody's file was removed");
    }
}
