//! Trees: a stream, its ranges and its edits, against plain bytes.

use std::collections::BTreeMap;

use iolite_blobs::{Builder, Chunk, Edit, EditError, Finished, Geometry, NodeError, Place, Walk, encode_node, missing};
use iolite_values::{Blob, ChunkId, ChunkName, Chunks, Cutting, Id, LeaseName, Tree};
use proptest::prelude::*;

const CHUNK: usize = Cutting::CHUNK_BYTES_MAX;

type Device = BTreeMap<ChunkId, Vec<u8>>;

fn keep(device: &mut Device, chunks: impl IntoIterator<Item = Chunk>) -> usize {
    let before = device.len();
    device.extend(chunks.into_iter().map(|chunk| (chunk.id, chunk.content)));
    device.len() - before
}

fn ended(mut finished: Finished, device: &mut Device) -> Blob {
    keep(device, std::iter::from_fn(|| finished.pop()));
    finished.blob
}

fn put(bytes: &[u8], piece: usize, device: &mut Device) -> Blob {
    let mut builder = Builder::new();
    for piece in bytes.chunks(piece) {
        builder.push(piece).expect("short enough");
        keep(device, std::iter::from_fn(|| builder.pop()));
    }
    ended(builder.finish().expect("short enough"), device)
}

/// The bytes of a range, by a walk.
fn read(blob: &Blob, range: std::ops::Range<u64>, device: &Device) -> Vec<u8> {
    if let Some(bytes) = blob.bytes() {
        return bytes[range.start as usize..range.end as usize].to_vec();
    }
    let mut walk = Walk::of_range(blob, range.clone());
    let mut bytes = Vec::new();
    let mut first = None;
    while let Some(met) = walk.next() {
        let content = &device[&met.name.id];
        if met.is_node() {
            walk.enter(content).expect("a node");
        } else {
            first.get_or_insert(met.place.index);
            bytes.extend_from_slice(content);
        }
    }
    let skipped = range.start as usize - first.unwrap_or(0) as usize * CHUNK;
    bytes[skipped..skipped + (range.end - range.start) as usize].to_vec()
}

/// Repeats a call with what it needs.
fn done<T>(edit: &mut Edit, device: &mut Device, mut call: impl FnMut(&mut Edit) -> Result<T, EditError>) -> T {
    loop {
        let result = call(edit);
        keep(device, std::iter::from_fn(|| edit.pop()));
        match result {
            Ok(done) => return done,
            Err(EditError::Needs(ids)) => ids.iter().for_each(|id| edit.give(device[id].clone())),
            Err(error) => panic!("{error}"),
        }
    }
}

fn finish(mut edit: Edit, device: &mut Device) -> Blob {
    let finished = done(&mut edit, device, Edit::finish);
    ended(finished, device)
}

fn tree(blob: &Blob) -> &Tree {
    match blob.chunks() {
        Chunks::Tree(tree) => tree,
        Chunks::Inline(_) => panic!("a tree"),
    }
}

fn lease(number: usize) -> LeaseName {
    LeaseName(Id::from_u128(number as u128 + 1))
}

/// Content of which every chunk differs, and which is quick to make.
fn content(length: usize, seed: u8) -> Vec<u8> {
    let mut bytes = vec![seed; length];
    for (number, chunk) in bytes.chunks_mut(CHUNK).enumerate() {
        let tag = (number as u32).to_be_bytes();
        let tagged = chunk.len().min(4);
        chunk[..tagged].copy_from_slice(&tag[..tagged]);
    }
    bytes
}

#[test]
fn a_short_content_lies_in_the_cell_and_a_longer_one_has_chunks() {
    let mut device = Device::new();
    assert!(put(&[7; Blob::INLINE_BYTES_MAX], 1000, &mut device).bytes().is_some());
    assert!(device.is_empty());
    let blob = put(&[7; Blob::INLINE_BYTES_MAX + 1], 1000, &mut device);
    assert_eq!((tree(&blob).root().len(), device.len()), (1, 1));
}

