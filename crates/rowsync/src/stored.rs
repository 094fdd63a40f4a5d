//! Kept calls as a device stores them: entries of one kind, each with the version of the format.
//!
//! Invariants: an entry stands alone, and equal states have equal bytes. An effect is stored once, with its call: a call that joins a long chain stores
//! itself and the head of the chain. The client stores the changes of one step together, or none.

use std::collections::BTreeMap;

use iolite_values::{CellState, Counter, Row, RowKey, TableId, Timestamp};
use iolite_wire::client_storage::StoredRow;

use crate::chain::{Chain, Effect};
use crate::change::{Change, scalar};
use crate::restore::RestoreError;
use crate::rowsync::RowSync;
use crate::sets::{Set, Stage, Why};
use crate::{Cells, RowVersion};

/// The first byte of the keys of all entries: the kind of the client's storage.
pub const KIND: u8 = b'k';
/// The first byte of each entry's value.
pub const FORMAT_VERSION: u8 = 1;

const CALL: u8 = b'c';
const ROW: u8 = b'r';
const SET: u8 = b's';

/// A change of the client's storage: the entry under this key gets these bytes, or goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageChange {
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
}

/// Names an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Entry {
    Call(Counter),
    Row(RowKey),
    Set,
}

/// A call, with its effects by row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoredCall {
    pub(crate) alone: bool,
    pub(crate) effects: Vec<(RowKey, Effect)>,
}

/// The heads of a row's chains.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoredHeads {
    pub(crate) sent: Option<Chain>,
    pub(crate) waiting: Option<Chain>,
}

impl RowSync {
    /// The entries that are different since the last time. The client stores all of them in the step in hand.
    pub fn take_changes(&mut self) -> Vec<StorageChange> {
        let dirty = std::mem::take(&mut self.dirty);
        dirty.iter().map(|entry| StorageChange { key: entry.key(self.table), value: self.value_of(entry) }).collect()
    }

    /// All entries, for a storage that has lost what it was told.
    pub fn entries(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let calls = self.calls.keys().map(|call| Entry::Call(*call));
        let rows = self.rows.keys().map(|key| Entry::Row(key.clone()));
        let entries = calls.chain(rows).chain([Entry::Set]);
        entries.filter_map(|entry| Some((entry.key(self.table), self.value_of(&entry)?))).collect()
    }

    fn value_of(&self, entry: &Entry) -> Option<Vec<u8>> {
        let mut bytes = Bytes(vec![FORMAT_VERSION]);
        match entry {
            Entry::Call(call) => {
                let own = self.calls.get(call)?;
                bytes.flag(own.alone);
                for key in &own.keys {
                    let effects = self.rows.get(key).into_iter().flat_map(|kept| kept.effects());
                    for effect in effects.filter(|effect| effect.call == *call) {
                        bytes.effect(self.table, key, effect);
                    }
                }
            }
            Entry::Row(key) => {
                let kept = self.rows.get(key)?;
                bytes.head(self.table, key, kept.sent.as_ref());
                bytes.head(self.table, key, kept.waiting.as_ref());
            }
            Entry::Set => bytes.set(self.set.as_ref()?),
        }
        Some(bytes.0)
    }
}

impl Entry {
    fn key(&self, table: TableId) -> Vec<u8> {
        let head = |kind| [&[KIND][..], &table.0.to_be_bytes(), &[kind]].concat();
        match self {
            Entry::Call(call) => [head(CALL), call.0.to_be_bytes().to_vec()].concat(),
            Entry::Row(key) => [head(ROW), key.as_bytes().to_vec()].concat(),
            Entry::Set => head(SET),
        }
    }

