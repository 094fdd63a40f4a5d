//! Ports that nobody listens on.

use std::io;
use std::net::{IpAddr, TcpListener};

/// So many different ones, free at this moment at all of these addresses.
///
/// # Errors
/// What the system says when it has none.
pub fn free_ports(addresses: &[IpAddr], count: usize) -> io::Result<Vec<u16>> {
    // Held until all are found, so that none comes twice.
    let mut held = Vec::new();
    let mut ports = Vec::new();
    while ports.len() < count {
        let Some((first, others)) = addresses.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no address was given"));
        };
        let listener = TcpListener::bind((*first, 0))?;
        let port = listener.local_addr()?.port();
        held.push(listener);
        let others: io::Result<Vec<TcpListener>> =
            others.iter().map(|address| TcpListener::bind((*address, port))).collect();
        if let Ok(others) = others {
            held.extend(others);
            ports.push(port);
        }
    }
    Ok(ports)
}
