//! What tabs that share a client say to each other: one leads, the others follow.
//!
//! Invariant: each message stands alone, for a channel between tabs may lose what was sent to a frozen one. `join` tells to which of a tab's
//! joins a message belongs; what is of another is not meant for it. docs/protocols/tabs.md walks through it.

mod from_tab;
mod mutation;
mod to_tab;
mod update;

pub use from_tab::{FromTab, TabJoin, TabRequest, TabSubscription};
pub use mutation::TabMutation;
pub use to_tab::{TabNotice, ToTab};
pub use update::{TabConnection, TabUpdate};

/// The version of these messages. Tabs of another version are refused: they are of the same app, and reload.
pub const TAB_PROTOCOL_VERSION: u32 = 7;

/// One joining of one tab: a tab that has to begin anew takes the next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct JoinNumber(pub u64);

impl JoinNumber {
    /// Of no join: a leader that cannot read a message does not know of which it is.
    pub const NONE: JoinNumber = JoinNumber(0);
}

/// The number of an update within a join: 1, then one more each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct UpdateNumber(pub u64);
