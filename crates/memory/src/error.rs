//! Errors: an enum for each operation, each variant with what to do about it.

use std::io;

/// Why there is no region.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    #[error("this machine does not allow {what}: {remedy}")]
    NotAllowed { what: &'static str, remedy: &'static str },
    #[error("a region of {bytes} bytes and {entries} objects is too large: ask for less, see docs/limits.md")]
    TooLarge { bytes: u64, entries: u64 },
    #[error("the swap file cannot be made in {folder}: choose another folder with `swap_in` ({source})")]
    Swap { folder: String, source: io::Error },
    #[error("the memory of the region could not be had: free some, or ask for less ({0})")]
    Memory(io::Error),
}

/// Why an object was not put into the region.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PutError {
    #[error("an object of {bytes} bytes is too large: at most {most} go into one, divide it")]
    TooLarge { bytes: u64, most: u64 },
    #[error("the region is full: drop some objects, or make it larger with `bytes_max` and `entries_max`")]
    RegionFull,
}

/// Why an object cannot be used now.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    #[error(
        "the swap file's bytes of object {slot} are not those that were saved: this object is lost, drop it and make it again"
    )]
    Corrupt { slot: u32 },
    #[error("the swap file cannot be read: look at its disk, then try again ({0})")]
    SwapIo(io::Error),
    #[error("the region has no place to move the object to: drop some objects, or wait until memoryd goes on")]
    RegionFull,
    #[error("this pool has {most} guards already: drop one, or make another pool")]
    TooManyGuards { most: usize },
}

/// Why there is no further pool.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolError {
    #[error("the region has {most} pools already: drop one")]
    TooMany { most: u32 },
}

/// Why objects were not saved. They stay in memory and are not lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    #[error(
        "the swap file is full: free space on its disk, or allow more with `swap_bytes_max`; what is not saved stays in memory"
    )]
    SwapFull,
    #[error("the swap file cannot be written: look at its disk; what is not saved stays in memory ({0})")]
    SwapIo(io::Error),
    #[error("the region has no swap file: give it a folder with `swap_in`")]
    NoSwap,
}

/// Why the daemon does not take a program's region.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignError {
    #[error("the {which} is not memory that is sealed against changes of its size: make it by `Region::create`")]
    NotSealed { which: &'static str },
    #[error("the table does not begin as a table of version {version}: use the same version of Iolite on both sides")]
    NotATable { version: u32 },
    #[error("the table and the region do not fit together: {what}")]
    Sizes { what: &'static str },
    #[error("the region cannot be mapped ({0})")]
    Memory(io::Error),
}
