//! Where a replica stands with a proposal, to protobuf and back.

use iolite_store::{Completion, CompletionDecision};
use iolite_values::Timestamp;

use crate::DecodeError;
use crate::encoding::{Reader, Writer, node as parts, only_true, refusal, required};
use crate::generated::proto::{self, objection::Why};
use crate::session::{attempt, earlier_attempts};

use super::{Objection, Outcome, View, Vote, Voted};

pub(super) fn write(voted: &Voted, of_frame: View, writer: &mut Writer) -> proto::AnswerVoted {
    proto::AnswerVoted {
        view: parts::write_view_beside(voted.view, of_frame),
        ok: voted.vote == Vote::Ok,
        finalised: voted.finalised.map(parts::write_ballot),
        promised: parts::write_promise(voted.promised),
        committed: voted.outcome.map(|outcome| outcome == Outcome::Committed),
        objection: voted.objection.as_ref().map(|objection| write_objection(objection, writer)),
        proposal: voted.proposal.as_ref().map(|proposal| writer.proposal(proposal)),
    }
}

pub(super) fn read(voted: proto::AnswerVoted, of_frame: View, reader: &mut Reader) -> Result<Voted, DecodeError> {
    Ok(Voted {
        view: parts::read_view_beside(voted.view.as_ref(), of_frame),
        vote: parts::read_vote(voted.ok),
        finalised: voted.finalised.as_ref().map(parts::read_ballot).transpose()?,
        promised: parts::read_promise(voted.promised.as_ref())?,
        outcome: voted.committed.map(parts::read_outcome),
        objection: voted.objection.map(|objection| read_objection(objection, reader)).transpose()?,
        proposal: voted.proposal.map(|proposal| reader.shared_proposal(proposal)).transpose()?,
    })
}

fn write_objection(objection: &Objection, writer: &mut Writer) -> proto::Objection {
    let why = match objection {
        Objection::Retry { above } => Why::Retry(above.as_u64()),
        Objection::Busy { with } => Why::Busy(writer.proposal_id(*with)),
        Objection::Conflict { at_least } => Why::Conflict(at_least.as_u64()),
        Objection::Completed(Completion { attempt, at, decision }) => Why::Completed(proto::ObjectionCompleted {
            earlier_attempts: earlier_attempts(*attempt),
            at: at.as_u64(),
            aborted: *decision == CompletionDecision::Aborted,
        }),
        Objection::Forgotten => Why::Forgotten(true),
        Objection::Refused(refused) => Why::Refused(refusal::write(refused)),
    };
    proto::Objection { why: Some(why) }
}

fn read_objection(objection: proto::Objection, reader: &mut Reader) -> Result<Objection, DecodeError> {
    Ok(match required(objection.why, "an objection of no known kind")? {
        Why::Retry(above) => Objection::Retry { above: Timestamp::from_u64(above) },
        Why::Busy(with) => Objection::Busy { with: reader.proposal_id(&with)? },
        Why::Conflict(at_least) => Objection::Conflict { at_least: Timestamp::from_u64(at_least) },
        Why::Completed(own) => Objection::Completed(Completion {
            attempt: attempt(own.earlier_attempts),
            at: Timestamp::from_u64(own.at),
            decision: if own.aborted { CompletionDecision::Aborted } else { CompletionDecision::Committed },
        }),
        Why::Forgotten(forgotten) => only_true(forgotten).map(|()| Objection::Forgotten)?,
        Why::Refused(refused) => Objection::Refused(refusal::read(refused)?),
    })
}
