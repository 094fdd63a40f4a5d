//! Any message on `/blobs`.

use iolite_values::{Blob, BlobDigest, ChunkId, ChunkName, ClientId, Cutting, LeaseName, StoreIncarnation, Tree};
use iolite_wire::blobs::{
    BlobContent, BlobGet, BlobHello, BlobLeased, BlobPut, BlobRefusal, BlobReply, BlobRequest, BlobSeal, BlobSealed,
    BlobStored, BlobTree, BlobUnsealed, BlobWelcome, LeasedChunks, TreeId,
};
use iolite_wire::message::ProtocolVersion;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::session::goodbye;
use super::values::{cell, id, timestamp};

fn lease() -> impl Strategy<Value = LeaseName> {
    id().prop_map(LeaseName)
}

fn chunk() -> impl Strategy<Value = ChunkId> {
    any::<[u8; 16]>().prop_map(ChunkId::from_bytes)
}

fn chunks() -> impl Strategy<Value = LeasedChunks> {
    (lease(), vec(chunk(), 0..5)).prop_map(|(lease, chunks)| LeasedChunks { lease, chunks })
}

fn content() -> impl Strategy<Value = BlobContent> {
    (vec(any::<u8>(), 0..9), 0u32..65_537).prop_map(|(bytes, unpacked_bytes)| BlobContent { bytes, unpacked_bytes })
}

fn tree() -> impl Strategy<Value = BlobTree> {
    (4097u64..(80 << 20), vec(lease(), 1..4), any::<u64>()).prop_map(|(length, mut leases, seed)| {
        leases.sort();
        leases.dedup();
        let shape = Cutting::Fixed64K.shape(length);
        let name = |place: usize| ChunkName {
            lease: (place % (leases.len() + 1)) as u8,
            id: ChunkId::of(&[seed.to_be_bytes(), (place as u64).to_be_bytes()].concat()),
        };
        let root: Vec<ChunkName> = (0..shape.names).map(name).collect();
        let digest = BlobDigest::of(Cutting::Fixed64K, root.iter().map(|name| name.id), length);
        let tree = Tree::new(Cutting::Fixed64K, shape.depth, leases, root).expect("few leases and names");
        BlobTree::of(&Blob::tree(length, digest, tree).expect("of this shape")).expect("it has chunks")
    })
}

fn hello() -> impl Strategy<Value = BlobHello> {
    (any::<u32>(), any::<u32>(), ".{0,8}", id()).prop_map(|(oldest, newest, token, client)| BlobHello {
        oldest_version: ProtocolVersion(oldest),
        newest_version: ProtocolVersion(newest),
        token,
        client: ClientId(client),
    })
}

pub fn blob_request() -> BoxedStrategy<BlobRequest> {
    let put = (lease(), chunk(), content()).prop_map(|(lease, chunk, content)| BlobPut { lease, chunk, content });
    let seal = (lease(), tree(), option::of(cell())).prop_map(|(lease, tree, from)| BlobSeal { lease, tree, from });
    let get = (any::<u32>(), cell(), lease(), chunk());
    let get = get.prop_map(|(request, cell, lease, chunk)| BlobGet { request, cell, lease, chunk });
    prop_oneof![
        hello().prop_map(BlobRequest::Hello),
        Just(BlobRequest::Lease),
        chunks().prop_map(BlobRequest::Have),
        put.prop_map(BlobRequest::Put),
        seal.prop_map(BlobRequest::Seal),
        get.prop_map(BlobRequest::Get),
    ]
    .boxed()
}

pub fn blob_reply() -> BoxedStrategy<BlobReply> {
    let welcome = (any::<u32>(), id())
        .prop_map(|(version, store)| BlobWelcome { version: ProtocolVersion(version), store: StoreIncarnation(store) });
    let refusal = prop::sample::select(vec![
        BlobRefusal::StoreFull,
        BlobRefusal::TooManyLeases,
        BlobRefusal::Unavailable,
        BlobRefusal::UserFull,
    ]);
    let sealed = (lease(), chunk(), timestamp());
    let sealed = sealed.prop_map(|(lease, tree, at)| BlobSealed { lease, tree: TreeId(tree), at });
    let unsealed = (lease(), chunk(), vec(chunk(), 0..4));
    let unsealed = unsealed.prop_map(|(lease, tree, lacks)| BlobUnsealed { lease, tree: TreeId(tree), lacks });
    prop_oneof![
        welcome.prop_map(BlobReply::Welcome),
        (lease(), timestamp()).prop_map(|(lease, at)| BlobReply::Leased(BlobLeased { lease, at })),
        refusal.prop_map(BlobReply::Refused),
        chunks().prop_map(BlobReply::HaveReply),
        (lease(), chunk()).prop_map(|(lease, chunk)| BlobReply::Stored(BlobStored { lease, chunk })),
        sealed.prop_map(BlobReply::Sealed),
        unsealed.prop_map(BlobReply::Unsealed),
        (any::<u32>(), content()).prop_map(|(request, content)| BlobReply::Chunk(request, content)),
        any::<u32>().prop_map(BlobReply::Gone),
        any::<u32>().prop_map(BlobReply::Unavailable),
        lease().prop_map(BlobReply::LeaseOver),
        goodbye().prop_map(BlobReply::Goodbye),
    ]
    .boxed()
}
