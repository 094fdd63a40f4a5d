//! The hunt for a broken variant: its seeds run in their order until one of them finds it.
//!
//! Invariant: a variant passes only if one of at most [`SEEDS_OF_A_VARIANT`] seeds finds it. The bound is in seeds and not in seconds, so that a
//! slow machine fails no variant.

use std::ops::RangeInclusive;

use crate::run::Outcome;

/// The most seeds that a variant may have. They may begin anywhere.
const SEEDS_OF_A_VARIANT: u64 = 60;

/// Runs the seeds until one finds the variant, and returns that outcome, whose violation is what was found.
///
/// # Errors
/// A sentence for people: the range is too long, or no seed of it finds the variant.
pub fn hunt(name: &str, seeds: &RangeInclusive<u64>, run: impl FnMut(u64) -> Outcome) -> Result<Outcome, String> {
    let (first, last) = (*seeds.start(), *seeds.end());
    let count = if seeds.is_empty() { 0 } else { last - first + 1 };
    if count > SEEDS_OF_A_VARIANT {
        return Err(format!(
            "{name} has {count} seeds, and may have {SEEDS_OF_A_VARIANT}: begin them nearer to the one that finds it (crates/simulation/src/broken.rs)"
        ));
    }
    let found = seeds.clone().map(run).find(|outcome| outcome.violation.is_some());
    found.ok_or_else(|| format!("{name} was not found in seeds {first}..{last}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broken::Broken;
    use crate::checker::{Invariant, Violation};
    use crate::counts::Counts;

    /// The outcome of a seed that finds something, or finds nothing.
    fn outcome(seed: u64, is_found: bool) -> Outcome {
        Outcome {
            seed,
            violation: is_found.then(|| Violation::new(Invariant::ExactlyOnce, "twice")),
            steps: 0,
            confirmed: 0,
            sightings: 0,
            faults: Counts::default(),
            occasions: Counts::default(),
            row_events: Counts::default(),
            centre_events: Counts::default(),
            rights_events: Counts::default(),
            object_events: Counts::default(),
            trace_hash: [0; 32],
            timeline: None,
        }
    }

    #[test]
    fn the_first_seed_that_finds_it_ends_the_hunt() {
        let mut ran = Vec::new();
        let run = |seed| {
            ran.push(seed);
            outcome(seed, seed == 33)
        };
        let found = hunt("a-rule", &(31..=90), run).expect("it is found");
        assert_eq!((found.seed, ran), (33, vec![31, 32, 33]));
    }

    #[test]
    fn a_variant_that_no_seed_finds_fails_with_its_seeds() {
        let missed = hunt("a-rule", &(31..=90), |seed| outcome(seed, false)).expect_err("no seed finds it");
        assert_eq!(missed, "a-rule was not found in seeds 31..90");
    }

    #[test]
    fn a_variant_with_more_than_sixty_seeds_fails_without_a_run() {
        let refused = hunt("a-rule", &(1..=61), |_| panic!("no seed is run")).expect_err("one too many");
        assert!(refused.contains("61 seeds, and may have 60"), "{refused}");
    }

    #[test]
    fn all_variants_but_one_have_seeds() {
        let without: Vec<Broken> = Broken::all().filter(|broken| broken.seeds().is_none()).collect();
        assert_eq!(without, [Broken::AcceptAboveReaders], "the search of models finds that one");
    }
}
