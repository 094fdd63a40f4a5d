//! What a power cut leaves of a memory disk.
//!
//! Invariant: synced bytes and synced names survive every crash; what a power cut left behind is synced.

use std::collections::{BTreeMap, BTreeSet};

use super::{Change, Content, MemoryDisk, NextSync, Power};

/// The unit in which a disk writes, in bytes: a torn write loses whole ones of these.
const SECTOR_BYTES: usize = 512;

/// One way in which a crash harms what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CrashFault {
    /// All unsynced changes of a file are gone.
    LostWrites,
    /// The first few unsynced writes of a file are kept whole, the later ones are gone.
    LostLaterWrites,
    /// An unsynced write is cut at any byte.
    CutWrite,
    /// The file has its length, but some unsynced sectors are zero.
    LostSectors,
    /// The file has its length, but some unsynced sectors hold anything.
    GarbledSectors,
    /// A file's creation or removal is undone.
    LostNameChange,
}

impl CrashFault {
    pub const ALL: [CrashFault; 6] = [
        CrashFault::LostWrites,
        CrashFault::LostLaterWrites,
        CrashFault::CutWrite,
        CrashFault::LostSectors,
        CrashFault::GarbledSectors,
        CrashFault::LostNameChange,
    ];
}

type Choose<'a> = &'a mut dyn FnMut(u64) -> u64;

impl MemoryDisk {
    /// The machine loses power and comes back, or the process is killed. Each file with unsynced changes suffers one of `faults`, or none; each
    /// unsynced creation or removal may be undone if `faults` has [`CrashFault::LostNameChange`].
    ///
    /// No faults at all is a killed process: the operating system still has everything, and what was not synced still is not,
    /// so that a later power cut can take it.
    ///
    /// `choose(n)` gives a number below `n`; the simulation draws it from its seed.
    pub fn crash(&mut self, faults: &[CrashFault], choose: &mut dyn FnMut(u64) -> u64) {
        self.power = Power::On;
        self.next_sync = NextSync::Works;
        if faults.is_empty() {
            return;
        }
        if faults.contains(&CrashFault::LostNameChange) {
            self.crash_names(choose);
        }
        self.synced_names.clone_from(&self.names);
        self.drop_unnamed_inodes();
        let faults: Vec<CrashFault> =
            faults.iter().copied().filter(|fault| *fault != CrashFault::LostNameChange).collect();
        for content in self.inodes.values_mut() {
            crash_content(content, &faults, choose, &mut self.fired);
        }
    }

    /// How often each fault really changed something.
    pub fn faults_fired(&self) -> &BTreeMap<CrashFault, u64> {
        &self.fired
    }

    fn crash_names(&mut self, choose: Choose) {
        let all: BTreeSet<String> = self.names.keys().chain(self.synced_names.keys()).cloned().collect();
        for name in all {
            let synced = self.synced_names.get(&name).copied();
            if self.names.get(&name).copied() == synced || choose(2) == 0 {
                continue;
            }
            match synced {
                Some(inode) => self.names.insert(name, inode),
                None => self.names.remove(&name),
            };
            *self.fired.entry(CrashFault::LostNameChange).or_default() += 1;
        }
    }
}

fn crash_content(content: &mut Content, faults: &[CrashFault], choose: Choose, fired: &mut BTreeMap<CrashFault, u64>) {
    let pending = std::mem::take(&mut content.pending);
    if !pending.is_empty() {
        let choice = choose(faults.len() as u64 + 1) as usize;
        if let Some(fault) = faults.get(choice) {
            let left = suffer(*fault, &content.synced, &content.visible, &pending, choose);
            if left != content.visible {
                *fired.entry(*fault).or_default() += 1;
            }
            content.visible = left;
        }
    }
    *content = Content {
        synced: content.visible.clone(),
        visible: std::mem::take(&mut content.visible),
        ..Content::default()
    };
}

fn suffer(fault: CrashFault, synced: &[u8], visible: &[u8], pending: &[Change], choose: Choose) -> Vec<u8> {
    match fault {
        CrashFault::LostWrites => synced.to_vec(),
        CrashFault::LostLaterWrites => apply(synced, &pending[..choose(pending.len() as u64) as usize]),
        CrashFault::CutWrite => cut_write(synced, pending, choose),
        CrashFault::LostSectors => harm_sectors(synced, visible, pending, choose, &mut |_| 0),
        CrashFault::GarbledSectors => harm_sectors(synced, visible, pending, choose, &mut |choose| choose(256) as u8),
        CrashFault::LostNameChange => visible.to_vec(),
    }
}

fn apply(synced: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = synced.to_vec();
    for change in changes {
        change.apply(&mut bytes);
    }
    bytes
}

fn cut_write(synced: &[u8], pending: &[Change], choose: Choose) -> Vec<u8> {
    let last = choose(pending.len() as u64) as usize;
    let mut bytes = apply(synced, &pending[..last]);
    if let Change::Append(more) = &pending[last] {
        bytes.extend_from_slice(&more[..choose(more.len() as u64 + 1) as usize]);
    }
    bytes
}

fn harm_sectors(
    synced: &[u8],
    visible: &[u8],
    pending: &[Change],
    choose: Choose,
    byte: &mut dyn FnMut(Choose) -> u8,
) -> Vec<u8> {
    let mut safe = synced.len();
    for change in pending {
        match change {
            Change::Truncate(length) => safe = safe.min(*length),
            Change::Append(_) => {}
        }
    }
    let mut bytes = visible.to_vec();
    let mut start = safe;
    while start < bytes.len() {
        let end = ((start / SECTOR_BYTES + 1) * SECTOR_BYTES).min(bytes.len());
        if choose(2) == 0 {
            for place in &mut bytes[start..end] {
                *place = byte(choose);
            }
        }
        start = end;
    }
    bytes
}
