//! memoryd: claims, barrier, slots, hole, word; it may stop or die between any two of these.

use iolite_memory::word::Word;

use super::machine::{Broken, HOLE, Lock, Use, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Daemon {
    at: At,
    batches: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Dead,
    Idle,
    /// The entry was read: word and place. The mark comes next.
    Chose(Word, u8),
    /// The entry is marked; barrier and slots come next.
    Claimed(Word, u8),
    /// A slot names the entry.
    GivesBack(Word),
    /// No slot does: the hole comes next.
    Alone(Word, u8),
    Punched(Word),
    Ends,
}

impl Daemon {
    pub fn idle(batches: u8) -> Daemon {
        Daemon { at: At::Idle, batches }
    }

    pub fn is_alive(self) -> bool {
        self.at != At::Dead
    }

    pub fn die(&mut self) {
        self.at = At::Dead;
    }
}

impl Lock {
    /// The word that a claim would make. Broken: as if what is dirty were saved.
    fn claim(&self, word: Word) -> Option<Word> {
        if self.broken == Some(Broken::ClaimDirty) && word.is_dirty() {
            return word.saving().and_then(Word::saved).and_then(|word| word.claimed(1));
        }
        word.claimed(1)
    }

    pub fn daemon(&self, world: &mut World) -> bool {
        world.daemon.at = match world.daemon.at {
            At::Dead => return false,
            At::Idle if world.daemon.batches == 0 => return false,
            At::Idle => {
                if self.claim(world.word).is_none() {
                    return false;
                }
                world.daemon.batches -= 1;
                world.batch = (world.batch + 1) | 1;
                At::Chose(world.word, world.offset)
            }
            At::Chose(word, place) => {
                let claimed = self.claim(word).expect("it was asked");
                if world.change(word, claimed) { At::Claimed(claimed, place) } else { At::Ends }
            }
            At::Claimed(claimed, place) => {
                world.barrier(self);
                if world.is_named() { At::GivesBack(claimed) } else { At::Alone(claimed, place) }
            }
            At::GivesBack(claimed) => {
                let back = claimed.given_back().expect("it is claimed");
                world.sights.given_back |= world.change(claimed, back);
                At::Ends
            }
            At::Alone(claimed, place) => {
                world.places[usize::from(place)] = HOLE;
                At::Punched(claimed)
            }
            At::Punched(claimed) => {
                let gone = claimed.reclaimed().expect("it is claimed");
                world.sights.taken |= world.change(claimed, gone);
                At::Ends
            }
            At::Ends => {
                world.batch += 1;
                At::Idle
            }
        };
        true
    }

    /// The first half is the program's: it hears of the end. The second is another daemon, which comes when the claims are settled.
    pub fn reconnect(&self, world: &mut World) -> bool {
        if world.connected {
            world.connected = false;
            // Every connection up to this one has ended: what rests, rests for nobody.
            for its in &mut world.uses {
                if matches!(its, Use::Rests(_)) {
                    *its = Use::Rests(0);
                }
            }
            return true;
        }
        world.connected = true;
        world.daemon.at = At::Idle;
        true
    }

    /// As `restoring::settle_claims`.
    pub fn settle(&self, world: &mut World) -> bool {
        if world.connected || world.stripe.is_some() {
            return false;
        }
        let word = world.word;
        let Some(reclaimed) = word.reclaimed() else { return false };
        world.barrier(self);
        if world.is_named() && self.broken != Some(Broken::SettleBlindly) {
            return false;
        }
        world.places[usize::from(world.offset)] = HOLE;
        world.word = reclaimed;
        true
    }
}
