//! The whole state, chunk by chunk, from one replica to another that has fallen too far behind.
//!
//! Invariants: all chunks are of one boot of the giver, which collects no history meanwhile; so chunks, and what committed since the first one, give
//! its state, as with a checkpoint. What the taker knows beyond it stays. If a chunk comes so late that history was collected, the state is not taken if its
//! low watermark is above what it is complete through.
//! The giver keeps nothing between two chunks but the time until which it holds its history.

use std::time::Duration;

use iolite_machine::{Instant, Now};
use iolite_values::{ClientId, Counter, Id, RowKey, TableId, Timestamp};

use super::Replica;
use super::catch_up::{CatchUp, FETCH_AGAIN_AFTER};
use super::checkpoint::Checkpoint;
use super::clients::Clients;
use super::part::Part;
use super::recover::RecoverError;
use crate::journal::{CheckpointChunk, JournalRecord, SnapshotPart};
use crate::node::{Boot, Peer, ReplicaId, StateChunk};
use crate::versions::{Logged, Versions};

/// A chunk of a state is about this large at most.
pub const STATE_CHUNK_BYTES_MAX: usize = 256 << 10;

/// So long after a chunk was given, the history is kept that the next ones need.
pub const STATE_HELD_FOR: Duration = Duration::from_secs(30);

/// What a replica gave.
struct State {
    versions: Versions,
    clients: Clients,
}

/// What has come of a state so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taking {
    pub from: ReplicaId,
    boot: Boot,
    complete: Timestamp,
    /// Where the next chunk is from.
    pub place: Vec<u8>,
    chunks: Vec<Vec<u8>>,
    /// How often this chunk was asked for again.
    pub tries: u32,
    /// The next time, after so long.
    pub pause: Duration,
}

impl Taking {
    fn begin(from: ReplicaId, complete: Timestamp) -> Taking {
        let (boot, pause) = (Boot(0), FETCH_AGAIN_AFTER);
        Taking { from, boot, complete, place: Vec::new(), chunks: Vec::new(), tries: 0, pause }
    }

    /// The chunk has come. Who answers in time is given less of it the next time, but not so much less that each chunk is asked for twice.
    fn go_on(&mut self, next: Vec<u8>) {
        (self.place, self.tries) = (next, 0);
        self.pause = (self.pause - self.pause / 8).max(FETCH_AGAIN_AFTER);
    }
}

impl Replica {
    pub(super) fn holds_history(&self, now: Instant) -> bool {
        self.state_held_until.is_some_and(|until| now < until)
    }

    pub(super) fn on_fetch_state(&mut self, now: Now, from: ReplicaId, place: Vec<u8>) {
        let Some(step) = read_place(&place) else { return };
        self.state_held_until = Some(now.instant + STATE_HELD_FOR);
        let part = self.division_split().and_then(|split| Part::of(split, from));
        let Some((Some(chunk), next)) = self.chunk_from(step, STATE_CHUNK_BYTES_MAX, part.as_ref()) else { return };
        let next = next.map(|step| write_place(&step));
        let chunk = chunk.encode().expect("as in a checkpoint");
        let (boot, complete) = (self.settings.boot, self.complete());
        self.tell(from, Peer::StateChunk(StateChunk { boot, place, next, complete, chunk }));
    }

    /// Nobody has what is lacking: everything is fetched.
    pub(super) fn on_fetched_too_old(&mut self, now: Now, from: ReplicaId) {
        if self.catch_up.taking.is_none() && self.catch_up.is_waiting_for(from) {
            self.begin_taking(now, from);
        }
    }

    pub(super) fn begin_taking(&mut self, now: Now, from: ReplicaId) {
        self.catch_up.taking = Some(Taking::begin(from, Timestamp::ZERO));
        self.ask_for_state(now);
    }

    pub(super) fn ask_for_state(&mut self, now: Now) {
        let Some(taking) = &self.catch_up.taking else { return };
        let (from, place, pause) = (taking.from, taking.place.clone(), taking.pause);
        self.catch_up.wait(now, pause);
        self.tell(from, Peer::FetchState { place });
    }

    pub(super) fn on_state_chunk(&mut self, now: Now, from: ReplicaId, part: StateChunk) {
        let Some(taking) = self.catch_up.taking.as_mut().filter(|own| own.from == from && own.place == part.place)
        else {
            return;
        };
        if taking.chunks.is_empty() {
            (taking.boot, taking.complete) = (part.boot, part.complete);
        }
        if taking.boot != part.boot {
            // The giver has restarted: from the beginning.
            (taking.place, taking.chunks) = (Vec::new(), Vec::new());
            return self.ask_for_state(now);
        }
        taking.chunks.push(part.chunk);
        if let Some(next) = part.next {
            taking.go_on(next);
            return self.ask_for_state(now);
        }
        if let Some(taking) = self.catch_up.taking.take() {
            self.take_state(now, taking);
        }
    }

    fn take_state(&mut self, now: Now, taking: Taking) {
        let Taking { complete, chunks, .. } = taking;
        if let Some(state) = self.state_to_take(now, complete, &chunks) {
            self.put_state(state);
            let last = chunks.len() - 1;
            for (number, chunk) in chunks.into_iter().enumerate() {
                let number_u32 = u32::try_from(number).expect("a state fits into memory");
                let part = SnapshotPart { complete, number: number_u32, is_last: number == last, chunk };
                self.persist(&JournalRecord::Snapshot(part));
            }
            self.advance(complete);
            self.look_for_configuration();
        }
        self.fetch_rest(now);
        self.press_install(now);
        self.press_beginning(now);
    }

