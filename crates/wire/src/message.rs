//! What a client and a gateway say to each other, as the machines see it. Encoding: encode.rs and decode.rs.
//!
//! A session is one WebSocket: frames arrive in order or not at all. docs/protocols/session.md walks through it.

mod from_client;
mod from_gateway;

pub use from_client::{FromClient, Hello, Resume, Submit, Subscribe};
pub use from_gateway::{
    Advance, FromGateway, Goodbye, GoodbyeReason, Outcome, Rejection, RowSnapshot, Snapshot, Verdict, Welcome,
};

/// Names one interest of a session. Chosen by the client, and not used again in the session while it is subscribed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubscriptionId(pub u32);

/// A version of the session protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProtocolVersion(pub u32);

impl ProtocolVersion {
    pub const CURRENT: ProtocolVersion = ProtocolVersion(1);
    pub const OLDEST_SUPPORTED: ProtocolVersion = ProtocolVersion(1);
}
