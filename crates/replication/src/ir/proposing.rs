//! One proposal at one shard, as whoever decides it sees it: its coordinator, or one that takes it over.
//!
//! Invariant: a vote is called decided only when no other one can be: a fast quorum of one view voted so to the first ballot, or a majority of one view
//! has it finalised at one ballot.
//! Source: TAPIR (TOCS 2018) 3.2.1, and the backup of docs/protocols/tapir.md.

use std::collections::BTreeMap;

use crate::node::{Ballot, ReplicaId, View, Vote, Voted};

use super::Quorums;

#[derive(Clone, Debug)]
pub struct Proposing {
    quorums: Quorums,
    ballot: Ballot,
    answers: BTreeMap<ReplicaId, Standing>,
    /// What was sent to be finalised at our ballot, in which view.
    finalising: Option<(View, Vote)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    view: View,
    vote: Vote,
    finalised: Option<Ballot>,
    promised: Ballot,
}

/// What the slow path would finalise now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    pub view: View,
    pub vote: Vote,
    /// Whether answers that may still come cannot make it another vote.
    pub is_certain: bool,
}

impl Proposing {
    pub fn new(quorums: Quorums, ballot: Ballot) -> Proposing {
        Proposing { quorums, ballot, answers: BTreeMap::new(), finalising: None }
    }

    pub fn on_answer(&mut self, from: ReplicaId, voted: &Voted) {
        let Voted { view, vote, finalised, promised, outcome: _, objection: _, proposal: _ } = *voted;
        let newer = |known: &Standing| (known.view, known.finalised, known.promised) > (view, finalised, promised);
        if !self.answers.get(&from).is_some_and(newer) {
            self.answers.insert(from, Standing { view, vote, finalised, promised });
        }
    }

    pub fn has_answered(&self, replica: ReplicaId) -> bool {
        self.answers.contains_key(&replica)
    }

    /// Whether the replica voted OK, and so has the proposal.
    pub fn has_accepted(&self, replica: ReplicaId) -> bool {
        self.answers.get(&replica).is_some_and(|standing| standing.vote == Vote::Ok)
    }

    /// Forgets what was answered before `view`, and says by whom.
    pub fn enter_view(&mut self, view: View) -> Vec<ReplicaId> {
        let earlier = self.answers.iter().filter(|(_, standing)| standing.view < view);
        let earlier = earlier.map(|(replica, _)| *replica).collect();
        self.answers.retain(|_, standing| standing.view >= view);
        earlier
    }

    pub fn answers(&self) -> usize {
        self.answers.len()
    }

    /// Someone else has taken the proposal over, so that our ballot cannot finalise it any more.
    pub fn overtaken(&self) -> Option<Ballot> {
        self.answers.values().map(|standing| standing.promised).max().filter(|promised| *promised > self.ballot)
    }

    /// The latest view in which somebody answered.
    pub fn view(&self) -> Option<View> {
        self.answers.values().map(|standing| standing.view).max()
    }

    fn in_view(&self, view: View) -> impl Iterator<Item = &Standing> {
        self.answers.values().filter(move |standing| standing.view == view)
    }

    pub fn decided(&self) -> Option<Vote> {
        let view = self.view()?;
        [Vote::Ok, Vote::No].into_iter().find(|vote| self.is_fast(view, *vote) || self.is_finalised(view, *vote))
    }

    fn is_fast(&self, view: View, vote: Vote) -> bool {
        let first = |standing: &&Standing| standing.promised == Ballot::FIRST;
        self.ballot == Ballot::FIRST
            && self.in_view(view).filter(first).filter(|standing| standing.vote == vote).count() >= self.quorums.fast()
    }

    fn is_finalised(&self, view: View, vote: Vote) -> bool {
        let mut counts: BTreeMap<Ballot, usize> = BTreeMap::new();
        for standing in self.in_view(view).filter(|standing| standing.vote == vote) {
            if let Some(ballot) = standing.finalised {
                *counts.entry(ballot).or_default() += 1;
            }
        }
        counts.into_values().any(|count| count >= self.quorums.majority())
    }

    /// What to finalise, once enough have answered in one view.
    pub fn slow(&self) -> Option<Slow> {
        let view = self.view()?;
        let usable = |standing: &&Standing| standing.promised <= self.ballot;
        let answers: Vec<&Standing> = self.in_view(view).filter(usable).collect();
        if answers.len() < self.quorums.majority() {
            return None;
        }
        let finalised = answers.iter().filter(|standing| standing.finalised.is_some());
        if let Some(standing) = finalised.max_by_key(|standing| standing.finalised) {
            return Some(Slow { view, vote: standing.vote, is_certain: true });
        }
        let count = |vote| answers.iter().filter(|standing| standing.vote == vote).count();
        let (accepted, refused) = (count(Vote::Ok), count(Vote::No));
        if accepted >= self.quorums.majority() {
            return Some(Slow { view, vote: Vote::Ok, is_certain: true });
        }
        let is_certain = refused >= self.quorums.majority();
        // Who takes a proposal over must not refuse what its coordinator may have called accepted.
        (is_certain || self.ballot == Ballot::FIRST).then_some(Slow { view, vote: Vote::No, is_certain })
    }

    pub fn begin_finalising(&mut self, view: View, vote: Vote) {
        self.finalising = Some((view, vote));
    }

    pub fn finalising(&self) -> Option<(View, Vote)> {
        self.finalising
    }
}
