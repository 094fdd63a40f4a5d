//! The journal's thread: it alone touches the disk.
//!
//! Group commit: a sync begins when somebody waits for one and the disk is idle, and takes everything that has arrived by then. Records that nobody
//! waits for are synced with the others, or a little later.
//!
//! Invariants: records are appended in the order in which they were sent; `Synced` is told only of what the journal calls durable; after a
//! failure the disk is not touched again; that a restart would find the directory is looked at after each sync, and once a second by a journal that is idle.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use iolite_engine::{AppendError, CheckpointError, Disk, Durability, Journal, SyncError};
use iolite_machine::PersistId;

use crate::Summary;

/// A record that nobody waits for is synced within this time.
pub const SYNC_WITHIN: Duration = Duration::from_millis(100);

/// How often all files that a restart needs are looked at, whether something is written or not.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Sends to the thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct JournalWriter {
    commands: Sender<Vec<Command>>,
}

/// The thread, which ends when it is told to.
#[derive(Debug)]
pub struct JournalThread {
    writer: JournalWriter,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
pub(crate) enum Command {
    Append(Vec<u8>),
    Sync,
    BeginCheckpoint,
    CheckpointChunk(Vec<u8>),
    FinishCheckpoint,
    End,
}

/// What the thread tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalNews {
    /// Every record up to this one is durable.
    Synced { through: PersistId, bytes_since_checkpoint: u64 },
    /// The next chunk of the checkpoint may come.
    ChunkTaken,
    /// The checkpoint is complete, and durable.
    CheckpointFinished { bytes_since_checkpoint: u64 },
    /// Nothing more will become durable: only a new start tells what is. The message says why.
    Failed(String),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Sync(#[from] SyncError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

impl JournalThread {
    /// Gives a journal its thread. `tell` is called there; `syncs` gets the time of every sync that waited for the disk.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start<D: Disk + Send + 'static>(
        journal: Journal<D>,
        syncs: Summary,
        tell: impl FnMut(JournalNews) + Send + 'static,
    ) -> std::io::Result<JournalThread> {
        let (commands, inbox) = channel();
        let mut worker = Worker::new(journal, syncs, tell);
        let thread = std::thread::Builder::new().name("journal".into()).spawn(move || worker.run(&inbox))?;
        Ok(JournalThread { writer: JournalWriter { commands }, thread: Some(thread) })
    }

    pub fn writer(&self) -> JournalWriter {
        self.writer.clone()
    }

    /// Ends the thread once everything that was sent before is durable, and gives the disk back to others.
    pub fn end(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        self.writer.send(Command::End);
        if let Some(thread) = self.thread.take() {
            // A panic there was reported there.
            let _ = thread.join();
        }
    }
}

impl Drop for JournalThread {
    fn drop(&mut self) {
        self.stop();
    }
}

impl JournalWriter {
    pub fn append(&self, record: Vec<u8>) {
        self.send(Command::Append(record));
    }

    /// Somebody waits until what was appended is durable.
    pub fn sync(&self) {
        self.send(Command::Sync);
    }

    /// Records that are appended from now on are replayed after this checkpoint.
    pub fn begin_checkpoint(&self) {
        self.send(Command::BeginCheckpoint);
    }

    pub fn checkpoint_chunk(&self, chunk: Vec<u8>) {
        self.send(Command::CheckpointChunk(chunk));
    }

    pub fn finish_checkpoint(&self) {
        self.send(Command::FinishCheckpoint);
    }

    fn send(&self, command: Command) {
        self.send_all(vec![command]);
    }

    /// Wakes the thread once for all of them. After the thread's end, which was told, there is nobody to take it.
    pub(crate) fn send_all(&self, commands: Vec<Command>) {
        let _ = self.commands.send(commands);
    }
}

/// Does with a journal what it is told to.
pub(crate) struct Worker<D: Disk, T: FnMut(JournalNews)> {
    journal: Journal<D>,
    syncs: Summary,
    tell: T,
    /// Of the oldest record that is not durable, when that was seen.
    unsynced_since: Option<Instant>,
    /// When all files were looked at.
    looked: Instant,
}

/// After a panic nobody would hear from the journal any more, and everybody would wait for it.
impl<D: Disk, T: FnMut(JournalNews)> Drop for Worker<D, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.tell)(JournalNews::Failed("the journal's thread has panicked; restart the process".into()));
        }
    }
}