#[test]
fn the_builder_keeps_a_chunk_and_a_node_in_memory_and_no_more() {
    let mut builder = Builder::new();
    for number in 0..100_u8 {
        builder.push(&vec![number; CHUNK]).expect("short");
        assert_eq!(std::iter::from_fn(|| builder.pop()).count(), 1, "a chunk comes out as soon as it is whole");
    }
    let mut finished = builder.finish().expect("short");
    assert_eq!(std::iter::from_fn(|| finished.pop()).count(), 1, "the node");
    assert_eq!(tree(&finished.blob).depth(), 1);
}

#[test]
fn a_change_of_one_byte_makes_one_chunk_and_one_node() {
    let mut device = Device::new();
    let blob = put(&content(70 * CHUNK, 1), CHUNK, &mut device);
    let blob = blob.leased(lease(0)).expect("new");
    let before = device.len();
    let mut edit = Edit::new(&blob);
    done(&mut edit, &mut device, |edit| edit.write(40 * CHUNK as u64 + 5, &[9]));
    let edited = finish(edit, &mut device);
    assert_eq!(device.len() - before, 2);
    assert_eq!(tree(&edited).leases(), [lease(0)]);
    let news = missing(&edited, Some(&blob), |id| device.get(&id).filter(|_| false).cloned());
    assert_eq!(news.len(), 1, "without nodes nobody sees deeper: {news:?}");
    let mut asked = Vec::new();
    missing(&edited, Some(&blob), |id| {
        asked.push(id);
        device.get(&id).cloned()
    });
    assert_eq!(asked.len(), 3, "the new node, the node before, and the one chunk that is another");
}

#[test]
fn an_edit_that_makes_no_chunk_takes_one_over_so_that_a_lease_is_asked_for() {
    let mut device = Device::new();
    let blob = put(&content(3 * CHUNK, 1), CHUNK, &mut device).leased(lease(0)).expect("new");
    let mut edit = Edit::new(&blob);
    done(&mut edit, &mut device, |edit| edit.truncate(2 * CHUNK as u64));
    let edited = finish(edit, &mut device);
    assert!(tree(&edited).waits_for_lease());
    assert_eq!(edited.length(), 2 * CHUNK as u64);
    let unchanged = Edit::new(&blob).finish().expect("nothing is needed");
    assert_eq!(unchanged.blob.chunks(), blob.chunks());
}

#[test]
fn a_write_that_comes_to_the_chunk_that_was_open_from_before_keeps_its_rest() {
    let mut device = Device::new();
    let mut bytes = content(3 * CHUNK, 1);
    let mut edit = Edit::new(&put(&bytes, CHUNK, &mut device));
    for (at, length) in [(2 * CHUNK + 100, 5), (CHUNK - 5, CHUNK + 10)] {
        let new = vec![9; length];
        done(&mut edit, &mut device, |edit| edit.write(at as u64, &new));
        bytes[at..at + length].copy_from_slice(&new);
    }
    assert_eq!(finish(edit, &mut device), put(&bytes, CHUNK, &mut Device::new()));
}

#[test]
fn an_edit_past_the_end_is_refused_and_does_nothing() {
    let mut device = Device::new();
    let blob = put(&content(2 * CHUNK, 1), CHUNK, &mut device);
    let mut edit = Edit::new(&blob);
    let length = blob.length();
    let refused = EditError::PastTheEnd { at: length + 1, length };
    assert_eq!(edit.write(length + 1, &[1]), Err(refused.clone()));
    assert_eq!(edit.truncate(length + 1), Err(refused));
    assert!(matches!(edit.write(Blob::BYTES_MAX, &[1]), Err(EditError::PastTheEnd { .. })));
    assert_eq!(edit.finish().expect("nothing is needed").blob, blob);
}

