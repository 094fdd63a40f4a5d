//! Records of the journal.

use iolite_values::{Attempt, ClientId, Counter, Level, Timestamp, TransactionId, Write};

use crate::encoding::{Reader, Writer, identity, node as parts, read_level, required, write_level};
use crate::generated::proto::{self, journal_record::Record as Field};
use crate::generated::shapes;
use crate::limits::JOURNAL_RECORD;
use crate::session::{attempt, earlier_attempts};
use crate::{DecodeError, EncodeError, frame};

use crate::node::{Configuration, RecordPart, RecordedEntry, Registered, Split, View};

use super::check_version;
use super::since::{of_commit, of_entry, of_writes};

/// What a replica must not forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalRecord {
    Completed(Completed),
    /// The client knows every outcome through this counter: they may be forgotten.
    Acknowledged {
        client: ClientId,
        through: Counter,
    },
    /// After a restart, nothing is proposed at or below this timestamp.
    Ceiling(Timestamp),
    /// Where the replica stands with a proposal from now on. One without the proposal itself leaves that as it was.
    Entry(RecordedEntry),
    /// A life of a coordinator has registered.
    Term(Registered),
    /// The replica has left its view for this one, and waits for its master record.
    Joined(View),
    /// A part of the record with which the replica goes on, in the part's view. It counts when all parts are there.
    Master(RecordPart),
    /// What releases before wrote, and nothing rests on any more: read, and not written.
    Superseded,
    /// Everything that committed at or below this is here.
    Complete(Timestamp),
    /// A part of the state that the replica got from another one. It counts when the last is there.
    Snapshot(SnapshotPart),
    /// The shard has this configuration from now on: the replica has left every earlier epoch.
    Configured(Configuration),
    /// The shard is to end so: nothing new is accepted.
    Split(Split),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotPart {
    /// What the state is complete through.
    pub complete: Timestamp,
    pub number: u32,
    pub is_last: bool,
    /// An encoded [`super::CheckpointChunk`].
    pub chunk: Vec<u8>,
}

/// A transaction took effect, or its abort is final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    pub transaction: TransactionId,
    pub attempt: Attempt,
    pub at: Timestamp,
    pub level: Level,
    pub decision: CompletedDecision,
    /// Whether the completion record is kept here.
    pub is_home: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletedDecision {
    Committed(Vec<Write>),
    Aborted,
}

