//! How much memory there is, and how much of it is free.
//!
//! Invariants: pages of files count as free, since the kernel drops them by itself, and memory of regions does not. The kernel's files stay open, so
//! that a daemon that may open no more of them still sees what is free.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The bound that the daemon keeps a reserve below.
#[derive(Debug)]
pub enum Limit {
    /// The machine's memory: `/proc/meminfo`.
    Machine(File),
    /// The memory of a control group.
    Group(Group),
    /// A number of bytes for all regions together, and nothing else counted.
    Regions { bytes: u64 },
}

/// A control group for memory, by its folder.
#[derive(Debug)]
pub struct Group {
    folder: PathBuf,
    version: GroupVersion,
    limit: File,
    used: File,
    stat: File,
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
    ///
    /// # Errors
    /// When there is no `/proc`.
    pub fn found() -> io::Result<Limit> {
        match Group::of_this_process() {
            Some(group) => Ok(Limit::Group(group)),
            None => File::open("/proc/meminfo").map(Limit::Machine),
        }
    }

    /// Reads the numbers. `regions_bytes` gives the memory of all regions.
    ///
    /// # Errors
    /// When the kernel's files are not there, or say something else.
    pub fn read(&self, regions_bytes: impl FnOnce() -> u64) -> io::Result<Memory> {
        match self {
            Limit::Machine(file) => machine_of(&text_of(file)?).ok_or_else(no_numbers),
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
            Limit::Machine(_) => "the machine".to_owned(),
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
        let version = if folder.join("memory.max").is_file() { GroupVersion::V2 } else { GroupVersion::V1 };
        let [limit, used] = match version {
            GroupVersion::V1 => ["memory.limit_in_bytes", "memory.usage_in_bytes"],
            GroupVersion::V2 => ["memory.max", "memory.current"],
        };
        let open = |name: &str| {
            let refused = |error| format!("{} is no control group with a limit of memory ({error})", folder.display());
            File::open(folder.join(name)).map_err(|error| io::Error::new(error.kind(), refused(error)))
        };
        let (limit, used, stat) = (open(limit)?, open(used)?, open("memory.stat")?);
        let group = Group { folder: folder.to_owned(), version, limit, used, stat };
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
        let prefix = match self.version {
            GroupVersion::V1 => "total_",
            GroupVersion::V2 => "",
        };
        let [limit, used, stat] = [&self.limit, &self.used, &self.stat].map(text_of);
        group_of(&limit?, &used?, &stat?, prefix).ok_or_else(no_numbers)
    }
}

/// The text of a file that the kernel writes anew for each read from its start.
fn text_of(file: &File) -> io::Result<String> {
    let mut bytes = vec![0; 16 << 10];
    let mut length = 0;
    loop {
        match file.read_at(&mut bytes[length..], length as u64)? {
            0 => break,
            more => length += more,
        }
    }
    bytes.truncate(length);
    String::from_utf8(bytes).map_err(|_| no_numbers())
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
    fn a_group_without_a_limit_is_refused() {
        let folder = std::env::temp_dir().join(format!("iolite-group-{}", std::process::id()));
        fs::create_dir(&folder).expect("the folder is new");
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("the folder is ours");
        write("memory.max", "max\n");
        write("memory.current", "90\n");
        write("memory.stat", "inactive_file 20\nactive_file 10\n");
        let unlimited = Group::at(&folder);
        write("memory.max", "100\n");
        let limited = Group::at(&folder).and_then(|group| Ok((group.version(), group.read()?)));
        fs::remove_dir_all(&folder).expect("the folder is ours");
        assert!(unlimited.is_err_and(|error| error.to_string().contains("no limit of memory")));
        let memory = Memory { limit_bytes: 100, free_bytes: 40 };
        assert_eq!(limited.expect("it has a limit"), (GroupVersion::V2, memory));
    }

    #[test]
    fn regions_are_counted_against_a_number() {
        let limit = Limit::Regions { bytes: 100 };
        assert_eq!(limit.read(|| 30).expect("it is a number"), Memory { limit_bytes: 100, free_bytes: 70 });
        assert_eq!(limit.read(|| 130).expect("it is a number").free_bytes, 0);
    }
}
