//! Segments that servers send each other, from the kernel's counters of each socket.
//!
//! A segment carries data: on loopback one for each write of up to 32 KiB. It is not a message: a write may hold several of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;

use anyhow::{Context, bail};

use super::Pid;

/// Counters of all sockets that servers talk to each other through, at one time.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    sockets: BTreeMap<String, Socket>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Socket {
    owners: Vec<u32>,
    data_segments: u64,
}

impl Segments {
    /// Sockets of servers among themselves have `between` at one end, or one of the links.
    ///
    /// # Errors
    /// When `ss` is not installed or fails.
    pub fn now(between: IpAddr, links: &[SocketAddr]) -> anyhow::Result<Segments> {
        // Numbers, one line a socket, with processes, kernel counters and a name of the socket that never comes twice.
        let output = Command::new("ss").args(["-HOntpie", "state", "established"]).output();
        let output = output.context("ss is not installed: run `make setup`, which installs it from Debian")?;
        if !output.status.success() {
            bail!("ss failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(parse(&String::from_utf8_lossy(&output.stdout), between, links))
    }

    /// Those of a node's sockets since `before`, in both directions.
    pub fn since(&self, before: &Segments, processes: &[Pid]) -> u64 {
        let ours = |socket: &&Socket| processes.iter().any(|pid| socket.owners.contains(&pid.number()));
        let of = |sockets: &BTreeMap<String, Socket>, name: &String| sockets.get(name).map_or(0, |it| it.data_segments);
        let sockets = self.sockets.iter().filter(|(_, socket)| ours(socket));
        sockets.map(|(name, socket)| socket.data_segments.saturating_sub(of(&before.sockets, name))).sum()
    }
}

fn parse(text: &str, between: IpAddr, links: &[SocketAddr]) -> Segments {
    let is_between = |end: &str| {
        let end: Option<SocketAddr> = end.parse().ok();
        end.is_some_and(|end| end.ip() == between || links.contains(&end))
    };
    let mut segments = Segments::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, local, remote, ..] = fields[..] else { continue };
        let field = |name: &str| fields.iter().find_map(|field| field.strip_prefix(name));
        let Some(name) = field("sk:") else { continue };
        if !is_between(local) && !is_between(remote) {
            continue;
        }
        let count = |name: &str| field(name).and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
        let data_segments = count("data_segs_out:") + count("data_segs_in:");
        segments.sockets.insert(name.to_owned(), Socket { owners: owners(line), data_segments });
    }
    segments
}

fn owners(line: &str) -> Vec<u32> {
    let numbers = line.split("pid=").skip(1).filter_map(|rest| rest.split([',', ')']).next());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BETWEEN: IpAddr = crate::cluster::BETWEEN_SERVERS;

    fn line(ends: &str, pid: u32, name: &str, out: u64, incoming: u64) -> String {
        format!(
            "0 0 {ends} users:((\"x\",pid={pid},fd=8)) ino:1 sk:{name} cgroup:/ <-> ts segs_out:90 segs_in:90 \
             data_segs_out:{out} data_segs_in:{incoming} delivered:2\n"
        )
    }

    #[test]
    fn only_data_between_servers_counts_for_the_process_that_has_the_socket() {
        let link: SocketAddr = "127.0.0.1:9".parse().expect("an address");
        let before = line("127.0.0.2:7 127.0.0.1:40", 1, "a", 10, 5);
        let after = line("127.0.0.2:7 127.0.0.1:40", 1, "a", 13, 7)
            + &line("127.0.0.1:41 127.0.0.1:9", 1, "b", 1, 1)
            + &line("127.0.0.1:42 127.0.0.2:7", 2, "c", 100, 100)
            + &line("127.0.0.1:7 127.0.0.1:43", 1, "d", 1000, 1000);
        let at = |text: &str| parse(text, BETWEEN, &[link]);
        let pid = |number: u32| vec![Pid::numbered(number)];
        assert_eq!(at(&after).since(&at(&before), &pid(1)), 5 + 2);
        assert_eq!(at(&after).since(&at(&before), &pid(2)), 200);
        assert_eq!(at(&after).since(&at(&after), &pid(1)), 0);
    }

    #[test]
    fn the_kernel_counts_what_a_socket_carries() {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind((BETWEEN, 0)).expect("a free port");
        let mut client = std::net::TcpStream::connect(listener.local_addr().expect("it listens")).expect("it listens");
        let (mut server, _) = listener.accept().expect("it connects");
        let own = [Pid::numbered(std::process::id())];
        let before = Segments::now(BETWEEN, &[]).expect("ss is installed");
        for _ in 0..10 {
            client.write_all(b"x").expect("it is open");
            server.read_exact(&mut [0]).expect("it comes");
        }
        let after = Segments::now(BETWEEN, &[]).expect("ss is installed");
        assert!(after.since(&before, &own) >= 20, "both ends are of this process");
    }
}