impl JournalRecord {
    /// # Errors
    /// [`EncodeError::TooLarge`], past [`JOURNAL_RECORD`]; never for what one frame of a client submitted.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let record = self.to_proto(&mut writer);
        writer.check()?;
        frame::encode(&record, shapes::JOURNAL_RECORD, JOURNAL_RECORD)
    }

    /// # Errors
    /// [`DecodeError`] when the bytes are not a record, or one of a newer release.
    pub fn decode(bytes: &[u8]) -> Result<JournalRecord, DecodeError> {
        JournalRecord::from_proto(frame::decode(bytes, shapes::JOURNAL_RECORD, JOURNAL_RECORD)?)
    }

    pub(super) fn to_proto(&self, writer: &mut Writer) -> proto::JournalRecord {
        let record = match self {
            JournalRecord::Completed(completed) => Field::Completed(write_completed(completed, writer)),
            JournalRecord::Acknowledged { client, through } => Field::Acknowledged(proto::AcknowledgedThrough {
                client: client.0.to_bytes().to_vec(),
                through: through.0,
            }),
            JournalRecord::Ceiling(at) => Field::Ceiling(at.as_u64()),
            JournalRecord::Entry(entry) => Field::Entry(writer.entry(entry)),
            JournalRecord::Term(term) => Field::Term(parts::write_term(term)),
            JournalRecord::Joined(view) => Field::Joined(parts::write_view(*view)),
            JournalRecord::Master(part) => Field::Master(writer.record_part(part)),
            JournalRecord::Superseded => Field::Superseded(Vec::new()),
            JournalRecord::Complete(through) => Field::Complete(through.as_u64()),
            JournalRecord::Snapshot(part) => Field::Snapshot(proto::SnapshotPart {
                complete: part.complete.as_u64(),
                number: part.number,
                is_last: part.is_last,
                chunk: part.chunk.clone(),
            }),
            JournalRecord::Configured(configuration) => Field::Configured(configuration.to_proto()),
            JournalRecord::Split(split) => Field::Split(split.to_proto()),
        };
        proto::JournalRecord { version: self.version(), record: Some(record) }
    }

    /// The first version that has it, so that a release that writes nothing newer can be gone back from.
    pub(super) fn version(&self) -> u32 {
        match self {
            JournalRecord::Completed(completed) => {
                let of_home = if completed.is_home { 1 } else { 2 };
                let writes = match &completed.decision {
                    CompletedDecision::Committed(writes) => of_writes(writes),
                    CompletedDecision::Aborted => 1,
                };
                of_commit(completed.level).max(of_home).max(writes)
            }
            JournalRecord::Acknowledged { .. } | JournalRecord::Ceiling(_) => 1,
            JournalRecord::Entry(entry) => of_entry(entry),
            JournalRecord::Master(part) => part.entries.iter().map(of_entry).max().unwrap_or(2),
            JournalRecord::Term(_)
            | JournalRecord::Joined(_)
            | JournalRecord::Superseded
            | JournalRecord::Complete(_)
            | JournalRecord::Snapshot(_)
            | JournalRecord::Configured(_)
            | JournalRecord::Split(_) => 2,
        }
    }

    pub(super) fn from_proto(record: proto::JournalRecord) -> Result<JournalRecord, DecodeError> {
        check_version(record.version)?;
        let mut reader = Reader::default();
        Ok(match required(record.record, "a record of no known kind")? {
            Field::Completed(completed) => JournalRecord::Completed(read_completed(completed)?),
            Field::Acknowledged(acknowledged) => JournalRecord::Acknowledged {
                client: ClientId(identity(&acknowledged.client)?),
                through: Counter(acknowledged.through),
            },
            Field::Ceiling(at) => JournalRecord::Ceiling(Timestamp::from_u64(at)),
            Field::Entry(entry) => JournalRecord::Entry(reader.entry(entry)?),
            Field::Term(term) => JournalRecord::Term(parts::read_term(&term)?),
            Field::Joined(view) => JournalRecord::Joined(parts::read_view(&view)),
            Field::Master(part) => JournalRecord::Master(reader.record_part(part)?),
            Field::Superseded(_) => JournalRecord::Superseded,
            Field::Complete(through) => JournalRecord::Complete(Timestamp::from_u64(through)),
            Field::Snapshot(part) => JournalRecord::Snapshot(SnapshotPart {
                complete: Timestamp::from_u64(part.complete),
                number: part.number,
                is_last: part.is_last,
                chunk: part.chunk,
            }),
            Field::Configured(own) => JournalRecord::Configured(Configuration::from_proto(own)?),
            Field::Split(own) => JournalRecord::Split(Split::from_proto(own)?),
        })
    }
}

fn write_completed(completed: &Completed, writer: &mut Writer) -> proto::Completed {
    let at = writer.timestamp(completed.at);
    let (writes, aborted) = match &completed.decision {
        CompletedDecision::Committed(writes) => (writer.writes(writes), false),
        CompletedDecision::Aborted => (Vec::new(), true),
    };
    proto::Completed {
        client: completed.transaction.client.0.to_bytes().to_vec(),
        counter: completed.transaction.counter.0,
        earlier_attempts: earlier_attempts(completed.attempt),
        at_near: at.near,
        at: at.full,
        writes,
        aborted,
        away: !completed.is_home,
        level: write_level(completed.level),
    }
}

fn read_completed(completed: proto::Completed) -> Result<Completed, DecodeError> {
    let mut reader = Reader::default();
    let client = ClientId(identity(&completed.client)?);
    let decision = match completed.aborted {
        false => CompletedDecision::Committed(reader.writes(completed.writes)?),
        true if completed.writes.is_empty() => CompletedDecision::Aborted,
        true => return Err(DecodeError::malformed("an abort with writes")),
    };
    Ok(Completed {
        transaction: TransactionId { client, counter: Counter(completed.counter) },
        attempt: attempt(completed.earlier_attempts),
        at: reader.timestamp(completed.at_near, completed.at)?,
        level: read_level(completed.level)?,
        decision,
        is_home: !completed.away,
    })
}
