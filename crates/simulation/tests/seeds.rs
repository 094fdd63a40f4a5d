//! A few seeds, as a first check of every change. `iolite simulate` runs many.

use iolite_simulation::{Broken, Report, run};

#[test]
fn a_few_seeds_pass() {
    for seed in 1..=4 {
        let outcome = run(seed, Broken::Nothing);
        assert!(outcome.violation.is_none(), "seed {seed}: {}", outcome.violation.expect("there is one"));
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    let hash = || Report::of(11..=11, Broken::Nothing, |_| {}).trace_hash;
    assert_eq!(hash(), hash());
}
