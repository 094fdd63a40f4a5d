//! Checkpoints: the state of a log in front of a block of pages, for members that come later than the pages that led to it.
//!
//! Members that have replayed as far hash their states, and a gateway compares the hashes. Of a state that all have alike it stores one copy, part by part.
//!
//! Invariant: a state is agreed on only if every member has said so of its own; who has said too much is forgotten first.
//! Source: Hercules (Lebeck 2020, section 3.4.6), where one member sends its state and nobody compares it.

use iolite_values::map_of;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_values::ClientId;
use iolite_wire::limits;
use sha2::{Digest, Sha256};

/// Bytes of a part of a state.
pub const PART_BYTES: usize = limits::LOG_PART.most;
/// Parts of a state.
pub const PARTS_MAX: u64 = (limits::LOG_STATE.bytes.most / PART_BYTES) as u64;
/// Blocks of which a member's hash waits for those of others, the last ones.
pub const HASHES_OPEN_MAX: usize = 8;

/// The bytes of a state, cut into parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    bytes: Arc<[u8]>,
    hash: [u8; 32],
}

/// A state as its member describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// Entries that are in it.
    pub index: u64,
    pub hash: [u8; 32],
    pub parts: u64,
}

/// The hashes of a log that members have said, by the block in front of which they have that state.
#[derive(Clone, Debug, Default)]
pub struct Hashes(BTreeMap<u64, BTreeMap<ClientId, Said>>);

/// The result, once all members have said their hashes of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    Alike(Said),
    /// Each with what somebody else has said.
    Different(Vec<(ClientId, Said)>),
}

