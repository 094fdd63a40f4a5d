//! Keys by Zipf's law: the key of rank r (from 1) comes with probability r^-s / (1^-s + ... + n^-s).
//!
//! Invariant: the probabilities are exact but for the rounding of a double; drawing takes O(log n).

use super::{KeyNumber, Random};

#[derive(Debug)]
pub struct Zipf {
    /// Of each key, the share of draws that are of it or of a more popular one, in units of 2^-64; the last is all.
    cumulative: Vec<u64>,
}

impl Zipf {
    /// `exponent` 0 is uniform.
    ///
    /// # Panics
    /// When there are no keys, or more than 32 bits count.
    pub fn new(keys: u64, exponent: f64) -> Zipf {
        assert!(keys > 0 && u32::try_from(keys).is_ok(), "{keys} keys cannot be drawn from");
        let weight = |rank: u64| (rank as f64).powf(-exponent);
        // The small ones first: so the sum is rounded least.
        let total: f64 = (1..=keys).rev().map(weight).sum();
        let mut sum = 0.0;
        let mut cumulative: Vec<u64> = (1..=keys)
            .map(|rank| {
                sum += weight(rank);
                (sum / total * 2f64.powi(64)) as u64
            })
            .collect();
        *cumulative.last_mut().expect("there are keys") = u64::MAX;
        Zipf { cumulative }
    }

    pub fn keys(&self) -> u64 {
        self.cumulative.len() as u64
    }

    pub fn key(&self, random: &mut Random) -> KeyNumber {
        let bits = random.bits();
        let index = self.cumulative.partition_point(|share| *share < bits);
        KeyNumber(u32::try_from(index).expect("keys are counted in 32 bits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(keys: u64, exponent: f64, index: u64) -> f64 {
        let weight = |rank: u64| (rank as f64).powf(-exponent);
        weight(index + 1) / (1..=keys).map(weight).sum::<f64>()
    }

    #[test]
    fn the_table_holds_the_exact_probabilities() {
        for (keys, exponent) in [(1, 0.75), (10, 0.0), (1000, 0.75), (100_000, 0.99)] {
            let zipf = Zipf::new(keys, exponent);
            for index in [0, keys / 3, keys / 2, keys - 1] {
                let at = |index: u64| zipf.cumulative[index as usize] as f64 / 2f64.powi(64);
                let found = if index == 0 { at(0) } else { at(index) - at(index - 1) };
                let wanted = probability(keys, exponent, index);
                assert!((found - wanted).abs() < 1e-12, "{keys} {exponent} {index}: {found} for {wanted}");
            }
        }
    }

    /// Pearson's test: with 99 degrees of freedom, 148.2 is passed by one right generator in a thousand. The seed is fixed.
    #[test]
    fn draws_follow_the_distribution() {
        for exponent in [0.0, 0.75, 0.99] {
            let (keys, draws) = (100, 200_000);
            let (zipf, mut random) = (Zipf::new(keys, exponent), Random::of(3, 1));
            let mut counts = vec![0u32; keys as usize];
            (0..draws).for_each(|_| counts[zipf.key(&mut random).index()] += 1);
            let squared: f64 = (0..keys)
                .map(|index| {
                    let expected = probability(keys, exponent, index) * f64::from(draws);
                    (f64::from(counts[index as usize]) - expected).powi(2) / expected
                })
                .sum();
            assert!(squared < 148.2, "{exponent}: {squared}");
        }
    }
}