    /// The table and the name of the entry with this key.
    pub(crate) fn of_key(key: &[u8]) -> Option<(TableId, Entry)> {
        let (&kind, rest) = key.split_first()?;
        let (table, rest) = rest.split_first_chunk::<4>()?;
        let (&sort, name) = rest.split_first()?;
        let entry = match sort {
            CALL => Entry::Call(Counter(u64::from_be_bytes(name.try_into().ok()?))),
            ROW => Entry::Row(RowKey::from_bytes(name).ok()?),
            SET if name.is_empty() => Entry::Set,
            _ => return None,
        };
        (kind == KIND).then_some((TableId(u32::from_be_bytes(*table)), entry))
    }
}

/// Bytes that are being written: numbers with eight bytes, and lengths before what has one.
struct Bytes(Vec<u8>);

impl Bytes {
    fn flag(&mut self, flag: bool) {
        self.0.push(flag.into());
    }

    fn number(&mut self, number: u64) {
        self.0.extend(number.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn row(&mut self, table: TableId, key: &RowKey, row: &Row) {
        let bytes = StoredRow::encode_of(table, key, row).expect("`keep` takes rows of so many cells");
        self.bytes(&bytes);
    }

    fn effect(&mut self, table: TableId, key: &RowKey, effect: &Effect) {
        self.number(effect.place);
        let (number, exists) = match &effect.change {
            Change::Insert(_) => (0, true),
            Change::Update(_) => (1, true),
            Change::Delete => (2, false),
        };
        self.0.push(number);
        let cells = effect.change.cells().into_iter().flatten();
        let cells = cells.map(|(column, value)| (*column, CellState::Scalar(value.clone())));
        self.row(table, key, &Row::from_parts(exists, cells));
    }

    fn head(&mut self, table: TableId, key: &RowKey, chain: Option<&Chain>) {
        self.flag(chain.is_some());
        let Some(chain) = chain else { return };
        self.row(table, key, &chain.onto);
        self.flag(chain.given.is_some());
        self.0.extend(chain.given.iter().flat_map(|version| version.0));
        self.number(chain.judge_from.as_u64());
        self.flag(chain.came_back);
    }

    fn set(&mut self, set: &Set) {
        self.number(set.counter.0);
        self.flag(set.alone);
        match &set.stage {
            Stage::Sent => self.0.push(0),
            Stage::Closing(Why::Conflict(told)) => {
                self.0.push(1);
                self.number(told.as_u64());
            }
            Stage::Closing(Why::Refused(reason)) => {
                self.0.push(2);
                self.bytes(reason.as_bytes());
            }
            Stage::Closing(Why::Restarted) => self.0.push(3),
            Stage::Committed(at) => {
                self.0.push(4);
                self.number(at.as_u64());
            }
        }
        set.calls.iter().for_each(|call| self.number(call.0));
    }
}

/// Bytes that are being read.
pub(crate) struct Parser<'a>(&'a [u8]);

type Parsed<T> = Result<T, RestoreError>;

const fn malformed<T>(what: &'static str) -> Parsed<T> {
    Err(RestoreError::Malformed(what))
}

impl<'a> Parser<'a> {
    /// Reads the version.
    pub(crate) fn new(bytes: &'a [u8]) -> Parsed<Parser<'a>> {
        match bytes.split_first() {
            Some((&FORMAT_VERSION, rest)) => Ok(Parser(rest)),
            Some((version, _)) => Err(RestoreError::UnknownVersion(*version)),
            None => malformed("an entry without a version"),
        }
    }

    fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    fn array<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        let Some((array, rest)) = self.0.split_first_chunk::<N>() else { return malformed("an entry that is cut off") };
        self.0 = rest;
        Ok(*array)
    }

