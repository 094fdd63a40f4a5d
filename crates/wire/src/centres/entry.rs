//! An entry of an outbox: one transaction, as it is shipped.

use iolite_values::{Counter, Operation, TransactionId, Write};

use super::CentreName;
use crate::encoding::{Reader, Writer, identity};
use crate::generated::{proto, shapes};
use crate::limits::OUTBOX_ENTRY;
use crate::{DecodeError, EncodeError, frame};

/// Where an entry stands in an outbox: its page, and its place there. Places are in the order of the entries, and leave numbers out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub u64);

impl Place {
    /// Before all entries.
    pub const START: Place = Place(0);
    /// No page has so many entries.
    const IN_PAGE: u64 = 1 << 12;

    /// The entry `index`, from 0, of a page.
    pub fn new(page: u64, index: u64) -> Place {
        Place(page * Place::IN_PAGE + index + 1)
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

/// One transaction in an outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEntry {
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
        let (taken_from, taken_place) = match &self.taken {
            Some(taken) => (taken.from.as_str().to_owned(), taken.place.0),
            None => (String::new(), 0),
        };
        let entry = proto::OutboxEntry {
            client: self.transaction.client.0.to_bytes().to_vec(),
            counter: self.transaction.counter.0,
            after: self.after.0,
            taken_from,
            taken_place,
            writes: writer.writes(&self.writes),
        };
        writer.check()?;
        frame::encode(&entry, shapes::OUTBOX_ENTRY, OUTBOX_ENTRY)
    }

    /// # Errors
    /// [`DecodeError`]: these bytes are no entry.
    pub fn decode(bytes: &[u8]) -> Result<OutboxEntry, DecodeError> {
        let entry: proto::OutboxEntry = frame::decode(bytes, shapes::OUTBOX_ENTRY, OUTBOX_ENTRY)?;
        let transaction = TransactionId {
            client: iolite_values::ClientId(identity(&entry.client)?),
            counter: Counter(entry.counter),
        };
        let writes = Reader::default().writes(entry.writes)?;
        let merges = |write: &Write| matches!(write.operation, Operation::Merge(_));
        if entry.counter == 0 || writes.is_empty() || !writes.iter().all(merges) {
            return Err(DecodeError::malformed("an entry without effects, or with more than effects"));
        }
        let taken = read_taken(&entry.taken_from, entry.taken_place)?;
        Ok(OutboxEntry { transaction, after: Place(entry.after), taken, writes })
    }
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
