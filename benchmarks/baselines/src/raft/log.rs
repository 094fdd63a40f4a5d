//! The log, in Iolite's journal: entries in memory, and what makes them durable.
//!
//! Invariants:
//! - records reach the journal in the order in which openraft wrote them, and it is told so once they are durable, as its class has it;
//! - entries have no gaps from the first on, which is never removed.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use iolite_engine::{Durability, Incarnation, Journal, NativeDisk, Options, RecoveredRecord};
use iolite_host::{JournalNews, MachineJournal, Summary, random_id};
use iolite_machine::PersistId;
use openraft::storage::{IOFlushed, RaftLogStorage};
use openraft::{LogState, OptionalSend, RaftLogReader};
use prost::Message;
use tokio::sync::oneshot;

use super::peer::{EntryMessage, Record, Recorded};
use super::{Entry, LogId, Types, Vote};

/// A log. Clones are of the same one.
#[derive(Clone)]
pub struct Log {
    written: Arc<Mutex<Written>>,
    appending: Arc<Mutex<Appending>>,
    syncing: Arc<Mutex<Syncing>>,
}

/// What was written, durable or not yet.
#[derive(Default)]
struct Written {
    vote: Option<Vote>,
    entries: Vec<Entry>,
}

/// The way to the disk. In class memory news come while something is told to the journal, so what they need is not in here.
struct Appending {
    journal: MachineJournal,
    appended: PersistId,
}

/// Who waits for the disk.
#[derive(Default)]
struct Syncing {
    waiting: VecDeque<(PersistId, Waiting)>,
    failed: Option<String>,
}

enum Waiting {
    Entries(IOFlushed<Types>),
    Vote(oneshot::Sender<io::Result<()>>),
}

impl Log {
    /// Opens the log in a folder, or makes one.
    ///
    /// # Errors
    /// When the folder is no journal's, or is in use.
    pub fn open(folder: &Path, durability: Durability) -> anyhow::Result<Log> {
        let disk = NativeDisk::open(folder)?;
        let options = Options { durability, ..Options::default() };
        let opened = Journal::open(disk, options, Incarnation(random_id()));
        let (journal, recovery) = opened.with_context(|| format!("the folder {}", folder.display()))?;
        let mut written = Written::default();
        recovery.records.iter().try_for_each(|record| written.recover(record))?;
        let syncing: Arc<Mutex<Syncing>> = Arc::default();
        let told = syncing.clone();
        let journal = MachineJournal::start(journal, Summary::default(), move |news| lock(&told).on_news(news))?;
        let appending = Arc::new(Mutex::new(Appending { journal, appended: PersistId::default() }));
        Ok(Log { written: Arc::new(Mutex::new(written)), appending, syncing })
    }

    fn write(&self, records: impl IntoIterator<Item = Recorded>, waiting: Option<Waiting>) {
        // Held while records are sent, so that they are counted in the order in which they come.
        let mut appending = lock(&self.appending);
        let Appending { journal, appended } = &mut *appending;
        for recorded in records {
            *appended = appended.next();
            journal.append(Record { recorded: Some(recorded) }.encode_to_vec());
        }
        if let Some(waiting) = waiting
            && lock(&self.syncing).waits(*appended, waiting)
        {
            journal.sync();
        }
        journal.settled();
    }
}

impl Written {
    fn recover(&mut self, record: &RecoveredRecord) -> anyhow::Result<()> {
        match Record::decode(&record.bytes[..])?.recorded.context("a record of a later version")? {
            Recorded::Vote(vote) => self.vote = Some(vote.into()),
            Recorded::Entry(entry) => self.entries.push(entry.into()),
            Recorded::CutFrom(index) => self.cut_from(index),
        }
        Ok(())
    }

    fn cut_from(&mut self, index: u64) {
        self.entries.truncate(usize::try_from(index).unwrap_or(usize::MAX));
    }

    fn range(&self, range: &impl RangeBounds<u64>) -> Vec<Entry> {
        let number = |index: u64| usize::try_from(index).unwrap_or(usize::MAX);
        let start = match range.start_bound() {
            Bound::Included(first) => number(*first),
            Bound::Excluded(before) => number(*before).saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => number(*last).saturating_add(1),
            Bound::Excluded(end) => number(*end),
            Bound::Unbounded => usize::MAX,
        };
        self.entries.get(start..end.min(self.entries.len())).unwrap_or_default().to_vec()
    }
}

impl Syncing {
    /// Whether it does: it is told at once if the disk has failed.
    fn waits(&mut self, through: PersistId, waiting: Waiting) -> bool {
        match &self.failed {
            Some(reason) => waiting.told(Err(io::Error::other(reason.clone()))),
            None => self.waiting.push_back((through, waiting)),
        }
        self.failed.is_none()
    }

