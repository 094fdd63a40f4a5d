//! Reads back what the host stored.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Interest, Row, SchemaHash, StoreIncarnation, Timestamp};
use iolite_wire::client_storage::{
    MutationStatus, StoredEnd, StoredInterest, StoredLog, StoredMeta, StoredMutation, StoredRow,
};
use iolite_wire::limits;

use super::{OpenError, kind};
use crate::cache::{Cache, RowId};

/// Everything that a client's storage held.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) meta: Option<StoredMeta>,
    pub(crate) rows: BTreeMap<RowId, Row>,
    pub(crate) interests: Vec<Interest>,
    pub(crate) mutations: Vec<StoredMutation>,
    pub(crate) refused: Vec<StoredMutation>,
    /// Calls of tabs that did not lead, in the order in which they were made.
    pub(crate) outbox: Vec<StoredMutation>,
    pub(crate) ends: Vec<StoredEnd>,
    pub(crate) logs: Vec<StoredLog>,
    /// Entries of kept calls.
    pub(crate) kept: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The calls that are kept, as they were called.
    pub(crate) kept_calls: Vec<StoredMutation>,
}

impl Loaded {
    /// Takes the host's map, in any order.
    ///
    /// # Errors
    /// [`OpenError`] when anything in it cannot be read: a client does not go on with half of its store.
    pub(crate) fn read(entries: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<Loaded, OpenError> {
        let mut loaded = Loaded::default();
        let mut empty = true;
        for (key, value) in entries {
            // A tab may store a call before the first client of all has stored itself.
            empty &= key.first() == Some(&kind::OUTBOX);
            loaded.take(&key, &value)?;
        }
        if loaded.meta.is_none() && !empty {
            return Err(OpenError::Headless);
        }
        loaded.mutations.sort_by_key(|mutation| mutation.counter);
        loaded.outbox.sort_by_key(|call| (call.called_at_micros, call.ticket));
        Ok(loaded)
    }

    /// # Errors
    /// [`OpenError::OtherUser`], [`OpenError::UserTooLong`].
    pub(crate) fn check_user(&self, user: &str) -> Result<(), OpenError> {
        if let Some(meta) = self.meta.as_ref().filter(|meta| meta.user != user) {
            return Err(OpenError::OtherUser { stored: meta.user.clone(), asked: user.to_owned() });
        }
        if user.len() > limits::NAME.most {
            return Err(OpenError::UserTooLong { limit: limits::NAME.most });
        }
        Ok(())
    }

    /// Whether the stored cache is of this schema, and was kept whole.
    pub(crate) fn is_of(&self, schema: SchemaHash) -> bool {
        self.meta.as_ref().is_some_and(|meta| meta.store.is_some() && meta.schema == schema)
    }

    /// The stored cache and the history that it is of, if it was kept whole. Under another schema than the app has now its content is of no use:
    /// then the cache is empty, and knows only how far it was. Returns also the rows that are stored in vain, whole or in part.
    pub(crate) fn take_cache(&mut self, schema: SchemaHash) -> (Option<StoreIncarnation>, Cache, BTreeSet<RowId>) {
        let (rows, interests) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.interests));
        let Some((store, at, of)) = self.meta.as_ref().and_then(|meta| Some((meta.store?, meta.at, meta.schema)))
        else {
            return (None, Cache::emptied(Timestamp::ZERO, interests), rows.into_keys().collect());
        };
        if of == schema {
            let (cache, lost) = Cache::restored(at, rows, interests);
            return (Some(store), cache, lost);
        }
        (Some(store), Cache::emptied(at, interests), rows.into_keys().collect())
    }

    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<(), OpenError> {
        match key.first() {
            Some(&kind::META) => self.meta = Some(StoredMeta::decode(value)?),
            Some(&kind::MUTATION) => {
                let mutation = StoredMutation::decode(value)?;
                match mutation.status {
                    MutationStatus::Kept => self.kept_calls.push(mutation),
                    MutationStatus::Waiting | MutationStatus::Rejected(_) | MutationStatus::Quarantined(_) => {
                        self.mutations.push(mutation);
                    }
                }
            }
            Some(&iolite_rowsync::KIND) => drop(self.kept.insert(key.to_vec(), value.to_vec())),
            Some(&kind::REFUSED) => self.refused.push(StoredMutation::decode(value)?),
            Some(&kind::OUTBOX) => self.outbox.push(StoredMutation::decode(value)?),
            Some(&kind::LOG) => self.logs.push(StoredLog::decode(value)?),
            Some(&kind::END) => self.ends.push(StoredEnd::decode(value)?),
            Some(&kind::INTEREST) => self.interests.push(StoredInterest::decode(value)?.interest),
            Some(&kind::ROW) => {
                let StoredRow { table, key, row } = StoredRow::decode(value)?;
                self.rows.insert((table, key), row);
            }
            _ => return Err(OpenError::UnknownKey(key.to_vec())),
        }
        Ok(())
    }
}
