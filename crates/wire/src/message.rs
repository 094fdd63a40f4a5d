//! What a client and a gateway say to each other, as the machines see it. Encoding: src/session/.
//!
//! A session is one WebSocket: frames arrive in order or not at all. docs/protocols/session.md walks through it.

mod from_client;
mod from_gateway;
mod log_members;
mod version;

pub use from_client::{First, FromClient, Hello, LogHash, LogPart, Resume, Submit, Subscribe};
pub use from_gateway::{
    Advance, Declination, Declined, FromGateway, GoneRow, Goodbye, GoodbyeReason, Outcome, Rejection, RowSnapshot,
    Snapshot, Verdict, Welcome,
};
pub use log_members::LogMembers;
pub use version::ProtocolVersion;

/// Names one interest of a session. Chosen by the client, and not used again in the session while it is subscribed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubscriptionId(pub u32);
