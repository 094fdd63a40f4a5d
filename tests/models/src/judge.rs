//! What is right and wrong about a state.
//!
//! Invariant: judged is what nodes told: to each other, to their callers, and of what they have on record. Messages stay in the network, so what was
//! told once is judged in every later state.

mod answers;
mod pages;

use std::collections::{BTreeMap, BTreeSet};

use iolite_replication::node::{Outcome, ProposalId, ShardId, View, Vote};
use iolite_values::{Commutativity, Timestamp, Transaction, disturbs, writes_commute};
use stateright::Property;

use self::answers::answers_hold;
use self::pages::pages_hold;
use crate::facts::{CoordinatorFacts, MasterEntry, MessageFacts, NodeFacts};
use crate::plan::{Closes, Plan};
use crate::pool::Known;
use crate::start;
use crate::world::{World, WorldModel};

/// A bit for each of [`VIOLATIONS`], and then for each of [`SIGHTS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Marks(u32);

/// What must never be.
pub const VIOLATIONS: [&str; 10] = [
    "no machine breaks an invariant of its own",
    "a proposal has one outcome",
    "a transaction commits at one timestamp",
    "what was reported committed is committed",
    "what committed is OK in every later view",
    "what committed is strictly serializable",
    "nothing commits at or below a resolved timestamp outside of the feed",
    "the feed has only what committed, whole",
    "feeds agree",
    "a log's pages are in the order of timestamps",
];

/// What has to be met, or a world shows nothing.
pub const SIGHTS: [&str; 8] = [
    "a commit by the fast path",
    "a commit by the slow path",
    "an abort",
    "an outcome by another coordinator than the proposer",
    "a view that begins with an OK without outcome",
    "a commit in a later view than the first",
    "a resolved timestamp with a commit",
    "a commit of what has read something",
];

const PANICKED: u32 = 0;
const OUTCOMES: u32 = 1;
const TWICE: u32 = 2;
const REPORTED: u32 = 3;
const KEPT: u32 = 4;
const SERIALIZABLE: u32 = 5;
const FEED_LACKS: u32 = 6;
const FEED_INVENTS: u32 = 7;
const FEEDS: u32 = 8;
const PAGES: u32 = 9;
const SIGHT: u32 = 16;

impl Marks {
    fn set(&mut self, bit: u32, when: bool) {
        self.0 |= u32::from(when) << bit;
    }

    fn has(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }

    pub fn violation(self) -> Option<&'static str> {
        (0..).zip(VIOLATIONS).find(|(bit, _)| self.has(*bit)).map(|(_, name)| name)
    }

    pub fn sights(self) -> impl Iterator<Item = &'static str> {
        (SIGHT..).zip(SIGHTS).filter(move |(bit, _)| self.has(*bit)).map(|(_, name)| name)
    }
}

fn holds<const BIT: u32>(_: &WorldModel, world: &World) -> bool {
    !world.marks.has(BIT)
}

fn met<const BIT: u32>(_: &WorldModel, world: &World) -> bool {
    world.marks.has(BIT)
}

pub fn properties() -> Vec<Property<WorldModel>> {
    type Condition = fn(&WorldModel, &World) -> bool;
    let always: [Condition; 10] = [
        holds::<0>, holds::<1>, holds::<2>, holds::<3>, holds::<4>, holds::<5>, holds::<6>, holds::<7>, holds::<8>,
        holds::<9>,
    ];
    let sometimes: [Condition; 8] =
        [met::<16>, met::<17>, met::<18>, met::<19>, met::<20>, met::<21>, met::<22>, met::<23>];
    let always = VIOLATIONS.into_iter().zip(always).map(|(name, holds)| Property::always(name, holds));
    let sometimes = SIGHTS.into_iter().zip(sometimes).map(|(name, met)| Property::sometimes(name, met));
    always.chain(sometimes).collect()
}

/// The transactions that some coordinator has reported committed, as bits.
pub fn reported(known: &Known, world: &World) -> u8 {
    coordinators(known, world).flat_map(|facts| &facts.reported).fold(0, |bits, (which, _)| bits | 1 << which)
}

fn coordinators<'a>(known: &'a Known, world: &'a World) -> impl Iterator<Item = &'a CoordinatorFacts> {
    world.nodes.iter().filter_map(|node| match &known.nodes[*node as usize].facts {
        NodeFacts::Coordinator(facts) => Some(facts),
        NodeFacts::Replica(_) | NodeFacts::Panicked => None,
    })
}

