//! The world of one object: memory, store buffers, and how far everybody is.

use iolite_memory::word::Word;

use super::app::{App, Op};
use super::daemon::Daemon;
use super::saver::Saver;

/// How many places the region has.
pub const PLACES: usize = 3;
/// The bytes of a punched page.
pub const HOLE: u8 = 0;
/// The bytes of the other object, which is put into an old place.
pub const OTHER: u8 = 99;

/// A rule that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The daemon and the saver look at the hazard slots without a barrier.
    NoBarrier,
    /// The daemon claims what is dirty.
    ClaimDirty,
    /// A place that was left under a claim is used again at once.
    ReuseBeforeAck,
    /// The saver copies first, and then clears the mark.
    ClearDirtyAfterCopy,
    /// A reader looks up the place once, and does not look at the word again.
    PlaceOnce,
    /// A program takes what a dead daemon claimed without looking at the hazard slots.
    SettleBlindly,
}

/// The bounds of a world.
#[derive(Clone, Debug)]
pub struct Lock {
    pub broken: Option<Broken>,
    /// How often each thread of the program uses the object.
    pub uses: [u8; 2],
    /// Whether the first thread may write.
    pub writes: bool,
    pub saves: u8,
    pub batches: u8,
    /// How many daemons may die.
    pub deaths: u8,
}

/// A thread of the program.
pub type Thread = usize;

/// A store that other processors do not see yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Store {
    Slot(u8),
    Bytes(u8, u8),
    Offset(u8),
}

/// The values of a hazard slot.
pub const NOBODY: u8 = 0;
pub const READS: u8 = 1;
pub const WRITES: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    Free,
    /// The object is there, or is being brought there.
    Object,
    /// Left under the claim of a batch, with its number.
    Rests(u8),
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sights {
    pub given_back: bool,
    pub taken: bool,
    pub taken_over: bool,
    pub restored: bool,
    pub used_again: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub word: Word,
    pub offset: u8,
    pub places: [u8; PLACES],
    pub uses: [Use; PLACES],
    /// The bytes in the swap file.
    pub saved: u8,
    /// The bytes that the program wrote last.
    pub latest: u8,
    pub slots: [u8; 2],
    pub buffers: [Vec<Store>; 2],
    pub apps: [App; 2],
    pub saver: Saver,
    pub daemon: Daemon,
    /// As in the table's header: odd while a batch lasts.
    pub batch: u8,
    pub connected: bool,
    pub deaths: u8,
    /// The stripe's lock.
    pub stripe: Option<Holder>,
    pub lent_wrong: bool,
    pub sights: Sights,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    App(Thread),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Begin(Thread, Op),
    App(Thread),
    /// The oldest store of a thread reaches memory.
    Drain(Thread),
    Saver,
    Daemon,
    DaemonDies,
    /// The program hears that the daemon is gone, and another one comes.
    Reconnect,
    /// The program ends the claim of a dead daemon.
    Settle,
    EndRest(u8),
    PutOther(u8),
}

impl World {
    pub fn other_is_hit(&self) -> bool {
        (0..PLACES).any(|place| self.uses[place] == Use::Other && self.places[place] != OTHER)
    }

    pub fn drain(&mut self, thread: Thread) -> bool {
        if self.buffers[thread].is_empty() {
            return false;
        }
        let store = self.buffers[thread].remove(0);
        match store {
            Store::Slot(value) => self.slots[thread] = value,
            Store::Bytes(place, bytes) => self.places[usize::from(place)] = bytes,
            Store::Offset(place) => self.offset = place,
        }
        true
    }

    pub fn drain_all(&mut self, thread: Thread) {
        while self.drain(thread) {}
    }

    /// The effect of membarrier.
    pub fn barrier(&mut self, lock: &Lock) {
        if lock.broken != Some(Broken::NoBarrier) {
            self.drain_all(0);
            self.drain_all(1);
        }
    }

    /// An exchange by a thread of the program, which empties its buffer.
    pub fn exchange(&mut self, thread: Thread, from: Word, to: Word) -> bool {
        self.drain_all(thread);
        self.change(from, to)
    }

