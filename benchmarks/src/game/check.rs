//! Whether the games that were found are those that were played.

use super::Played;
use crate::verify::Findings;

/// What brings a game to its end.
pub const GOAL: i64 = 100;

/// A game as it is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub sum: i64,
    pub turn: i64,
    pub players: usize,
}

/// Every move adds one, and is there once; players took turns; only the last move of a game passes the turn to nobody.
pub fn check(played: &[Played; 2], found: &[Found]) -> Findings {
    let mut findings = Findings::default();
    let mut unknown: u64 = played.iter().map(|one| one.unknown).sum();
    for (game, found) in found.iter().enumerate() {
        let of = |one: &Played| one.moves.get(game).copied().unwrap_or(0);
        let (first, second) = (of(&played[0]), of(&played[1]));
        let sum = u64::try_from(found.sum).unwrap_or(0);
        findings.lost_updates += (first + second).saturating_sub(sum);
        let surplus = sum.saturating_sub(first + second);
        // Whose end is not known may be there.
        findings.violations += surplus.saturating_sub(unknown);
        let took_turns = first.abs_diff(second) <= 1 + unknown;
        let turn = if found.sum >= GOAL { GOAL - 1 } else { found.sum };
        findings.violations += u64::from(!took_turns) + u64::from(found.turn != turn || found.sum > GOAL);
        findings.violations += u64::from(found.sum > 0 && found.players != 2);
        unknown = unknown.saturating_sub(surplus);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(first: &[u64], second: &[u64]) -> [Played; 2] {
        [first, second].map(|moves| Played { moves: moves.to_vec(), ..Played::default() })
    }

    fn found(sum: i64, turn: i64) -> Found {
        Found { sum, turn, players: 2 }
    }

    #[test]
    fn games_hold_every_move_once_and_alternately() {
        let whole = [found(100, 99), found(7, 7)];
        assert_eq!(check(&played(&[50, 4], &[50, 3]), &whole), Findings::default());
        assert_eq!(check(&played(&[50, 5], &[50, 4]), &whole).lost_updates, 2);
        assert!(check(&played(&[50, 3], &[50, 3]), &whole).violations > 0);
        assert!(check(&played(&[50, 5], &[50, 2]), &whole).violations > 0, "one moved twice in a row");
        assert!(check(&played(&[50, 4], &[50, 3]), &[found(100, 99), found(7, 6)]).violations > 0);
        assert!(check(&played(&[51], &[50]), &[found(101, 99)]).violations > 0);
        assert!(check(&played(&[1], &[1]), &[Found { players: 1, ..found(2, 2) }]).violations > 0);
        let unsure = played(&[4], &[3]).map(|one| Played { unknown: 1, ..one });
        assert_eq!(check(&unsure, &[found(8, 8)]), Findings::default());
    }
}
