//! `iolite dev --objects FILE.js`: the classes of a file, run by Node beside the server.
//!
//! Invariant: Node runs as long as the server does. It is started again when it ends, and when the file is written, and is one node of objects all the while.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use iolite_host::{Stop, random_id};
use iolite_values::Id;
use tokio::process::{Child, ChildStdin, Command};

/// How often the file is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long a file that fails is left alone.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The program that Node runs: the package `@iolite/objects` of the file's own project. Its input ends with the server, also if that is killed.
const SCRIPT: &str = "import { runObjects } from '@iolite/objects/run'; process.stdin.resume().on('end', () => process.exit()); \
                      await runObjects(process.env.IOLITE_OBJECTS)";

/// The file, and where its classes are to be served.
pub struct ObjectRunner {
    file: PathBuf,
    url: String,
    token: String,
    /// The name under which every Node that is started takes the place of the one before.
    node: Id,
}

impl ObjectRunner {
    /// # Errors
    /// When there is no such file.
    pub fn new(file: &Path, url: String, token: String) -> anyhow::Result<ObjectRunner> {
        let file = std::fs::canonicalize(file)
            .with_context(|| format!("--objects {}: name the file that exports your classes", file.display()))?;
        if !file.is_file() {
            bail!("--objects {}: it is no file. Name the one that exports your classes", file.display());
        }
        Ok(ObjectRunner { file, url, token, node: Id::from_u128(random_id()) })
    }

    /// Runs until the server stops.
    pub async fn run(self, mut stop: Stop) {
        loop {
            let written = self.written();
            let mut started = match self.start() {
                Ok(child) => Some(child),
                Err(error) => {
                    tracing::error!(
                        "Node cannot be started: {error}. Install Node 20.19 or later, or leave --objects out"
                    );
                    None
                }
            };
            tokio::select! {
                () = stop.wait() => return,
                () = self.rewritten(written) => tracing::info!("{} was written: its classes start again", self.file.display()),
                status = ended(&mut started) => {
                    tracing::warn!("the classes of {} ended ({status}): they start again", self.file.display());
                    tokio::select! {
                        () = stop.wait() => return,
                        () = tokio::time::sleep(AGAIN_AFTER) => {}
                    }
                }
            }
            // It ends with the handle.
            drop(started);
        }
    }

    fn start(&self) -> std::io::Result<Started> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let mut child = Command::new("node")
            .args(["--input-type=module", "--eval", SCRIPT])
            .current_dir(folder)
            .env("IOLITE_OBJECTS", &self.file)
            .env("IOLITE_URL", &self.url)
            .env("IOLITE_TOKEN", &self.token)
            .env("IOLITE_NODE", self.node.to_string())
            .stdin(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        Ok(Started { _input: child.stdin.take(), child })
    }

    fn written(&self) -> Option<SystemTime> {
        std::fs::metadata(&self.file).and_then(|file| file.modified()).ok()
    }

    async fn rewritten(&self, before: Option<SystemTime>) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = self.written();
            // A file that is being replaced may be gone for a moment.
            if now.is_some() && now != before {
                return;
            }
        }
    }
}

/// A Node that was started. Dropping it ends Node.
struct Started {
    child: Child,
    _input: Option<ChildStdin>,
}

async fn ended(started: &mut Option<Started>) -> String {
    match started {
        Some(started) => started.child.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string()),
        None => "it did not start".to_owned(),
    }
}
