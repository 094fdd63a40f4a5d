//! Each anomaly by its name: what our own checker calls it, and whether adya finds it too.

use iolite_histories::{Class, Pattern, Report};

use super::build::{Build, append, contains, insert, list, read, read_empty, remove, set, write};

#[track_caller]
fn adya_finds(report: &Report, name: &str) {
    let said = format!("{} {}", report.adya.lists_and_sets, report.adya.registers);
    assert!(report.adya.found_violation() && said.contains(name), "{report}");
}

#[track_caller]
fn adya_finds_nothing(report: &Report) {
    assert!(!report.adya.found_violation(), "{report}");
}

#[track_caller]
fn is_called(report: &Report, pattern: Pattern) {
    assert!(report.explained.iter().any(|violation| violation.pattern == Some(pattern)), "{report}");
}

#[test]
fn a_dirty_read_is_of_what_aborted() {
    let lists = Build::default().aborted(0, 10, [append(1, 5)]).committed(20, 30, [list(1, &[5])]);
    adya_finds(&lists.finds(&[Class::G1a]), "G1a");
    let registers = Build::default().aborted(0, 10, [write(1, 5)]).committed(20, 30, [read(1, 5)]);
    adya_finds(&registers.finds(&[Class::G1a]), "G1a");
    let sets = Build::default().aborted(0, 10, [insert(1, 5)]).committed(20, 30, [contains(1, 5, true)]);
    adya_finds(&sets.finds(&[Class::G1a]), "G1a");
}

#[test]
fn an_intermediate_read_is_of_what_its_own_transaction_changed_again() {
    let lists = Build::default().committed(0, 10, [append(1, 5), append(1, 6)]).committed(0, 10, [list(1, &[5])]);
    adya_finds(&lists.finds(&[Class::G1b, Class::GSingle]), "G1b");
    let registers = Build::default().committed(0, 10, [write(1, 5), write(1, 6)]).committed(0, 10, [read(1, 5)]);
    adya_finds(&registers.finds(&[Class::G1b]), "G1b");
    let sets = Build::default().committed(0, 10, [insert(1, 5), remove(1, 5)]).committed(0, 10, [set(1, &[5])]);
    adya_finds_nothing(&sets.finds(&[Class::G1b, Class::GSingle]));
}

#[test]
fn a_phantom_read_is_of_what_nobody_wrote_and_adya_has_no_name_for_it() {
    for read in [list(1, &[9]), read(1, 9), set(1, &[9])] {
        adya_finds_nothing(&Build::default().committed(0, 10, [read]).finds(&[Class::PhantomRead]));
    }
}

#[test]
fn a_future_read_is_of_what_the_transaction_itself_wrote_later() {
    let lists = Build::default().committed(0, 10, [list(1, &[5]), append(1, 5)]);
    adya_finds(&lists.finds(&[Class::FutureRead]), "future-read");
    let registers = Build::default().committed(0, 10, [read(1, 5), write(1, 5)]);
    adya_finds_nothing(&registers.finds(&[Class::FutureRead]));
}

#[test]
fn a_non_repeatable_read_gives_something_else_than_the_first_one() {
    let writers = Build::default().committed(0, 10, [append(1, 5), write(1, 5)]);
    let lists = writers.committed(0, 20, [list(1, &[]), list(1, &[5])]);
    let report = lists.judge();
    assert!(report.violations.contains_key(&Class::NonRepeatableRead), "{report}");
    adya_finds(&report, "internal");
    let own = Build::default().committed(0, 10, [write(1, 5), read_empty(1)]);
    adya_finds(&own.finds(&[Class::NonRepeatableRead]), "internal");
    let sets = Build::default().committed(0, 10, [insert(1, 5), contains(1, 5, false)]);
    adya_finds(&sets.finds(&[Class::NonRepeatableRead]), "internal");
}

