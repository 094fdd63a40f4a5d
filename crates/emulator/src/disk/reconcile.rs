//! One map of a disk from all requests for parts of it.
//!
//! Invariant: extents are disjoint and inside the disk, each run that was asked for is one extent, and a request is refused only if all
//! together are larger than the disk. So who writes one run writes in sequence, whatever its neighbours do.
//! Source: Perkins 2015, section 4.3.2 and Figure 4.5. The paper does not say how conflicts are settled; here long runs choose first, and a
//! run whose place is taken goes to the nearest gap that holds it.

use std::collections::BTreeMap;

use super::allocation::{Block, DiskAlloc, Owner};
use crate::quantity::Bytes;

/// A run of blocks: of an owner's own addresses, and where on the disk they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub own: Block,
    pub physical: Block,
    pub blocks: Block,
}

/// Where each owner's bytes are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtentMap {
    owners: BTreeMap<Owner, Vec<Extent>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocationError {
    #[error(
        "disk {disk} has {has} MiB, and is asked for {asked} MiB: {who}; take larger disks or more of them, or ask for less"
    )]
    TooMuch { disk: usize, has: u64, asked: u64, who: String },
    #[error("disk {disk}: {owner} asks twice; give each request a name of its own", owner = owner.0)]
    Twice { disk: usize, owner: Owner },
}

struct Wish<'a> {
    owner: &'a Owner,
    own: Block,
    wished: Block,
    blocks: Block,
}

/// Places all requests for one disk.
pub fn reconcile(disk: usize, capacity: Bytes, requests: &[&DiskAlloc]) -> Result<ExtentMap, AllocationError> {
    let has = capacity.0 / Block::BYTES;
    let mut owners: BTreeMap<&Owner, Block> = BTreeMap::new();
    let mut wishes = Vec::new();
    for request in requests {
        if owners.insert(&request.owner, request.shape.blocks()).is_some() {
            return Err(AllocationError::Twice { disk, owner: request.owner.clone() });
        }
        let mut own = Block(0);
        for (wished, blocks) in request.shape.runs() {
            wishes.push(Wish { owner: &request.owner, own, wished, blocks });
            own = Block(own.0.saturating_add(blocks.0));
        }
    }
    let asked = owners.values().fold(0_u64, |sum, blocks| sum.saturating_add(blocks.0));
    if asked > has {
        let who: Vec<String> = owners.iter().map(|(owner, blocks)| format!("{} {} MiB", owner.0, blocks.0)).collect();
        return Err(AllocationError::TooMuch { disk, has, asked, who: who.join(", ") });
    }
    // Long runs first; among equals the order of owners and addresses, so that the result does not rest on who asked first.
    wishes.sort_by_key(|wish| (std::cmp::Reverse(wish.blocks), wish.owner, wish.own));
    let placed = as_wished(has, &wishes).unwrap_or_else(|| packed(&wishes));
    let mut map = ExtentMap::default();
    for (wish, physical) in wishes.iter().zip(placed) {
        let extent = Extent { own: wish.own, physical, blocks: wish.blocks };
        map.owners.entry(wish.owner.clone()).or_default().push(extent);
    }
    map.owners.values_mut().for_each(|extents| extents.sort_by_key(|extent| extent.own));
    Ok(map)
}

/// Each run where it is wished, or in the nearest gap that holds it; nothing if gaps are left that are too short for a run.
fn as_wished(has: u64, wishes: &[Wish<'_>]) -> Option<Vec<Block>> {
    // Gaps by their starts, with their ends.
    let mut gaps: BTreeMap<u64, u64> = BTreeMap::from([(0, has)]);
    let place = |wish: &Wish<'_>| {
        let holding = gaps.iter().filter(|(start, end)| *end - *start >= wish.blocks.0);
        let nearest = holding.map(|(start, end)| {
            let place = wish.wished.0.clamp(*start, end - wish.blocks.0);
            (place.abs_diff(wish.wished.0), place, *start, *end)
        });
        let (_, place, start, end) = nearest.min()?;
        gaps.remove(&start);
        let rest = [(start, place), (place + wish.blocks.0, end)];
        gaps.extend(rest.into_iter().filter(|(start, end)| start < end));
        Some(Block(place))
    };
    wishes.iter().map(place).collect()
}

/// One after the other from the start of the disk: whatever is not larger than the disk fits.
fn packed(wishes: &[Wish<'_>]) -> Vec<Block> {
    let mut next = 0;
    let place = |wish: &Wish<'_>| {
        let place = Block(next);
        next += wish.blocks.0;
        place
    };
    wishes.iter().map(place).collect()
}

impl ExtentMap {
    pub fn extents(&self, owner: &Owner) -> &[Extent] {
        self.owners.get(owner).map_or(&[], Vec::as_slice)
    }

    pub fn all(&self) -> impl Iterator<Item = (&Owner, &Extent)> {
        self.owners.iter().flat_map(|(owner, extents)| extents.iter().map(move |extent| (owner, extent)))
    }

