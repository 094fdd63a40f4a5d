//! Processor time of a server and of its clients, apart: on few cores they take it from each other.

use std::time::Duration;

use serde::Serialize;

use super::Pid;

/// Counts from when it is made.
#[derive(Debug)]
pub struct Sides {
    server: Pid,
    clients: Vec<Pid>,
    before: Used,
}

/// Processor time of each side, since its processes began.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    server: Duration,
    clients: Duration,
}

/// Microseconds by the operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CpuPerOp {
    pub server: f64,
    /// Of all together.
    pub clients: f64,
}

impl Sides {
    pub fn of(server: Pid, clients: Vec<Pid>) -> Sides {
        let before = Used::by(server, &clients, Pid::tree_cpu);
        Sides { server, clients, before }
    }

    pub fn by_operation(&self, operations: u64) -> CpuPerOp {
        Used::by(self.server, &self.clients, Pid::tree_cpu).since(self.before, operations)
    }
}

impl Used {
    fn by(server: Pid, clients: &[Pid], used: impl Fn(Pid) -> Duration) -> Used {
        Used { server: used(server), clients: clients.iter().map(|client| used(*client)).sum() }
    }

    fn since(self, before: Used, operations: u64) -> CpuPerOp {
        let each = |now: Duration, before: Duration| match operations {
            0 => 0.0,
            some => now.saturating_sub(before).as_secs_f64() * 1e6 / some as f64,
        };
        CpuPerOp { server: each(self.server, before.server), clients: each(self.clients, before.clients) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_use_is_not_their_servers_and_what_was_used_before_does_not_count() {
        let used = |server: u64, first: u64, second: u64| {
            let of = move |pid: Pid| Duration::from_millis([server, first, second][pid.number() as usize]);
            Used::by(Pid::numbered(0), &[Pid::numbered(1), Pid::numbered(2)], of)
        };
        let (before, now) = (used(500, 10, 30), used(501, 110, 230));
        assert_eq!(now.since(before, 2), CpuPerOp { server: 500.0, clients: 150_000.0 });
        assert_eq!(now.since(before, 0), CpuPerOp::default());
    }
}
