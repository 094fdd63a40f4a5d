//! Strictness of the store itself, at the gateways: some order of all transactions agrees with timestamps wherever two do not commute, and with what a
//! gateway was told before another transaction was submitted.
//!
//! Clients are told later than gateways, when the feed is there, so they cannot see all of it. (The client of the paper is a gateway here.)

use iolite_values::{
    Attempt, Cell, Commutativity, Level, Read, StoreIncarnation, Timestamp, TransactionId, Write, disturbs, observes,
    writes_commute,
};

use super::{Commits, Invariant, Violation};
use crate::history::{History, Moment, StoreCalls};

/// Transactions of which each has to come before the next, and the last before the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    pub store: StoreIncarnation,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub transaction: TransactionId,
    pub attempt: Attempt,
    pub at: Timestamp,
    /// Why it comes before the next one.
    pub then: Before,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// Its outcome was told before the next one was submitted.
    RealTime { told: Moment, submitted: Moment },
    /// They do not commute in this cell, and its timestamp is the lower one.
    Timestamps { cell: Cell, how: Clash },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    BothWrite,
    WritesWhatIsRead,
    ReadsWhatIsWritten,
}

struct Node<'a> {
    transaction: TransactionId,
    attempt: Attempt,
    at: Timestamp,
    level: Level,
    writes: &'a [Write],
    reads: &'a [Read],
    submitted: Option<Moment>,
    told: Option<Moment>,
}

/// # Errors
/// A shortest cycle, in [`Violation::cycle`].
pub fn check(history: &History, store: StoreIncarnation, commits: &Commits) -> Result<(), Violation> {
    let nodes = nodes(history.store_calls(store), commits);
    if !has_inversion(&nodes) {
        return Ok(());
    }
    let after = edges(&nodes);
    let Some(cycle) = shortest_cycle(&after) else { return Ok(()) };
    let step = |(own, next): (&usize, &usize)| {
        let then = before(&nodes[*own], &nodes[*next]).expect("it is an edge");
        let Node { transaction, attempt, at, .. } = nodes[*own];
        Step { transaction, attempt, at, then }
    };
    let steps: Vec<Step> = cycle.iter().zip(cycle.iter().cycle().skip(1)).map(step).collect();
    let what = format!("each of these has to come before the next, and the last before the first: {steps:?}");
    let cycle = Cycle { store, steps };
    Err(Violation { cycle: Some(cycle), ..Violation::new(Invariant::Strictness, what) })
}

/// In timestamp order.
fn nodes<'a>(calls: &'a StoreCalls, commits: &'a Commits) -> Vec<Node<'a>> {
    let node = |(at, completed): (&Timestamp, &'a super::commits::Completed)| {
        let (transaction, attempt) = (completed.transaction, completed.attempt);
        let told = calls.reported(transaction, *at);
        let submitted = calls.submitted_at(transaction, attempt);
        let (writes, reads) = (completed.writes.as_deref().unwrap_or_default(), calls.reads(transaction, attempt));
        let level = completed.level;
        Node { transaction, attempt, at: *at, level, writes, reads, submitted, told }
    };
    commits.by_time.iter().map(node).collect()
}

/// Whether anything was told before something with a lower timestamp was submitted. Without that there is no cycle.
fn has_inversion(nodes: &[Node]) -> bool {
    let mut last_submission = 0;
    for node in nodes {
        if node.told.is_some_and(|told| told < last_submission) {
            return true;
        }
        last_submission = last_submission.max(node.submitted.unwrap_or_default());
    }
    false
}

fn edges(nodes: &[Node]) -> Vec<Vec<usize>> {
    let others = |own: usize| (0..nodes.len()).filter(move |other| *other != own);
    let after = |own: usize| others(own).filter(move |other| before(&nodes[own], &nodes[*other]).is_some()).collect();
    (0..nodes.len()).map(after).collect()
}

/// Why one comes before the other, if it has to. What was told before comes before what is strict; what is of a snapshot only if both write the same, and what is
/// read committed only if one client called both. Two puts that are read committed are in no order but that of their timestamps.
fn before(own: &Node, other: &Node) -> Option<Before> {
    let clashing = || {
        let write = own.writes.iter().find(|own| other.writes.iter().any(|other| clash(own, other)));
        write.filter(|_| (own.level, other.level) != (Level::ReadCommitted, Level::ReadCommitted))
    };
    if let (Some(told), Some(submitted)) = (own.told, other.submitted)
        && told < submitted
        && match other.level {
            Level::Strict | Level::Serializable => true,
            Level::Snapshot => clashing().is_some(),
            Level::ReadCommitted => own.transaction.client == other.transaction.client,
        }
    {
        return Some(Before::RealTime { told, submitted });
    }
    if own.at > other.at {
        return None;
    }
    let written = || disturbing(own.writes, other.reads);
    let read = || disturbing(other.writes, own.reads);
    let clash = |write: &Write, how| Before::Timestamps { cell: write.cell.clone(), how };
    let both = clashing().map(|write| clash(write, Clash::BothWrite));
    let written = || written().map(|write| clash(write, Clash::WritesWhatIsRead));
    both.or_else(written).or_else(|| read().map(|write| clash(write, Clash::ReadsWhatIsWritten)))
}

fn clash(own: &Write, other: &Write) -> bool {
    writes_commute(own, other) == Commutativity::Conflict
}

/// A write of one transaction by which it changes what another one read. Of a query all its writes to a row are judged together.
fn disturbing<'a>(writes: &'a [Write], reads: &[Read]) -> Option<&'a Write> {
    let mut disturbed = reads.iter().filter(|read| disturbs(writes, read));
    disturbed.find_map(|read| writes.iter().find(|write| observes(read, write)))
}

fn shortest_cycle(after: &[Vec<usize>]) -> Option<Vec<usize>> {
    let on_cycles = left_over(after);
    let cycles = on_cycles.iter().filter_map(|start| way_back(after, *start));
    cycles.min_by_key(Vec::len)
}

/// What is left when whatever has nothing before it is taken away again and again: nothing, without a cycle.
fn left_over(after: &[Vec<usize>]) -> Vec<usize> {
    let mut before = vec![0; after.len()];
    after.iter().flatten().for_each(|next| before[*next] += 1);
    let mut free: Vec<usize> = (0..after.len()).filter(|index| before[*index] == 0).collect();
    while let Some(index) = free.pop() {
        for next in &after[index] {
            before[*next] -= 1;
            if before[*next] == 0 {
                free.push(*next);
            }
        }
    }
    (0..after.len()).filter(|index| before[*index] > 0).collect()
}

/// The shortest way from a transaction to itself.
fn way_back(after: &[Vec<usize>], start: usize) -> Option<Vec<usize>> {
    let mut came_from = vec![None; after.len()];
    let mut reached = std::collections::VecDeque::from([start]);
    while let Some(own) = reached.pop_front() {
        if after[own].contains(&start) {
            let mut way: Vec<usize> = std::iter::successors(Some(own), |index| came_from[*index]).collect();
            way.reverse();
            return Some(way);
        }
        for next in &after[own] {
            if *next != start && came_from[*next].is_none() {
                came_from[*next] = Some(own);
                reached.push_back(*next);
            }
        }
    }
    None
}
