//! A walk over the reads of a total in the order of time: what each of them holds.
//!
//! Invariant: an addition is called certain only if every order of the transactions has it before the read.

use crate::class::Class;
use crate::explain;
use crate::operation::Object;
use crate::own::bounds::OPEN_AT_ONCE;
use crate::own::index::Index;
use crate::own::sums::{Part, parts};
use crate::violation::TransactionNumber;

use super::{Known, Sight, Tally};

/// What one read says.
pub struct Finding {
    pub sight: Sight,
    /// Additions that times and other objects leave open, and whether they are in the total.
    pub parts: Result<Vec<(TransactionNumber, Part)>, Impossible>,
}

/// Why a total cannot be.
pub struct Impossible {
    certain: i128,
    open: Vec<i64>,
    since: Option<TransactionNumber>,
    /// Transactions of which other objects tell whether they come before the read.
    told: Vec<(TransactionNumber, Part)>,
}

impl Finding {
    pub fn choice(&self, wanted: Part) -> impl Iterator<Item = (TransactionNumber, TransactionNumber)> + '_ {
        let parts = self.parts.iter().flatten().filter(move |(_, part)| *part == wanted);
        parts.map(|(writer, _)| (*writer, self.sight.by))
    }
}

impl Impossible {
    pub fn explain(&self, index: &Index<'_>, object: Object, sight: Sight) -> crate::Violation {
        let open = match self.open.is_empty() {
            true => "nothing else is possible".to_owned(),
            false => format!("of {:?} none, some or all may be in it", self.open),
        };
        let Impossible { certain, since, .. } = self;
        let from = since.map_or(String::new(), |since| format!(" after what T{} had read", since.0));
        let told = self.told.iter().map(|(number, part)| match part {
            Part::Always => format!("; other objects say that T{} comes before it", number.0),
            Part::Never => format!("; other objects say that T{} comes after it", number.0),
            Part::Either => String::new(),
        });
        let what = format!(
            "T{} read {} from {object}{from} (without its own additions): {certain} is certain, {open}{}",
            sight.by.0,
            sight.total,
            told.collect::<String>()
        );
        let told = self.told.iter().map(|(number, _)| *number);
        let about: Vec<TransactionNumber> = since.iter().copied().chain(told).chain([sight.by]).collect();
        explain::fact(index, Class::ImpossibleTotal, what, &about)
    }
}

/// A walk over the reads of a total in the order of time.
pub struct Sweep<'a, 'h> {
    index: &'a Index<'h>,
    tally: &'a mut Tally,
    known: Option<&'a Known>,
    /// The sum of what ended before the read began.
    certain: i128,
    /// Places of additions that were invoked and are not certain yet.
    open: Vec<usize>,
    /// Those of them of which nobody knows when they will be, if ever; and what they come to at least and at most.
    lingering: Vec<usize>,
    bounds: (i128, i128),
    next: usize,
    /// The read that ended last of those before this one, with what was open to it.
    base: Vec<Base>,
}

/// An earlier read.
struct Base {
    ended: u64,
    sight: Sight,
    certain: i128,
    open: Vec<(usize, Part)>,
}

impl<'a, 'h> Sweep<'a, 'h> {
    pub fn new(index: &'a Index<'h>, tally: &'a mut Tally, known: Option<&'a Known>) -> Sweep<'a, 'h> {
        let certain = i128::from(tally.initial);
        Sweep {
            index,
            tally,
            known,
            certain,
            open: Vec::new(),
            lingering: Vec::new(),
            bounds: (0, 0),
            next: 0,
            base: Vec::new(),
        }
    }

    pub fn run(&mut self, mut tell: impl FnMut(Finding)) {
        for place in 0..self.tally.sights.len() {
            let sight = self.tally.sights[place];
            tell(self.see(sight));
        }
    }

    fn see(&mut self, sight: Sight) -> Finding {
        let (invoked, ended) = (self.index.invoked(sight.by), self.index.ended(sight.by));
        self.advance(invoked);
        let additions = &self.tally.additions;
        let meanwhile = additions[self.next..].iter().take_while(|one| self.index.invoked(one.by) <= ended).count();
        let mut open: Vec<usize> = self.open.iter().copied().chain(self.next..self.next + meanwhile).collect();
        if self.lingering.len() > OPEN_AT_ONCE {
            return self.see_roughly(sight, &open);
        }
        open.extend(&self.lingering);
        open.sort_unstable();
        let open = open.into_iter().filter(|&place| additions[place].by != sight.by);
        let known = |place: usize| self.known.map_or(Part::Either, |known| known.part(additions[place].by, sight.by));
        let mut parts_of: Vec<(usize, Part)> = open.map(|place| (place, known(place))).collect();
        let amount = |place: usize| i128::from(additions[place].amount);
        let always = parts_of.iter().filter(|(_, part)| *part == Part::Always).map(|(place, _)| amount(*place));
        let certain = self.certain + always.sum::<i128>();
        let undecided: Vec<usize> = places_of(&parts_of, Part::Either).collect();
        let amounts: Vec<i64> = undecided.iter().map(|&place| additions[place].amount).collect();
        let Some(decided) = parts(&amounts, sight.total - certain) else {
            let told = parts_of.iter().filter(|(_, part)| *part != Part::Either);
            let told = told.map(|&(place, part)| (additions[place].by, part)).collect();
            return Finding { sight, parts: Err(Impossible { certain, open: amounts, since: None, told }) };
        };
        let mut decisions = decided.iter();
        for (_, part) in parts_of.iter_mut().filter(|(_, part)| *part == Part::Either) {
            *part = *decisions.next().expect("there is one for each");
        }
        if let Some(impossible) = self.against_base(sight, &parts_of) {
            return Finding { sight, parts: Err(impossible) };
        }
        let named = undecided.iter().zip(decided).filter(|(_, part)| *part != Part::Either);
        let named = named.map(|(&place, part)| (additions[place].by, part)).collect();
        self.remember(sight, parts_of);
        Finding { sight, parts: Ok(named) }
    }

