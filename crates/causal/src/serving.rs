//! Serving this data centre's outbox to a peer: from memory what is recent, and else from the pages.
//!
//! Invariants: entries go out in order, without a hole; what is on its way and not said to be applied is bounded in bytes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use iolite_logs::Page;
use iolite_store::RowAt;
use iolite_values::TransactionId;
use iolite_wire::centres::{Entries, OutboxEntry, Place, ShippedTransaction};

use crate::limits::{RECENT_BYTES_MAX, UNAPPLIED_BYTES_MAX};
use crate::tables;

/// Bytes of entries of one message. The last one may pass it.
const MESSAGE_BYTES: usize = 256 << 10;

/// The end of the outbox, in memory.
#[derive(Clone, Debug)]
pub struct Recent {
    /// The place before the first one.
    after: Place,
    entries: VecDeque<Entry>,
    /// The places of its transactions.
    transactions: BTreeMap<TransactionId, Place>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Entry {
    place: Place,
    bytes: Arc<[u8]>,
    transaction: Option<TransactionId>,
}

/// One peer that follows.
#[derive(Clone, Debug)]
pub struct Serving {
    /// The last entry that was sent.
    sent: Place,
    unapplied: VecDeque<(Place, usize)>,
    unapplied_bytes: usize,
    /// Pages are being read for it.
    is_reading: bool,
}

/// The next step for a peer that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Send(Entries),
    /// Pages are to be read, from this one on.
    Read(u64),
    Nothing,
}

/// The page from which a peer goes on is not there any more: the peer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimmed;

impl Recent {
    /// The memory is empty behind this place.
    pub fn new(after: Place) -> Recent {
        Recent { after, entries: VecDeque::new(), transactions: BTreeMap::new(), bytes: 0 }
    }

    /// Takes the next entry, with the id of its transaction.
    pub fn push(&mut self, place: Place, bytes: Arc<[u8]>, transaction: Option<TransactionId>) {
        self.bytes += bytes.len();
        self.entries.push_back(Entry { place, bytes, transaction });
        self.transactions.extend(transaction.map(|id| (id, place)));
        while self.bytes > RECENT_BYTES_MAX
            && let Some(Entry { place, bytes, transaction }) = self.entries.pop_front()
        {
            self.bytes -= bytes.len();
            self.after = place;
            if let Some(id) = transaction {
                self.transactions.remove(&id);
            }
        }
    }

    /// Whether a transaction has other effects here, as far as memory reaches. Its client has then sent two contents under one id.
    pub fn differs(&self, transaction: &ShippedTransaction) -> bool {
        let place = self.transactions.get(&transaction.transaction);
        let index = place.and_then(|place| self.entries.binary_search_by_key(place, |entry| entry.place).ok());
        let own = index.and_then(|index| OutboxEntry::decode(&self.entries[index].bytes).ok());
        match own {
            Some(OutboxEntry::Transaction(own)) => own.writes != transaction.writes,
            Some(OutboxEntry::Seen(_)) | None => false,
        }
    }

    /// The place before the first one.
    pub fn after(&self) -> Place {
        self.after
    }

    /// Entries behind a place that is not before the first one here.
    fn behind(&self, sent: Place) -> impl Iterator<Item = (Place, &[u8])> {
        let first = self.entries.partition_point(|entry| entry.place <= sent);
        self.entries.range(first..).map(|entry| (entry.place, entry.bytes.as_ref()))
    }
}

impl Serving {
    /// Serves a peer that has everything through a place.
    pub fn new(after: Place) -> Serving {
        Serving { sent: after, unapplied: VecDeque::new(), unapplied_bytes: 0, is_reading: false }
    }

    /// Decides the next step. `last` is the last entry of the outbox.
    pub fn next(&mut self, recent: &Recent, last: Place) -> Next {
        if self.is_reading || self.sent >= last || self.unapplied_bytes >= UNAPPLIED_BYTES_MAX {
            return Next::Nothing;
        }
        if self.sent >= recent.after {
            return self.send(recent.behind(self.sent));
        }
        self.is_reading = true;
        Next::Read(self.sent.parts().map_or(0, |(page, _)| page))
    }

