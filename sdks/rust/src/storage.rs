//! Where a client's rows and queue are: in memory, or in a directory as an append log with checkpoints.

use std::path::Path;

use iolite_client::StorageChange;
use iolite_engine::{Incarnation, Journal, NativeDisk, Options as JournalOptions};
use iolite_host::{JournalNews, JournalThread, Summary, random_id};

use crate::batch::{self, Entries};
use crate::error::OpenError;

/// Whether changes are stored when [`StorageWriter::apply`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    Already,
    /// The journal will say so.
    Later,
}

#[derive(Debug)]
pub(crate) enum StorageWriter {
    Memory,
    Directory(Box<DirectoryWriter>),
}

#[derive(Debug)]
pub(crate) struct DirectoryWriter {
    journal: JournalThread,
    entries: Entries,
    /// Bytes that were appended since the last checkpoint, and bytes of all entries, both about.
    appended: usize,
    checkpoint_at: usize,
}

/// Below this, reading everything again takes no time.
const CHECKPOINT_BYTES_MIN: usize = 4 << 20;
const CHUNK_BYTES: usize = 256 << 10;

/// An opened directory.
pub(crate) struct OpenDirectory {
    journal: Journal<NativeDisk>,
    pub(crate) entries: Entries,
}

impl OpenDirectory {
    pub(crate) fn open(directory: &Path) -> Result<OpenDirectory, OpenError> {
        let disk = NativeDisk::open(directory)?;
        let opened = Journal::open(disk, JournalOptions::default(), Incarnation(random_id()));
        let failed = |source| OpenError::Journal { directory: directory.to_owned(), source };
        let (journal, recovery) = opened.map_err(failed)?;
        let mut entries = Entries::new();
        let damaged = |problem| OpenError::Damaged { directory: directory.to_owned(), problem };
        for chunk in &recovery.checkpoint_chunks {
            batch::apply(&mut entries, chunk).map_err(damaged)?;
        }
        for record in &recovery.records {
            batch::apply(&mut entries, &record.bytes).map_err(damaged)?;
        }
        Ok(OpenDirectory { journal, entries })
    }

    /// Begins to write. `tell` is called on the disk's thread.
    pub(crate) fn start(self, tell: impl FnMut(JournalNews) + Send + 'static) -> Result<StorageWriter, OpenError> {
        let appended = usize::try_from(self.journal.journal_bytes_since_checkpoint()).unwrap_or(usize::MAX);
        let journal = JournalThread::start(self.journal, Summary::default(), tell).map_err(OpenError::Thread)?;
        let writer = DirectoryWriter { journal, entries: self.entries, appended, checkpoint_at: CHECKPOINT_BYTES_MIN };
        Ok(StorageWriter::Directory(Box::new(writer)))
    }
}

impl StorageWriter {
    /// Applies changes, all or none, after those that were applied before.
    pub(crate) fn apply(&mut self, changes: &[StorageChange]) -> Stored {
        match self {
            StorageWriter::Memory => Stored::Already,
            StorageWriter::Directory(writer) => {
                writer.apply(changes);
                Stored::Later
            }
        }
    }
}

impl DirectoryWriter {
    fn apply(&mut self, changes: &[StorageChange]) {
        let record = batch::encode(changes);
        batch::apply(&mut self.entries, &record).expect("what was just encoded can be read");
        self.appended += record.len();
        self.journal.writer().append(record);
        if self.appended >= self.checkpoint_at {
            self.checkpoint();
        }
    }

    fn checkpoint(&mut self) {
        let writer = self.journal.writer();
        writer.begin_checkpoint();
        let parts = batch::encode_parts(&self.entries, CHUNK_BYTES);
        let bytes: usize = parts.iter().map(Vec::len).sum();
        parts.into_iter().for_each(|part| writer.checkpoint_chunk(part));
        writer.finish_checkpoint();
        self.appended = 0;
        self.checkpoint_at = CHECKPOINT_BYTES_MIN.max(2 * bytes);
    }
}
