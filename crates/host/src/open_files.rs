//! How many files and sockets this process may have open.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What is left for files when all else is sockets: the journal's segments, the app's page, the listener.
const RESERVED_FOR_FILES: usize = 64;

/// Asks for as many as the operating system allows this process. For programs that are servers and nothing else.
pub fn allow_all_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // What it is allowed now is enough to begin with.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// How many of them may be sockets of clients, at most `wanted`. What nodes have reserved is theirs.
pub(crate) fn sockets_max(wanted: usize) -> usize {
    let left = |all: usize| all.saturating_sub(RESERVED_FOR_FILES + RESERVED_FOR_NODES.load(Ordering::Relaxed));
    open_files_max().map_or(wanted, |all| left(all).clamp(1, wanted))
}

/// Sockets that clients do not take from nodes, nor nodes from clients. To be reserved before clients are served.
#[derive(Debug)]
pub(crate) struct SocketsOfNodes {
    /// Those that are links which other nodes have dialled.
    pub links: usize,
    /// Those that may become links.
    pub handshakes: usize,
}

static RESERVED_FOR_NODES: AtomicUsize = AtomicUsize::new(0);

impl SocketsOfNodes {
    /// At most as many as wanted, and a quarter of all files.
    pub fn reserve(links: usize, handshakes: usize) -> SocketsOfNodes {
        let reserved = SocketsOfNodes::of(open_files_max().unwrap_or(usize::MAX), links, handshakes);
        RESERVED_FOR_NODES.fetch_add(reserved.links + reserved.handshakes, Ordering::Relaxed);
        reserved
    }

    fn of(all: usize, links: usize, handshakes: usize) -> SocketsOfNodes {
        let share = all / 4;
        SocketsOfNodes { links: links.min(share / 5 * 4).max(1), handshakes: handshakes.min(share / 5).max(1) }
    }
}

impl Drop for SocketsOfNodes {
    fn drop(&mut self) {
        RESERVED_FOR_NODES.fetch_sub(self.links + self.handshakes, Ordering::Relaxed);
    }
}

/// `None` when the operating system has no such limit.
fn open_files_max() -> Option<usize> {
    #[cfg(unix)]
    {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        limit.current.and_then(|limit| usize::try_from(limit).ok())
    }
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_at_most_a_quarter_of_all_files() {
        let of = |all| {
            let share = std::mem::ManuallyDrop::new(SocketsOfNodes::of(all, 1024, 256));
            (share.links, share.handshakes)
        };
        assert_eq!(of(1_000_000), (1024, 256));
        assert_eq!(of(1024), (204, 51));
        assert_eq!(of(usize::MAX), (1024, 256));
        assert_eq!(of(0), (1, 1));
    }

    #[test]
    fn what_nodes_have_reserved_clients_do_not_take() {
        let Some(all) = open_files_max() else { return };
        let reserved = SocketsOfNodes::reserve(50, 10);
        // Other tests reserve some at the same time.
        assert!(sockets_max(usize::MAX) <= all - RESERVED_FOR_FILES - reserved.links - reserved.handshakes);
    }
}
