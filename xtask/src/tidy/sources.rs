//! The files of the repository: those that git tracks, and new ones that it does not ignore.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// A file of the repository.
#[derive(Clone, Debug)]
pub struct Source {
    /// From the repository's root, with `/`.
    pub path: String,
    /// Empty for files that are not text.
    pub text: String,
}

impl Source {
    #[cfg(test)]
    pub fn new(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        Path::new(&self.path)
            .extension()
            .and_then(|extension| extension.to_str())
            .is_some_and(|extension| extensions.contains(&extension))
    }
}

pub fn read(root: &Path) -> Result<Vec<Source>> {
    let listing = process::read(
        Command::new("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root),
    )?;
    let mut sources = Vec::new();
    for path in listing.split('\0').filter(|path| !path.is_empty()) {
        let file = root.join(path);
        // A file that was deleted but not yet committed is still listed; a link or a submodule is not a source.
        if !file.is_file() {
            continue;
        }
        let bytes = std::fs::read(&file).with_context(|| format!("cannot read {path}"))?;
        sources.push(Source { path: path.to_owned(), text: String::from_utf8(bytes).unwrap_or_default() });
    }
    Ok(sources)
}
