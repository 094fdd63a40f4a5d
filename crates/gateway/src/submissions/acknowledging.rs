//! What clients acknowledge, on its way to the store.
//!
//! Invariant: the store is asked one thing of a client at a time, however often that comes back while the store is away. What it says meanwhile is asked next.

use std::collections::BTreeMap;

use iolite_store::Request;
use iolite_values::{ClientId, Counter};

use crate::Gateway;
use crate::store::Purpose;

/// The clients of which the store has not answered an acknowledgement.
pub type Acknowledging = BTreeMap<ClientId, Acknowledgement>;

#[derive(Clone, Copy, Debug)]
pub struct Acknowledgement {
    asked: Counter,
    /// The latest that the client has said.
    said: Counter,
}

impl Gateway {
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
