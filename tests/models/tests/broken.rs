//! The published rules: the same search finds what each of them leads to.

use std::time::Duration;

use iolite_models::configurations::{
    a_reader_after_a_writer, asking, both_ask, broken, closing_apart, five_replicas, one_after_the_other,
    one_transaction_and_both_paths, one_transaction_twice, pages, reader_and_writer, two_shards_in_order,
};
use iolite_models::{Plan, Verdict, World, explore, walk, walk_to};
use iolite_replication::Broken;

const LONG: Duration = Duration::from_secs(600);

fn assert_found(plan: Plan, expected: &str) {
    assert_found_from(1, plan, expected);
}

/// Walks from a seed, for a world in which walks from seed 1 take long to get there.
fn assert_found_from(seed: u64, plan: Plan, expected: &str) {
    let walked = walk(&plan, seed, 20_000, LONG);
    println!("{:?}: {walked}", plan.broken);
    let (found, _) = walked.violation.expect("it is found");
    assert_eq!(found, expected);
}

#[test]
fn an_append_that_has_not_read_that_its_page_is_open_stands_behind_the_last_entry() {
    assert_found(pages(1, [30, 10, 20], false), "a log's pages are in the order of timestamps");
}

#[test]
fn flaw_2_a_write_below_an_acknowledged_one_is_not_strict() {
    assert_found(broken(Broken::AcceptBelowWrites, one_after_the_other()), "what committed is strictly serializable");
}

#[test]
fn flaw_2_a_stale_read_below_an_acknowledged_write_is_not_strict() {
    let plan = broken(Broken::ValidateAsFigure9, a_reader_after_a_writer());
    assert_found(plan, "what committed is strictly serializable");
}

/// The third transaction, which reads what the first writes and writes what the second does, is there before anything was reported: its own reads are
/// fresh. The second comes after the first was reported, and stands below the third, which stands below the first.
#[test]
fn flaw_2_timestamps_are_inverted_across_shards() {
    let plan = broken(Broken::ValidateAsFigure9, two_shards_in_order([30, 10, 20]));
    let is_inverted = |world: &World| world.reported_before[2] == 0 && world.reported_before[1] == 0b001;
    let walked = walk_to(&plan, 1, 200_000, LONG, is_inverted);
    println!("{:?}: {walked}", plan.broken);
    let (found, _) = walked.violation.expect("it is found");
    assert_eq!(found, "what committed is strictly serializable");
}

#[test]
fn flaw_3_a_merge_that_validates_by_timestamps_loses_what_committed() {
    assert_found(broken(Broken::AcceptAboveReaders, reader_and_writer()), "what committed is OK in every later view");
}

#[test]
fn flaw_4_the_threshold_of_figure_5_loses_what_committed() {
    let report = explore(broken(Broken::MergeAsFigure5, five_replicas()), LONG, usize::MAX);
    println!("{report}");
    assert_eq!(report.verdict, Verdict::Violated("what committed is OK in every later view"));
}

#[test]
fn flaw_5_an_answer_for_the_transaction_lets_it_commit_twice() {
    assert_found(
        broken(Broken::AnswerForTransaction, one_transaction_twice()),
        "a transaction commits at one timestamp",
    );
}

#[test]
fn flaw_6_a_late_finalise_overwrites_what_a_view_began_with() {
    let plan = broken(Broken::FinaliseWithoutView, one_transaction_and_both_paths());
    assert_found(plan, "what committed is OK in every later view");
}

#[test]
fn rows_that_come_in_unseen_are_not_strict() {
    for plan in [asking(1, [30, 10, 20]), both_ask()] {
        assert_found(broken(Broken::LetRowsIn, plan), "what committed is strictly serializable");
    }
}

#[test]
fn without_the_barrier_something_commits_below_what_the_feed_has_passed() {
    // Walks from seed 5 are there after 66, walks from seed 1 after some 3,000.
    assert_found_from(
        5,
        broken(Broken::PublishPastResolved, closing_apart()),
        "nothing commits at or below a resolved timestamp outside of the feed",
    );
}
