//! The data directory: the journal's files, and the development token.

use std::path::{Path, PathBuf};

use iolite_engine::{Durability, Incarnation, Journal, NativeDisk, NativeDiskError, Options, Recovery};
use iolite_host::{SecretError, random_id, read_or_create_secret};

/// Why a data directory cannot be used. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum DataDirectoryError {
    #[error(transparent)]
    Disk(#[from] NativeDiskError),
    #[error("the data directory {}: {source}", directory.display())]
    Journal { directory: PathBuf, source: iolite_engine::OpenError },
    #[error(transparent)]
    Token(#[from] SecretError),
}

/// An opened data directory, locked as long as the journal lives.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    pub journal: Journal<NativeDisk>,
    pub recovery: Recovery,
    pub token: String,
}

const TOKEN_FILE: &str = "token";

impl DataDirectory {
    pub(crate) fn open(directory: &Path, durability: Durability) -> Result<DataDirectory, DataDirectoryError> {
        let disk = NativeDisk::open(directory)?;
        let options = Options { durability, ..Options::default() };
        let opened = Journal::open(disk, options, Incarnation(random_id()));
        let failed = |source| DataDirectoryError::Journal { directory: directory.to_owned(), source };
        let (journal, recovery) = opened.map_err(failed)?;
        let token = read_or_create_secret(&directory.join(TOKEN_FILE))?;
        Ok(DataDirectory { journal, recovery, token })
    }
}