    /// Where on the disk a part of an owner's bytes is: its pieces, each with where it starts and how long it is.
    ///
    /// # Panics
    /// When the part is not the owner's, which is a bug of the module that asks.
    pub fn pieces(&self, owner: &Owner, offset: u64, length: u64) -> Vec<(u64, u64)> {
        let mut pieces = Vec::new();
        let (mut at, end) = (offset, offset + length);
        for extent in self.extents(owner) {
            let (first, last) = (extent.own.0 * Block::BYTES, (extent.own.0 + extent.blocks.0) * Block::BYTES);
            if at < end && (first..last).contains(&at) {
                let length = end.min(last) - at;
                pieces.push((extent.physical.0 * Block::BYTES + (at - first), length));
                at += length;
            }
        }
        assert!(at >= end, "{} reaches past what it has, at {offset} for {length} bytes", owner.0);
        pieces
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::allocation::Shape;
    use super::*;

    const CAPACITY: u64 = 200;

    fn request(owner: &str, shape: Shape) -> DiskAlloc {
        DiskAlloc { disk: 0, owner: Owner(owner.to_owned()), shape }
    }

    fn reconciled(requests: &[DiskAlloc]) -> Result<ExtentMap, AllocationError> {
        reconcile(0, Bytes(CAPACITY * Block::BYTES), &requests.iter().collect::<Vec<_>>())
    }

    fn shapes() -> impl Strategy<Value = Shape> {
        let bits = proptest::collection::vec(any::<bool>(), 0..60).prop_map(Shape::Bits);
        let runs = (0..220_u64, 1..40_u64, 0..50_u64, 1..6_u64).prop_map(|(start, run, stride, count)| Shape::Runs {
            start: Block(start),
            run: Block(run),
            stride: Block(stride),
            count,
        });
        prop_oneof![bits, runs]
    }

    proptest! {
        #[test]
        fn extents_are_disjoint_and_cover_what_was_asked(shapes in proptest::collection::vec(shapes(), 1..7)) {
            let requests: Vec<DiskAlloc> =
                shapes.into_iter().enumerate().map(|(number, shape)| request(&format!("m{number}"), shape)).collect();
            let asked: u64 = requests.iter().map(|request| request.shape.blocks().0).sum();
            let Ok(map) = reconciled(&requests) else {
                prop_assert!(asked > CAPACITY, "{asked} blocks are refused");
                return Ok(());
            };
            prop_assert!(asked <= CAPACITY);
            let mut taken = vec![false; CAPACITY as usize];
            for (_, extent) in map.all() {
                for block in extent.physical.0..extent.physical.0 + extent.blocks.0 {
                    prop_assert!(!std::mem::replace(&mut taken[block as usize], true), "block {block} is given twice");
                }
            }
            for request in &requests {
                let runs = request.shape.runs();
                let extents = map.extents(&request.owner);
                let lengths = |extents: &[Extent]| extents.iter().map(|extent| extent.blocks).collect::<Vec<_>>();
                prop_assert_eq!(lengths(extents), runs.iter().map(|(_, run)| *run).collect::<Vec<_>>());
                let length = request.shape.blocks().0 * Block::BYTES;
                let pieces = map.pieces(&request.owner, 0, length);
                prop_assert_eq!(pieces.iter().map(|(_, length)| length).sum::<u64>(), length);
            }
        }
    }

    #[test]
    fn a_sequential_writer_stays_sequential_beside_a_random_one() {
        let log = request("log", Shape::Runs { start: Block(0), run: Block(100), stride: Block(100), count: 1 });
        let index = request("index", Shape::Runs { start: Block(0), run: Block(1), stride: Block(2), count: 50 });
        let map = reconciled(&[index, log.clone()]).expect("it fits");
        assert_eq!(map.pieces(&log.owner, 0, 100 * Block::BYTES).len(), 1);
    }

    #[test]
    fn runs_are_where_they_are_wished_if_nobody_longer_is() {
        let head = request("head", Shape::Runs { start: Block(0), run: Block(10), stride: Block(10), count: 1 });
        let tail = request("tail", Shape::Runs { start: Block(150), run: Block(50), stride: Block(50), count: 1 });
        let map = reconciled(&[head.clone(), tail.clone()]).expect("it fits");
        assert_eq!(map.extents(&head.owner)[0].physical, Block(0));
        assert_eq!(map.extents(&tail.owner)[0].physical, Block(150));
    }

    #[test]
    fn too_much_is_refused_with_who_asked() {
        let requests = ["log-store", "index-file"].map(|owner| request(owner, Shape::piece(Bytes(150 << 20))));
        let error = reconciled(&requests).expect_err("300 of 200 MiB").to_string();
        let said =
            "disk 0 has 200 MiB, and is asked for 300 MiB: index-file 150 MiB, log-store 150 MiB; take larger disks";
        assert!(error.starts_with(said), "{error}");
        let twice = [request("log", Shape::piece(Bytes(1))), request("log", Shape::piece(Bytes(1)))];
        assert!(reconciled(&twice).is_err_and(|error| matches!(error, AllocationError::Twice { .. })));
    }
}
