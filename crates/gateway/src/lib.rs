//! Gateway: what a client's session talks to. It lets sessions in, hands their mutations to the store, and keeps what they subscribe to up
//! to date from the store's feed.
//!
//! Source: Diamond's front end (Zhang 2017, section 3.3); sessions, resume tokens and back-pressure are Iolite's: docs/protocols/gateway.md.
//!
//! Invariants, which [`iolite_machine::Machine::validate`] checks where state alone can tell:
//! - after an advance everything that the session subscribes to is as of its `to`, and `to` never goes back;
//! - a session is told of nothing above the store's resolved timestamp;
//! - the outcome of a mutation is told with, or after, the state that contains it;
//! - memory per session is bounded by the constants of [`limits`];
//! - whatever one client sends, the others do not notice.

mod asking;
mod blobs;
mod checkpoints;
mod delivery;
mod deploying;
mod explaining;
mod following;
mod gateway;
mod interface;
pub mod limits;
mod members;
mod own;
mod schema_growth;
mod sessions;
mod size;
mod store;
mod submissions;
mod telling;
mod validate;
mod without;

pub use asking::{AskRight, RightId};
pub use deploying::{Deploy, Deployed, DeploymentId};
pub use explaining::{Explain, ExplainId, Explained};
pub use gateway::Gateway;
pub use interface::{
    AccessNews, BlobInput, BlobLink, BlobOutput, BlobRoom, Broken, Input, Output, RevocationId, SessionId, Settings,
};
pub use limits::Limits;
pub use sessions::revoked::RevokedTokens;
pub use without::Without;

#[cfg(test)]
mod tests;
