//! The rules of blobs: which trees there may be, and what makes two blobs equal.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::*;

fn lease(number: u128) -> LeaseName {
    LeaseName(Id::from_u128(number))
}

fn leases(count: u128) -> Vec<LeaseName> {
    (0..count).map(lease).collect()
}

/// Different chunks under one lease.
fn names(lease: u8, count: usize) -> Vec<ChunkName> {
    (0..count).map(|number| ChunkName { lease, id: ChunkId::of(&number.to_be_bytes()) }).collect()
}

fn digest_of(root: &[ChunkName], length: u64) -> BlobDigest {
    BlobDigest::of(Cutting::Fixed64K, root.iter().map(|name| name.id), length)
}

fn flat(leases: Vec<LeaseName>, lease: u8, length: u64) -> Blob {
    let root = names(lease, Cutting::Fixed64K.shape(length).names);
    let tree = Tree::new(Cutting::Fixed64K, 0, leases, root.clone()).expect("a tree");
    Blob::tree(length, digest_of(&root, length), tree).expect("a blob")
}

const CHUNK: u64 = Cutting::CHUNK_BYTES_MAX as u64;

#[test]
fn up_to_4_kib_lie_in_the_cell() {
    let full = Blob::inline(vec![7; Blob::INLINE_BYTES_MAX]).expect("short enough");
    assert_eq!((full.length(), full.bytes().map(|bytes| bytes.len())), (4096, Some(4096)));
    assert_eq!(Blob::inline(vec![7; 4097]), Err(BlobError::InlineTooLong { bytes: 4097 }));
    assert_eq!(Blob::inline([]).expect("nothing").length(), 0);
}

#[test]
fn a_tree_is_longer_than_a_cell_and_at_most_64_gib() {
    let tree = |count| Tree::new(Cutting::Fixed64K, 0, leases(1), names(0, count)).expect("a tree");
    let digest = BlobDigest::from_bytes([0; 32]);
    assert_eq!(Blob::tree(4096, digest, tree(1)), Err(BlobError::TreeTooShort { length: 4096 }));
    let length = Blob::BYTES_MAX + 1;
    assert_eq!(Blob::tree(length, digest, tree(1)), Err(BlobError::TooLong { length }));
    assert_eq!(flat(leases(1), 0, 4097).length(), 4097);
}

#[test]
fn the_length_decides_the_shape() {
    let shape = |length| Cutting::Fixed64K.shape(length);
    assert_eq!(shape(CHUNK), TreeShape { depth: 0, names: 1 });
    assert_eq!(shape(64 * CHUNK), TreeShape { depth: 0, names: 64 });
    assert_eq!(shape(64 * CHUNK + 1), TreeShape { depth: 1, names: 1 });
    assert_eq!(shape(1024 * CHUNK + 1), TreeShape { depth: 1, names: 2 });
    assert_eq!(shape(4 << 30), TreeShape { depth: 1, names: 64 });
    assert_eq!(shape(Blob::BYTES_MAX), TreeShape { depth: 2, names: 1 });
    let tree = |depth, count| Tree::new(Cutting::Fixed64K, depth, leases(1), names(0, count)).expect("a tree");
    let (length, digest) = (2 * CHUNK, BlobDigest::from_bytes([0; 32]));
    for (depth, count) in [(0, 1), (0, 3), (1, 2), (1, 1)] {
        let wrong = Err(BlobError::Shape { length, depth, names: count });
        assert_eq!(Blob::tree(length, digest, tree(depth, count)), wrong);
    }
}

#[test]
fn a_flat_tree_shows_its_digest() {
    let (length, root) = (2 * CHUNK, names(0, 2));
    let tree = || Tree::new(Cutting::Fixed64K, 0, leases(1), root.clone()).expect("a tree");
    assert!(Blob::tree(length, digest_of(&root, length), tree()).is_ok());
    assert_eq!(Blob::tree(length, digest_of(&root, length + 1), tree()), Err(BlobError::Digest));
}

#[test]
fn what_is_in_a_cell_is_bounded() {
    let tree = |leases, names| Tree::new(Cutting::Fixed64K, 0, leases, names).map(drop);
    assert_eq!(tree(leases(64), names(63, 64)), Ok(()));
    assert_eq!(tree(leases(65), names(0, 1)), Err(BlobError::TooManyLeases { leases: 65 }));
    assert_eq!(tree(leases(1), names(0, 65)), Err(BlobError::TooManyNames { names: 65 }));
    assert_eq!(tree(vec![lease(1), lease(2), lease(1)], names(0, 1)), Err(BlobError::LeaseTwice(lease(1))));
}