#[test]
fn an_element_is_doubled_if_a_read_holds_it_twice() {
    let lists = Build::default().committed(0, 10, [append(1, 5)]).committed(20, 30, [list(1, &[5, 5])]);
    adya_finds(&lists.finds(&[Class::DoubledElement]), "duplicate-elements");
    let sets = Build::default().committed(0, 10, [insert(1, 5)]).committed(20, 30, [set(1, &[5, 5])]);
    adya_finds_nothing(&sets.finds(&[Class::DoubledElement]));
}

#[test]
fn orders_are_incompatible_if_neither_read_is_the_beginning_of_the_other() {
    let appends = || Build::default().committed(0, 10, [append(1, 5)]).committed(0, 10, [append(1, 6)]);
    let forked = appends().committed(20, 30, [list(1, &[5, 6])]).committed(20, 30, [list(1, &[6])]);
    adya_finds(&forked.finds(&[Class::IncompatibleOrder]), "incompatible-order");
}

#[test]
fn appends_of_one_transaction_stay_in_their_order() {
    let turned = Build::default().committed(0, 10, [append(1, 5), append(1, 6)]).committed(20, 30, [list(1, &[6, 5])]);
    // To adya it looks like a read of an intermediate state.
    adya_finds(&turned.finds(&[Class::G1b, Class::IncompatibleOrder]), "G1b");
    let more = Build::default().committed(0, 10, [append(1, 5), append(1, 6), append(1, 7)]);
    let turned = more.committed(20, 30, [list(1, &[6, 5, 7])]);
    adya_finds_nothing(&turned.finds(&[Class::IncompatibleOrder]));
    let first_lost = Build::default().committed(0, 10, [append(1, 5), append(1, 6)]).committed(0, 30, [list(1, &[6])]);
    adya_finds(&first_lost.finds(&[Class::IncompatibleOrder, Class::GSingle]), "G-single-item");
}

#[test]
fn g0_is_a_cycle_of_writes() {
    let crossed = Build::default()
        .committed(0, 10, [append(1, 5), append(2, 5)])
        .committed(0, 10, [append(1, 6), append(2, 6)])
        .committed(0, 30, [list(1, &[5, 6])])
        .committed(0, 30, [list(2, &[6, 5])]);
    adya_finds(&crossed.finds(&[Class::G0]), "G0");
}

#[test]
fn g1c_is_a_cycle_of_information() {
    let circular = Build::default().committed(0, 10, [append(1, 5), list(2, &[6])]).committed(
        0,
        10,
        [append(2, 6), list(1, &[5])],
    );
    adya_finds(&circular.finds(&[Class::G1c]), "G1c");
    let registers =
        Build::default().committed(0, 10, [write(1, 5), read(2, 6)]).committed(0, 10, [write(2, 6), read(1, 5)]);
    adya_finds(&registers.finds(&[Class::G1c]), "G1c");
}

#[test]
fn g_single_is_a_torn_read() {
    let lists =
        Build::default().committed(0, 10, [append(1, 5), append(2, 5)]).committed(0, 10, [list(1, &[5]), list(2, &[])]);
    let report = lists.finds(&[Class::GSingle]);
    is_called(&report, Pattern::TornRead);
    adya_finds(&report, "G-single");
    let sets =
        Build::default().committed(0, 10, [insert(1, 5), insert(2, 6)]).committed(0, 10, [set(1, &[5]), set(2, &[])]);
    let report = sets.finds(&[Class::GSingle]);
    is_called(&report, Pattern::TornRead);
    adya_finds(&report, "G-single");
}

#[test]
fn an_update_is_lost_if_two_read_the_same_and_both_overwrite_it() {
    let lists = Build::default()
        .committed(0, 10, [list(1, &[]), append(1, 5)])
        .committed(0, 10, [list(1, &[]), append(1, 6)])
        .committed(20, 30, [list(1, &[5, 6])]);
    let report = lists.finds(&[Class::GSingle]);
    is_called(&report, Pattern::LostUpdate);
    adya_finds(&report, "lost-update");
    let registers =
        Build::default().committed(0, 10, [read_empty(1), write(1, 5)]).committed(0, 10, [read_empty(1), write(1, 6)]);
    let report = registers.finds(&[Class::G2]);
    is_called(&report, Pattern::LostUpdate);
    adya_finds(&report, "lost-update");
}

