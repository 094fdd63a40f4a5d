//! Refused mutations as they are stored, and told to tabs that follow.

use iolite_machine::WallTime;
use iolite_values::Id;
use iolite_wire::client_storage::{MutationStatus, StoredMutation};

use crate::interface::Refused;
use crate::tabs::Ticket;

impl Refused {
    pub(crate) fn to_stored(&self) -> StoredMutation {
        let reason = self.reason.clone();
        let status = if self.by_app { MutationStatus::Rejected(reason) } else { MutationStatus::Quarantined(reason) };
        StoredMutation {
            log: None,
            effects: None,
            unsent: false,
            counter: self.counter,
            name: self.name.to_string(),
            arguments: self.arguments.to_string(),
            called_at_micros: self.called_at.as_micros(),
            ticket: self.ticket.map(Id::from),
            status,
        }
    }

    /// `None` for one that was not refused.
    pub(crate) fn from_stored(stored: StoredMutation) -> Option<Refused> {
        let (reason, by_app) = match stored.status {
            MutationStatus::Rejected(reason) => (reason, true),
            MutationStatus::Quarantined(reason) => (reason, false),
            MutationStatus::Waiting | MutationStatus::Kept => return None,
        };
        Some(Refused {
            counter: stored.counter,
            name: stored.name.into(),
            arguments: stored.arguments.into(),
            called_at: WallTime::from_micros(stored.called_at_micros),
            ticket: stored.ticket.map(Ticket),
            reason,
            by_app,
        })
    }
}