#[test]
fn one_lease_may_be_to_come_and_no_more() {
    let tree = |listed, index| Tree::new(Cutting::Fixed64K, 0, leases(listed), names(index, 1));
    assert!(tree(0, 0).expect("made offline").waits_for_lease());
    assert!(tree(2, 2).expect("edited offline").waits_for_lease());
    assert!(!tree(2, 1).expect("stored").waits_for_lease());
    assert_eq!(tree(2, 3), Err(BlobError::NoLease { index: 3, leases: 2 }));
    assert!(tree(63, 63).expect("the last one").waits_for_lease());
    assert_eq!(tree(64, 64), Err(BlobError::NoLease { index: 64, leases: 64 }));
}

#[test]
fn a_lease_is_filled_in_and_changes_no_name() {
    let made = flat(leases(2), 2, 3 * CHUNK);
    let sent = made.leased(lease(9)).expect("it waits for one");
    let (Chunks::Tree(before), Chunks::Tree(after)) = (made.chunks(), sent.chunks()) else { panic!("trees") };
    assert_eq!((after.leases(), after.root()), (&[lease(0), lease(1), lease(9)][..], before.root()));
    assert_eq!(sent.leased(lease(10)), Err(BlobError::WaitsForNoLease));
    assert_eq!(made.leased(lease(1)), Err(BlobError::LeaseTwice(lease(1))));
    assert_eq!(Blob::inline([1]).expect("short").leased(lease(1)), Err(BlobError::WaitsForNoLease));
}

#[test]
fn blobs_are_equal_by_content_whatever_their_leases() {
    let (made, other) = (flat(leases(0), 0, CHUNK), flat(leases(0), 0, CHUNK - 1));
    let sent = made.leased(lease(9)).expect("it waits for one");
    assert_ne!(made.chunks(), sent.chunks());
    assert_eq!((made.cmp(&sent), &made), (Ordering::Equal, &sent));
    assert_ne!(made, other);
    let hash = |blob: &Blob| {
        let mut hasher = DefaultHasher::new();
        blob.hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash(&made), hash(&sent));
    let different: BTreeSet<Blob> = [made, sent, other].into();
    assert_eq!(different.len(), 2);
}

#[test]
fn a_cutting_of_a_later_version_is_unknown() {
    assert_eq!(Cutting::from_number(Cutting::Fixed64K.number()), Some(Cutting::Fixed64K));
    assert_eq!(Cutting::from_number(1), None);
}

#[test]
fn an_empty_blob_has_no_chunk_and_a_digest_is_the_same_everywhere() {
    let text = |blob: &Blob| blob.digest().to_string();
    assert_eq!(
        text(&Blob::inline([]).expect("nothing")),
        "3e7077fd2f66d689e0cee6a7cf5b37bf2dca7c979af356d0a31cbc5c85605c7d"
    );
    assert_eq!(
        text(&Blob::inline(*b"abc").expect("short")),
        "ea79e3bc616df6b1a22b9beab2f959916b96f915961eadea437bf02b73be0d84"
    );
    assert_eq!(ChunkId::of(b"abc").to_string(), "ba7816bf8f01cfea414140de5dae2223");
}

#[test]
fn blobs_read_back_from_json_with_their_leases() {
    let text = r#"{"$blob":"00ff"}"#;
    let inline: Blob = serde_json::from_str(text).expect("a blob");
    assert_eq!(
        (inline.bytes(), serde_json::to_string(&inline).ok().as_deref()),
        (Some(&[0, 255][..].into()), Some(text))
    );
    let tree = flat(leases(2), 2, 3 * CHUNK);
    let json = serde_json::to_string(&tree).expect("JSON");
    assert_eq!(serde_json::from_str::<Blob>(&json).expect("its own").chunks(), tree.chunks());
    assert!(Blob::is_in_json(&json) && !Blob::is_in_json(r#"["\"$blob\":"]"#));
    let wrong = |json: &str| serde_json::from_str::<Blob>(json).expect_err("no blob").to_string();
    assert!(wrong(r#"{"$blob":"0"}"#).contains("hexadecimal"));
    assert!(wrong(&json.replace(r#""cutting":0"#, r#""cutting":1"#)).contains("update"));
}
