//! The rules as they are: nothing is found, in any state that is looked at, and the states that matter are among them.

use std::time::Duration;

use iolite_models::configurations::{
    ORDERS, a_reader_after_a_writer, asking, both_ask, closing, closing_apart, closing_quietly, five_replicas,
    one_after_the_other, one_transaction, one_transaction_and_a_view_change, one_transaction_and_both_paths,
    one_transaction_twice, pages, reader_and_writer, two_shards_in_order, two_take_over, two_that_conflict,
};
use iolite_models::{Plan, Verdict, explore, walk};

/// Far more than any of these takes; a machine that is busy must not change what is tested.
const LONG: Duration = Duration::from_secs(600);

const FAST: &str = "a commit by the fast path";
const SLOW: &str = "a commit by the slow path";
const ABORT: &str = "an abort";
const TAKEN_OVER: &str = "an outcome by another coordinator than the proposer";
const MERGED: &str = "a view that begins with an OK without outcome";
const LATER_VIEW: &str = "a commit in a later view than the first";
const RESOLVED: &str = "a resolved timestamp with a commit";
const READ: &str = "a commit of what has read something";

/// Every state within the bounds.
fn exhaust(name: &str, plan: Plan, sights: &[&str]) {
    let report = explore(plan, LONG, usize::MAX);
    println!("{name}: {report}");
    assert_eq!(report.verdict, Verdict::Exhausted, "{report}");
    for sight in sights {
        assert!(report.sights.contains(sight), "{name} never met {sight}");
    }
}

/// So many transitions, those of the nearest states first.
fn search(name: &str, plan: Plan, transitions: usize) {
    let report = explore(plan, LONG, transitions);
    println!("{name}: {report}");
    assert!(!matches!(report.verdict, Verdict::Violated(_)), "{report}");
}

fn wander(name: &str, plan: &Plan, walks: u64, sights: &[&str]) {
    let walked = walk(plan, 1, walks, LONG);
    println!("{name}: {walked}");
    assert!(walked.violation.is_none(), "{name}: {walked}");
    assert_eq!(walked.left, 0, "{name} goes round in circles");
    for sight in sights {
        assert!(walked.sights.contains(sight), "{name} never met {sight}");
    }
}

#[test]
fn one_transaction_is_right_in_every_state() {
    exhaust("one transaction", one_transaction(), &[FAST, SLOW]);
}

#[test]
fn one_transaction_and_a_view_change_are_right_in_every_state() {
    exhaust("a view change", one_transaction_and_a_view_change(), &[FAST, ABORT, MERGED, LATER_VIEW]);
}

#[test]
fn two_that_conflict_are_right() {
    search("(a)", two_that_conflict(), 250_000);
    wander("(a)", &two_that_conflict(), 500, &[FAST, SLOW, ABORT, MERGED, LATER_VIEW]);
    wander("reader and writer", &reader_and_writer(), 500, &[FAST, SLOW, ABORT, READ]);
    wander("one transaction twice", &one_transaction_twice(), 500, &[FAST, ABORT]);
}

#[test]
fn two_shards_are_strict_in_every_order_of_timestamps() {
    for clocks in ORDERS {
        let plan = two_shards_in_order(clocks);
        exhaust("(b)", plan, &[FAST, ABORT, READ]);
    }
    wander("one after the other", &one_after_the_other(), 500, &[FAST, SLOW, ABORT]);
    wander("a reader after a writer", &a_reader_after_a_writer(), 500, &[FAST, ABORT, READ]);
}

#[test]
fn what_a_query_answered_holds_whatever_rows_come_and_go() {
    for clocks in ORDERS {
        exhaust("(f)", asking(1, clocks), &[FAST, ABORT, READ]);
    }
    wander("(f) with f = 1", &asking(3, ORDERS[4]), 200, &[FAST, SLOW, ABORT, READ]);
    wander("both ask", &both_ask(), 250, &[FAST, SLOW, ABORT, READ, MERGED, LATER_VIEW]);
}

#[test]
fn pages_of_a_log_are_in_the_order_of_timestamps() {
    for clocks in ORDERS {
        exhaust("(g)", pages(1, clocks, true), &[FAST, READ]);
    }
    wander("(g) with f = 1", &pages(3, ORDERS[4], true), 200, &[FAST, SLOW, ABORT, READ]);
}

#[test]
fn who_takes_a_transaction_over_decides_as_everybody_does() {
    wander("(c)", &two_take_over(), 200, &[FAST, ABORT, TAKEN_OVER, RESOLVED]);
}

#[test]
fn five_replicas_keep_what_committed() {
    search("(d)", five_replicas(), 500_000);
    wander("(d)", &five_replicas(), 500, &[FAST, ABORT, MERGED, LATER_VIEW]);
}

#[test]
fn nothing_commits_below_what_is_resolved() {
    search("(e) quietly", closing_quietly(), 250_000);
    wander("(e)", &closing(), 250, &[FAST, SLOW, ABORT, MERGED, LATER_VIEW, RESOLVED]);
    wander("(e) apart", &closing_apart(), 1_000, &[FAST, SLOW, ABORT, MERGED, LATER_VIEW, RESOLVED]);
}

/// Some minutes: the searches go on to many more states, and walks with other seeds.
#[test]
#[ignore = "soak"]
fn soak_worlds() {
    let plans = [two_that_conflict(), one_transaction_and_both_paths(), five_replicas(), closing_quietly(), closing()];
    for plan in plans {
        search("soak", plan, 20_000_000);
    }
    let walked = [
        two_that_conflict(),
        reader_and_writer(),
        one_transaction_twice(),
        one_after_the_other(),
        a_reader_after_a_writer(),
        five_replicas(),
        closing(),
        closing_apart(),
        two_take_over(),
    ];
    for plan in walked.into_iter().chain([asking(3, ORDERS[4]), both_ask()]) {
        let walked = walk(&plan, 2, u64::MAX, Duration::from_secs(60));
        println!("soak: {walked}");
        assert!(walked.violation.is_none(), "{walked}");
    }
}
