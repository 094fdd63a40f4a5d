//! The faults that can be asked for.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// Processes are killed; the operating system keeps what they wrote.
    Kill,
    /// Processes are killed, and what they had not synced is lost.
    Power,
    /// Processes stand still for a while, and go on.
    Pause,
    /// Messages from some nodes to others do not arrive for a while, one way or both.
    Partition,
    /// Wall clocks are wrong by up to five seconds, and jump.
    Skew,
}

impl FaultKind {
    pub const ALL: [FaultKind; 5] =
        [FaultKind::Kill, FaultKind::Power, FaultKind::Pause, FaultKind::Partition, FaultKind::Skew];

    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Kill => "kill",
            FaultKind::Power => "power",
            FaultKind::Pause => "pause",
            FaultKind::Partition => "partition",
            FaultKind::Skew => "skew",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FaultKind {
    type Err = String;

    fn from_str(text: &str) -> Result<FaultKind, String> {
        let found = FaultKind::ALL.into_iter().find(|kind| kind.name() == text);
        let names = FaultKind::ALL.map(FaultKind::name).join(", ");
        found.ok_or_else(|| format!("there is no fault {text:?}; there are {names}"))
    }
}
