//! The kept calls of one table, and how they are shown.
//!
//! Invariant: each effect is of a call that is kept, and each kept call has an effect. A call ends once: with its effects.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Blob, Consistency, Counter, OnConflict, Operation, Row, RowKey, TableId, Timestamp, Value, Write};

use crate::chain::{Chain, Effect, Kept, shown_on};
use crate::change::{Change, scalar};
use crate::sets::Set;
use crate::stored::Entry;

/// How a table deals with two who write a row unseen by each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// A conflict, which the app resolves.
    Causal,
    /// The later write stands, column by column.
    Eventual,
}

/// A row as the server has it, as far as the client knows.
#[derive(Clone, Copy, Debug)]
pub enum Confirmed<'a> {
    /// The row is not held whole, and nobody tells of it.
    Unknown,
    Absent,
    There(&'a Row),
}

/// The calls that a view of rows has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    All,
    /// The calls that a restart would find.
    Durable,
}

/// A call that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub call: Counter,
    pub how: How,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// The confirmed rows contain it. No timestamp: its effects took each other back, so nothing was sent.
    Confirmed(Option<Timestamp>),
    /// A person did not keep an effect of it.
    Overruled,
    /// The store refused it, for this reason.
    Refused(String),
}

/// A rule that is left out, for tests: histories have to find it. Everything else leaves it at [`Broken::Nothing`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    #[default]
    Nothing,
    /// The base of a kept effect follows the confirmed row.
    BaseMovesOn,
    /// A chain is judged while a set carries it.
    JudgeBeforeOutcome,
    /// Effects of a row in a set join the chain that was sent.
    FoldWhatWasSent,
    /// A refused set ends all of its calls.
    OneRefusedAll,
}

/// A kept call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) keys: BTreeSet<RowKey>,
    /// A set that it was in was refused, so its group is sent by itself.
    pub(crate) alone: bool,
    /// Storage has it.
    pub(crate) durable: bool,
}

/// The kept calls, the open change set and the conflicts of one table. Pure: the client that owns it stores, sends and tells.
#[derive(Clone, Debug)]
pub struct RowSync {
    pub(crate) table: TableId,
    pub(crate) scheme: Scheme,
    pub(crate) calls: BTreeMap<Counter, Call>,
    pub(crate) rows: BTreeMap<RowKey, Kept>,
    pub(crate) set: Option<Set>,
    /// The place of the next effect.
    pub(crate) next_place: u64,
    /// Bytes of all effects and of the rows that they rest on.
    pub(crate) bytes: usize,
    /// The entries of storage that are other than storage has them.
    pub(crate) dirty: BTreeSet<Entry>,
    pub(crate) broken: Broken,
}

impl Scheme {
    /// The scheme of a table that syncs.
    pub fn of(consistency: &Consistency) -> Option<Scheme> {
        match consistency {
            Consistency::Eventual => Some(Scheme::Eventual),
            Consistency::Causal { on_conflict: OnConflict::Manual } => Some(Scheme::Causal),
            Consistency::Strong
            | Consistency::Log { .. }
            | Consistency::Causal { on_conflict: OnConflict::Merge { .. } } => None,
        }
    }

    pub(crate) fn put(self, value: Value) -> Operation {
        match self {
            Scheme::Causal => Operation::Put(value),
            Scheme::Eventual => Operation::Assign(value),
        }
    }
}

impl RowSync {
    pub fn new(table: TableId, scheme: Scheme) -> RowSync {
        let (calls, rows, dirty) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        RowSync { table, scheme, calls, rows, set: None, next_place: 0, bytes: 0, dirty, broken: Broken::Nothing }
    }

    /// The same with a rule left out.
    pub fn break_for_tests(&mut self, broken: Broken) {
        self.broken = broken;
    }

