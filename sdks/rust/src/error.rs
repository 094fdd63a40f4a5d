//! What closures end with, and why a client cannot be opened.

use std::path::PathBuf;

use iolite_client::RunError;
use iolite_values::ValueError;

use crate::client::BATCH_MAX;

/// What a closure of a mutation or reaction returns.
pub type Result<T> = std::result::Result<T, Abort>;

/// How a closure ends that does not return a value. `?` on a read or write makes it from what went wrong there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Abort {
    /// The app gives up on purpose; the reason is for the user. Made by [`abort`].
    #[error("{0}")]
    Reason(String),
    /// A read or a write failed, or the data is still being fetched: let it pass.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A mistake in the app: an argument that cannot be read, a column of another type, NaN.
    #[error("{0}")]
    Mistake(String),
}

impl From<ValueError> for Abort {
    fn from(error: ValueError) -> Abort {
        Abort::Mistake(error.to_string())
    }
}

/// Ends a mutation without effect, if its reads still hold when it is committed.
///
/// ```
/// fn withdraw(balance: i64, amount: i64) -> iolite::Result<i64> {
///     if balance < amount {
///         return Err(iolite::abort("insufficient funds"));
///     }
///     Ok(balance - amount)
/// }
/// assert!(withdraw(1, 2).is_err());
/// ```
pub fn abort(reason: impl Into<String>) -> Abort {
    Abort::Reason(reason.into())
}

/// Why a client cannot be opened. Its storage is left as it is.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address is none of a server.
    #[error("{url:?} is not an address of a server: it begins with ws:// and ends with /sync")]
    Url {
        /// The address.
        url: String,
    },
    /// Nobody tells of changes so seldom.
    #[error("changes are told every {BATCH_MAX:?} at least, not every {every:?}")]
    Batch {
        /// What was asked for.
        every: std::time::Duration,
    },
    /// A mutator has a name that the client keeps for itself.
    #[error("mutator {name:?}: names that begin with $ are not for apps")]
    Mutator {
        /// The name.
        name: String,
    },
    /// There are none, or more than 65,535.
    #[error("a client needs the address of a server, or several, not {count}")]
    Addresses {
        /// How many.
        count: usize,
    },
    /// The folder for chunks of blobs cannot be made.
    #[error("the folder for blobs in {}: {source}", directory.display())]
    Chunks {
        /// The directory.
        directory: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Another client has the directory, of this process or of another.
    #[error("the storage of the client in {} is in use: close the client that has it, or choose another directory", directory.display())]
    InUse {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory cannot be made, read or written.
    #[error(
        "the storage of the client in {} cannot be opened: {source}. Make it a folder that this user can write, or choose another directory",
        directory.display()
    )]
    Disk {
        /// The directory.
        directory: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The journal of the directory is damaged, or written by another version.
    #[error("the storage of the client in {}: {source}", directory.display())]
    Journal {
        /// The directory.
        directory: PathBuf,
        /// What is wrong with it.
        source: iolite_engine::OpenError,
    },
    /// The directory holds something that no client of this version wrote.
    #[error("the storage of the client in {} cannot be read: {problem}", directory.display())]
    Damaged {
        /// The directory.
        directory: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// It is another user's, or damaged.
    #[error(transparent)]
    Content(#[from] iolite_client::OpenError),
    /// The operating system gives no thread.
    #[error("the thread of the client's storage cannot be started: {0}")]
    Thread(std::io::Error),
}

impl From<iolite_engine::NativeDiskError> for OpenError {
    fn from(error: iolite_engine::NativeDiskError) -> OpenError {
        match error {
            iolite_engine::NativeDiskError::InUse { directory } => OpenError::InUse { directory },
            iolite_engine::NativeDiskError::Io { directory, source } => OpenError::Disk { directory, source },
        }
    }
}
