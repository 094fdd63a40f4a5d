//! Which additions a total holds: all choices that come to it.
//!
//! Invariant: "never" and "always" are said only if every choice agrees.

use super::bounds::CHOICE_WORDS;

/// Whether an addition is in a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Always,
    Never,
    Either,
}

/// For each amount whether it is part of the sum; `None` if no choice comes to it.
pub fn parts(amounts: &[i64], sum: i128) -> Option<Vec<Part>> {
    let range = Range::of(amounts);
    if sum < range.least || sum > range.greatest {
        return None;
    }
    if range.words().saturating_mul(amounts.len() as u128) > CHOICE_WORDS {
        return Some(by_bounds(amounts, sum, &range));
    }
    by_choices(amounts, sum, &range)
}

/// The least and the greatest sum.
struct Range {
    least: i128,
    greatest: i128,
}

impl Range {
    fn of(amounts: &[i64]) -> Range {
        let wide = || amounts.iter().map(|&amount| i128::from(amount));
        Range { least: wide().filter(|one| *one < 0).sum(), greatest: wide().filter(|one| *one > 0).sum() }
    }

    fn words(&self) -> u128 {
        (self.greatest - self.least) as u128 / 64 + 1
    }
}

/// Tries all choices at once: first forward, which sums the first few amounts give; then back, which of them lead to the sum.
fn by_choices(amounts: &[i64], sum: i128, range: &Range) -> Option<Vec<Part>> {
    let place = |sum: i128| (sum - range.least) as usize;
    let mut first = vec![Bits::one(range.words() as usize, place(0))];
    for &amount in amounts {
        let last = &first[first.len() - 1];
        first.push(last.or(&last.moved(amount)));
    }
    let mut leads = first[amounts.len()].and(&Bits::one(range.words() as usize, place(sum)));
    if leads.is_empty() {
        return None;
    }
    let mut parts = vec![Part::Either; amounts.len()];
    for (place, &amount) in amounts.iter().enumerate().rev() {
        let with = first[place].and(&leads.moved(amount.wrapping_neg()));
        let without = first[place].and(&leads);
        parts[place] = match (with.is_empty(), without.is_empty()) {
            (false, false) => Part::Either,
            (false, true) => Part::Always,
            (true, _) => Part::Never,
        };
        leads = with.or(&without);
    }
    Some(parts)
}

/// A set of sums.
struct Bits(Vec<u64>);

impl Bits {
    fn one(words: usize, place: usize) -> Bits {
        let mut bits = Bits(vec![0; words]);
        bits.0[place / 64] |= 1 << (place % 64);
        bits
    }

    /// Each sum with this added; those out of range cannot be.
    fn moved(&self, amount: i64) -> Bits {
        let (by, length) = (amount.unsigned_abs() as usize, self.0.len());
        let (words, bits) = (by / 64, by % 64);
        let word = |place: Option<usize>| place.and_then(|place| self.0.get(place)).copied().unwrap_or(0);
        let spill = |word: u64, shift: fn(u64, u32) -> Option<u64>| shift(word, 64 - bits as u32).unwrap_or(0);
        let moved = (0..length).map(|place| match amount >= 0 {
            true => {
                let (same, below) = (place.checked_sub(words), place.checked_sub(words + 1));
                word(same) << bits | spill(word(below), u64::checked_shr)
            }
            false => {
                let (same, above) = (place.checked_add(words), place.checked_add(words + 1));
                word(same) >> bits | spill(word(above), u64::checked_shl)
            }
        });
        Bits(moved.collect())
    }

    fn and(&self, other: &Bits) -> Bits {
        Bits(self.0.iter().zip(&other.0).map(|(one, other)| one & other).collect())
    }

    fn or(&self, other: &Bits) -> Bits {
        Bits(self.0.iter().zip(&other.0).map(|(one, other)| one | other).collect())
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
}

/// What the least and the greatest sum alone say.
fn by_bounds(amounts: &[i64], sum: i128, range: &Range) -> Vec<Part> {
    let (least, greatest) = (range.least, range.greatest);
    let part = |amount: i128| {
        let (always, never) = match amount >= 0 {
            true => (sum > greatest - amount, sum < least + amount),
            false => (sum < least - amount, sum > greatest + amount),
        };
        match (always, never) {
            (true, _) => Part::Always,
            (false, true) => Part::Never,
            (false, false) => Part::Either,
        }
    };
    amounts.iter().map(|&amount| part(amount.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Part::{Always, Either, Never};

    #[test]
    fn a_sum_that_one_choice_gives_says_all() {
        assert_eq!(parts(&[1, 2, 4], 5), Some(vec![Always, Never, Always]));
        assert_eq!(parts(&[1, 2, 4], 7), Some(vec![Always; 3]));
        assert_eq!(parts(&[3, -3], 0), Some(vec![Either, Either]));
        assert_eq!(parts(&[3, -2], -2), Some(vec![Never, Always]));
        assert_eq!(parts(&[2, 2, 5], 2), Some(vec![Either, Either, Never]));
    }

    #[test]
    fn a_sum_that_no_choice_gives_is_none() {
        assert_eq!(parts(&[2, 4], 5), None);
        assert_eq!(parts(&[], 1), None);
        assert_eq!(parts(&[1; 100], 101), None);
        assert_eq!(parts(&[-1; 100], 1), None);
        assert_eq!(parts(&[2; 100], 101), None);
    }

    #[test]
    fn many_amounts_are_judged_by_their_bounds() {
        let amounts = [1_000_000; 100];
        assert_eq!(parts(&amounts, 100_000_000), Some(vec![Always; 100]));
        assert_eq!(parts(&amounts, 0), Some(vec![Never; 100]));
        assert_eq!(parts(&amounts, 50_000_000), Some(vec![Either; 100]));
        assert_eq!(parts(&[-1_000_000; 100], -100_000_000), Some(vec![Always; 100]));
        assert_eq!(parts(&amounts, 100_000_001), None);
    }

    /// Each choice, one after the other.
    fn one_by_one(amounts: &[i64], sum: i128) -> Option<Vec<Part>> {
        let choices = (0..1_u32 << amounts.len()).filter(|choice| {
            let chosen = amounts.iter().enumerate().filter(|(place, _)| choice >> place & 1 == 1);
            chosen.map(|(_, amount)| i128::from(*amount)).sum::<i128>() == sum
        });
        let choices: Vec<u32> = choices.collect();
        let part = |place: usize| match choices.iter().filter(|choice| *choice >> place & 1 == 1).count() {
            0 => Never,
            all if all == choices.len() => Always,
            _some => Either,
        };
        (!choices.is_empty()).then(|| (0..amounts.len()).map(part).collect())
    }

    #[test]
    fn choices_are_those_that_counting_them_gives_and_bounds_never_say_more() {
        for amounts in [&[5, -3, 7, 2, -1, 4][..], &[100, -70, 130, 64, -64, 1, 1], &[9], &[-9, 9], &[63, 64, 65, -128]]
        {
            let range = Range::of(amounts);
            for sum in range.least - 3..range.greatest + 3 {
                let exact = one_by_one(amounts, sum);
                assert_eq!(parts(amounts, sum), exact, "{amounts:?} to {sum}");
                let Some(exact) = exact else { continue };
                for (exact, rough) in exact.iter().zip(by_bounds(amounts, sum, &range)) {
                    assert!(rough == *exact || rough == Either, "{amounts:?} to {sum}: {rough:?} for {exact:?}");
                }
            }
        }
    }
}