    /// With too many additions that may come at any time, only the least and the greatest sum count.
    fn see_roughly(&mut self, sight: Sight, open: &[usize]) -> Finding {
        self.base.clear();
        let amounts: Vec<i64> = open.iter().map(|&place| self.tally.additions[place].amount).collect();
        let wide = || amounts.iter().map(|&amount| i128::from(amount));
        let least = self.bounds.0 + wide().filter(|amount| *amount < 0).sum::<i128>();
        let greatest = self.bounds.1 + wide().filter(|amount| *amount > 0).sum::<i128>();
        let is_possible = (least..=greatest).contains(&(sight.total - self.certain));
        let impossible = || Impossible { certain: self.certain, open: amounts.clone(), since: None, told: Vec::new() };
        Finding { sight, parts: is_possible.then(Vec::new).ok_or_else(impossible) }
    }

    /// Takes in what was invoked until then, and counts what ended.
    fn advance(&mut self, invoked: u64) {
        let additions = &self.tally.additions;
        let came = additions[self.next..].partition_point(|one| self.index.invoked(one.by) <= invoked);
        for (place, addition) in additions.iter().enumerate().skip(self.next).take(came) {
            if addition.ended < u64::MAX {
                self.open.push(place);
                continue;
            }
            self.lingering.push(place);
            let amount = i128::from(addition.amount);
            self.bounds = (self.bounds.0 + amount.min(0), self.bounds.1 + amount.max(0));
        }
        self.next += came;
        let certain = &mut self.certain;
        self.open.retain(|&place| {
            let is_certain = additions[place].ended < invoked;
            if is_certain {
                *certain += i128::from(additions[place].amount);
            }
            !is_certain
        });
    }

    /// What was read since an earlier read has to be the sum of what came since.
    fn against_base(&self, sight: Sight, now: &[(usize, Part)]) -> Option<Impossible> {
        let invoked = self.index.invoked(sight.by);
        let before = self.base.iter().filter(|base| base.ended < invoked).max_by_key(|base| base.ended)?;
        let mut certain = self.certain - before.certain;
        let mut open = Vec::new();
        for (place, then, now) in merged(&before.open, now) {
            let amount = self.tally.additions[place].amount;
            // Nothing now: it has become certain, and is counted as such. Nothing then: it was not yet invoked, and not in that read.
            match (then, now) {
                (Some(Part::Always), None) => certain -= i128::from(amount),
                (Some(Part::Either), None) => {
                    certain -= i128::from(amount);
                    open.push(amount);
                }
                (Some(Part::Either), Some(Part::Always | Part::Either)) => open.push(amount),
                (Some(Part::Never) | None, Some(Part::Always)) => certain += i128::from(amount),
                (Some(Part::Never) | None, Some(Part::Either)) => open.push(amount),
                (Some(Part::Always), Some(_)) | (Some(Part::Never), None) | (_, Some(Part::Never)) | (None, None) => {}
            }
        }
        let came = sight.total - before.sight.total;
        match parts(&open, came - certain) {
            Some(_) => None,
            None => Some(Impossible {
                certain: before.sight.total + certain,
                open,
                since: Some(before.sight.by),
                told: Vec::new(),
            }),
        }
    }

    /// What this read holds, every read after it holds.
    fn remember(&mut self, sight: Sight, parts_of: Vec<(usize, Part)>) {
        let (invoked, ended) = (self.index.invoked(sight.by), self.index.ended(sight.by));
        for place in places_of(&parts_of, Part::Always) {
            let addition = &mut self.tally.additions[place];
            addition.ended = addition.ended.min(ended);
            if let Ok(found) = self.lingering.binary_search(&place) {
                self.lingering.remove(found);
                self.open.push(place);
                let amount = i128::from(addition.amount);
                self.bounds = (self.bounds.0 - amount.min(0), self.bounds.1 - amount.max(0));
            }
        }
        // Of reads that ended before this one began, only the last can be the base of a later one.
        let last = self.base.iter().map(|base| base.ended).filter(|ended| *ended < invoked).max();
        self.base.retain(|base| last.is_none_or(|last| base.ended >= last));
        self.base.push(Base { ended, sight, certain: self.certain, open: parts_of });
    }
}

fn places_of(parts: &[(usize, Part)], wanted: Part) -> impl Iterator<Item = usize> {
    parts.iter().filter(move |(_, part)| *part == wanted).map(|(place, _)| *place)
}

/// Two lists in the order of places, side by side.
fn merged(then: &[(usize, Part)], now: &[(usize, Part)]) -> Vec<(usize, Option<Part>, Option<Part>)> {
    let (mut then, mut now) = (then.iter().peekable(), now.iter().peekable());
    let mut merged = Vec::new();
    while let Some(place) = then.peek().into_iter().chain(now.peek()).map(|(place, _)| *place).min() {
        let part = |one: &(usize, Part)| one.1;
        merged.push((place, then.next_if(|one| one.0 == place).map(part), now.next_if(|one| one.0 == place).map(part)));
    }
    merged
}
