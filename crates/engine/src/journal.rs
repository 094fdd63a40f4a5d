//! The journal: append, sync, checkpoint.
//!
//! Invariant: `durable` never passes what a sync covered.
//! Invariant: nor does it pass what a restart would find: the directory, its lock and the segment are looked at after each sync.
//! Invariant: after the first failure of the disk no call touches it again. A failed sync leaves unknown what is on disk,
//! and a second one that succeeds proves nothing.

use iolite_machine::PersistId;

use crate::checkpoint::CheckpointWriter;
use crate::failure::{AppendError, CheckpointError, DiskFailure, OpenError, SyncError};
use crate::file_name::FileKind;
use crate::header::Header;
use crate::identity::{Incarnation, Position, SegmentNumber};
use crate::journal_disk::JournalDisk;
use crate::recovery::{self, LastSegment, Plan, Resume, segment_header};
use crate::repair::repair;
use crate::scan::RecoveredRecord;
use crate::segment::Segment;
use crate::{Disk, Durability, RECORD_BYTES_MAX};

/// How a journal is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub durability: Durability,
    /// A new segment is started after the first sync at which the current one is at least this long.
    pub segment_bytes_max: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { durability: Durability::Fsync, segment_bytes_max: 64 << 20 }
    }
}

/// What a journal held when it was opened. In class `Fsync` all of it is durable.
#[derive(Debug, PartialEq, Eq)]
pub struct Recovery {
    pub incarnation: Incarnation,
    pub origin: Origin,
    /// The newest complete checkpoint, chunk by chunk as they were written; empty without one.
    pub checkpoint_chunks: Vec<Vec<u8>>,
    /// The records since the start of that checkpoint, oldest first. Its chunks may reflect some of them already.
    pub records: Vec<RecoveredRecord>,
    /// Bytes that were never durable and have been cut off.
    pub torn_tail: Option<TornTail>,
}

/// Where a store comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Created,
    Recovered,
}

/// The end of the last segment, which a crash left half written. Nothing in it was ever reported durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    pub file: String,
    pub offset: u64,
    pub bytes: u64,
}

/// The records and checkpoints of one store, on one disk.
#[derive(Debug)]
pub struct Journal<D> {
    disk: JournalDisk<D>,
    segment_bytes_max: u64,
    incarnation: Incarnation,
    segment: Segment,
    /// Segments before that one that recovery would still read, with their lengths.
    closed: Vec<(SegmentNumber, u64)>,
    last_checkpoint: Option<SegmentNumber>,
    checkpoint: Option<CheckpointWriter>,
    /// The position of the first record of this opening.
    opened_at: Position,
    appended: PersistId,
    durable: PersistId,
    failed: Option<DiskFailure>,
}

impl<D: Disk> Journal<D> {
    /// Opens the journal on `disk`, or creates one of `new_incarnation` where there is none.
    ///
    /// # Errors
    /// A directory of an unknown format, or in which something durable is damaged or missing, is refused and left exactly
    /// as it was.
    pub fn open(disk: D, options: Options, new_incarnation: Incarnation) -> Result<(Journal<D>, Recovery), OpenError> {
        let mut disk = JournalDisk::new(disk, options.durability);
        match recovery::plan(&disk)? {
            Plan::Create => {
                let header = segment_header(new_incarnation, SegmentNumber::FIRST, Position::FIRST);
                let segment = Segment::create(&mut disk, &header)?;
                let journal = Journal::new(disk, options, new_incarnation, segment, Position::FIRST);
                Ok((journal, Recovery::of_new(new_incarnation)))
            }
            Plan::Resume(mut resume) => {
                let segment = repair(&mut disk, &resume)?;
                let mut journal = Journal::new(disk, options, resume.incarnation, segment, resume.next);
                journal.closed = std::mem::take(&mut resume.closed);
                journal.last_checkpoint = resume.checkpoint.as_ref().map(|checkpoint| checkpoint.header.number);
                Ok((journal, Recovery::of(*resume)))
            }
        }
    }

    fn new(
        disk: JournalDisk<D>,
        options: Options,
        incarnation: Incarnation,
        segment: Segment,
        opened_at: Position,
    ) -> Journal<D> {
        Journal {
            disk,
            segment_bytes_max: options.segment_bytes_max,
            incarnation,
            segment,
            closed: Vec::new(),
            last_checkpoint: None,
            checkpoint: None,
            opened_at,
            appended: PersistId::START,
            durable: PersistId::START,
            failed: None,
        }
    }

