//! Sets of names: each call of a run has a number, its name, which it puts into the rows that it writes.
//!
//! Invariant: two sets are equal if they have the same names, however many words they take.

use std::fmt;

/// The number of a call. No two calls of a run have the same.
pub type Name = i64;

const BITS: usize = u64::BITS as usize;

#[derive(Clone, Default)]
pub struct Names {
    words: Vec<u64>,
}

impl Names {
    pub fn insert(&mut self, name: Name) {
        let place = usize::try_from(name).expect("names are numbers from zero on");
        if self.words.len() <= place / BITS {
            self.words.resize(place / BITS + 1, 0);
        }
        self.words[place / BITS] |= 1 << (place % BITS);
    }

    pub fn remove(&mut self, name: Name) {
        let Ok(place) = usize::try_from(name) else { return };
        if let Some(word) = self.words.get_mut(place / BITS) {
            *word &= !(1 << (place % BITS));
        }
    }

    pub fn has(&self, name: Name) -> bool {
        let Ok(place) = usize::try_from(name) else { return false };
        self.words.get(place / BITS).is_some_and(|word| word & (1 << (place % BITS)) != 0)
    }

    pub fn add(&mut self, others: &Names) {
        if self.words.len() < others.words.len() {
            self.words.resize(others.words.len(), 0);
        }
        self.words.iter_mut().zip(&others.words).for_each(|(own, other)| *own |= other);
    }

    /// Adds those of others that are none of `without`.
    pub fn add_without(&mut self, others: &Names, without: &Names) {
        let mut added = others.clone();
        added.words.iter_mut().zip(&without.words).for_each(|(own, without)| *own &= !without);
        self.add(&added);
    }

    /// The first of these names that is one of `wanted`, and none of `present`.
    pub fn first_lacking(&self, wanted: &Names, present: &Names) -> Option<Name> {
        let words = self.words.iter().zip(&wanted.words).enumerate();
        words.into_iter().find_map(|(index, (own, wanted))| {
            let lacking = own & wanted & !present.words.get(index).copied().unwrap_or(0);
            (lacking != 0).then(|| (index * BITS) as Name + Name::from(lacking.trailing_zeros()))
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = Name> + '_ {
        (0..(self.words.len() * BITS) as Name).filter(|name| self.has(*name))
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Names) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Names {}

impl FromIterator<Name> for Names {
    fn from_iter<T: IntoIterator<Item = Name>>(names: T) -> Names {
        let mut own = Names::default();
        names.into_iter().for_each(|name| own.insert(name));
        own
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_that_is_wanted_and_not_there_is_found() {
        let names = |all: &[Name]| all.iter().copied().collect::<Names>();
        let required = names(&[1, 70, 200]);
        assert_eq!(required.first_lacking(&names(&[70, 200]), &names(&[1])), Some(70));
        assert_eq!(required.first_lacking(&names(&[70, 200]), &names(&[70, 200])), None);
        assert_eq!(required.first_lacking(&names(&[2]), &names(&[])), None, "nothing of it is wanted");
        let mut all = names(&[3]);
        all.add(&required);
        assert_eq!(all.iter().collect::<Vec<_>>(), [1, 3, 70, 200]);
        let mut some = names(&[5]);
        some.add_without(&all, &names(&[3, 200, 300]));
        assert_eq!(some, names(&[1, 5, 70]));
    }
}
