//! The last state: lost, doubled and phantom writes are counted.

use iolite_histories::{Class, LastState, Report};

use super::build::{Build, add, append, counter, insert, list, read, read_empty, remove, set, write};

#[track_caller]
fn counts(report: &Report, expected: LastState) {
    assert_eq!(report.last_state, Some(expected), "{report}");
}

#[test]
fn an_acknowledged_write_that_is_not_there_is_lost() {
    let appended = Build::default().committed(0, 10, [append(1, 5)]).committed(0, 10, [append(1, 6)]);
    let report = appended.last([list(1, &[6])]).judge();
    assert_eq!(report.violations.get(&Class::Lost), Some(&1), "{report}");
    counts(&report, LastState { lost: 1, acknowledged: 2, ..LastState::default() });

    let inserted = Build::default().committed(0, 10, [insert(1, 5)]).last([set(1, &[])]).judge();
    counts(&inserted, LastState { lost: 1, acknowledged: 1, ..LastState::default() });

    let written = Build::default().committed(0, 10, [write(1, 5)]).last([read_empty(1)]).judge();
    counts(&written, LastState { lost: 1, acknowledged: 1, ..LastState::default() });

    let overwritten = Build::default().committed(0, 10, [write(1, 5)]).committed(20, 30, [write(1, 6)]);
    counts(&overwritten.last([read(1, 5)]).judge(), LastState { lost: 1, acknowledged: 2, ..LastState::default() });
}

#[test]
fn of_concurrent_writes_to_a_register_any_may_be_the_last() {
    for last in [5, 6] {
        let both = Build::default().committed(0, 10, [write(1, 5)]).committed(0, 10, [write(1, 6)]);
        both.last([read(1, last)]).is_valid();
    }
}

#[test]
fn a_write_that_is_there_twice_is_doubled_also_if_its_outcome_is_unknown() {
    let known = Build::default().committed(0, 10, [append(1, 5)]).last([list(1, &[5, 5])]).judge();
    assert_eq!(known.violations.get(&Class::Doubled), Some(&1), "{known}");
    counts(&known, LastState { doubled: 1, acknowledged: 1, ..LastState::default() });
    let unknown = Build::default().unknown(0, 10, [append(1, 5)]).last([list(1, &[5, 5])]).judge();
    counts(&unknown, LastState { doubled: 1, unknown_there: 1, ..LastState::default() });
}

#[test]
fn what_nobody_wrote_what_aborted_and_what_was_removed_is_a_phantom() {
    let nobody = Build::default().last([list(1, &[5])]).judge();
    assert_eq!(nobody.violations.get(&Class::Phantom), Some(&1), "{nobody}");
    counts(&nobody, LastState { phantom: 1, ..LastState::default() });
    let aborted = Build::default().aborted(0, 10, [append(1, 5)]).last([list(1, &[5])]).judge();
    counts(&aborted, LastState { phantom: 1, ..LastState::default() });
    let removed = Build::default().committed(0, 10, [insert(1, 5)]).committed(20, 30, [remove(1, 5)]);
    counts(&removed.last([set(1, &[5])]).judge(), LastState { phantom: 1, acknowledged: 1, ..LastState::default() });
}

#[test]
fn unknown_writes_may_be_there_once_or_not_at_all() {
    let there = Build::default().unknown(0, 10, [append(1, 5)]).last([list(1, &[5])]).is_valid();
    counts(&there, LastState { unknown_there: 1, ..LastState::default() });
    let missing = Build::default().unknown(0, 10, [append(1, 5)]).last([list(1, &[])]).is_valid();
    counts(&missing, LastState { unknown_missing: 1, ..LastState::default() });
    let removed = Build::default().committed(0, 10, [insert(1, 5)]).unknown(20, 30, [remove(1, 5)]);
    removed.last([set(1, &[])]).is_valid();
    let kept = Build::default().committed(0, 10, [insert(1, 5)]).unknown(20, 30, [remove(1, 5)]);
    kept.last([set(1, &[5])]).is_valid();
}

#[test]
fn a_last_total_lacks_no_acknowledged_addition() {
    let adds = || Build::default().committed(0, 10, [add(1, 5)]).unknown(0, 10, [add(1, 3)]);
    adds().last([counter(1, 5)]).is_valid();
    adds().last([counter(1, 8)]).is_valid();
    adds().last([counter(1, 3)]).finds(&[Class::ImpossibleTotal]);
    adds().last([counter(1, 11)]).finds(&[Class::ImpossibleTotal]);
}

#[test]
fn objects_that_nobody_read_at_the_end_are_counted() {
    let report =
        Build::default().committed(0, 10, [append(1, 5), add(1, 1), write(1, 5)]).last([list(1, &[5])]).judge();
    counts(&report, LastState { acknowledged: 1, unread_objects: 2, ..LastState::default() });
    assert!(report.is_clean() && !report.is_whole(), "{report}");
}
