//! A secret that is made once, kept in a file that only its owner can read, and read back at every later start.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let secret = format!("{:032x}", random_id());
            write_secret(file, &format!("{secret}\n")).map_err(failed)?;
            Ok(secret)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Writes a file for its owner only. Under another name first, so that a crash leaves no half of a secret.
pub(crate) fn write_secret(file: &Path, contents: &str) -> io::Result<()> {
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".new");
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // One that a crash has left, perhaps with other rights.
    match std::fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut handle = options.open(&unfinished)?;
    handle.write_all(contents.as_bytes())?;
    handle.sync_all()?;
    std::fs::rename(unfinished, file)
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
}
