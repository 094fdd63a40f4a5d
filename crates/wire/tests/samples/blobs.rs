//! Every message on `/blobs`.

use std::time::Duration;

use iolite_values::{Blob, BlobDigest, ChunkId, ChunkName, Cutting, Id, LeaseName, Tree};
use iolite_wire::blobs::{
    BLOB_PROTOCOL_VERSION, BlobContent, BlobGet, BlobHello, BlobLeased, BlobPut, BlobRefusal, BlobReply, BlobRequest,
    BlobSeal, BlobSealed, BlobStored, BlobTree, BlobUnsealed, BlobWelcome, LeasedChunks,
};
use iolite_wire::message::{Goodbye, GoodbyeReason};

use super::session::{client, store};
use super::values::{cell, time};
use crate::decoders::Content;

fn lease(number: u128) -> LeaseName {
    LeaseName(Id::from_u128(number))
}

fn chunk(content: &[u8]) -> ChunkId {
    ChunkId::of(content)
}

fn chunks() -> LeasedChunks {
    LeasedChunks { lease: lease(7), chunks: vec![chunk(b"a"), chunk(b"b")] }
}

fn plain() -> BlobContent {
    BlobContent { bytes: b"abc".to_vec(), unpacked_bytes: 0 }
}

/// A tree of 100,000 bytes, of which the first chunk is another lease's.
pub fn tree() -> BlobTree {
    let root = vec![ChunkName { lease: 0, id: chunk(b"a") }, ChunkName { lease: 1, id: chunk(b"b") }];
    let digest = BlobDigest::of(Cutting::Fixed64K, root.iter().map(|name| name.id), 100_000);
    let tree = Tree::new(Cutting::Fixed64K, 0, vec![lease(6), lease(7)], root).expect("a tree");
    BlobTree::of(&Blob::tree(100_000, digest, tree).expect("a blob")).expect("it has chunks")
}

fn hello() -> BlobRequest {
    let version = BLOB_PROTOCOL_VERSION;
    BlobRequest::Hello(BlobHello {
        oldest_version: version,
        newest_version: version,
        token: "secret".into(),
        client: client(),
    })
}

fn put(content: BlobContent) -> BlobRequest {
    BlobRequest::Put(BlobPut { lease: lease(7), chunk: chunk(b"abc"), content })
}

fn goodbye() -> Goodbye {
    let (message, retry_after) = ("this is no chunk".into(), Some(Duration::from_secs(1)));
    Goodbye { reason: GoodbyeReason::Protocol, message, retry_after }
}

pub fn requests() -> Vec<BlobRequest> {
    let seal = BlobRequest::Seal(BlobSeal { lease: lease(7), tree: tree(), from: Some(cell("chair")) });
    let (lease, chunk) = (lease(7), chunk(b"abc"));
    let get = BlobRequest::Get(BlobGet { request: 3, cell: cell("chair"), lease, chunk });
    vec![hello(), BlobRequest::Lease, BlobRequest::Have(chunks()), put(plain()), seal, get]
}

pub fn replies() -> Vec<BlobReply> {
    let (lease, tree) = (lease(7), tree().id());
    vec![
        BlobReply::Welcome(BlobWelcome { version: BLOB_PROTOCOL_VERSION, store: store() }),
        BlobReply::Leased(BlobLeased { lease, at: time(5) }),
        BlobReply::Refused(BlobRefusal::StoreFull),
        BlobReply::Refused(BlobRefusal::TooManyLeases),
        BlobReply::Refused(BlobRefusal::Unavailable),
        BlobReply::HaveReply(chunks()),
        BlobReply::Stored(BlobStored { lease, chunk: chunk(b"abc") }),
        BlobReply::Sealed(BlobSealed { lease, tree, at: time(6) }),
        BlobReply::Unsealed(BlobUnsealed { lease, tree, lacks: vec![chunk(b"a")] }),
        BlobReply::Chunk(3, plain()),
        BlobReply::Gone(3),
        BlobReply::Unavailable(4),
        BlobReply::Refused(BlobRefusal::UserFull),
        BlobReply::LeaseOver(lease),
        BlobReply::Goodbye(goodbye()),
    ]
}

pub fn all() -> Vec<(&'static str, &'static str, Content)> {
    let packed = BlobContent { bytes: vec![1, 2, 3], unpacked_bytes: 65_536 };
    let request = |name, comment, at: usize| (name, comment, Content::BlobRequest(vec![requests().swap_remove(at)]));
    let reply = |name, comment, at: usize| (name, comment, Content::BlobReply(vec![replies().swap_remove(at)]));
    vec![
        ("blob_request_frame", "every request", Content::BlobRequest(requests())),
        ("blob_reply_frame", "every reply", Content::BlobReply(replies())),
        request("blob_hello", "a hello", 0),
        request("blob_have", "a question about two chunks", 2),
        request("blob_put", "a chunk of three bytes", 3),
        ("blob_content", "a chunk that is packed", Content::BlobRequest(vec![put(packed)])),
        request("blob_seal", "a tree that has chunks of a cell", 4),
        request("blob_get", "a question for a chunk", 5),
        reply("blob_welcome", "a welcome", 0),
        reply("blob_leased", "a lease", 1),
        reply("blob_refused", "a full store", 2),
        reply("blob_have_reply", "two chunks are lacking", 5),
        reply("blob_stored", "a chunk is stored", 6),
        reply("blob_sealed", "a tree is sealed", 7),
        reply("blob_unsealed", "a tree that lacks a chunk", 8),
        reply("blob_chunk", "a chunk of three bytes", 9),
    ]
}
