//! Addresses on loopback: servers listen to clients at one, and to each other at another.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

pub const CLIENTS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1));
/// All of 127.0.0.0/8 is loopback; sockets with this one carry what servers say to each other.
pub const BETWEEN_SERVERS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Ports that are free at both addresses.
pub fn free_ports<const COUNT: usize>() -> anyhow::Result<[u16; COUNT]> {
    // Held until all are found, so that none comes twice.
    let mut held = Vec::new();
    let mut ports = BTreeSet::new();
    while ports.len() < COUNT {
        let first = TcpListener::bind(SocketAddr::new(CLIENTS, 0))?;
        let port = first.local_addr()?.port();
        if let Ok(second) = TcpListener::bind(SocketAddr::new(BETWEEN_SERVERS, port)) {
            ports.insert(port);
            held.push(second);
        }
        held.push(first);
    }
    let mut ports = ports.into_iter();
    Ok(std::array::from_fn(|_| ports.next().expect("as many as were asked for")))
}
