//! A setting of the kernel that is changed for a run, and put back.

use std::path::PathBuf;

use anyhow::Context;

/// Puts the value back when it is dropped.
#[derive(Debug)]
pub struct Setting {
    path: PathBuf,
    before: String,
}

impl Setting {
    /// Changes a setting of which the chosen value stands in brackets.
    pub fn choose(path: &str, value: &str) -> anyhow::Result<Setting> {
        let path = PathBuf::from(path);
        let all = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let before = all.split(['[', ']']).nth(1).context("one value is chosen")?.to_owned();
        std::fs::write(&path, value).with_context(|| format!("{} takes root", path.display()))?;
        Ok(Setting { path, before })
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(&self.path, &self.before) {
            eprintln!("{} stays changed: write {} into it ({error})", self.path.display(), self.before);
        }
    }
}
