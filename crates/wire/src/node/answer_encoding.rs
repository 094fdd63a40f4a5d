//! A replica's answers, to bytes and back.

use std::sync::Arc;

use iolite_store::{ReadReply, RowAt, TooOld};
use iolite_values::{StoreIncarnation, Timestamp};

use crate::encoding::{Reader, Writer, identity, node as parts, only_true, refusal, required};
use crate::generated::proto::{self, from_replica_frame::Answer as Field};
use crate::generated::shapes;
use crate::limits::{FROM_REPLICA, INDEX_BOUND};
use crate::session::{read_rows_as, write_rows_of};
use crate::{DecodeError, EncodeError, frame};

use super::{
    Answer, Boot, Changed, Epoch, FromReplica, Invalid, Life, MessageId, Opened, Piece, ReplicaId, Report, ShardId,
    Split, Term, View, closed_encoding, configuration, vote_encoding,
};

impl FromReplica {
    /// # Errors
    /// As of [`FromReplica::encode_into`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::new();
        self.encode_into(&mut bytes)?;
        Ok(bytes)
    }

    /// Appends what [`FromReplica::encode`] gives to bytes that wait to be sent.
    ///
    /// # Errors
    /// [`EncodeError::TooLarge`], past [`FROM_REPLICA`]: nothing was appended.
    pub fn encode_into(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut writer = Writer::default();
        let (highest, limit) = (writer.timestamp(self.highest), writer.timestamp(self.limit));
        let message = proto::FromReplicaFrame {
            to: u32::from(self.to.number()),
            from: self.from.0,
            shard: self.shard.0,
            life: self.id.life.0,
            number: self.id.number,
            boot: self.boot.0,
            store: self.store.0.to_bytes().to_vec(),
            view_epoch: self.view.epoch.0,
            view_number: self.view.number,
            highest_near: highest.near,
            highest: highest.full,
            limit_near: limit.near,
            limit: limit.full,
            answer: Some(write(&self.answer, self.view, &mut writer)),
        };
        writer.check()?;
        frame::encode_into(&message, shapes::FROM_REPLICA_FRAME, FROM_REPLICA, bytes)
    }

    /// # Errors
    /// [`DecodeError`]: the peer is wrong. Close its link.
    pub fn decode(bytes: &[u8]) -> Result<FromReplica, DecodeError> {
        let frame: proto::FromReplicaFrame = frame::decode(bytes, shapes::FROM_REPLICA_FRAME, FROM_REPLICA)?;
        let view = View { epoch: Epoch(frame.view_epoch), number: frame.view_number };
        let mut reader = Reader::default();
        Ok(FromReplica {
            to: parts::coordinator(frame.to)?,
            from: ReplicaId(frame.from),
            shard: ShardId(frame.shard),
            id: MessageId { life: Life(frame.life), number: frame.number },
            boot: Boot(frame.boot),
            store: StoreIncarnation(identity(&frame.store)?),
            view,
            highest: reader.timestamp(frame.highest_near, frame.highest)?,
            limit: reader.timestamp(frame.limit_near, frame.limit)?,
            answer: read(required(frame.answer, "an answer that is not known here")?, view, &mut reader)?,
        })
    }
}

fn write(answer: &Answer, of_frame: View, writer: &mut Writer) -> Field {
    match answer {
        Answer::Opened(Opened { term, complete, latest }) => {
            let (complete, latest) = (complete.as_u64(), latest.as_u64());
            Field::Opened(proto::AnswerOpened { term: term.0, complete, latest })
        }
        Answer::Begun => Field::Begun(true),
        Answer::Voted(voted) => Field::Voted(vote_encoding::write(voted, of_frame, writer)),
        Answer::Unknown => Field::Unknown(true),
        Answer::TooOld { low_watermark } => Field::TooOld(low_watermark.as_u64()),
        Answer::Closed(Ok(closed)) => Field::Closed(closed_encoding::write(closed, writer)),
        Answer::Closed(Err(too_old)) => Field::ClosedTooOld(too_old.low_watermark.as_u64()),
        Answer::Stirred { at } => Field::Stirred(at.as_u64()),
        Answer::Read(Ok(piece)) => Field::Read(write_piece(piece, writer)),
        Answer::Read(Err(too_old)) => Field::ReadTooOld(too_old.low_watermark.as_u64()),
        Answer::Changes(Ok(Changed { through, commits })) => {
            Field::Changes(proto::AnswerChanges { commits: writer.commits(commits), through: through.as_u64() })
        }
        Answer::Changes(Err(too_old)) => Field::ChangesTooOld(too_old.low_watermark.as_u64()),
        Answer::Behind { complete } => Field::Behind(complete.as_u64()),
        Answer::Valid(Ok(())) => Field::Valid(true),
        Answer::Valid(Err(Invalid::Changed(at))) => Field::Changed(at.as_u64()),
        Answer::Valid(Err(Invalid::UnderWay(at))) => Field::UnderWay(at.as_u64()),
        Answer::Acknowledged => Field::Acknowledged(true),
        Answer::Refused(refused) => Field::Refused(refusal::write(refused)),
        Answer::WrongStore => Field::WrongStore(true),
        Answer::WrongEpoch(Some(group)) => Field::WrongEpoch(configuration::write_group(group)),
        Answer::WrongEpoch(None) => Field::NotOfShard(true),
        Answer::Ended(split) => Field::Ended(split.to_proto()),
        Answer::Superseded { term } => Field::Superseded(term.0),
        Answer::Reported(report) => Field::Reported(write_report(report)),
    }
}

