//! An edit that is not folded into a text's runs yet.

use std::sync::Arc;

use super::{Edit, Fingerprint, Insertion, UnitRange};

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Recent {
    pub edit: Arc<Edit>,
    /// Units that it inserts. To count them takes as long as the text is.
    length: u32,
    /// Of the edit. It is asked for again and again.
    fingerprint: Fingerprint,
}

impl Recent {
    pub(super) fn new(edit: Arc<Edit>) -> Recent {
        let length = edit.inserted.as_ref().map_or(0, Insertion::length);
        Recent { length, fingerprint: Fingerprint::of(&edit), edit }
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// What it inserts, and as which units.
    pub(super) fn inserted(&self) -> Option<(UnitRange, &Insertion)> {
        let own = self.edit.inserted.as_ref()?;
        Some((UnitRange { author: own.first.author, from: own.first.number, length: self.length }, own))
    }
}
