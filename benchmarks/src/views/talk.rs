//! The messages between parent and members: a JSON value a line. Members of the peer say the same: `benchmarks/hocuspocus/src/sheet-client.js`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The kind of data that is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subject {
    /// A row of a strong table that says `delivered`.
    Strong,
    /// The same row of a table that does not say it.
    Plain,
    /// An operation of the log.
    Log,
}

impl Subject {
    pub fn name(self) -> &'static str {
        match self {
            Subject::Strong => "strong",
            Subject::Plain => "strong without delivered",
            Subject::Log => "log",
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToMember {
    /// Call for so long, and once at least, each when the last one is delivered. First come some calls that do not count.
    Calls {
        of: Subject,
        seconds: u32,
        warm_up: u32,
    },
    /// Call an operation of the log each so often, for so long, whatever became of the last one.
    Steadily {
        seconds: u32,
        every_ms: u32,
    },
    /// Say what is shown.
    State,
    End,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromMember {
    /// Connected, and everything that is looked at is held.
    Ready,
    Calls(Calls),
    State(State),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Calls {
    pub calls: Vec<Call>,
    /// Calls whose way was not known to its end in time.
    pub unknown: u64,
}

/// One call: when, and how many nanoseconds later each view had it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Call {
    pub called_nanos: u64,
    pub optimistic: u64,
    /// Absent where nothing is stored on the device.
    pub durable: Option<u64>,
    pub confirmed: u64,
    /// Absent of a table that does not say `delivered`.
    pub delivered: Option<u64>,
    /// Views that did not show it when they should have.
    pub violations: u64,
}

/// The texts that a member shows, and the last ones that it wrote itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// The sheet's cells, in the confirmed view.
    pub cells: BTreeMap<String, String>,
    /// The rows of the strong table that says `delivered`, in that view.
    pub items: BTreeMap<String, String>,
    pub wrote: BTreeMap<String, String>,
    /// Members whose cursor is somewhere.
    pub cursors: usize,
    /// Cells that the optimistic view shows otherwise than the delivered one.
    pub uncertain: usize,
    /// Whether the client has a delivered view of a log's tables.
    pub is_delivered_view: bool,
}
