//! The app's mutations, by name.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::error::{Abort, Result};
use crate::transaction::Transaction;

type Mutator = Box<dyn Fn(&mut Transaction<'_>, &str) -> Result<()> + Send + Sync>;

/// Named functions that change data. Only they survive a restart and re-run on newer data, because name and arguments are stored and the function
/// is not: so keep old names as long as devices may have them in their queues.
///
/// ```
/// let mutators = iolite::Mutators::new()
///     .with("like", |tx, note: String| tx.add("notes", &note, "likes", 1))
///     .with("rename", |tx, (note, title): (String, String)| tx.set("notes", &note, "title", title));
/// # let _ = mutators;
/// ```
#[derive(Default)]
pub struct Mutators {
    by_name: BTreeMap<String, Mutator>,
}

impl Mutators {
    /// None yet.
    pub fn new() -> Mutators {
        Mutators::default()
    }

    /// Adds one, or replaces the one of this name. Its arguments are anything that serde reads from JSON. With a name that begins with `$` no client opens.
    #[must_use]
    pub fn with<A, F>(mut self, name: &str, mutator: F) -> Mutators
    where
        A: DeserializeOwned,
        F: Fn(&mut Transaction<'_>, A) -> Result<()> + Send + Sync + 'static,
    {
        let named = name.to_owned();
        let erased = move |transaction: &mut Transaction<'_>, arguments: &str| {
            let arguments = serde_json::from_str(arguments).map_err(|error| {
                Abort::Mistake(format!("the arguments of {named:?} are not what it takes: {error}"))
            })?;
            mutator(transaction, arguments)
        };
        self.by_name.insert(name.to_owned(), Box::new(erased));
        self
    }

    /// Adds an operation of a log, or replaces the one of this name: what it does is a function of its arguments and of what it reads, at every client alike. It
    /// reads and writes the tables of its own log, and nothing else. Keep old names as long as a log may have entries of them.
    ///
    /// ```
    /// let mutators = iolite::Mutators::new().operation("sheet", "set_cell", |tx, (at, text): (String, String)| {
    ///     tx.set("cells", &("budget", at), "text", text)
    /// });
    /// # let _ = mutators;
    /// ```
    #[must_use]
    pub fn operation<A, F>(self, log: &str, name: &str, operation: F) -> Mutators
    where
        A: DeserializeOwned,
        F: Fn(&mut Transaction<'_>, A) -> Result<()> + Send + Sync + 'static,
    {
        self.with(&format!("{log}.{name}"), operation)
    }

    /// One that the core would never ask for: names that begin with `$` are its own.
    pub(crate) fn out_of_reach(&self) -> Option<&String> {
        self.by_name.keys().find(|name| name.starts_with('$'))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Mutator> {
        self.by_name.get(name)
    }
}

impl std::fmt::Debug for Mutators {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}
