//! Where a client's rows and queue are: in memory, or in a directory as an append log with checkpoints.

use std::path::Path;

use iolite_client::StorageChange;
use iolite_engine::{Incarnation, Journal, NativeDisk, Options as JournalOptions, RECORD_BYTES_MAX};
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
    pub(crate) fn apply(&mut self, changes: &[StorageChange], awaited: bool) -> Stored {
        match self {
            StorageWriter::Memory => Stored::Already,
            StorageWriter::Directory(writer) => {
                writer.apply(changes, awaited);
                Stored::Later
            }
        }
    }
}

impl DirectoryWriter {
    fn apply(&mut self, changes: &[StorageChange], awaited: bool) {
        let mut record = batch::encode(changes);
        batch::apply(&mut self.entries, &record).expect("what was just encoded can be read");
        if record.len() > RECORD_BYTES_MAX {
            // A checkpoint takes any size, and is there whole or not at all. A record without changes stands behind it, and says that it is there.
            self.checkpoint();
            record = batch::encode([]);
        }
        self.appended += record.len();
        self.journal.writer().append(record);
        if awaited {
            self.journal.writer().sync();
        }
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc::channel;

    use iolite_machine::PersistId;

    use super::*;

    /// Removed when it is dropped.
    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn put(key: u8, bytes: usize) -> StorageChange {
        StorageChange::Put { key: vec![key], value: vec![key; bytes] }
    }

    #[test]
    fn a_batch_of_any_size_is_stored_whole_and_what_follows_it_too() {
        let folder = Folder(std::env::temp_dir().join(format!("iolite-test-large-batch-{}", std::process::id())));
        let _ = std::fs::remove_dir_all(&folder.0);
        let (tell, news) = channel();
        let opened = OpenDirectory::open(&folder.0).expect("a new folder");
        let mut writer = opened.start(move |piece| drop(tell.send(piece))).expect("a thread");
        // An answer may be 32 MiB, in rows of a mebibyte.
        let large: Vec<StorageChange> = (1..=32).map(|key| put(key, 1 << 20)).collect();
        for batch in [&[put(0, 10)], large.as_slice(), &[put(1, 20)]] {
            assert_eq!(writer.apply(batch, true), Stored::Later);
        }
        drop(writer);
        let news: Vec<JournalNews> = news.iter().collect();
        let last = news.iter().rev().find(|piece| matches!(piece, JournalNews::Synced { .. }));
        assert!(matches!(last, Some(JournalNews::Synced { through: PersistId(3), .. })), "{news:?}");
        assert!(!news.iter().any(|piece| matches!(piece, JournalNews::Failed(_))), "{news:?}");
        let entries = OpenDirectory::open(&folder.0).expect("it was closed").entries;
        let lengths: Vec<usize> = entries.values().map(Vec::len).collect();
        assert_eq!(lengths.len(), 33);
        assert_eq!((lengths[0], lengths[1], lengths[2], lengths[32]), (10, 20, 1 << 20, 1 << 20));
    }
}
