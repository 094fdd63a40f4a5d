//! A text in the plainest way: all units that were ever inserted, in a row.
//!
//! Invariant: it shares no code with the product's documents. Each unit is put in its place by itself, among all others; nothing is in runs, split or merged,
//! and nothing is made from an earlier text.
//! Source: YATA (Nicolaescu 2016), as Yjs integrates an item.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Author, Edit, Text, Unfit, Unit, UnitRange};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paper {
    units: Vec<Written>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Written {
    unit: Unit,
    left: Option<Unit>,
    right: Option<Unit>,
    code: u16,
    is_removed: bool,
}

/// What is known of a unit whatever the order is: its neighbours, and what it is unless it was removed.
type Known = (Option<Unit>, Option<Unit>, Option<u16>);

impl Paper {
    /// # Errors
    /// Why an edit cannot be applied.
    pub fn check(&self, edit: &Edit) -> Result<(), Unfit> {
        let neighbours = edit.inserted.iter().flat_map(|own| [own.left, own.right]).flatten();
        let removed = edit.removed.iter().flat_map(|range| (range.from..range.end()).map(move |at| (range.author, at)));
        let needed = neighbours.chain(removed.map(|(author, number)| Unit::new(author, number)));
        if needed.into_iter().any(|unit| self.place(unit).is_none()) {
            return Err(Unfit::Lacks);
        }
        if let Some(own) = &edit.inserted {
            match own.first.number.cmp(&self.count(own.first.author)) {
                std::cmp::Ordering::Less => return Err(Unfit::Taken),
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => return Err(Unfit::Lacks),
            }
        }
        if self.parts(edit) { Err(Unfit::Parts) } else { Ok(()) }
    }

    /// Whether it would put something between the halves of a character, or remove one of them.
    fn parts(&self, edit: &Edit) -> bool {
        let is_second = |author: Author, number: u32| {
            let own = self.units.iter().find(|own| own.unit == Unit::new(author, number) && !own.is_removed);
            own.is_some_and(|own| (0xdc00..0xe000).contains(&own.code))
        };
        let is_between = edit.inserted.as_ref().is_some_and(|own| {
            own.left.is_some_and(|left| is_second(left.author, left.number + 1))
                || own.right.is_some_and(|right| is_second(right.author, right.number))
        });
        let is_of_one = |range: &UnitRange| is_second(range.author, range.from) || is_second(range.author, range.end());
        is_between || edit.removed.iter().any(is_of_one)
    }

    /// Applies an edit, if it fits.
    pub fn apply(&mut self, edit: &Edit) {
        if self.check(edit).is_err() {
            return;
        }
        if let Some(own) = &edit.inserted {
            let mut left = own.left;
            for (number, code) in (own.first.number..).zip(own.text.encode_utf16()) {
                let unit = Unit::new(own.first.author, number);
                self.integrate(Written { unit, left, right: own.right, code, is_removed: false });
                left = Some(unit);
            }
        }
        for range in &edit.removed {
            let is_in = |unit: Unit| unit.author == range.author && (range.from..range.end()).contains(&unit.number);
            self.units.iter_mut().filter(|own| is_in(own.unit)).for_each(|own| own.is_removed = true);
        }
    }

    pub fn string(&self) -> String {
        let shown = self.units.iter().filter(|own| !own.is_removed);
        String::from_utf16(&shown.map(|own| own.code).collect::<Vec<_>>()).expect("no edit parts a character")
    }

    /// Whether a text of the product has the same units between the same others, and the same ones were removed.
    pub fn is_of(&self, text: &Text) -> bool {
        let own: BTreeMap<Unit, Known> = self
            .units
            .iter()
            .map(|own| (own.unit, (own.left, own.right, (!own.is_removed).then_some(own.code))))
            .collect();
        own == units_of(text)
    }

    fn place(&self, unit: Unit) -> Option<usize> {
        self.units.iter().position(|own| own.unit == unit)
    }

    fn count(&self, author: Author) -> u32 {
        self.units.iter().filter(|own| own.unit.author == author).count() as u32
    }

    fn integrate(&mut self, new: Written) {
        let first = new.left.and_then(|left| self.place(left)).map_or(0, |left| left + 1);
        let mut at = first;
        let end = new.right.and_then(|right| self.place(right)).unwrap_or(self.units.len());
        let (mut passed, mut conflicting) = (BTreeSet::new(), BTreeSet::new());
        for place in first..end {
            let other = &self.units[place];
            passed.insert(other.unit);
            conflicting.insert(other.unit);
            let goes_first = if other.left == new.left {
                if other.unit.author > new.unit.author && other.right == new.right {
                    break;
                }
                other.unit.author < new.unit.author
            } else {
                match other.left.filter(|left| passed.contains(left)) {
                    Some(left) => !conflicting.contains(&left),
                    None => break,
                }
            };
            if goes_first {
                at = place + 1;
                conflicting.clear();
            }
        }
        self.units.insert(at, new);
    }
}

