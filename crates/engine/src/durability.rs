//! What "durable" means for a running journal.

use std::fmt;

/// Chosen when a journal is opened, and read back from it by whoever reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Durability {
    /// A record that is reported durable survives a power cut.
    Fsync,
    /// Nothing is ever synced. Records survive the end of the process, if the disk is one of files, but not a power cut;
    /// after one, the directory may be refused as damaged. For benchmarks.
    Memory,
}

impl Durability {
    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Durability::Fsync => "fsync",
            Durability::Memory => "memory",
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