    /// Pages have been read: some, from the one that was asked for on.
    ///
    /// # Errors
    /// [`Trimmed`].
    pub fn on_pages(&mut self, rows: &[RowAt]) -> Result<Next, Trimmed> {
        self.is_reading = false;
        let asked = self.sent.parts().map_or(0, |(page, _)| page);
        let first = rows.first().filter(|row| row.row.exists());
        if first.and_then(|row| tables::page_number(&row.key)) != Some(asked) {
            return Err(Trimmed);
        }
        let entries = rows.iter().filter_map(|row| Some((tables::page_number(&row.key)?, Page::of(Some(&row.row)))));
        let entries = entries.flat_map(|(number, page)| {
            (0..).map_while(move |index| Some((Place::new(number, index), page.entry(index)?)))
        });
        let sent = self.sent;
        Ok(self.send(entries.filter(|(place, _)| *place > sent)))
    }

    /// Leaves out what is before a place: a broken data centre's.
    pub fn skip_to(&mut self, place: Place) {
        self.sent = self.sent.max(place);
    }

    /// The pages cannot be read now.
    pub fn on_no_pages(&mut self) {
        self.is_reading = false;
    }

    fn send<'a>(&mut self, entries: impl Iterator<Item = (Place, &'a [u8])>) -> Next {
        let (after, mut bytes, mut taken) = (self.sent, 0, Vec::new());
        for (place, entry) in entries {
            taken.push((place, entry.to_vec()));
            bytes += entry.len();
            self.unapplied.push_back((place, entry.len()));
            self.sent = place;
            if bytes >= MESSAGE_BYTES {
                break;
            }
        }
        self.unapplied_bytes += bytes;
        if taken.is_empty() { Next::Nothing } else { Next::Send(Entries { after, entries: taken }) }
    }

    /// The peer has stored that it has everything through a place, perhaps by way of a third one. `last`: the last entry of the outbox.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn applied(&mut self, through: Place, last: Place) -> Result<(), String> {
        if through > last {
            return Err(format!("it says that it has applied {}, and there is no more than {}", through.0, last.0));
        }
        // While pages are read for it they are read from what was sent.
        if !self.is_reading {
            self.sent = self.sent.max(through);
        }
        while let Some((place, bytes)) = self.unapplied.front()
            && *place <= through
        {
            self.unapplied_bytes -= bytes;
            self.unapplied.pop_front();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::id;

    #[test]
    fn so_many_bytes_go_out_until_some_are_applied_and_memory_has_the_end() {
        let each = 64 << 10;
        let mut recent = Recent::new(Place::START);
        let (mut last, count) = (Place::START, (RECENT_BYTES_MAX / each) as u64 + 3);
        for number in 0..count {
            last = Place::new(number, 0);
            recent.push(last, vec![0; each].into(), Some(id(1, number)));
        }
        assert_eq!(recent.after(), Place::new(2, 0), "three are not in memory any more");
        assert_eq!(recent.transactions.len(), recent.entries.len());
        let mut serving = Serving::new(Place::START);
        assert_eq!(serving.next(&recent, last), Next::Read(0));
        assert_eq!(serving.next(&recent, last), Next::Nothing, "they are being read");
        let mut serving = Serving::new(recent.after());
        let mut sent = 0;
        while let Next::Send(entries) = serving.next(&recent, last) {
            sent += entries.entries.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        }
        assert_eq!(sent, UNAPPLIED_BYTES_MAX);
        assert_eq!(serving.applied(Place::new(3, 0), last), Ok(()));
        assert!(matches!(serving.next(&recent, last), Next::Send(_)));
        assert_eq!(serving.applied(last, last), Ok(()), "it may have come by way of a third one");
        assert_eq!(serving.next(&recent, last), Next::Nothing);
        assert!(serving.applied(Place(last.0 + 1), last).is_err(), "there is none");
    }
}
