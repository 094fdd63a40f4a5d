//! What can be wrong with a history, by the names that reports use.
//!
//! Source: Adya's phenomena; the variants with real time as in Elle.

use std::fmt;

use serde::{Serialize, Serializer};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Dirty read: of a write of a transaction that aborted.
    G1a,
    /// Intermediate read: of a write that its own transaction overwrote.
    G1b,
    /// A read of what nobody wrote.
    PhantomRead,
    /// A read of what the transaction itself wrote later.
    FutureRead,
    /// A transaction's read disagrees with its own earlier reads and writes.
    NonRepeatableRead,
    /// A list or set holds a value twice.
    DoubledElement,
    /// Two reads of a list, neither of which begins with the other.
    IncompatibleOrder,
    /// A cycle of writes that overwrite each other.
    G0,
    /// A cycle of such and of reads of writes.
    G1c,
    /// A cycle with one read of what was then overwritten.
    GSingle,
    /// A cycle with several.
    G2,
    /// The same four, by the order of real time too.
    G0RealTime,
    G1cRealTime,
    GSingleRealTime,
    G2RealTime,
    /// A counter or a balance that no choice among the possible additions explains.
    ImpossibleTotal,
    /// The balances of a bank do not have their sum.
    BankSum,
    /// A balance below the lowest.
    BankLimit,
    /// Two transactions that write have one commit timestamp.
    TimestampTwice,
    /// A transaction that ended before a conflicting one began has the later timestamp.
    TimestampOrder,
    /// A read that a replay in the order of timestamps does not give.
    Replay,
    /// The last state lacks an acknowledged write.
    Lost,
    /// The last state holds a write twice.
    Doubled,
    /// The last state holds what nobody wrote, or what aborted.
    Phantom,
}

/// What a short cycle is called by people who use databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pattern {
    /// Two transactions read the same version and both overwrote it.
    LostUpdate,
    /// A read began after a write was acknowledged, and did not see it.
    StaleRead,
    /// A read saw one write of a transaction and not the other.
    TornRead,
    /// Two transactions each did not see the other.
    WriteSkew,
    /// Writes took effect in another order than they happened.
    RealTimeInversion,
}

impl Class {
    pub const ALL: [Class; 24] = [
        Class::G1a,
        Class::G1b,
        Class::PhantomRead,
        Class::FutureRead,
        Class::NonRepeatableRead,
        Class::DoubledElement,
        Class::IncompatibleOrder,
        Class::G0,
        Class::G1c,
        Class::GSingle,
        Class::G2,
        Class::G0RealTime,
        Class::G1cRealTime,
        Class::GSingleRealTime,
        Class::G2RealTime,
        Class::ImpossibleTotal,
        Class::BankSum,
        Class::BankLimit,
        Class::TimestampTwice,
        Class::TimestampOrder,
        Class::Replay,
        Class::Lost,
        Class::Doubled,
        Class::Phantom,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Class::G1a => "g1a",
            Class::G1b => "g1b",
            Class::PhantomRead => "phantom-read",
            Class::FutureRead => "future-read",
            Class::NonRepeatableRead => "non-repeatable-read",
            Class::DoubledElement => "doubled-element",
            Class::IncompatibleOrder => "incompatible-order",
            Class::G0 => "g0",
            Class::G1c => "g1c",
            Class::GSingle => "g-single",
            Class::G2 => "g2",
            Class::G0RealTime => "g0-real-time",
            Class::G1cRealTime => "g1c-real-time",
            Class::GSingleRealTime => "g-single-real-time",
            Class::G2RealTime => "g2-real-time",
            Class::ImpossibleTotal => "impossible-total",
            Class::BankSum => "bank-sum",
            Class::BankLimit => "bank-limit",
            Class::TimestampTwice => "timestamp-twice",
            Class::TimestampOrder => "timestamp-order",
            Class::Replay => "replay",
            Class::Lost => "lost",
            Class::Doubled => "doubled",
            Class::Phantom => "phantom",
        }
    }
}

impl Pattern {
    pub fn name(self) -> &'static str {
        match self {
            Pattern::LostUpdate => "lost update",
            Pattern::StaleRead => "stale read",
            Pattern::TornRead => "torn read",
            Pattern::WriteSkew => "write skew",
            Pattern::RealTimeInversion => "real-time inversion",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Class {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
