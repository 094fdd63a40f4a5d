//! The state word of an entry, and every change that may be made to it.
//!
//! Invariants: what is dirty is not claimed; a generation is used for one place of one object only.
//! Source: Marvin (Lebeck 2020) 4.5.2, the flags and lock bits of a reclamation table entry. Deviation: one word, changed by compare-and-swap.
//! The page is docs/protocols/memory.md; the model in tests/models explores these very functions.

/// The state word of an entry in the reclamation table.
///
/// Each method gives the word after a change, or `None` if the change is not allowed from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(u64);

/// The entry holds an object.
const VALID: u64 = 1;
/// The object's bytes are in memory.
const RESIDENT: u64 = 1 << 1;
/// The bytes in memory are newer than those that were saved.
const DIRTY: u64 = 1 << 2;
/// The swap file holds the object's bytes.
const SAVED: u64 = 1 << 3;
/// The daemon may take the pages at any moment.
const CLAIMED: u64 = 1 << 4;
/// A thread of the program brings the bytes back.
const RESTORING: u64 = 1 << 5;
const FLAGS: u64 = 0xff;

const EPOCH_SHIFT: u32 = 8;
const EPOCH: u64 = 0xff << EPOCH_SHIFT;
const GENERATION_SHIFT: u32 = 16;
const GENERATION_BITS: u32 = 24;
const GENERATION: u64 = ((1 << GENERATION_BITS) - 1) << GENERATION_SHIFT;

impl Word {
    /// An entry that holds no object and never did.
    pub const FREE: Word = Word(0);

    #[must_use]
    pub fn from_bits(bits: u64) -> Word {
        Word(bits)
    }

    #[must_use]
    pub fn bits(self) -> u64 {
        self.0
    }

    #[must_use]
    pub fn is_valid(self) -> bool {
        self.has(VALID)
    }

    #[must_use]
    pub fn is_resident(self) -> bool {
        self.has(RESIDENT)
    }

    #[must_use]
    pub fn is_dirty(self) -> bool {
        self.has(DIRTY)
    }

    #[must_use]
    pub fn is_saved(self) -> bool {
        self.has(SAVED)
    }

    #[must_use]
    pub fn is_claimed(self) -> bool {
        self.has(CLAIMED)
    }

    #[must_use]
    pub fn is_restoring(self) -> bool {
        self.has(RESTORING)
    }

    /// Whether a thread with a hazard slot may use the bytes.
    #[must_use]
    pub fn is_usable(self) -> bool {
        self.0 & (VALID | RESIDENT | CLAIMED | RESTORING) == VALID | RESIDENT
    }

    #[must_use]
    pub fn generation(self) -> u32 {
        u32::try_from((self.0 & GENERATION) >> GENERATION_SHIFT).expect("24 bits fit into 32")
    }

    /// An object is put into a free entry.
    #[must_use]
    pub fn put(self) -> Option<Word> {
        (!self.is_valid()).then(|| self.next(VALID | RESIDENT | DIRTY))
    }

    /// The object is dropped.
    #[must_use]
    pub fn freed(self) -> Option<Word> {
        self.is_valid().then(|| self.next(0))
    }

    /// A writer announces a write, before the first byte.
    #[must_use]
    pub fn dirtied(self) -> Option<Word> {
        self.is_usable().then(|| self.with(VALID | RESIDENT | DIRTY))
    }

    /// The saver begins: what is written from now on makes the object dirty again.
    #[must_use]
    pub fn saving(self) -> Option<Word> {
        (self.is_usable() && self.is_dirty()).then(|| self.with(VALID | RESIDENT))
    }

    /// The saver has written what it copied, and no write came meanwhile.
    #[must_use]
    pub fn saved(self) -> Option<Word> {
        (self.is_usable() && !self.is_dirty()).then(|| self.with(VALID | RESIDENT | SAVED))
    }

    /// The daemon announces that it wants the pages.
    #[must_use]
    pub fn claimed(self, epoch: u8) -> Option<Word> {
        let may = self.is_usable() && self.is_saved() && !self.is_dirty();
        may.then(|| {
            let word = self.with(VALID | RESIDENT | SAVED | CLAIMED);
            Word((word.0 & !EPOCH) | (u64::from(epoch) << EPOCH_SHIFT))
        })
    }

