//! The saver, in the order of the lock: clear the mark, barrier, look for writers, copy, publish.

use iolite_memory::word::Word;

use super::machine::{Broken, Lock, WRITES, World};

/// How far the saver is, and how many saves are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Saver {
    Idle(u8),
    /// The mark is cleared; barrier and slots come next.
    Cleared(Word, u8),
    /// No writer was seen; the copy comes next.
    Alone(Word, u8),
    /// The copy is made; the word comes next.
    Copied(Word, u8, u8),
}

impl Lock {
    pub fn saver(&self, world: &mut World) -> bool {
        world.saver = match world.saver {
            Saver::Idle(0) => return false,
            Saver::Idle(left) => {
                let word = world.word;
                let Some(saving) = word.saving() else { return false };
                if self.broken == Some(Broken::ClearDirtyAfterCopy) {
                    Saver::Copied(word, world.places[usize::from(world.offset)], left - 1)
                } else {
                    world.word = saving;
                    Saver::Cleared(saving, left - 1)
                }
            }
            Saver::Cleared(word, left) => {
                world.barrier(self);
                if world.slots.contains(&WRITES) {
                    let dirty = word.dirtied().expect("the saver's word is usable");
                    world.change(word, dirty);
                    Saver::Idle(left)
                } else {
                    Saver::Alone(word, left)
                }
            }
            Saver::Alone(word, left) => Saver::Copied(word, world.places[usize::from(world.offset)], left),
            Saver::Copied(word, copy, left) => {
                if world.stripe.is_some() {
                    return false;
                }
                let clean = word.saving().unwrap_or(word);
                let saved = clean.saved().expect("the saver's word is clean");
                if world.change(word, saved) {
                    world.saved = copy;
                }
                Saver::Idle(left)
            }
        };
        true
    }
}
