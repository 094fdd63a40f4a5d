//! The edits of a trace, each made on what its author had seen.
//!
//! A client shows what it was told, which is more than the recorded author had seen. So each author has a document here that is told exactly that much,
//! as an editor has that shows changes a little later than its client. The edits themselves go through the clients.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Context;
use iolite_text::{Document, Yata};
use iolite_values::{Author, Edit};

use super::trace::{Patch, Trace};

/// The edits of one transaction.
#[derive(Clone, Debug)]
pub struct Made {
    pub agent: usize,
    pub edits: Vec<Arc<Edit>>,
    /// Transactions of others that its author saw before this one, and not before its last.
    pub seen: Vec<usize>,
}

struct Writer {
    document: Yata,
    seen: BTreeSet<usize>,
}

/// # Errors
/// When the trace has a position that is none.
pub fn edits_of(trace: &Trace) -> anyhow::Result<Vec<Made>> {
    let author = |agent: usize| Author(agent as u32 + 1);
    let mut writers: Vec<Writer> =
        (0..trace.agents()).map(|agent| Writer { document: Yata::new(author(agent)), seen: BTreeSet::new() }).collect();
    // Then characters are units, and the text need not be looked at for each patch.
    let patches = || trace.transactions.iter().flat_map(|step| &step.patches);
    let is_ascii = patches().all(|Patch(_, _, inserted)| inserted.is_ascii());
    let mut made: Vec<Made> = Vec::with_capacity(trace.transactions.len());
    for (place, step) in trace.transactions.iter().enumerate() {
        let writer = &mut writers[step.agent];
        let new = unseen(trace, &step.parents, &writer.seen);
        for other in &new {
            writer.document.apply(&made[*other].edits);
        }
        writer.seen.extend(&new);
        let mut edits = Vec::new();
        for Patch(at, removed, inserted) in &step.patches {
            let (at, removed) = if is_ascii { (*at, *removed) } else { in_units(&writer.document, *at, *removed) };
            let edit = writer.document.splice(at, removed, inserted);
            edits.extend(edit.with_context(|| format!("transaction {place} of the trace"))?.map(Arc::new));
        }
        writer.seen.insert(place);
        let seen = new.into_iter().filter(|other| trace.transactions[*other].agent != step.agent).collect();
        made.push(Made { agent: step.agent, edits, seen });
    }
    Ok(made)
}

/// What comes before these transactions, with them, and was not seen yet; in order.
fn unseen(trace: &Trace, parents: &[usize], seen: &BTreeSet<usize>) -> BTreeSet<usize> {
    let (mut new, mut open) = (BTreeSet::new(), parents.to_vec());
    while let Some(place) = open.pop() {
        if !seen.contains(&place) && new.insert(place) {
            open.extend(&trace.transactions[place].parents);
        }
    }
    new
}

/// Positions of a trace are in characters.
fn in_units(document: &Yata, at: u32, removed: u32) -> (u32, u32) {
    let text = document.string();
    let units = |from: usize, count: usize| {
        text.chars().skip(from).take(count).map(|character| character.len_utf16() as u32).sum::<u32>()
    };
    (units(0, at as usize), units(at as usize, removed as usize))
}
