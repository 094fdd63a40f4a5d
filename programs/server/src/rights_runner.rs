//! `iolite dev --rights FILE`: the rights of a file come into effect at the start, and whenever the file is written.
//!
//! Invariant: a file that is wrong changes nothing, and is told with all that is wrong. The rights that are in effect stay.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use iolite_host::{Stop, explained};
use serde_json::Value;

use crate::schema::Told;
use crate::{rights_file, target};

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often it is asked whether the server serves.
const READY_EVERY: Duration = Duration::from_millis(50);

/// The file, and the server that is to have its rights.
pub struct RightsRunner {
    file: PathBuf,
    server: SocketAddr,
    token: String,
}

/// When each file of a deployment was written.
type Written = BTreeMap<PathBuf, Option<SystemTime>>;

impl RightsRunner {
    /// # Errors
    /// When there is no such file.
    pub fn new(file: &Path, server: SocketAddr, token: String) -> anyhow::Result<RightsRunner> {
        if !file.is_file() {
            bail!("--rights {}: there is no such file. Name the one that exports your rights", file.display());
        }
        Ok(RightsRunner { file: file.to_owned(), server, token })
    }

    /// Runs until the server stops.
    pub async fn run(self, mut stop: Stop) {
        tokio::select! {
            () = stop.wait() => {}
            () = self.keep() => {}
        }
    }

    async fn keep(self) {
        let server = self.server;
        while !blocking(move || target::is_ready(server)).await.unwrap_or_default() {
            tokio::time::sleep(READY_EVERY).await;
        }
        let mut files = vec![self.file.clone()];
        loop {
            // A write after this is another one.
            let mut written = written(&files);
            match self.apply().await {
                Ok((told, of)) => {
                    let _ = iolite_host::print(&format!("Rights of {}:\n{told}", self.file.display()));
                    for file in &of {
                        written.entry(file.clone()).or_insert_with(|| written_at(file));
                    }
                    files = of;
                }
                Err(error) => {
                    iolite_host::warn(&format!("the rights stay as they were: {}", explained(error.as_ref())));
                }
            }
            rewritten(&written).await;
        }
    }

    /// Puts the file's rights into effect. Returns what to tell, and the files that they come from.
    async fn apply(&self) -> anyhow::Result<(String, Vec<PathBuf>)> {
        let read = rights_file::read(&self.file).await?;
        let (server, token) = (self.server, self.token.clone());
        let asked = blocking(move || {
            let mut told = Told::default();
            let each = |kind: &str, value: &Value| told.line(kind, value);
            let done = target::ask(server, &token, "schema/apply", &read.deployment, each)?;
            anyhow::Ok(told.text(&done, false))
        });
        Ok((asked.await.context("the program ends")??, read.files))
    }
}

/// Does something that waits. None: the program ends.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

fn written_at(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|file| file.modified()).ok()
}

fn written(files: &[PathBuf]) -> Written {
    files.iter().map(|file| (file.clone(), written_at(file))).collect()
}

async fn rewritten(before: &Written) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        // A file that is being replaced may be gone for a moment.
        let is_new = |(file, before): (&PathBuf, &Option<SystemTime>)| {
            let now = written_at(file);
            now.is_some() && now != *before
        };
        if before.iter().any(is_new) {
            return;
        }
    }
}
