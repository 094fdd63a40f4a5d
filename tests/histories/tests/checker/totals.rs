//! Counters and banks: what a total allows, and what it tells of other objects.

use iolite_histories::Class;

use super::build::{Build, account, add, append, bank, counter, list, transfer};

#[test]
fn a_total_holds_what_ended_before_and_not_what_began_after() {
    let adds = || Build::default().committed(0, 10, [add(1, 5)]).committed(40, 50, [add(1, 7)]);
    adds().committed(20, 30, [counter(1, 5)]).is_valid();
    for wrong in [0, 7, 12, 4] {
        adds().committed(20, 30, [counter(1, wrong)]).finds(&[Class::ImpossibleTotal]);
    }
}

#[test]
fn of_concurrent_additions_some_choice_has_to_come_to_the_total() {
    let adds = || Build::default().committed(0, 50, [add(1, 3)]).committed(0, 50, [add(1, 5)]);
    for right in [0, 3, 5, 8] {
        adds().committed(20, 30, [counter(1, right)]).is_valid();
    }
    for wrong in [1, 2, 4, 6, 7, 9, -3] {
        adds().committed(20, 30, [counter(1, wrong)]).finds(&[Class::ImpossibleTotal]);
    }
}

#[test]
fn what_one_read_holds_a_later_one_holds_too() {
    let adds = || Build::default().unknown(0, 10, [add(1, 5)]).unknown(0, 10, [add(1, 5)]);
    // Which of both it is nobody knows, but one it is.
    let seen = adds().committed(20, 30, [counter(1, 5)]);
    seen.committed(40, 50, [counter(1, 0)]).finds(&[Class::ImpossibleTotal]);
    adds().committed(20, 30, [counter(1, 5)]).committed(40, 50, [counter(1, 10)]).is_valid();
}

#[test]
fn two_totals_cannot_hold_two_additions_in_opposite_orders() {
    let adds = Build::default().committed(0, 100, [add(1, 3)]).committed(0, 100, [add(1, 5)]);
    adds.committed(20, 30, [counter(1, 3)]).committed(20, 30, [counter(1, 5)]).finds(&[Class::G2]);
}

#[test]
fn a_transaction_is_in_a_total_if_it_is_in_a_list() {
    let both = || Build::default().committed(0, 50, [add(1, 5), append(1, 7)]);
    both().committed(20, 30, [counter(1, 5), list(1, &[7])]).is_valid();
    both().committed(20, 30, [counter(1, 0), list(1, &[])]).is_valid();
    both().committed(20, 30, [counter(1, 5), list(1, &[])]).finds(&[Class::ImpossibleTotal]);
    let torn = both().committed(20, 30, [counter(1, 0), list(1, &[7])]).finds(&[Class::ImpossibleTotal]);
    assert!(torn.explained[0].explanation.contains("other objects say that T0 comes before it"), "{torn}");
}

#[test]
fn own_additions_count_for_a_transactions_own_reads() {
    Build::default().committed(0, 10, [add(1, 5), counter(1, 5), add(1, 1), counter(1, 6)]).is_valid();
    let lost = Build::default().committed(0, 10, [add(1, 5), counter(1, 0)]);
    lost.finds(&[Class::ImpossibleTotal]);
    let second = Build::default().committed(0, 10, [counter(1, 0), add(1, 5), counter(1, 0)]);
    second.finds(&[Class::NonRepeatableRead, Class::ImpossibleTotal]);
}

#[test]
fn a_bank_keeps_its_sum_and_its_limit() {
    let made = Build::bank(&[100, 100], 0).committed(0, 10, [bank(&[100, 90])]);
    made.finds(&[Class::ImpossibleTotal, Class::BankSum]);
    let overdrawn =
        Build::bank(&[100, 100], 0).committed(0, 10, [transfer(0, 1, 150)]).committed(20, 30, [bank(&[-50, 250])]);
    overdrawn.finds(&[Class::BankLimit]);
    let alone =
        Build::bank(&[100, 100], 0).committed(0, 10, [transfer(0, 1, 150)]).committed(20, 30, [account(0, -50)]);
    alone.finds(&[Class::BankLimit]);
}

#[test]
fn a_transfer_is_seen_whole_or_not_at_all() {
    let moved = || Build::bank(&[100, 100, 100], 0).committed(0, 50, [transfer(0, 1, 30)]);
    moved().committed(20, 30, [bank(&[100, 100, 100])]).is_valid();
    moved().committed(20, 30, [bank(&[70, 130, 100])]).is_valid();
    moved().committed(20, 30, [account(0, 70), account(1, 130)]).is_valid();
    let torn = moved().committed(20, 30, [account(0, 70), account(1, 100)]);
    assert!(!torn.judge().violations.is_empty());
}

#[test]
fn a_bank_that_goes_back_is_stale() {
    let moved = Build::bank(&[100, 100], 0).committed(0, 10, [transfer(0, 1, 30)]);
    moved.committed(20, 30, [bank(&[100, 100])]).finds(&[Class::ImpossibleTotal]);
}

#[test]
fn with_very_many_unknown_additions_their_sums_still_bound_a_total() {
    let mut build = Build::default();
    for place in 0..200 {
        build = build.unknown(place, place + 1, [add(1, 2)]);
    }
    build = build.committed(1000, 1001, [counter(1, 400)]);
    build.is_valid();
    build.committed(2000, 2001, [counter(1, 401)]).finds(&[Class::ImpossibleTotal]);
}
