//! Processes and their processor time, from /proc.
//!
//! Invariant: the time of a tree of processes never falls while its root lives: what a child used stays counted when it has ended.

use std::collections::BTreeMap;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(u32);

impl Pid {
    pub fn of(child: &Child) -> Pid {
        Pid(child.id())
    }

    #[cfg(test)]
    pub fn numbered(number: u32) -> Pid {
        Pid(number)
    }

    pub fn number(self) -> u32 {
        self.0
    }

    pub fn process(self) -> rustix::process::Pid {
        let raw = i32::try_from(self.0).ok().and_then(rustix::process::Pid::from_raw);
        raw.expect("the kernel gives no other numbers to processes")
    }

    pub fn kill(self) {
        // It may have ended by itself.
        let _ = kill_process(self.process(), Signal::KILL);
    }

    pub fn exists(self) -> bool {
        stat(self.0).is_some_and(|stat| stat.life == Life::Running)
    }

    /// This process and all below it.
    pub fn tree(self) -> Vec<Pid> {
        let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for pid in pids() {
            if let Some(stat) = stat(pid) {
                children.entry(stat.parent).or_default().push(pid);
            }
        }
        let mut tree = vec![self];
        let mut next = 0;
        while let Some(Pid(pid)) = tree.get(next) {
            tree.extend(children.get(pid).into_iter().flatten().map(|child| Pid(*child)));
            next += 1;
        }
        tree
    }

    /// The processor time of this process and all below it: of those that live in nanoseconds, of children that ended in the kernel's
    /// ticks, mostly of 10 ms.
    pub fn tree_cpu(self) -> Duration {
        let living: Duration = self.tree().into_iter().map(Pid::cpu).sum();
        let ended = stat(self.0).map_or(0, |stat| stat.children_ticks);
        let tick = Duration::from_secs(1) / u32::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(100);
        living + tick * u32::try_from(ended).unwrap_or(u32::MAX)
    }

    /// Of its memory, what is in RAM; 0 when it has ended.
    pub fn resident_bytes(self) -> u64 {
        self.status_bytes("VmRSS:")
    }

    /// The most that it had in RAM, since that was forgotten.
    pub fn peak_resident_bytes(self) -> u64 {
        self.status_bytes("VmHWM:")
    }

    /// Where the kernel refuses it, the peak is the one since the process began.
    pub fn forget_peak(self) {
        let _ = std::fs::write(format!("/proc/{}/clear_refs", self.0), "5");
    }

    fn status_bytes(self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kibibytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kibibytes.unwrap_or(0) * 1024
    }

    /// Of all its threads, in nanoseconds.
    fn cpu(self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.0)).into_iter().flatten().flatten();
        let nanos = tasks.filter_map(|task| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanos.sum())
    }
}

/// The processor time of this process.
pub fn own_cpu() -> Duration {
    Pid(std::process::id()).cpu()
}

struct Stat {
    life: Life,
    parent: u32,
    /// What children used that have ended.
    children_ticks: u64,
}

#[derive(PartialEq, Eq)]
enum Life {
    Running,
    /// Its parent has not asked how yet.
    Ended,
}

fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Fields are counted behind the name, which may hold anything.
fn parse_stat(text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let life = if matches!(*fields.first()?, "Z" | "X") { Life::Ended } else { Life::Running };
    Some(Stat { life, parent: u32::try_from(number(1)?).ok()?, children_ticks: number(13)? + number(14)? })
}

fn pids() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use super::*;

    #[test]
    fn fields_are_found_behind_a_name_with_blanks_and_parentheses() {
        let text = "42 (a b) c) S 7 42 42 0 -1 4194560 1 2 3 4 100 200 30 4 20 0 1 0 5 6 7";
        let stat = parse_stat(text).expect("it is one");
        assert!(stat.life == Life::Running);
        assert_eq!((stat.parent, stat.children_ticks), (7, 34));
    }

    #[test]
    fn memory_that_is_written_is_resident() {
        let own = Pid(std::process::id());
        let before = own.resident_bytes();
        let written = vec![1u8; 64 << 20];
        assert!(own.resident_bytes() > before + (32 << 20), "{before}");
        assert_eq!(written[written.len() / 2], 1);
        drop(written);
        assert!(own.peak_resident_bytes() > before + (32 << 20), "{before}");
    }

    /// Burns the processor in a child, waits for it, then sleeps until it is killed.
    fn burner() -> Child {
        let script = "(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); echo done; sleep 60; true";
        Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().expect("there is a shell")
    }

    #[test]
    fn the_time_of_children_counts_when_they_have_ended_too() {
        use std::io::Read;
        let mut child = burner();
        let root = Pid::of(&child);
        let begun = Instant::now();
        let mut said = [0; 4];
        child.stdout.as_mut().expect("its output is a pipe").read_exact(&mut said).expect("it says that it is done");
        let used = root.tree_cpu();
        assert!(used > Duration::from_millis(20), "{used:?}");
        assert!(used < begun.elapsed() + Duration::from_millis(50), "{used:?} of {:?}", begun.elapsed());
        root.tree().into_iter().for_each(Pid::kill);
        child.wait().expect("it was killed");
        assert!(!root.exists());
    }
}
