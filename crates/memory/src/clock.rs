//! The Clock: how long ago an object was read and written, in rounds, from the bits that guards set.
//!
//! Invariant: a hint only. What is lost when two threads touch the same bits costs speed, never a byte.
//! Source: Marvin (Lebeck 2020) 4.6.1: two shift registers of four bits an object. Deviation: the youngest bit is of the round that lasts.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::region::table::{Entry, Mode, Table};

/// The length of a round of the Clock while the program is in the foreground.
pub const ROUND_IN_FOREGROUND: Duration = Duration::from_secs(5);
/// The length of a round of the Clock while the program is in the background.
pub const ROUND_IN_BACKGROUND: Duration = Duration::from_secs(30);

const WRITES_SHIFT: u32 = 4;
const READ_NOW: u8 = 1;
const WRITTEN_NOW: u8 = 1 << WRITES_SHIFT;
const READS: u8 = 0b1111;

/// The two shift registers of an object, reads in the low half. Bit 0 of a half is the round that lasts, bit 3 is three rounds ago.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers(u8);

/// How likely it is that an object is used soon, by its last four rounds. The order is that in which objects are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warmth {
    /// Not used: no read and no write.
    Cold,
    /// Read, not written.
    Read,
    /// Written: the object is part of the working set, as Marvin counts it.
    Written,
}

impl Registers {
    /// The registers of an object that was put a moment ago.
    pub const NEW: Registers = Registers(WRITTEN_NOW);

    #[must_use]
    pub fn from_bits(bits: u8) -> Registers {
        Registers(bits)
    }

    #[must_use]
    pub fn bits(self) -> u8 {
        self.0
    }

    /// The object was used in the round that lasts.
    #[must_use]
    pub fn with(self, was_read: bool, was_written: bool) -> Registers {
        let read = if was_read { READ_NOW } else { 0 };
        let written = if was_written { WRITTEN_NOW } else { 0 };
        Registers(self.0 | read | written)
    }

    /// A new round begins: the oldest one is forgotten.
    #[must_use]
    pub fn shifted(self) -> Registers {
        let reads = (self.0 << 1) & READS;
        let writes = (self.0 & !READS) << 1;
        Registers(reads | writes)
    }

    #[must_use]
    pub fn warmth(self) -> Warmth {
        match (self.0 & READS != 0, self.0 & !READS != 0) {
            (_, true) => Warmth::Written,
            (true, false) => Warmth::Read,
            (false, false) => Warmth::Cold,
        }
    }
}

/// How long a round lasts.
pub(crate) fn round_of(mode: Mode) -> Duration {
    match mode {
        Mode::Foreground => ROUND_IN_FOREGROUND,
        Mode::Background => ROUND_IN_BACKGROUND,
    }
}

/// Moves the bits that guards have set into the entry's registers. Returns whether it was written since the last time.
pub(crate) fn note(entry: &Entry) -> bool {
    let was_read = entry.was_read.swap(0, Ordering::Relaxed) != 0;
    let was_written = entry.was_written.swap(0, Ordering::Relaxed) != 0;
    if was_read || was_written {
        entry.set_registers(entry.registers().with(was_read, was_written));
    }
    was_written
}

