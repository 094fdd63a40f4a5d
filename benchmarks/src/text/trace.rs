//! Recorded typing: who changed what, and what they had seen of it. The format is that of github.com/josephg/editing-traces.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

/// A recording of one or more people.
#[derive(Clone, Debug)]
pub struct Trace {
    pub end: String,
    pub transactions: Vec<Step>,
}

/// What one person did at one time.
#[derive(Clone, Debug)]
pub struct Step {
    pub agent: usize,
    /// The last ones that its author had seen: all before them were seen as well.
    pub parents: Vec<usize>,
    pub patches: Vec<Patch>,
}

/// Characters at a position that are removed, and what comes in their place.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Patch(pub u32, pub u32, pub String);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    start_content: String,
    end_content: String,
    txns: Vec<FileStep>,
}

#[derive(Deserialize)]
struct FileStep {
    agent: Option<usize>,
    parents: Option<Vec<usize>>,
    patches: Vec<Patch>,
}

impl Trace {
    /// Reads a file of JSON, compressed by gzip if its name ends so.
    ///
    /// # Errors
    /// When there is no such file, or it is no trace.
    pub fn read(path: &Path) -> anyhow::Result<Trace> {
        let bytes = if path.extension().is_some_and(|extension| extension == "gz") {
            let output =
                Command::new("gzip").arg("-dc").arg(path).output().context("gzip is needed for such a file")?;
            ensure!(output.status.success(), "{} is not what gzip writes", path.display());
            output.stdout
        } else {
            std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?
        };
        Trace::of_json(&bytes)
    }

    /// # Errors
    /// When it is no trace.
    pub fn of_json(bytes: &[u8]) -> anyhow::Result<Trace> {
        let File { start_content, end_content: end, txns } = serde_json::from_slice(bytes).context("no trace")?;
        ensure!(start_content.is_empty(), "only what begins with an empty text is replayed");
        let mut transactions: Vec<Step> = Vec::with_capacity(txns.len());
        for (place, FileStep { agent, parents, patches }) in txns.into_iter().enumerate() {
            let parents = parents.unwrap_or_else(|| place.checked_sub(1).into_iter().collect());
            if parents.iter().any(|parent| *parent >= place) {
                bail!("transaction {place} of the trace comes before one that it had seen");
            }
            transactions.push(Step { agent: agent.unwrap_or(0), parents, patches });
        }
        Ok(Trace { end, transactions })
    }

    pub fn agents(&self) -> usize {
        self.transactions.iter().map(|step| step.agent + 1).max().unwrap_or(1)
    }

    pub fn patches(&self) -> usize {
        self.transactions.iter().map(|step| step.patches.len()).sum()
    }
}