    pub fn change(&mut self, from: Word, to: Word) -> bool {
        let is_same = self.word == from;
        if is_same {
            self.word = to;
        }
        is_same
    }

    /// The bytes that a thread sees in a place: its own stores first.
    pub fn sees(&self, thread: Thread, place: u8) -> u8 {
        let own = self.buffers[thread].iter().rev().find_map(|store| match store {
            Store::Bytes(at, bytes) if *at == place => Some(*bytes),
            Store::Bytes(..) | Store::Slot(_) | Store::Offset(_) => None,
        });
        own.unwrap_or(self.places[usize::from(place)])
    }

    pub fn sees_offset(&self, thread: Thread) -> u8 {
        let own = self.buffers[thread].iter().rev().find_map(|store| match store {
            Store::Offset(place) => Some(*place),
            Store::Bytes(..) | Store::Slot(_) => None,
        });
        own.unwrap_or(self.offset)
    }

    pub fn is_named(&self) -> bool {
        self.slots.iter().any(|slot| *slot != NOBODY)
    }
}

impl Lock {
    /// The object is in memory and saved, and nobody does anything.
    pub fn start(&self) -> World {
        let put = Word::FREE.put().and_then(Word::saving).and_then(Word::saved);
        let word = put.expect("an object that is put is saved");
        World {
            word,
            offset: 0,
            places: [1, HOLE, HOLE],
            uses: [Use::Object, Use::Free, Use::Free],
            saved: 1,
            latest: 1,
            slots: [NOBODY; 2],
            buffers: [Vec::new(), Vec::new()],
            apps: self.uses.map(App::new),
            saver: Saver::Idle(self.saves),
            daemon: Daemon::idle(self.batches),
            batch: 0,
            connected: true,
            deaths: self.deaths,
            stripe: None,
            lent_wrong: false,
            sights: Sights::default(),
        }
    }

    pub fn steps(&self, world: &World, steps: &mut Vec<Step>) {
        for thread in [0, 1] {
            self.app_steps(world, thread, steps);
            if !world.buffers[thread].is_empty() {
                steps.push(Step::Drain(thread));
            }
        }
        steps.push(Step::Saver);
        if world.daemon.is_alive() {
            steps.push(Step::Daemon);
            if world.deaths > 0 {
                steps.push(Step::DaemonDies);
            }
        } else {
            steps.extend([Step::Reconnect, Step::Settle]);
        }
        for (place, its) in (0..).zip(&world.uses) {
            match its {
                Use::Rests(_) => steps.push(Step::EndRest(place)),
                Use::Free if place == 0 => steps.push(Step::PutOther(place)),
                Use::Free | Use::Object | Use::Other => {}
            }
        }
    }

    /// Takes a step; whether there was one.
    pub fn take(&self, world: &mut World, step: Step) -> bool {
        match step {
            Step::Begin(thread, op) => self.begin(world, thread, op),
            Step::App(thread) => self.app(world, thread),
            Step::Drain(thread) => world.drain(thread),
            Step::Saver => self.saver(world),
            Step::Daemon => self.daemon(world),
            Step::DaemonDies => {
                world.daemon.die();
                world.deaths -= 1;
                true
            }
            Step::Reconnect => self.reconnect(world),
            Step::Settle => self.settle(world),
            Step::EndRest(place) => self.end_rest(world, place),
            Step::PutOther(place) => put_other(world, place),
        }
    }

    /// As `Shared::end_rests`.
    fn end_rest(&self, world: &mut World, place: u8) -> bool {
        let Use::Rests(tag) = world.uses[usize::from(place)] else { return false };
        let is_done = !world.connected || tag.is_multiple_of(2) || tag != world.batch;
        if !is_done {
            return false;
        }
        world.barrier(self);
        if world.is_named() {
            return false;
        }
        world.uses[usize::from(place)] = Use::Free;
        true
    }
}

/// The first place is where the object was at the start: only there may anybody still believe it to be.
fn put_other(world: &mut World, place: u8) -> bool {
    world.uses[usize::from(place)] = Use::Other;
    world.places[usize::from(place)] = OTHER;
    world.sights.used_again = true;
    true
}
