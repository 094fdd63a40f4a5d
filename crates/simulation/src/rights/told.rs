//! The history of this world: how gateways welcomed whom, what they gave their store, and what they told of it.

use std::collections::{BTreeMap, BTreeSet};

use iolite_gateway::SessionId;
use iolite_store::Request;
use iolite_values::{Attempt, ClientId, StoreIncarnation, Timestamp, TransactionId};
use iolite_wire::message::{Outcome, Rejection, Verdict};
use serde::Serialize;

use super::person::{Person, Speaker};
use crate::history::ClientIndex;

#[derive(Debug, Default)]
pub struct RightsTold {
    /// Whether this is the world.
    pub is_on: bool,
    /// The device of each session. The hostile user's have none.
    pub devices: BTreeMap<SessionId, ClientIndex>,
    /// The ids that clients have to have, of the devices of the run, for their owners.
    pub bound: BTreeMap<ClientId, ClientIndex>,
    /// Under which tokens, and from where, sessions were welcomed as a client.
    pub welcomed: BTreeMap<ClientId, BTreeSet<(Speaker, Origin)>>,
    /// Where the feeds of gateways stood as they gave an attempt to the store.
    pub handed: BTreeMap<(TransactionId, Attempt), BTreeSet<Timestamp>>,
    /// Mutations of which a client was told that they are denied, by a history of the store.
    pub denied: BTreeSet<(StoreIncarnation, TransactionId)>,
    /// Attempts of the hostile user that write nothing, and read what is hidden from it.
    pub probes: BTreeMap<(TransactionId, Attempt), Person>,
    /// Such attempts of which it was told that they conflict.
    pub revealed: Vec<(TransactionId, Attempt, Timestamp)>,
}

/// The end from which a session came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    Device(ClientIndex),
    Hostile,
}

/// Something that a run of this world has to meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RightsEvent {
    /// Other rights came into effect.
    Deployed,
    /// A client's mutation was denied.
    Denied,
    /// The same of the hostile user's.
    HostileDenied,
    /// A mutation of the hostile user took effect.
    HostileCommitted,
    /// The hostile user sent something again that had been denied.
    DeniedSentAgain,
    /// The hostile user read hidden rows in a mutation, and learned nothing.
    Probed,
    /// The hostile user said hello by the id of another one's device.
    StolenDevice,
    /// A device got the token of another user for a while.
    OtherUser,
    /// A member was removed, or left.
    MemberGone,
    /// A call was made without a connection.
    CalledOffline,
    /// A user was shown some messages, and others were hidden.
    SeenInPart,
}

impl RightsEvent {
    pub const ALL: [RightsEvent; 11] = [
        RightsEvent::Deployed,
        RightsEvent::Denied,
        RightsEvent::HostileDenied,
        RightsEvent::HostileCommitted,
        RightsEvent::DeniedSentAgain,
        RightsEvent::Probed,
        RightsEvent::StolenDevice,
        RightsEvent::OtherUser,
        RightsEvent::MemberGone,
        RightsEvent::CalledOffline,
        RightsEvent::SeenInPart,
    ];
}

impl RightsTold {
    /// A device has this id for good.
    pub fn note_device(&mut self, device: ClientId, client: ClientIndex) -> ClientId {
        let bound = Speaker::of(client).client_on(device);
        self.bound.insert(bound, client);
        bound
    }

    pub fn note_welcome(&mut self, client: ClientId, token: &str, session: SessionId) {
        let Some(speaker) = Speaker::of_token(token) else { return };
        let origin = self.devices.get(&session).map_or(Origin::Hostile, |index| Origin::Device(*index));
        self.welcomed.entry(client).or_default().insert((speaker, origin));
    }

    /// A gateway whose feed stands at `position` gives its store something to do.
    pub fn note_handed(&mut self, request: &Request, position: Option<Timestamp>) {
        if let (true, Request::Commit { transaction, .. }) = (self.is_on, request) {
            let own = self.handed.entry((transaction.id, transaction.attempt)).or_default();
            own.insert(position.unwrap_or_default());
        }
    }

    pub fn note_outcomes(&mut self, store: StoreIncarnation, client: ClientId, outcomes: &[Outcome]) {
        for Outcome { counter, attempt, verdict } in outcomes.iter().filter(|_| self.is_on) {
            let id = TransactionId { client, counter: *counter };
            match verdict {
                Verdict::Rejected(Rejection::Denied(_)) => {
                    self.denied.insert((store, id));
                }
                Verdict::Conflict(at) if self.probes.contains_key(&(id, *attempt)) => {
                    self.revealed.push((id, *attempt, *at));
                }
                Verdict::Conflict(_)
                | Verdict::Committed(_)
                | Verdict::Aborted
                | Verdict::Rejected(Rejection::Invalid(_) | Rejection::Forgotten) => {}
            }
        }
    }

    /// The users for whom sessions of a client spoke. None: no session was of this client, so it is a gateway or an operator's command.
    pub fn speaker(&self, client: ClientId) -> Option<Speaker> {
        let (speaker, _) = self.welcomed.get(&client)?.first()?;
        Some(*speaker)
    }
}