fn units_of(text: &Text) -> BTreeMap<Unit, Known> {
    let mut units = BTreeMap::new();
    for (author, runs) in text.runs() {
        for run in runs {
            let codes: Option<Vec<u16>> = run.text.map(|text| text.encode_utf16().collect());
            for place in 0..run.length {
                let number = run.from + place;
                let left = if place == 0 { run.left } else { Some(Unit::new(author, number - 1)) };
                let code = codes.as_ref().map(|codes| codes[place as usize]);
                units.insert(Unit::new(author, number), (left, run.right, code));
            }
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iolite_values::Insertion;

    use super::*;

    fn unit(author: u64, number: u32) -> Option<Unit> {
        Some(Unit::new(Author(author), number))
    }

    fn insert(author: u64, number: u32, left: Option<Unit>, right: Option<Unit>, text: &str) -> Edit {
        let first = Unit::new(Author(author), number);
        Edit { inserted: Some(Insertion { first, left, right, text: text.into() }), removed: Vec::new() }
    }

    fn remove(author: u64, from: u32, length: u32) -> Edit {
        Edit { inserted: None, removed: vec![UnitRange { author: Author(author), from, length }] }
    }

    /// What everybody sees of these, whoever learns of them in whatever order: each stands on none of the others but the first.
    fn seen(first: &Edit, others: [&Edit; 3]) -> BTreeSet<String> {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let of = |order: [usize; 3]| {
            let mut paper = Paper::default();
            paper.apply(first);
            order.iter().for_each(|place| paper.apply(others[*place]));
            paper.string()
        };
        orders.into_iter().map(of).collect()
    }

    #[test]
    fn edits_of_several_at_one_place_are_in_one_order_and_each_in_one_piece() {
        let first = insert(5, 0, None, None, "()");
        let inside = |author, text| insert(author, 0, unit(5, 0), unit(5, 1), text);
        let all = [&inside(9, "xyz"), &inside(2, "abc"), &inside(7, "123")];
        assert_eq!(seen(&first, all), ["(abc123xyz)".to_owned()].into());
    }

    #[test]
    fn what_is_removed_still_says_where_others_stand() {
        let first = insert(5, 0, None, None, "abc");
        let all =
            [&remove(5, 1, 1), &insert(2, 0, unit(5, 1), unit(5, 2), "-"), &insert(7, 0, unit(5, 0), unit(5, 1), "+")];
        assert_eq!(seen(&first, all), ["a+-c".to_owned()].into());
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut paper = Paper::default();
        paper.apply(&insert(5, 0, None, None, "ab"));
        let unfit = [
            (insert(5, 3, unit(5, 1), None, "c"), Unfit::Lacks),
            (insert(5, 1, unit(5, 0), None, "c"), Unfit::Taken),
            (insert(6, 0, unit(5, 2), None, "c"), Unfit::Lacks),
            (remove(5, 1, 2), Unfit::Lacks),
        ];
        for (edit, why) in unfit {
            assert_eq!(paper.check(&edit), Err(why));
            paper.apply(&edit);
            assert_eq!(paper.string(), "ab");
        }
    }

    /// Its unit had another character when the edit was made: the store's history was lost since, and the author began anew (seed 151).
    #[test]
    fn what_would_part_a_character_changes_nothing_unless_it_was_removed() {
        let mut paper = Paper::default();
        paper.apply(&insert(5, 0, None, None, "a\u{2_0000}b"));
        let parting = [
            insert(6, 0, unit(5, 1), None, "c"),
            insert(6, 0, None, unit(5, 2), "c"),
            remove(5, 0, 2),
            remove(5, 2, 2),
        ];
        for edit in &parting {
            assert_eq!(paper.check(edit), Err(Unfit::Parts));
            paper.apply(edit);
        }
        assert_eq!(paper.string(), "a\u{2_0000}b");
        paper.apply(&remove(5, 1, 2));
        assert!(parting.iter().all(|edit| paper.check(edit).is_ok()));
    }

    #[test]
    fn a_text_of_other_units_neighbours_or_removals_is_another_one() {
        let edits =
            [insert(5, 0, None, None, "ab\u{2_0000}"), insert(6, 0, unit(5, 0), unit(5, 1), "c"), remove(5, 1, 1)];
        let text_of = |edits: &[Edit]| {
            let mut text = Text::default();
            edits.iter().for_each(|edit| text.apply(&Arc::new(edit.clone())));
            text
        };
        let mut paper = Paper::default();
        edits.iter().for_each(|edit| paper.apply(edit));
        assert_eq!(paper.string(), "ac\u{2_0000}");
        assert!(paper.is_of(&text_of(&edits)));
        assert!(!paper.is_of(&text_of(&edits[..2])), "nothing was removed");
        assert!(!paper.is_of(&text_of(&[edits[0].clone(), edits[2].clone()])), "c is not there");
        let elsewhere = insert(6, 0, None, unit(5, 0), "c");
        assert!(!paper.is_of(&text_of(&[edits[0].clone(), elsewhere, edits[2].clone()])));
    }
}