#[test]
fn g2_is_a_write_skew() {
    let skewed = Build::default()
        .committed(0, 10, [list(1, &[]), list(2, &[]), append(1, 5)])
        .committed(0, 10, [list(1, &[]), list(2, &[]), append(2, 6)])
        .committed(20, 30, [list(1, &[5]), list(2, &[6])]);
    let report = skewed.finds(&[Class::G2]);
    is_called(&report, Pattern::WriteSkew);
    adya_finds(&report, "G2-item");
}

#[test]
fn writes_in_another_order_than_they_happened_are_g0_in_real_time() {
    let inverted = Build::default().committed(0, 10, [append(1, 5)]).committed(20, 30, [append(1, 6)]).committed(
        40,
        50,
        [list(1, &[6, 5])],
    );
    let report = inverted.finds(&[Class::G0RealTime]);
    is_called(&report, Pattern::RealTimeInversion);
    adya_finds(&report, "G0-realtime");
}

#[test]
fn a_read_of_what_begins_later_is_g1c_in_real_time() {
    let early = Build::default().committed(0, 10, [list(1, &[5])]).committed(20, 30, [append(1, 5)]);
    adya_finds(&early.finds(&[Class::G1cRealTime]), "G1c-realtime");
}

#[test]
fn a_stale_read_is_g_single_in_real_time() {
    let lists = Build::default().committed(0, 10, [append(1, 5)]).committed(20, 30, [list(1, &[])]).committed(
        40,
        50,
        [list(1, &[5])],
    );
    let report = lists.finds(&[Class::GSingleRealTime]);
    is_called(&report, Pattern::StaleRead);
    adya_finds(&report, "G-single-item-realtime");
    let registers = Build::default().committed(0, 10, [write(1, 5)]).committed(20, 30, [write(1, 6)]).committed(
        40,
        50,
        [read(1, 5)],
    );
    let report = registers.finds(&[Class::GSingleRealTime]);
    is_called(&report, Pattern::StaleRead);
    adya_finds(&report, "cyclic-versions");
    let sets = Build::default().committed(0, 10, [insert(1, 5)]).committed(20, 30, [remove(1, 5)]).committed(
        40,
        50,
        [contains(1, 5, true)],
    );
    let report = sets.finds(&[Class::GSingleRealTime]);
    is_called(&report, Pattern::StaleRead);
    adya_finds_nothing(&report);
}

#[test]
fn two_stale_reads_that_cross_are_g2_in_real_time() {
    // Each read misses the other's append, and one began after both: only times tell that this cannot be.
    let crossed = Build::default()
        .committed(0, 10, [append(1, 5)])
        .committed(0, 100, [list(1, &[5]), list(2, &[])])
        .committed(0, 100, [append(2, 6)])
        .committed(0, 100, [list(2, &[6]), list(3, &[])])
        .committed(0, 5, [append(3, 7)])
        .committed(6, 100, [list(1, &[])]);
    let report = crossed.finds(&[Class::G2RealTime]);
    adya_finds(&report, "realtime");
}

#[test]
fn a_cycle_over_objects_of_two_types_is_found_by_ours_only() {
    let torn =
        Build::default().committed(0, 10, [append(1, 5), write(1, 5)]).committed(0, 10, [list(1, &[5]), read_empty(1)]);
    adya_finds_nothing(&torn.finds(&[Class::GSingle]));
}

