//! Random histories of appends, syncs, checkpoints, power cuts and recoveries that are cut short themselves.

use std::collections::BTreeMap;

use crate::scene::{self, State, apply, choices, chunk, record, restore, small_segments, state_after};
use iolite_engine::{CrashFault, Disk, Durability, Incarnation, Journal, MemoryDisk, Options, Position};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Append {
        filling_bytes: usize,
    },
    Flush,
    Sync,
    /// The next step of a checkpoint, whichever that is.
    Checkpoint,
    /// The power goes off after so many more operations of the disk, and comes back when the journal has noticed.
    PowerCut {
        operations: u64,
    },
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop_oneof![4 => 0_usize..60, 1 => 60_usize..1_500].prop_map(|filling_bytes| Step::Append { filling_bytes }),
        2 => Just(Step::Flush),
        4 => Just(Step::Sync),
        5 => Just(Step::Checkpoint),
        2 => (0_u64..12).prop_map(|operations| Step::PowerCut { operations }),
        1 => Just(Step::Kill),
    ]
}

/// A journal, the state that its records build, and what the world was told.
struct World {
    /// Taken out only while a crash is handled.
    journal: Option<Journal<MemoryDisk>>,
    state: State,
    /// Records are versions 1, 2, 3 and so on; this is the last.
    appended: u64,
    /// The last that was reported durable, or that a recovery showed.
    durable: u64,
    checkpoint: CheckpointStep,
    /// Where each checkpoint started that may be the newest complete one.
    checkpoint_starts: Vec<u64>,
    restarts: u64,
}

#[derive(Clone, Copy)]
enum CheckpointStep {
    Idle,
    Chunk { next_key: u64 },
}

impl World {
    fn new() -> World {
        let (journal, recovery) =
            Journal::open(MemoryDisk::new(), small_segments(), Incarnation(1)).expect("an empty disk");
        assert_eq!(recovery.incarnation, Incarnation(1));
        World {
            journal: Some(journal),
            state: State::new(),
            appended: 0,
            durable: 0,
            checkpoint: CheckpointStep::Idle,
            checkpoint_starts: Vec::new(),
            restarts: 0,
        }
    }

    fn journal(&mut self) -> &mut Journal<MemoryDisk> {
        self.journal.as_mut().expect("put back after every crash")
    }

    fn run(&mut self, step: Step, choose: &mut dyn FnMut(u64) -> u64) {
        match step {
            Step::Append { filling_bytes } => self.append(filling_bytes),
            Step::Flush => drop(self.journal().flush()),
            Step::Sync => {
                if self.journal().sync().is_ok() {
                    self.durable = self.appended;
                }
            }
            Step::Checkpoint => self.checkpoint(),
            Step::PowerCut { operations } => self.journal().disk_mut().power_off_after(operations),
            Step::Kill => self.restart(&[], choose),
        }
        if self.journal().disk().is_off() {
            // A process may as well be killed in the middle of something, and the power go off later.
            let faults = if choose(3) == 0 { &[][..] } else { &CrashFault::ALL };
            self.restart(faults, choose);
        }
    }

    fn append(&mut self, filling_bytes: usize) {
        let version = self.appended + 1;
        if let Ok(id) = self.journal().append(&record(version, filling_bytes)) {
            assert_eq!(self.journal().position_of(id), Position(version));
            self.appended = version;
            apply(&mut self.state, version);
        }
    }

    fn checkpoint(&mut self) {
        match self.checkpoint {
            CheckpointStep::Idle => {
                if self.journal().begin_checkpoint().is_ok() {
                    self.durable = self.appended;
                    self.checkpoint_starts.push(self.appended + 1);
                    self.checkpoint = CheckpointStep::Chunk { next_key: 0 };
                }
            }
            CheckpointStep::Chunk { next_key } if next_key < scene::KEYS => {
                let chunk = chunk(&self.state, next_key..next_key + 2);
                if self.journal().checkpoint_chunk(&chunk).is_ok() {
                    self.checkpoint = CheckpointStep::Chunk { next_key: next_key + 2 };
                }
            }
            CheckpointStep::Chunk { .. } => {
                if self.journal().finish_checkpoint().is_ok() {
                    self.durable = self.appended;
                    self.checkpoint = CheckpointStep::Idle;
                }
            }
        }
    }

