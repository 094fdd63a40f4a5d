//! A coordinator's messages, to bytes and back.

use iolite_store::ReadLimit;
use iolite_values::{ClientId, Counter, StoreIncarnation, Timestamp};

use crate::encoding::{
    Reader, Writer, identity, node as parts, only_true, read_direction, refusal, required, write_direction,
};
use crate::generated::proto::{self, to_replica_frame::Ask as Field};
use crate::generated::shapes;
use crate::limits::TO_REPLICA;
use crate::{DecodeError, EncodeError, frame};

use super::configuration::{read_group, write_group};
use super::{Ask, Detail, Epoch, Life, MessageId, Outcome, ProposalId, ShardId, Term, ToReplica, View, Vote};

impl ToReplica {
    /// # Errors
    /// As of [`ToReplica::encode_into`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::new();
        self.encode_into(&mut bytes)?;
        Ok(bytes)
    }

    /// Appends what [`ToReplica::encode`] gives to bytes that wait to be sent.
    ///
    /// # Errors
    /// [`EncodeError::TooLarge`], past [`TO_REPLICA`]: nothing was appended.
    pub fn encode_into(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut writer = Writer::default();
        let message = proto::ToReplicaFrame {
            from: u32::from(self.from.number()),
            term: self.term.0,
            life: self.id.life.0,
            number: self.id.number,
            store: self.store.map(|store| store.0.to_bytes().to_vec()),
            shard: self.shard.0,
            view_epoch: self.view.epoch.0,
            view_number: self.view.number,
            ask: Some(write(&self.ask, self.view, &mut writer)),
        };
        writer.check()?;
        frame::encode_into(&message, shapes::TO_REPLICA_FRAME, TO_REPLICA, bytes)
    }

    /// # Errors
    /// [`DecodeError`]: the peer is wrong. Close its link.
    pub fn decode(bytes: &[u8]) -> Result<ToReplica, DecodeError> {
        let frame: proto::ToReplicaFrame = frame::decode(bytes, shapes::TO_REPLICA_FRAME, TO_REPLICA)?;
        let view = View { epoch: Epoch(frame.view_epoch), number: frame.view_number };
        Ok(ToReplica {
            from: parts::coordinator(frame.from)?,
            term: Term(frame.term),
            id: MessageId { life: Life(frame.life), number: frame.number },
            store: frame.store.map(|store| identity(&store).map(StoreIncarnation)).transpose()?,
            shard: ShardId(frame.shard),
            view,
            ask: read(required(frame.ask, "a question that is not known here")?, view, &mut Reader::default())?,
        })
    }
}

fn write(ask: &Ask, of_frame: View, writer: &mut Writer) -> Field {
    match ask {
        Ask::Open => Field::Open(true),
        Ask::Begin => Field::Begin(true),
        Ask::Prepare { proposal, after } => {
            let proposal = Some(writer.proposal(proposal));
            Field::Prepare(proto::AskPrepare { proposal, after: after.map(|after| writer.proposal_id(after)) })
        }
        Ask::Finalise { id, view, ballot, vote, proposal } => {
            let (id, proposal) = writer.named(*id, proposal.as_ref());
            let (view, ballot) = (parts::write_view_beside(*view, of_frame), parts::write_promise(*ballot));
            Field::Finalise(proto::AskFinalise { id, proposal, view, ballot, ok: *vote == Vote::Ok })
        }
        Ask::Poll { id, ballot } => {
            let (id, ballot) = (Some(writer.proposal_id(*id)), parts::write_promise(*ballot));
            Field::Poll(proto::AskPoll { id, ballot })
        }
        Ask::Outcome { id, outcome, proposal } => {
            let (id, proposal) = writer.named(*id, proposal.as_ref());
            Field::Outcome(proto::AskOutcome { id, proposal, committed: *outcome == Outcome::Committed })
        }
        Ask::Close { through, cursor, settled, detail } => {
            Field::Close(write_close([*through, *cursor, *settled], *detail, writer))
        }
        Ask::Resolved { from, through, commits } => Field::Resolved(write_resolved([*from, *through], commits, writer)),
        Ask::ReadAt { interest, at, limit, looks } => Field::ReadAt(proto::AskReadAt {
            interest: Some(writer.interest(interest)),
            at: at.as_u64(),
            rows_max: write_most(limit.rows),
            bytes_max: write_most(limit.bytes),
            descending: write_direction(limit.direction),
            looks_max: write_most(*looks),
        }),
        Ask::Changes { interests, after, through } => Field::Changes(proto::AskChanges {
            interests: interests.iter().map(|interest| writer.interest(interest)).collect(),
            after: after.as_u64(),
            through: through.as_u64(),
        }),
        Ask::Validate { snapshot, reads } => {
            Field::Validate(proto::AskValidate { snapshot: snapshot.as_u64(), reads: writer.reads(reads) })
        }
        Ask::Acknowledge { client, through } => {
            Field::Acknowledge(proto::AcknowledgedThrough { client: client.0.to_bytes().to_vec(), through: through.0 })
        }
        Ask::Report => Field::Report(true),
        Ask::Configured { group } => Field::Configured(write_group(group)),
    }
}

