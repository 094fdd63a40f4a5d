//! The daemon's socket: one daemon a socket, one thread a connection.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};
use rustix::fs::FlockOperation;

use crate::connection::serve;
use crate::programs::{CONNECTIONS_MAX, Programs};

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
        Ok(Daemon { listener, path: path.to_owned(), programs: Arc::default(), _lock: lock })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Serves for ever.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn run(&self) -> io::Result<()> {
        let open = Arc::new(AtomicUsize::new(0));
        for (number, stream) in (1..).zip(self.listener.incoming()) {
            let stream = stream?;
            if open.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS_MAX {
                open.fetch_sub(1, Ordering::AcqRel);
                continue;
            }
            let (programs, open) = (Arc::clone(&self.programs), Arc::clone(&open));
            let serving = move || {
                serve_and_tell(&programs, number, &stream);
                drop(stream);
                open.fetch_sub(1, Ordering::AcqRel);
            };
            std::thread::Builder::new().name(format!("connection-{number}")).spawn(serving)?;
        }
        Ok(())
    }
}

fn serve_and_tell(programs: &Programs, number: u64, stream: &UnixStream) {
    if let Err(error) = serve(programs, number, stream) {
        // A peer that leaves in the middle of an answer is no event.
        if !matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) {
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
