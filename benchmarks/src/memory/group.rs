//! A control group that is there for one arm only. It takes root.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

/// A group for memory, removed when this is dropped.
#[derive(Debug)]
pub struct Group {
    folder: PathBuf,
}

impl Group {
    /// A group, with a limit in bytes if it has one.
    pub fn make(name: &str, limit_bytes: Option<u64>) -> anyhow::Result<Group> {
        let name = format!("iolite-bench-{name}-{}", std::process::id());
        for (root, limit) in [("memory", "memory.limit_in_bytes"), ("", "memory.max")] {
            let folder = Path::new("/sys/fs/cgroup").join(root).join(&name);
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = Group { folder };
            if group.folder.join(limit).is_file() {
                if let Some(bytes) = limit_bytes {
                    fs::write(group.folder.join(limit), bytes.to_string()).context("the group takes no limit")?;
                }
                return Ok(group);
            }
        }
        bail!("this user makes no control group for memory")
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Lets the kernel drop what it keeps of pages that are written to swap already.
    pub fn drop_copies(&self) -> anyhow::Result<()> {
        let [v1, v2] = ["memory.force_empty", "memory.reclaim"].map(|name| self.folder.join(name));
        // The kernel answers that it could not drop all: some of it is the program's stack.
        let _ = if v1.exists() { fs::write(v1, "0") } else { fs::write(v2, "64G") };
        Ok(())
    }
}

/// Puts this process into a group.
pub fn join(folder: &Path) -> anyhow::Result<()> {
    fs::write(folder.join("cgroup.procs"), std::process::id().to_string()).context("the group takes no process")
}

impl Drop for Group {
    fn drop(&mut self) {
        // The last process of the group may still be on its way out.
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{} stays: remove the folder", self.folder.display());
    }
}
