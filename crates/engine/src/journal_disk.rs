//! The journal's own view of a disk: failures say what was done to which file, and class `Memory` never syncs.

use std::io;
use std::sync::Arc;

use crate::failure::{DiskFailure, DiskOperation};
use crate::{Disk, Durability};

const DIRECTORY: &str = "the data directory";

#[derive(Debug)]
pub(crate) struct JournalDisk<D> {
    disk: D,
    durability: Durability,
}

impl<D: Disk> JournalDisk<D> {
    pub fn new(disk: D, durability: Durability) -> JournalDisk<D> {
        JournalDisk { disk, durability }
    }

    pub fn durability(&self) -> Durability {
        self.durability
    }

    pub fn inner(&self) -> &D {
        &self.disk
    }

    pub fn inner_mut(&mut self) -> &mut D {
        &mut self.disk
    }

    pub fn into_inner(self) -> D {
        self.disk
    }

    pub fn list(&self) -> Result<Vec<String>, DiskFailure> {
        self.disk.list().map_err(failed(DiskOperation::List, DIRECTORY))
    }

    pub fn length(&self, name: &str) -> Result<u64, DiskFailure> {
        self.disk.length(name).map_err(failed(DiskOperation::Read, name))
    }

    pub fn read(&self, name: &str) -> Result<Vec<u8>, DiskFailure> {
        self.disk.read(name).map_err(failed(DiskOperation::Read, name))
    }

    pub fn read_start(&self, name: &str, length_max: usize) -> Result<Vec<u8>, DiskFailure> {
        self.disk.read_range(name, 0, length_max).map_err(failed(DiskOperation::Read, name))
    }

    /// Starts a file. What a creation that was cut short left under its name is overwritten.
    pub fn create(&mut self, name: &str, bytes: &[u8]) -> Result<(), DiskFailure> {
        if self.list()?.iter().any(|existing| existing == name) {
            self.truncate(name, 0)?;
        }
        self.append(name, bytes)
    }

    pub fn append(&mut self, name: &str, bytes: &[u8]) -> Result<(), DiskFailure> {
        self.disk.append(name, bytes).map_err(failed(DiskOperation::Append, name))
    }

    pub fn truncate(&mut self, name: &str, length: u64) -> Result<(), DiskFailure> {
        self.disk.truncate(name, length).map_err(failed(DiskOperation::Truncate, name))
    }

    pub fn remove(&mut self, name: &str) -> Result<(), DiskFailure> {
        self.disk.remove(name).map_err(failed(DiskOperation::Remove, name))
    }

    pub fn sync(&mut self, name: &str) -> Result<(), DiskFailure> {
        match self.durability {
            Durability::Fsync => self.disk.sync(name).map_err(failed(DiskOperation::Sync, name)),
            Durability::Memory => Ok(()),
        }
    }

    /// In both classes: what the operating system has is not found again either, once the directory is another one.
    pub fn expect_in_place(&self, name: &str) -> Result<(), DiskFailure> {
        self.disk.expect_in_place(name).map_err(failed(DiskOperation::Find, name))
    }

    /// The same of a file that is not written any more.
    pub fn expect_length(&self, name: &str, bytes: u64) -> Result<(), DiskFailure> {
        let expected = || {
            let problem = |told: String| io::Error::other(format!("the file {name} of the data directory {told}"));
            match self.disk.length(name) {
                Ok(found) if found == bytes => Ok(()),
                Ok(found) => Err(problem(format!("has {found} bytes, and {bytes} were written"))),
                Err(error) => Err(problem(format!("was removed or renamed, or cannot be reached ({error})"))),
            }
        };
        expected().map_err(failed(DiskOperation::Find, name))
    }

    pub fn sync_directory(&mut self) -> Result<(), DiskFailure> {
        match self.durability {
            Durability::Fsync => self.disk.sync_directory().map_err(failed(DiskOperation::Sync, DIRECTORY)),
            Durability::Memory => Ok(()),
        }
    }
}

fn failed(operation: DiskOperation, file: &str) -> impl FnOnce(io::Error) -> DiskFailure + '_ {
    move |cause| DiskFailure { operation, file: file.to_owned(), cause: Arc::new(cause) }
}
