//! Strongly connected components: transactions of which each must come before each other one.
//!
//! Source: Tarjan (1972), without recursion.

use super::graph::{Edge, Graph, Vertex};

const UNSEEN: u32 = u32::MAX;

/// For each vertex its component, if that holds two transactions or more.
pub struct Components {
    of: Vec<u32>,
    pub members: Vec<Vec<Vertex>>,
}

impl Components {
    /// Of the part of a graph that `keeps` leaves.
    pub fn find(graph: &Graph, keeps: impl Fn(Vertex, &Edge) -> bool) -> Components {
        let search = Search {
            graph,
            order: vec![UNSEEN; graph.vertices()],
            low: vec![0; graph.vertices()],
            is_open: vec![false; graph.vertices()],
            open: Vec::new(),
            met: 0,
            found: Components { of: vec![UNSEEN; graph.vertices()], members: Vec::new() },
        };
        search.run(keeps)
    }

    /// The component of a vertex.
    pub fn of(&self, vertex: Vertex) -> Option<usize> {
        let component = self.of[vertex.0 as usize];
        (component != UNSEEN).then_some(component as usize)
    }
}

struct Search<'g> {
    graph: &'g Graph,
    order: Vec<u32>,
    low: Vec<u32>,
    is_open: Vec<bool>,
    open: Vec<Vertex>,
    met: u32,
    found: Components,
}

impl Search<'_> {
    fn run(mut self, keeps: impl Fn(Vertex, &Edge) -> bool) -> Components {
        for root in (0..self.graph.vertices() as u32).map(Vertex) {
            if self.order[root.0 as usize] == UNSEEN {
                self.visit(root, &keeps);
            }
        }
        self.found
    }

    fn visit(&mut self, root: Vertex, keeps: &impl Fn(Vertex, &Edge) -> bool) {
        let mut calls = vec![(root, 0_usize)];
        self.meet(root);
        while let Some((vertex, next)) = calls.last_mut() {
            let (from, edges) = (*vertex, self.graph.from(*vertex));
            let Some(edge) = edges.get(*next) else {
                calls.pop();
                if let Some((caller, _)) = calls.last() {
                    let low = self.low[from.0 as usize];
                    let caller = &mut self.low[caller.0 as usize];
                    *caller = (*caller).min(low);
                }
                self.close(from);
                continue;
            };
            *next += 1;
            if !keeps(from, edge) {
                continue;
            }
            let to = edge.to.0 as usize;
            if self.order[to] == UNSEEN {
                self.meet(edge.to);
                calls.push((edge.to, 0));
            } else if self.is_open[to] {
                let low = &mut self.low[from.0 as usize];
                *low = (*low).min(self.order[to]);
            }
        }
    }

    fn meet(&mut self, vertex: Vertex) {
        let place = vertex.0 as usize;
        self.order[place] = self.met;
        self.low[place] = self.met;
        self.met += 1;
        self.is_open[place] = true;
        self.open.push(vertex);
    }

    /// Takes a component off, if this vertex was the first of it that was met.
    fn close(&mut self, vertex: Vertex) {
        if self.low[vertex.0 as usize] != self.order[vertex.0 as usize] {
            return;
        }
        let from = self.open.iter().rposition(|one| *one == vertex).expect("a vertex is open until it is closed");
        let members = self.open.split_off(from);
        members.iter().for_each(|member| self.is_open[member.0 as usize] = false);
        if members.iter().filter(|member| self.graph.transaction(**member).is_some()).count() < 2 {
            return;
        }
        let number = self.found.members.len() as u32;
        members.iter().for_each(|member| self.found.of[member.0 as usize] = number);
        self.found.members.push(members);
    }
}
