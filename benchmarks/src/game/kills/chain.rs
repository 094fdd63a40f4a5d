//! Whether a game holds what its players were told, once.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{Chain, PLAYERS, amount};

/// What players' processes told of their rounds, by name, those that were killed later among them.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// On the player's disk: it will be made once, also if the player is killed, or will be refused.
    pub stored: BTreeSet<String>,
    pub made: BTreeSet<String>,
    pub refused: BTreeSet<String>,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Rounds that were acknowledged, or stored and not refused, and are not there.
    pub lost: u64,
    /// How often a round is there beyond once.
    pub doubled: u64,
    /// Rounds out of turn, and refused ones that are there; a count or a sum that is not that of the rounds.
    pub violations: u64,
}

impl Findings {
    pub fn is_good(&self) -> bool {
        *self == Findings::default()
    }
}

pub fn check(told: &Told, chain: &Chain) -> Findings {
    let mut times: BTreeMap<&str, u64> = BTreeMap::new();
    chain.rounds.iter().for_each(|round| *times.entry(round).or_default() += 1);
    let is_there = |round: &&String| times.contains_key(round.as_str());
    let has_to_be_there = told.stored.difference(&told.refused).chain(told.made.difference(&told.stored));
    let out_of_turn =
        chain.rounds.iter().zip(PLAYERS.iter().cycle()).filter(|(round, player)| player_of(round) != **player);
    let sum: i64 = (0..chain.rounds.len() as i64).map(amount).sum();
    let is_miscounted = [chain.turn != chain.rounds.len() as i64, chain.sum != sum];
    let miscounted = is_miscounted.iter().filter(|wrong| **wrong).count();
    Findings {
        lost: has_to_be_there.filter(|round| !is_there(round)).count() as u64,
        doubled: times.values().map(|times| times - 1).sum(),
        violations: (out_of_turn.count() + told.refused.iter().filter(is_there).count() + miscounted) as u64,
    }
}

/// A round's name begins with it.
pub fn player_of(round: &str) -> &str {
    round.split('-').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn chain(rounds: &[&str]) -> Chain {
        let rounds: Vec<String> = rounds.iter().map(|round| (*round).to_owned()).collect();
        let turn = rounds.len() as i64;
        Chain { rounds, turn, sum: (0..turn).map(amount).sum() }
    }

    #[test]
    fn a_chain_holds_every_round_once_and_in_turn() {
        let told = Told {
            stored: named(&["ada-0-0", "ben-0-0", "cleo-0-0", "ada-0-1"]),
            made: named(&["ada-0-0", "ben-0-0"]),
            refused: named(&["ada-0-1"]),
        };
        let whole = chain(&["ada-0-0", "ben-0-0", "cleo-0-0"]);
        assert_eq!(check(&told, &whole), Findings::default());
        let next = chain(&["ada-0-0", "ben-0-0", "cleo-0-0", "ada-1-0"]);
        assert!(check(&told, &next).is_good(), "of one that was killed before it told");
        let lost = check(&told, &chain(&["ada-0-0", "ben-0-0"]));
        assert_eq!(lost, Findings { lost: 1, ..Findings::default() }, "what is stored is to be made");
        let doubled = chain(&["ada-0-0", "ben-0-0", "cleo-0-0", "ada-0-0"]);
        assert_eq!(check(&told, &doubled), Findings { doubled: 1, ..Findings::default() });
        let refused = chain(&["ada-0-0", "ben-0-0", "cleo-0-0", "ada-0-1"]);
        assert_eq!(check(&told, &refused).violations, 1);
        let swapped = chain(&["ben-0-0", "ada-0-0", "cleo-0-0"]);
        assert_eq!(check(&told, &swapped).violations, 2);
        assert_eq!(check(&told, &Chain { sum: 1, ..whole.clone() }).violations, 1);
        assert_eq!(check(&told, &Chain { turn: 4, ..whole }).violations, 1);
    }
}