    /// Takes a record into the buffer. It reaches the disk with the next [`Journal::flush`] or [`Journal::sync`].
    ///
    /// Returns its place among the records of this opening: 1 for the first, as a [`iolite_machine::Machine`] counts.
    ///
    /// # Errors
    /// A record longer than [`RECORD_BYTES_MAX`], of which nothing is kept; or an earlier failure of the disk.
    pub fn append(&mut self, record: &[u8]) -> Result<PersistId, AppendError> {
        self.check()?;
        if record.len() > RECORD_BYTES_MAX {
            return Err(AppendError::RecordTooLarge { bytes: record.len() });
        }
        self.appended = self.appended.next();
        self.segment.push(self.position_of(self.appended), record);
        Ok(self.appended)
    }

    /// Hands what is buffered to the disk without making it durable. [`Journal::sync`] does so too; a host that models the
    /// time which a sync takes calls this at its start.
    ///
    /// # Errors
    /// As [`Journal::sync`].
    pub fn flush(&mut self) -> Result<(), SyncError> {
        self.attempt(|journal| journal.segment.flush(&mut journal.disk))?;
        Ok(())
    }

    /// Makes every record that was appended durable, and returns the last one's id. Without a new record it does nothing.
    ///
    /// In class [`Durability::Memory`] it hands the records to the disk, and promises nothing about power cuts.
    ///
    /// # Errors
    /// A failure is final: the journal takes no more calls, and only a new opening tells which records are durable.
    pub fn sync(&mut self) -> Result<PersistId, SyncError> {
        self.attempt(Journal::sync_records)?;
        Ok(self.durable)
    }

    /// Starts a checkpoint: records that are appended from now on are replayed after it.
    ///
    /// The caller then hands over its state with [`Journal::checkpoint_chunk`], while it goes on appending and applying
    /// records. So a chunk may reflect records that recovery replays again: *applying a record to a state that already
    /// reflects it, or that reflects a later one, must change nothing.*
    ///
    /// # Errors
    /// When one is being written already. A failure of the disk is final, as in [`Journal::sync`].
    pub fn begin_checkpoint(&mut self) -> Result<(), CheckpointError> {
        self.check()?;
        if self.checkpoint.is_some() {
            return Err(CheckpointError::AlreadyBegun);
        }
        self.attempt(|journal| {
            journal.sync_records()?;
            journal.rotate()?;
            let header = Header { kind: FileKind::Checkpoint, ..journal.header_of_segment() };
            journal.checkpoint = Some(CheckpointWriter::begin(&mut journal.disk, &header)?);
            Ok(())
        })?;
        Ok(())
    }

    /// Writes a piece of the state. Recovery returns the pieces in this order.
    ///
    /// # Errors
    /// A chunk longer than [`RECORD_BYTES_MAX`], or one without a checkpoint; nothing is written then. A failure of the disk is final.
    pub fn checkpoint_chunk(&mut self, chunk: &[u8]) -> Result<(), CheckpointError> {
        self.check()?;
        if chunk.len() > RECORD_BYTES_MAX {
            return Err(CheckpointError::ChunkTooLarge { bytes: chunk.len() });
        }
        let Some(mut writer) = self.checkpoint.take() else {
            return Err(CheckpointError::NotBegun);
        };
        self.attempt(|journal| writer.chunk(&mut journal.disk, chunk))?;
        self.checkpoint = Some(writer);
        Ok(())
    }

    /// Completes the checkpoint, makes it durable, and removes what it replaces.
    ///
    /// All records are synced first, since the state may reflect them: a checkpoint never holds the half of a record whose
    /// other half is lost.
    ///
    /// # Errors
    /// When none is being written. A failure of the disk is final: either this checkpoint is whole then, or the one before it is.
    pub fn finish_checkpoint(&mut self) -> Result<PersistId, CheckpointError> {
        self.check()?;
        let Some(writer) = self.checkpoint.take() else {
            return Err(CheckpointError::NotBegun);
        };
        self.attempt(|journal| {
            journal.sync_records()?;
            let number = writer.number();
            let reflects = journal.position_of(journal.durable);
            writer.finish(&mut journal.disk, reflects)?;
            // Nothing is removed from a directory that somebody else has put there.
            journal.disk.expect_in_place(&FileKind::Checkpoint.file_name(number))?;
            journal.remove_older_than(number)
        })?;
        Ok(self.durable)
    }

