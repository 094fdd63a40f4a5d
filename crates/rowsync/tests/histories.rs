//! Drawn histories of one device and a store with other writers.
//!
//! After every step: a write is kept, in the confirmed row, or overruled or refused; nothing is committed over a row that was not read; a conflict is shown
//! exactly while a kept base is not the confirmed row; each call ends once; a restart changes nothing. Four broken crates are found by that.

mod world;

use iolite_rowsync::{Broken, Scheme};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use world::{Step, World};

fn step() -> impl Strategy<Value = Step> {
    let call = (0u8..4, 0u8..4, any::<bool>(), 0u8..2, 0u8..6);
    prop_oneof![
        4 => call.prop_map(|(row, other, both, column, deletes)| Step::Call {
            row, other: if both { other } else { row }, column, deletes: deletes == 0,
        }),
        2 => (0u8..4, 0u8..4).prop_map(|(row, deletes)| Step::Other { row, deletes: deletes == 0 }),
        3 => Just(Step::Save),
        3 => Just(Step::Hear),
        3 => Just(Step::Send),
        3 => Just(Step::Arrive),
        3 => Just(Step::Answer),
        2 => Just(Step::Close),
        1 => (0u8..3).prop_map(|keep| Step::Resolve { keep }),
        1 => Just(Step::Restart),
    ]
}

fn run(steps: &[Step], scheme: Scheme, broken: Broken) -> Result<(), String> {
    let mut world = World::new(scheme, broken);
    for (at, next) in steps.iter().enumerate() {
        world.step(*next).map_err(|problem| format!("step {at}, {next:?}: {problem}"))?;
    }
    world.rest()
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn causal_writes_are_never_lost_and_never_cover_what_was_not_read(steps in prop::collection::vec(step(), 1..120)) {
        prop_assert_eq!(run(&steps, Scheme::Causal, Broken::Nothing), Ok(()));
    }

    #[test]
    fn eventual_writes_end_once_and_leave_nothing(steps in prop::collection::vec(step(), 1..120)) {
        prop_assert_eq!(run(&steps, Scheme::Eventual, Broken::Nothing), Ok(()));
    }
}

/// The histories of a fixed seed find it, by what they say.
fn is_found(broken: Broken, by: &str) {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let steps = prop::collection::vec(step(), 1..120);
    let found = (0..200).find_map(|_| {
        let drawn = steps.new_tree(&mut runner).expect("steps").current();
        run(&drawn, Scheme::Causal, broken).err().filter(|problem| problem.contains(by))
    });
    assert!(found.is_some(), "{broken:?} was not found in 200 histories");
}

/// The base of a kept effect follows the confirmed row.
#[test]
fn base_moves_on_is_found() {
    is_found(Broken::BaseMovesOn, "which nobody here had read");
}

/// A chain is judged while a set carries it.
#[test]
fn judge_before_outcome_is_found() {
    is_found(Broken::JudgeBeforeOutcome, "before the set has an outcome");
}

/// New effects join the chain that was sent.
#[test]
fn fold_what_was_sent_is_found() {
    is_found(Broken::FoldWhatWasSent, "never was in the store");
}

/// One refused row ends all calls of its set.
#[test]
fn one_refused_all_is_found() {
    is_found(Broken::OneRefusedAll, "shares no row with what is refused");
}