fn write_close(times: [Timestamp; 3], detail: Detail, writer: &mut Writer) -> proto::AskClose {
    let [through, cursor, settled] = times.map(|own| writer.timestamp(own));
    proto::AskClose {
        through_near: through.near,
        through: through.full,
        cursor_near: cursor.near,
        cursor: cursor.full,
        settled_near: settled.near,
        settled: settled.full,
        whole: detail != Detail::Names,
        followed: detail == Detail::Followed,
    }
}

fn write_resolved(times: [Timestamp; 2], commits: &[ProposalId], writer: &mut Writer) -> proto::AskResolved {
    let [from, through] = times.map(|own| writer.timestamp(own));
    proto::AskResolved {
        from_near: from.near,
        from: from.full,
        through_near: through.near,
        through: through.full,
        commits: writer.all_listed(commits),
    }
}

fn write_most(count: usize) -> Option<u64> {
    (count != usize::MAX).then_some(count as u64)
}

fn read(ask: Field, of_frame: View, reader: &mut Reader) -> Result<Ask, DecodeError> {
    Ok(match ask {
        Field::Open(open) => only_true(open).map(|()| Ask::Open)?,
        Field::Begin(begin) => only_true(begin).map(|()| Ask::Begin)?,
        Field::Prepare(own) => {
            let proposal = reader.shared_proposal(required(own.proposal, "a vote is asked for, and not on what")?)?;
            Ask::Prepare { proposal, after: own.after.map(|after| reader.proposal_id(&after)).transpose()? }
        }
        Field::Finalise(own) => {
            let (id, proposal) = reader.named((own.id, own.proposal))?;
            let view = parts::read_view_beside(own.view.as_ref(), of_frame);
            let ballot = parts::read_promise(own.ballot.as_ref())?;
            Ask::Finalise { id, view, ballot, vote: parts::read_vote(own.ok), proposal }
        }
        Field::Poll(own) => {
            let id = reader.proposal_id(&required(own.id, "a proposal without a name")?)?;
            Ask::Poll { id, ballot: parts::read_promise(own.ballot.as_ref())? }
        }
        Field::Outcome(own) => {
            let (id, proposal) = reader.named((own.id, own.proposal))?;
            Ask::Outcome { id, outcome: parts::read_outcome(own.committed), proposal }
        }
        Field::Close(own) => read_close(&own, reader)?,
        Field::Resolved(own) => {
            let from = reader.timestamp(own.from_near, own.from)?;
            let through = reader.timestamp(own.through_near, own.through)?;
            Ask::Resolved { from, through, commits: reader.all_listed(own.commits)?.into() }
        }
        Field::ReadAt(own) => read_read_at(own, reader)?,
        Field::Changes(own) => read_changes(own, reader)?,
        Field::Validate(own) => {
            Ask::Validate { snapshot: Timestamp::from_u64(own.snapshot), reads: reader.reads(own.reads)?.into() }
        }
        Field::Acknowledge(own) => {
            Ask::Acknowledge { client: ClientId(identity(&own.client)?), through: Counter(own.through) }
        }
        Field::Report(report) => only_true(report).map(|()| Ask::Report)?,
        Field::Configured(group) => Ask::Configured { group: read_group(group)? },
    })
}

fn read_close(close: &proto::AskClose, reader: &mut Reader) -> Result<Ask, DecodeError> {
    Ok(Ask::Close {
        through: reader.timestamp(close.through_near, close.through)?,
        cursor: reader.timestamp(close.cursor_near, close.cursor)?,
        settled: reader.timestamp(close.settled_near, close.settled)?,
        detail: match (close.whole, close.followed) {
            (true, false) => Detail::Whole,
            (true, true) => Detail::Followed,
            (false, false) => Detail::Names,
            (false, true) => return Err(DecodeError::malformed("commits that are followed and not told")),
        },
    })
}

fn read_read_at(own: proto::AskReadAt, reader: &mut Reader) -> Result<Ask, DecodeError> {
    let interest = reader.interest(required(own.interest, "rows are asked for, and not which")?)?;
    let direction = read_direction(own.descending);
    let limit = ReadLimit { rows: read_most(own.rows_max), bytes: read_most(own.bytes_max), direction };
    let looks = read_most(own.looks_max);
    Ok(Ask::ReadAt { interest, at: Timestamp::from_u64(own.at), limit, looks })
}

fn read_changes(own: proto::AskChanges, reader: &mut Reader) -> Result<Ask, DecodeError> {
    let interests = own.interests.into_iter().map(|interest| reader.interest(interest));
    let interests = interests.collect::<Result<_, _>>()?;
    Ok(Ask::Changes { interests, after: Timestamp::from_u64(own.after), through: Timestamp::from_u64(own.through) })
}

fn read_most(count: Option<u64>) -> usize {
    count.map_or(usize::MAX, refusal::count)
}
