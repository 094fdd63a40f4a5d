//! Reads back what a device stored.
//!
//! Invariants: storage is restored whole or refused, and no bytes make it panic. After a restart all is as before, but for a set without an outcome: that is
//! closed first, because the app may have ended before or after the store took it.

use std::collections::BTreeMap;

use iolite_values::{Counter, RowKey, TableId};
use iolite_wire::DecodeError;

use crate::chain::{Chain, Kept};
use crate::rowsync::{Call, RowSync, Scheme};
use crate::sets::{Set, Stage, Why};
use crate::stored::{Entry, FORMAT_VERSION, Parser, StoredCall, StoredHeads};

/// Why kept calls cannot be restored. Leave the storage as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    #[error(
        "the kept calls on this device were written by a newer release (format {0}, known up to {FORMAT_VERSION}): use that release"
    )]
    UnknownVersion(u8),
    #[error(
        "the kept calls on this device have an entry under an unknown key {0:02x?}: use a newer release, or the storage is damaged"
    )]
    UnknownKey(Vec<u8>),
    #[error("the kept calls on this device are damaged: {0}")]
    Malformed(&'static str),
    #[error("a row of the kept calls on this device is damaged: {0}")]
    Row(#[from] DecodeError),
    #[error("the kept calls on this device do not fit each other: {0}")]
    Inconsistent(&'static str),
}

#[derive(Default)]
struct Parts {
    calls: BTreeMap<Counter, StoredCall>,
    rows: BTreeMap<RowKey, StoredHeads>,
    set: Option<Set>,
}

impl RowSync {
    /// The kept calls of one table, from its entries in any order.
    ///
    /// # Errors
    /// [`RestoreError`]: an entry that is none, or entries that do not fit each other.
    pub fn restore<'a>(
        table: TableId,
        scheme: Scheme,
        entries: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<RowSync, RestoreError> {
        let mut parts = Parts::default();
        for (key, value) in entries {
            parts.add(table, key, value)?;
        }
        let mut rows = RowSync::new(table, scheme);
        rows.set = parts.set;
        for (key, StoredHeads { sent, waiting }) in parts.rows {
            rows.rows.insert(key, Kept { sent, waiting });
        }
        for (call, stored) in parts.calls {
            rows.restore_call(call, stored)?;
        }
        rows.check_restored()?;
        rows.bytes = rows.count_bytes();
        if let Some(set) = rows.set.as_mut().filter(|set| set.stage == Stage::Sent) {
            set.stage = Stage::Closing(Why::Restarted);
            rows.dirty.insert(Entry::Set);
        }
        Ok(rows)
    }

    /// The table of an entry of this kind, by its key.
    pub fn table_of_entry(key: &[u8]) -> Option<TableId> {
        Entry::of_key(key).map(|(table, _)| table)
    }

    fn restore_call(&mut self, call: Counter, stored: StoredCall) -> Result<(), RestoreError> {
        let is_sent = self.is_sent(call);
        let mut own = Call { alone: stored.alone, durable: true, ..Call::default() };
        for (key, effect) in stored.effects {
            let kept =
                self.rows.get_mut(&key).ok_or(RestoreError::Inconsistent("an effect of a row without a base"))?;
            let chain = if is_sent { &mut kept.sent } else { &mut kept.waiting };
            let chain = chain.as_mut().ok_or(RestoreError::Inconsistent("an effect of a chain without a base"))?;
            // Places are counted up by one: nobody comes so far.
            if effect.place > u64::MAX / 2 {
                return Err(RestoreError::Inconsistent("an effect at a place that no device reaches"));
            }
            self.next_place = self.next_place.max(effect.place + 1);
            chain.effects.push(effect);
            own.keys.insert(key);
        }
        if own.keys.is_empty() {
            return Err(RestoreError::Inconsistent("a call without an effect"));
        }
        self.calls.insert(call, own);
        Ok(())
    }

    fn check_restored(&mut self) -> Result<(), RestoreError> {
        let all_are_kept = self.set.iter().flat_map(|set| &set.calls).all(|call| self.calls.contains_key(call));
        if !all_are_kept || self.set.as_ref().is_some_and(|set| set.calls.is_empty()) {
            return Err(RestoreError::Inconsistent("a change set of a call that is not kept"));
        }
        for kept in self.rows.values_mut() {
            for chain in [&mut kept.sent, &mut kept.waiting].into_iter().flatten() {
                order(chain)?;
            }
            if kept.sent.is_none() && kept.waiting.is_none() {
                return Err(RestoreError::Inconsistent("a row without a chain"));
            }
            if !kept.effects().map(|effect| effect.place).is_sorted_by(|one, next| one < next) {
                return Err(RestoreError::Inconsistent("two effects at one place"));
            }
        }
        Ok(())
    }
}

fn order(chain: &mut Chain) -> Result<(), RestoreError> {
    chain.effects.sort_by_key(|effect| effect.place);
    if chain.effects.is_empty() { Err(RestoreError::Inconsistent("a base without an effect")) } else { Ok(()) }
}

impl Parts {
    fn add(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<(), RestoreError> {
        let unknown = || RestoreError::UnknownKey(key.to_vec());
        let (own, entry) = Entry::of_key(key).ok_or_else(unknown)?;
        if own != table {
            return Err(RestoreError::Inconsistent("an entry of another table"));
        }
        let parser = Parser::new(value)?;
        let is_new = match entry {
            Entry::Call(call) => self.calls.insert(call, parser.call(table, call)?).is_none(),
            Entry::Row(key) => {
                let heads = parser.heads(table, &key)?;
                self.rows.insert(key, heads).is_none()
            }
            Entry::Set => self.set.replace(parser.set()?).is_none(),
        };
        if is_new { Ok(()) } else { Err(RestoreError::Inconsistent("an entry that is there twice")) }
    }
}
