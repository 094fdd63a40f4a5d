//! A secret that is made once, kept in a file that only its owner can read, and read back at every later start.
//!
//! Invariant: of several processes that find no file at the same moment, one makes it, and all have what is in it.

use std::io;
use std::path::{Path, PathBuf};

use crate::durable_files::{Readers, sync_folder_of, write_durably, write_unfinished};
use crate::random_id;

/// Why a secret cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("the token file {} cannot be used: {source}. Make it readable and writable for this user", file.display())]
    Io { file: PathBuf, source: io::Error },
    #[error("the token file {} is empty: remove it, and the next start makes a new token", file.display())]
    Empty { file: PathBuf },
}

/// Reads the secret of `file`, or makes a random one of 32 hexadecimal digits.
///
/// # Errors
/// [`SecretError`], with the file.
pub fn read_or_create_secret(file: &Path) -> Result<String, SecretError> {
    let failed = |source| SecretError::Io { file: file.to_owned(), source };
    match std::fs::read_to_string(file) {
        Ok(text) if text.trim().is_empty() => Err(SecretError::Empty { file: file.to_owned() }),
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match create_secret(file).map_err(failed)? {
            Some(secret) => Ok(secret),
            None => read_or_create_secret(file),
        },
        Err(error) => Err(failed(error)),
    }
}

/// Makes a file with a random secret. None: another process was first.
fn create_secret(file: &Path) -> io::Result<Option<String>> {
    let secret = format!("{:032x}", random_id());
    let unfinished = write_unfinished(file, format!("{secret}\n").as_bytes(), Readers::Owner)?;
    // Unlike a new name, a link does not take the place of what is there.
    let linked = std::fs::hard_link(&unfinished, file);
    std::fs::remove_file(&unfinished)?;
    match linked {
        Ok(()) => sync_folder_of(file).map(|()| Some(secret)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file for its owner only. Under another name first, so that a crash leaves no half of a secret.
pub(crate) fn write_secret(file: &Path, contents: &str) -> io::Result<()> {
    write_durably(file, contents.as_bytes(), Readers::Owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_and_is_for_its_owner_only() {
        let folder = std::env::temp_dir().join(format!("iolite-secret-{:032x}", random_id()));
        std::fs::create_dir(&folder).expect("a temporary folder");
        let file = folder.join("token");
        let secret = read_or_create_secret(&file).expect("it can be written");
        assert_eq!(secret.len(), 32);
        assert_eq!(read_or_create_secret(&file).expect("it can be read"), secret);
        #[cfg(unix)]
        {
            let mode =
                std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).expect("it is there").permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        std::fs::write(&file, "\n").expect("it can be written");
        assert!(matches!(read_or_create_secret(&file), Err(SecretError::Empty { .. })));
        std::fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    fn who_makes_a_secret_at_the_same_moment_has_the_same() {
        let folder = std::env::temp_dir().join(format!("iolite-secrets-{:032x}", random_id()));
        std::fs::create_dir(&folder).expect("a temporary folder");
        for number in 0..20 {
            let file = folder.join(format!("token-{number}"));
            let moment = std::sync::Barrier::new(8);
            let make = || {
                moment.wait();
                read_or_create_secret(&file).expect("it can be written")
            };
            let made: Vec<String> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
                threads.into_iter().map(|thread| thread.join().expect("it made one")).collect()
            });
            let kept = read_or_create_secret(&file).expect("it can be read");
            assert_eq!(made, vec![kept; 8]);
        }
        let files = std::fs::read_dir(&folder).expect("it is there").count();
        assert_eq!(files, 20, "nothing else is left behind");
        std::fs::remove_dir_all(folder).expect("it is there");
    }
}
