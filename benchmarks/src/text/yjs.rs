//! The same trace by Yjs, in Node: a document an author, each patch a transaction, whose update goes to the others when they see it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

/// What it says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OfYjs {
    pub version: String,
    pub seconds: f64,
    pub bytes_an_edit: f64,
    pub memory_bytes: u64,
    pub ends_as_recorded: bool,
}

/// # Errors
/// When there is no Node, or no Yjs for it: `npm ci` in the repository.
pub fn replay(trace: &Path) -> anyhow::Result<OfYjs> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("yjs/trace.mjs");
    let output = Command::new("node").arg("--expose-gc").arg(script).arg(trace).output().context("Node is needed")?;
    ensure!(output.status.success(), "Yjs failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}