    /// By whoever works at the disk.
    fn on_news(&mut self, news: JournalNews) {
        match news {
            JournalNews::Synced { through, .. } => {
                while self.waiting.front().is_some_and(|(after, _)| *after <= through) {
                    if let Some((_, waiting)) = self.waiting.pop_front() {
                        waiting.told(Ok(()));
                    }
                }
            }
            JournalNews::Failed(reason) => {
                let fail = |(_, waiting): (PersistId, Waiting)| waiting.told(Err(io::Error::other(reason.clone())));
                self.waiting.drain(..).for_each(fail);
                self.failed = Some(reason);
            }
            // Nothing is compacted.
            JournalNews::ChunkTaken | JournalNews::CheckpointFinished { .. } => {}
        }
    }
}

impl Waiting {
    fn told(self, result: io::Result<()>) {
        match self {
            Waiting::Entries(callback) => callback.io_completed(result),
            // Whoever waited may have stopped.
            Waiting::Vote(sender) => drop(sender.send(result)),
        }
    }
}

impl RaftLogReader<Types> for Log {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<Entry>, io::Error> {
        Ok(lock(&self.written).range(&range))
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, io::Error> {
        Ok(lock(&self.written).vote)
    }
}

impl RaftLogStorage<Types> for Log {
    type LogReader = Log;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, io::Error> {
        let last_log_id = lock(&self.written).entries.last().map(|entry| entry.log_id);
        Ok(LogState { last_purged_log_id: None, last_log_id })
    }

    async fn get_log_reader(&mut self) -> Log {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), io::Error> {
        let (sender, synced) = oneshot::channel();
        lock(&self.written).vote = Some(*vote);
        self.write([Recorded::Vote((*vote).into())], Some(Waiting::Vote(sender)));
        synced.await.unwrap_or_else(|_| Err(io::Error::other("the journal has ended")))
    }

    async fn append<I>(&mut self, entries: I, callback: IOFlushed<Types>) -> Result<(), io::Error>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<Entry> = entries.into_iter().collect();
        let records: Vec<Recorded> = entries.iter().map(|entry| Recorded::Entry(EntryMessage::from(entry))).collect();
        lock(&self.written).entries.extend(entries);
        self.write(records, Some(Waiting::Entries(callback)));
        Ok(())
    }

    async fn truncate_after(&mut self, last: Option<LogId>) -> Result<(), io::Error> {
        let index = last.map_or(0, |last| last.index + 1);
        lock(&self.written).cut_from(index);
        self.write([Recorded::CutFrom(index)], None);
        Ok(())
    }

    async fn purge(&mut self, _: LogId) -> Result<(), io::Error> {
        Err(io::Error::other("this log is kept for good"))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use openraft::type_config::TypeConfigExt;
    use openraft::vote::RaftLeaderId;

    use super::super::{LeaderId, Proposal};
    use super::*;

    fn entry(term: u64, index: u64) -> Entry {
        let log_id = LogId { leader_id: LeaderId::new(term, 0), index };
        let payload = openraft::EntryPayload::Normal(Proposal(bytes::Bytes::from(vec![term as u8; 3])));
        Entry { log_id, payload }
    }

    async fn append(log: &mut Log, entries: Vec<Entry>) {
        let (sender, flushed) = Types::oneshot();
        log.append(entries, IOFlushed::signal(sender)).await.expect("it is taken");
        flushed.await.expect("it is told").expect("it is durable");
    }

    fn new_folder() -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("iolite-baseline-log-{:032x}", random_id()));
        std::fs::create_dir(&folder).expect("a new folder");
        folder
    }

    #[test]
    fn in_class_memory_nobody_waits_for_another_thread() {
        let folder = new_folder();
        let log = Log::open(&folder, Durability::Memory).expect("a new log");
        let (sender, mut synced) = oneshot::channel();
        let vote = Vote { leader_id: LeaderId::new(2, 1), committed: true };
        log.write([Recorded::Vote(vote.into())], Some(Waiting::Vote(sender)));
        assert!(matches!(synced.try_recv(), Ok(Ok(()))));
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }

    #[tokio::test]
    async fn an_opened_log_has_the_entries_and_the_vote_that_it_had() {
        for durability in [Durability::Fsync, Durability::Memory] {
            is_opened_as_it_was(durability).await;
        }
    }

    async fn is_opened_as_it_was(durability: Durability) {
        let folder = new_folder();
        let mut log = Log::open(&folder, durability).expect("a new log");
        let vote = Vote { leader_id: LeaderId::new(2, 1), committed: true };
        log.save_vote(&vote).await.expect("it is durable");
        append(&mut log, vec![entry(1, 0), entry(1, 1), entry(1, 2)]).await;
        log.truncate_after(Some(entry(1, 0).log_id)).await.expect("they go");
        append(&mut log, vec![entry(2, 1)]).await;
        drop(log);
        let mut log = Log::open(&folder, durability).expect("the same log");
        assert_eq!(log.read_vote().await.expect("it is there"), Some(vote));
        assert_eq!(log.try_get_log_entries(..).await.expect("they are there"), [entry(1, 0), entry(2, 1)]);
        assert_eq!(log.try_get_log_entries(1..5).await.expect("as far as there are"), [entry(2, 1)]);
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