    /// Looks whether a restart would find everything that it needs. After a sync only the segment is looked at; a host calls this about once a second,
    /// also when nothing is written.
    ///
    /// # Errors
    /// Somebody removed, renamed or replaced the directory or a file in it. The failure is final, as in [`Journal::sync`].
    pub fn look(&mut self) -> Result<(), SyncError> {
        self.attempt(|journal| {
            journal.segment.expect_in_place(&journal.disk)?;
            for (number, bytes) in &journal.closed {
                journal.disk.expect_length(&FileKind::Segment.file_name(*number), *bytes)?;
            }
            let writing = journal.checkpoint.as_ref().map(CheckpointWriter::number);
            for number in journal.last_checkpoint.into_iter().chain(writing) {
                journal.disk.expect_in_place(&FileKind::Checkpoint.file_name(number))?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// How many bytes of records a recovery would read now. The host decides by it when a checkpoint is due.
    pub fn journal_bytes_since_checkpoint(&self) -> u64 {
        self.closed.iter().map(|(_, bytes)| bytes).sum::<u64>() + self.segment.bytes()
    }

    pub fn checkpoint_is_running(&self) -> bool {
        self.checkpoint.is_some()
    }

    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// What "durable" means here. Reports read it from the running journal.
    pub fn durability(&self) -> Durability {
        self.disk.durability()
    }

    /// The last record that was appended.
    pub fn appended(&self) -> PersistId {
        self.appended
    }

    /// The last record that is durable.
    pub fn durable(&self) -> PersistId {
        self.durable
    }

    /// Where a record of this opening stands in the life of the store.
    pub fn position_of(&self, record: PersistId) -> Position {
        Position(self.opened_at.0 + record.0 - 1)
    }

    pub fn disk(&self) -> &D {
        self.disk.inner()
    }

    /// For a simulation that harms the disk. Writing to the journal's files through it breaks the journal.
    pub fn disk_mut(&mut self) -> &mut D {
        self.disk.inner_mut()
    }

    /// Ends the journal as a crash does: what was only buffered is gone.
    pub fn into_disk(self) -> D {
        self.disk.into_inner()
    }

    fn check(&self) -> Result<(), DiskFailure> {
        match &self.failed {
            Some(failure) => Err(failure.clone()),
            None => Ok(()),
        }
    }

    /// Does something with the disk, unless an earlier try failed; remembers a failure for good.
    fn attempt(&mut self, action: impl FnOnce(&mut Journal<D>) -> Result<(), DiskFailure>) -> Result<(), DiskFailure> {
        self.check()?;
        let result = action(self);
        if let Err(failure) = &result {
            self.failed = Some(failure.clone());
        }
        result
    }

    fn sync_records(&mut self) -> Result<(), DiskFailure> {
        if self.durable == self.appended {
            return Ok(());
        }
        self.segment.sync(&mut self.disk)?;
        self.segment.expect_in_place(&self.disk)?;
        self.durable = self.appended;
        if self.segment.bytes() >= self.segment_bytes_max {
            return self.rotate();
        }
        let last = self.position_of(self.durable);
        self.segment.mark(&mut self.disk, last)
    }

    /// Starts the next segment. The current one must hold nothing that is not durable when that one comes to be, not even
    /// a mark: recovery forgives a torn end only in the last segment.
    fn rotate(&mut self) -> Result<(), DiskFailure> {
        self.segment.sync(&mut self.disk)?;
        // Nothing is made in a directory that somebody else has put there.
        self.segment.expect_in_place(&self.disk)?;
        self.closed.push((self.segment.number(), self.segment.bytes()));
        let first = self.position_of(self.appended.next());
        let header = segment_header(self.incarnation, self.segment.number().next(), first);
        self.segment = Segment::create(&mut self.disk, &header)?;
        Ok(())
    }

    /// The header of the current segment, which holds no record yet.
    fn header_of_segment(&self) -> Header {
        segment_header(self.incarnation, self.segment.number(), self.position_of(self.appended.next()))
    }

    fn remove_older_than(&mut self, number: SegmentNumber) -> Result<(), DiskFailure> {
        let (older, kept) = self.closed.iter().partition(|(closed, _)| *closed < number);
        self.closed = kept;
        let older: Vec<(SegmentNumber, u64)> = older;
        for (segment, _) in older {
            self.disk.remove(&FileKind::Segment.file_name(segment))?;
        }
        if let Some(checkpoint) = self.last_checkpoint.replace(number) {
            self.disk.remove(&FileKind::Checkpoint.file_name(checkpoint))?;
        }
        self.disk.sync_directory()
    }
}

impl Recovery {
    fn of_new(incarnation: Incarnation) -> Recovery {
        Recovery {
            incarnation,
            origin: Origin::Created,
            checkpoint_chunks: Vec::new(),
            records: Vec::new(),
            torn_tail: None,
        }
    }

    fn of(resume: Resume) -> Recovery {
        let torn_tail = match &resume.last {
            LastSegment::Whole { .. } | LastSegment::Unfinished { .. } => None,
            LastSegment::Torn { header, valid_bytes, lost_bytes } => {
                Some(TornTail { file: header.file_name(), offset: *valid_bytes, bytes: *lost_bytes })
            }
        };
        Recovery {
            incarnation: resume.incarnation,
            origin: Origin::Recovered,
            checkpoint_chunks: resume.checkpoint.map(|checkpoint| checkpoint.content.chunks).unwrap_or_default(),
            records: resume.records,
            torn_tail,
        }
    }
}
