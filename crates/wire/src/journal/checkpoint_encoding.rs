//! Chunks of checkpoints, to bytes and back.

use std::collections::BTreeMap;

use iolite_values::{Attempt, ClientId, ColumnId, Counter, TableId, Timestamp, TransactionId};

use crate::encoding::{Reader, Writer, each, identity, read_level, required, row_key, write_level};
use crate::generated::proto::{self, checkpoint_chunk::Chunk as Field};
use crate::generated::shapes;
use crate::limits::CHECKPOINT_CHUNK;
use crate::session::{attempt, earlier_attempts};
use crate::{DecodeError, EncodeError, frame};

use super::since::{of_commit, of_operation, of_state, of_writes};
use super::{
    CheckpointChunk, CheckpointClient, CheckpointCommit, CheckpointMeta, CheckpointRow, Completion, HistoryEntry,
    JournalRecord, Settled, check_version,
};

impl CheckpointChunk {
    /// # Errors
    /// [`EncodeError::TooLarge`], past [`CHECKPOINT_CHUNK`]: make chunks of fewer rows.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let chunk = match self {
            CheckpointChunk::Rows(rows) => Field::Rows(proto::CheckpointRows {
                rows: rows.iter().map(|row| write_row(row, &mut writer)).collect(),
            }),
            CheckpointChunk::Commits(commits) => {
                let commits = commits.iter().map(|commit| write_commit(commit, &mut writer)).collect();
                Field::Commits(proto::CheckpointCommits { commits })
            }
            CheckpointChunk::Clients(clients) => {
                let clients = clients.iter().map(|client| write_client(client, &mut writer)).collect();
                Field::Clients(proto::CheckpointClients { clients })
            }
            CheckpointChunk::Meta(meta) => Field::Meta(proto::CheckpointMeta {
                low_watermark: meta.low_watermark.as_u64(),
                ceiling: meta.ceiling.as_u64(),
                reads_through: meta.reads_through.as_u64(),
            }),
            CheckpointChunk::Records(records) => Field::Records(proto::CheckpointRecords {
                // Each stands alone, as in the journal.
                records: records.iter().map(|record| record.to_proto(&mut Writer::default())).collect(),
            }),
        };
        writer.check()?;
        let chunk = proto::CheckpointChunk { version: self.version(), chunk: Some(chunk) };
        frame::encode(&chunk, shapes::CHECKPOINT_CHUNK, CHECKPOINT_CHUNK)
    }

    fn version(&self) -> u32 {
        match self {
            CheckpointChunk::Clients(_) | CheckpointChunk::Meta(_) => 1,
            CheckpointChunk::Rows(rows) => {
                let history = rows.iter().flat_map(|row| &row.history).map(|entry| of_operation(&entry.operation));
                history.chain(rows.iter().map(|row| of_state(&row.base))).max().unwrap_or(1)
            }
            CheckpointChunk::Commits(commits) => commits.iter().map(of_checkpoint_commit).max().unwrap_or(1),
            CheckpointChunk::Records(records) => records.iter().map(JournalRecord::version).max().unwrap_or(2).max(2),
        }
    }

    /// # Errors
    /// [`DecodeError`] when the bytes are not a chunk, or one of a newer release.
    pub fn decode(bytes: &[u8]) -> Result<CheckpointChunk, DecodeError> {
        let chunk: proto::CheckpointChunk = frame::decode(bytes, shapes::CHECKPOINT_CHUNK, CHECKPOINT_CHUNK)?;
        check_version(chunk.version)?;
        let mut reader = Reader::default();
        Ok(match required(chunk.chunk, "a chunk of no known kind")? {
            Field::Rows(rows) => CheckpointChunk::Rows(each(rows.rows, |row| read_row(row, &mut reader))?),
            Field::Commits(commits) => {
                CheckpointChunk::Commits(each(commits.commits, |commit| read_commit(commit, &mut reader))?)
            }
            Field::Clients(clients) => {
                CheckpointChunk::Clients(each(clients.clients, |client| read_client(client, &mut reader))?)
            }
            Field::Meta(meta) => CheckpointChunk::Meta(CheckpointMeta {
                low_watermark: Timestamp::from_u64(meta.low_watermark),
                ceiling: Timestamp::from_u64(meta.ceiling),
                reads_through: Timestamp::from_u64(meta.reads_through),
            }),
            Field::Records(records) => CheckpointChunk::Records(each(records.records, JournalRecord::from_proto)?),
        })
    }
}

fn write_row(row: &CheckpointRow, writer: &mut Writer) -> proto::CheckpointRow {
    let base_at = writer.timestamp(row.base_at);
    proto::CheckpointRow {
        table: row.table.0,
        key: row.key.as_bytes().to_vec(),
        base: Some(writer.row(&row.base)),
        base_at_near: base_at.near,
        base_at: base_at.full,
        history: row.history.iter().map(|entry| write_entry(entry, writer)).collect(),
    }
}

