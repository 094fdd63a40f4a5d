//! The data directory: the journal's files, and the development token.

use std::path::{Path, PathBuf};

use iolite_engine::{Durability, Incarnation, Journal, NativeDisk, NativeDiskError, Options, Recovery};
use iolite_host::{SecretError, random_id, read_or_create_secret};

use crate::replica_directory::OWNER_FILE;

/// Why a data directory cannot be used. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum DataDirectoryError {
    #[error(transparent)]
    Disk(#[from] NativeDiskError),
    #[error("the data directory {}: {source}", directory.display())]
    Journal { directory: PathBuf, source: iolite_engine::OpenError },
    #[error(transparent)]
    Token(#[from] SecretError),
    #[error(
        "the folder {} has files that are not Iolite's, such as {}: name a new or empty folder with --data",
        directory.display(),
        found.display()
    )]
    Foreign { directory: PathBuf, found: PathBuf },
    #[error(
        "the data directory {} has a token and no journal, so its data was deleted: put the files back, or remove the folder to begin with no data",
        directory.display()
    )]
    NoJournal { directory: PathBuf },
}

/// An opened data directory, locked as long as the journal lives.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    pub journal: Journal<NativeDisk>,
    pub recovery: Recovery,
    pub token: String,
}

const TOKEN_FILE: &str = "token";

/// The file that is made first, in each directory that was ever opened, of a server or of a replica.
const LOCK_FILE: &str = "LOCK";

/// The endings of the journal's files.
const JOURNAL_ENDINGS: [&str; 2] = ["segment", "checkpoint"];

/// Whether a folder is one, of a server or of a replica. Nobody serves files of it.
pub(crate) fn is_data_directory(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).is_file();
    has(LOCK_FILE) && (has(TOKEN_FILE) || has(OWNER_FILE))
}

impl DataDirectory {
    pub(crate) fn open(directory: &Path, durability: Durability) -> Result<DataDirectory, DataDirectoryError> {
        check(directory)?;
        let disk = NativeDisk::open(directory)?;
        let options = Options { durability, ..Options::default() };
        let opened = Journal::open(disk, options, Incarnation(random_id()));
        let failed = |source| DataDirectoryError::Journal { directory: directory.to_owned(), source };
        let (journal, recovery) = opened.map_err(failed)?;
        let token = read_or_create_secret(&directory.join(TOKEN_FILE))?;
        Ok(DataDirectory { journal, recovery, token })
    }
}

/// Refuses a folder of somebody else, and one whose journal is gone. A folder that cannot be read is left to [`NativeDisk`], which says why.
fn check(directory: &Path) -> Result<(), DataDirectoryError> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(()) };
    let mut names: Vec<PathBuf> = entries.flatten().map(|entry| PathBuf::from(entry.file_name())).collect();
    names.sort();
    let has = |name: &str| names.iter().any(|found| found.as_os_str() == name);
    let is_journal =
        |name: &PathBuf| JOURNAL_ENDINGS.iter().any(|ending| name.extension().is_some_and(|own| own == *ending));
    let has_journal = names.iter().any(is_journal);
    if has(TOKEN_FILE) && !has_journal {
        return Err(DataDirectoryError::NoJournal { directory: directory.to_owned() });
    }
    match names.first() {
        Some(found) if !has(LOCK_FILE) && !has_journal => {
            Err(DataDirectoryError::Foreign { directory: directory.to_owned(), found: found.clone() })
        }
        Some(_) | None => Ok(()),
    }
}
