//! The daemon's socket: one daemon a socket, one thread a connection.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use iolite_memory::message::is_closed_by_peer;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::connection::{refuse, serve};
use crate::programs::{CONNECTIONS_MAX, Programs};
use crate::watching::Watch;

/// How long the daemon waits before it looks for a free descriptor again.
const SHORTAGE_WAIT: Duration = Duration::from_millis(50);

/// A daemon that listens.
#[derive(Debug)]
pub struct Daemon {
    listener: UnixListener,
    path: PathBuf,
    programs: Arc<Programs>,
    /// Locked for as long as the daemon lives.
    _lock: std::fs::File,
}

impl Daemon {
    /// Listens at a path, whose folder is made if it is not there.
    ///
    /// # Errors
    /// When another daemon listens there, or others may reach into the folder.
    pub fn listen(path: &Path) -> anyhow::Result<Daemon> {
        let folder = path.parent().context("the socket's path has no folder: name one")?;
        make_folder(folder)?;
        let lock_path = path.with_extension("lock");
        let lock =
            std::fs::File::create(&lock_path).with_context(|| format!("{} cannot be made", lock_path.display()))?;
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            bail!("another memoryd listens at {}: use that one, or end it", path.display());
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error).context("the old socket stays"),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(path).with_context(|| format!("no socket at {}", path.display()))?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        // Adopted programs have working folders of their own.
        let path = std::path::absolute(path)?;
        Ok(Daemon { listener, path, programs: Arc::default(), _lock: lock })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes memory by itself from now on, when less than the reserve is free.
    ///
    /// # Errors
    /// When the limit cannot be read.
    pub fn watch(&self, watch: Watch) -> io::Result<()> {
        crate::watching::begin(&self.programs, watch)
    }

    /// Serves `GET /metrics` on loopback from now on, and returns where. Port 0 takes a free one.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn serve_metrics(&self, port: u16) -> anyhow::Result<std::net::SocketAddr> {
        crate::metrics::begin(&self.programs, port)
            .with_context(|| format!("metrics cannot be served at port {port}: choose another with --metrics-port"))
    }

    /// Serves for ever. While the machine has no descriptor for another connection, those who connect wait, and the others are served.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn run(&self) -> io::Result<()> {
        let open = Arc::new(AtomicUsize::new(0));
        let mut is_short = false;
        for (number, stream) in (1..).zip(self.listener.incoming()) {
            match stream {
                Ok(stream) => {
                    is_short = false;
                    self.begin(number, stream, &open);
                }
                Err(error) if is_of_one_peer(&error) => {}
                Err(error) if is_shortage(&error) => {
                    if !is_short {
                        eprintln!(
                            "memoryd: no further connection for now: raise `ulimit -n`, or free memory ({error})"
                        );
                    }
                    is_short = true;
                    std::thread::sleep(SHORTAGE_WAIT);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Serves a connection in a thread of its own, or refuses it.
    fn begin(&self, number: u64, stream: UnixStream, open: &Arc<AtomicUsize>) {
        let counted = Counted::one_more(open);
        if counted.before >= CONNECTIONS_MAX {
            refuse_and_leave(&stream, &format!("memoryd has {CONNECTIONS_MAX} connections already: end one"));
            return;
        }
        let (programs, stream, socket) = (Arc::clone(&self.programs), Arc::new(stream), self.path.clone());
        let served = Arc::clone(&stream);
        let serving = move || {
            serve_and_tell(&programs, number, &served, &socket);
            // The connection is closed before the next one may come in its place.
            drop(served);
            drop(counted);
        };
        let begun = std::thread::Builder::new().name(format!("connection-{number}")).spawn(serving);
        if let Err(error) = begun {
            refuse_and_leave(&stream, &format!("memoryd has no thread for another connection: try again ({error})"));
        }
    }
}

/// A connection that is counted until this is dropped.
struct Counted {
    open: Arc<AtomicUsize>,
    /// The connections that there were without this one.
    before: usize,
}

impl Counted {
    fn one_more(open: &Arc<AtomicUsize>) -> Counted {
        Counted { open: Arc::clone(open), before: open.fetch_add(1, Ordering::AcqRel) }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Whether accepting failed because the one who connected is gone already, or a signal came.
fn is_of_one_peer(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted)
}

/// Whether accepting failed for want of descriptors or of memory, which come back when others end.
fn is_shortage(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

/// The new connection's buffer is empty, so this does not wait for the other side.
fn refuse_and_leave(stream: &UnixStream, reason: &str) {
    // If that side is gone, nobody needs to hear it.
    let _ = refuse(stream, reason);
}

fn serve_and_tell(programs: &Programs, number: u64, stream: &UnixStream, socket: &Path) {
    if let Err(error) = serve(programs, number, stream, socket) {
        // A peer that leaves in the middle of an answer is no event.
        if !is_closed_by_peer(&error) {
            eprintln!("memoryd: connection {number}: {error}");
        }
    }
}

/// Makes the folder for this user alone, or refuses one that others may reach into.
fn make_folder(folder: &Path) -> anyhow::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(|| format!("{} cannot be made", folder.display())),
    }
    let found = std::fs::symlink_metadata(folder)?;
    let is_ours = found.is_dir() && found.uid() == rustix::process::getuid().as_raw() && found.mode() & 0o022 == 0;
    if !is_ours {
        bail!("{} is not a folder of this user alone: choose another with --socket", folder.display());
    }
    Ok(())
}
