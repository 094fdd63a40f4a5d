//! A small replica over a journal, as the tests drive it.
//!
//! A record puts its version under two keys. Applying a record again, or after a later one, changes nothing. A checkpoint
//! walks the keys in order, a few a chunk, so it is fuzzy: the two keys of one record may be caught at different times.

use std::collections::BTreeMap;

use iolite_engine::{Disk, Incarnation, Journal, Options, Position, Recovery};

pub const KEYS: u64 = 7;

pub type State = BTreeMap<u64, u64>;

/// The record of `version`, with some filling, so that records are of many sizes and cross sectors.
pub fn record(version: u64, filling_bytes: usize) -> Vec<u8> {
    let mut bytes = version.to_le_bytes().to_vec();
    bytes.resize(8 + filling_bytes, version as u8);
    bytes
}

pub fn version_of(record: &[u8]) -> u64 {
    u64::from_le_bytes(*record.first_chunk().expect("every record starts with its version"))
}

pub fn apply(state: &mut State, version: u64) {
    for key in [version % KEYS, (version / 2 + 3) % KEYS] {
        let stored = state.entry(key).or_default();
        *stored = version.max(*stored);
    }
}

/// The state after the records 1 to `last`.
pub fn state_after(last: u64) -> State {
    let mut state = State::new();
    for version in 1..=last {
        apply(&mut state, version);
    }
    state
}

/// The chunk that holds `keys` as they are now.
pub fn chunk(state: &State, keys: std::ops::Range<u64>) -> Vec<u8> {
    state.range(keys).flat_map(|(key, version)| [key.to_le_bytes(), version.to_le_bytes()].concat()).collect()
}

/// Builds the state again as a replica does, and returns it with the last record that it reflects.
pub fn restore(recovery: &Recovery, first_of_checkpoint: Option<Position>) -> (State, Option<u64>) {
    let mut state = State::new();
    for pair in recovery.checkpoint_chunks.iter().flat_map(|chunk| chunk.chunks_exact(16)) {
        state.insert(version_of(&pair[..8]), version_of(&pair[8..]));
    }
    let mut expected = first_of_checkpoint;
    for found in &recovery.records {
        assert_eq!(found.position, expected.unwrap_or(found.position), "positions have no gaps");
        assert_eq!(version_of(&found.bytes), found.position.0, "a record comes back in its place");
        assert_eq!(found.bytes, record(found.position.0, found.bytes.len() - 8), "a record comes back whole");
        expected = Some(found.position.next());
        apply(&mut state, found.position.0);
    }
    (state, recovery.records.last().map(|found| found.position.0))
}

pub fn small_segments() -> Options {
    Options { segment_bytes_max: 2_000, ..Options::default() }
}

pub fn open<D: Disk>(disk: D) -> (Journal<D>, Recovery) {
    Journal::open(disk, small_segments(), Incarnation(0xfeed)).expect("the directory is sound")
}

/// A seeded source of choices: SplitMix64.
pub fn choices(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}