    /// Crashes, and opens again; now and then the power goes off during the recovery too.
    fn restart(&mut self, faults: &[CrashFault], choose: &mut dyn FnMut(u64) -> u64) {
        let mut disk = self.journal.take().expect("put back after every crash").into_disk();
        disk.crash(faults, choose);
        while !faults.is_empty() && choose(2) == 0 {
            disk.power_off_after(choose(8));
            if let Ok((mut journal, recovery)) = Journal::open(&mut disk, small_segments(), Incarnation(1)) {
                // It finished before the power went off, and has told its records to the world.
                self.appended = self.check(&recovery);
                self.durable = self.appended;
                for _ in 0..10 {
                    if journal.append(&record(self.appended + 1, 100)).is_ok() {
                        self.appended += 1;
                    }
                    drop(journal.flush());
                }
            }
            disk.crash(faults, choose);
        }
        let (journal, recovery) =
            Journal::open(disk, small_segments(), Incarnation(2)).expect("nothing durable is lost");
        self.appended = self.check(&recovery);
        self.durable = self.appended;
        self.state = state_after(self.appended);
        self.checkpoint = CheckpointStep::Idle;
        self.journal = Some(journal);
        self.restarts += 1;
    }

    /// Returns the last record that the recovery shows.
    fn check(&self, recovery: &iolite_engine::Recovery) -> u64 {
        assert_eq!(recovery.incarnation, Incarnation(1));
        let (state, last) = restore(recovery, None);
        let first = recovery.records.first().map(|found| found.position.0);
        if recovery.checkpoint_chunks.is_empty() {
            assert!(first.is_none_or(|first| first == 1), "without a checkpoint every record comes back");
        } else if let Some(first) = first {
            assert!(self.checkpoint_starts.contains(&first), "replay starts where a checkpoint began");
        }
        // Without records after it, a checkpoint shows what it holds: the highest version of any key.
        let last = last.unwrap_or_else(|| state.values().copied().max().unwrap_or(0));
        assert!(last >= self.durable, "record {} was durable, recovery ends at {last}", self.durable);
        assert!(last <= self.appended, "record {last} was never appended");
        assert_eq!(state, state_after(last), "the state is that of a prefix of the records");
        last
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn what_was_durable_comes_back_as_a_prefix_of_what_was_appended(
        steps in proptest::collection::vec(step(), 1..120),
        seed in any::<u64>(),
    ) {
        let mut choose = choices(seed);
        let mut world = World::new();
        for step in steps {
            world.run(step, &mut choose);
        }
        world.restart(&CrashFault::ALL, &mut choose);
    }
}

/// A fixed history with every kind of operation, again and again.
fn history() -> impl Iterator<Item = Step> {
    let big = Step::Append { filling_bytes: 900 };
    let small = Step::Append { filling_bytes: 9 };
    let round = [small, Step::Sync, big, small, Step::Checkpoint, big, Step::Checkpoint, small, Step::Sync];
    let end = [big, Step::Checkpoint, Step::Flush, Step::Checkpoint, small, Step::Checkpoint, Step::Checkpoint];
    round.into_iter().chain(end).cycle()
}

/// What the killed process created but did not sync by name is where the next process writes.
#[test]
fn a_process_killed_after_any_operation_and_a_later_power_cut_lose_nothing_durable() {
    for operations in 0..150 {
        let mut world = World::new();
        world.journal().disk_mut().power_off_after(operations);
        let mut steps = history();
        while world.restarts == 0 {
            world.run(steps.next().expect("the history never ends"), &mut |_| 0);
        }
        world.run(Step::Append { filling_bytes: 9 }, &mut |_| 0);
        world.run(Step::Sync, &mut |_| 0);
        world.restart(&[CrashFault::LostNameChange], &mut |below| below - 1);
    }
}

/// The power is cut after each number of operations of the disk in turn.
#[test]
fn a_power_cut_after_any_operation_loses_nothing_durable() {
    let mut fired: BTreeMap<CrashFault, u64> = BTreeMap::new();
    for operations in 0..150 {
        for seed in 0..6 {
            let mut choose = choices(operations * 100 + seed);
            let mut world = World::new();
            world.journal().disk_mut().power_off_after(operations);
            for step in history().take(48) {
                world.run(step, &mut choose);
            }
            world.restart(&CrashFault::ALL, &mut choose);
            world.restart(&CrashFault::ALL, &mut choose);
            for (fault, count) in world.journal().disk().faults_fired() {
                *fired.entry(*fault).or_default() += count;
            }
        }
    }
    for fault in CrashFault::ALL {
        assert!(fired.get(&fault).is_some_and(|count| *count >= 20), "{fault:?} hardly fired: {fired:?}");
    }
}

#[test]
fn a_power_cut_during_the_creation_of_a_store_leaves_a_new_store() {
    for operations in 0..6 {
        for seed in 0..40 {
            let mut disk = MemoryDisk::new();
            disk.power_off_after(operations);
            let opened = Journal::open(&mut disk, small_segments(), Incarnation(1)).is_ok();
            disk.crash(&CrashFault::ALL, &mut choices(seed));
            let (_, recovery) = Journal::open(&mut disk, small_segments(), Incarnation(2)).expect("nothing was lost");
            assert!(recovery.records.is_empty());
            assert!(!opened || recovery.incarnation == Incarnation(1), "an incarnation that was told stays");
        }
    }
}

#[test]
fn what_a_killed_process_left_unsynced_is_durable_once_recovery_has_shown_it() {
    let (mut journal, _) = scene::open(MemoryDisk::new());
    journal.append(&record(1, 10)).unwrap();
    journal.flush().unwrap();
    let mut disk = journal.into_disk();
    disk.crash(&[], &mut choices(1));
    let (journal, recovery) = scene::open(disk);
    assert_eq!(recovery.records.len(), 1);
    let mut disk = journal.into_disk();
    disk.crash(&[CrashFault::LostWrites, CrashFault::LostNameChange], &mut |_| 0);
    assert_eq!(scene::open(disk).1.records.len(), 1);
}

#[test]
fn what_class_memory_left_unsynced_is_durable_once_class_fsync_has_opened_it() {
    let memory = Options { durability: Durability::Memory, ..small_segments() };
    let (mut journal, _) = Journal::open(MemoryDisk::new(), memory, Incarnation(0xfeed)).unwrap();
    for version in 1..=30 {
        journal.append(&record(version, 300)).unwrap();
        journal.sync().unwrap();
    }
    let (journal, _) = scene::open(journal.into_disk());
    let mut disk = journal.into_disk();
    disk.crash(&[CrashFault::LostWrites], &mut |_| 0);
    assert_eq!(restore(&scene::open(disk).1, None).0, state_after(30));
}

#[test]
fn what_a_checkpoint_replaced_is_removed_at_the_next_opening_too() {
    let (mut journal, _) = scene::open(MemoryDisk::new());
    journal.append(&record(1, 0)).unwrap();
    journal.sync().unwrap();
    let before = journal.disk().files();
    journal.begin_checkpoint().unwrap();
    journal.finish_checkpoint().unwrap();
    let after = journal.disk().files();
    let never_finished = ("0000000000000009.checkpoint".to_owned(), b"IOLITEC\n".to_vec());
    let both = before.into_iter().chain(after.clone()).chain([never_finished]).collect();
    let (journal, _) = scene::open(MemoryDisk::with_files(both));
    assert_eq!(journal.disk().files(), after);
}

#[test]
fn a_finished_checkpoint_replaces_what_came_before() {
    let (mut journal, _) = scene::open(MemoryDisk::new());
    for version in 1..=20 {
        journal.append(&record(version, 400)).unwrap();
        journal.sync().unwrap();
    }
    let bytes = |journal: &Journal<MemoryDisk>| journal.disk().files().values().map(Vec::len).sum::<usize>() as u64;
    assert!(journal.disk().list().unwrap().len() > 3, "several segments");
    assert_eq!(journal.journal_bytes_since_checkpoint(), bytes(&journal));
    let id = journal.append(&record(21, 400)).unwrap();
    journal.begin_checkpoint().unwrap();
    assert_eq!(journal.durable(), id, "a checkpoint starts behind durable records");
    assert!(journal.checkpoint_is_running());
    journal.checkpoint_chunk(b"state").unwrap();
    journal.append(&record(22, 0)).unwrap();
    journal.finish_checkpoint().unwrap();
    assert!(journal.journal_bytes_since_checkpoint() < 200);
    assert_eq!(journal.disk().list().unwrap().len(), 2, "one segment, one checkpoint");
    let (journal, recovery) = scene::open(journal.into_disk());
    assert_eq!(recovery.checkpoint_chunks, [b"state".to_vec()]);
    assert_eq!(recovery.records.iter().map(|found| found.position).collect::<Vec<_>>(), [Position(22)]);
    assert!(journal.journal_bytes_since_checkpoint() < 200);
}

#[test]
fn opening_again_and_again_does_not_grow_the_files() {
    let (mut journal, _) = scene::open(MemoryDisk::new());
    journal.append(&record(1, 10)).unwrap();
    journal.sync().unwrap();
    let before = journal.disk().files();
    let (journal, _) = scene::open(journal.into_disk());
    let (journal, _) = scene::open(journal.into_disk());
    assert_eq!(journal.disk().files(), before);
}