fn read_row(row: proto::CheckpointRow, reader: &mut Reader) -> Result<CheckpointRow, DecodeError> {
    Ok(CheckpointRow {
        table: TableId(row.table),
        key: row_key(&row.key)?,
        base: reader.row(required(row.base, "a row without a base")?)?,
        base_at: reader.timestamp(row.base_at_near, row.base_at)?,
        history: each(row.history, |entry| read_entry(entry, reader))?,
    })
}

fn write_entry(entry: &HistoryEntry, writer: &mut Writer) -> proto::HistoryEntry {
    let at = writer.timestamp(entry.at);
    let write = Some(writer.operation(&entry.operation));
    proto::HistoryEntry { at_near: at.near, at: at.full, column: entry.column.0, write }
}

fn read_entry(entry: proto::HistoryEntry, reader: &mut Reader) -> Result<HistoryEntry, DecodeError> {
    Ok(HistoryEntry {
        at: reader.timestamp(entry.at_near, entry.at)?,
        column: ColumnId(entry.column),
        operation: reader.operation(required(entry.write, "a history entry without an operation")?)?,
    })
}

fn of_checkpoint_commit(commit: &CheckpointCommit) -> u32 {
    let plain = commit.attempt == Attempt(1) && commit.writes.is_some() && commit.is_home;
    let own = if plain { 1 } else { 2 };
    of_commit(commit.level).max(own).max(commit.writes.as_deref().map_or(1, of_writes))
}

fn write_commit(commit: &CheckpointCommit, writer: &mut Writer) -> proto::CheckpointCommit {
    let at = writer.timestamp(commit.at);
    proto::CheckpointCommit {
        at_near: at.near,
        at: at.full,
        client: commit.transaction.client.0.to_bytes().to_vec(),
        counter: commit.transaction.counter.0,
        writes: commit.writes.as_ref().map_or_else(Vec::new, |writes| writer.writes(writes)),
        earlier_attempts: earlier_attempts(commit.attempt),
        aborted: commit.writes.is_none(),
        away: !commit.is_home,
        level: write_level(commit.level),
    }
}

fn read_commit(commit: proto::CheckpointCommit, reader: &mut Reader) -> Result<CheckpointCommit, DecodeError> {
    let client = ClientId(identity(&commit.client)?);
    let at = reader.timestamp(commit.at_near, commit.at)?;
    let writes = match commit.aborted {
        false => Some(reader.writes(commit.writes)?),
        true if commit.writes.is_empty() => None,
        true => return Err(DecodeError::malformed("an abort with writes")),
    };
    Ok(CheckpointCommit {
        at,
        transaction: TransactionId { client, counter: Counter(commit.counter) },
        attempt: attempt(commit.earlier_attempts),
        level: read_level(commit.level)?,
        writes,
        is_home: !commit.away,
    })
}

fn write_client(client: &CheckpointClient, writer: &mut Writer) -> proto::CheckpointClient {
    let completions = client.completions.iter();
    proto::CheckpointClient {
        client: client.client.0.to_bytes().to_vec(),
        acknowledged: client.acknowledged.0,
        completions: completions.map(|(counter, completion)| write_completion(*counter, completion, writer)).collect(),
    }
}

fn read_client(client: proto::CheckpointClient, reader: &mut Reader) -> Result<CheckpointClient, DecodeError> {
    let mut completions = BTreeMap::new();
    for completion in client.completions {
        let counter = Counter(completion.counter);
        if completions.last_key_value().is_some_and(|(last, _)| *last >= counter) {
            return Err(DecodeError::malformed("completions are in the order of their counters"));
        }
        completions.insert(counter, read_completion(&completion, reader)?);
    }
    let acknowledged = Counter(client.acknowledged);
    Ok(CheckpointClient { client: ClientId(identity(&client.client)?), acknowledged, completions })
}

fn write_completion(counter: Counter, completion: &Completion, writer: &mut Writer) -> proto::Completion {
    let at = writer.timestamp(completion.at);
    proto::Completion {
        counter: counter.0,
        earlier_attempts: earlier_attempts(completion.attempt),
        at_near: at.near,
        at: at.full,
        aborted: completion.settled == Settled::Aborted,
    }
}

fn read_completion(completion: &proto::Completion, reader: &mut Reader) -> Result<Completion, DecodeError> {
    Ok(Completion {
        attempt: attempt(completion.earlier_attempts),
        at: reader.timestamp(completion.at_near, completion.at)?,
        settled: if completion.aborted { Settled::Aborted } else { Settled::Committed },
    })
}
