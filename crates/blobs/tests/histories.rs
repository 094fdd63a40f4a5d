//! Drawn histories of one upload and one download: cuts, losses, repeats, sweeps, a cell that others change, leases that end.
//!
//! After every step, a tree that is sealed or that the cell has has all of its chunks. Two broken hosts are found by that.

mod world;

use world::{Broken, World};

const SEEDS: u64 = 120;

#[test]
fn a_tree_that_is_sealed_has_all_of_its_chunks() {
    let mut ended = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(seed, Broken::No);
        if let Err(problem) = world.run() {
            panic!("seed {seed}: {problem}");
        }
        ended += usize::from(world.is_done());
    }
    assert!(ended > SEEDS as usize * 9 / 10, "{ended} of {SEEDS} histories came to their end");
}

fn is_found(broken: Broken) {
    let found = (0..SEEDS).find(|seed| World::new(*seed, broken).run().is_err());
    assert!(found.is_some(), "{broken:?} was not found in {SEEDS} histories");
}

/// A seal is committed before all chunks of the tree are stored.
#[test]
fn publish_before_chunks_is_found() {
    is_found(Broken::PublishBeforeChunks);
}

/// A seal neither rests on the cell whose chunks the tree shares, nor holds its blob.
#[test]
fn reuse_unheld_is_found() {
    is_found(Broken::ReuseUnheld);
}