    fn byte(&mut self) -> Parsed<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn flag(&mut self) -> Parsed<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            2.. => malformed("a flag that is neither yes nor no"),
        }
    }

    fn number(&mut self) -> Parsed<u64> {
        self.array().map(u64::from_be_bytes)
    }

    fn bytes(&mut self) -> Parsed<&'a [u8]> {
        let length = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let Some((bytes, rest)) = self.0.split_at_checked(length) else { return malformed("an entry that is cut off") };
        self.0 = rest;
        Ok(bytes)
    }

    /// A row of scalars.
    fn row(&mut self, table: TableId) -> Parsed<(RowKey, Row)> {
        let stored = StoredRow::decode(self.bytes()?)?;
        if stored.table != table {
            return malformed("a row of another table");
        }
        if stored.row.cells().any(|(_, state)| scalar(state).is_none()) {
            return malformed("a cell that is no scalar");
        }
        if !stored.row.exists() && stored.row.cells().next().is_some() {
            return malformed("a row that is gone, with cells");
        }
        Ok((stored.key, stored.row))
    }

    fn effect(&mut self, table: TableId, call: Counter) -> Parsed<(RowKey, Effect)> {
        let (place, number) = (self.number()?, self.byte()?);
        let (key, row) = self.row(table)?;
        let exists = row.exists();
        let mut cells = Cells::new();
        for (column, state) in row.into_cells() {
            match state {
                CellState::Scalar(value) => drop(cells.insert(column, value)),
                CellState::Row(_)
                | CellState::Register(_)
                | CellState::Counter(_)
                | CellState::Set(_)
                | CellState::List(_)
                | CellState::Map(_)
                | CellState::Text(_)
                | CellState::Merged(_) => return malformed("an effect on a cell that is no scalar"),
            }
        }
        let change = match (number, exists) {
            (0, true) => Change::Insert(cells),
            (1, true) => Change::Update(cells),
            (2, false) => Change::Delete,
            (0..=2, true | false) | (3.., _) => return malformed("an effect of no known kind"),
        };
        Ok((key, Effect { place, call, change }))
    }

    pub(crate) fn call(mut self, table: TableId, call: Counter) -> Parsed<StoredCall> {
        let alone = self.flag()?;
        let mut effects = Vec::new();
        while !self.is_at_end() {
            effects.push(self.effect(table, call)?);
        }
        Ok(StoredCall { alone, effects })
    }

    fn head(&mut self, table: TableId, key: &RowKey) -> Parsed<Option<Chain>> {
        if !self.flag()? {
            return Ok(None);
        }
        let (own, onto) = self.row(table)?;
        if own != *key {
            return malformed("a chain of another row");
        }
        let given = if self.flag()? { Some(RowVersion(self.array()?)) } else { None };
        let (judge_from, came_back) = (Timestamp::from_u64(self.number()?), self.flag()?);
        Ok(Some(Chain { given, judge_from, came_back, ..Chain::on(onto) }))
    }

    pub(crate) fn heads(mut self, table: TableId, key: &RowKey) -> Parsed<StoredHeads> {
        let heads = StoredHeads { sent: self.head(table, key)?, waiting: self.head(table, key)? };
        if self.is_at_end() { Ok(heads) } else { malformed("an entry with more than it should have") }
    }

    pub(crate) fn set(mut self) -> Parsed<Set> {
        let (counter, alone) = (Counter(self.number()?), self.flag()?);
        let stage = match self.byte()? {
            0 => Stage::Sent,
            1 => Stage::Closing(Why::Conflict(Timestamp::from_u64(self.number()?))),
            2 => match std::str::from_utf8(self.bytes()?) {
                Ok(reason) => Stage::Closing(Why::Refused(reason.to_owned())),
                Err(_) => return malformed("a reason that is no text"),
            },
            3 => Stage::Closing(Why::Restarted),
            4 => Stage::Committed(Timestamp::from_u64(self.number()?)),
            5.. => return malformed("a change set in no known stage"),
        };
        let mut calls = std::collections::BTreeSet::new();
        while !self.is_at_end() {
            let call = Counter(self.number()?);
            if calls.last().is_some_and(|last| *last >= call) {
                return malformed("the calls of a change set are in order");
            }
            calls.insert(call);
        }
        Ok(Set { counter, calls, alone, stage })
    }
}
