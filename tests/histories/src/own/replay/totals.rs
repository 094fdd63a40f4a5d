//! Totals in the order of timestamps: only additions without a timestamp are open.

use crate::class::Class;
use crate::explain;
use crate::own::bounds::OPEN_AT_ONCE;
use crate::own::index::{Index, Standing};
use crate::own::positions::{Position, Positions};
use crate::own::sums::{Part, parts};
use crate::own::tallies::{Addition, Sight, Tally};
use crate::violation::Findings;

pub fn check(index: &Index<'_>, positions: &Positions, tallies: &[Tally], findings: &mut Findings) {
    for tally in tallies {
        let mut sights: Vec<(Position, Sight)> =
            tally.sights.iter().filter_map(|sight| Some((positions.get(sight.by)?, *sight))).collect();
        sights.sort_by_key(|(position, sight)| (*position, sight.by));
        let mut walk = Walk::new(index, positions, tally);
        for (position, sight) in sights {
            let Err(expected) = walk.see(position, sight) else { continue };
            findings.add(Class::Replay, || {
                let what = format!(
                    "T{} read {} from {} (without its own additions), but in the order of timestamps it is {expected}",
                    sight.by.0, sight.total, tally.object
                );
                explain::fact(index, Class::Replay, what, &[sight.by])
            });
        }
    }
}

struct Walk<'a, 'h> {
    index: &'a Index<'h>,
    /// In the order of timestamps, those not yet counted at the end of the iterator.
    stamped: std::iter::Peekable<std::vec::IntoIter<(Position, Addition)>>,
    /// Without a timestamp, and until when they took effect at the latest, if that is known.
    open: Vec<(Addition, Option<Position>)>,
    /// What the first so many of them come to at least and at most.
    bounds: Vec<(i128, i128)>,
    certain: i128,
    /// What the last read left over for additions without timestamps.
    base: i128,
}

impl<'a, 'h> Walk<'a, 'h> {
    fn new(index: &'a Index<'h>, positions: &Positions, tally: &Tally) -> Walk<'a, 'h> {
        let is_stamped = |addition: &&Addition| index.standing(addition.by) == Standing::Acknowledged;
        let stamped = tally.additions.iter().filter(is_stamped);
        let mut stamped: Vec<(Position, Addition)> =
            stamped.filter_map(|addition| Some((positions.get(addition.by)?, *addition))).collect();
        stamped.sort_by_key(|(position, addition)| (*position, addition.by));
        let open = tally.additions.iter().filter(|addition| !is_stamped(addition));
        let open: Vec<_> = open.map(|addition| (*addition, positions.get(addition.by))).collect();
        let sums = open.iter().scan((0, 0), |(least, greatest), (addition, _)| {
            let amount = i128::from(addition.amount);
            (*least, *greatest) = (*least + amount.min(0), *greatest + amount.max(0));
            Some((*least, *greatest))
        });
        let bounds = sums.collect();
        Walk { index, stamped: stamped.into_iter().peekable(), open, bounds, certain: tally.initial.into(), base: 0 }
    }

    fn see(&mut self, position: Position, sight: Sight) -> Result<(), String> {
        while let Some((_, addition)) = self.stamped.next_if(|(at, _)| *at < position) {
            self.certain += i128::from(addition.amount);
        }
        let left = sight.total - self.certain;
        if self.open.len() > OPEN_AT_ONCE {
            return self.see_roughly(sight, left);
        }
        // What is open now: some choice has to give what is left, and what is more than at the last read as well.
        let until = self.index.transaction(sight.by).completed.0;
        let (mut sure, mut unsure, mut amounts, mut all) = (0_i128, Vec::new(), Vec::new(), Vec::new());
        for (place, (addition, at)) in self.open.iter().enumerate() {
            if self.index.invoked(addition.by) > until {
                continue;
            }
            all.push(addition.amount);
            if at.is_some_and(|at| at <= position) {
                sure += i128::from(addition.amount);
            } else {
                unsure.push(place);
                amounts.push(addition.amount);
            }
        }
        let expected = |certain: i128| match amounts.is_empty() {
            true => certain.to_string(),
            false => format!("{certain} and some of {amounts:?}"),
        };
        let Some(decided) = parts(&amounts, left - sure) else { return Err(expected(self.certain + sure)) };
        if parts(&all, left - self.base).is_none() {
            return Err(expected(self.certain + self.base));
        }
        self.base = left;
        for (place, _) in unsure.into_iter().zip(decided).filter(|(_, part)| *part == Part::Always) {
            self.open[place].1 = Some(position);
        }
        Ok(())
    }

    /// With too many additions without a timestamp, only the least and the greatest sum count.
    fn see_roughly(&self, sight: Sight, left: i128) -> Result<(), String> {
        let until = self.index.transaction(sight.by).completed.0;
        let count = self.open.partition_point(|(addition, _)| self.index.invoked(addition.by) <= until);
        let (least, greatest) = count.checked_sub(1).map_or((0, 0), |last| self.bounds[last]);
        match (least..=greatest).contains(&left) {
            true => Ok(()),
            false => Err(format!("from {} to {}", self.certain + least, self.certain + greatest)),
        }
    }
}
