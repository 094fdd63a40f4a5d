//! Proposals, entries of records, views and ballots.

use std::sync::Arc;

use iolite_values::{ClientId, CoordinatorId, Counter, Timestamp, TransactionId};

use crate::DecodeError;
use crate::generated::proto;
use crate::node::{
    Ballot, Effect, Epoch, Life, Outcome, Proposal, ProposalId, RecordPart, RecordedEntry, Registered, ShardId, Split,
    Term, View, Vote,
};
use crate::session::{attempt, earlier_attempts};

use super::level::{read_level, write_level};
use super::reader::{identity, required};
use super::{Reader, Writer};

/// A proposal, and its name where it is not beside the proposal.
pub(crate) type NamedProposal = (Option<proto::ProposalName>, Option<proto::Proposal>);

impl Writer {
    pub(crate) fn named(&mut self, id: ProposalId, proposal: Option<&Arc<Proposal>>) -> NamedProposal {
        let is_beside = proposal.is_some_and(|proposal| proposal.id == id);
        let id = (!is_beside).then(|| self.proposal_id(id));
        (id, proposal.map(|proposal| self.proposal(proposal)))
    }

    pub(crate) fn proposal_id(&mut self, id: ProposalId) -> proto::ProposalName {
        let at = self.timestamp(id.at);
        proto::ProposalName {
            at_near: at.near,
            at: at.full,
            client: id.transaction.client.0.to_bytes().to_vec(),
            counter: id.transaction.counter.0,
            earlier_attempts: earlier_attempts(id.attempt),
        }
    }

    pub(crate) fn proposal(&mut self, proposal: &Proposal) -> proto::Proposal {
        let id = Some(self.proposal_id(proposal.id));
        let snapshot = self.timestamp(proposal.snapshot);
        proto::Proposal {
            id,
            participants: proposal.participants.iter().map(|shard| shard.0).collect(),
            snapshot_near: snapshot.near,
            snapshot: snapshot.full,
            reads: self.reads(&proposal.reads),
            writes: self.writes(proposal.writes()),
            aborts: proposal.effect == Effect::Abort,
            is_home: proposal.is_home,
            level: write_level(proposal.level),
        }
    }

    pub(crate) fn entry(&mut self, entry: &RecordedEntry) -> proto::RecordedEntry {
        proto::RecordedEntry {
            id: entry.proposal.is_none().then(|| Box::new(self.proposal_id(entry.id))),
            proposal: entry.proposal.as_ref().map(|proposal| Box::new(self.proposal(proposal))),
            ok: entry.vote == Vote::Ok,
            finalised: entry.finalised.map(write_ballot),
            promised: write_promise(entry.promised),
            committed: entry.outcome.map(|outcome| outcome == Outcome::Committed),
        }
    }

    pub(crate) fn record_part(&mut self, part: &RecordPart) -> proto::RecordPart {
        proto::RecordPart {
            view: Some(write_view(part.view)),
            complete: part.complete.as_u64(),
            barrier: part.barrier.as_u64(),
            number: part.number,
            parts: part.parts,
            entries: part.entries.iter().map(|entry| self.entry(entry)).collect(),
            terms: part.terms.iter().map(write_term).collect(),
            split: part.split.as_ref().map(Split::to_proto),
        }
    }
}

impl Reader {
    pub(crate) fn named(
        &mut self,
        (id, proposal): NamedProposal,
    ) -> Result<(ProposalId, Option<Arc<Proposal>>), DecodeError> {
        let id = id.map(|id| self.proposal_id(&id)).transpose()?;
        let proposal = proposal.map(|proposal| self.shared_proposal(proposal)).transpose()?;
        let id = id.or(proposal.as_ref().map(|proposal| proposal.id));
        Ok((id.ok_or(DecodeError::malformed("a proposal without a name"))?, proposal))
    }

    pub(crate) fn shared_proposal(&mut self, proposal: proto::Proposal) -> Result<Arc<Proposal>, DecodeError> {
        self.proposal(proposal).map(Arc::new)
    }

    pub(crate) fn proposal_id(&mut self, id: &proto::ProposalName) -> Result<ProposalId, DecodeError> {
        Ok(ProposalId {
            at: self.timestamp(id.at_near, id.at)?,
            transaction: TransactionId { client: ClientId(identity(&id.client)?), counter: Counter(id.counter) },
            attempt: attempt(id.earlier_attempts),
        })
    }

