//! The most memory that a process had while something was done, over what it had before.

use crate::accounting::Pid;

/// Counts from when it is made.
#[derive(Debug)]
pub struct Peak {
    pid: Pid,
    before: u64,
}

impl Peak {
    pub fn of(pid: Pid) -> Peak {
        pid.forget_peak();
        Peak { pid, before: pid.resident_bytes() }
    }

    /// Mebibytes.
    pub fn growth_mib(&self) -> f64 {
        self.pid.peak_resident_bytes().saturating_sub(self.before) as f64 / f64::from(1 << 20)
    }
}
