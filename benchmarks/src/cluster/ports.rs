//! Addresses on loopback: servers listen to clients at one, and to each other at another.

use std::net::{IpAddr, Ipv4Addr};

pub const CLIENTS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1));
/// All of 127.0.0.0/8 is loopback; sockets with this one carry what servers say to each other.
pub const BETWEEN_SERVERS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Ports that are free at both addresses.
pub fn free_ports<const COUNT: usize>() -> anyhow::Result<[u16; COUNT]> {
    let ports = iolite_cluster::free_ports(&[CLIENTS, BETWEEN_SERVERS], COUNT)?;
    Ok(ports.try_into().expect("as many as were asked for"))
}
