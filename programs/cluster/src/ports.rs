//! Ports that nobody listens on.
//!
//! They lie below those that systems give to connections that go out (from 32768 on Linux, from 49152 elsewhere): else
//! the port of a process that is down for a moment may be taken by anybody's connection, and the process cannot start.

use std::io;
use std::net::{IpAddr, TcpListener};
use std::ops::Range;

use iolite_host::random_id;

/// Among them they are chosen.
const CHOICE: Range<u16> = 10_000..32_768;

/// So many different ones, free at this moment at all of these addresses. They are counted up from a random one, so
/// that two processes that ask at the same moment hardly ever get the same.
///
/// # Errors
/// When there are not as many.
pub fn free_ports(addresses: &[IpAddr], count: usize) -> io::Result<Vec<u16>> {
    let first = CHOICE.start + (random_id() % u128::from(CHOICE.end - CHOICE.start)) as u16;
    let is_free = |port: &u16| addresses.iter().all(|address| TcpListener::bind((*address, *port)).is_ok());
    let free: Vec<u16> = (first..CHOICE.end).chain(CHOICE.start..first).filter(is_free).take(count).collect();
    if free.len() < count {
        let error = format!("fewer than {count} ports are free from {} to {}", CHOICE.start, CHOICE.end - 1);
        return Err(io::Error::new(io::ErrorKind::AddrInUse, error));
    }
    Ok(free)
}
