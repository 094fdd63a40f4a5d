//! Several data centres, each with a store of its own, that hold the same tables that merge.
//!
//! Every commit of such tables is also appended to the data centre's *outbox*, by the same transaction. Couriers follow the outboxes of the others, in
//! order, and commit each entry into their own store under the same id. [`Centres`] stands between a gateway and its coordinator: it appends, and it
//! holds the feed back, so that clients see only what enough data centres have.
//!
//! Invariants, one a file: an outbox's places are those of its pages ([`tail`]); a commit is repeated only because its page was turned ([`commits`]);
//! nothing is told above what K data centres have ([`visible`]); a client can show what it
//! has seen ([`clock`]); an entry is applied once, and after what it depends on ([`taking`]); a peer gets an
//! outbox without a hole ([`serving`]); what is told to a peer is stored before ([`rows`]); marks come to an end ([`marks`]); what somebody lacks is not trimmed
//! ([`trimming`]).
//! Source: SwiftCloud (Zawirski 2013, sections 3.2, 4.3 and 4.4). Deviations: docs/decisions/0032-outboxes-are-pages.md.

mod centres;
mod clock;
mod commits;
mod figures;
mod interface;
pub mod limits;
mod marks;
mod rows;
mod serving;
mod tables;
mod tail;
mod taking;
mod trimming;
mod visible;

#[cfg(test)]
mod tests;

pub use centres::Centres;
pub use figures::{Figures, PeerFigures, PeerState};
pub use interface::{Broken, Input, LinkId, LinkInput, LinkOutput, LinkSide, Output, Settings};
pub use iolite_wire::centres::{CentreName, CentreNameError, CentreNews, FromCentre};
