//! Whether an open file or directory is still the one at its path: nobody removed, renamed or replaced it, or mounted something over it.
//!
//! Invariant: a file that is held open keeps its number, so no other file of its device has that number meanwhile.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// A file or directory among all of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    number: u64,
}

/// A directory, or a file in it, which is held open.
#[derive(Debug)]
pub(super) struct Held {
    pub file: File,
    identity: Identity,
}

impl Held {
    pub fn new(file: File) -> io::Result<Held> {
        let identity = Identity::of(&file.metadata()?);
        Ok(Held { file, identity })
    }

    /// # Errors
    /// One that names `what` and its path: another one is there, or none.
    pub fn expect_at(&self, path: &Path, what: &str) -> io::Result<()> {
        if find(path, what)? == self.identity {
            return Ok(());
        }
        let path = path.display();
        Err(io::Error::other(format!("{what} {path} was replaced, or a volume was mounted or unmounted there")))
    }
}

/// # Errors
/// One that names `what` and its path: there is none.
pub(super) fn find(path: &Path, what: &str) -> io::Result<Identity> {
    std::fs::metadata(path).map(|found| Identity::of(&found)).map_err(|error| {
        let path = path.display();
        io::Error::new(error.kind(), format!("{what} {path} was removed or renamed, or cannot be reached ({error})"))
    })
}

impl Identity {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Identity {
        use std::os::unix::fs::MetadataExt;
        Identity { device: metadata.dev(), number: metadata.ino() }
    }

    /// Elsewhere only what is gone is noticed.
    #[cfg(not(unix))]
    fn of(_metadata: &Metadata) -> Identity {
        Identity { device: 0, number: 0 }
    }
}