    /// The state, if it is newer than the own one, has all history above what it is complete through, and nothing that is far ahead.
    fn state_to_take(&self, now: Now, complete: Timestamp, chunks: &[Vec<u8>]) -> Option<State> {
        if complete <= self.complete {
            return None;
        }
        // Chunks that cannot be read are a peer's fault: it is asked again, or another one.
        let state = self.read_state(complete, chunks).ok()?;
        let last_commit = state.versions.last_commit().unwrap_or_default();
        let has_history = complete >= state.versions.low_watermark();
        (has_history && !self.is_too_far(now, last_commit)).then_some(state)
    }

    /// The state that these chunks give, with what is known here beyond it.
    fn read_state(&self, complete: Timestamp, chunks: &[Vec<u8>]) -> Result<State, RecoverError> {
        let (mut versions, mut clients) = (Versions::default(), Clients::default());
        let mut commits = Vec::new();
        let mut low_watermark = None;
        for chunk in chunks {
            match CheckpointChunk::decode(chunk)? {
                CheckpointChunk::Commits(some) => commits.extend(some.into_iter().map(Logged::from_checkpoint)),
                CheckpointChunk::Rows(rows) => rows.into_iter().for_each(|row| versions.restore(row)),
                CheckpointChunk::Clients(parts) => parts.into_iter().for_each(|part| clients.restore(part)),
                CheckpointChunk::Meta(meta) => low_watermark = Some(meta.low_watermark),
                CheckpointChunk::Records(_) => return Err(RecoverError::IncompleteCheckpoint),
            }
        }
        let low_watermark = low_watermark.ok_or(RecoverError::IncompleteCheckpoint)?;
        let own = self.versions.logged(complete.max(self.versions.low_watermark()), Timestamp::MAX);
        let own: Vec<Logged> = own.map_err(|_| RecoverError::IncompleteCheckpoint)?.cloned().collect();
        for logged in commits.into_iter().chain(own) {
            let at = logged.commit.at;
            versions.apply(logged).map_err(|mismatch| RecoverError::Inconsistent { at, mismatch })?;
        }
        versions.collect_through(low_watermark);
        Ok(State { versions, clients })
    }

    /// In place of the own one.
    fn put_state(&mut self, state: State) {
        self.clients.absorb(state.clients);
        self.versions = state.versions;
        self.close_all_applied();
    }

    /// From the journal. It counts when the last part is there.
    pub(super) fn replay_snapshot(&mut self, part: SnapshotPart) -> Result<(), RecoverError> {
        let SnapshotPart { complete, number, is_last, chunk } = part;
        if number == 0 {
            self.catch_up = CatchUp::default();
            self.catch_up.taking = Some(Taking::begin(self.settings.id, complete));
        }
        let Some(taking) = &mut self.catch_up.taking else { return Ok(()) };
        taking.chunks.push(chunk);
        if is_last && let Some(taking) = self.catch_up.taking.take() {
            let state = self.read_state(complete, &taking.chunks)?;
            self.put_state(state);
            // A crash may have come before the records of these.
            self.ceiling = self.ceiling.max(complete);
            self.complete_through(complete);
        }
        Ok(())
    }
}

const COMMITS: u8 = 1;
const ROWS: u8 = 2;
const CLIENTS: u8 = 3;
const META: u8 = 4;

fn write_place(step: &Checkpoint) -> Vec<u8> {
    let mut bytes = Vec::new();
    match step {
        Checkpoint::Records(_) => {}
        Checkpoint::Meta => bytes.push(META),
        Checkpoint::Commits { after } => {
            bytes.push(COMMITS);
            bytes.extend(after.as_u64().to_be_bytes());
        }
        Checkpoint::Rows { after } => {
            bytes.push(ROWS);
            if let Some((table, key)) = after {
                bytes.extend(table.0.to_be_bytes());
                bytes.extend(key.as_bytes());
            }
        }
        Checkpoint::Clients { after } => {
            bytes.push(CLIENTS);
            if let Some((client, counter)) = after {
                bytes.extend(client.0.to_bytes());
                bytes.extend(counter.0.to_be_bytes());
            }
        }
    }
    bytes
}

/// None for bytes that are no place.
fn read_place(bytes: &[u8]) -> Option<Checkpoint> {
    let Some((kind, rest)) = bytes.split_first() else { return Some(Checkpoint::Commits { after: Timestamp::ZERO }) };
    match (*kind, rest) {
        (COMMITS, after) => {
            Some(Checkpoint::Commits { after: Timestamp::from_u64(u64::from_be_bytes(after.try_into().ok()?)) })
        }
        (ROWS, []) => Some(Checkpoint::Rows { after: None }),
        (ROWS, after) => {
            let (table, key) = after.split_first_chunk::<4>()?;
            let key = RowKey::from_bytes(key).ok()?;
            Some(Checkpoint::Rows { after: Some((TableId(u32::from_be_bytes(*table)), key)) })
        }
        (CLIENTS, []) => Some(Checkpoint::Clients { after: None }),
        (CLIENTS, after) => {
            let (client, counter) = after.split_first_chunk::<16>()?;
            let counter = Counter(u64::from_be_bytes(counter.try_into().ok()?));
            Some(Checkpoint::Clients { after: Some((ClientId(Id::from_bytes(*client)), counter)) })
        }
        (META, []) => Some(Checkpoint::Meta),
        (_, _) => None,
    }
}
