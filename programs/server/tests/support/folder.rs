//! What tests of processes have in common: a folder of their own, and how long they wait.

use std::path::PathBuf;
use std::time::Duration;

/// Far more than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_iolite");

/// A temporary folder, removed when it is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    /// The name is to be used once among all tests.
    pub fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("iolite-process-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