/// What was told in a state.
#[derive(Default)]
struct Told<'a> {
    committed: BTreeSet<ProposalId>,
    aborted: BTreeSet<ProposalId>,
    /// Commits and the view in which somebody knew of them, by shard.
    committed_by: Vec<(ShardId, View, ProposalId)>,
    masters: Vec<(ShardId, View, Timestamp, &'a [MasterEntry])>,
    finalised: BTreeSet<ProposalId>,
    taken_over: bool,
    has_panicked: bool,
}

pub fn judge(plan: &Plan, known: &Known, world: &World) -> Marks {
    let told = told(plan, known, world);
    let mut marks = Marks::default();
    marks.set(PANICKED, told.has_panicked);
    marks.set(OUTCOMES, told.committed.intersection(&told.aborted).next().is_some());
    let transactions: BTreeSet<_> = told.committed.iter().map(|id| id.transaction).collect();
    marks.set(TWICE, transactions.len() < told.committed.len());
    let mut reported = coordinators(known, world).flat_map(|facts| &facts.reported);
    let is_committed = |(which, at): &(u8, Timestamp)| {
        let transaction = plan.submissions[usize::from(*which)].transaction.id;
        told.committed.iter().any(|id| id.transaction == transaction && id.at == *at)
    };
    marks.set(REPORTED, !reported.all(is_committed));
    marks.set(KEPT, !are_kept(&told));
    let at = timestamps(plan, &told.committed);
    marks.set(SERIALIZABLE, !is_serializable(plan, world, &at));
    marks.set(PAGES, !pages_hold(plan, &at));
    if plan.closes != Closes::Lost {
        judge_feeds(plan, known, world, &told, &mut marks);
    }
    see(plan, known, world, &told, &mut marks);
    marks
}

fn told<'a>(plan: &Plan, known: &'a Known, world: &World) -> Told<'a> {
    let mut told = Told::default();
    for node in &world.nodes {
        match &known.nodes[*node as usize].facts {
            NodeFacts::Replica(facts) => {
                told.committed.extend(&facts.committed);
                told.aborted.extend(&facts.aborted);
            }
            NodeFacts::Coordinator(_) => {}
            NodeFacts::Panicked => told.has_panicked = true,
        }
    }
    for message in &world.network {
        match &known.messages[*message as usize].facts {
            MessageFacts::Outcome { by, id, outcome, shard, view } => {
                let own = plan.submissions.iter().find(|own| own.transaction.id == id.transaction);
                told.taken_over |= own.is_some_and(|own| start::coordinator_id(own.coordinator) != *by);
                match outcome {
                    Outcome::Committed => {
                        told.committed.insert(*id);
                        told.committed_by.push((*shard, *view, *id));
                    }
                    Outcome::Aborted => drop(told.aborted.insert(*id)),
                }
            }
            MessageFacts::Finalise { id } => drop(told.finalised.insert(*id)),
            MessageFacts::Master { shard, view, complete, entries } => {
                told.masters.push((*shard, *view, *complete, entries));
            }
            MessageFacts::Other => {}
        }
    }
    told
}

/// A view that begins with a No never gives an OK, and one that is later than a commit begins with it.
fn are_kept(told: &Told) -> bool {
    told.committed_by.iter().all(|(shard, view, id)| {
        let mut masters = told.masters.iter().filter(|(of, _, complete, _)| of == shard && *complete < id.at);
        masters.all(|(_, of_view, _, entries)| match entries.iter().find(|(other, _, _)| other == id) {
            Some((_, vote, outcome)) => *vote == Vote::Ok && *outcome != Some(Outcome::Aborted),
            None => of_view <= view,
        })
    })
}

/// The committed submissions and their timestamps.
fn timestamps(plan: &Plan, committed: &BTreeSet<ProposalId>) -> BTreeMap<usize, Timestamp> {
    let which = |id: &ProposalId| plan.submissions.iter().position(|own| own.transaction.id == id.transaction);
    committed.iter().filter_map(|id| Some((which(id)?, id.at))).collect()
}

