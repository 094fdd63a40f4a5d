//! The rows of a data centre about itself and its peers. Both tables are the system's: no app names them, and no backup holds them.

use std::sync::OnceLock;

use iolite_values::{Cell, ColumnId, Interest, KeyRange, RowKey, TableId, Value};
use iolite_wire::centres::CentreName;

/// Pages of the outbox, by their numbers from 0.
pub const OUTBOX_TABLE: &str = "_outbox";
/// A row for each peer.
pub const CENTRES_TABLE: &str = "_centres";

pub fn outbox() -> TableId {
    static TABLE: OnceLock<TableId> = OnceLock::new();
    *TABLE.get_or_init(|| TableId::of(OUTBOX_TABLE))
}

pub fn centres() -> TableId {
    static TABLE: OnceLock<TableId> = OnceLock::new();
    *TABLE.get_or_init(|| TableId::of(CENTRES_TABLE))
}

/// The key of a page.
pub fn page(number: u64) -> RowKey {
    RowKey::new(&[Value::Int(number as i64)]).expect("a number is short")
}

/// The number of the page with this key.
pub fn page_number(key: &RowKey) -> Option<u64> {
    let [Value::Int(number)] = <[Value; 1]>::try_from(key.values().ok()?).ok()? else { return None };
    u64::try_from(number).ok()
}

/// All pages.
pub fn all_pages() -> Interest {
    Interest::Range { table: outbox(), range: KeyRange::all() }
}

/// The pages from this one on.
pub fn pages_from(number: u64) -> Interest {
    let range = KeyRange { lower: page(number).as_bytes().into(), upper: None };
    Interest::Range { table: outbox(), range }
}

/// The rows of all peers.
pub fn all_centres() -> Interest {
    Interest::Range { table: centres(), range: KeyRange::all() }
}

/// The key of a peer's row.
pub fn centre(name: &CentreName) -> RowKey {
    RowKey::new(&[Value::from(name.as_str())]).expect("a name is short")
}

/// The peer whose row has this key.
pub fn centre_name(key: &RowKey) -> Option<CentreName> {
    let [Value::String(name)] = <[Value; 1]>::try_from(key.values().ok()?).ok()? else { return None };
    CentreName::new(&name).ok()
}

/// The place through which a peer's outbox is in this store.
pub fn taken_column() -> ColumnId {
    ColumnId::of("taken")
}

/// The place through which a peer has this outbox.
pub fn applied_column() -> ColumnId {
    ColumnId::of("applied")
}

/// The store whose outbox was taken.
pub fn store_column() -> ColumnId {
    ColumnId::of("store")
}

/// Bytes of the entries of all pages before this one, of a page.
pub fn begins_column() -> ColumnId {
    ColumnId::of("begins")
}

pub fn cell(name: &CentreName, column: ColumnId) -> Cell {
    Cell { table: centres(), row: centre(name), column }
}
