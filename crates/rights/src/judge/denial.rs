//! Denials, each a sentence that names table and rule.
//!
//! Invariant: no value is in it, since the user may not be allowed to see it.

use std::collections::BTreeSet;
use std::fmt;

use iolite_values::Read;

use super::Judgement;
use crate::Right;

/// Why something is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The table, log or class, as in `table "messages"`.
    pub what: String,
    pub why: Why,
    /// The reads that the answer rests on.
    pub reads: BTreeSet<Read>,
}

/// The kinds of denials. The first two may end when the client runs its mutation again: a gateway makes a conflict of them, where the user
/// may see the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// A row is created, and its key is taken.
    Taken,
    /// A row is updated or deleted, and is not there.
    Missing,
    /// The table, log or class has no rights at all.
    NoTable,
    /// There is no rule for it.
    NoRule(Right),
    /// The rule does not hold.
    Rule(Right),
}

impl Denial {
    pub(super) fn of(what: impl Into<String>, why: Why) -> Denial {
        Denial { what: what.into(), why, reads: BTreeSet::new() }
    }

    pub(super) fn table(name: &str, why: Why) -> Denial {
        Denial::of(format!("table {name:?}"), why)
    }

    pub(super) fn unknown() -> Denial {
        Denial::of("a table that the schema lacks", Why::NoTable)
    }
}

impl From<Denial> for Judgement {
    fn from(denial: Denial) -> Judgement {
        Judgement::Denied(denial)
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = &self.what;
        match self.why {
            Why::Taken => write!(f, "{what}: that key is taken"),
            Why::Missing => write!(f, "{what}: the row is not there"),
            Why::NoTable => write!(f, "{what} has no rights, so nobody may use it"),
            Why::NoRule(right) => write!(f, "{what} has no rule {right:?}, so nobody may", right = right.name()),
            Why::Rule(Right::Check) => write!(f, "{what}: the row would not satisfy the rule \"check\""),
            Why::Rule(right) => write!(f, "{what}: the rule {right:?} does not let this user", right = right.name()),
        }
    }
}
