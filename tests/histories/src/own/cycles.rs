//! Cycles: transactions that cannot be put into any order, named after what their edges are.
//!
//! A valid history has no component of more than one transaction, so that the search below costs nothing. In others, the worst class is
//! looked for first, in each component the shortest cycle of it, and a component of which a cycle was shown is left alone.
//!
//! Source: Adya (1999), 4.2; the names with real time as in Elle.

use std::collections::{HashMap, HashSet, VecDeque};

use super::bounds::{CYCLES_OF_A_CLASS, SEARCH_STEPS};
use super::components::Components;
use super::graph::{Basis, Edge, EdgeKind, Graph, Vertex};
use super::index::Index;
use crate::class::Class;
use crate::explain::{self, Link};
use crate::violation::{Findings, TransactionNumber};

/// Cycles of a class: one edge of a kind, and a way back.
struct Shape {
    first: EdgeKind,
    back: &'static [EdgeKind],
    basis: Basis,
}

use EdgeKind::{ReadWrite, RealTime, WriteRead, WriteWrite};

/// From the worst class on: g0, g1c, g-single and g2, then the same in real time.
const SHAPES: [Shape; 12] = [
    Shape { first: WriteWrite, back: &[WriteWrite], basis: Basis::Data },
    Shape { first: WriteRead, back: &[WriteWrite, WriteRead], basis: Basis::Data },
    Shape { first: ReadWrite, back: &[WriteWrite, WriteRead], basis: Basis::Elsewhere },
    Shape { first: ReadWrite, back: &[WriteWrite, WriteRead, ReadWrite], basis: Basis::Elsewhere },
    // What is left has no reads of overwritten values: the order of values alone makes the cycle.
    Shape { first: WriteWrite, back: &[WriteWrite], basis: Basis::Elsewhere },
    Shape { first: WriteRead, back: &[WriteWrite, WriteRead], basis: Basis::Elsewhere },
    Shape { first: WriteWrite, back: &[WriteWrite, RealTime], basis: Basis::RealTime },
    Shape { first: WriteRead, back: &[WriteWrite, WriteRead, RealTime], basis: Basis::RealTime },
    Shape { first: ReadWrite, back: &[WriteWrite, WriteRead, RealTime], basis: Basis::Versions },
    Shape { first: ReadWrite, back: &[WriteWrite, WriteRead, ReadWrite, RealTime], basis: Basis::Versions },
    // Likewise.
    Shape { first: WriteWrite, back: &[WriteWrite, RealTime], basis: Basis::Versions },
    Shape { first: WriteRead, back: &[WriteWrite, WriteRead, RealTime], basis: Basis::Versions },
];

impl Shape {
    fn is_back(&self, edge: &Edge) -> bool {
        edge.basis <= self.basis && (edge.kind == EdgeKind::Follow || self.back.contains(&edge.kind))
    }

    fn is_first(&self, edge: &Edge) -> bool {
        edge.basis <= self.basis && edge.kind == self.first
    }

    /// Whether an edge within a component may have no way back, so that looking for one may take long and find nothing. What is given up
    /// here is found in a weaker class.
    fn may_fail(&self) -> bool {
        !self.back.contains(&self.first)
    }
}

pub fn check(index: &Index<'_>, graph: &Graph, findings: &mut Findings) {
    let all = Components::find(graph, |_, _| true);
    if all.members.is_empty() {
        return;
    }
    let mut shown: HashSet<TransactionNumber> = HashSet::new();
    for shape in &SHAPES {
        let within = Components::find(graph, |from, edge| {
            all.of(from).is_some() && all.of(from) == all.of(edge.to) && (shape.is_back(edge) || shape.is_first(edge))
        });
        let transactions = |members: &[Vertex]| -> Vec<TransactionNumber> {
            members.iter().filter_map(|&member| graph.transaction(member)).collect()
        };
        let fresh = within.members.iter().enumerate();
        let fresh = fresh.filter(|(_, members)| !transactions(members).iter().any(|one| shown.contains(one)));
        let mut found = Vec::new();
        let mut steps = SEARCH_STEPS;
        for (component, members) in fresh.take(CYCLES_OF_A_CLASS) {
            found.extend(
                Search { graph, within: &within, component, shape, steps: &mut steps }.shortest(index, members),
            );
        }
        for mut cycle in found {
            if shape.basis > Basis::Elsewhere {
                shorten(index, &mut cycle);
            }
            shown.extend(cycle.iter().map(|link| link.from));
            let class = class_of(&cycle);
            findings.add(class, || explain::cycle(index, class, cycle));
        }
    }
}

/// Leaves out what lies between two transactions of which one had ended before the other began. A search that was cut short may have gone a
/// long way round.
fn shorten(index: &Index<'_>, cycle: &mut Vec<Link>) {
    for _ in 0..cycle.len() {
        // From the end of the first link, as far on as time alone leads.
        let from = cycle[0].to;
        let reaches = |link: &Link| index.acknowledged(from) < index.invoked(link.to);
        if let Some(last) = (2..cycle.len()).rev().find(|&last| reaches(&cycle[last])) {
            let link = Link { from, to: cycle[last].to, kind: RealTime, basis: Basis::RealTime, about: None };
            cycle.splice(1..=last, [link]);
        }
        cycle.rotate_left(1);
    }
}

