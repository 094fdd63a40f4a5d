//! The processes at the other ends of connections, as Linux tells it.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::party::Party;

/// The processes that run. Clones know the same ones.
#[derive(Clone, Debug, Default)]
pub struct Callers(Arc<Mutex<BTreeMap<u32, Party>>>);

impl Callers {
    fn known(&self) -> MutexGuard<'_, BTreeMap<u32, Party>> {
        self.0.lock().expect("nobody panics who holds it")
    }

    pub fn runs(&self, party: Party, process: u32) {
        self.known().insert(process, party);
    }

    pub fn has_ended(&self, process: u32) {
        self.known().remove(&process);
    }

    /// The process that has this end of a connection over IPv4.
    pub fn of(&self, end: SocketAddr) -> Option<Party> {
        let socket = format!("socket:[{}]", inode(&fs::read_to_string("/proc/net/tcp").ok()?, end)?);
        let has = |process: &u32| {
            let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten();
            files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == socket.as_str()))
        };
        self.known().iter().find(|(process, _)| has(process)).map(|(_, party)| *party)
    }
}

/// The number of the socket that is bound to this address, from the table of the kernel.
fn inode(table: &str, end: SocketAddr) -> Option<&str> {
    let SocketAddr::V4(end) = end else { return None };
    // The address is in the machine's order of bytes, the port is not.
    let local = format!("{:08X}:{:04X}", u32::from_ne_bytes(end.ip().octets()), end.port());
    let line = table.lines().find(|line| line.split_whitespace().nth(1) == Some(local.as_str()))?;
    line.split_whitespace().nth(9)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use iolite_node::NodeRole;

    use super::*;

    #[test]
    fn the_process_at_the_other_end_is_found() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let _client = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
        let (_server, end) = listener.accept().expect("it was dialled");
        let callers = Callers::default();
        assert_eq!(callers.of(end), None);
        let own = Party::Node(NodeRole::of(&iolite_host::NodeName::new("gateway-1").expect("a name")).expect("a node"));
        callers.runs(own, std::process::id());
        assert_eq!(callers.of(end), Some(own));
        callers.has_ended(std::process::id());
        assert_eq!(callers.of(end), None);
    }
}
