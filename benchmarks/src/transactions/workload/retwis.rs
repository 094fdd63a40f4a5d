//! Retwis: the functions of a Twitter clone, each one transaction.
//!
//! Invariant: gets and puts are as many as in the table, each of another key. A put of a key that was also read increments it, which is
//! what makes lost updates visible; the paper's own client writes the same keys.
//! Source: TAPIR (TOCS 2018) table 2.

use super::{KeyNumber, Plan, Random, Step, Zipf};

/// The largest number of keys of one transaction.
pub const KEYS_OF_TRANSACTION: u64 = 10;

pub fn plan(zipf: &Zipf, random: &mut Random) -> Plan {
    match random.below(100) {
        0..5 => add_user(zipf, random),
        5..20 => follow(zipf, random),
        20..50 => post(zipf, random),
        _ => timeline(zipf, random),
    }
}

/// One get, three puts.
fn add_user(zipf: &Zipf, random: &mut Random) -> Plan {
    let [read, second, third] = distinct(zipf, random);
    Plan::of(vec![Step::Increment(read), Step::Put(second), Step::Put(third)])
}

/// Two gets, two puts.
fn follow(zipf: &Zipf, random: &mut Random) -> Plan {
    Plan::of(distinct::<2>(zipf, random).map(Step::Increment).to_vec())
}

/// Three gets, five puts.
fn post(zipf: &Zipf, random: &mut Random) -> Plan {
    let [first, second, third, fourth, fifth] = distinct(zipf, random);
    let reads = [first, second, third].map(Step::Increment);
    Plan::of(reads.into_iter().chain([fourth, fifth].map(Step::Put)).collect())
}

/// One to ten gets.
fn timeline(zipf: &Zipf, random: &mut Random) -> Plan {
    let count = 1 + random.below(10) as usize;
    let keys = distinct::<{ KEYS_OF_TRANSACTION as usize }>(zipf, random);
    Plan::of(keys[..count].iter().copied().map(Step::Get).collect())
}

fn distinct<const COUNT: usize>(zipf: &Zipf, random: &mut Random) -> [KeyNumber; COUNT] {
    assert!(zipf.keys() >= COUNT as u64, "there are fewer keys than a transaction has");
    let mut keys = [KeyNumber(0); COUNT];
    let mut drawn = 0;
    while drawn < COUNT {
        let key = zipf.key(random);
        if !keys[..drawn].contains(&key) {
            keys[drawn] = key;
            drawn += 1;
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Gets and puts of a plan.
    fn shape(plan: &Plan) -> (usize, usize) {
        plan.steps().iter().fold((0, 0), |(gets, puts), step| match step {
            Step::Get(_) => (gets + 1, puts),
            Step::Increment(_) => (gets + 1, puts + 1),
            Step::Put(_) => (gets, puts + 1),
        })
    }

    #[test]
    fn shares_and_shapes_are_those_of_the_table() {
        let (zipf, mut random) = (Zipf::new(1000, 0.75), Random::of(7, 0));
        let mut shapes: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        const COUNT: u32 = 100_000;
        for _ in 0..COUNT {
            *shapes.entry(shape(&plan(&zipf, &mut random))).or_default() += 1;
        }
        let share = |shape| f64::from(*shapes.get(&shape).unwrap_or(&0)) / f64::from(COUNT);
        for (shape, wanted) in [((1, 3), 0.05), ((2, 2), 0.15), ((3, 5), 0.30)] {
            assert!((share(shape) - wanted).abs() < 0.005, "{shape:?}: {}", share(shape));
        }
        for gets in 1..=10 {
            assert!((share((gets, 0)) - 0.05).abs() < 0.003, "{gets} gets: {}", share((gets, 0)));
        }
        assert_eq!(shapes.len(), 13);
    }

    #[test]
    fn no_key_comes_twice_in_a_transaction_even_of_very_few() {
        let (zipf, mut random) = (Zipf::new(KEYS_OF_TRANSACTION, 1.0), Random::of(7, 0));
        for _ in 0..1000 {
            let plan = plan(&zipf, &mut random);
            let keys: BTreeSet<u32> = plan
                .steps()
                .iter()
                .map(|step| match step {
                    Step::Get(key) | Step::Increment(key) | Step::Put(key) => key.0,
                })
                .collect();
            assert_eq!(keys.len(), plan.steps().len(), "{plan:?}");
        }
    }
}
