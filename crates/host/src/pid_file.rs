//! A file that tells which process runs as something: its lock says whether one does, and the number in it which.
//!
//! The kernel drops the lock with the process, however it ends. So nobody is taken for alive because a number was used again.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Held as long as this lives.
#[derive(Debug)]
pub struct PidFile {
    _locked: File,
}

/// Why a process may not run.
#[derive(Debug, thiserror::Error)]
pub enum PidFileError {
    #[error("process {pid} runs with the same configuration, as {} says: stop it first", file.display())]
    Held { file: PathBuf, pid: u32 },
    #[error("the file {} cannot be used: {source}. Make it writable for this user", file.display())]
    Io { file: PathBuf, source: io::Error },
}

/// Who looks holds the lock for a moment, and who has just begun has not written its number.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

impl PidFile {
    /// Writes the number of this process. Waits at most half a second for those who only look.
    ///
    /// # Errors
    /// [`PidFileError::Held`], when a process that runs has it.
    pub fn take(file: &Path) -> Result<PidFile, PidFileError> {
        let failed = |source| PidFileError::Io { file: file.to_owned(), source };
        let options = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(file);
        let mut locked = options.map_err(failed)?;
        for _ in 0..TRIES {
            match locked.try_lock() {
                Ok(()) => {
                    write_number(&mut locked).map_err(failed)?;
                    return Ok(PidFile { _locked: locked });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        let pid = read_number(&mut locked).map_err(failed)?.unwrap_or_default();
        Err(PidFileError::Held { file: file.to_owned(), pid })
    }

    /// The process that runs, if one does.
    ///
    /// # Errors
    /// What can go wrong with files; a file that is missing is held by nobody.
    pub fn holder(file: &Path) -> io::Result<Option<u32>> {
        let mut opened = match File::open(file) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        for _ in 0..TRIES {
            match opened.try_lock_shared() {
                Ok(()) => return Ok(None),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
            match read_number(&mut opened)? {
                Some(pid) => return Ok(Some(pid)),
                None => std::thread::sleep(PAUSE),
            }
        }
        Err(io::Error::other("it is locked, and holds no number of a process"))
    }
}

fn write_number(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes())
}

/// `None`: it is not whole.
fn read_number(file: &mut File) -> io::Result<Option<u32>> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text.strip_suffix('\n').and_then(|number| number.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_id;

    #[test]
    fn it_names_who_runs_and_nobody_who_has_ended() {
        let file = std::env::temp_dir().join(format!("iolite-pid-{:032x}", random_id()));
        assert_eq!(PidFile::holder(&file).expect("it can be missing"), None);
        std::fs::write(&file, "1\n").expect("it can be written");
        assert_eq!(PidFile::holder(&file).expect("it can be read"), None, "a number alone says nothing");
        let held = PidFile::take(&file).expect("nobody has it");
        assert_eq!(PidFile::holder(&file).expect("it can be read"), Some(std::process::id()));
        let refused = PidFile::take(&file).expect_err("it is held");
        assert!(refused.to_string().contains(&format!("process {} runs", std::process::id())), "{refused}");
        drop(held);
        assert_eq!(PidFile::holder(&file).expect("it can be read"), None);
        std::fs::remove_file(file).expect("it is there");
    }
}
