//! Members of logs: random histories of clients that call operations, lose links and restart, with one real server.
//!
//! Held against a model: all members have the same state at the same index; what is shown as optimistic is the confirmed state with the pending operations on
//! top; each operation that a client promised takes effect once, and those of one client in the order of its calls.

mod members {
    pub mod model;
    pub mod rights;
    pub mod world;
}

use iolite_client::Broken as BrokenClient;
use iolite_gateway::Broken as BrokenGateway;
use members::world::{Rules, run};

type Seeds = std::ops::RangeInclusive<u64>;

const SEEDS: Seeds = 1..=16;
/// Few histories have an operation that is passed: 10 of the first 150.
const SEEDS_OF_PASSING: Seeds = 75..=90;

#[test]
fn members_agree_and_what_was_promised_takes_effect_once_and_in_order() {
    let mut entries = 0;
    for seed in SEEDS {
        match run(seed, Rules::default()) {
            Ok(replayed) => entries += replayed,
            Err(violation) => panic!("seed {seed}: {violation}"),
        }
    }
    assert!(entries > 400, "only {entries} entries in all: pages have to be turned");
}

#[test]
fn members_that_miss_pages_go_on_from_a_checkpoint_as_everybody_else() {
    for seed in SEEDS {
        if let Err(violation) = run(seed, Rules::with_checkpoints()) {
            panic!("seed {seed}: {violation}");
        }
    }
}

/// The first seed that shows that a rule is left out, and what it shows.
fn found(rules: Rules) -> Option<(u64, String)> {
    found_by(SEEDS, rules)
}

fn found_by(seeds: Seeds, rules: Rules) -> Option<(u64, String)> {
    let outcome = |seed| {
        let ended = std::panic::catch_unwind(|| run(seed, rules));
        match ended {
            Ok(Ok(_)) => None,
            Ok(Err(violation)) => Some((seed, violation)),
            Err(_) => Some((seed, "a machine's own check failed".to_owned())),
        }
    };
    seeds.into_iter().find_map(outcome)
}

/// A board that is closed to a member is not seen by it, and takes nothing of it.
#[test]
fn members_who_are_removed_and_let_in_again_see_and_append_what_they_may() {
    for seed in SEEDS {
        if let Err(violation) = run(seed, Rules { rights: true, ..Rules::default() }) {
            panic!("seed {seed}: {violation}");
        }
    }
}

#[test]
fn a_log_that_is_followed_after_its_user_was_removed_is_found() {
    let found = found(Rules { gateway: BrokenGateway::KeepFollowing, rights: true, ..Rules::default() });
    assert!(found.is_some(), "no seed of {SEEDS:?} finds it");
}

#[test]
fn an_append_that_is_judged_and_not_validated_is_found() {
    let found = found(Rules { gateway: BrokenGateway::JudgeWithoutReads, rights: true, ..Rules::default() });
    assert!(found.as_ref().is_some_and(|(_, what)| what.contains("by somebody who was removed")), "{found:?}");
}

#[test]
fn an_append_that_has_not_read_that_its_page_is_open_is_found() {
    let found = found(Rules { client: BrokenClient::AppendAfterClose, ..Rules::default() });
    assert!(found.is_some(), "no seed of {SEEDS:?} finds it");
}

#[test]
fn rows_that_are_stored_without_the_position_behind_them_are_found() {
    let found = found(Rules { client: BrokenClient::ForgetReplayedPosition, ..Rules::default() });
    assert!(found.is_some(), "no seed of {SEEDS:?} finds it");
}

#[test]
fn an_operation_that_passes_one_before_it_that_did_not_commit_is_found() {
    let found = found_by(SEEDS_OF_PASSING, Rules { gateway: BrokenGateway::PassHeldUp, ..Rules::default() });
    assert!(found.is_some(), "no seed of {SEEDS_OF_PASSING:?} finds it");
}

#[test]
fn pages_that_go_before_every_member_has_replayed_them_are_found() {
    let found = found(Rules { gateway: BrokenGateway::TrimBeforeDelivery, ..Rules::with_checkpoints() });
    assert!(found.is_some(), "no seed of {SEEDS:?} finds it");
}

#[test]
fn a_member_that_skips_an_entry_behind_a_checkpoint_is_found() {
    let found = found(Rules { client: BrokenClient::SkipAtRejoin, ..Rules::with_checkpoints() });
    assert!(found.is_some(), "no seed of {SEEDS:?} finds it");
}

#[test]
#[ignore = "thousands of histories: minutes"]
fn soak_members() {
    for seed in 1..=5000 {
        for rules in [Rules::default(), Rules::with_checkpoints(), Rules { rights: true, ..Rules::default() }] {
            if let Err(violation) = run(seed, rules) {
                panic!("seed {seed}: {violation}");
            }
        }
    }
}
