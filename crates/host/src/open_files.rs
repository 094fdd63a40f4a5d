//! How many files and sockets this process may have open.

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

/// How many of them may be sockets of others, at most `wanted`.
pub(crate) fn sockets_max(wanted: usize) -> usize {
    open_files_max().map_or(wanted, |all| all.saturating_sub(RESERVED_FOR_FILES).clamp(1, wanted))
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