/// Ends a round for all objects.
pub(crate) fn end_round(table: &Table) {
    let entries = (0..table.entries_used()).map(|index| table.entry(index));
    for entry in entries.filter(|entry| entry.word().is_valid()) {
        note(entry);
        entry.set_registers(entry.registers().shifted());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Restore;
    use crate::saving::{pass, run};
    use crate::shared::Wish;
    use crate::tests::lock::{daemon_of, region};

    #[test]
    fn a_register_remembers_four_rounds() {
        let mut registers = Registers::default().with(true, true);
        for _ in 0..3 {
            registers = registers.shifted();
            assert_eq!(registers.warmth(), Warmth::Written);
        }
        assert_eq!(registers.bits(), 0b1000_1000);
        assert_eq!(registers.shifted().warmth(), Warmth::Cold);
    }

    #[test]
    fn reads_do_not_become_writes() {
        let mut registers = Registers::default();
        for _ in 0..9 {
            registers = registers.with(true, false).shifted();
            assert_eq!(registers.warmth(), Warmth::Read);
        }
    }

    #[test]
    fn what_is_used_stays_warm_and_the_rest_gets_cold() {
        let region = region(1 << 20);
        let pool = region.pool().expect("it is the first");
        let mut slots: Vec<_> = (0..3).map(|_| pool.put(b"x").expect("there is room")).collect();
        let table = &region.shared().table;
        let warmth = |number: u32| table.entry(number).registers().warmth();
        assert_eq!(warmth(slots[0].number()), Warmth::Written, "it is new");
        for _ in 0..4 {
            drop(pool.read(&slots[1]).expect("it is there"));
            drop(pool.write(&mut slots[2]).expect("it is there"));
            end_round(table);
        }
        assert_eq!(
            [0, 1, 2].map(|at: usize| warmth(slots[at].number())),
            [Warmth::Cold, Warmth::Read, Warmth::Written]
        );
    }

    #[test]
    fn a_read_hides_no_earlier_write_and_saving_hides_no_use() {
        let region = region(1 << 20);
        let pool = region.pool().expect("it is the first");
        let mut slot = pool.put(b"x").expect("there is room");
        let shared = region.shared();
        let rounds = |count| (0..count).for_each(|_| end_round(&shared.table));
        rounds(4);
        drop(pool.write(&mut slot).expect("it is there"));
        pass(shared, Wish::Nothing).expect("the disk has room");
        rounds(1);
        drop(pool.read(&slot).expect("it is there"));
        rounds(1);
        assert_eq!(shared.table.entry(slot.number()).registers().warmth(), Warmth::Written);
    }

    #[test]
    fn the_saving_thread_ends_rounds() {
        let region = region(1 << 20);
        let slot = region.pool().expect("it is the first").put(b"x").expect("there is room");
        let shared = region.shared();
        std::thread::scope(|scope| {
            let saver = scope.spawn(|| run(shared, Duration::from_millis(1), |_| Duration::ZERO));
            while shared.table.entry(slot.number()).registers().warmth() != Warmth::Cold {
                std::thread::yield_now();
            }
            shared.saver.is_ending.store(true, Ordering::Release);
            saver.join().expect("it does not panic");
        });
    }

    #[test]
    fn what_the_last_foreground_touched_comes_back_first() {
        let region = region(1 << 20);
        let pool = region.pool().expect("it is the first");
        let slots: Vec<_> = (0..3).map(|_| pool.put(b"x").expect("there is room")).collect();
        let rounds = |count| (0..count).for_each(|_| end_round(&region.shared().table));
        rounds(4);
        drop(pool.read(&slots[1]).expect("it is there"));
        region.background();
        // A long time in the background makes everything cold, and does not hide what was touched before.
        rounds(4);
        region.background();
        let made_in_background = pool.put(b"x").expect("there is room");
        region.save().expect("the disk has room");
        assert_eq!(daemon_of(&region).reclaim(u64::MAX, || true).expect("holes can be made").objects, 4);
        assert_eq!(region.foreground(Restore::LastTouchedFirst).expect("it comes back"), 2);
        let is_resident = |slot: &crate::Slot| region.shared().table.entry(slot.number()).word().is_resident();
        let found = [&slots[0], &slots[1], &slots[2], &made_in_background].map(is_resident);
        assert_eq!(found, [false, true, false, true]);
    }

    #[test]
    fn the_working_set_is_taken_last() {
        let region = region(1 << 20);
        let pool = region.pool().expect("it is the first");
        let mut slots: Vec<_> = (0..3).map(|_| pool.put(b"x").expect("there is room")).collect();
        for _ in 0..4 {
            end_round(&region.shared().table);
        }
        drop(pool.write(&mut slots[0]).expect("it is there"));
        drop(pool.read(&slots[1]).expect("it is there"));
        region.save().expect("the disk has room");
        let daemon = daemon_of(&region);
        let survey = daemon.survey();
        assert_eq!((survey.working_set_bytes, survey.cold_bytes, survey.reclaimable_bytes), (4096, 4096, 3 * 4096));
        let order: Vec<u32> = daemon.candidates().iter().map(|candidate| candidate.index).collect();
        assert_eq!(order, [2, 1, 0].map(|at: usize| slots[at].number()));
        assert_eq!(daemon.reclaim(4096, || true).expect("holes can be made").objects, 1);
        assert_eq!(daemon.survey().cold_bytes, 0);
        assert_eq!(daemon.reclaim(u64::MAX, || true).expect("holes can be made").objects, 2);
        assert_eq!(daemon.survey().working_set_bytes, 0, "nothing is in memory");
    }
}
