//! Messages of a gateway on `/blobs`.

use iolite_values::{LeaseName, StoreIncarnation, Timestamp};

use super::parts::{
    read_chunk, read_chunks, read_content, read_lease, write_chunk, write_chunks, write_content, write_lease,
};
use super::{BlobContent, BlobLeased, BlobSealed, BlobStored, BlobUnsealed, BlobWelcome, LeasedChunks, TreeId};
use crate::encoding::{Reader, Writer, identity, required};
use crate::generated::proto::{self, blob_reply_frame::Reply};
use crate::generated::shapes;
use crate::limits::BLOB_REPLY;
use crate::message::{Goodbye, ProtocolVersion};
use crate::session::{read_goodbye, write_goodbye};
use crate::{DecodeError, EncodeError, frame};

/// A message of a gateway on `/blobs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobReply {
    /// The connection is open.
    Welcome(BlobWelcome),
    /// A lease was given, and is committed.
    Leased(BlobLeased),
    /// No lease is given now.
    Refused(BlobRefusal),
    /// The chunks of a `Have` that are not stored, in the order of the question.
    HaveReply(LeasedChunks),
    Stored(BlobStored),
    Sealed(BlobSealed),
    Unsealed(BlobUnsealed),
    /// The chunk that the `Get` with this number asked for.
    Chunk(u32, BlobContent),
    /// Answers the `Get` with this number: the cell names no such chunk any more. Read the row again.
    Gone(u32),
    /// Answers the `Get` with this number: the store of chunks cannot be reached at the moment.
    Unavailable(u32),
    /// This lease of the client is over, or never was.
    LeaseOver(LeaseName),
    /// The connection ends after this message.
    Goodbye(Goodbye),
}

/// Why no lease is given, and nothing can be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobRefusal {
    /// The store of chunks is as full as the operator lets it be.
    StoreFull,
    /// The client has as many leases as a client may have.
    TooManyLeases,
    /// The store of rows or that of chunks cannot be reached at the moment.
    Unavailable,
    /// The user has stored as much as a user may.
    UserFull,
}

impl BlobReply {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let reply = match self {
            BlobReply::Welcome(welcome) => Reply::Welcome(proto::BlobWelcome {
                version: welcome.version.0,
                store: welcome.store.0.to_bytes().to_vec(),
            }),
            BlobReply::Leased(leased) => {
                Reply::Leased(proto::BlobLeased { lease: write_lease(leased.lease), at: leased.at.as_u64() })
            }
            BlobReply::Refused(why) => Reply::Refused(proto::BlobRefused { why: write_refusal(*why).into() }),
            BlobReply::HaveReply(lacks) => Reply::Have(proto::BlobHaveReply {
                lease: write_lease(lacks.lease),
                lacks: write_chunks(&lacks.chunks, &mut writer),
            }),
            BlobReply::Stored(stored) => {
                Reply::Stored(proto::BlobStored { lease: write_lease(stored.lease), chunk: write_chunk(stored.chunk) })
            }
            BlobReply::Sealed(sealed) => Reply::Sealed(write_sealed(sealed)),
            BlobReply::Unsealed(unsealed) => Reply::Unsealed(write_unsealed(unsealed, &mut writer)),
            BlobReply::Chunk(request, content) => {
                let content = Some(write_content(content, &mut writer));
                Reply::Chunk(proto::BlobChunk { request: *request, content })
            }
            BlobReply::Gone(request) => Reply::Gone(*request),
            BlobReply::Unavailable(request) => Reply::Unavailable(*request),
            BlobReply::LeaseOver(lease) => Reply::LeaseOver(write_lease(*lease)),
            BlobReply::Goodbye(goodbye) => Reply::Goodbye(write_goodbye(goodbye, &mut writer)),
        };
        writer.check()?;
        frame::encode(&proto::BlobReplyFrame { reply: Some(reply) }, shapes::BLOB_REPLY_FRAME, BLOB_REPLY)
    }

    /// # Errors
    /// [`DecodeError`]: the gateway is of another version, or wrong.
    pub fn decode(bytes: &[u8]) -> Result<BlobReply, DecodeError> {
        let frame: proto::BlobReplyFrame = frame::decode(bytes, shapes::BLOB_REPLY_FRAME, BLOB_REPLY)?;
        let reader = Reader::default();
        Ok(match required(frame.reply, "no reply that is known here")? {
            Reply::Welcome(welcome) => BlobReply::Welcome(BlobWelcome {
                version: ProtocolVersion(welcome.version),
                store: StoreIncarnation(identity(&welcome.store)?),
            }),
            Reply::Leased(leased) => {
                BlobReply::Leased(BlobLeased { lease: read_lease(&leased.lease)?, at: Timestamp::from_u64(leased.at) })
            }
            Reply::Refused(refused) => BlobReply::Refused(read_refusal(refused.why)?),
            Reply::Have(have) => BlobReply::HaveReply(LeasedChunks {
                lease: read_lease(&have.lease)?,
                chunks: read_chunks(&have.lacks, &reader)?,
            }),
            Reply::Stored(stored) => {
                BlobReply::Stored(BlobStored { lease: read_lease(&stored.lease)?, chunk: read_chunk(&stored.chunk)? })
            }
            Reply::Sealed(sealed) => BlobReply::Sealed(read_sealed(&sealed)?),
            Reply::Unsealed(unsealed) => BlobReply::Unsealed(read_unsealed(&unsealed, &reader)?),
            Reply::Chunk(chunk) => BlobReply::Chunk(chunk.request, read_content(chunk.content, &reader)?),
            Reply::Gone(request) => BlobReply::Gone(request),
            Reply::Unavailable(request) => BlobReply::Unavailable(request),
            Reply::LeaseOver(lease) => BlobReply::LeaseOver(read_lease(&lease)?),
            Reply::Goodbye(goodbye) => BlobReply::Goodbye(read_goodbye(goodbye, &reader)?),
        })
    }
}

