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

    /// Once another vote was sent to be finalised in this view, it may be the group's, however many have voted otherwise.
    fn is_fast(&self, view: View, vote: Vote) -> bool {
        if self.finalising.is_some_and(|(own, sent)| own == view && sent != vote) {
            return false;
        }
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

#[cfg(test)]
mod tests {
    use crate::node::{Epoch, Group, ShardId};

    use super::*;

    fn quorums(replicas: u64) -> Quorums {
        let members: Vec<ReplicaId> = (0..replicas).map(ReplicaId).collect();
        Quorums::of(&Group::new(ShardId(0), Epoch(0), &members).unwrap())
    }

    fn view(number: u32) -> View {
        View { epoch: Epoch(0), number }
    }

    fn voted(view: View, vote: Vote, finalised: Option<Ballot>) -> Voted {
        let promised = finalised.unwrap_or_default();
        Voted { view, vote, finalised, promised, outcome: None, objection: None, proposal: None }
    }

    fn after(replicas: u64, ballot: Ballot, answers: &[(u64, Voted)]) -> Proposing {
        let mut proposing = Proposing::new(quorums(replicas), ballot);
        for (from, voted) in answers {
            proposing.on_answer(ReplicaId(*from), voted);
        }
        proposing
    }

    fn all(votes: &[Vote]) -> Vec<(u64, Voted)> {
        (0..).zip(votes).map(|(from, vote)| (from, voted(view(0), *vote, None))).collect()
    }

    use Vote::{No, Ok};

    #[test]
    fn a_fast_quorum_of_equal_votes_decides() {
        let decided = |replicas, votes: &[Vote]| after(replicas, Ballot::FIRST, &all(votes)).decided();
        assert_eq!(decided(1, &[Ok]), Some(Ok));
        assert_eq!(decided(3, &[Ok, Ok]), None);
        assert_eq!(decided(3, &[Ok, Ok, Ok]), Some(Ok));
        assert_eq!(decided(3, &[No, No, No]), Some(No));
        assert_eq!(decided(5, &[Ok, Ok, Ok, No]), None);
        assert_eq!(decided(5, &[Ok, Ok, Ok, No, Ok]), None, "as published it would be decided");
        assert_eq!(decided(5, &[Ok, Ok, Ok, Ok]), None);
        assert_eq!(decided(5, &[Ok, Ok, Ok, Ok, Ok]), Some(Ok));
    }

    #[test]
    fn the_slow_path_takes_what_a_majority_voted_else_no() {
        let slow = |replicas, votes: &[Vote]| {
            let slow = after(replicas, Ballot::FIRST, &all(votes)).slow();
            slow.map(|slow| (slow.vote, slow.is_certain))
        };
        assert_eq!(slow(3, &[Ok]), None);
        assert_eq!(slow(3, &[Ok, Ok]), Some((Ok, true)));
        assert_eq!(slow(3, &[Ok, No]), Some((No, false)));
        assert_eq!(slow(5, &[Ok, No, Ok]), Some((No, false)));
        assert_eq!(slow(5, &[Ok, No, Ok, Ok]), Some((Ok, true)));
        assert_eq!(slow(5, &[No, No, No]), Some((No, true)));
    }

    /// Simulated seed 205: a No of the slow path was confirmed, and then two late answers made a fast quorum for OK.
    #[test]
    fn late_votes_make_no_fast_quorum_against_what_is_being_finalised() {
        let mut proposing = after(5, Ballot::FIRST, &all(&[Ok, No, Ok]));
        proposing.begin_finalising(view(0), No);
        for from in [3, 4] {
            proposing.on_answer(ReplicaId(from), &voted(view(0), Ok, None));
        }
        assert_eq!(proposing.decided(), None);
        for from in [0, 1, 2] {
            proposing.on_answer(ReplicaId(from), &voted(view(0), No, Some(Ballot::FIRST)));
        }
        assert_eq!(proposing.decided(), Some(No));
    }

    #[test]
    fn a_majority_that_finalised_at_one_ballot_decides() {
        let at = |number| Some(Ballot { number, ..Ballot::FIRST });
        let finalised = |ballots: [u32; 2]| {
            let answers = [0, 1].map(|from| (from, voted(view(0), Ok, at(ballots[from as usize]))));
            after(3, Ballot::FIRST, &answers).decided()
        };
        assert_eq!(finalised([0, 0]), Some(Ok));
        assert_eq!(finalised([0, 1]), None, "of two ballots");
    }

    #[test]
    fn votes_of_two_views_are_not_counted_together() {
        let mut proposing = after(3, Ballot::FIRST, &all(&[Ok, Ok]));
        proposing.on_answer(ReplicaId(2), &voted(view(1), Ok, None));
        assert_eq!((proposing.decided(), proposing.slow()), (None, None));
        assert_eq!(proposing.enter_view(view(1)), [ReplicaId(0), ReplicaId(1)]);
        proposing.on_answer(ReplicaId(0), &voted(view(1), Ok, None));
        assert_eq!(proposing.slow(), Some(Slow { view: view(1), vote: Ok, is_certain: true }));
    }

    #[test]
    fn what_was_finalised_is_finalised_again() {
        let answers = [(0, voted(view(0), No, Some(Ballot::FIRST))), (1, voted(view(0), Ok, None))];
        let slow = after(3, Ballot::FIRST, &answers).slow();
        assert_eq!(slow, Some(Slow { view: view(0), vote: No, is_certain: true }));
    }

    /// Who takes over cannot know what the proposer has heard.
    #[test]
    fn a_take_over_waits_when_votes_are_divided() {
        let ballot = Ballot { number: 1, ..Ballot::FIRST };
        let slow = |votes: &[Vote]| after(5, ballot, &all(votes)).slow().map(|slow| slow.vote);
        assert_eq!(slow(&[Ok, No, Ok]), None);
        assert_eq!(slow(&[Ok, No, Ok, No]), None);
        assert_eq!(slow(&[Ok, No, Ok, No, Ok]), Some(Ok));
        let mut proposing = after(3, Ballot::FIRST, &all(&[Ok, Ok]));
        let taken = Voted { promised: ballot, ..voted(view(0), Ok, None) };
        proposing.on_answer(ReplicaId(2), &taken);
        assert_eq!(proposing.overtaken(), Some(ballot));
    }
}
