//! Figures of a data centre and its peers, for operators.

use std::time::Duration;

use iolite_wire::centres::{CentreName, Place};

/// How far a data centre and its peers are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// By how much what is shown is behind what is committed here: zero, if K data centres have all.
    pub shown_behind: Duration,
    /// Bytes of the feed that are held back.
    pub held_bytes: usize,
    /// The last entry of the outbox.
    pub last: Place,
    /// Bytes of the entries that the outbox keeps, about.
    pub outbox_bytes: u64,
    pub peers: Vec<PeerFigures>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerFigures {
    pub name: CentreName,
    pub state: PeerState,
    /// The place through which its outbox is here.
    pub taken: Place,
    /// The place through which it has this outbox.
    pub applied: Place,
    /// A part of this outbox that the peer lacks was deleted: the peer has to be made anew.
    pub is_lost: bool,
    /// Transactions that came from it since the start, and have other effects here: their clients sent two contents under one id. Rows that such a client
    /// wrote differ between data centres.
    pub differing: u64,
}

/// Whether a peer's outbox is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerState {
    /// There is no link to it.
    Away,
    Following,
    /// The peer has deleted what is lacking here: this data centre has to be made anew, and serves no client.
    LostHere,
    /// People have to look before anything more is taken from it.
    Stopped {
        reason: String,
    },
}
