//! Two checkers that share no code agree about random histories, valid ones and such of which reads were changed at random.

use iolite_histories::{Class, History, Operation, Outcome, PeerVerdict, Report, Value, judge};

use super::oracle::is_strictly_serializable;
use super::random::Random;
use super::serial::{Kinds, Shape, Stamps, history};

/// Changes some reads, to something that was or was not so at another time.
fn change(history: &mut History, random: &mut Random) {
    let written: Vec<Operation> = history.transactions.iter().flat_map(|one| one.operations.clone()).collect();
    for _ in 0..random.below(3) {
        let transactions = history.transactions.iter_mut().chain(&mut history.last);
        let mut reads: Vec<&mut Operation> = transactions
            .filter(|one| matches!(one.outcome, Outcome::Committed(_)))
            .flat_map(|one| one.operations.iter_mut().filter(|operation| !operation.is_write()))
            .collect();
        let place = random.index(reads.len());
        if let Some(read) = reads.get_mut(place) {
            change_read(read, &written, random);
        }
    }
}

fn change_read(read: &mut Operation, written: &[Operation], random: &mut Random) {
    let of_same = written.iter().filter_map(|operation| match (&*read, operation) {
        (Operation::Read { register, .. }, Operation::Write { register: other, value }) if register == other => {
            Some(*value)
        }
        (Operation::ReadList { list, .. }, Operation::Append { list: other, value }) if list == other => Some(*value),
        (Operation::ReadSet { set, .. }, Operation::Insert { set: other, value }) if set == other => Some(*value),
        _other => None,
    });
    let of_same: Vec<Value> = of_same.collect();
    match read {
        Operation::Read { value, .. } => *value = of_same.get(random.index(of_same.len() + 1)).copied(),
        Operation::ReadList { values, .. } | Operation::ReadSet { values, .. } => match random.below(5) {
            0 | 1 => values.truncate(random.index(values.len() + 1)),
            2 if !values.is_empty() => drop(values.remove(random.index(values.len()))),
            3 => values.extend(of_same.get(random.index(of_same.len()))),
            _swap if !values.is_empty() => {
                let (one, other) = (random.index(values.len()), random.index(values.len()));
                values.swap(one, other);
            }
            _nothing => {}
        },
        Operation::Contains { found, .. } => *found = !*found,
        Operation::ReadCounter { total: amount, .. } | Operation::ReadAccount { balance: amount, .. } => {
            *amount += random.below(9) as i64 - 4;
        }
        _other => {}
    }
}

/// What our own checker says without the last state's own rules, which adya does not have.
fn ours_is_valid(report: &Report) -> bool {
    report.violations.keys().all(|class| matches!(class, Class::Lost | Class::Doubled | Class::Phantom))
}

/// How often both found it valid, both violated, only we, only they.
#[derive(Default, Debug, PartialEq, Eq)]
struct Tally {
    valid: u32,
    violated: u32,
    only_ours: u32,
    only_theirs: u32,
}

fn compare(
    kinds: Kinds,
    stamps: Stamps,
    seeds: std::ops::Range<u64>,
    mut unless: impl FnMut(u64, &Report, bool, bool),
) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let shape =
            Shape { transactions: 10 + seed as usize % 25, objects: 1 + seed % 3, ..Shape::small(kinds, stamps) };
        let mut history = history(seed, shape);
        change(&mut history, &mut Random::new(seed ^ 0xfeed));
        let report = judge(&history).expect("still well formed");
        let theirs = match kinds {
            Kinds::Registers => &report.adya.registers,
            Kinds::Lists | Kinds::ListsAndSets | Kinds::Totals | Kinds::All => &report.adya.lists_and_sets,
        };
        let theirs = match theirs {
            PeerVerdict::Valid | PeerVerdict::Nothing => true,
            PeerVerdict::Violated { .. } => false,
            PeerVerdict::Undecided { .. } | PeerVerdict::TooLarge { .. } => panic!("seed {seed}: {report}"),
        };
        let ours = ours_is_valid(&report);
        match (ours, theirs) {
            (true, true) => tally.valid += 1,
            (false, false) => tally.violated += 1,
            (false, true) => tally.only_ours += 1,
            (true, false) => tally.only_theirs += 1,
        }
        unless(seed, &report, ours, theirs);
    }
    tally
}

#[test]
fn both_checkers_agree_about_lists() {
    let tally = compare(Kinds::Lists, Stamps::None, 0..2000, |seed, report, ours, theirs| {
        assert_eq!(ours, theirs, "seed {seed}\n{report}");
    });
    assert!(tally.valid > 500 && tally.violated > 500, "{tally:?}");
}

