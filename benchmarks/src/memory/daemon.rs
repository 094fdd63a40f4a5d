//! A memoryd of this run, in the benchmark's own process.

use std::path::{Path, PathBuf};

use anyhow::bail;
use iolite_memory::message::{FromDaemon, ToDaemon};
use iolite_memoryd::{Ask, Daemon, Watch};

/// A daemon that listens in a folder of its own, which is removed when this is dropped. Its threads end with the process.
#[derive(Debug)]
pub struct OwnDaemon {
    folder: PathBuf,
    socket: PathBuf,
}

impl OwnDaemon {
    /// A daemon that takes by command, and by itself if it watches.
    pub fn start(watch: Option<Watch>) -> anyhow::Result<OwnDaemon> {
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("iolite-bench-memory-{}-{number}", std::process::id()));
        let socket = folder.join("socket");
        let daemon = Daemon::listen(&socket)?;
        if let Some(watch) = watch {
            daemon.watch(watch)?;
        }
        std::thread::spawn(move || daemon.run());
        Ok(OwnDaemon { folder, socket })
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Takes up to so many bytes from a program, and returns how many it took.
    pub fn take(&self, pid: u32, bytes_max: u64) -> anyhow::Result<u64> {
        let mut ask = Ask::connect(&self.socket)?;
        ask.ask(&ToDaemon::Background { pid })?;
        let answers = ask.ask(&ToDaemon::Reclaim { pid, bytes_max })?;
        // From now on the program says itself where it is.
        match answers.as_slice() {
            [FromDaemon::Reclaimed { bytes, .. }] => Ok(*bytes),
            other => bail!("memoryd answers {other:?}"),
        }
    }

    /// The free bytes of what the daemon watches, and its reserve.
    pub fn free_and_reserve(&self) -> anyhow::Result<(u64, u64)> {
        let answers = Ask::connect(&self.socket)?.ask(&ToDaemon::Status)?;
        let memory = answers.iter().find_map(|answer| match answer {
            FromDaemon::Memory(memory) => Some((memory.free_bytes, memory.reserve_bytes)),
            _ => None,
        });
        memory.ok_or_else(|| anyhow::anyhow!("memoryd does not watch"))
    }
}

static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

impl Drop for OwnDaemon {
    fn drop(&mut self) {
        // The folder is in the temporary one either way.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