    pub fn table(&self) -> TableId {
        self.table
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// A call is in storage: it may be sent.
    pub fn saved(&mut self, call: Counter) {
        if let Some(call) = self.calls.get_mut(&call) {
            call.durable = true;
        }
    }

    /// A row as it is shown, if any call of the view has written it. A row that is gone is [`Row::default`].
    pub fn shown(&self, key: &RowKey, which: Which, confirmed: Confirmed<'_>) -> Option<Row> {
        let kept = self.rows.get(key)?;
        let is_of_view = |effect: &&Effect| match which {
            Which::All => true,
            Which::Durable => self.calls.get(&effect.call).is_some_and(|call| call.durable),
        };
        let effects: Vec<&Effect> = kept.effects().filter(is_of_view).collect();
        effects.first()?;
        let base = match (self.scheme, confirmed) {
            (Scheme::Causal, _) => kept.chains().next()?.onto.clone(),
            (Scheme::Eventual, Confirmed::There(row)) => row.clone(),
            (Scheme::Eventual, Confirmed::Absent | Confirmed::Unknown) => Row::default(),
        };
        Some(shown_on(base, self.scheme, effects))
    }

    /// All rows that kept calls have written, in the order of keys.
    pub fn keys(&self) -> impl Iterator<Item = &RowKey> {
        self.rows.keys()
    }

    /// The rows that the client has to stay subscribed to.
    pub fn wanted(&self) -> impl Iterator<Item = &RowKey> {
        self.rows.iter().filter(|(_, kept)| kept.chains().any(Chain::wants_row)).map(|(key, _)| key)
    }

    /// All kept calls, in the order of their counters.
    pub fn calls(&self) -> impl Iterator<Item = Counter> {
        self.calls.keys().copied()
    }

    /// Whether any call is kept.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The rows that a call has written.
    pub fn rows_of(&self, call: Counter) -> impl Iterator<Item = &RowKey> {
        self.calls.get(&call).into_iter().flat_map(|call| &call.keys)
    }

    /// The last call that has written a row.
    pub fn last_call(&self, key: &RowKey) -> Option<Counter> {
        self.rows.get(key)?.effects().last().map(|effect| effect.call)
    }

    /// The writes that make a row that is shown of the confirmed one.
    pub fn writes_between(&self, key: &RowKey, confirmed: &Row, shown: &Row) -> Vec<Write> {
        Change::between(confirmed, shown).writes(self.scheme, self.table, key, confirmed)
    }

    /// Takes a call back that no change set carries. It is as if it had never been made. One that inserted a row stays if a later one updates that row:
    /// the update would have no effect.
    pub fn take_back(&mut self, call: Counter) -> bool {
        let stands = |key| self.waiting(key).is_none_or(|chain| chain.stands_without(call));
        let goes = !self.is_sent(call) && self.calls.contains_key(&call) && self.rows_of(call).all(stands);
        if goes {
            self.end(call, How::Overruled);
            self.bytes = self.count_bytes();
        }
        goes
    }

    /// Whether a change set carries a call.
    pub fn is_sent(&self, call: Counter) -> bool {
        self.set.as_ref().is_some_and(|set| set.calls.contains(&call))
    }

    /// All blobs that kept effects and their bases name. Their chunks have to stay on the device.
    pub fn blobs(&self) -> impl Iterator<Item = &Blob> {
        let chains = || self.rows.values().flat_map(Kept::chains);
        let bases = chains().flat_map(|chain| chain.onto.cells()).filter_map(|(_, state)| scalar(state));
        let cells = chains().flat_map(|chain| &chain.effects).filter_map(|effect| effect.change.cells());
        bases.chain(cells.flat_map(|cells| cells.values())).filter_map(|value| match value {
            Value::Blob(blob) => Some(&**blob),
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Id(_) => None,
        })
    }

    /// Bytes of all effects and of the rows that they rest on.
    pub fn size_bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn count_bytes(&self) -> usize {
        self.rows.iter().map(|(key, kept)| kept_bytes(key, kept)).sum()
    }

    pub(crate) fn waiting(&self, key: &RowKey) -> Option<&Chain> {
        self.rows.get(key)?.waiting.as_ref()
    }

    /// Ends a call: its effects are gone.
    pub(crate) fn end(&mut self, call: Counter, how: How) -> Option<Ending> {
        let gone = self.calls.remove(&call)?;
        self.dirty.insert(Entry::Call(call));
        for key in gone.keys {
            self.without_effects(&key, |effect| effect.call == call);
        }
        Some(Ending { call, how })
    }

    pub(crate) fn without_effects(&mut self, key: &RowKey, goes: impl Fn(&Effect) -> bool) {
        let Some(kept) = self.rows.get_mut(key) else { return };
        for chain in [&mut kept.sent, &mut kept.waiting] {
            if let Some(own) = chain {
                own.effects.retain(|effect| !goes(effect));
            }
            chain.take_if(|own| own.effects.is_empty());
        }
        if *kept == Kept::default() {
            self.rows.remove(key);
        }
        self.dirty.insert(Entry::Row(key.clone()));
    }

    /// # Panics
    /// If an invariant of this crate does not hold.
    pub fn validate(&self) {
        assert_eq!(self.bytes, self.count_bytes(), "the bytes of what is kept");
        let mut keys: BTreeMap<Counter, BTreeSet<RowKey>> = BTreeMap::new();
        for (key, kept) in &self.rows {
            assert!(kept.chains().next().is_some(), "a row is kept for its effects");
            for chain in kept.chains() {
                assert!(!chain.effects.is_empty(), "a chain has effects");
            }
            let places: Vec<u64> = kept.effects().map(|effect| effect.place).collect();
            assert!(places.is_sorted_by(|one, next| one < next), "effects stand in their order");
            assert!(places.iter().all(|place| *place < self.next_place), "no place is used twice");
            for effect in kept.effects() {
                keys.entry(effect.call).or_default().insert(key.clone());
            }
            for effect in kept.sent.iter().flat_map(|chain| &chain.effects) {
                let folded = self.broken == Broken::FoldWhatWasSent;
                assert!(self.is_sent(effect.call) || folded, "what was sent is of a call of the set");
            }
            for effect in kept.waiting.iter().flat_map(|chain| &chain.effects) {
                assert!(!self.is_sent(effect.call), "a call is sent with all that it wrote");
            }
        }
        let own = self.calls.iter().map(|(call, own)| (*call, own.keys.clone()));
        assert_eq!(own.collect::<BTreeMap<_, _>>(), keys, "the effects are of kept calls");
        let sent = self.set.iter().flat_map(|set| &set.calls);
        assert!(sent.clone().all(|call| self.calls.contains_key(call)), "a set carries kept calls");
    }
}

pub(crate) fn kept_bytes(key: &RowKey, kept: &Kept) -> usize {
    key.as_bytes().len() + kept.chains().map(Chain::size_bytes).sum::<usize>()
}
