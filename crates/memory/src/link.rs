//! The program's side of the connection to memoryd: a thread that tells the daemon of the region, and notices when the daemon is gone.
//!
//! Invariant: a connection counts as ended only when the daemon's side has closed it. The kernel does so after the last call of a process that is
//! killed, so nothing of that daemon is on its way to the region any more.

use std::io::{self, BufReader};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::descriptors::send_line;
use crate::message::{FromDaemon, MESSAGES_VERSION, ToDaemon, is_closed_by_peer, line_of, read_line};
use crate::restoring::settle_claims;
use crate::shared::Shared;

const LOCKED: &str = "nothing panics while it holds this lock";
/// How often a program looks for a daemon.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// Whether a region is known to memoryd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// No daemon answers: the region works, and nobody takes from it.
    #[default]
    Alone,
    /// The daemon knows the region.
    Known,
    /// The daemon will not have it, with its reason. The program tries again.
    Refused { reason: String },
}

/// The state that the thread and the region share.
#[derive(Debug, Default)]
pub struct LinkState {
    pub link: Mutex<Link>,
    pub changed: Condvar,
    pub is_ending: AtomicBool,
    stream: Mutex<Option<UnixStream>>,
}

/// The thread of the link.
#[derive(Debug)]
pub struct Linking {
    pub shared: Arc<Shared>,
    pub table: OwnedFd,
    pub name: String,
    pub socket: PathBuf,
    pub state: Arc<LinkState>,
}

impl LinkState {
    fn set(&self, link: Link) {
        *self.link.lock().expect(LOCKED) = link;
        self.changed.notify_all();
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Ends the thread soon.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        if let Some(stream) = &*self.stream.lock().expect(LOCKED) {
            // If it is closed already, the thread is on its way.
            let _ = stream.shutdown(Shutdown::Both);
        }
        let _link = self.link.lock().expect(LOCKED);
        self.changed.notify_all();
    }
}

impl Linking {
    /// Connects again and again, until the region ends.
    pub fn run(self) {
        while !self.state.is_ending() {
            if let Ok(stream) = UnixStream::connect(&self.socket).and_then(checked) {
                self.serve(stream);
            }
            let link = self.state.link.lock().expect(LOCKED);
            let wait = self.state.changed.wait_timeout_while(link, AGAIN_AFTER, |_| !self.state.is_ending());
            drop(wait.expect(LOCKED));
        }
    }

    /// One connection, from the hello to the daemon's end.
    fn serve(&self, stream: UnixStream) {
        let Ok(kept) = stream.try_clone() else { return };
        *self.state.stream.lock().expect(LOCKED) = Some(kept);
        let number = {
            let mut daemon = self.shared.daemon.lock().expect(LOCKED);
            daemon.connections += 1;
            daemon.connected = Some(daemon.connections);
            daemon.connections
        };
        if self.state.is_ending() {
            return;
        }
        // However it ended: what counts is that the other side has closed.
        let _ = self.talk(&stream);
        drain(&stream);
        *self.state.stream.lock().expect(LOCKED) = None;
        if self.state.is_ending() {
            return;
        }
        {
            let mut daemon = self.shared.daemon.lock().expect(LOCKED);
            daemon.connected = None;
            daemon.ended = number;
        }
        settle_claims(&self.shared);
        self.shared.end_rests_now();
        let mut link = self.state.link.lock().expect(LOCKED);
        if *link == Link::Known {
            *link = Link::Alone;
        }
    }

    fn talk(&self, stream: &UnixStream) -> io::Result<()> {
        let hello = ToDaemon::Hello { version: MESSAGES_VERSION, name: self.name.clone() };
        match send_line(stream, &line_of(&hello)?, &[self.shared.data.file(), self.table.as_fd()]) {
            // A daemon that refuses before it has heard anything says why, and closes: its word is read below.
            Err(error) if !is_closed_by_peer(&error) => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut lines = BufReader::new(stream);
        while let Some(message) = read_line::<FromDaemon>(&mut lines)? {
            match message {
                FromDaemon::Welcome { .. } => self.state.set(Link::Known),
                FromDaemon::Refused { reason } => self.state.set(Link::Refused { reason }),
                // Answers to people's commands, which this connection sends none of.
                FromDaemon::Reclaimed { .. }
                | FromDaemon::Agent(_)
                | FromDaemon::Program(_)
                | FromDaemon::Memory(_)
                | FromDaemon::Choice(_)
                | FromDaemon::Done => {}
            }
        }
        Ok(())
    }
}

/// A daemon of another user must not have this region.
fn checked(stream: UnixStream) -> io::Result<UnixStream> {
    let peer = rustix::net::sockopt::socket_peercred(&stream)?;
    if peer.uid == rustix::process::getuid() { Ok(stream) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Reads to the end, whatever comes: only the end says that the daemon is done.
fn drain(mut stream: &UnixStream) {
    // Half closed, so that a daemon that waits for more hears that there is none.
    let _ = stream.shutdown(Shutdown::Write);
    let _ = io::copy(&mut stream, &mut io::sink());
}

#[cfg(test)]
mod tests;
