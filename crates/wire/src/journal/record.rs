//! Records of the journal.

use iolite_values::{Attempt, ClientId, Counter, Timestamp, TransactionId, Write};

use crate::encoding::{Reader, Writer, identity, required};
use crate::generated::proto::{self, journal_record::Record as Field};
use crate::generated::shapes;
use crate::limits::JOURNAL_RECORD;
use crate::session::{attempt, earlier_attempts};
use crate::{DecodeError, EncodeError, frame};

use super::{JOURNAL_VERSION, check_version};

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
}

/// A transaction took effect, or its abort is final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    pub transaction: TransactionId,
    pub attempt: Attempt,
    pub at: Timestamp,
    pub decision: CompletedDecision,
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
        let record = match self {
            JournalRecord::Completed(completed) => Field::Completed(write_completed(completed, &mut writer)),
            JournalRecord::Acknowledged { client, through } => Field::Acknowledged(proto::AcknowledgedThrough {
                client: client.0.to_bytes().to_vec(),
                through: through.0,
            }),
            JournalRecord::Ceiling(at) => Field::Ceiling(at.as_u64()),
        };
        writer.check()?;
        let record = proto::JournalRecord { version: JOURNAL_VERSION, record: Some(record) };
        frame::encode(&record, shapes::JOURNAL_RECORD, JOURNAL_RECORD)
    }

    /// # Errors
    /// [`DecodeError`] when the bytes are not a record, or one of a newer release.
    pub fn decode(bytes: &[u8]) -> Result<JournalRecord, DecodeError> {
        let record: proto::JournalRecord = frame::decode(bytes, shapes::JOURNAL_RECORD, JOURNAL_RECORD)?;
        check_version(record.version)?;
        Ok(match required(record.record, "a record of no known kind")? {
            Field::Completed(completed) => JournalRecord::Completed(read_completed(completed)?),
            Field::Acknowledged(acknowledged) => JournalRecord::Acknowledged {
                client: ClientId(identity(&acknowledged.client)?),
                through: Counter(acknowledged.through),
            },
            Field::Ceiling(at) => JournalRecord::Ceiling(Timestamp::from_u64(at)),
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
        decision,
    })
}
