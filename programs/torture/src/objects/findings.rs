//! Findings of a run with objects, beside those of `iolite_histories`.

use std::collections::BTreeMap;
use std::fmt;

/// Something that an object did and its manager does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// The object was said not to be there, and its host lives.
    Missing,
    /// The object began anew, and its host lives.
    BeganAnew,
    /// A method has no result.
    Broke,
    /// A number is there twice.
    Doubled,
    /// A number is there whose append did not run.
    Refused,
    /// A number is there that nobody had appended.
    MadeUp,
    /// Two reads are no two states of one order.
    OrderChanged,
    /// The later one of two appends is the earlier number.
    OrderReversed,
    /// A process read less than before.
    WentBack,
    /// A process did not read its own number.
    OwnMissing,
    /// A read lacks a number that was acknowledged longer ago than its lease.
    Stale,
    /// A number that was acknowledged is not there at the end.
    Lost,
    /// The object was read by nobody at the end.
    Unread,
}

/// The most findings of each kind that are explained.
const EXPLAINED: u64 = 3;

#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub counts: BTreeMap<Wrong, u64>,
    /// The first ones of each.
    pub explained: Vec<String>,
}

impl Findings {
    pub fn add(&mut self, wrong: Wrong, explanation: impl FnOnce() -> String) {
        let count = self.counts.entry(wrong).or_default();
        *count += 1;
        if *count <= EXPLAINED {
            self.explained.push(format!("{wrong}: {}", explanation()));
        }
    }
}

impl Wrong {
    pub fn name(self) -> &'static str {
        match self {
            Wrong::Missing => "missing",
            Wrong::BeganAnew => "began-anew",
            Wrong::Broke => "broke",
            Wrong::Doubled => "doubled",
            Wrong::Refused => "refused-and-there",
            Wrong::MadeUp => "made-up",
            Wrong::OrderChanged => "order-changed",
            Wrong::OrderReversed => "order-reversed",
            Wrong::WentBack => "went-back",
            Wrong::OwnMissing => "own-missing",
            Wrong::Stale => "stale",
            Wrong::Lost => "lost",
            Wrong::Unread => "unread",
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
