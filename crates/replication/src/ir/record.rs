//! A replica's record: where it stands with every proposal that is not settled.
//!
//! Invariants:
//! - a vote once given stays, unless a ballot or a master record finalises another one;
//! - what is finalised at a ballot is finalised at a higher one only with the same vote, or before it was confirmed;
//! - an outcome stays.
//!
//! Source: TAPIR (TOCS 2018) 3.2; ballots instead of coordinator views (5.2.3).

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_values::Timestamp;

use crate::node::{Ballot, Objection, Outcome, Proposal, ProposalId, RecordedEntry, View, Vote, Voted};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub proposal: Option<Arc<Proposal>>,
    pub vote: Vote,
    pub finalised: Option<Ballot>,
    pub promised: Ballot,
    pub outcome: Option<Outcome>,
    /// In memory only.
    pub objection: Option<Objection>,
}

impl Entry {
    pub fn voted(proposal: Option<Arc<Proposal>>, vote: Vote, objection: Option<Objection>) -> Entry {
        Entry { proposal, vote, finalised: None, promised: Ballot::FIRST, outcome: None, objection }
    }

    /// Whether it may commit, as far as this replica knows, and so stands in the way of what conflicts with it.
    pub fn is_prepared(&self) -> bool {
        self.vote == Vote::Ok && self.outcome.is_none()
    }

    /// The same of a proposal that is among the commits already. Without its body it stays as it is: others could not apply it.
    pub fn known_to_have_committed(self) -> Entry {
        match (self.outcome, &self.proposal) {
            (None, Some(_)) => Entry { outcome: Some(Outcome::Committed), vote: Vote::Ok, ..self },
            (None, None) | (Some(_), _) => self,
        }
    }

    pub fn answer(&self, view: View) -> Voted {
        Voted {
            view,
            vote: self.vote,
            finalised: self.finalised,
            promised: self.promised,
            outcome: self.outcome,
            objection: self.objection.clone(),
            proposal: None,
        }
    }

    pub fn recorded(&self, id: ProposalId) -> RecordedEntry {
        let Entry { proposal, vote, finalised, promised, outcome, objection: _ } = self.clone();
        RecordedEntry { id, proposal, vote, finalised, promised, outcome }
    }
}

impl From<RecordedEntry> for Entry {
    fn from(recorded: RecordedEntry) -> Entry {
        let RecordedEntry { id: _, proposal, vote, finalised, promised, outcome } = recorded;
        Entry { proposal, vote, finalised, promised, outcome, objection: None }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    entries: BTreeMap<ProposalId, Entry>,
}

impl Record {
    pub fn get(&self, id: ProposalId) -> Option<&Entry> {
        self.entries.get(&id)
    }

    pub fn set(&mut self, id: ProposalId, entry: Entry) {
        self.entries.insert(id, entry);
    }

    pub fn iter(&self) -> impl Iterator<Item = (ProposalId, &Entry)> {
        self.entries.iter().map(|(id, entry)| (*id, entry))
    }

    /// The entries at or below `through`, oldest first.
    pub fn through(&self, through: Timestamp) -> impl Iterator<Item = (ProposalId, &Entry)> {
        self.iter().take_while(move |(id, _)| id.at <= through)
    }

    /// The entries above `after`, at or below `through`, oldest first.
    pub fn between(&self, after: Timestamp, through: Timestamp) -> impl Iterator<Item = (ProposalId, &Entry)> {
        let entries = self.entries.range(ProposalId::first_above(after)..).map(|(id, entry)| (*id, entry));
        entries.take_while(move |(id, _)| id.at <= through)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Drops everything at or below `through`, and says what that was.
    pub fn settle(&mut self, through: Timestamp) -> Vec<ProposalId> {
        let settled: Vec<ProposalId> = self.through(through).map(|(id, _)| id).collect();
        for id in &settled {
            self.entries.remove(id);
        }
        settled
    }
}
