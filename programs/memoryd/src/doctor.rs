//! `memoryd doctor`: says what this machine allows, and what each missing thing costs.
//!
//! Invariant: it changes nothing, and needs no daemon.

use std::fs;
use std::path::Path;

use iolite_memory::{Options, Region};
use serde::Serialize;

use crate::limit::{Limit, Memory};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub what: &'static str,
    pub found: String,
    /// The cost of what is missing, and the remedy. `None` if nothing is missing.
    pub cost: Option<&'static str>,
}

/// The kernel's number of tmpfs.
const TMPFS: u64 = 0x0102_1994;

const HUGE_PAGES_COST: &str = "memory is taken some 80 times slower than with huge pages: as root, `echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled`, and make regions with `huge_pages(true)`";
const TMPFS_COST: &str = "objects that are saved there are in memory again: name a folder on a disk with `swap_in`, or `memoryd adopt --swap-in`";
const TRAP_COST: &str =
    "tests cannot trap reads behind the guards: run them as root, or set vm.unprivileged_userfaultfd to 1";
const SWAP_COST: &str =
    "memory outside of regions cannot leave the machine: when it is full, the kernel kills a program";
const PRESSURE_COST: &str =
    "the kernel does not tell how long programs wait for memory; memoryd looks at free memory, and works without";

/// Looks at the machine. `folder` is where swap files are to be.
#[must_use]
pub fn findings(folder: &Path) -> Vec<Finding> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    vec![
        regions(),
        huge_pages(&read("/sys/kernel/mm/transparent_hugepage/shmem_enabled")),
        limit(),
        kernel_swap(&read("/proc/swaps")),
        swap_folder(folder),
        pressure(&read("/proc/pressure/memory")),
        trap(&read("/proc/sys/vm/unprivileged_userfaultfd"), rustix::process::getuid().is_root()),
    ]
}

fn regions() -> Finding {
    let made = Region::create(Options::new("doctor").bytes_max(1 << 20).without_memoryd());
    let found = made.as_ref().map_or_else(ToString::to_string, |_| "can be made".to_owned());
    Finding { what: "regions", found, cost: made.is_err().then_some("nothing works without them") }
}

fn huge_pages(said: &str) -> Finding {
    let chosen =
        said.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("unknown", |(chosen, _)| chosen);
    let is_fine = matches!(chosen, "always" | "within_size" | "advise" | "force");
    Finding {
        what: "huge pages for shared memory",
        found: chosen.to_owned(),
        cost: (!is_fine).then_some(HUGE_PAGES_COST),
    }
}

fn limit() -> Finding {
    let read = Limit::found().and_then(|limit| {
        let Memory { limit_bytes, free_bytes } = limit.read(|| 0)?;
        let version = match &limit {
            Limit::Group(group) => format!("{:?}, ", group.version()),
            Limit::Machine(_) | Limit::Regions { .. } => String::new(),
        };
        Ok(format!("{version}{}: {free_bytes} of {limit_bytes} bytes are free", limit.in_words()))
    });
    let is_fine = read.is_ok();
    let found = read.unwrap_or_else(|error| error.to_string());
    Finding { what: "limit", found, cost: (!is_fine).then_some("memoryd takes only by command: give it --limit-bytes") }
}

fn kernel_swap(said: &str) -> Finding {
    let areas = said.lines().skip(1).count();
    Finding { what: "swap of the kernel", found: format!("{areas} areas"), cost: (areas == 0).then_some(SWAP_COST) }
}

fn swap_folder(folder: &Path) -> Finding {
    let kind = rustix::fs::statfs(folder).ok().and_then(|found| u64::try_from(found.f_type).ok());
    let (found, cost) = match kind {
        None => ("is not there", Some("choose another folder")),
        Some(TMPFS) => ("is a tmpfs", Some(TMPFS_COST)),
        Some(_) => ("is no tmpfs", None),
    };
    Finding { what: "folder for swap files", found: format!("{} {found}", folder.display()), cost }
}

fn pressure(said: &str) -> Finding {
    let is_there = said.starts_with("some ");
    let found = if is_there { "told by the kernel" } else { "not told by the kernel" };
    Finding { what: "pressure (PSI)", found: found.to_owned(), cost: (!is_there).then_some(PRESSURE_COST) }
}

fn trap(said: &str, is_root: bool) -> Finding {
    let is_fine = is_root || said.trim() == "1";
    let found = if is_fine { "allowed" } else { "not allowed" };
    Finding { what: "userfaultfd", found: found.to_owned(), cost: (!is_fine).then_some(TRAP_COST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_has_its_cost() {
        assert_eq!(huge_pages("always within_size [advise] never deny force\n").cost, None);
        assert_eq!(huge_pages("always within_size advise [never] deny force\n").cost, Some(HUGE_PAGES_COST));
        assert_eq!(huge_pages("").found, "unknown");
        assert_eq!(kernel_swap("Filename Type\n").cost, Some(SWAP_COST));
        assert_eq!(kernel_swap("Filename Type\n/swap file\n").cost, None);
        assert_eq!(pressure("some avg10=0.00\n").cost, None);
        assert_eq!(pressure("").cost, Some(PRESSURE_COST));
        assert_eq!(trap("0\n", false).cost, Some(TRAP_COST));
        assert_eq!((trap("1\n", false).cost, trap("0\n", true).cost), (None, None));
        assert_eq!(swap_folder(Path::new("/nowhere")).cost, Some("choose another folder"));
    }

    #[test]
    fn every_machine_has_findings() {
        let findings = findings(&std::env::temp_dir());
        assert_eq!(findings.iter().map(|finding| finding.what).next(), Some("regions"));
        assert_eq!(findings.len(), 7);
        assert_eq!(findings[0].cost, None, "{}", findings[0].found);
    }
}