/// Whether an order exists that explains what was read, and agrees with timestamps and with who was reported before whom came.
fn is_serializable(plan: &Plan, world: &World, at: &BTreeMap<usize, Timestamp>) -> bool {
    let mut before: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (own, own_at) in at {
        for (other, other_at) in at.iter().filter(|(other, _)| *other != own) {
            let (first, second) = (&plan.submissions[*own].transaction, &plan.submissions[*other].transaction);
            if own_at < other_at && do_not_commute(first, second) {
                before.insert((*own, *other));
                // Nobody saw more than the beginning.
                if reads_from(second, first) {
                    return false;
                }
            }
            if world.reported_before[*other] >> own & 1 == 1 {
                before.insert((*own, *other));
            }
        }
    }
    answers_hold(plan, at) && has_order(at.keys().copied().collect(), before)
}

fn has_order(mut open: BTreeSet<usize>, before: BTreeSet<(usize, usize)>) -> bool {
    while !open.is_empty() {
        let first = open.iter().copied().find(|own| !before.iter().any(|(a, b)| b == own && open.contains(a)));
        let Some(first) = first else { return false };
        open.remove(&first);
    }
    true
}

fn reads_from(reader: &Transaction, writer: &Transaction) -> bool {
    reader.reads.iter().any(|read| disturbs(writer.writes(), read))
}

fn do_not_commute(a: &Transaction, b: &Transaction) -> bool {
    let clash = |own| b.writes().iter().any(|other| writes_commute(own, other) == Commutativity::Conflict);
    reads_from(a, b) || reads_from(b, a) || a.writes().iter().any(clash)
}

fn judge_feeds(plan: &Plan, known: &Known, world: &World, told: &Told, marks: &mut Marks) {
    let feeds: Vec<(Timestamp, Timestamp, &CoordinatorFacts)> =
        coordinators(known, world).filter_map(|facts| facts.feed.map(|(from, to)| (from, to, facts))).collect();
    for (from, to, facts) in &feeds {
        let within = |id: &&ProposalId| *from < id.at && id.at <= *to;
        let is_told = |id: &ProposalId| facts.commits.iter().any(|commit| commit.at == id.at);
        marks.set(FEED_LACKS, !told.committed.iter().filter(within).all(is_told));
        let is_real = |commit: &iolite_store::Commit| {
            let own = plan.submissions.iter().find(|own| own.transaction.id == commit.transaction);
            let is_whole = own.is_some_and(|own| own.transaction.writes().len() == commit.writes.len());
            let is_committed =
                told.committed.iter().any(|id| id.at == commit.at && id.transaction == commit.transaction);
            is_whole && is_committed
        };
        marks.set(FEED_INVENTS, !facts.commits.iter().all(is_real));
        for (other_from, other_to, other) in &feeds {
            let (from, to) = ((*from).max(*other_from), (*to).min(*other_to));
            let part = |facts: &CoordinatorFacts| {
                let own = facts.commits.iter().filter(|commit| from < commit.at && commit.at <= to);
                own.map(|commit| (commit.at, commit.transaction)).collect::<Vec<_>>()
            };
            marks.set(FEEDS, part(facts) != part(other));
        }
    }
}

fn see(plan: &Plan, known: &Known, world: &World, told: &Told, marks: &mut Marks) {
    let reported = || {
        let all = coordinators(known, world).flat_map(|facts| &facts.reported);
        all.map(|(which, at)| (plan.submissions[usize::from(*which)].transaction.id, *at))
    };
    let is_finalised = |(transaction, at): &(_, Timestamp)| {
        told.finalised.iter().any(|id| id.transaction == *transaction && id.at == *at)
    };
    marks.set(SIGHT, reported().any(|own| !is_finalised(&own)));
    marks.set(SIGHT + 1, reported().any(|own| is_finalised(&own)));
    marks.set(SIGHT + 2, !told.aborted.is_empty());
    marks.set(SIGHT + 3, told.taken_over);
    let mut entries = told.masters.iter().flat_map(|(_, _, _, entries)| entries.iter());
    marks.set(SIGHT + 4, entries.any(|(_, vote, outcome)| *vote == Vote::Ok && outcome.is_none()));
    marks.set(SIGHT + 5, told.committed_by.iter().any(|(_, view, _)| view.number > 0));
    marks.set(SIGHT + 6, coordinators(known, world).any(|facts| !facts.commits.is_empty()));
    let mut readers = plan.submissions.iter().filter(|own| !own.transaction.reads.is_empty());
    marks.set(SIGHT + 7, readers.any(|own| told.committed.iter().any(|id| id.transaction == own.transaction.id)));
}

#[cfg(test)]
mod tests;
