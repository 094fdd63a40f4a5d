//! What replicas say to each other, to bytes and back.

use iolite_values::{StoreIncarnation, Timestamp};

use crate::encoding::{Reader, Writer, identity, node as parts, only_true, required};
use crate::generated::proto::{self, between_replicas_frame::Peer as Field};
use crate::generated::shapes;
use crate::limits::BETWEEN_REPLICAS;
use crate::{DecodeError, EncodeError, frame};

use super::{BetweenReplicas, Boot, Configuration, Drained, Epoch, Peer, ReplicaId, ShardId, StateChunk};

impl BetweenReplicas {
    /// # Errors
    /// As of [`BetweenReplicas::encode_into`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::new();
        self.encode_into(&mut bytes)?;
        Ok(bytes)
    }

    /// Appends what [`BetweenReplicas::encode`] gives to bytes that wait to be sent.
    ///
    /// # Errors
    /// [`EncodeError::TooLarge`], past [`BETWEEN_REPLICAS`]: nothing was appended.
    pub fn encode_into(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut writer = Writer::default();
        let message = proto::BetweenReplicasFrame {
            from: self.from.0,
            to: self.to.0,
            store: self.store.0.to_bytes().to_vec(),
            shard: self.shard.0,
            epoch: self.epoch.0,
            peer: Some(write(&self.peer, &mut writer)),
        };
        writer.check()?;
        frame::encode_into(&message, shapes::BETWEEN_REPLICAS_FRAME, BETWEEN_REPLICAS, bytes)
    }

    /// # Errors
    /// [`DecodeError`]: the peer is wrong. Close its link.
    pub fn decode(bytes: &[u8]) -> Result<BetweenReplicas, DecodeError> {
        let frame: proto::BetweenReplicasFrame =
            frame::decode(bytes, shapes::BETWEEN_REPLICAS_FRAME, BETWEEN_REPLICAS)?;
        Ok(BetweenReplicas {
            from: ReplicaId(frame.from),
            to: ReplicaId(frame.to),
            store: StoreIncarnation(identity(&frame.store)?),
            shard: ShardId(frame.shard),
            epoch: Epoch(frame.epoch),
            peer: read(required(frame.peer, "a message that is not known here")?, &mut Reader::default())?,
        })
    }
}

fn write(peer: &Peer, writer: &mut Writer) -> Field {
    match peer {
        Peer::Fetch { after } => Field::Fetch(after.as_u64()),
        Peer::Segment { after, through, commits } => {
            let [after, through] = [*after, *through].map(|own| writer.timestamp(own));
            Field::Segment(proto::PeerSegment {
                after_near: after.near,
                after: after.full,
                through_near: through.near,
                through: through.full,
                commits: commits.iter().map(|commit| writer.segment_commit(commit)).collect(),
            })
        }
        Peer::FetchedTooOld => Field::FetchedTooOld(true),
        Peer::FetchState { place } => Field::FetchState(place.clone()),
        Peer::StateChunk(chunk) => Field::StateChunk(proto::PeerStateChunk {
            boot: chunk.boot.0,
            place: chunk.place.clone(),
            next: chunk.next.clone(),
            complete: chunk.complete.as_u64(),
            chunk: chunk.chunk.clone(),
        }),
        Peer::StartViewChange { view } => Field::StartViewChange(parts::write_view(*view)),
        Peer::DoViewChange { last_normal, part } => Field::DoViewChange(proto::PeerDoViewChange {
            last_normal: Some(parts::write_view(*last_normal)),
            part: Some(writer.record_part(part)),
        }),
        Peer::StartView { part } => Field::StartView(writer.record_part(part)),
        Peer::Configured { configuration } => Field::Configured(configuration.to_proto()),
        Peer::Begun { view } => Field::Begun(parts::write_view(*view)),
        Peer::Drained(drained) => Field::Drained(proto::PeerDrained {
            complete: drained.complete.as_u64(),
            barrier: drained.barrier.as_u64(),
            terms: drained.terms.iter().map(parts::write_term).collect(),
            view: Some(parts::write_view(drained.view)),
        }),
    }
}

fn read(peer: Field, reader: &mut Reader) -> Result<Peer, DecodeError> {
    Ok(match peer {
        Field::Fetch(after) => Peer::Fetch { after: Timestamp::from_u64(after) },
        Field::Segment(segment) => {
            let after = reader.timestamp(segment.after_near, segment.after)?;
            let through = reader.timestamp(segment.through_near, segment.through)?;
            let commits = segment.commits.into_iter().map(|commit| reader.segment_commit(commit));
            Peer::Segment { after, through, commits: commits.collect::<Result<_, _>>()? }
        }
        Field::FetchedTooOld(too_old) => only_true(too_old).map(|()| Peer::FetchedTooOld)?,
        Field::FetchState(place) => Peer::FetchState { place },
        Field::StateChunk(chunk) => Peer::StateChunk(StateChunk {
            boot: Boot(chunk.boot),
            place: chunk.place,
            next: chunk.next,
            complete: Timestamp::from_u64(chunk.complete),
            chunk: chunk.chunk,
        }),
        Field::StartViewChange(view) => Peer::StartViewChange { view: parts::read_view(&view) },
        Field::DoViewChange(own) => Peer::DoViewChange {
            last_normal: parts::read_view(&required(own.last_normal, "a record of no view")?),
            part: reader.record_part(required(own.part, "a record is missing")?)?,
        },
        Field::StartView(part) => Peer::StartView { part: reader.record_part(part)? },
        Field::Configured(own) => Peer::Configured { configuration: Configuration::from_proto(own)? },
        Field::Begun(view) => Peer::Begun { view: parts::read_view(&view) },
        Field::Drained(drained) => Peer::Drained(Drained {
            view: parts::read_view(&required(drained.view, "drained in no view")?),
            complete: Timestamp::from_u64(drained.complete),
            barrier: Timestamp::from_u64(drained.barrier),
            terms: drained.terms.iter().map(parts::read_term).collect::<Result<_, _>>()?,
        }),
    })
}
