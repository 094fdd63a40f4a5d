//! Blobs in cells.
//!
//! Invariant: a decoded blob keeps all that [`Blob`] promises, and has the leases that were encoded.

use iolite_values::{Blob, BlobDigest, BlobError, ChunkId, ChunkName, Chunks, Cutting, LeaseName, Tree, Value};

use crate::DecodeError;
use crate::generated::proto::{self, value::Kind};

use super::reader::identity;

const LEASE_BYTES: usize = 16;
const NAME_BYTES: usize = 17;

pub(super) fn write(blob: &Blob) -> Kind {
    match blob.chunks() {
        Chunks::Inline(bytes) => Kind::Blob(bytes.to_vec()),
        Chunks::Tree(tree) => Kind::BlobTree(Box::new(write_tree(blob.length(), blob.digest(), tree))),
    }
}

pub(crate) fn write_tree(length: u64, digest: BlobDigest, tree: &Tree) -> proto::BlobTree {
    let name = |name: &ChunkName| [name.lease].into_iter().chain(name.id.to_bytes());
    proto::BlobTree {
        length,
        digest: digest.to_bytes().to_vec(),
        cutting: tree.cutting().number().into(),
        depth: tree.depth().into(),
        leases: tree.leases().iter().flat_map(|lease| lease.0.to_bytes()).collect(),
        root: tree.root().iter().flat_map(name).collect(),
    }
}

pub(super) fn read_inline(bytes: Vec<u8>) -> Result<Value, DecodeError> {
    Ok(Blob::inline(bytes).map_err(wrong)?.into())
}

pub(crate) fn read_tree(stored: &proto::BlobTree) -> Result<Blob, DecodeError> {
    let cutting = u8::try_from(stored.cutting).ok().and_then(Cutting::from_number);
    let cutting = cutting.ok_or(DecodeError::malformed("a blob that is cut in no known way"))?;
    let depth = u8::try_from(stored.depth).map_err(|_| DecodeError::malformed("a tree of no possible depth"))?;
    if !stored.leases.len().is_multiple_of(LEASE_BYTES) || !stored.root.len().is_multiple_of(NAME_BYTES) {
        return Err(DecodeError::malformed("a lease has 16 bytes, and the name of a chunk 17"));
    }
    let leases = stored.leases.chunks(LEASE_BYTES).map(|lease| Ok(LeaseName(identity(lease)?)));
    let root = stored
        .root
        .chunks(NAME_BYTES)
        .map(|name| Ok(ChunkName { lease: name[0], id: ChunkId::from_bytes(identity(&name[1..])?.to_bytes()) }));
    let digest = stored.digest.as_slice().try_into().map_err(|_| DecodeError::malformed("a digest has 32 bytes"))?;
    let (leases, root) = (leases.collect::<Result<_, _>>()?, root.collect::<Result<_, _>>()?);
    let tree = Tree::new(cutting, depth, leases, root).map_err(wrong)?;
    Blob::tree(stored.length, BlobDigest::from_bytes(digest), tree).map_err(wrong)
}

fn wrong(_: BlobError) -> DecodeError {
    DecodeError::malformed("a blob that breaks a rule of blobs")
}

#[cfg(test)]
mod tests {
    use iolite_values::Id;

    use super::*;

    fn tree(length: u64, lease: u8) -> Blob {
        let names = Cutting::Fixed64K.shape(length).names;
        let root: Vec<_> = (0..names).map(|at| ChunkName { lease, id: ChunkId::of(&at.to_be_bytes()) }).collect();
        let digest = BlobDigest::of(Cutting::Fixed64K, root.iter().map(|name| name.id), length);
        let leases = (0..2).map(|number| LeaseName(Id::from_u128(number))).collect();
        let tree = Tree::new(Cutting::Fixed64K, 0, leases, root).expect("a tree");
        Blob::tree(length, digest, tree).expect("a blob")
    }

    fn written(blob: &Blob) -> proto::BlobTree {
        let Kind::BlobTree(written) = write(blob) else { panic!("a tree") };
        *written
    }

    /// Blobs are equal whatever their leases, so the golden bytes do not show this.
    #[test]
    fn leases_come_back_also_the_one_to_come() {
        for lease in [0, 1, 2] {
            let blob = tree(200_000, lease);
            let Ok(read) = read_tree(&written(&blob)) else { panic!("its own") };
            assert_eq!((read.chunks(), &read), (blob.chunks(), &blob));
        }
    }

    #[test]
    fn what_breaks_a_rule_is_malformed() {
        let good = || written(&tree(200_000, 2));
        let longer = |mut bytes: Vec<u8>| {
            bytes.push(9);
            bytes
        };
        let wrong = [
            proto::BlobTree { cutting: 1, ..good() },
            proto::BlobTree { cutting: 256, ..good() },
            proto::BlobTree { depth: 1, ..good() },
            proto::BlobTree { length: 300_000, ..good() },
            proto::BlobTree { digest: vec![0; 32], ..good() },
            proto::BlobTree { digest: Vec::new(), ..good() },
            proto::BlobTree { leases: Vec::new(), ..good() },
            proto::BlobTree { leases: longer(good().leases), ..good() },
            proto::BlobTree { root: longer(good().root), ..good() },
            proto::BlobTree::default(),
        ];
        for tree in wrong {
            assert!(matches!(read_tree(&tree), Err(DecodeError::Malformed { .. })), "{tree:?}");
        }
        assert!(matches!(read_inline(vec![0; Blob::INLINE_BYTES_MAX + 1]), Err(DecodeError::Malformed { .. })));
    }
}
