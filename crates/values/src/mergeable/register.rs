//! A register that merges: the last writer wins.
//!
//! Invariant: it holds the value of the highest stamp that was assigned. Of two values under one stamp, which no honest device makes, the higher one stays.

use super::Stamp;
use crate::Value;

/// The value with the highest stamp; null before the first one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LastWriter {
    last: Option<(Stamp, Value)>,
}

impl LastWriter {
    /// A register as a peer or a disk described it.
    pub fn from_last(last: Option<(Stamp, Value)>) -> LastWriter {
        LastWriter { last }
    }

    /// The value that stands, and its stamp; none before the first one.
    pub fn last(&self) -> Option<(Stamp, &Value)> {
        self.last.as_ref().map(|(stamp, value)| (*stamp, value))
    }

    pub fn value(&self) -> &Value {
        self.last.as_ref().map_or(&Value::Null, |(_, value)| value)
    }

    pub(super) fn assign(&mut self, stamp: Stamp, value: &Value) {
        if self.last().is_none_or(|last| last < (stamp, value)) {
            self.last = Some((stamp, value.clone()));
        }
    }
}