/// Each edit brings a lease. The 64th to come takes over the chunks of the lease that has the fewest.
#[test]
fn a_tree_lists_64_leases_and_then_takes_over_the_chunks_of_one() {
    let mut device = Device::new();
    let mut bytes = content(66 * CHUNK, 1);
    let mut blob = put(&bytes, CHUNK, &mut device).leased(lease(0)).expect("new");
    for number in 1..70_usize {
        let at = (number % 66) * CHUNK + 9;
        bytes[at] = number as u8;
        let mut edit = Edit::new(&blob);
        done(&mut edit, &mut device, |edit| edit.write(at as u64, &[number as u8]));
        let edited = finish(edit, &mut device);
        assert!(tree(&edited).waits_for_lease());
        blob = edited.leased(lease(number)).expect("a new lease");
        assert!(tree(&blob).leases().len() <= Tree::LEASES_MAX);
    }
    assert_eq!(tree(&blob).leases().len(), Tree::LEASES_MAX);
    assert!(!tree(&blob).leases().contains(&lease(1)), "its one chunk was taken over");
    assert_eq!(read(&blob, 0..blob.length(), &device), bytes);
}

#[test]
fn a_blob_on_its_own_has_all_of_its_chunks_under_the_lease_to_come() {
    let mut device = Device::new();
    let blob = put(&content(70 * CHUNK, 1), CHUNK, &mut device).leased(lease(0)).expect("new");
    let mut edit = Edit::new(&blob);
    done(&mut edit, &mut device, |edit| edit.write(3, &[9]));
    let edited = finish(edit, &mut device).leased(lease(1)).expect("new");
    let mut edit = Edit::new(&edited);
    let finished = done(&mut edit, &mut device, Edit::finish_on_its_own);
    let alone = ended(finished, &mut device);
    assert_eq!(alone, edited);
    assert!(tree(&alone).leases().is_empty());
    let mut walk = Walk::new(&alone);
    while let Some(met) = walk.next() {
        assert_eq!(met.name.lease, 0);
        if met.is_node() {
            walk.enter(&device[&met.name.id]).expect("a node");
        }
    }
}

/// 4 GiB and a chunk, of one content: two layers of nodes.
#[test]
fn a_walk_through_a_deep_tree_goes_to_its_range_only() {
    let length = (64 * 1024 + 1) * CHUNK as u64;
    let leaf = ChunkName { lease: 0, id: ChunkId::of(&[0; CHUNK]) };
    let mut device = Device::new();
    let mut layer = vec![leaf; 64 * 1024 + 1];
    for _ in 0..2 {
        let nodes: Vec<Chunk> = layer.chunks(1024).map(|names| Chunk::new(encode_node(names))).collect();
        layer = nodes.iter().map(|node| ChunkName { lease: 0, id: node.id }).collect();
        keep(&mut device, nodes);
    }
    let tree = Tree::new(Cutting::Fixed64K, 2, Vec::new(), layer).expect("one name");
    let digest = iolite_values::BlobDigest::of(Cutting::Fixed64K, [leaf.id], length);
    let blob = Blob::tree(length, digest, tree).expect("of this shape");
    let mut walk = Walk::of_range(&blob, length - CHUNK as u64 - 1..length);
    let mut met = Vec::new();
    while let Some(next) = walk.next() {
        met.push((next.place.layer, next.place.index));
        if next.is_node() {
            walk.enter(&device[&next.name.id]).expect("a node");
        }
    }
    assert_eq!(met, [(2, 0), (1, 63), (0, 65_535), (1, 64), (0, 65_536)]);
}

#[test]
fn a_node_that_is_not_what_its_place_asks_for_is_refused() {
    let mut device = Device::new();
    let blob = put(&content(70 * CHUNK, 1), CHUNK, &mut device);
    let enter = |content: &[u8]| {
        let mut walk = Walk::new(&blob);
        let id = walk.next().expect("a node").name.id;
        (walk.enter(content), id)
    };
    let (result, id) = enter(b"another");
    assert_eq!(result, Err(NodeError::OtherContent(id)));
    let names = vec![ChunkName { lease: 0, id: ChunkId::of(b"x") }; 69];
    for (listed, lease) in [(names.clone(), 0), (vec![names[0]; 70], 2)] {
        let listed: Vec<ChunkName> = listed.into_iter().map(|name| ChunkName { lease, ..name }).collect();
        let node = Chunk::new(encode_node(&listed));
        let tree = Tree::new(Cutting::Fixed64K, 1, Vec::new(), vec![ChunkName { lease: 0, id: node.id }]);
        let blob = Blob::tree(70 * CHUNK as u64, blob.digest(), tree.expect("one name")).expect("of this shape");
        let mut walk = Walk::new(&blob);
        walk.next();
        assert_eq!(walk.enter(&node.content), Err(NodeError::Malformed(node.id)));
    }
}