impl State {
    pub fn new(bytes: Vec<u8>) -> State {
        let hash = Sha256::digest(&bytes).into();
        State { bytes: bytes.into(), hash }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// How many parts it has: one at least.
    pub fn parts(&self) -> u64 {
        self.bytes.len().div_ceil(PART_BYTES).max(1) as u64
    }

    /// The bytes of a part, from 0 on; none behind the last.
    pub fn part(&self, part: u64) -> Option<&[u8]> {
        let from = usize::try_from(part).ok()?.checked_mul(PART_BYTES)?;
        let to = self.bytes.len().min(from.checked_add(PART_BYTES)?);
        (part < self.parts()).then(|| self.bytes.get(from..to)).flatten()
    }
}

/// Hashes a state whose parts come one by one.
#[derive(Clone, Debug, Default)]
pub struct StateHasher(Sha256);

impl StateHasher {
    pub fn add(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    /// The hash of what was added.
    pub fn hash(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

impl Hashes {
    /// A member says what it has in front of a block.
    pub fn say(&mut self, member: ClientId, block: u64, said: Said) {
        self.0.entry(block).or_default().insert(member, said);
        let of_member = self.0.iter().filter(|(_, own)| own.contains_key(&member)).map(|(block, _)| *block);
        let of_member: Vec<u64> = of_member.collect();
        if of_member.len() > HASHES_OPEN_MAX {
            self.take_back(member, of_member[0]);
        }
    }

    fn take_back(&mut self, member: ClientId, block: u64) {
        let Some(own) = self.0.get_mut(&block) else { return };
        own.remove(&member);
        if own.is_empty() {
            self.0.remove(&block);
        }
    }

    /// The last block of which all these members have said what they have, and what came of it.
    pub fn compare(&self, members: &BTreeSet<ClientId>) -> Option<(u64, Compared)> {
        let whole = |own: &BTreeMap<ClientId, Said>| members.iter().all(|member| own.contains_key(member));
        let (block, all) = self.0.iter().rev().find(|(_, own)| whole(own))?;
        let said: BTreeMap<ClientId, Said> = map_of(members.iter().filter_map(|own| Some((*own, *all.get(own)?))));
        let first = *said.values().next()?;
        let Some(other) = said.values().copied().find(|other| *other != first) else {
            return Some((*block, Compared::Alike(first)));
        };
        let each = said.iter().map(|(member, own)| (*member, if *own == first { other } else { first }));
        Some((*block, Compared::Different(each.collect())))
    }

    /// A member that has said this of a block.
    pub fn first_with(&self, block: u64, said: Said) -> Option<ClientId> {
        let own = self.0.get(&block)?;
        own.iter().find(|(_, other)| **other == said).map(|(member, _)| *member)
    }

    /// Takes back all that a client has said.
    pub fn forget(&mut self, member: ClientId) {
        for block in self.0.keys().copied().collect::<Vec<_>>() {
            self.take_back(member, block);
        }
    }

    /// Ends the comparison of all blocks up to here.
    pub fn forget_to(&mut self, block: u64) {
        self.0 = self.0.split_off(&block.saturating_add(1));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::Id;

    use super::*;

    fn client(number: u128) -> ClientId {
        ClientId(Id::from_u128(number))
    }

    fn said(number: u8) -> Said {
        Said { index: 7, hash: [number; 32], parts: 1 }
    }

    #[test]
    fn a_state_is_cut_into_parts_that_make_it_whole_again() {
        for length in [0, 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES] {
            let bytes: Vec<u8> = (0..length).map(|at| (at / 7) as u8).collect();
            let state = State::new(bytes.clone());
            let parts: Vec<&[u8]> = (0..state.parts()).map(|part| state.part(part).expect("it is one")).collect();
            assert_eq!(parts.concat(), bytes);
            assert!(parts.iter().all(|part| part.len() <= PART_BYTES) && !parts.is_empty());
            assert_eq!((state.part(state.parts()), state.part(u64::MAX)), (None, None));
            let mut hasher = StateHasher::default();
            parts.iter().for_each(|part| hasher.add(part));
            assert_eq!(hasher.hash(), state.hash());
        }
        assert_ne!(State::new(vec![1]).hash(), State::new(vec![2]).hash());
    }

    #[test]
    fn a_block_is_compared_once_every_member_has_said_what_it_has() {
        let members = BTreeSet::from([client(1), client(2)]);
        let mut hashes = Hashes::default();
        hashes.say(client(1), 1, said(1));
        hashes.say(client(1), 2, said(5));
        assert_eq!(hashes.compare(&members), None);
        hashes.say(client(2), 1, said(1));
        assert_eq!(hashes.compare(&members), Some((1, Compared::Alike(said(1)))));
        hashes.say(client(2), 2, said(5));
        assert_eq!(hashes.compare(&members), Some((2, Compared::Alike(said(5)))), "the last one counts");
        assert_eq!(hashes.first_with(2, said(5)), Some(client(1)));
        assert_eq!(hashes.first_with(2, said(1)), None);
        hashes.forget_to(2);
        assert!(hashes.is_empty() && hashes.compare(&members).is_none());
    }

    #[test]
    fn members_with_different_states_each_get_what_another_one_has() {
        let members = BTreeSet::from([client(1), client(2), client(3)]);
        let mut hashes = Hashes::default();
        for (member, hash) in [(1, 1), (2, 1), (3, 9)] {
            hashes.say(client(member), 4, said(hash));
        }
        let each = vec![(client(1), said(9)), (client(2), said(9)), (client(3), said(1))];
        assert_eq!(hashes.compare(&members), Some((4, Compared::Different(each))));
    }

    #[test]
    fn a_member_that_says_much_makes_others_forget_nothing() {
        let mut hashes = Hashes::default();
        hashes.say(client(2), 1, said(1));
        for block in 1..100 {
            hashes.say(client(1), block, said(1));
        }
        assert!(hashes.0.len() <= HASHES_OPEN_MAX + 1);
        assert_eq!(hashes.first_with(1, said(1)), Some(client(2)));
    }

    #[test]
    fn what_was_said_by_who_is_no_member_any_more_does_not_count() {
        let members = BTreeSet::from([client(1), client(2)]);
        let mut hashes = Hashes::default();
        for (member, hash) in [(1, 1), (2, 1), (3, 9)] {
            hashes.say(client(member), 4, said(hash));
        }
        assert_eq!(hashes.compare(&members), Some((4, Compared::Alike(said(1)))));
        (1..=3).for_each(|member| hashes.forget(client(member)));
        assert!(hashes.is_empty());
    }
}