/// What a batch of commands leaves to do.
pub(crate) enum After {
    GoOn,
    End,
}

impl<D: Disk, T: FnMut(JournalNews)> Worker<D, T> {
    pub fn new(journal: Journal<D>, syncs: Summary, tell: T) -> Worker<D, T> {
        Worker { journal, syncs, tell, unsynced_since: None, looked: Instant::now() }
    }

    fn run(&mut self, inbox: &Receiver<Vec<Command>>) {
        loop {
            let done = match self.next(inbox) {
                Ok(first) => self.take(first.into_iter().chain(inbox.try_iter().flatten())),
                Err(RecvTimeoutError::Timeout) => self.sync().map(|()| After::GoOn),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            match done.and_then(|after| self.look_if_due().map(|()| after)) {
                Ok(After::GoOn) => {}
                Ok(After::End) => return,
                Err(failure) => return self.fail(&failure),
            }
        }
    }

    pub fn fail(&mut self, failure: &Failure) {
        (self.tell)(JournalNews::Failed(failure.to_string()));
    }

    /// Waits for the next commands, or until a record has waited for its sync long enough, or the files are to be looked at.
    fn next(&self, inbox: &Receiver<Vec<Command>>) -> Result<Vec<Command>, RecvTimeoutError> {
        let until_look = LOOK_EVERY.saturating_sub(self.looked.elapsed());
        let until_sync = self.unsynced_since.map(|since| SYNC_WITHIN.saturating_sub(since.elapsed()));
        inbox.recv_timeout(until_sync.map_or(until_look, |until_sync| until_sync.min(until_look)))
    }

    /// Fails when a restart would not find everything.
    pub fn look_if_due(&mut self) -> Result<(), Failure> {
        if self.looked.elapsed() >= LOOK_EVERY {
            self.journal.look()?;
            self.looked = Instant::now();
        }
        Ok(())
    }

    pub fn take(&mut self, batch: impl Iterator<Item = Command>) -> Result<After, Failure> {
        let mut after = After::GoOn;
        let mut somebody_waits = false;
        for command in batch {
            match command {
                Command::Append(record) => drop(self.journal.append(&record)?),
                Command::Sync => somebody_waits = true,
                Command::BeginCheckpoint => {
                    self.sync()?;
                    self.journal.begin_checkpoint()?;
                    (self.tell)(JournalNews::ChunkTaken);
                }
                Command::CheckpointChunk(chunk) => {
                    self.journal.checkpoint_chunk(&chunk)?;
                    (self.tell)(JournalNews::ChunkTaken);
                }
                Command::FinishCheckpoint => {
                    self.sync()?;
                    self.journal.finish_checkpoint()?;
                    let bytes_since_checkpoint = self.journal.journal_bytes_since_checkpoint();
                    (self.tell)(JournalNews::CheckpointFinished { bytes_since_checkpoint });
                }
                Command::End => {
                    (after, somebody_waits) = (After::End, true);
                    break;
                }
            }
        }
        let unsynced_since = *self.unsynced_since.get_or_insert_with(Instant::now);
        if somebody_waits || unsynced_since.elapsed() >= SYNC_WITHIN {
            self.sync()?;
        }
        Ok(after)
    }

    pub fn sync(&mut self) -> Result<(), Failure> {
        self.unsynced_since = None;
        if self.journal.durable() == self.journal.appended() {
            return Ok(());
        }
        let begun = Instant::now();
        let through = self.journal.sync()?;
        match self.journal.durability() {
            Durability::Fsync => self.syncs.observe(begun.elapsed()),
            Durability::Memory => {}
        }
        let bytes_since_checkpoint = self.journal.journal_bytes_since_checkpoint();
        (self.tell)(JournalNews::Synced { through, bytes_since_checkpoint });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use iolite_engine::{Incarnation, MemoryDisk, Options};

    use super::*;

    fn start(journal: Journal<MemoryDisk>) -> (JournalThread, Receiver<JournalNews>) {
        let (tell, news) = channel();
        let tell = move |piece| drop(tell.send(piece));
        (JournalThread::start(journal, Summary::default(), tell).expect("a thread"), news)
    }

    fn journal() -> Journal<MemoryDisk> {
        Journal::open(MemoryDisk::new(), Options::default(), Incarnation(1)).expect("an empty disk").0
    }

    #[test]
    fn every_record_is_told_durable_once_it_is() {
        let (thread, news) = start(journal());
        for number in 0..100u8 {
            thread.writer().append(vec![number]);
        }
        thread.end();
        let last = news.iter().last();
        assert!(matches!(last, Some(JournalNews::Synced { through: PersistId(100), .. })), "{last:?}");
    }

    #[test]
    fn a_checkpoint_is_written_between_records() {
        let (thread, news) = start(journal());
        let writer = thread.writer();
        writer.append(vec![1]);
        writer.begin_checkpoint();
        writer.checkpoint_chunk(vec![2]);
        writer.append(vec![3]);
        writer.finish_checkpoint();
        thread.end();
        let all: Vec<JournalNews> = news.iter().collect();
        let finished = |piece: &JournalNews| matches!(piece, JournalNews::CheckpointFinished { .. });
        assert_eq!(all.iter().filter(|piece| **piece == JournalNews::ChunkTaken).count(), 2);
        assert_eq!(all.iter().filter(|piece| finished(piece)).count(), 1);
    }

    /// A checkpoint syncs what came before it, and nobody else may tell of that.
    #[test]
    fn records_that_a_checkpoint_made_durable_are_told_of() {
        let (told, news) = channel();
        let tell = |piece| drop(told.send(piece));
        let mut worker = Worker::new(journal(), Summary::default(), tell);
        let mut synced_by = |commands: Vec<Command>| {
            assert!(matches!(worker.take(commands.into_iter()), Ok(After::GoOn)));
            let through = |piece| match piece {
                JournalNews::Synced { through, .. } => Some(through),
                JournalNews::ChunkTaken | JournalNews::CheckpointFinished { .. } | JournalNews::Failed(_) => None,
            };
            news.try_iter().filter_map(through).last()
        };
        assert_eq!(synced_by(vec![Command::Append(vec![1]), Command::BeginCheckpoint]), Some(PersistId(1)));
        assert_eq!(synced_by(vec![Command::Append(vec![2]), Command::FinishCheckpoint]), Some(PersistId(2)));
    }

    #[test]
    fn a_record_that_nobody_waits_for_is_synced_with_the_next_that_somebody_waits_for() {
        let (told, news) = channel();
        let tell = |piece| drop(told.send(piece));
        let mut worker = Worker::new(journal(), Summary::default(), tell);
        let mut take = |commands: Vec<Command>| {
            assert!(matches!(worker.take(commands.into_iter()), Ok(After::GoOn)));
            worker.journal.durable()
        };
        assert_eq!(take(vec![Command::Append(vec![1])]), PersistId(0));
        assert_eq!(take(vec![Command::Append(vec![2]), Command::Sync]), PersistId(2));
        assert_eq!(news.try_iter().count(), 1);
    }

    #[test]
    fn a_record_that_nobody_waits_for_is_synced_some_time() {
        let (thread, news) = start(journal());
        thread.writer().append(vec![1]);
        assert!(matches!(news.recv(), Ok(JournalNews::Synced { through: PersistId(1), .. })));
        thread.end();
    }

    #[test]
    fn a_panic_of_the_thread_is_told_as_a_failure() {
        let (failed, failures) = channel();
        let tell = move |piece| match piece {
            JournalNews::Failed(reason) => drop(failed.send(reason)),
            JournalNews::Synced { .. } | JournalNews::ChunkTaken | JournalNews::CheckpointFinished { .. } => {
                panic!("as a bug would")
            }
        };
        let thread = JournalThread::start(journal(), Summary::default(), tell).expect("a thread");
        thread.writer().append(vec![1]);
        thread.writer().sync();
        thread.end();
        assert_eq!(failures.iter().count(), 1, "or everybody would wait for it for good");
    }

    #[test]
    fn a_record_that_is_too_large_fails_the_journal_and_not_the_process() {
        let (thread, news) = start(journal());
        thread.writer().append(vec![0; iolite_engine::RECORD_BYTES_MAX + 1]);
        thread.end();
        assert!(matches!(news.iter().last(), Some(JournalNews::Failed(_))));
    }
}
