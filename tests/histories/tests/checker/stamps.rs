//! Commit timestamps: replayed, unique, and in the order of real time.

use iolite_histories::{Class, Report};

use super::build::{Build, add, append, contains, counter, insert, list, read, read_empty, remove, set, write};

#[track_caller]
fn replay_says(report: &Report, part: &str) {
    assert!(
        report.explained.iter().any(|one| one.class == Class::Replay && one.explanation.contains(part)),
        "{report}"
    );
}

#[test]
fn a_read_is_what_the_replay_gives() {
    let wrong = Build::default().at(0, 50, 10, [write(1, 5)]).at(0, 50, 20, [read_empty(1)]);
    replay_says(
        &wrong.finds(&[Class::Replay]),
        "T1 read nothing from register 1, but in the order of timestamps it is 5 (5 is of T0)",
    );
    let wrong = Build::default().at(0, 50, 10, [append(1, 5)]).at(0, 50, 20, [list(1, &[])]);
    replay_says(&wrong.finds(&[Class::Replay]), "it is 5 after 0 equal elements (5 is of T0)");
    let wrong = Build::default().at(0, 50, 10, [insert(1, 5)]).at(0, 50, 20, [set(1, &[])]);
    replay_says(&wrong.finds(&[Class::Replay]), "it is with 5 (5 is of T0)");
    let wrong = Build::default().at(0, 50, 10, [add(1, 5)]).at(0, 50, 20, [counter(1, 0)]);
    replay_says(&wrong.finds(&[Class::Replay]), "it is 5");
}

#[test]
fn a_read_holds_what_is_at_its_own_timestamp() {
    Build::default().at(0, 50, 10, [write(1, 5)]).at(0, 50, 10, [read(1, 5)]).is_valid();
}

#[test]
fn two_writers_never_share_a_timestamp() {
    let twice = Build::default().at(0, 50, 10, [write(1, 5)]).at(0, 50, 10, [write(2, 6)]);
    twice.finds(&[Class::TimestampTwice]);
}

#[test]
fn conflicting_transactions_have_timestamps_in_the_order_of_real_time() {
    let blind = Build::default().at(0, 10, 20, [write(1, 5)]).at(20, 30, 10, [write(1, 6)]);
    blind.finds(&[Class::TimestampOrder]);
    let appends = Build::default().at(0, 10, 20, [append(1, 5)]).at(20, 30, 10, [append(1, 6)]);
    appends.finds(&[Class::TimestampOrder]);
    let read_first = Build::default().at(0, 10, 20, [counter(1, 0)]).at(20, 30, 10, [add(1, 6)]);
    assert!(read_first.judge().violations.contains_key(&Class::TimestampOrder));
    let member = Build::default().at(0, 10, 20, [insert(1, 5)]).at(20, 30, 10, [remove(1, 5)]);
    member.finds(&[Class::TimestampOrder]);
}

#[test]
fn transactions_that_commute_may_have_any_order_of_timestamps() {
    Build::default().at(0, 10, 20, [add(1, 5)]).at(20, 30, 10, [add(1, 6)]).is_valid();
    Build::default().at(0, 10, 20, [insert(1, 5)]).at(20, 30, 10, [insert(1, 6)]).is_valid();
    Build::default().at(0, 10, 20, [write(1, 5)]).at(20, 30, 10, [write(2, 6)]).is_valid();
    Build::default().at(0, 10, 20, [contains(1, 5, false)]).at(20, 30, 10, [insert(1, 6)]).is_valid();
}

#[test]
fn an_unknown_transaction_takes_the_place_that_reads_leave_it() {
    // Its write to the register was overwritten before anybody saw its append.
    let placed = Build::default()
        .unknown(0, 5, [write(1, 5), append(1, 7)])
        .at(0, 50, 10, [write(1, 6)])
        .at(0, 50, 20, [read(1, 6)])
        .at(0, 50, 30, [list(1, &[7])])
        .at(0, 50, 40, [read(1, 6)]);
    placed.is_valid();
    let nowhere = Build::default()
        .unknown(0, 5, [write(1, 5), append(1, 7)])
        .at(0, 50, 10, [write(1, 6), list(1, &[])])
        .at(0, 50, 30, [list(1, &[7])])
        .at(0, 50, 40, [read(1, 6)]);
    assert!(!nowhere.judge().violations.is_empty());
}

#[test]
fn an_unknown_removal_explains_what_a_later_timestamp_misses() {
    let removed =
        Build::default().at(0, 50, 10, [insert(1, 5)]).unknown(0, 20, [remove(1, 5)]).at(0, 50, 30, [set(1, &[])]);
    removed.is_valid();
    let back = Build::default()
        .at(0, 50, 10, [insert(1, 5)])
        .unknown(0, 20, [remove(1, 5)])
        .at(0, 50, 30, [set(1, &[])])
        .at(0, 50, 40, [set(1, &[5])]);
    assert!(!back.judge().violations.is_empty());
}

#[test]
fn what_one_total_holds_the_next_by_timestamp_holds_too() {
    let adds = || Build::default().unknown(0, 5, [add(1, 5)]).unknown(0, 5, [add(1, 5)]);
    adds().at(0, 50, 20, [counter(1, 5)]).at(0, 50, 30, [counter(1, 10)]).is_valid();
    adds().at(0, 50, 20, [counter(1, 5)]).at(0, 50, 30, [counter(1, 0)]).finds(&[Class::Replay]);
}

#[test]
fn without_all_timestamps_nothing_is_replayed_and_the_report_says_so() {
    let partly = Build::default().at(0, 10, 10, [write(1, 5)]).committed(20, 30, [write(2, 6)]);
    let report = partly.is_valid();
    assert!(report.to_string().contains("1 without timestamps, not replayed"), "{report}");
}
