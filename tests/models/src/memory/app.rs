//! A thread of the program: guards, and what they do when the word is not usable.

use iolite_memory::word::Word;

use super::machine::{Broken, HOLE, Holder, Lock, NOBODY, PLACES, READS, Step, Store, Thread, Use, WRITES, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct App {
    at: At,
    op: Op,
    left: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Idle,
    /// The hazard slot is stored; the word comes next.
    Published,
    /// The word was usable; the place comes next.
    Looked(Word),
    /// The place is known; the word is read again.
    Placed(Word, u8),
    /// A writer's exchange comes next.
    Marking(Word),
    /// A writer's object is dirty; the place comes next.
    Marked,
    /// The bytes are lent.
    Lent(u8),
    /// A writer has written.
    Wrote(u8),
    /// The word was not usable; the stripe comes next.
    Slow,
    /// With the stripe: the exchange comes next, for a claim with a place to move to.
    Restoring(Word, Option<u8>),
    /// The bytes come next, then the word.
    Moving(Word, u8),
    Filled(Word),
}

impl App {
    pub fn new(uses: u8) -> App {
        App { at: At::Idle, op: Op::Read, left: uses }
    }
}

impl World {
    fn is_at_rest(&self, thread: Thread) -> bool {
        self.apps[thread].at == At::Idle && self.buffers[thread].is_empty()
    }

    /// Whether a write guard of the thread has ended, and its bytes are in the thread's store buffer. Bytes that the thread restores
    /// have no slot's store behind them.
    fn has_unseen_write(&self, thread: Thread) -> bool {
        let buffer = &self.buffers[thread];
        let bytes = buffer.iter().position(|store| matches!(store, Store::Bytes(..)));
        bytes.is_some_and(|at| buffer[at..].iter().any(|store| matches!(store, Store::Slot(_))))
    }

    fn go(&mut self, thread: Thread, at: At) -> bool {
        self.apps[thread].at = at;
        true
    }

    /// The guard's user looks at the bytes.
    fn look(&mut self, thread: Thread, place: u8) {
        self.lent_wrong |= self.sees(thread, place) != self.latest;
    }
}

impl Lock {
    pub fn app_steps(&self, world: &World, thread: Thread, steps: &mut Vec<Step>) {
        if world.apps[thread].at != At::Idle {
            steps.push(Step::App(thread));
            return;
        }
        if world.apps[thread].left == 0 {
            return;
        }
        let other = 1 - thread;
        // The borrow checker: a writer is alone, and whoever comes after it has its stores.
        let may_share = world.apps[other].op == Op::Read && !world.has_unseen_write(other);
        if world.is_at_rest(other) || may_share {
            steps.push(Step::Begin(thread, Op::Read));
        }
        if thread == 0 && self.writes && world.is_at_rest(other) {
            steps.push(Step::Begin(thread, Op::Write));
        }
    }

    pub fn begin(&self, world: &mut World, thread: Thread, op: Op) -> bool {
        let app = &mut world.apps[thread];
        (app.op, app.left) = (op, app.left - 1);
        let value = if op == Op::Read { READS } else { WRITES };
        world.buffers[thread].push(Store::Slot(value));
        world.go(thread, At::Published)
    }

    pub fn app(&self, world: &mut World, thread: Thread) -> bool {
        let is_writer = world.apps[thread].op == Op::Write;
        match world.apps[thread].at {
            At::Idle => false,
            At::Published => {
                let word = world.word;
                let next = if !word.is_usable() {
                    At::Slow
                } else if is_writer {
                    At::Marking(word)
                } else {
                    At::Looked(word)
                };
                world.go(thread, next)
            }
            At::Looked(word) => {
                let place = world.sees_offset(thread);
                let once = self.broken == Some(Broken::PlaceOnce);
                world.go(thread, if once { At::Lent(place) } else { At::Placed(word, place) })
            }
            At::Placed(word, place) => {
                let is_same = world.word == word;
                world.go(thread, if is_same { At::Lent(place) } else { At::Published })
            }
            At::Marking(word) => {
                let dirty = word.dirtied().expect("the word was usable");
                let is_marked = dirty == word || world.exchange(thread, word, dirty);
                world.go(thread, if is_marked { At::Marked } else { At::Published })
            }
            At::Marked => {
                let place = world.sees_offset(thread);
                world.go(thread, At::Lent(place))
            }
            At::Lent(place) => self.lent(world, thread, place),
            At::Wrote(place) => {
                world.look(thread, place);
                unlock(world, thread)
            }
            At::Slow => self.slow(world, thread),
            At::Restoring(word, place) => restoring(self, world, thread, word, place),
            At::Moving(word, place) => {
                world.buffers[thread].push(Store::Bytes(place, world.saved));
                world.go(thread, At::Filled(word))
            }
            At::Filled(word) => {
                let restored = word.restored().expect("it is being restored");
                let is_same = world.exchange(thread, word, restored);
                assert!(is_same, "nobody else changes an entry that is being restored");
                world.sights.restored = true;
                world.stripe = None;
                world.go(thread, At::Published)
            }
        }
    }

    fn lent(&self, world: &mut World, thread: Thread, place: u8) -> bool {
        world.look(thread, place);
        if world.apps[thread].op == Op::Read {
            return unlock(world, thread);
        }
        world.latest += 1;
        world.buffers[thread].push(Store::Bytes(place, world.latest));
        world.go(thread, At::Wrote(place))
    }

    /// As `restoring::make_usable`, from the stripe on.
    fn slow(&self, world: &mut World, thread: Thread) -> bool {
        if world.stripe.is_some() {
            return false;
        }
        let word = world.word;
        if word.restoring().is_none() {
            return world.go(thread, At::Published);
        }
        let to = (0..PLACES).rev().find(|place| world.uses[*place] == Use::Free);
        if word.is_claimed() && to.is_none() {
            return false;
        }
        world.drain_all(thread);
        world.stripe = Some(Holder::App(thread));
        let to = to.filter(|_| word.is_claimed()).and_then(|place| u8::try_from(place).ok());
        world.go(thread, At::Restoring(word, to))
    }
}

fn restoring(lock: &Lock, world: &mut World, thread: Thread, word: Word, to: Option<u8>) -> bool {
    let restoring = word.restoring().expect("it was asked");
    if !world.exchange(thread, word, restoring) {
        world.stripe = None;
        return world.go(thread, At::Published);
    }
    let Some(to) = to else {
        let place = world.sees_offset(thread);
        return world.go(thread, At::Moving(restoring, place));
    };
    let old = usize::from(world.sees_offset(thread));
    world.buffers[thread].push(Store::Offset(to));
    world.uses[usize::from(to)] = Use::Object;
    // As `Shared::rest`; its lock empties the buffer only after the offset is stored, which the processor may do sooner.
    let until = if world.connected { Use::Rests(world.batch) } else { Use::Rests(0) };
    world.uses[old] = if lock.broken == Some(Broken::ReuseBeforeAck) { Use::Free } else { until };
    world.sights.taken_over = true;
    // A place that is used anew may hold anything but the object.
    world.places[usize::from(to)] = HOLE;
    world.go(thread, At::Moving(restoring, to))
}

fn unlock(world: &mut World, thread: Thread) -> bool {
    world.buffers[thread].push(Store::Slot(NOBODY));
    world.go(thread, At::Idle)
}
