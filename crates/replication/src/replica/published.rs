//! What a merge does as published, for simulations: it validates again what a fast quorum may have accepted.
//! Source: TAPIR (TOCS 2018), Figures 11 and 14.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::Timestamp;

use super::Replica;
use crate::ir::MemberRecord;
use crate::node::{Proposal, ProposalId, RecordedEntry, Vote};
use crate::tapir::{ProposalIndex, conflict};

impl Replica {
    /// Gives up what conflicts with something that committed, or that stays.
    pub(super) fn validate_again(&self, records: &[MemberRecord], merged: &mut BTreeMap<ProposalId, RecordedEntry>) {
        let entries = records.iter().flat_map(|record| &record.entries);
        let finalised: BTreeSet<ProposalId> =
            entries.filter(|entry| entry.finalised.is_some()).map(|entry| entry.id).collect();
        let mut kept = ProposalIndex::default();
        let is_open = |entry: &&mut RecordedEntry| entry.vote == Vote::Ok && entry.outcome.is_none();
        let (certain, open): (Vec<_>, Vec<_>) =
            merged.values_mut().filter(is_open).partition(|entry| finalised.contains(&entry.id));
        certain.iter().filter_map(|entry| entry.proposal.clone()).for_each(|proposal| kept.insert(proposal));
        for entry in open {
            match entry.proposal.clone().filter(|proposal| self.may_stand(proposal, &kept)) {
                Some(proposal) => kept.insert(proposal),
                None => entry.vote = Vote::No,
            }
        }
    }

    fn may_stand(&self, proposal: &Proposal, kept: &ProposalIndex) -> bool {
        let ProposalId { at, transaction, .. } = proposal.id;
        let has_committed = self.versions.logged_at(at).is_some_and(|own| own.commit.transaction == transaction);
        let stands = || {
            !kept.touching(proposal).any(|other| conflict(proposal, other))
                && self.conflict_with_commits(proposal).is_none()
                && self.check_place(proposal, Timestamp::ZERO).is_ok()
        };
        has_committed || stands()
    }
}
