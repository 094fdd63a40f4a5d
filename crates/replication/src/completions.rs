//! Completion records as rows, for whoever copies a store, and for gateways that ask what became of a client's transactions: each is read at a timestamp
//! like any row, and is written by nothing but its own transaction.
//!
//! A client has the row (id), with the counter up to which it has acknowledged, and for each outcome after that the row (id, counter).
//! Invariant: at a timestamp, the outcomes of what committed at or below it are there, but for those that were acknowledged since; these the
//! client's row has counted. So whoever has the rows has all that keeps a late copy of a transaction from taking effect again.

use std::collections::BTreeMap;

use iolite_store::{Completion, CompletionDecision, RowAt};
use iolite_values::{
    Attempt, CellState, ClientId, ColumnId, Counter, Id, KeyRange, Row, RowKey, TableId, Timestamp, Value,
};

/// The table of these rows. Apps have no names that begin so.
pub fn completions_table() -> TableId {
    TableId::of("$completions")
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionRow {
    /// Nothing is known of this client's transactions through the counter: they were acknowledged.
    Client {
        client: ClientId,
        acknowledged: Counter,
    },
    Outcome {
        client: ClientId,
        counter: Counter,
        completion: Completion,
    },
}

/// The first key of a client.
pub fn client_key(client: ClientId) -> RowKey {
    RowKey::new(&[Value::Id(client.0)]).expect("an id is a key")
}

/// The rows of a client's outcomes above a counter.
pub(crate) fn outcomes_after(client: ClientId, after: Counter) -> KeyRange {
    let through = KeyRange::one(&outcome_key(client, after));
    KeyRange { lower: through.upper.unwrap_or(through.lower), ..of_client(client) }
}

/// Whether all rows of a range are of one client.
pub(crate) fn is_of_one_client(range: &KeyRange) -> bool {
    range.upper.is_some() && range.upper == of_client(first_client(&range.lower)).upper
}

/// All rows of a client.
pub(crate) fn of_client(client: ClientId) -> KeyRange {
    KeyRange::prefix(&[Value::Id(client.0)]).expect("an id is a key")
}

pub(crate) fn outcome_key(client: ClientId, counter: Counter) -> RowKey {
    let counter = Value::Bytes(counter.0.to_be_bytes().as_slice().into());
    RowKey::new(&[Value::Id(client.0), counter]).expect("short")
}

impl CompletionRow {
    /// `None`: it is no row of this table.
    pub fn of(row: &RowAt) -> Option<CompletionRow> {
        let int = |name: &str| match row.row.cell(ColumnId::of(name)) {
            Some(CellState::Scalar(Value::Int(value))) => Some(*value as u64),
            Some(_) | None => None,
        };
        match row.key.values().ok()?.as_slice() {
            [Value::Id(client)] => {
                Some(CompletionRow::Client { client: ClientId(*client), acknowledged: Counter(int("acknowledged")?) })
            }
            [Value::Id(client), Value::Bytes(counter)] => {
                let counter = Counter(u64::from_be_bytes(counter.as_ref().try_into().ok()?));
                let decision = match int("committed")? {
                    0 => CompletionDecision::Aborted,
                    _ => CompletionDecision::Committed,
                };
                let (attempt, at) = (Attempt(u32::try_from(int("attempt")?).ok()?), Timestamp::from_u64(int("at")?));
                Some(CompletionRow::Outcome {
                    client: ClientId(*client),
                    counter,
                    completion: Completion { attempt, at, decision },
                })
            }
            _ => None,
        }
    }

    pub(crate) fn to_row(&self) -> RowAt {
        let (key, cells) = match self {
            CompletionRow::Client { client, acknowledged } => {
                (client_key(*client), vec![("acknowledged", acknowledged.0)])
            }
            CompletionRow::Outcome { client, counter, completion } => {
                let key = outcome_key(*client, *counter);
                let committed = match completion.decision {
                    CompletionDecision::Committed => 1,
                    CompletionDecision::Aborted => 0,
                };
                let attempt = u64::from(completion.attempt.0);
                (key, vec![("attempt", attempt), ("at", completion.at.as_u64()), ("committed", committed)])
            }
        };
        let cell = |(name, value): (&str, u64)| (ColumnId::of(name), CellState::Scalar(Value::Int(value as i64)));
        let cells: BTreeMap<ColumnId, CellState> = cells.into_iter().map(cell).collect();
        RowAt { table: completions_table(), key, row: Row::from_parts(true, cells) }
    }
}

/// The first client that can have a row at or above a bound.
pub(crate) fn first_client(lower: &[u8]) -> ClientId {
    let bits: Option<[u8; 16]> = lower.get(1..17).and_then(|bytes| bytes.try_into().ok());
    let client = bits.map(|bits| ClientId(Id::from_bytes(bits)));
    client.filter(|client| lower.starts_with(client_key(*client).as_bytes())).unwrap_or_default()
}