fn write_piece(piece: &Piece, writer: &mut Writer) -> proto::AnswerRead {
    let Piece { reply: ReadReply { at, rows, is_cut }, looked_through } = piece;
    let rows = write_rows_of(rows.iter().map(|row| (row.table, &row.key, &row.row)), writer);
    writer.count(looked_through.as_ref().map_or(0, |place| place.len()), INDEX_BOUND);
    let looked_through = looked_through.as_ref().map(|place| place.to_vec());
    proto::AnswerRead { at: at.as_u64(), rows, is_cut: *is_cut, looked_through }
}

fn read_piece(own: proto::AnswerRead, reader: &mut Reader) -> Result<Piece, DecodeError> {
    let rows = read_rows_as(own.rows, reader, |table, key, row| RowAt { table, key, row })?;
    reader.count(own.looked_through.as_ref().map_or(0, Vec::len), INDEX_BOUND)?;
    let reply = ReadReply { at: Timestamp::from_u64(own.at), rows, is_cut: own.is_cut };
    Ok(Piece { reply, looked_through: own.looked_through.map(Arc::from) })
}

fn read(answer: Field, of_frame: View, reader: &mut Reader) -> Result<Answer, DecodeError> {
    Ok(match answer {
        Field::Opened(opened) => {
            let [complete, latest] = [opened.complete, opened.latest].map(Timestamp::from_u64);
            Answer::Opened(Opened { term: Term(opened.term), complete, latest })
        }
        Field::Begun(begun) => only_true(begun).map(|()| Answer::Begun)?,
        Field::Voted(voted) => Answer::Voted(vote_encoding::read(voted, of_frame, reader)?),
        Field::Unknown(unknown) => only_true(unknown).map(|()| Answer::Unknown)?,
        Field::TooOld(low_watermark) => Answer::TooOld { low_watermark: Timestamp::from_u64(low_watermark) },
        Field::Closed(closed) => Answer::Closed(Ok(closed_encoding::read(closed, reader)?)),
        Field::ClosedTooOld(low_watermark) => Answer::Closed(Err(too_old(low_watermark))),
        Field::Stirred(at) => Answer::Stirred { at: Timestamp::from_u64(at) },
        Field::Read(own) => Answer::Read(Ok(read_piece(own, reader)?)),
        Field::ReadTooOld(low_watermark) => Answer::Read(Err(too_old(low_watermark))),
        Field::Changes(changes) => {
            let through = Timestamp::from_u64(changes.through);
            Answer::Changes(Ok(Changed { through, commits: reader.commits(changes.commits)? }))
        }
        Field::ChangesTooOld(low_watermark) => Answer::Changes(Err(too_old(low_watermark))),
        Field::Behind(complete) => Answer::Behind { complete: Timestamp::from_u64(complete) },
        Field::Valid(valid) => only_true(valid).map(|()| Answer::Valid(Ok(())))?,
        Field::Changed(at) => Answer::Valid(Err(Invalid::Changed(Timestamp::from_u64(at)))),
        Field::UnderWay(at) => Answer::Valid(Err(Invalid::UnderWay(Timestamp::from_u64(at)))),
        Field::Acknowledged(acknowledged) => only_true(acknowledged).map(|()| Answer::Acknowledged)?,
        Field::Refused(refused) => Answer::Refused(refusal::read(refused)?),
        Field::WrongStore(wrong) => only_true(wrong).map(|()| Answer::WrongStore)?,
        Field::WrongEpoch(group) => Answer::WrongEpoch(Some(configuration::read_group(group)?)),
        Field::NotOfShard(none) => only_true(none).map(|()| Answer::WrongEpoch(None))?,
        Field::Ended(split) => Answer::Ended(Split::from_proto(split)?),
        Field::Superseded(term) => Answer::Superseded { term: Term(term) },
        Field::Reported(report) => Answer::Reported(read_report(report)?),
    })
}

fn write_report(report: &Report) -> proto::AnswerReported {
    let Report { group, takes_part, is_fetching, complete, split, begun } = report;
    proto::AnswerReported {
        group: Some(configuration::write_group(group)),
        takes_part: *takes_part,
        is_fetching: *is_fetching,
        complete: complete.as_u64(),
        split: split.as_ref().map(Split::to_proto),
        begun: begun.iter().map(|replica| replica.0).collect(),
    }
}

fn read_report(report: proto::AnswerReported) -> Result<Report, DecodeError> {
    Ok(Report {
        group: configuration::read_group(required(report.group, "a report of no group")?)?,
        takes_part: report.takes_part,
        is_fetching: report.is_fetching,
        complete: Timestamp::from_u64(report.complete),
        split: report.split.map(Split::from_proto).transpose()?,
        begun: report.begun.into_iter().map(ReplicaId).collect(),
    })
}

fn too_old(low_watermark: u64) -> TooOld {
    TooOld { low_watermark: Timestamp::from_u64(low_watermark) }
}
