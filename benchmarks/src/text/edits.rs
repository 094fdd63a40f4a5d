//! The edits of a trace, each made on what its author had seen.
//!
//! A client shows what it was told, which is more than the recorded author had seen. So each author has a document here that is told exactly that much,
//! as an editor has that shows changes a little later than its client. The edits themselves go through the clients.
//!
//! What one document tells the other is encoded and decoded, as updates of Yjs are that it is measured beside.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, bail};
use iolite_text::{Document, Yata};
use iolite_values::{Attempt, Author, Counter, Decision, Edit, LaneNumber, Operation, Timestamp, Write};
use iolite_wire::message::{FromClient, Submit};
use iolite_wire::{SessionDecoder, SessionEncoder};

use super::replay::cell;
use super::trace::{Patch, Trace};

/// The edits of one transaction.
#[derive(Clone, Debug)]
pub struct Made {
    pub agent: usize,
    pub edits: Vec<Arc<Edit>>,
    /// Transactions of others that its author saw before this one, and not before its last.
    pub seen: Vec<usize>,
}

/// What the documents came to.
#[derive(Clone, Debug)]
pub struct Documents {
    pub made: Vec<Made>,
    /// Of one who has seen all, at the end.
    pub text: String,
}

struct Writer {
    document: Yata,
    seen: BTreeSet<usize>,
}

/// # Errors
/// When the trace has a position that is none.
pub fn edits_of(trace: &Trace) -> anyhow::Result<Documents> {
    let author = |agent: usize| Author(agent as u64 + 1);
    let mut writers: Vec<Writer> =
        (0..trace.agents()).map(|agent| Writer { document: Yata::new(author(agent)), seen: BTreeSet::new() }).collect();
    // Then characters are units, and the text need not be looked at for each patch.
    let patches = || trace.transactions.iter().flat_map(|step| &step.patches);
    let is_ascii = patches().all(|Patch(_, _, inserted)| inserted.is_ascii());
    let mut made: Vec<Made> = Vec::with_capacity(trace.transactions.len());
    let mut sent: Vec<Vec<Vec<u8>>> = Vec::with_capacity(trace.transactions.len());
    for (place, step) in trace.transactions.iter().enumerate() {
        let writer = &mut writers[step.agent];
        let new = unseen(trace, &step.parents, &writer.seen);
        writer.take(&new, &sent)?;
        let mut edits = Vec::new();
        for Patch(at, removed, inserted) in &step.patches {
            let (at, removed) = if is_ascii { (*at, *removed) } else { in_units(&writer.document, *at, *removed) };
            let edit = writer.document.splice(at, removed, inserted);
            edits.extend(edit.with_context(|| format!("transaction {place} of the trace"))?.map(Arc::new));
        }
        sent.push(edits.iter().map(encoded).collect::<anyhow::Result<_>>()?);
        writer.seen.insert(place);
        let seen = new.into_iter().filter(|other| trace.transactions[*other].agent != step.agent).collect();
        made.push(Made { agent: step.agent, edits, seen });
    }
    let first = &mut writers[0];
    let rest = (0..made.len()).filter(|place| !first.seen.contains(place)).collect();
    first.take(&rest, &sent)?;
    Ok(Documents { made, text: first.document.string() })
}

impl Writer {
    /// Takes what these transactions sent.
    fn take(&mut self, new: &BTreeSet<usize>, sent: &[Vec<Vec<u8>>]) -> anyhow::Result<()> {
        for place in new {
            let edits: Vec<Arc<Edit>> =
                sent[*place].iter().map(|bytes| decoded(bytes)).collect::<anyhow::Result<_>>()?;
            self.document.apply(&edits);
        }
        self.seen.extend(new);
        Ok(())
    }
}

/// An edit as a client sends it that has sent nothing before, so that each can be read alone.
fn encoded(edit: &Arc<Edit>) -> anyhow::Result<Vec<u8>> {
    let write = Write { cell: cell()?, operation: Operation::Edit(edit.clone()) };
    let decision = Decision::Commit(vec![write]);
    let (counter, attempt, snapshot) = (Counter(1), Attempt(1), Timestamp::ZERO);
    let (lane, follows) = (LaneNumber::STRONG, None);
    let submit = Submit { counter, attempt, snapshot, reads: Vec::new(), decision, acknowledged: None, lane, follows };
    Ok(SessionEncoder::new().encode(&FromClient::Submit(submit))?)
}

fn decoded(bytes: &[u8]) -> anyhow::Result<Arc<Edit>> {
    let message = SessionDecoder::new().decode(bytes)?;
    let FromClient::Submit(Submit { decision: Decision::Commit(writes), .. }) = message else {
        bail!("an edit was sent")
    };
    match &writes[..] {
        [Write { operation: Operation::Edit(edit), .. }] => Ok(edit.clone()),
        other => bail!("an edit was sent, and not {other:?}"),
    }
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
