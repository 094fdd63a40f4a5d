//! How a client is opened.

use std::path::PathBuf;

use crate::mutators::Mutators;

/// Where a client keeps its rows and its queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// In memory: what is not confirmed when the process ends is lost.
    #[default]
    Memory,
    /// In a directory, which is made if it is missing, and belongs to one client of one process.
    Directory(PathBuf),
}

/// How a client is opened.
#[derive(Debug, Default)]
pub struct Options {
    pub(crate) storage: Storage,
    pub(crate) mutators: Mutators,
    pub(crate) user: String,
}

impl Options {
    /// In memory, without mutators.
    pub fn new() -> Options {
        Options::default()
    }

    /// Where rows and queue are kept.
    #[must_use]
    pub fn storage(mut self, storage: Storage) -> Options {
        self.storage = storage;
        self
    }

    /// Short for [`Storage::Directory`].
    #[must_use]
    pub fn directory(self, directory: impl Into<PathBuf>) -> Options {
        self.storage(Storage::Directory(directory.into()))
    }

    /// The app's named mutations.
    #[must_use]
    pub fn mutators(mut self, mutators: Mutators) -> Options {
        self.mutators = mutators;
        self
    }

    /// Whose data this is: a storage of another user is refused, so that nobody's mutations are sent as somebody else's.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Options {
        self.user = user.into();
        self
    }
}