#[test]
fn the_order_of_a_list_tells_the_order_of_a_register() {
    let passed_over = Build::default()
        .committed(0, 10, [write(1, 5), append(1, 5)])
        .committed(0, 10, [write(1, 6), append(1, 6)])
        .committed(0, 10, [read(1, 5), list(1, &[5, 6])]);
    adya_finds_nothing(&passed_over.finds(&[Class::GSingle]));
    let torn = Build::default()
        .committed(0, 10, [write(1, 5), append(1, 5), list(2, &[6])])
        .committed(0, 10, [write(1, 6), append(2, 6)])
        .committed(0, 10, [read(1, 6), list(1, &[5])]);
    is_called(&torn.finds(&[Class::GSingle]), Pattern::TornRead);
    // The first has to be overwritten by the second, which it comes after by way of the third.
    let around = Build::default()
        .committed(0, 10, [write(1, 5), append(1, 5), list(3, &[7])])
        .committed(0, 10, [write(1, 6), append(2, 6)])
        .committed(0, 10, [list(2, &[6]), append(3, 7)])
        .committed(0, 10, [read(1, 6), list(1, &[5])]);
    adya_finds_nothing(&around.finds(&[Class::G1c]));
}

#[test]
fn what_begins_at_the_moment_at_which_another_ends_is_concurrent_to_it() {
    for seen in [&[][..], &[5]] {
        Build::default().committed(0, 10, [append(1, 5)]).committed(10, 20, [list(1, seen)]).is_valid();
    }
    let later = Build::default().committed(0, 10, [append(1, 5)]).committed(11, 20, [list(1, &[])]);
    adya_finds(&later.finds(&[Class::GSingleRealTime]), "realtime");
}

#[test]
fn a_set_read_that_misses_an_acknowledged_value_is_stale_to_both() {
    let stale = Build::default().committed(0, 10, [insert(1, 5)]).committed(20, 30, [set(1, &[])]);
    let report = stale.finds(&[Class::GSingleRealTime]);
    is_called(&report, Pattern::StaleRead);
    adya_finds(&report, "G-single-item-realtime");
}

#[test]
fn an_unknown_write_may_come_at_any_later_time_or_never() {
    for seen in [&[][..], &[5]] {
        let late = Build::default().unknown(0, 10, [append(1, 5)]).committed(20, 30, [list(1, &[])]).committed(
            40,
            50,
            [list(1, seen)],
        );
        late.is_valid();
    }
}

#[test]
fn an_unknown_write_that_was_seen_stays() {
    let gone = Build::default().unknown(0, 10, [append(1, 5)]).committed(20, 30, [list(1, &[5])]).committed(
        40,
        50,
        [list(1, &[])],
    );
    adya_finds(&gone.finds(&[Class::GSingleRealTime]), "G-single-item-realtime");
    let registers = Build::default().unknown(0, 10, [write(1, 5)]).committed(20, 30, [read(1, 5)]).committed(
        40,
        50,
        [read_empty(1)],
    );
    adya_finds(&registers.finds(&[Class::GSingleRealTime]), "G-single-item-realtime");
}

#[test]
fn an_unknown_transaction_that_was_seen_took_effect_whole() {
    let torn =
        Build::default().unknown(0, 10, [append(1, 5), insert(1, 5)]).committed(20, 30, [list(1, &[5]), set(1, &[])]);
    adya_finds(&torn.finds(&[Class::GSingle]), "G-single");
}

#[test]
fn an_explanation_names_times_clients_operations_faults_and_edges() {
    let mut stale = Build::default()
        .committed(1_000_000, 2_000_000, [append(1, 5)])
        .committed(3_500_000, 4_000_000, [list(1, &[])])
        .committed(5_000_000, 6_000_000, [list(1, &[5])]);
    let what = "kill replica 2 of shard 0".to_owned();
    stale.0.faults.push(iolite_histories::Fault { at: iolite_histories::Moment(2_500_000), what });
    let report = stale.finds(&[Class::GSingleRealTime]);
    let expected =
        "g-single-real-time (stale read): no order of these 2 transactions agrees with what they saw and when
  0.001000 s to 0.002000 s  T0 of client 1, committed: appended 5 to list 1
  0.002500 s  fault: kill replica 2 of shard 0
  0.003500 s to 0.004000 s  T1 of client 0, committed: read list 1 = []
  because
    T1 before T0  rw        T1 did not see of list 1 what T0 changed (+ 5)
    T0 before T1  real time T0 was acknowledged 1500.000 us before T1 began
";
    assert_eq!(report.explained[0].explanation, expected);
}