fn write_sealed(sealed: &BlobSealed) -> proto::BlobSealed {
    let (lease, tree) = (write_lease(sealed.lease), write_chunk(sealed.tree.0));
    proto::BlobSealed { lease, tree, at: sealed.at.as_u64() }
}

fn read_sealed(sealed: &proto::BlobSealed) -> Result<BlobSealed, DecodeError> {
    let (lease, tree) = (read_lease(&sealed.lease)?, TreeId(read_chunk(&sealed.tree)?));
    Ok(BlobSealed { lease, tree, at: Timestamp::from_u64(sealed.at) })
}

fn write_unsealed(unsealed: &BlobUnsealed, writer: &mut Writer) -> proto::BlobUnsealed {
    let (lease, tree) = (write_lease(unsealed.lease), write_chunk(unsealed.tree.0));
    proto::BlobUnsealed { lease, tree, lacks: write_chunks(&unsealed.lacks, writer) }
}

fn read_unsealed(unsealed: &proto::BlobUnsealed, reader: &Reader) -> Result<BlobUnsealed, DecodeError> {
    let (lease, tree) = (read_lease(&unsealed.lease)?, TreeId(read_chunk(&unsealed.tree)?));
    Ok(BlobUnsealed { lease, tree, lacks: read_chunks(&unsealed.lacks, reader)? })
}

fn write_refusal(why: BlobRefusal) -> proto::BlobRefusal {
    match why {
        BlobRefusal::StoreFull => proto::BlobRefusal::StoreFull,
        BlobRefusal::TooManyLeases => proto::BlobRefusal::TooManyLeases,
        BlobRefusal::Unavailable => proto::BlobRefusal::Unavailable,
        BlobRefusal::UserFull => proto::BlobRefusal::UserFull,
    }
}

fn read_refusal(why: i32) -> Result<BlobRefusal, DecodeError> {
    let unknown = DecodeError::malformed("a refusal of no known reason");
    match proto::BlobRefusal::try_from(why).map_err(|_| unknown)? {
        proto::BlobRefusal::Unspecified => Err(unknown),
        proto::BlobRefusal::StoreFull => Ok(BlobRefusal::StoreFull),
        proto::BlobRefusal::TooManyLeases => Ok(BlobRefusal::TooManyLeases),
        proto::BlobRefusal::Unavailable => Ok(BlobRefusal::Unavailable),
        proto::BlobRefusal::UserFull => Ok(BlobRefusal::UserFull),
    }
}
