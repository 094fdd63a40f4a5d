//! What the journal asks of a disk.
//!
//! Flat file names in one data directory, synchronous. The native host and the simulation each implement it, so the same
//! journal runs on both.
//!
//! Assumed of every implementation: a sync that returned `Ok` survives a power cut, and a power cut in the middle of an
//! append never harms bytes of the same file that were synced before it.

use std::io;

/// One directory of files that only grow at the end, are cut, or are removed.
///
/// # Errors
/// Those of the operating system. A caller takes each as final.
pub trait Disk {
    /// The names of all files, sorted.
    fn list(&self) -> io::Result<Vec<String>>;

    /// The length of a file in bytes, synced or not.
    fn length(&self, name: &str) -> io::Result<u64>;

    /// The whole content of a file, synced or not.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// At most `length_max` bytes from `offset`; fewer only where the file ends.
    fn read_range(&self, name: &str, offset: u64, length_max: usize) -> io::Result<Vec<u8>>;

    /// Writes at the end of a file, which is created when it is missing. Durable only after [`Disk::sync`], and a new
    /// file's name only after [`Disk::sync_directory`]. After an error any part of the bytes may have been written.
    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Cuts a file to `length` bytes. Durable only after [`Disk::sync`].
    fn truncate(&mut self, name: &str, length: u64) -> io::Result<()>;

    /// Makes a file's content and length durable. After an error nothing may be assumed about what is durable, and a
    /// second try that succeeds proves nothing.
    fn sync(&mut self, name: &str) -> io::Result<()>;

    /// Makes creations and removals of files durable.
    fn sync_directory(&mut self) -> io::Result<()>;

    /// Removes a file. Durable only after [`Disk::sync_directory`].
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Whether the next opening at the same path would find this file as it was written. Fails once the file, or the directory that it is in, was
    /// removed, renamed or replaced by somebody else. Costs no sync. A disk that nobody else can reach has nothing to look at.
    fn expect_in_place(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }
}

macro_rules! forward_disk {
    ($pointer:ty) => {
        impl<D: Disk + ?Sized> Disk for $pointer {
            fn list(&self) -> io::Result<Vec<String>> {
                (**self).list()
            }
            fn length(&self, name: &str) -> io::Result<u64> {
                (**self).length(name)
            }
            fn read(&self, name: &str) -> io::Result<Vec<u8>> {
                (**self).read(name)
            }
            fn read_range(&self, name: &str, offset: u64, length_max: usize) -> io::Result<Vec<u8>> {
                (**self).read_range(name, offset, length_max)
            }
            fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
                (**self).append(name, bytes)
            }
            fn truncate(&mut self, name: &str, length: u64) -> io::Result<()> {
                (**self).truncate(name, length)
            }
            fn sync(&mut self, name: &str) -> io::Result<()> {
                (**self).sync(name)
            }
            fn sync_directory(&mut self) -> io::Result<()> {
                (**self).sync_directory()
            }
            fn remove(&mut self, name: &str) -> io::Result<()> {
                (**self).remove(name)
            }
            fn expect_in_place(&self, name: &str) -> io::Result<()> {
                (**self).expect_in_place(name)
            }
        }
    };
}

forward_disk!(&mut D);
forward_disk!(Box<D>);
