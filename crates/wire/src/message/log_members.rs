//! The members of a log.

use std::collections::BTreeSet;

use iolite_values::{Id, LogId};

/// The members of a log, by the origins that their entries carry, or how they changed.
///
/// Invariant: nobody joins and leaves in one of these, and nobody leaves when it tells all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMembers {
    pub log: LogId,
    /// Whether `joined` are all members. Otherwise these join those that were told before.
    pub is_whole: bool,
    pub joined: BTreeSet<Id>,
    /// Members no more: gone, or taken out because others waited for them for too long.
    pub left: BTreeSet<Id>,
}
