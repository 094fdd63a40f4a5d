//! The chunks of a blob that an earlier one has not.
//!
//! Invariant: a chunk is passed over only if the earlier tree names the same content at the same place; so both hold what is below it.

use std::ops::Range;

use iolite_values::Blob;

use crate::names::{Names, Need};
use crate::node::NodeError;
use crate::walk::{Met, Walk};

/// A step of [`News`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The earlier blob has no such chunk here. If this is a node, [enter](News::enter) it, or all below it is passed over.
    New(Met),
    /// A node of the earlier tree is needed: [give](News::give) it, or go on [without](News::without).
    Needs(Need),
}

/// Goes through the chunks of a blob that an earlier one of the same row lacks.
#[derive(Clone, Debug)]
pub struct News {
    walk: Walk,
    before: Option<Names>,
    met: Option<Met>,
}

impl News {
    /// Compares these bytes of the content with the blob that the row had before.
    pub fn of_range(blob: &Blob, bytes: Range<u64>, before: Option<&Blob>) -> News {
        let before = before.and_then(|before| Names::of(before, true));
        News { walk: Walk::of_range(blob, bytes), before, met: None }
    }

    /// Goes into the node that the last step told.
    ///
    /// # Errors
    /// [`NodeError`].
    pub fn enter(&mut self, content: &[u8]) -> Result<(), NodeError> {
        self.walk.enter(content)
    }

    /// Takes a node of the earlier tree.
    ///
    /// # Errors
    /// [`NodeError`].
    pub fn give(&mut self, need: Need, content: &[u8]) -> Result<(), NodeError> {
        self.before.as_mut().map_or(Ok(()), |before| before.give(need, content))
    }

    /// Looks at the earlier tree no more: all that is left counts as new.
    pub fn without(&mut self) {
        self.before = None;
    }
}

impl Iterator for News {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        loop {
            let met = self.met.take().or_else(|| self.walk.next())?;
            let before = self.before.as_ref().map_or(Ok(None), |before| before.at(met.place));
            match before {
                Ok(Some(name)) if name.id == met.name.id => {}
                Ok(_) => return Some(Step::New(met)),
                Err(need) => {
                    self.met = Some(met);
                    return Some(Step::Needs(need));
                }
            }
        }
    }
}

/// The chunks of a blob that a device lacks, in the order of the content, with the nodes above them.
///
/// `held` tells the content of a chunk that the device has. Nothing is known below a node that it lacks, so nothing below is in the answer.
pub fn missing(
    blob: &Blob,
    before: Option<&Blob>,
    mut held: impl FnMut(iolite_values::ChunkId) -> Option<Vec<u8>>,
) -> Vec<Met> {
    let mut news = News::of_range(blob, 0..blob.length(), before);
    let mut missing = Vec::new();
    while let Some(step) = news.next() {
        match step {
            Step::Needs(need) => {
                let is_taken = held(need.name.id).is_some_and(|content| news.give(need, &content).is_ok());
                if !is_taken {
                    news.without();
                }
            }
            Step::New(met) => {
                let content = held(met.name.id);
                let is_held = content.is_some_and(|content| !met.is_node() || news.enter(&content).is_ok());
                if !is_held {
                    missing.push(met);
                }
            }
        }
    }
    missing
}
