//! Violations as they are found, and how many: of each class the first few are kept with their explanation, so that memory stays bounded.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::class::{Class, Pattern};

/// A transaction's place in its history; `T17` in explanations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TransactionNumber(pub u32);

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    pub class: Class,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Those that cannot all be so.
    pub transactions: Vec<TransactionNumber>,
    /// What is wrong, for people: a sentence, then a timeline.
    pub explanation: String,
}

/// All that was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    counts: BTreeMap<Class, u64>,
    kept: Vec<Violation>,
}

impl Findings {
    /// How many of a class are explained; the others are counted.
    pub const KEPT_OF_A_CLASS: u64 = 5;

    /// Counts a violation. The explanation is made only if it is kept.
    pub fn add(&mut self, class: Class, explain: impl FnOnce() -> Violation) {
        let count = self.counts.entry(class).or_default();
        *count += 1;
        if *count <= Self::KEPT_OF_A_CLASS {
            self.kept.push(explain());
        }
    }

    pub fn counts(&self) -> &BTreeMap<Class, u64> {
        &self.counts
    }

    pub fn kept(&self) -> &[Violation] {
        &self.kept
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub fn has(&self, class: Class) -> bool {
        self.counts.contains_key(&class)
    }

    pub(crate) fn into_kept(self) -> Vec<Violation> {
        self.kept
    }
}
