//! Inputs and outputs of [`crate::Centres`].

use std::collections::BTreeSet;

use iolite_store::{Event, Request, RequestId};
use iolite_values::{ClientId, Timestamp};
use iolite_wire::centres::{CentreName, CentreNews, FromCentre};

/// One data centre, as its configuration says.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The deployment. Data centres of different groups refuse each other.
    pub group: String,
    pub name: CentreName,
    /// All others.
    pub peers: BTreeSet<CentreName>,
    /// Number of data centres that have a transaction before clients see it that did not make it: from 1 to the number of all.
    pub k: usize,
    /// Bytes of entries that are kept for peers that lack them: [`crate::limits::OUTBOX_BYTES_MAX`], but in tests.
    pub outbox_bytes_max: u64,
    /// In whose name rows about peers are committed. Drawn anew at each start.
    pub client: ClientId,
    pub broken: Broken,
}

/// A rule that is left out, to see that the simulation finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    #[default]
    Nothing,
    /// Clients see a transaction that one data centre has.
    ShowBeforeDurable,
    /// An entry that is taken from a peer is committed under an id of this data centre's own.
    NameAnew,
    /// Entries are applied without waiting for what they rest on.
    ApplySideBySide,
    /// Peers get only what is in memory, and not what the outbox has kept.
    ShipFromHistory,
    /// Acknowledgements of clients are passed on as soon as the mark that says it has come, and not once everything before the mark is here.
    AcknowledgeEarly,
    /// A commit that conflicts is repeated without the reads by which it was judged.
    RepeatUnjudged,
}

/// A link between two data centres. Never used again in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u64);

/// The side that has dialled, which takes the other one's outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkSide {
    /// This data centre: it takes the peer's outbox.
    Dialled,
    /// The peer: it is served this one's outbox.
    Accepted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkInput {
    /// The peer's name is proven.
    Opened {
        link: LinkId,
        peer: CentreName,
        side: LinkSide,
    },
    Message {
        link: LinkId,
        message: FromCentre,
    },
    Closed {
        link: LinkId,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkOutput {
    Send {
        link: LinkId,
        message: FromCentre,
    },
    /// With a reason for the people of both sides.
    Close {
        link: LinkId,
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The gateway's side asks the store. The number is the caller's, and comes back with the reply.
    Request(RequestId, Request),
    /// The gateway's side does not wait for the reply any more.
    GiveUp(RequestId),
    /// The store's side.
    Store(Event),
    Link(LinkInput),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// To the store, under a number of [`crate::Centres`]' own.
    Request(RequestId, Request),
    GiveUp(RequestId),
    /// The store is to keep its history from here on, for a while.
    Hold(Timestamp),
    /// To the gateway's side: the feed through what is shown, and replies under the caller's numbers.
    Event(Event),
    /// To the gateway's side: how far its clients see the group with the next segment of the feed, and what is here.
    News(CentreNews),
    /// No client is to be served from now on, and why. None: they are served again.
    Lost(Option<String>),
    Link(LinkOutput),
}
