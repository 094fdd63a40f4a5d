//! Arms beside each other: each that can be run has its figures, each other one is named with the reason.

use std::collections::BTreeMap;

use serde::Serialize;

/// Figures by the arm's name, in the order in which they ran.
#[derive(Debug, Serialize)]
pub struct Arms<T> {
    pub figures: Vec<(&'static str, T)>,
    pub not_run: BTreeMap<&'static str, String>,
}

impl<T> Default for Arms<T> {
    fn default() -> Arms<T> {
        Arms { figures: Vec::new(), not_run: BTreeMap::new() }
    }
}

impl<T> Arms<T> {
    pub fn run(&mut self, name: &'static str, arm: impl FnOnce() -> anyhow::Result<T>) {
        match arm() {
            Ok(figure) => self.figures.push((name, figure)),
            Err(error) => drop(self.not_run.insert(name, format!("{error:#}"))),
        }
    }

    pub fn of(&self, name: &str) -> Option<&T> {
        self.figures.iter().find(|(known, _)| *known == name).map(|(_, figure)| figure)
    }

    /// A line for each arm that did not run.
    pub fn not_run_in_words(&self) -> impl Iterator<Item = String> {
        self.not_run.iter().map(|(arm, reason)| format!("not run: {arm}: {reason}"))
    }
}

/// The middle one, or the upper one of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_that_fails_is_named_and_the_others_have_their_figures() {
        let mut arms = Arms::default();
        arms.run("one", || Ok(1));
        arms.run("zram", || anyhow::bail!("there is none"));
        arms.run("three", || Ok(3));
        assert_eq!((arms.of("one"), arms.of("zram"), arms.of("three")), (Some(&1), None, Some(&3)));
        assert_eq!(arms.not_run_in_words().collect::<Vec<_>>(), ["not run: zram: there is none"]);
    }

    #[test]
    fn the_median_is_one_of_the_values() {
        assert_eq!(
            [median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])].map(f64::to_bits),
            [2.0_f64, 3.0].map(f64::to_bits)
        );
        assert!(median(&[]).is_nan());
    }
}
