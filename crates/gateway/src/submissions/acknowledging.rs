//! What clients acknowledge, on its way to the store.
//!
//! Invariants: the store is asked one thing of a client at a time, however often that comes back while the store is away. What it says meanwhile is asked
//! next. A client acknowledges no further than the store knows an outcome: else whoever can speak as it would have all that it does later refused. Honest
//! clients name counters that were never sent, so that is no fault of theirs.

use std::collections::BTreeMap;

use iolite_store::Request;
use iolite_values::{ClientId, Counter};

use crate::interface::Broken;
use crate::store::Purpose;
use crate::{Gateway, SessionId};

/// The clients of which the store has not answered an acknowledgement.
pub type Acknowledging = BTreeMap<ClientId, Acknowledgement>;

#[derive(Clone, Copy, Debug)]
pub struct Acknowledgement {
    asked: Counter,
    /// The latest that the client has said.
    said: Counter,
}

/// The outcomes that a session has said it knows, and those of them that the store may forget.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acknowledged {
    pub said: Counter,
    /// The store has an outcome with this counter, or had one.
    known: Counter,
    told: Counter,
    /// The store could not say which outcome is the last. It is asked again with what the client acknowledges next.
    is_unanswered: bool,
}

impl Gateway {
    /// Asks up to where the store knows outcomes of the client, if it has acknowledged some in an earlier session.
    pub(crate) fn ask_last_outcome(&mut self, id: SessionId) {
        let at = self.position();
        let Some(client) = self.open(id).filter(|open| open.acknowledged.said > Counter(0)).map(|open| open.client)
        else {
            return;
        };
        self.ask(Purpose::LastOutcome(id), Request::LastOutcome { client, at });
    }

    pub(crate) fn on_no_last_outcome(&mut self, id: SessionId) {
        if let Some(open) = self.open_mut(id) {
            open.acknowledged.is_unanswered = true;
        }
    }

    pub(crate) fn on_acknowledge(&mut self, id: SessionId, through: Counter) {
        let Some(open) = self.open_mut(id) else { return };
        if through <= open.acknowledged.said {
            return;
        }
        open.acknowledged.said = through;
        open.outcomes.retain(|(_, outcome)| outcome.counter > through);
        if std::mem::take(&mut open.acknowledged.is_unanswered) {
            self.ask_last_outcome(id);
        }
        self.acknowledge_what_is_known(id);
    }

    /// An outcome of the client is known, as far as one is.
    pub(crate) fn on_last_outcome(&mut self, id: SessionId, known: Option<Counter>) {
        let (Some(open), Some(known)) = (self.open_mut(id), known) else { return };
        open.acknowledged.known = open.acknowledged.known.max(known);
        self.acknowledge_what_is_known(id);
    }

    pub(crate) fn acknowledge_what_is_known(&mut self, id: SessionId) {
        let trusts = self.settings.broken == Broken::AcknowledgeAnything;
        let Some(open) = self.open_mut(id) else { return };
        let (client, own) = (open.client, &mut open.acknowledged);
        let through = if trusts { own.said } else { own.said.min(own.known) };
        if through > own.told {
            own.told = through;
            self.acknowledge(client, through);
        }
    }

    /// Has the store forget the outcomes of a client up to a counter.
    pub(crate) fn acknowledge(&mut self, client: ClientId, through: Counter) {
        if let Some(own) = self.acknowledging.get_mut(&client) {
            own.said = own.said.max(through);
            return;
        }
        self.acknowledging.insert(client, Acknowledgement { asked: through, said: through });
        self.ask(Purpose::Acknowledge(client), Request::Acknowledge { client, through });
    }

    pub(crate) fn on_acknowledged(&mut self, client: ClientId) {
        let Some(Acknowledgement { asked, said }) = self.acknowledging.remove(&client) else { return };
        if said > asked {
            self.acknowledge(client, said);
        }
    }
}
