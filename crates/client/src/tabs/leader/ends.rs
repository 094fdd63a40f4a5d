//! Ends of calls by ticket that neither the queue nor the list of what was refused tells.
//!
//! Invariant: so many are kept of each kind at most. What took effect pushes out nothing else, so a ticket that is nowhere took effect.

use std::collections::BTreeMap;

use iolite_values::Counter;
use iolite_wire::client_storage::{EndedAs, StoredEnd};

use crate::tabs::Ticket;

/// They are stored under the same counters.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// Those that were cancelled, or refused and dismissed: for tabs that were not there.
    without_effect: BTreeMap<Counter, StoredEnd>,
    /// Those that were confirmed while their tabs might store them once more, until these say that they will not.
    confirmed: BTreeMap<Counter, StoredEnd>,
    counters: BTreeMap<Ticket, Counter>,
}

impl Ends {
    /// Of each kind. The oldest go first.
    pub(crate) const ENDS_MAX: usize = 1000;

    pub(super) fn restored(stored: Vec<StoredEnd>) -> Ends {
        let mut ends = Ends::default();
        for end in stored {
            if let (Some(counter), Some(ticket)) = (end.counter, end.ticket) {
                ends.keep(counter, Ticket(ticket), end);
            }
        }
        ends
    }

    /// Returns what is kept no more.
    pub(crate) fn keep(&mut self, counter: Counter, ticket: Ticket, end: StoredEnd) -> Option<Counter> {
        self.counters.insert(ticket, counter);
        let of_its_kind = match end.how {
            EndedAs::Confirmed(_) | EndedAs::ConfirmedEarlier => &mut self.confirmed,
            EndedAs::Overruled => &mut self.without_effect,
            EndedAs::Rejected(_) | EndedAs::Quarantined(_) | EndedAs::Cancelled(_) => &mut self.without_effect,
        };
        of_its_kind.insert(counter, end);
        if of_its_kind.len() <= Self::ENDS_MAX {
            return None;
        }
        let (gone, _) = of_its_kind.pop_first()?;
        self.counters.retain(|_, own| *own != gone);
        Some(gone)
    }

    pub(crate) fn of(&self, ticket: Ticket) -> Option<&StoredEnd> {
        let counter = self.counters.get(&ticket)?;
        self.without_effect.get(counter).or_else(|| self.confirmed.get(counter))
    }

    /// Keeps no more that a call was confirmed, if that is what is kept of it. Returns under which counter it was.
    pub(crate) fn forget_confirmed(&mut self, ticket: Ticket) -> Option<Counter> {
        let counter = *self.counters.get(&ticket)?;
        self.confirmed.remove(&counter)?;
        self.counters.remove(&ticket);
        Some(counter)
    }

    pub(super) fn validate(&self) {
        let (without_effect, confirmed) = (self.without_effect.len(), self.confirmed.len());
        assert!(without_effect.max(confirmed) <= Self::ENDS_MAX);
        assert_eq!(self.counters.len(), without_effect + confirmed, "each is found by its ticket");
    }
}
