//! Where the data of servers is: on a disk in class fsync, in memory in class memory. Removed with it.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use iolite_host::random_id;

use crate::arguments::Durability;

#[derive(Debug)]
pub struct ClusterDirectory {
    path: PathBuf,
}

/// The user that servers run as which refuse to run as root, by Debian's package of PostgreSQL.
#[derive(Clone, Copy, Debug)]
pub struct ServiceUser {
    pub user: u32,
    pub group: u32,
}

impl ServiceUser {
    /// # Errors
    /// When the system has no user of this name.
    pub fn named(name: &str) -> anyhow::Result<ServiceUser> {
        let users = std::fs::read_to_string("/etc/passwd").context("cannot read the list of users")?;
        let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == name);
        let number = |index: usize| fields.as_ref()?.get(index)?.parse().ok();
        let found = number(2).zip(number(3)).map(|(user, group)| ServiceUser { user, group });
        found.with_context(|| format!("there is no user {name}: run `make setup`, which installs it from Debian"))
    }
}

const MEMORY: &str = "/dev/shm";
/// Of tmpfs, from the kernel's magic.h.
const TMPFS: i128 = 0x0102_1994;

impl ClusterDirectory {
    pub fn new(durability: Durability) -> anyhow::Result<ClusterDirectory> {
        let parent = match durability {
            Durability::Fsync => std::env::temp_dir(),
            Durability::Memory => PathBuf::from(MEMORY),
        };
        ClusterDirectory::within(&parent, durability)
    }

    fn within(parent: &Path, durability: Durability) -> anyhow::Result<ClusterDirectory> {
        match (durability, is_in_memory(parent)) {
            (Durability::Fsync, true) => {
                bail!("{} is in memory, where syncs do nothing: set TMPDIR to a folder on a disk", parent.display())
            }
            (Durability::Memory, false) => bail!("class memory needs {MEMORY} to be in memory"),
            (Durability::Fsync, false) | (Durability::Memory, true) => {}
        }
        let path = parent.join(format!("iolite-peers-{:032x}", random_id()));
        std::fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
        // Servers of another user have to reach what is theirs in it.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        Ok(ClusterDirectory { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A folder in it, of the user who runs the servers.
    pub fn folder(&self, name: &str, owner: Option<ServiceUser>) -> anyhow::Result<PathBuf> {
        let path = self.path.join(name);
        std::fs::create_dir(&path)?;
        if let Some(ServiceUser { user, group }) = owner {
            chown(&path, Some(user), Some(group))?;
        }
        Ok(path)
    }
}

fn is_in_memory(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| i128::from(found.f_type) == TMPFS)
}

impl Drop for ClusterDirectory {
    fn drop(&mut self) {
        // What is left of it is in a folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_memory_is_in_memory_and_syncs_that_reach_no_disk_are_refused() {
        let directory = ClusterDirectory::new(Durability::Memory).expect("the system has a folder in memory");
        assert!(is_in_memory(directory.path()), "{}", directory.path().display());
        let refused = ClusterDirectory::within(Path::new(MEMORY), Durability::Fsync).expect_err("there is no disk");
        assert!(refused.to_string().contains("TMPDIR"), "{refused}");
    }
}
