//! A device and a server for tests of single rules: all is heard at once, and each step is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_rowsync::*;
use iolite_values::*;

pub const TEXT: ColumnId = ColumnId(7);
pub const PIN: ColumnId = ColumnId(8);
#[allow(dead_code, reason = "one test file uses it")]
pub const PHOTO: ColumnId = ColumnId(9);

pub fn table() -> TableId {
    TableId::of("notes")
}

pub fn key(number: i64) -> RowKey {
    RowKey::new(&[Value::Int(number)]).expect("short")
}

pub fn note(text: &str, pin: i64) -> Row {
    let cells = [(TEXT, Value::from(text)), (PIN, Value::Int(pin))];
    Row::from_parts(true, cells.map(|(column, value)| (column, CellState::Scalar(value))))
}

pub fn create(row: i64) -> Write {
    Write { cell: Cell::row(table(), key(row)), operation: Operation::Create }
}

#[allow(dead_code, reason = "each test file uses some of it")]
pub fn delete(row: i64) -> Write {
    Write { cell: Cell::row(table(), key(row)), operation: Operation::Delete }
}

pub fn put(row: i64, column: ColumnId, value: impl Into<Value>) -> Write {
    Write { cell: Cell { table: table(), row: key(row), column }, operation: Operation::Put(value.into()) }
}

/// A device whose calls are on disk at once.
pub struct Device {
    pub rows: RowSync,
    pub server: BTreeMap<RowKey, Row>,
    pub now: u64,
    scheme: Scheme,
    storage: BTreeMap<Vec<u8>, Vec<u8>>,
    next: u64,
}

#[allow(dead_code, reason = "each test file uses some of it")]
impl Device {
    pub fn new(scheme: Scheme) -> Device {
        let rows = RowSync::new(table(), scheme);
        Device { rows, server: BTreeMap::new(), now: 1, scheme, storage: BTreeMap::new(), next: 0 }
    }

    pub fn causal() -> Device {
        Device::new(Scheme::Causal)
    }

    pub fn eventual() -> Device {
        Device::new(Scheme::Eventual)
    }

    /// Puts a row at the server, as somebody else.
    pub fn other(&mut self, row: i64, next: Option<Row>) {
        self.now += 1;
        match next {
            Some(next) => drop(self.server.insert(key(row), next)),
            None => drop(self.server.remove(&key(row))),
        }
    }

    pub fn counter(&mut self) -> Counter {
        self.next += 1;
        Counter(self.next)
    }

    pub fn call(&mut self, writes: &[Write]) -> Counter {
        self.call_on(writes, &BTreeMap::new())
    }

    pub fn call_on(&mut self, writes: &[Write], bases: &BTreeMap<RowKey, RowVersion>) -> Counter {
        let call = self.counter();
        let rows: BTreeSet<RowKey> = writes.iter().map(|write| write.cell.row.clone()).collect();
        let seen: BTreeMap<RowKey, Row> = rows.into_iter().map(|key| (key.clone(), self.shown_at(&key))).collect();
        self.rows.keep(call, writes, |key| seen[key].clone(), bases).expect("it is taken");
        self.save();
        call
    }

    pub fn save(&mut self) {
        for change in self.rows.take_changes() {
            match change.value {
                Some(value) => drop(self.storage.insert(change.key, value)),
                None => drop(self.storage.remove(&change.key)),
            }
        }
        let calls: Vec<Counter> = self.rows.calls().collect();
        calls.into_iter().for_each(|call| self.rows.saved(call));
        self.rows.validate();
    }

    fn shown_at(&self, key: &RowKey) -> Row {
        let shown = self.rows.shown(key, Which::All, confirmed(&self.server, key));
        shown.unwrap_or_else(|| self.server.get(key).cloned().unwrap_or_default())
    }

    /// The row as the device shows it.
    pub fn shown(&self, row: i64) -> Option<Row> {
        Some(self.shown_at(&key(row))).filter(Row::exists)
    }

    pub fn at(&self) -> Timestamp {
        Timestamp::from_u64(self.now)
    }

    pub fn due(&self) -> Option<ChangeSet> {
        let as_it_is = |_: &RowKey, _, blob: &Arc<Blob>| Some(blob.clone());
        self.rows.due(self.at(), |key| confirmed(&self.server, key), as_it_is)
    }

    /// Sends what is due.
    pub fn send(&mut self) -> ChangeSet {
        let set = self.due().expect("something is due");
        let counter = self.counter();
        self.rows.send(counter, set.clone());
        self.save();
        set
    }

    /// The store takes a set, and the device hears of it.
    pub fn commit(&mut self, set: &ChangeSet) -> Vec<Ending> {
        self.now += 1;
        for write in &set.writes {
            let row = self.server.entry(write.cell.row.clone()).or_default();
            row.apply(write.cell.column, &write.operation).expect("its type");
        }
        self.server.retain(|_, row| row.exists());
        self.rows.committed(self.at());
        self.advance()
    }

    /// Sends all that is due until nothing is.
    pub fn sync(&mut self) -> Vec<Ending> {
        let mut endings = self.advance();
        while self.due().is_some() {
            let set = self.send();
            endings.extend(self.commit(&set));
        }
        endings
    }

    pub fn advance(&mut self) -> Vec<Ending> {
        let server = self.server.clone();
        let endings = self.rows.advance(self.at(), |key| confirmed(&server, key));
        self.save();
        endings
    }

    pub fn conflicts(&self) -> Vec<Conflict> {
        self.rows.conflicts(self.at(), |key| confirmed(&self.server, key))
    }

    /// Resolves all conflicts in one way.
    pub fn resolve(&mut self, keep: &Keep) -> Resolved {
        let choice =
            |conflict: Conflict| Choice { key: conflict.key, server: conflict.server_version, keep: keep.clone() };
        let choices: Vec<Choice> = self.conflicts().into_iter().map(choice).collect();
        self.choose(&choices).expect("the conflicts are as they were")
    }

    pub fn choose(&mut self, choices: &[Choice]) -> Result<Resolved, ResolveError> {
        let (by, server) = (self.counter(), self.server.clone());
        let resolved = self.rows.resolve(by, choices, self.at(), |key| confirmed(&server, key));
        self.save();
        resolved
    }

    /// The set is aborted for good.
    pub fn close(&mut self) -> Vec<Ending> {
        let endings = self.rows.closed();
        self.save();
        endings
    }

    pub fn restart(&mut self) {
        let entries = self.storage.iter().map(|(key, value)| (&key[..], &value[..]));
        self.rows = RowSync::restore(table(), self.scheme, entries).expect("its own storage");
        self.save();
    }
}

pub fn confirmed<'a>(rows: &'a BTreeMap<RowKey, Row>, key: &RowKey) -> Confirmed<'a> {
    rows.get(key).map_or(Confirmed::Absent, Confirmed::There)
}

#[allow(dead_code, reason = "each test file uses some of it")]
pub fn ended(call: Counter, how: How) -> Ending {
    Ending { call, how }
}