fn class_of(cycle: &[Link]) -> Class {
    let count = |kind| cycle.iter().filter(|link| link.kind == kind).count();
    let in_real_time = cycle.iter().any(|link| link.basis > Basis::Elsewhere);
    match (count(ReadWrite), count(WriteRead), in_real_time) {
        (0, 0, false) => Class::G0,
        (0, _, false) => Class::G1c,
        (1, _, false) => Class::GSingle,
        (_, _, false) => Class::G2,
        (0, 0, true) => Class::G0RealTime,
        (0, _, true) => Class::G1cRealTime,
        (1, _, true) => Class::GSingleRealTime,
        (_, _, true) => Class::G2RealTime,
    }
}

struct Search<'a> {
    graph: &'a Graph,
    within: &'a Components,
    component: usize,
    shape: &'a Shape,
    steps: &'a mut u64,
}

/// A step of a way: from which vertex along which edge.
type Step = (Vertex, Edge);

/// How many transactions lie on the way to a vertex, and the last step of that way.
type Reached = HashMap<Vertex, (usize, Option<Step>)>;

impl Search<'_> {
    /// The shortest cycle of a component, or the first if looking at all takes too long.
    fn shortest(&mut self, index: &Index<'_>, members: &[Vertex]) -> Option<Vec<Link>> {
        let mut best: Option<Vec<Link>> = None;
        for (from, edge) in self.first_edges(index, members) {
            let most = best.as_ref().map_or(usize::MAX, |best| best.len() - 1);
            if most < 2 || (*self.steps == 0 && (best.is_some() || self.shape.may_fail())) {
                break;
            }
            if let Some(way) = self.back(edge.to, from, most) {
                best = Some(self.links(from, edge, &way));
            }
        }
        best
    }

    /// The edges to begin with; first those whose end was acknowledged before their start began, since these close at once.
    fn first_edges(&self, index: &Index<'_>, members: &[Vertex]) -> Vec<Step> {
        let from_all = members.iter().flat_map(|&from| self.graph.from(from).iter().map(move |edge| (from, *edge)));
        let mut first: Vec<Step> = from_all
            .filter(|(from, edge)| {
                self.graph.transaction(*from).is_some() && self.shape.is_first(edge) && self.is_within(edge.to)
            })
            .collect();
        first.sort_by_key(|(from, edge)| {
            let closes = match (self.graph.transaction(*from), self.graph.transaction(edge.to)) {
                (Some(from), Some(to)) => index.acknowledged(to) < index.invoked(from),
                (Some(_), None) | (None, _) => false,
            };
            (!closes, from.0, edge.to)
        });
        first
    }

    fn is_within(&self, vertex: Vertex) -> bool {
        self.within.of(vertex) == Some(self.component)
    }

    /// The way from one vertex to another with the fewest transactions between, if there are fewer than `most`.
    fn back(&mut self, from: Vertex, to: Vertex, most: usize) -> Option<Vec<Step>> {
        let count = usize::from(self.graph.transaction(from).is_some());
        let mut reached: Reached = [(from, (count, None))].into();
        let mut open = VecDeque::from([(from, count)]);
        while let Some((vertex, count)) = open.pop_front() {
            if vertex == to {
                return Some(steps_to(&reached, to));
            }
            if reached[&vertex].0 < count {
                continue;
            }
            for edge in self.graph.from(vertex) {
                *self.steps = self.steps.saturating_sub(1);
                if !self.shape.is_back(edge) || !self.is_within(edge.to) {
                    continue;
                }
                let is_transaction = self.graph.transaction(edge.to).is_some();
                let count = count + usize::from(is_transaction && edge.to != to);
                let is_better = reached.get(&edge.to).is_none_or(|(before, _)| count < *before);
                if count >= most && edge.to != to || !is_better {
                    continue;
                }
                reached.insert(edge.to, (count, Some((vertex, *edge))));
                match is_transaction && edge.to != to {
                    true => open.push_back((edge.to, count)),
                    false => open.push_front((edge.to, count)),
                }
            }
        }
        None
    }

    /// The edges of a cycle as dependencies between transactions.
    fn links(&self, from: Vertex, first: Edge, way: &[Step]) -> Vec<Link> {
        let mut links: Vec<Link> = Vec::new();
        let mut entered: Option<(TransactionNumber, Edge)> = None;
        for (from, edge) in [(from, first)].iter().chain(way) {
            if let Some(from) = self.graph.transaction(*from) {
                entered = Some((from, *edge));
            }
            if let (Some(to), Some((from, reason))) = (self.graph.transaction(edge.to), entered) {
                links.push(Link { from, to, kind: reason.kind, basis: reason.basis, about: reason.about });
            }
        }
        links
    }
}

fn steps_to(reached: &Reached, to: Vertex) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut at = to;
    while let Some((_, Some(step))) = reached.get(&at) {
        steps.push(*step);
        at = step.0;
    }
    steps.reverse();
    steps
}
