//! The operations of a workload, one after the other, from a seed: both clocks get the same ones.

use super::{Popularity, Puts, Random, Workload};
use crate::engine::{Asked, Key, scattered};
use crate::quantity::Span;

/// An operation, and when after the start of the run the client means to begin it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    pub at: Span,
    pub asked: Asked,
    pub key: Key,
}

#[derive(Clone, Debug)]
pub struct Draws {
    random: Random,
    workload: Workload,
    /// For each rank, the share of draws that are of it or of a more popular one.
    cumulative: Vec<f64>,
    at: f64,
    /// Objects that are there, or on their way.
    objects: u64,
}

impl Draws {
    pub fn new(workload: &Workload, seed: u64) -> Draws {
        let cumulative = match workload.popularity {
            Popularity::Uniform => Vec::new(),
            Popularity::Zipfian(skew) | Popularity::Latest(skew) => cumulative(workload.objects, skew),
        };
        let (random, objects) = (Random::of(seed, 1), workload.objects);
        Draws { random, workload: workload.clone(), cumulative, at: 0.0, objects }
    }

    fn key(&mut self) -> Key {
        match self.workload.popularity {
            Popularity::Uniform => Key(self.random.below(self.objects)),
            Popularity::Zipfian(_) => Key(scattered(self.rank()) % self.objects),
            Popularity::Latest(_) => {
                let age = self.rank() % self.objects;
                Key(self.objects - 1 - age)
            }
        }
    }

    fn rank(&mut self) -> u64 {
        let share = self.random.unit();
        self.cumulative.partition_point(|up_to| *up_to <= share) as u64
    }
}

impl Iterator for Draws {
    type Item = Draw;

    fn next(&mut self) -> Option<Draw> {
        let rate = self.workload.puts_per_second + self.workload.gets_per_second;
        // The logarithm's argument is never 0: `unit` is below 1.
        let gap = if self.workload.is_even { 1.0 } else { -(1.0 - self.random.unit()).ln() };
        self.at += gap / rate;
        if self.at >= self.workload.duration.as_secs_f64() {
            return None;
        }
        let at = Span::from_secs_f64(self.at);
        if self.random.unit() * rate >= self.workload.puts_per_second {
            return Some(Draw { at, asked: Asked::Get, key: self.key() });
        }
        let key = match self.workload.puts {
            Puts::Update => self.key(),
            Puts::Insert => {
                self.objects += 1;
                Key(self.objects - 1)
            }
        };
        Some(Draw { at, asked: Asked::Put, key })
    }
}

fn cumulative(objects: u64, skew: f64) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = (1..=objects).map(|rank| {
        sum += (rank as f64).powf(-skew);
        sum
    });
    let sums: Vec<f64> = sums.collect();
    let total = sums.last().copied().unwrap_or(1.0);
    // The last one is above every share that can be drawn, whatever was rounded.
    let last = sums.len().saturating_sub(1);
    sums.into_iter().enumerate().map(|(rank, sum)| if rank == last { 2.0 } else { sum / total }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::testing::workload;

    #[test]
    fn operations_come_at_the_rates_asked_for_and_the_same_ones_from_the_same_seed() {
        let workload = Workload { duration: Span::from_secs(200), ..workload() };
        let draws: Vec<Draw> = Draws::new(&workload, 7).collect();
        let puts = draws.iter().filter(|draw| draw.asked == Asked::Put).count();
        assert!(
            (9_600..10_400).contains(&puts) && (19_500..20_500).contains(&draws.len()),
            "{puts} of {}",
            draws.len()
        );
        assert!(draws.is_sorted_by_key(|draw| draw.at));
        assert_eq!(draws, Draws::new(&workload, 7).collect::<Vec<_>>());
        assert_ne!(draws, Draws::new(&workload, 8).collect::<Vec<_>>());
    }

    #[test]
    fn popular_objects_are_drawn_as_zipf_has_it() {
        let workload = Workload { popularity: Popularity::Zipfian(0.99), objects: 1_000, ..workload() };
        let mut draws = Draws::new(&workload, 1);
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        (0..50_000).for_each(|_| *counts.entry(draws.rank()).or_default() += 1);
        // 1 / (1^-0.99 + ... + 1000^-0.99) is 0.1305.
        assert!((6_200..6_900).contains(&counts[&0]), "{}", counts[&0]);
        assert!((3_000..3_600).contains(&counts[&1]), "{}", counts[&1]);
    }

    #[test]
    fn the_newest_are_read_most_and_puts_make_new_ones() {
        let latest = Popularity::Latest(0.99);
        let workload = Workload { popularity: latest, puts: Puts::Insert, objects: 1_000, ..workload() };
        let draws: Vec<Draw> = Draws::new(&workload, 1).collect();
        let inserted: Vec<u64> = draws.iter().filter(|draw| draw.asked == Asked::Put).map(|draw| draw.key.0).collect();
        assert_eq!(inserted, (1_000..1_000 + inserted.len() as u64).collect::<Vec<_>>());
        let mut newest = 999;
        let mut of_newest = 0;
        for draw in &draws {
            match draw.asked {
                Asked::Put => newest = draw.key.0,
                Asked::Get => of_newest += u32::from(draw.key.0 == newest),
            }
        }
        assert!(of_newest > 30, "{of_newest}");
    }
}