/// It knows no removal, lets a list hold what nobody appended, and gets each value of a set as a list of its own.
#[test]
fn about_sets_they_differ_only_where_removals_or_single_reads_matter() {
    let only_ours = [Class::DoubledElement, Class::PhantomRead, Class::NonRepeatableRead, Class::FutureRead];
    let tally = compare(Kinds::ListsAndSets, Stamps::None, 0..2000, |seed, report, ours, theirs| {
        assert!(ours <= theirs, "seed {seed}: only adya found it\n{report}");
        let is_explained = report.violations.keys().any(|class| only_ours.contains(class));
        let has_removals = report.counts.operations.contains_key("remove") || report.counts.unknown > 0;
        assert!(ours == theirs || is_explained || has_removals, "seed {seed}: only we found it\n{report}");
    });
    assert!(tally.valid > 500 && tally.violated > 300, "{tally:?}");
}

/// It lets a transaction read what it writes later, and infers less from other registers.
#[test]
fn about_registers_they_differ_only_where_we_infer_more() {
    let tally = compare(Kinds::Registers, Stamps::None, 0..2000, |seed, report, ours, theirs| {
        assert!(ours <= theirs, "seed {seed}: only adya found it\n{report}");
    });
    assert!(tally.only_ours < 20 && tally.valid > 500 && tally.violated > 500, "{tally:?}");
}

/// It orders writes by them and not reads, and none at all if an unknown transaction was seen; we place those.
#[test]
fn about_registers_with_timestamps_they_differ_only_where_replay_finds_more() {
    let tally = compare(Kinds::Registers, Stamps::Given, 0..2000, |seed, report, ours, theirs| {
        assert!(ours <= theirs, "seed {seed}: only adya found it\n{report}");
        let by_order = [Class::Replay, Class::TimestampOrder, Class::FutureRead];
        let is_explained = report.counts.unknown > 0 || report.violations.keys().all(|class| by_order.contains(class));
        assert!(ours == theirs || is_explained, "seed {seed}: only we found it\n{report}");
    });
    assert!(tally.valid > 500 && tally.violated > 500, "{tally:?}");
}

/// Histories of which every order can be tried: how many were valid, violated, and missed. None may be found violated that is not.
fn against_the_truth(kinds: Kinds, seeds: std::ops::Range<u64>) -> (u32, u32, u32) {
    let (mut valid, mut violated, mut missed) = (0, 0, 0);
    for seed in seeds {
        let transactions = 5 + seed as usize % 6;
        let shape = Shape { transactions, objects: 1 + seed % 2, clients: 4, ..Shape::small(kinds, Stamps::None) };
        let mut history = history(seed, shape);
        change(&mut history, &mut Random::new(seed ^ 0xfeed));
        let report = judge(&history).expect("still well formed");
        let truth = is_strictly_serializable(&history);
        assert!(!truth || report.violations.is_empty(), "{kinds:?}, seed {seed}: there is a valid order\n{report}");
        assert!(!truth || report.is_clean(), "{kinds:?}, seed {seed}: adya finds what is not\n{report}");
        match (truth, report.violations.is_empty()) {
            (true, _) => valid += 1,
            (false, false) => violated += 1,
            (false, true) => missed += 1,
        }
    }
    (valid, violated, missed)
}

#[test]
fn with_timestamps_nothing_is_missed() {
    for kinds in [Kinds::Registers, Kinds::ListsAndSets, Kinds::Totals, Kinds::All] {
        let mut violated = 0;
        for seed in 0..1000 {
            let transactions = 5 + seed as usize % 6;
            let shape = Shape { transactions, objects: 1 + seed % 2, clients: 4, ..Shape::small(kinds, Stamps::Given) };
            let mut history = history(seed, shape);
            change(&mut history, &mut Random::new(seed ^ 0xfeed));
            let report = judge(&history).expect("still well formed");
            let is_missed = report.violations.is_empty() && !is_strictly_serializable(&history);
            assert!(!is_missed, "{kinds:?}, seed {seed}: no order is valid\n{report}");
            violated += u32::from(!report.violations.is_empty());
        }
        assert!(violated > 300, "{kinds:?}: {violated}");
    }
}

#[test]
fn nothing_is_found_that_some_order_explains_and_nearly_nothing_is_missed() {
    for kinds in [Kinds::Lists, Kinds::Registers, Kinds::ListsAndSets, Kinds::Totals, Kinds::All] {
        let (valid, violated, missed) = against_the_truth(kinds, 0..1000);
        assert!(valid > 300 && violated > 300, "{kinds:?}: {valid} valid, {violated} violated");
        let allowed = if kinds == Kinds::Lists { 0 } else { violated / 100 };
        assert!(missed <= allowed, "{kinds:?}: {missed} of {violated} missed");
    }
}
