//! The rows of `_access`: whose tokens are revoked, and the keys that sign the tokens of anonymous users.
//!
//! Invariant: what is written here is what is read here. Rows that nobody here wrote say nothing.
//!
//! | Key | Columns |
//! |---|---|
//! | `"revoked"`, the digest of a subject | `not_before`, microseconds since 1970: tokens that were issued before it are refused |
//! | `"key"`, a number from 0 | `seed`, 32 bytes: an Ed25519 key of anonymous users |
//!
//! Rows of devices are beside them (`devices.rs`). They are many, so no gateway holds them: [`AccessRows::interest`] is of the rows above only.

use std::collections::BTreeMap;

use iolite_machine::WallTime;
use iolite_values::{
    Cell, CellState, ColumnId, Element, Id, Interest, KeyRange, Operation, Read, Row, RowKey, TableId, Value, Write,
};

use crate::Identity;

/// The name of the system table.
pub const ACCESS_TABLE: &str = "_access";

const REVOKED: &str = "revoked";
const NOT_BEFORE: &str = "not_before";
const KEY: &str = "key";
const SEED: &str = "seed";

/// The rows as of some timestamp.
#[derive(Clone, Debug, Default)]
pub struct AccessRows {
    rows: BTreeMap<RowKey, Row>,
}

impl AccessRows {
    pub fn table() -> TableId {
        TableId::of(ACCESS_TABLE)
    }

    /// The rows that are to be read at start, and watched in the feed.
    pub fn interest() -> Interest {
        let [keys, revoked] = [KEY, REVOKED].map(|kind| KeyRange::prefix(&[Value::string(kind)]).expect("short"));
        let range = KeyRange { lower: keys.lower, upper: revoked.upper };
        Interest::Range { table: AccessRows::table(), range }
    }

    /// Takes a row as it was read.
    pub fn restore(&mut self, key: RowKey, row: Row) {
        self.rows.insert(key, row);
    }

    /// Takes a write of the feed. Those of other rows are ignored.
    pub fn take(&mut self, write: &Write) {
        if AccessRows::interest().includes(&write.cell) {
            let row = self.rows.entry(write.cell.row.clone()).or_default();
            // An operation of another type changes nothing, here as in the store.
            let _ = row.apply(write.cell.column, &write.operation);
        }
    }

    /// Whether this user's tokens of that time are revoked. A token that does not say when it was issued counts as older than any revocation.
    pub fn revokes(&self, identity: &Identity) -> bool {
        let Some(user) = identity.user() else { return false };
        let not_before = self.not_before(user.subject.digest());
        not_before.is_some_and(|at| user.issued.is_none_or(|issued| issued < at))
    }

    /// Since when the tokens of a subject have to be issued, by its digest.
    pub fn not_before(&self, subject: Id) -> Option<WallTime> {
        let row = self.rows.get(&revoked_key(subject)).filter(|row| row.exists())?;
        match row.cell(ColumnId::of(NOT_BEFORE)) {
            Some(CellState::Scalar(Value::Int(micros))) => u64::try_from(*micros).ok().map(WallTime::from_micros),
            Some(_) | None => None,
        }
    }

    /// The subjects whose tokens are revoked, by their digests, and since when they have to be issued.
    pub fn revoked(&self) -> impl Iterator<Item = (Id, WallTime)> {
        let subjects = self.rows.keys().filter_map(subject_of);
        subjects.filter_map(|subject| Some((subject, self.not_before(subject)?)))
    }

    /// The keys of anonymous users, the newest last.
    pub fn seeds(&self) -> Vec<[u8; 32]> {
        let keys = self.rows.iter().filter(|(key, row)| row.exists() && is_key(key));
        keys.filter_map(|(_, row)| match row.cell(ColumnId::of(SEED)) {
            Some(CellState::Scalar(Value::Bytes(seed))) => <[u8; 32]>::try_from(&**seed).ok(),
            Some(_) | None => None,
        })
        .collect()
    }

