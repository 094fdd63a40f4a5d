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
        let before = Used::by(server, &clients);
        Sides { server, clients, before }
    }

    pub fn by_operation(&self, operations: u64) -> CpuPerOp {
        let now = Used::by(self.server, &self.clients);
        let each = |now: Duration, before: Duration| match operations {
            0 => 0.0,
            some => now.saturating_sub(before).as_secs_f64() * 1e6 / some as f64,
        };
        CpuPerOp { server: each(now.server, self.before.server), clients: each(now.clients, self.before.clients) }
    }
}

impl Used {
    fn by(server: Pid, clients: &[Pid]) -> Used {
        Used { server: server.tree_cpu(), clients: clients.iter().map(|client| client.tree_cpu()).sum() }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Burns the processor when it is told to, says so, and waits for its input to end.
    fn part() -> Child {
        let script = "read go; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done; read end";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("there is a shell")
    }

    fn burn(child: &mut Child) {
        use std::io::{Read, Write};
        child.stdin.as_mut().expect("a pipe").write_all(b"go\n").expect("it reads");
        child.stdout.as_mut().expect("a pipe").read_exact(&mut [0; 4]).expect("it says that it is done");
    }

    #[test]
    fn what_clients_use_is_not_their_servers() {
        let (mut server, mut clients) = (part(), [part(), part()]);
        burn(&mut server);
        let sides = Sides::of(Pid::of(&server), clients.iter().map(Pid::of).collect());
        clients.iter_mut().for_each(burn);
        let CpuPerOp { server: of_server, clients: of_clients } = sides.by_operation(2);
        assert!(of_clients > 5_000.0, "{of_clients}");
        assert!(of_server < of_clients / 10.0, "what it used before does not count: {of_server} beside {of_clients}");
        assert_eq!(sides.by_operation(0), CpuPerOp::default());
        for child in [&mut server].into_iter().chain(&mut clients) {
            drop(child.stdin.take());
            child.wait().expect("it ends when its input does");
        }
    }
}
