//! A file of rights: the JSON of a deployment, or a module that exports it, which Node runs.
//!
//! Invariant: a module says nothing of the deployment but by its export, whatever it prints.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::process::Command;

/// The program that Node runs. Its last line has the deployment, and the files that the module is made of.
const SCRIPT: &str = include_str!("rights_file.mjs");

/// A deployment, and the files that it comes from.
pub struct RightsFile {
    /// The deployment in JSON.
    pub deployment: String,
    /// The file itself, and those that it imports, as far as they are known.
    pub files: Vec<PathBuf>,
}

/// Reads a file of rights. Node ends if this is dropped.
///
/// # Errors
/// There is no such file, or it gives no JSON. Each message says what to do.
pub async fn read(file: &Path) -> anyhow::Result<RightsFile> {
    let own = file.display();
    if !file.is_file() {
        bail!(
            "{own}: there is no such file. Name the one that exports your rights, as in `iolite schema plan rights.ts`"
        );
    }
    let file = std::fs::canonicalize(file).with_context(|| format!("{own} cannot be read"))?;
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("json") => {
            let deployment = std::fs::read_to_string(&file).with_context(|| format!("{own} cannot be read"))?;
            Ok(RightsFile { deployment, files: vec![file] })
        }
        Some("ts" | "mts" | "js" | "mjs") => run(&file).await.with_context(|| format!("{own} was run by Node")),
        Some(_) | None => {
            bail!("{own}: rights are in a file of JSON, JavaScript or TypeScript: .json, .js, .mjs, .ts or .mts")
        }
    }
}

async fn run(file: &Path) -> anyhow::Result<RightsFile> {
    let Output { status, stdout, stderr } = Command::new("node")
        .args(["--input-type=module", "--eval", SCRIPT])
        .current_dir(file.parent().unwrap_or(Path::new(".")))
        .env("IOLITE_RIGHTS", file)
        .env("NODE_NO_WARNINGS", "1")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => anyhow::anyhow!(
                "there is no `node` on this machine's path: install Node 20.19 or later, or give the rights as JSON, in a file that ends with .json"
            ),
            _ => anyhow::Error::from(error).context("Node cannot be started"),
        })?;
    let (said, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    if !status.success() {
        bail!("{}", if errors.trim().is_empty() { "it ended before it had exported anything" } else { errors.trim() });
    }
    let last = said.lines().next_back().unwrap_or_default();
    let told: Value = serde_json::from_str(last).context("it ended before it had exported anything")?;
    let files = told["files"].as_array().into_iter().flatten().filter_map(Value::as_str).map(PathBuf::from);
    let deployment = told["deployment"].as_str().context("it ended before it had exported anything")?.to_owned();
    Ok(RightsFile { deployment, files: files.collect() })
}
