//! Real time as edges: who was acknowledged before another was invoked comes before it.
//!
//! A chain of vertices in the order of acknowledgements: each transaction leads into it at its own, and is reached from the last one before it
//! began. So there are three edges a transaction, however long the history is.

use super::graph::{Basis, Builder, EdgeKind, Reason, Vertex};
use super::index::{Index, Standing};
use crate::violation::TransactionNumber;

pub fn add(index: &Index<'_>, graph: &mut Builder) {
    let acknowledged = index.numbers().filter(|&number| index.standing(number) == Standing::Acknowledged);
    let entries = acknowledged.map(|number| Entry {
        at: index.acknowledged(number),
        transaction: number,
        reason: Reason { kind: EdgeKind::RealTime, basis: Basis::RealTime, about: None },
    });
    let chain = Chain::build(entries.collect(), Basis::RealTime, graph);
    for number in index.numbers().filter(|&number| index.took_effect(number)) {
        chain.leave_before(index.invoked(number), number, graph);
    }
}

pub struct Entry {
    pub at: u64,
    pub transaction: TransactionNumber,
    pub reason: Reason,
}

/// Vertices in the order of time.
pub struct Chain {
    at: Vec<u64>,
    vertices: Vec<Vertex>,
    basis: Basis,
}

impl Chain {
    pub fn build(mut entries: Vec<Entry>, basis: Basis, graph: &mut Builder) -> Chain {
        entries.sort_by_key(|entry| (entry.at, entry.transaction));
        let mut chain = Chain { at: Vec::new(), vertices: Vec::new(), basis };
        for entry in entries {
            if chain.at.last() != Some(&entry.at) {
                let vertex = graph.between();
                if let Some(&last) = chain.vertices.last() {
                    graph.follow(last, vertex, basis);
                }
                chain.at.push(entry.at);
                chain.vertices.push(vertex);
            }
            let vertex = *chain.vertices.last().expect("one was pushed if there was none");
            graph.enter(entry.transaction, vertex, entry.reason);
        }
        chain
    }

    /// All who entered before this moment come before the transaction.
    pub fn leave_before(&self, moment: u64, transaction: TransactionNumber, graph: &mut Builder) {
        let before = self.at.partition_point(|&at| at < moment);
        if let Some(place) = before.checked_sub(1) {
            graph.leave(self.vertices[place], transaction, self.basis);
        }
    }
}
