//! Histories that are right, and the same with one thing broken.

use iolite_histories::Moment;

use super::*;
use crate::objects::calls::Process;

fn call(process: u32, kind: Kind, from: u64, number: Option<u64>, end: End) -> Call {
    let (invoked, completed) = (Moment(from), Moment(from + 5));
    Call { process: Process(process), invoked, completed, place: Place { kind, generation: 0 }, number, end }
}

fn append(process: u32, kind: Kind, from: u64, number: u64) -> Call {
    call(process, kind, from, Some(number), End::Appended { birth: 1 })
}

fn read(process: u32, kind: Kind, from: u64, list: &[u64]) -> Call {
    call(process, kind, from, None, End::Read { birth: 1, list: list.to_vec() })
}

fn unknown(kind: Kind, from: u64, number: u64) -> Call {
    Call {
        completed: Moment(800),
        ..call(2, kind, from, Some(number), End::Unknown { why: "its time was over".into() })
    }
}

fn refused(kind: Kind, from: u64, number: u64) -> Call {
    call(2, kind, from, Some(number), End::NotRun { why: "it cannot be reached".into() })
}

/// The judgement of these calls, and of a last read.
fn judge_of(calls: Vec<Call>, last: &[u64]) -> (Vec<Wrong>, bool, Judged) {
    let kind = calls[0].place.kind;
    let told = Told { calls, ..Told::default() };
    let judged = judged(&told, &[read(9, kind, 900, last)], Vec::new());
    let wrong = judged.findings.counts.keys().copied().collect();
    let is_clean = judged.judgement.as_ref().expect("it is well formed").is_clean();
    (wrong, is_clean, judged)
}

/// Two processes, and a number of unknown outcome that came after all.
fn right(kind: Kind) -> Vec<Call> {
    vec![
        append(0, kind, 0, 10),
        unknown(kind, 1, 20),
        refused(kind, 2, 30),
        append(1, kind, 10, 11),
        read(0, kind, 20, &[10, 11]),
        read(1, kind, 30, &[10, 11]),
    ]
}

#[test]
fn every_kind_is_clean_as_its_manager_promises() {
    for kind in Kind::ALL {
        for last in [&[10, 11][..], &[10, 11, 20]] {
            let (wrong, is_clean, judged) = judge_of(right(kind), last);
            assert!(wrong.is_empty() && is_clean, "{judged:?}");
            let there = judged.tallies[&kind];
            assert_eq!((there.appended, there.read, there.not_run, there.unknown), (2, 2, 1, 1));
            assert_eq!(there.unknown_there, u64::from(last.len() == 3));
        }
    }
}

#[test]
fn a_number_that_is_there_twice_is_found_where_nothing_repeats() {
    for kind in Kind::ALL {
        let (wrong, is_clean, judged) = judge_of(right(kind), &[10, 11, 20, 10]);
        match kind.promise() {
            Promise::Linear => assert!(!is_clean, "{kind:?}"),
            Promise::Forward => assert_eq!(wrong, [Wrong::Doubled]),
            Promise::Repeated => {
                assert!(is_clean && wrong.is_empty(), "{judged:?}");
                assert_eq!(judged.tallies[&kind].again, 1);
            }
        }
    }
}

#[test]
fn a_number_that_is_lost_refused_or_made_up_is_found() {
    for (last, found) in [
        (&[10][..], vec![Wrong::OrderChanged, Wrong::Lost]),
        (&[10, 11, 30], vec![Wrong::Refused]),
        (&[10, 11, 40], vec![Wrong::MadeUp]),
    ] {
        for kind in Kind::ALL {
            let (wrong, is_clean, _) = judge_of(right(kind), last);
            match kind.promise() {
                Promise::Linear | Promise::Repeated => assert!(!is_clean, "{kind:?} {last:?}"),
                Promise::Forward => {
                    let mut found = found.clone();
                    found.sort_unstable();
                    assert_eq!(wrong, found);
                }
            }
        }
    }
}

/// Another process reads an older list: a copy may be that old, and the object may not.
#[test]
fn a_stale_read_is_found_where_calls_have_one_order() {
    for kind in Kind::ALL {
        let mut calls = right(kind);
        calls.push(read(3, kind, 40, &[10]));
        let (wrong, is_clean, _) = judge_of(calls, &[10, 11]);
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(is_clean, kind.promise() == Promise::Forward, "{kind:?}");
    }
}

/// The same, but a lease later than the number was acknowledged.
#[test]
fn a_copy_that_is_older_than_its_lease_is_found() {
    let kind = Kind::WriteThrough;
    let lease = kind.lease().as_nanos() as u64;
    for (from, found) in [(lease + 15, vec![]), (lease + 16, vec![Wrong::Stale])] {
        let mut calls = right(kind);
        calls.push(read(3, kind, from, &[10]));
        let (wrong, ..) = judge_of(calls, &[10, 11]);
        assert_eq!(wrong, found, "{from}");
    }
}

#[test]
fn a_process_that_reads_back_or_not_its_own_number_is_found() {
    let kind = Kind::WriteThrough;
    let mut calls = right(kind);
    calls.push(read(0, kind, 40, &[10]));
    assert_eq!(judge_of(calls, &[10, 11]).0, [Wrong::WentBack]);
    let mut calls = right(kind);
    calls.insert(4, read(1, kind, 16, &[10]));
    assert_eq!(judge_of(calls, &[10, 11]).0, [Wrong::OwnMissing]);
}

#[test]
fn orders_that_change_or_run_against_time_are_found() {
    let kind = Kind::WriteThrough;
    assert_eq!(judge_of(right(kind), &[11, 10]).0, [Wrong::OrderChanged, Wrong::OrderReversed]);
    let mut calls = right(kind);
    calls.push(read(3, kind, 40, &[10, 20]));
    assert_eq!(judge_of(calls, &[10, 11, 20]).0, [Wrong::OrderChanged]);
}

/// The host of the object lives, so nothing of it may be lost.
#[test]
fn an_object_that_is_gone_or_begins_anew_is_found() {
    for kind in Kind::ALL {
        let mut calls = right(kind);
        calls.push(call(0, kind, 40, None, End::Gone));
        assert_eq!(judge_of(calls, &[10, 11]).0, [Wrong::Missing]);
        let mut calls = right(kind);
        calls.push(call(0, kind, 40, None, End::Read { birth: 2, list: Vec::new() }));
        assert!(judge_of(calls, &[10, 11]).0.contains(&Wrong::BeganAnew));
        let mut calls = right(kind);
        calls.push(call(0, kind, 40, None, End::Broke { how: "it panicked".into() }));
        assert_eq!(judge_of(calls, &[10, 11]).0, [Wrong::Broke]);
    }
}

#[test]
fn an_object_that_was_not_read_at_the_end_is_told() {
    for kind in Kind::ALL {
        let told = Told { calls: right(kind), ..Told::default() };
        let judged = judged(&told, &[], Vec::new());
        let is_whole = judged.judgement.expect("it is well formed").is_whole();
        let is_told = judged.findings.counts.contains_key(&Wrong::Unread);
        assert!(is_told || !is_whole, "{kind:?}");
    }
}
