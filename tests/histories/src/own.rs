//! Our own checker: knows every type of object, and reads no code of the other one.
//!
//! It infers who must come before whom from what reads saw, looks for cycles, and where commit timestamps are known replays the history in
//! their order. Everything that it reports is a proof: no order of the transactions agrees with what clients saw and with real time. What it
//! can miss (blind writes of registers that overlap, sums that several choices explain) stands on the page `docs/histories.md`.
//!
//! Invariant: time and memory grow with the size of the history times a logarithm, as long as the history is valid.

mod bounds;
mod components;
mod cycles;
mod direct;
mod graph;
mod index;
mod lists;
mod overwrites;
mod positions;
mod real_time;
mod registers;
mod replay;
mod sets;
mod sums;
mod tallies;
mod timestamps;
mod within;

pub use timestamps::Stamped;

use crate::history::History;
use crate::violation::Findings;

pub(crate) use graph::{Basis, EdgeKind};
pub(crate) use index::{Index, Standing};

/// What our own checker found, and what it could look at.
#[derive(Debug)]
pub struct Verdict {
    pub findings: Findings,
    /// Whether commit timestamps took part.
    pub stamped: Stamped,
    /// Edges of the dependency graph.
    pub edges: usize,
}

/// Judges a history that is well formed, all but its last state as such.
pub fn check(history: &History) -> Verdict {
    let mut index = Index::new(history);
    check_index(&mut index)
}

pub(crate) fn check_index(index: &mut Index<'_>) -> Verdict {
    let mut findings = Findings::default();
    within::check(index, &mut findings);
    direct::check(index, &mut findings);
    let absences = sets::absences(index);
    let mut tallies = tallies::collect(index);
    tallies::observe(index, &mut tallies);
    let mut graph = graph::Builder::new(index.count());
    real_time::add(index, &mut graph);
    lists::add(index, &mut graph);
    registers::add(index, &mut graph);
    sets::add(index, &absences, &mut graph);
    tallies::add(index, &mut tallies, &mut graph, &mut findings);
    overwrites::add(index, &mut graph);
    let graph = graph.finish();
    cycles::check(index, &graph, &mut findings);
    let stamped = timestamps::check(index, &tallies, &graph, &mut findings);
    Verdict { findings, stamped, edges: graph.edges() }
}
