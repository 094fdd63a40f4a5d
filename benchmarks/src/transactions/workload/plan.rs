//! What one transaction does.

use super::KeyNumber;

/// Steps, in their order; no key comes twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Get(KeyNumber),
    /// A get, and a put of what was read plus one.
    Increment(KeyNumber),
    /// A put of a key that was not read.
    Put(KeyNumber),
}

/// What a system is told at the beginning of a transaction, as an application would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    ReadOnly,
    ReadWrite,
}

impl Plan {
    pub fn of(steps: Vec<Step>) -> Plan {
        Plan { steps }
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub fn mode(&self) -> Mode {
        let writes = |step: &Step| match step {
            Step::Get(_) => false,
            Step::Increment(_) | Step::Put(_) => true,
        };
        if self.steps.iter().any(writes) { Mode::ReadWrite } else { Mode::ReadOnly }
    }
}
