//! Rows and interests of a client's cache.

use iolite_values::{Interest, Row, RowKey, TableId};

use crate::encoding::{Reader, Writer, cell_name, named_cell, required, row_key};
use crate::generated::{proto, shapes};
use crate::limits::CLIENT_STORAGE;
use crate::{DecodeError, EncodeError, frame};

/// A row of the cache, as of the cache's timestamp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRow {
    pub table: TableId,
    pub key: RowKey,
    pub row: Row,
}

impl StoredRow {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        StoredRow::encode_of(self.table, &self.key, &self.row)
    }

    /// Of a row that is only borrowed.
    ///
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode_of(table: TableId, key: &RowKey, row: &Row) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let row = Some(writer.row(row));
        writer.check()?;
        let stored = proto::StoredRow { table: table.0, key: key.as_bytes().to_vec(), row };
        frame::encode(&stored, shapes::STORED_ROW, CLIENT_STORAGE)
    }

    /// # Errors
    /// [`DecodeError`]: the storage is damaged.
    pub fn decode(bytes: &[u8]) -> Result<StoredRow, DecodeError> {
        let stored: proto::StoredRow = frame::decode(bytes, shapes::STORED_ROW, CLIENT_STORAGE)?;
        let row = Reader::default().row(required(stored.row, "a stored row without its state")?)?;
        Ok(StoredRow { table: TableId(stored.table), key: row_key(&stored.key)?, row })
    }
}

/// An interest that the cache holds whole, as of the cache's timestamp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredInterest {
    pub interest: Interest,
}

impl StoredInterest {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let stored = match &self.interest {
            Interest::Cell(cell) => proto::StoredInterest { cell: Some(cell_name(cell)), range: None, query: None },
            Interest::Range { table, range } => {
                proto::StoredInterest { cell: None, range: Some(writer.range(*table, range)), query: None }
            }
            Interest::Query(query) => {
                proto::StoredInterest { cell: None, range: None, query: Some(writer.query(query)) }
            }
        };
        writer.check()?;
        frame::encode(&stored, shapes::STORED_INTEREST, CLIENT_STORAGE)
    }

    /// # Errors
    /// [`DecodeError`]: the storage is damaged.
    pub fn decode(bytes: &[u8]) -> Result<StoredInterest, DecodeError> {
        let stored: proto::StoredInterest = frame::decode(bytes, shapes::STORED_INTEREST, CLIENT_STORAGE)?;
        let interest = match (stored.cell, stored.range, stored.query) {
            (Some(cell), None, None) => Interest::Cell(named_cell(cell)?),
            (None, Some(range), None) => {
                let (table, range) = Reader::default().range(range)?;
                Interest::Range { table, range }
            }
            (None, None, Some(query)) => Interest::Query(Reader::default().query(query)?),
            (Some(_) | None, Some(_) | None, Some(_) | None) => {
                return Err(DecodeError::malformed("an interest is in a cell, in a range or in a query"));
            }
        };
        Ok(StoredInterest { interest })
    }
}
