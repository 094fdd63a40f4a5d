//! What a snapshot is promised of its writes, for those who judge the random histories of a store. Each store comes to it in its own way.
//!
//! Source: docs/decisions/0016-what-each-level-guards.md.

use iolite_values::{Commutativity, Level, Write, writes_commute};

/// Whether a transaction of this level that writes `own` must not commit after `others` were, if its snapshot is older than they are.
pub fn first_committer_wins(level: Level, own: &[Write], others: &[Write]) -> bool {
    let clashes = |own| others.iter().any(|other| writes_commute(own, other) == Commutativity::Conflict);
    level.guards_writes() && own.iter().any(clashes)
}
