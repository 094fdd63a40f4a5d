//! A folder of files.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use iolite_host::{make_folder_durably, sync_folder_of};

use super::PlaceError;

#[derive(Clone, Debug)]
pub(super) struct Folder(pub PathBuf);

impl Folder {
    pub fn is_empty(&self) -> Result<bool, PlaceError> {
        match fs::read_dir(&self.0) {
            Ok(mut entries) => Ok(entries.next().is_none()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(source) => Err(failed(&self.0, source)),
        }
    }

    /// Durable when it returns. What is in a backup is for its owner only.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), PlaceError> {
        self.make().map_err(|source| failed(&self.0, source))?;
        let unfinished = self.0.join(format!("{name}.new"));
        write(&unfinished, bytes).map_err(|source| failed(&unfinished, source))?;
        let path = self.0.join(name);
        fs::rename(&unfinished, &path).map_err(|source| failed(&path, source))?;
        File::open(&self.0).and_then(|folder| folder.sync_all()).map_err(|source| failed(&self.0, source))
    }

    /// Those that it is in are anybody's.
    fn make(&self) -> io::Result<()> {
        if self.0.is_dir() {
            return Ok(());
        }
        if let Some(parent) = self.0.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            make_folder_durably(parent)?;
        }
        match DirBuilder::new().mode(0o700).create(&self.0) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => sync_folder_of(&self.0),
        }
    }

    pub fn get(&self, name: &str, bytes_max: usize) -> Result<Option<Vec<u8>>, PlaceError> {
        let path = self.0.join(name);
        match read(&path, bytes_max) {
            Ok(bytes) if bytes.len() > bytes_max => {
                let bytes = fs::metadata(&path).map_or(bytes.len() as u64, |found| found.len());
                Err(PlaceError::TooLarge { path: path.display().to_string(), bytes })
            }
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(failed(&path, source)),
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn read(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn failed(path: &Path, source: io::Error) -> PlaceError {
    PlaceError::Io { path: path.display().to_string(), source }
}
