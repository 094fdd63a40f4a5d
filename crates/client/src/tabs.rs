//! Several tabs of one user share one client: one leads, and runs [`crate::Client`]; the others follow, and run [`Follower`].
//!
//! Invariants:
//! - what a follower shows is what the leader had at one moment: confirmed rows, pending mutations, connection;
//! - a call of a follower is in the outbox or in the queue, never in both and never in neither, until it has ended.
//!
//! docs/protocols/tabs.md walks through it.

mod call;
mod follower;
mod leader;
mod mirror;
mod parts;

use iolite_values::Id;

pub use call::{CallStatus, OUTBOX, Ticket};
pub(crate) use call::{call_status, ended_as, final_status, kind_of};
pub use follower::{CallAgain, Follower, FollowerConfig, FollowerInput, FollowerOutput};
pub(crate) use leader::{Answer, Awaited, Leader, News, Wanted, reach};
pub(crate) use parts::Parts;

/// A tab, as the hosts of all tabs name it. Any number that no other tab of the user has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TabId(pub u64);

impl From<Ticket> for Id {
    fn from(ticket: Ticket) -> Id {
        ticket.0
    }
}
