//! The dependency graph: which transaction must come before which, and why.
//!
//! "Each of these before each of those" would be a square of edges. It is written with vertices that are no transactions: an edge leads from a
//! transaction into them and says why, others only follow on. What leads from a transaction through such vertices to the next is one dependency.
//!
//! Invariant: no way leads from a transaction back to it through such vertices alone.

use crate::operation::Object;
use crate::violation::TransactionNumber;

/// A transaction, or one of the vertices between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex(pub u32);

/// Why one comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// It wrote what the other overwrote.
    WriteWrite,
    /// It wrote what the other read.
    WriteRead,
    /// It read what the other overwrote.
    ReadWrite,
    /// It ended before the other began.
    RealTime,
    /// On from a vertex between.
    Follow,
}

/// What the order of versions was inferred from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// What was read and written alone.
    Data,
    /// The order of their writers elsewhere.
    Elsewhere,
    /// Who ended before whom began.
    RealTime,
    /// The times of all who saw a value, which order it among others.
    Versions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub to: Vertex,
    pub kind: EdgeKind,
    pub basis: Basis,
    pub about: Option<Object>,
}

/// What an edge says, without its ends.
#[derive(Clone, Copy, Debug)]
pub struct Reason {
    pub kind: EdgeKind,
    pub basis: Basis,
    pub about: Option<Object>,
}

pub struct Builder {
    transactions: usize,
    vertices: u32,
    edges: Vec<(Vertex, Edge)>,
}

pub struct Graph {
    transactions: usize,
    /// Where the edges of each vertex begin.
    starts: Vec<u32>,
    edges: Vec<Edge>,
}

impl Builder {
    pub fn new(transactions: usize) -> Builder {
        Builder { transactions, vertices: transactions as u32, edges: Vec::new() }
    }

    /// A vertex between transactions.
    pub fn between(&mut self) -> Vertex {
        self.vertices += 1;
        Vertex(self.vertices - 1)
    }

    pub fn edge(&mut self, from: TransactionNumber, to: TransactionNumber, reason: Reason) {
        if from != to {
            self.enter(from, Vertex(to.0), reason);
        }
    }

    /// From a transaction to any vertex.
    pub fn enter(&mut self, from: TransactionNumber, to: Vertex, Reason { kind, basis, about }: Reason) {
        self.edges.push((Vertex(from.0), Edge { to, kind, basis, about }));
    }

    /// On from a vertex between.
    pub fn follow(&mut self, from: Vertex, to: Vertex, basis: Basis) {
        self.edges.push((from, Edge { to, kind: EdgeKind::Follow, basis, about: None }));
    }

    pub fn leave(&mut self, from: Vertex, to: TransactionNumber, basis: Basis) {
        self.follow(from, Vertex(to.0), basis);
    }

    /// Each source before each target but itself, with edges in proportion to both.
    pub fn fan(&mut self, sources: &[(TransactionNumber, EdgeKind)], targets: &[TransactionNumber], about: Object) {
        let basis = Basis::Data;
        let reason = |kind| Reason { kind, basis, about: Some(about) };
        if sources.len().min(targets.len()) <= 2 {
            for &(source, kind) in sources {
                targets.iter().for_each(|&target| self.edge(source, target, reason(kind)));
            }
            return;
        }
        let mut sorted: Vec<TransactionNumber> = targets.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let up = self.chain(&sorted, basis);
        let reversed: Vec<TransactionNumber> = sorted.iter().rev().copied().collect();
        let mut down = self.chain(&reversed, basis);
        down.reverse();
        for &(source, kind) in sources {
            match sorted.binary_search(&source) {
                Err(_) => self.enter(source, up[0], reason(kind)),
                Ok(own) => {
                    let sides = [up.get(own + 1), own.checked_sub(1).and_then(|below| down.get(below))];
                    sides.into_iter().flatten().for_each(|&side| self.enter(source, side, reason(kind)));
                }
            }
        }
    }

    /// A vertex for each target, which leads to it and to the next one's.
    fn chain(&mut self, targets: &[TransactionNumber], basis: Basis) -> Vec<Vertex> {
        let chain: Vec<Vertex> = targets.iter().map(|_| self.between()).collect();
        chain.windows(2).for_each(|pair| self.follow(pair[0], pair[1], basis));
        chain.iter().zip(targets).for_each(|(&vertex, &target)| self.leave(vertex, target, basis));
        chain
    }

    /// The edges so far that lead from one transaction directly to another.
    pub fn direct(&self) -> impl Iterator<Item = (TransactionNumber, TransactionNumber, Edge)> + '_ {
        let count = self.transactions as u32;
        let direct = self.edges.iter().filter(move |(from, edge)| from.0 < count && edge.to.0 < count);
        direct.map(|(from, edge)| (TransactionNumber(from.0), TransactionNumber(edge.to.0), *edge))
    }

    pub fn finish(self) -> Graph {
        let mut starts = vec![0_u32; self.vertices as usize + 1];
        self.edges.iter().for_each(|(from, _)| starts[from.0 as usize + 1] += 1);
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let mut next = starts.clone();
        let filler = Edge { to: Vertex(0), kind: EdgeKind::Follow, basis: Basis::Data, about: None };
        let mut edges = vec![filler; self.edges.len()];
        for (from, edge) in self.edges {
            edges[next[from.0 as usize] as usize] = edge;
            next[from.0 as usize] += 1;
        }
        Graph { transactions: self.transactions, starts, edges }
    }
}

impl Graph {
    pub fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    pub fn from(&self, vertex: Vertex) -> &[Edge] {
        let place = vertex.0 as usize;
        &self.edges[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    pub fn transaction(&self, vertex: Vertex) -> Option<TransactionNumber> {
        ((vertex.0 as usize) < self.transactions).then_some(TransactionNumber(vertex.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which transactions each reaches without passing another one.
    fn dependencies(graph: &Graph) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        for from in 0..graph.transactions as u32 {
            let mut open: Vec<Vertex> = graph.from(Vertex(from)).iter().map(|edge| edge.to).collect();
            while let Some(vertex) = open.pop() {
                match graph.transaction(vertex) {
                    Some(to) => found.push((from, to.0)),
                    None => open.extend(graph.from(vertex).iter().map(|edge| edge.to)),
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn a_fan_leads_from_each_source_to_each_target_but_itself() {
        for (sources, targets) in [(5, 7), (7, 5), (4, 4), (1, 9), (9, 2)] {
            let mut builder = Builder::new(12);
            let sources: Vec<_> = (2..2 + sources).map(|n| (TransactionNumber(n), EdgeKind::ReadWrite)).collect();
            let targets: Vec<_> = (0..targets).map(TransactionNumber).collect();
            builder.fan(&sources, &targets, Object::Register(crate::Register(0)));
            let mut expected: Vec<(u32, u32)> =
                sources.iter().flat_map(|(from, _)| targets.iter().map(|to| (from.0, to.0))).collect();
            expected.retain(|(from, to)| from != to);
            expected.sort_unstable();
            assert_eq!(dependencies(&builder.finish()), expected);
        }
    }

    #[test]
    fn a_large_fan_has_few_edges() {
        let mut builder = Builder::new(2000);
        let sources: Vec<_> = (0..1000).map(|n| (TransactionNumber(n), EdgeKind::ReadWrite)).collect();
        let targets: Vec<_> = (500..1500).map(TransactionNumber).collect();
        builder.fan(&sources, &targets, Object::Register(crate::Register(0)));
        assert!(builder.finish().edges() < 6000);
    }
}
