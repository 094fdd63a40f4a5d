//! How much memory there is, and how much of it is free.
//!
//! Invariant: pages of files count as free, since the kernel drops them by itself; memory of regions does not.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The bound that the daemon keeps a reserve below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The machine's memory.
    Machine,
    /// The memory of a control group.
    Group(Group),
    /// So many bytes for all regions together, and nothing else counted.
    Regions { bytes: u64 },
}

/// A control group for memory, by its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    folder: PathBuf,
    version: GroupVersion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupVersion {
    V1,
    V2,
}

/// The memory of a limit, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub limit_bytes: u64,
    pub free_bytes: u64,
}

/// In version 1 a group without a limit has a number near 2^63.
const NO_LIMIT: u64 = 1 << 60;

impl Limit {
    /// The group of this process, if it has a limit; else the machine.
    #[must_use]
    pub fn found() -> Limit {
        Group::of_this_process().map_or(Limit::Machine, Limit::Group)
    }

    /// Reads the numbers. `regions_bytes` gives the memory of all regions.
    ///
    /// # Errors
    /// When the kernel's files are not there, or say something else.
    pub fn read(&self, regions_bytes: impl FnOnce() -> u64) -> io::Result<Memory> {
        match self {
            Limit::Machine => machine_of(&fs::read_to_string("/proc/meminfo")?).ok_or_else(no_numbers),
            Limit::Group(group) => group.read(),
            Limit::Regions { bytes } => {
                Ok(Memory { limit_bytes: *bytes, free_bytes: bytes.saturating_sub(regions_bytes()) })
            }
        }
    }

    /// The limit in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Limit::Machine => "the machine".to_owned(),
            Limit::Group(group) => format!("the control group {}", group.folder.display()),
            Limit::Regions { bytes } => format!("a limit of {bytes} bytes"),
        }
    }
}

impl Group {
    /// A group by its folder.
    ///
    /// # Errors
    /// When the folder is no group for memory, or the group has no limit.
    pub fn at(folder: &Path) -> io::Result<Group> {
        let is_there = |name: &str| folder.join(name).is_file();
        let version = if is_there("memory.max") {
            GroupVersion::V2
        } else if is_there("memory.limit_in_bytes") {
            GroupVersion::V1
        } else {
            let what = format!("{} is no control group with a limit of memory", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, what));
        };
        let group = Group { folder: folder.to_owned(), version };
        group.read()?;
        Ok(group)
    }

    fn of_this_process() -> Option<Group> {
        let said = fs::read_to_string("/proc/self/cgroup").ok()?;
        folders_of(&said).iter().find_map(|folder| Group::at(folder).ok())
    }

    #[must_use]
    pub fn version(&self) -> GroupVersion {
        self.version
    }

    fn read(&self) -> io::Result<Memory> {
        let [limit, used, prefix] = match self.version {
            GroupVersion::V1 => ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_"],
            GroupVersion::V2 => ["memory.max", "memory.current", ""],
        };
        let text = |name: &str| fs::read_to_string(self.folder.join(name));
        group_of(&text(limit)?, &text(used)?, &text("memory.stat")?, prefix).ok_or_else(no_numbers)
    }
}

fn no_numbers() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "there is no limit of memory in the kernel's files")
}

/// Where a process' group may be, by `/proc/PID/cgroup`.
fn folders_of(said: &str) -> Vec<PathBuf> {
    let folder_of = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            controllers if controllers.split(',').any(|name| name == "memory") => "/sys/fs/cgroup/memory",
            _ => return None,
        };
        Some(Path::new(root).join(path.trim_start_matches('/')))
    };
    said.lines().filter_map(folder_of).collect()
}

/// A number after a name at the beginning of a line.
fn number_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([' ', ':']))?;
    line.split_whitespace().next()?.parse().ok()
}

fn machine_of(meminfo: &str) -> Option<Memory> {
    let bytes = |name| number_of(meminfo, name).map(|kilobytes| kilobytes * 1024);
    Some(Memory { limit_bytes: bytes("MemTotal")?, free_bytes: bytes("MemAvailable")? })
}

fn group_of(limit: &str, used: &str, stat: &str, prefix: &str) -> Option<Memory> {
    let limit_bytes = limit.trim().parse().ok().filter(|&limit| limit < NO_LIMIT)?;
    let used: u64 = used.trim().parse().ok()?;
    let files = ["inactive_file", "active_file"].map(|name| number_of(stat, &format!("{prefix}{name}")));
    let files: u64 = files.into_iter().sum::<Option<u64>>()?;
    Some(Memory { limit_bytes, free_bytes: limit_bytes.saturating_sub(used.saturating_sub(files)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_what_is_available() {
        let meminfo = "MemTotal:       24684076 kB\nMemFree:        21127432 kB\nMemAvailable:   23628000 kB\n";
        let memory = Memory { limit_bytes: 24_684_076 << 10, free_bytes: 23_628_000 << 10 };
        assert_eq!(machine_of(meminfo), Some(memory));
        assert_eq!(machine_of("MemTotal: x kB\n"), None);
    }

    #[test]
    fn pages_of_files_of_a_group_are_free() {
        let v1 = "inactive_file 7\nshmem 50\ntotal_inactive_file 20\ntotal_active_file 10\n";
        let memory = Memory { limit_bytes: 100, free_bytes: 40 };
        assert_eq!(group_of("100\n", "90\n", v1, "total_"), Some(memory));
        assert_eq!(group_of("100\n", "90\n", "inactive_file 20\nactive_file 10\n", ""), Some(memory));
        assert_eq!(group_of("9223372036854771712\n", "90\n", v1, "total_"), None, "version 1 has no limit");
        assert_eq!(group_of("max\n", "90\n", v1, ""), None, "version 2 has no limit");
    }

    #[test]
    fn a_group_is_found_in_both_versions() {
        let said = "4:memory:/a/b\n1:cpu:/c\n0::/d\n";
        assert_eq!(folders_of(said), ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/d"].map(PathBuf::from));
        let error = Group::at(Path::new("/proc")).expect_err("it is another kind of folder");
        assert!(error.to_string().contains("no control group"), "{error}");
    }

    #[test]
    fn regions_are_counted_against_a_number() {
        let limit = Limit::Regions { bytes: 100 };
        assert_eq!(limit.read(|| 30).expect("it is a number"), Memory { limit_bytes: 100, free_bytes: 70 });
        assert_eq!(limit.read(|| 130).expect("it is a number").free_bytes, 0);
    }
}