    /// The daemon found a hazard slot that names the entry.
    #[must_use]
    pub fn given_back(self) -> Option<Word> {
        self.is_claimed().then(|| self.with(VALID | RESIDENT | SAVED))
    }

    /// The daemon has taken the pages.
    #[must_use]
    pub fn reclaimed(self) -> Option<Word> {
        self.is_claimed().then(|| self.with(VALID | SAVED))
    }

    /// A thread of the program begins to bring the bytes back, or takes a claim over.
    #[must_use]
    pub fn restoring(self) -> Option<Word> {
        let may = self.is_valid() && self.is_saved() && !self.is_restoring() && !self.is_usable();
        may.then(|| self.with(VALID | SAVED | RESTORING))
    }

    /// The bytes are back and checked.
    #[must_use]
    pub fn restored(self) -> Option<Word> {
        self.is_restoring().then(|| self.next(VALID | RESIDENT | SAVED))
    }

    /// The bytes could not be brought back: the next reader tries again.
    #[must_use]
    pub fn restore_failed(self) -> Option<Word> {
        self.is_restoring().then(|| self.next(VALID | SAVED))
    }

    fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    fn with(self, flags: u64) -> Word {
        Word((self.0 & !FLAGS) | flags)
    }

    /// The same entry in its next generation.
    fn next(self, flags: u64) -> Word {
        let generation = ((u64::from(self.generation()) + 1) << GENERATION_SHIFT) & GENERATION;
        Word((self.0 & EPOCH) | generation | flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved() -> Word {
        let put = Word::FREE.put().expect("the entry is free");
        put.saving().and_then(Word::saved).expect("nothing was written meanwhile")
    }

    #[test]
    fn only_what_is_saved_and_clean_is_claimed() {
        let put = Word::FREE.put().expect("the entry is free");
        assert_eq!(put.claimed(1), None);
        assert_eq!(put.saving().and_then(|word| word.claimed(1)), None);
        assert_eq!(saved().dirtied().and_then(|word| word.claimed(1)), None);
        let claimed = saved().claimed(1).expect("it is saved");
        assert_eq!(claimed.claimed(2), None);
        assert!(!claimed.is_usable() && claimed.is_resident());
    }

    #[test]
    fn a_claim_ends_as_it_was_or_without_memory() {
        let claimed = saved().claimed(7).expect("it is saved");
        assert!(claimed.given_back().is_some_and(|word| word.is_usable() && word.is_saved()));
        assert!(claimed.reclaimed().is_some_and(|word| !word.is_resident() && word.is_saved()));
        assert_eq!(saved().reclaimed(), None);
        assert_eq!(saved().given_back(), None);
    }

    #[test]
    fn what_is_restored_has_a_new_generation() {
        let claimed = saved().claimed(7).expect("it is saved");
        for start in [claimed, claimed.reclaimed().expect("it is claimed")] {
            let restoring = start.restoring().expect("nobody restores it");
            assert_eq!(restoring.restoring(), None);
            assert_eq!(restoring.reclaimed(), None);
            let restored = restoring.restored().expect("it is being restored");
            assert!(restored.is_usable() && restored.is_saved() && !restored.is_dirty());
            assert_eq!(restored.generation(), claimed.generation() + 1);
        }
        assert_eq!(saved().restoring(), None);
    }

    #[test]
    fn a_write_makes_what_was_saved_worthless() {
        let dirty = saved().dirtied().expect("it is in memory");
        assert!(dirty.is_dirty() && !dirty.is_saved());
        assert_eq!(dirty.saved(), None);
        assert_eq!(saved().claimed(1).and_then(Word::dirtied), None);
    }

    #[test]
    fn generations_begin_again_after_the_last_one() {
        let last = Word(GENERATION | VALID | RESIDENT);
        assert_eq!(last.freed().map(Word::generation), Some(0));
        assert_eq!(last.freed().map(Word::bits), Some(0));
    }
}
