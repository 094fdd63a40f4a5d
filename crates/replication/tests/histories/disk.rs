//! The journal, as far as a replica can tell: records of which a crash keeps what was synced, and checkpoints.

use iolite_machine::PersistId;

#[derive(Default)]
pub struct Disk {
    records: Vec<Vec<u8>>,
    /// How many of them are safe.
    synced: usize,
    /// How many there were when the replica started.
    opened_at: usize,
    complete: Checkpoint,
    begun: Option<Checkpoint>,
}

#[derive(Default)]
struct Checkpoint {
    position: usize,
    chunks: Vec<Vec<u8>>,
}

impl Disk {
    pub fn append(&mut self, id: PersistId, record: Vec<u8>) {
        self.records.push(record);
        assert_eq!(id.0 as usize, self.records.len() - self.opened_at, "records are numbered without gaps");
    }

    pub fn sync(&mut self) -> PersistId {
        self.synced = self.records.len();
        PersistId((self.synced - self.opened_at) as u64)
    }

    pub fn begin_checkpoint(&mut self) {
        self.begun = Some(Checkpoint { position: self.records.len(), chunks: Vec::new() });
    }

    /// Takes a chunk, or completes the checkpoint, which syncs. Says whether it did.
    pub fn take_chunk(&mut self, chunk: Option<Vec<u8>>) -> bool {
        let Some(begun) = &mut self.begun else { return false };
        if let Some(chunk) = chunk {
            begun.chunks.push(chunk);
            return false;
        }
        self.synced = self.records.len();
        self.complete = self.begun.take().expect("it was begun");
        true
    }

    pub fn is_checkpointing(&self) -> bool {
        self.begun.is_some()
    }

    pub fn unsynced(&self) -> usize {
        self.records.len() - self.synced
    }

    /// The process ends: of what was not synced, this many records are kept.
    pub fn crash(&mut self, kept: usize) {
        self.records.truncate(self.synced + kept);
        self.synced = self.records.len();
        self.opened_at = self.records.len();
        self.begun = None;
    }

    pub fn chunks(&self) -> &[Vec<u8>] {
        &self.complete.chunks
    }

    pub fn records_since_checkpoint(&self) -> &[Vec<u8>] {
        &self.records[self.complete.position..]
    }

    /// Every record ever, for checkers.
    pub fn records(&self) -> &[Vec<u8>] {
        &self.records
    }
}
