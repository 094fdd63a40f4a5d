//! Finalise and Poll: the vote of the group, by ballots.
//!
//! Invariants: nothing is finalised below a promise; what is finalised at a ballot is not finalised otherwise at the same one; a message of another view
//! changes nothing. (Flaw 6: without a view, a late FINALIZE overwrites what a merge decided.)
//! Source: TAPIR (TOCS 2018) 3.2.1 for the first ballot. Higher ones replace its 5.2.3, whose coordinator change is incomplete.

use std::sync::Arc;

use iolite_machine::{Now, PersistId};

use super::Replica;
use crate::broken::Broken;
use crate::ir::Entry;
use crate::node::{Answer, Ballot, Proposal, ProposalId, View, Vote};

/// When a proposal was taken over so many times in vain, or a multiple of it, a view change finds its vote: a majority is divided, and the others are gone.
pub const DIVIDED_BALLOTS: u32 = 4;

impl Replica {
    pub(super) fn on_finalise(
        &mut self,
        id: ProposalId,
        view: View,
        ballot: Ballot,
        vote: Vote,
        proposal: Option<Arc<Proposal>>,
    ) -> (PersistId, Answer) {
        let own = self.standing.view();
        let is_let_in = vote == Vote::No || self.drained_at().is_none();
        let is_current = is_let_in && view == own || self.settings.broken == Broken::FinaliseWithoutView;
        let known = self.record.get(id).cloned();
        if known.is_none()
            && let Some(settled) = self.standing_of(id)
        {
            return (self.persisted, settled);
        }
        let mut entry = known.clone().unwrap_or_else(|| Entry::voted(None, Vote::No, None));
        if is_current && ballot >= entry.promised && entry.outcome.is_none() {
            if entry.finalised == Some(ballot) && self.settings.broken != Broken::FinaliseWithoutView {
                assert_eq!(entry.vote, vote, "one ballot finalises one vote");
            }
            entry.proposal = entry.proposal.or(proposal);
            if vote == Vote::Ok && entry.proposal.is_none() {
                return (PersistId::START, Answer::Unknown);
            }
            (entry.vote, entry.finalised, entry.promised) = (vote, Some(ballot), ballot);
            // Said again, it is in the journal already.
            if known.as_ref() != Some(&entry) {
                self.enter(id, entry.clone());
            }
        }
        (self.persisted, Answer::Voted(entry.answer(own)))
    }

    pub(super) fn on_poll(&mut self, now: Now, id: ProposalId, ballot: Ballot) -> Option<(PersistId, Answer)> {
        let known = self.record.get(id).cloned();
        if known.is_none()
            && let Some(settled) = self.standing_of(id)
        {
            return Some((self.persisted, settled));
        }
        let is_open = |entry: &Entry| entry.finalised.is_none() && entry.outcome.is_none() && entry.promised < ballot;
        if known.as_ref().is_some_and(is_open) && ballot.number.is_multiple_of(DIVIDED_BALLOTS) {
            self.begin_view_change(now);
            return None;
        }
        let is_new = known.is_none();
        // Who has not seen it does not accept it any more.
        let mut entry = known.unwrap_or_else(|| Entry::voted(None, Vote::No, None));
        if is_new || ballot > entry.promised {
            entry.promised = entry.promised.max(ballot);
            self.enter(id, entry.clone());
        }
        let mut voted = entry.answer(self.standing.view());
        voted.proposal = entry.proposal;
        Some((self.persisted, Answer::Voted(voted)))
    }
}