    /// The writes that revoke a subject's tokens that were issued before a time.
    pub fn revocation(subject: Id, not_before: WallTime) -> Vec<Write> {
        let micros = i64::try_from(not_before.as_micros()).unwrap_or(i64::MAX);
        row_of(&revoked_key(subject), NOT_BEFORE, Value::Int(micros))
    }

    /// The transaction that makes the first key, if there is none yet: its reads and its writes.
    pub fn first_key(seed: [u8; 32]) -> (Vec<Read>, Vec<Write>) {
        let key = RowKey::new(&[Value::string(KEY), Value::Int(0)]).expect("a short key");
        let row = Cell::row(AccessRows::table(), key.clone());
        let read = Read::Cell { cell: row, element: Element::Whole };
        (vec![read], row_of(&key, SEED, Value::bytes(seed)))
    }
}

fn row_of(key: &RowKey, column: &str, value: Value) -> Vec<Write> {
    let table = AccessRows::table();
    let cell = Cell { table, row: key.clone(), column: ColumnId::of(column) };
    vec![
        Write { cell: Cell::row(table, key.clone()), operation: Operation::Create },
        Write { cell, operation: Operation::Put(value) },
    ]
}

fn revoked_key(subject: Id) -> RowKey {
    RowKey::new(&[Value::string(REVOKED), Value::Id(subject)]).expect("a short key")
}

fn subject_of(key: &RowKey) -> Option<Id> {
    match &key.values().ok()?[..] {
        [Value::String(kind), Value::Id(subject)] if &**kind == REVOKED => Some(*subject),
        _ => None,
    }
}

fn is_key(key: &RowKey) -> bool {
    let values = key.values().unwrap_or_default();
    matches!(&values[..], [Value::String(kind), Value::Int(_)] if &**kind == KEY)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Subject, User};

    fn ann(issued: Option<u64>) -> Identity {
        let subject = Subject { issuer: "a".to_owned(), name: "ann".to_owned() };
        let issued = issued.map(WallTime::from_micros);
        Identity::User(Arc::new(User { subject, claims: iolite_rights::Claims::new("ann", []), issued, ends: None }))
    }

    #[test]
    fn tokens_from_before_a_revocation_are_refused_and_no_others() {
        let mut rows = AccessRows::default();
        assert!(!rows.revokes(&ann(None)) && !rows.revokes(&ann(Some(0))));
        let digest = ann(None).user().expect("a user").subject.digest();
        AccessRows::revocation(digest, WallTime::from_micros(7)).iter().for_each(|write| rows.take(write));
        assert!(rows.revokes(&ann(None)) && rows.revokes(&ann(Some(6))));
        assert!(!rows.revokes(&ann(Some(7))) && !rows.revokes(&Identity::Developer));
        AccessRows::revocation(digest, WallTime::from_micros(9)).iter().for_each(|write| rows.take(write));
        assert!(rows.revokes(&ann(Some(7))), "a later one holds");
    }

    #[test]
    fn a_gateway_holds_no_rows_of_devices() {
        let device = crate::UserDevice::new(Id::from_u128(1), Id::from_u128(2));
        let Ok(crate::Admitted::By(_, writes)) = device.admit(WallTime::from_micros(5)) else { panic!("a new device") };
        assert!(!writes.iter().any(|write| AccessRows::interest().includes(&write.cell)));
        let (_, key) = AccessRows::first_key([5; 32]);
        let revoked = AccessRows::revocation(Id::from_u128(2), WallTime::from_micros(5));
        assert!(key.iter().chain(&revoked).all(|write| AccessRows::interest().includes(&write.cell)));
    }

    #[test]
    fn a_key_is_read_as_it_was_written() {
        let mut rows = AccessRows::default();
        let (reads, writes) = AccessRows::first_key([5; 32]);
        writes.iter().for_each(|write| rows.take(write));
        assert_eq!((rows.seeds(), reads.len()), (vec![[5; 32]], 1));
        assert_eq!(rows.not_before(Id::from_u128(5)), None);
    }
}
