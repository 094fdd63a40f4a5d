//! Messages of a client on `/blobs`.

use iolite_values::{Cell, ChunkId, ClientId, LeaseName};

use super::parts::{
    read_chunk, read_chunks, read_content, read_lease, write_chunk, write_chunks, write_content, write_lease,
};
use super::{BlobContent, BlobTree, LeasedChunks, tree};
use crate::encoding::{Reader, Writer, cell_name, identity, named_cell, only_true, required};
use crate::generated::proto::{self, blob_request_frame::Request};
use crate::generated::shapes;
use crate::limits::{BLOB_REQUEST, TOKEN};
use crate::message::ProtocolVersion;
use crate::{DecodeError, EncodeError, frame};

/// A message of a client on `/blobs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobRequest {
    /// The first message of a connection.
    Hello(BlobHello),
    /// Give me a lease.
    Lease,
    /// Asks which of these chunks are not stored under the client's own lease.
    Have(LeasedChunks),
    Put(BlobPut),
    Seal(BlobSeal),
    Get(BlobGet),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobHello {
    pub oldest_version: ProtocolVersion,
    pub newest_version: ProtocolVersion,
    /// The token of the client's session.
    pub token: String,
    pub client: ClientId,
}

/// Store this chunk under the client's own lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobPut {
    pub lease: LeaseName,
    pub chunk: ChunkId,
    pub content: BlobContent,
}

/// Every chunk of this tree is stored: let rows name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobSeal {
    /// The client's own lease, which is the last of the tree.
    pub lease: LeaseName,
    pub tree: BlobTree,
    /// The cell whose blob has the chunks of all other leases. `None`: there are none.
    pub from: Option<Cell>,
}

/// Send this chunk, which the blob of a cell names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobGet {
    /// Chosen by the client, and not used again while it is not answered.
    pub request: u32,
    pub cell: Cell,
    pub lease: LeaseName,
    pub chunk: ChunkId,
}

impl BlobRequest {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let request = match self {
            BlobRequest::Hello(hello) => Request::Hello(write_hello(hello, &mut writer)),
            BlobRequest::Lease => Request::Lease(true),
            BlobRequest::Have(have) => Request::Have(proto::BlobHave {
                lease: write_lease(have.lease),
                chunks: write_chunks(&have.chunks, &mut writer),
            }),
            BlobRequest::Put(put) => Request::Put(proto::BlobPut {
                lease: write_lease(put.lease),
                chunk: write_chunk(put.chunk),
                content: Some(write_content(&put.content, &mut writer)),
            }),
            BlobRequest::Seal(seal) => Request::Seal(proto::BlobSeal {
                lease: write_lease(seal.lease),
                tree: Some(tree::write(&seal.tree)),
                from: seal.from.as_ref().map(cell_name),
            }),
            BlobRequest::Get(get) => Request::Get(proto::BlobGet {
                request: get.request,
                cell: Some(cell_name(&get.cell)),
                lease: write_lease(get.lease),
                chunk: write_chunk(get.chunk),
            }),
        };
        writer.check()?;
        frame::encode(&proto::BlobRequestFrame { request: Some(request) }, shapes::BLOB_REQUEST_FRAME, BLOB_REQUEST)
    }

    /// # Errors
    /// [`DecodeError`]: the client is of another version, or wrong.
    pub fn decode(bytes: &[u8]) -> Result<BlobRequest, DecodeError> {
        let frame: proto::BlobRequestFrame = frame::decode(bytes, shapes::BLOB_REQUEST_FRAME, BLOB_REQUEST)?;
        let reader = Reader::default();
        Ok(match required(frame.request, "no request that is known here")? {
            Request::Hello(hello) => BlobRequest::Hello(read_hello(hello, &reader)?),
            Request::Lease(lease) => only_true(lease).map(|()| BlobRequest::Lease)?,
            Request::Have(have) => BlobRequest::Have(LeasedChunks {
                lease: read_lease(&have.lease)?,
                chunks: read_chunks(&have.chunks, &reader)?,
            }),
            Request::Put(put) => BlobRequest::Put(BlobPut {
                lease: read_lease(&put.lease)?,
                chunk: read_chunk(&put.chunk)?,
                content: read_content(put.content, &reader)?,
            }),
            Request::Seal(seal) => BlobRequest::Seal(BlobSeal {
                lease: read_lease(&seal.lease)?,
                tree: tree::read(&required(seal.tree, "a seal of no tree")?)?,
                from: seal.from.map(named_cell).transpose()?,
            }),
            Request::Get(get) => BlobRequest::Get(BlobGet {
                request: get.request,
                cell: named_cell(required(get.cell, "a chunk of no cell")?)?,
                lease: read_lease(&get.lease)?,
                chunk: read_chunk(&get.chunk)?,
            }),
        })
    }
}

fn write_hello(hello: &BlobHello, writer: &mut Writer) -> proto::BlobHello {
    proto::BlobHello {
        oldest_version: hello.oldest_version.0,
        newest_version: hello.newest_version.0,
        token: writer.text(&hello.token, TOKEN),
        client: hello.client.0.to_bytes().to_vec(),
    }
}

fn read_hello(hello: proto::BlobHello, reader: &Reader) -> Result<BlobHello, DecodeError> {
    Ok(BlobHello {
        oldest_version: ProtocolVersion(hello.oldest_version),
        newest_version: ProtocolVersion(hello.newest_version),
        token: reader.text(hello.token, TOKEN)?,
        client: ClientId(identity(&hello.client)?),
    })
}
