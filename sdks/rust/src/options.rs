//! How a client is opened.

use std::path::PathBuf;
use std::time::Duration;

use iolite_client::Limits;

use crate::client::BATCH_MAX;
use crate::error::OpenError;
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
#[derive(Debug)]
pub struct Options {
    pub(crate) storage: Storage,
    pub(crate) mutators: Mutators,
    pub(crate) user: String,
    pub(crate) closures: Closures,
    pub(crate) limits: Limits,
    pub(crate) batch: Duration,
    pub(crate) centres: Vec<Vec<String>>,
}

/// How often a closure is run for one of its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closures {
    Once,
    /// Twice, and it fails when the two differ.
    Compared,
}

impl Default for Options {
    fn default() -> Options {
        let closures = if cfg!(debug_assertions) { Closures::Compared } else { Closures::Once };
        Options {
            storage: Storage::default(),
            mutators: Mutators::default(),
            user: String::new(),
            closures,
            limits: Limits::default(),
            batch: Duration::ZERO,
            centres: Vec::new(),
        }
    }
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

    /// About how much memory the rows of the cache take, 64 MiB if not given. Past it, what nobody reads or pins goes, the least recently used first; if
    /// everything is needed, the reaction that asked last fails.
    #[must_use]
    pub fn cache_bytes_max(mut self, bytes: usize) -> Options {
        self.limits.cache_bytes_max = bytes;
        self
    }

    /// Asks the server to tell of others' changes at most once in so much time (whole milliseconds), put together: for apps that show what changes faster than
    /// anybody looks. The first change after a pause comes at once, and outcomes of own mutations do not wait. With more than
    /// [`BATCH_MAX`](crate::BATCH_MAX), 10 s, no client opens.
    #[must_use]
    pub fn batch(mut self, every: Duration) -> Options {
        self.batch = every;
        self
    }

    /// Further data centres of the server's group, each with the addresses of its gateways. The client is served by the data centre that it is connected to. When
    /// that cannot be reached it goes on at one of these, in their order: what it has seen stays, and what is not confirmed is sent there.
    #[must_use]
    pub fn centres<C, U>(mut self, others: impl IntoIterator<Item = C>) -> Options
    where
        C: IntoIterator<Item = U>,
        U: Into<String>,
    {
        let urls = |centre: C| centre.into_iter().map(Into::into).collect();
        self.centres = others.into_iter().map(urls).collect();
        self
    }

    /// Runs every closure twice, and fails it when the two runs differ: it depends on something else than its arguments and what it reads. On by
    /// default in builds with debug assertions.
    #[must_use]
    pub fn compare_runs(mut self, compare: bool) -> Options {
        self.closures = if compare { Closures::Compared } else { Closures::Once };
        self
    }

    pub(crate) fn check(&self) -> Result<(), OpenError> {
        if let Some(name) = self.mutators.out_of_reach() {
            return Err(OpenError::Mutator { name: name.clone() });
        }
        if self.batch > BATCH_MAX {
            return Err(OpenError::Batch { every: self.batch });
        }
        Ok(())
    }
}