#[test]
fn a_leaf_that_is_not_as_long_as_its_place_asks_for_is_refused() {
    let mut device = Device::new();
    let blob = put(&content(CHUNK + 10, 1), CHUNK, &mut device);
    let mut walk = Walk::new(&blob);
    for length in [CHUNK, 10] {
        let id = walk.next().expect("two leaves").name.id;
        assert_eq!(walk.check_leaf(&device[&id]), Ok(()));
        for wrong in [0, length - 1, length + 1] {
            assert_eq!(walk.check_leaf(&vec![0; wrong]), Err(NodeError::OtherLength(id)));
        }
    }
}

#[test]
fn places_do_not_depend_on_the_depth() {
    let small = Geometry::new(Cutting::Fixed64K, 70 * CHUNK as u64);
    let large = Geometry::new(Cutting::Fixed64K, Blob::BYTES_MAX);
    assert_eq!((small.depth(), small.names(0), small.names(1)), (1, 70, 1));
    assert_eq!((large.depth(), large.names(0), large.names(1), large.names(2)), (2, 1 << 20, 1024, 1));
    assert_eq!(small.names_of(Place { layer: 1, index: 0 }), 0..70);
    assert_eq!(large.leaves_of(Place { layer: 1, index: 3 }), 3072..4096);
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, usize),
    Truncate(usize),
}

/// Lengths and places near the edges of chunks, of the cell, and of the first node.
fn place() -> impl Strategy<Value = usize> {
    let edges = prop::sample::select(vec![0, 4096, CHUNK, 2 * CHUNK, 3 * CHUNK, 64 * CHUNK, 66 * CHUNK]);
    (edges, 0..40_usize).prop_map(|(edge, off)| (edge + off).saturating_sub(20))
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (place(), prop::sample::select(vec![1, 30, 5000, CHUNK, 2 * CHUNK + 7])).prop_map(|(at, length)| Change::Write(at, length)),
        1 => place().prop_map(Change::Truncate),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn edits_make_the_blob_that_a_stream_of_the_same_bytes_makes(
        length in place(),
        rounds in prop::collection::vec(prop::collection::vec(change(), 1..4), 1..4),
        range in (place(), place()),
    ) {
        let mut device = Device::new();
        let mut bytes = content(length, 1);
        let mut blob = put(&bytes, 10_000, &mut device);
        for (round, changes) in rounds.into_iter().enumerate() {
            if matches!(blob.chunks(), Chunks::Tree(tree) if tree.waits_for_lease()) {
                blob = blob.leased(lease(round)).expect("new");
            }
            let mut edit = Edit::new(&blob);
            for change in changes {
                match change {
                    Change::Write(at, length) => {
                        let at = at.min(bytes.len());
                        let new = content(length, round as u8 + 2);
                        done(&mut edit, &mut device, |edit| edit.write(at as u64, &new));
                        bytes.resize(bytes.len().max(at + length), 0);
                        bytes[at..at + length].copy_from_slice(&new);
                    }
                    Change::Truncate(length) => {
                        let length = length.min(bytes.len());
                        done(&mut edit, &mut device, |edit| edit.truncate(length as u64));
                        bytes.truncate(length);
                    }
                }
            }
            blob = finish(edit, &mut device);
            let plain = put(&bytes, CHUNK, &mut Device::new());
            prop_assert_eq!(&blob, &plain);
        }
        let (from, to) = (range.0.min(bytes.len()), range.1.min(bytes.len()));
        let (from, to) = (from.min(to), from.max(to));
        if from < to {
            prop_assert_eq!(read(&blob, from as u64..to as u64, &device), bytes[from..to].to_vec());
        }
    }
}
