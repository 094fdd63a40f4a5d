//! The journal of a machine: what it was told between two waits reaches the disk together.
//!
//! Invariants: those of the journal's thread (`journal_thread.rs`). In class `memory` there is no thread: nothing waits for a disk there, and handing a record
//! to another thread, and its answer back, is more work than the record. What was appended is with the operating system then before the machine waits.
//! Source: docs/decisions/0020.

use iolite_engine::{Disk, Durability, Journal};

use crate::journal_thread::{Command, Failure, Worker};
use crate::{JournalNews, JournalThread, Summary};

/// For the performer of a machine's outputs: it does what it was told when the machine has nothing more to say.
pub struct MachineJournal {
    commands: Vec<Command>,
    runs: Runs,
}

enum Runs {
    Thread(JournalThread),
    Here(Box<dyn Here>),
    /// The disk failed, which was told.
    Ended,
}

trait Here: Send {
    /// Leaves nothing that is not with the disk.
    fn take_all(&mut self, commands: Vec<Command>) -> Result<(), Failure>;
    /// Now and then: that a restart would find everything.
    fn look_if_due(&mut self) -> Result<(), Failure>;
    fn fail(&mut self, failure: &Failure);
}

impl<D: Disk + Send, T: FnMut(JournalNews) + Send> Here for Worker<D, T> {
    fn take_all(&mut self, commands: Vec<Command>) -> Result<(), Failure> {
        self.take(commands.into_iter())?;
        self.sync()?;
        self.look_if_due()
    }

    fn look_if_due(&mut self) -> Result<(), Failure> {
        Worker::look_if_due(self)
    }

    fn fail(&mut self, failure: &Failure) {
        Worker::fail(self, failure);
    }
}

impl MachineJournal {
    /// Runs a journal as its class is best run. `tell` is called by whoever works at the disk, and must not block; `syncs` gets the time of every sync that
    /// waited for it.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start<D: Disk + Send + 'static>(
        journal: Journal<D>,
        syncs: Summary,
        tell: impl FnMut(JournalNews) + Send + 'static,
    ) -> std::io::Result<MachineJournal> {
        let runs = match journal.durability() {
            Durability::Fsync => Runs::Thread(JournalThread::start(journal, syncs, tell)?),
            Durability::Memory => Runs::Here(Box::new(Worker::new(journal, syncs, tell))),
        };
        Ok(MachineJournal { commands: Vec::new(), runs })
    }

    pub fn append(&mut self, record: Vec<u8>) {
        self.commands.push(Command::Append(record));
    }

    /// Somebody waits until what was appended is durable.
    pub fn sync(&mut self) {
        self.commands.push(Command::Sync);
    }

    /// Records that are appended from now on are replayed after this checkpoint.
    pub fn begin_checkpoint(&mut self) {
        self.commands.push(Command::BeginCheckpoint);
    }

    pub fn checkpoint_chunk(&mut self, chunk: Vec<u8>) {
        self.commands.push(Command::CheckpointChunk(chunk));
    }

    pub fn finish_checkpoint(&mut self) {
        self.commands.push(Command::FinishCheckpoint);
    }

    /// The machine has nothing more to say for now.
    pub fn settled(&mut self) {
        let commands = std::mem::take(&mut self.commands);
        match &mut self.runs {
            Runs::Thread(_) if commands.is_empty() => {}
            Runs::Thread(thread) => thread.writer().send_all(commands),
            Runs::Here(worker) => {
                let done = if commands.is_empty() { worker.look_if_due() } else { worker.take_all(commands) };
                if let Err(failure) = done {
                    worker.fail(&failure);
                    self.runs = Runs::Ended;
                }
            }
            Runs::Ended => {}
        }
    }

    /// Ends it once everything that it was told is durable, and gives the disk back to others.
    pub fn end(mut self) {
        self.settled();
        match self.runs {
            Runs::Thread(thread) => thread.end(),
            Runs::Here(_) | Runs::Ended => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use iolite_engine::{Incarnation, MemoryDisk, Options};
    use iolite_machine::PersistId;

    use super::*;

    fn start(durability: Durability) -> (MachineJournal, Receiver<JournalNews>) {
        let (told, news) = channel();
        let options = Options { durability, ..Options::default() };
        let journal = Journal::open(MemoryDisk::new(), options, Incarnation(1)).expect("an empty disk").0;
        let tell = move |piece| drop(told.send(piece));
        (MachineJournal::start(journal, Summary::default(), tell).expect("a thread"), news)
    }

    fn through(news: &JournalNews) -> Option<PersistId> {
        match news {
            JournalNews::Synced { through, .. } => Some(*through),
            JournalNews::ChunkTaken | JournalNews::CheckpointFinished { .. } | JournalNews::Failed(_) => None,
        }
    }

    #[test]
    fn in_class_memory_what_was_appended_is_told_when_the_machine_has_settled() {
        let (mut journal, news) = start(Durability::Memory);
        journal.append(vec![1]);
        journal.sync();
        journal.append(vec![2]);
        assert_eq!(news.try_iter().count(), 0, "nothing is written before all is known");
        journal.settled();
        assert_eq!(news.try_iter().filter_map(|news| through(&news)).collect::<Vec<_>>(), [PersistId(2)]);
        journal.settled();
        assert_eq!(news.try_iter().count(), 0);
        journal.append(vec![3]);
        journal.settled();
        let told = news.try_iter().filter_map(|news| through(&news)).collect::<Vec<_>>();
        assert_eq!(told, [PersistId(3)], "also when nobody waits: nobody comes by later");
    }

    #[test]
    fn both_classes_tell_the_same_of_records_and_a_checkpoint() {
        let told = |durability| {
            let (mut journal, news) = start(durability);
            journal.append(vec![1]);
            journal.begin_checkpoint();
            journal.checkpoint_chunk(vec![2]);
            journal.append(vec![3]);
            journal.finish_checkpoint();
            journal.settled();
            journal.append(vec![4]);
            journal.end();
            let mut all: Vec<JournalNews> = news.iter().collect();
            for piece in &mut all {
                match piece {
                    // A sync leaves its mark there in class `Fsync`.
                    JournalNews::Synced { bytes_since_checkpoint, .. }
                    | JournalNews::CheckpointFinished { bytes_since_checkpoint } => *bytes_since_checkpoint = 0,
                    JournalNews::ChunkTaken | JournalNews::Failed(_) => {}
                }
            }
            all
        };
        let synced = |through| JournalNews::Synced { through: PersistId(through), bytes_since_checkpoint: 0 };
        let finished = JournalNews::CheckpointFinished { bytes_since_checkpoint: 0 };
        let expected = [synced(1), JournalNews::ChunkTaken, JournalNews::ChunkTaken, synced(2), finished, synced(3)];
        assert_eq!(told(Durability::Memory), expected);
        assert_eq!(told(Durability::Fsync), expected);
    }

    #[test]
    fn in_class_memory_a_failure_is_told_once_and_the_disk_is_not_touched_again() {
        let (mut journal, news) = start(Durability::Memory);
        journal.append(vec![0; iolite_engine::RECORD_BYTES_MAX + 1]);
        journal.settled();
        assert!(matches!(news.try_iter().last(), Some(JournalNews::Failed(_))));
        journal.append(vec![1]);
        journal.settled();
        assert_eq!(news.try_iter().count(), 0, "nobody is left who could tell");
    }
}