    pub(crate) fn proposal(&mut self, proposal: proto::Proposal) -> Result<Proposal, DecodeError> {
        let id = self.proposal_id(&required(proposal.id, "a proposal without a name")?)?;
        let snapshot = self.timestamp(proposal.snapshot_near, proposal.snapshot)?;
        if !proposal.participants.is_sorted_by(|a, b| a < b) || proposal.participants.is_empty() {
            return Err(DecodeError::malformed("participants are some shards in order, each once"));
        }
        let reads = self.reads(proposal.reads)?;
        let effect = match proposal.aborts {
            false => Effect::Commit(self.writes(proposal.writes)?.into()),
            true if proposal.writes.is_empty() => Effect::Abort,
            true => return Err(DecodeError::malformed("an abort with writes")),
        };
        let participants = proposal.participants.into_iter().map(ShardId).collect();
        let level = read_level(proposal.level)?;
        Ok(Proposal { id, participants, snapshot, reads, level, effect, is_home: proposal.is_home })
    }

    pub(crate) fn entry(&mut self, entry: proto::RecordedEntry) -> Result<RecordedEntry, DecodeError> {
        let (id, proposal) = match (entry.id, entry.proposal) {
            (Some(id), None) => (self.proposal_id(&id)?, None),
            (None, Some(proposal)) => {
                let proposal = Arc::new(self.proposal(*proposal)?);
                (proposal.id, Some(proposal))
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err(DecodeError::malformed("an entry has a name or a proposal"));
            }
        };
        Ok(RecordedEntry {
            id,
            proposal,
            vote: read_vote(entry.ok),
            finalised: entry.finalised.as_ref().map(read_ballot).transpose()?,
            promised: read_promise(entry.promised.as_ref())?,
            outcome: entry.committed.map(read_outcome),
        })
    }

    pub(crate) fn record_part(&mut self, part: proto::RecordPart) -> Result<RecordPart, DecodeError> {
        let entries = part.entries.into_iter().map(|entry| self.entry(entry));
        let entries = entries.collect::<Result<_, _>>()?;
        let terms = part.terms.iter().map(read_term).collect::<Result<Vec<_>, _>>()?;
        if !terms.is_sorted_by(|a, b| a.coordinator < b.coordinator) {
            return Err(DecodeError::malformed("terms are in the order of the coordinators, each once"));
        }
        Ok(RecordPart {
            view: read_view(&required(part.view, "a record without a view")?),
            complete: Timestamp::from_u64(part.complete),
            barrier: Timestamp::from_u64(part.barrier),
            number: part.number,
            parts: part.parts,
            entries,
            terms,
            split: part.split.map(Split::from_proto).transpose()?,
        })
    }
}

pub(crate) fn read_vote(ok: bool) -> Vote {
    if ok { Vote::Ok } else { Vote::No }
}

pub(crate) fn read_outcome(committed: bool) -> Outcome {
    if committed { Outcome::Committed } else { Outcome::Aborted }
}

/// A view beside that of the frame, which it nearly always is.
pub(crate) fn write_view_beside(view: View, of_frame: View) -> Option<proto::View> {
    (view != of_frame).then(|| write_view(view))
}

pub(crate) fn read_view_beside(view: Option<&proto::View>, of_frame: View) -> View {
    view.map_or(of_frame, read_view)
}

/// A ballot that is nearly always the first.
pub(crate) fn write_promise(ballot: Ballot) -> Option<proto::Ballot> {
    (ballot != Ballot::FIRST).then(|| write_ballot(ballot))
}

pub(crate) fn read_promise(ballot: Option<&proto::Ballot>) -> Result<Ballot, DecodeError> {
    ballot.map_or(Ok(Ballot::FIRST), read_ballot)
}

pub(crate) fn write_view(view: View) -> proto::View {
    proto::View { epoch: view.epoch.0, number: view.number }
}

pub(crate) fn read_view(view: &proto::View) -> View {
    View { epoch: Epoch(view.epoch), number: view.number }
}

pub(crate) fn write_term(own: &Registered) -> proto::CoordinatorTerm {
    let Registered { coordinator, term, life } = *own;
    proto::CoordinatorTerm { coordinator: u32::from(coordinator.number()), term: term.0, life: life.0 }
}

pub(crate) fn read_term(own: &proto::CoordinatorTerm) -> Result<Registered, DecodeError> {
    Ok(Registered { coordinator: coordinator(own.coordinator)?, term: Term(own.term), life: Life(own.life) })
}

pub(crate) fn write_ballot(ballot: Ballot) -> proto::Ballot {
    proto::Ballot { number: ballot.number, by: u32::from(ballot.by.number()), term: ballot.term.0 }
}

pub(crate) fn read_ballot(ballot: &proto::Ballot) -> Result<Ballot, DecodeError> {
    Ok(Ballot { number: ballot.number, by: coordinator(ballot.by)?, term: Term(ballot.term) })
}

pub(crate) fn coordinator(number: u32) -> Result<CoordinatorId, DecodeError> {
    let id = u16::try_from(number).ok().and_then(CoordinatorId::new);
    id.ok_or(DecodeError::malformed("a coordinator's number is at most 4095"))
}
