//! An entry of an outbox: one transaction, as it is shipped, or a mark.

use std::collections::BTreeMap;

use iolite_values::{ClientId, Counter, Operation, TransactionId, Write};

use super::CentreName;
use crate::encoding::{Reader, Writer, identity};
use crate::generated::{proto, shapes};
use crate::limits::OUTBOX_ENTRY;
use crate::{DecodeError, EncodeError, frame};

/// Bytes of an id.
const ID_BYTES: usize = 16;

/// Where an entry stands in an outbox: its page, and its place there. Places are in the order of the entries, and leave numbers out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub u64);

impl Place {
    /// Before all entries.
    pub const START: Place = Place(0);
    /// After all entries.
    pub const LAST: Place = Place(u64::MAX);
    /// No page has so many entries.
    const IN_PAGE: u64 = 1 << 12;

    /// The entry `index`, from 0, of a page.
    pub fn new(page: u64, index: u64) -> Place {
        Place(page * Place::IN_PAGE + index + 1)
    }

    /// Whether an outbox may have an entry there right behind the one at this place: on the same page, or as the first of the next one.
    pub fn joins(self, next: Place) -> bool {
        match (self.parts(), next.parts()) {
            (None, Some(place)) => place == (0, 0),
            (Some((page, index)), Some(place)) => place == (page, index + 1) || place == (page + 1, 0),
            (_, None) => false,
        }
    }

    /// The page, and the index in it. Of [`Place::START`]: none.
    pub fn parts(self) -> Option<(u64, u64)> {
        let before = self.0.checked_sub(1)?;
        Some((before / Place::IN_PAGE, before % Place::IN_PAGE))
    }
}

/// From where a data centre has taken an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub from: CentreName,
    /// In the outbox there.
    pub place: Place,
}

/// An entry at a place of an outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutboxEntry {
    Transaction(ShippedTransaction),
    Seen(Seen),
}

/// A mark: everything is here that stands in other outboxes through these places. Who has the outbox through the mark has that, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub through: BTreeMap<CentreName, Place>,
    /// Counters through which clients need no outcome any more. What they made through them stands in this outbox before the mark.
    pub acknowledged: BTreeMap<ClientId, Counter>,
}

/// One transaction in an outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShippedTransaction {
    /// The client's own id: the same in every data centre.
    pub transaction: TransactionId,
    /// All that it rests on stands in this outbox at or below this place.
    pub after: Place,
    /// None: a client brought it to this data centre.
    pub taken: Option<Taken>,
    /// Effects, of tables that merge.
    pub writes: Vec<Write>,
}

impl OutboxEntry {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let entry = match self {
            OutboxEntry::Transaction(transaction) => write_transaction(transaction, &mut writer),
            OutboxEntry::Seen(seen) => {
                proto::OutboxEntry { seen: Some(Box::new(write_seen(seen))), ..proto::OutboxEntry::default() }
            }
        };
        writer.check()?;
        frame::encode(&entry, shapes::OUTBOX_ENTRY, OUTBOX_ENTRY)
    }

    /// # Errors
    /// [`DecodeError`]: these bytes are no entry.
    pub fn decode(bytes: &[u8]) -> Result<OutboxEntry, DecodeError> {
        let mut entry: proto::OutboxEntry = frame::decode(bytes, shapes::OUTBOX_ENTRY, OUTBOX_ENTRY)?;
        match entry.seen.take() {
            None => Ok(OutboxEntry::Transaction(read_transaction(entry)?)),
            Some(seen) if entry == proto::OutboxEntry::default() => Ok(OutboxEntry::Seen(read_seen(*seen)?)),
            Some(_) => Err(DecodeError::malformed("a mark that is a transaction as well")),
        }
    }
}

fn write_transaction(transaction: &ShippedTransaction, writer: &mut Writer) -> proto::OutboxEntry {
    let (taken_from, taken_place) = match &transaction.taken {
        Some(taken) => (taken.from.as_str().to_owned(), taken.place.0),
        None => (String::new(), 0),
    };
    proto::OutboxEntry {
        client: transaction.transaction.client.0.to_bytes().to_vec(),
        counter: transaction.transaction.counter.0,
        after: transaction.after.0,
        taken_from,
        taken_place,
        writes: writer.writes(&transaction.writes),
        seen: None,
    }
}

fn read_transaction(entry: proto::OutboxEntry) -> Result<ShippedTransaction, DecodeError> {
    let client = ClientId(identity(&entry.client)?);
    let writes = Reader::default().writes(entry.writes)?;
    let merges = |write: &Write| matches!(write.operation, Operation::Merge(_));
    if entry.counter == 0 || writes.is_empty() || !writes.iter().all(merges) {
        return Err(DecodeError::malformed("an entry without effects, or with more than effects"));
    }
    let transaction = TransactionId { client, counter: Counter(entry.counter) };
    let taken = read_taken(&entry.taken_from, entry.taken_place)?;
    Ok(ShippedTransaction { transaction, after: Place(entry.after), taken, writes })
}

fn write_seen(seen: &Seen) -> proto::OutboxSeen {
    proto::OutboxSeen {
        centres: seen.through.keys().map(|name| name.as_str().to_owned()).collect(),
        through: seen.through.values().map(|place| place.0).collect(),
        clients: seen.acknowledged.keys().flat_map(|client| client.0.to_bytes()).collect(),
        acknowledged: seen.acknowledged.values().map(|counter| counter.0).collect(),
    }
}

fn read_seen(seen: proto::OutboxSeen) -> Result<Seen, DecodeError> {
    let proto::OutboxSeen { centres, through, clients, acknowledged } = seen;
    let malformed = DecodeError::malformed("a mark whose names and numbers are not as many, or not in order");
    let (mut read, lengths) = (Seen::default(), (centres.len(), clients.len()));
    for (name, place) in centres.into_iter().zip(&through) {
        let Ok(name) = CentreName::new(&name) else { return Err(malformed) };
        if read.through.last_key_value().is_some_and(|(last, _)| *last >= name) {
            return Err(malformed);
        }
        read.through.insert(name, Place(*place));
    }
    for (client, counter) in clients.chunks_exact(ID_BYTES).zip(&acknowledged) {
        let client = ClientId(identity(client)?);
        if read.acknowledged.last_key_value().is_some_and(|(last, _)| *last >= client) {
            return Err(malformed);
        }
        read.acknowledged.insert(client, Counter(*counter));
    }
    let is_whole = lengths == (through.len(), acknowledged.len() * ID_BYTES);
    if is_whole { Ok(read) } else { Err(malformed) }
}

fn read_taken(from: &str, place: u64) -> Result<Option<Taken>, DecodeError> {
    if from.is_empty() && place == 0 {
        return Ok(None);
    }
    let malformed = DecodeError::malformed("an entry that was taken from nowhere");
    let Ok(from) = CentreName::new(from) else { return Err(malformed) };
    if place == 0 { Err(malformed) } else { Ok(Some(Taken { from, place: Place(place) })) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_order_of_pages_and_of_the_entries_in_them() {
        let places = [Place::START, Place::new(0, 0), Place::new(0, 127), Place::new(1, 0), Place::new(1, 1)];
        assert!(places.is_sorted() && places.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(Place::START.parts(), None);
        assert_eq!(Place::new(7, 127).parts(), Some((7, 127)));
    }
}
