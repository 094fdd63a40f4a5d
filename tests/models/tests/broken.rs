//! The published rules: the same search finds what each of them leads to.

use std::time::Duration;

use iolite_models::configurations::{
    broken, closing_apart, five_replicas, one_after_the_other, one_transaction_and_both_paths, one_transaction_twice,
    reader_and_writer,
};
use iolite_models::{Plan, Verdict, explore, walk};
use iolite_replication::Broken;

const LONG: Duration = Duration::from_secs(600);

fn assert_found(plan: Plan, expected: &str) {
    let walked = walk(&plan, 1, 20_000, LONG);
    println!("{:?}: {walked}", plan.broken);
    let (found, _) = walked.violation.expect("it is found");
    assert_eq!(found, expected);
}

#[test]
fn flaw_2_a_write_below_an_acknowledged_one_is_not_strict() {
    assert_found(broken(Broken::AcceptBelowWrites, one_after_the_other()), "what committed is strictly serializable");
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
fn without_the_barrier_something_commits_below_what_the_feed_has_passed() {
    assert_found(
        broken(Broken::PublishPastResolved, closing_apart()),
        "nothing commits at or below a resolved timestamp outside of the feed",
    );
}
