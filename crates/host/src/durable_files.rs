//! Small files that stay: whole or not at all after a crash, and there after a power cut once the call has returned.
//!
//! Invariant: a name stands for a file only when its bytes are on the disk, and the call returns when the name is there too.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::random_id;

/// Whom a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner: it holds a secret.
    Owner,
    /// Whoever the process's mask lets.
    All,
}

/// Makes a file, or replaces it.
///
/// # Errors
/// What the system says. The file is as it was then, or as it is to be.
pub fn write_durably(file: &Path, contents: &[u8], readers: Readers) -> io::Result<()> {
    fs::rename(write_unfinished(file, contents, readers)?, file)?;
    sync_folder_of(file)
}

/// Makes a folder, and those that it is in.
///
/// # Errors
/// What the system says.
pub fn make_folder_durably(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    make_folder_durably(parent(folder))?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => sync_folder_of(folder),
    }
}

/// Returns when the name of a file or folder is on the disk, or that it is gone.
///
/// # Errors
/// What the system says.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    // Windows cannot sync a folder; NTFS journals the names itself.
    if cfg!(unix) { File::open(parent(path))?.sync_all() } else { Ok(()) }
}

/// Under a name that is beside that of the file, and nobody else's. A crash may leave it there.
pub(crate) fn write_unfinished(file: &Path, contents: &[u8], readers: Readers) -> io::Result<PathBuf> {
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(format!(".new-{:032x}", random_id()));
    let unfinished = PathBuf::from(unfinished);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut handle = options.open(&unfinished)?;
    handle.write_all(contents)?;
    handle.sync_all()?;
    Ok(unfinished)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
