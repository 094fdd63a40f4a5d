//! An edit that is not folded into a text's runs yet.

use std::sync::Arc;

use super::{Edit, Insertion, UnitRange};
use crate::Digest;

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Recent {
    pub edit: Arc<Edit>,
    /// Units that it inserts. To count them takes as long as the text is.
    length: u32,
    /// Of the edit. It is asked for again and again.
    digest: Digest,
}

impl Recent {
    pub(super) fn new(edit: Arc<Edit>) -> Recent {
        let length = edit.inserted.as_ref().map_or(0, Insertion::length);
        Recent { length, digest: Digest::of(&edit), edit }
    }

    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    /// What it inserts, and as which units.
    pub(super) fn inserted(&self) -> Option<(UnitRange, &Insertion)> {
        let own = self.edit.inserted.as_ref()?;
        Some((UnitRange { author: own.first.author, from: own.first.number, length: self.length }, own))
    }
}
