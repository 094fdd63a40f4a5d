//! ExplicitCaching: a node's copy has what it pulled, and its own writes since. What was pushed is at the object, and in every copy that is pulled later.
//!
//! Of two pushes from one version the second is refused: else a state would come to the object that has not all that was there, which is looked at when it comes.

use iolite_values::ObjectName;

use super::{Kept, OfObject, Process, Seen, kept, wrong};
use crate::checker::{Invariant, Violation};
use crate::history::Moment;
use crate::objects::names::{At, PULL, PUSH};
use crate::objects::told::{Told, WordTold};

pub fn check(told: &Told, object: &ObjectName, of: &OfObject) -> Result<(), Violation> {
    let copies = Copies { told, object };
    let (seen, own): (Vec<&Seen>, Vec<&Kept>) =
        (of.seen.iter().filter(|seen| seen.is_copy).collect(), of.kept.iter().filter(|kept| kept.is_copy).collect());
    for later in &seen {
        let is_one_copy =
            |by, from| by == later.by && from < later.asked && !copies.is_replaced(by, from, later.answered);
        let lost = own.iter().find(|own| {
            own.answered < later.asked && is_one_copy(own.by, own.ended) && !later.list.contains(&own.number)
        });
        if let Some(lost) = lost {
            let (by, number) = (later.by, lost.number);
            let what = format!("{by:?} has put {number} into its copy of {object}, and reads {:?}", later.list);
            return wrong(Invariant::OwnCopies, what);
        }
        let other = seen.iter().find(|earlier| {
            earlier.answered < later.asked
                && is_one_copy(earlier.by, earlier.answered)
                && !later.list.starts_with(&earlier.list)
        });
        if let Some(earlier) = other {
            let (by, earlier) = (later.by, &earlier.list);
            let what = format!("the copy of {object} at {by:?} was {earlier:?}, and without a pull {:?}", later.list);
            return wrong(Invariant::OwnCopies, what);
        }
    }
    let mut beside = of.beside();
    beside.kept.extend(own.iter().filter_map(|own| copies.pushed(own)));
    check_pulled(&copies, &beside, &seen)?;
    kept::check(object, &beside)
}

/// A copy that was pulled has all that was at the object then.
fn check_pulled(copies: &Copies<'_>, beside: &OfObject, seen: &[&Seen]) -> Result<(), Violation> {
    for pull in copies.words(PULL) {
        let Some((answered, Ok(_))) = &pull.answered else { continue };
        let of_node = |seen: &&&Seen| seen.by == (pull.at, pull.life) && seen.asked > *answered;
        for seen in seen.iter().filter(of_node) {
            let before = beside.kept.iter().filter(|kept| kept.answered < pull.asked && kept.birth == seen.birth);
            if let Some(lost) = before.into_iter().find(|kept| !seen.list.contains(&kept.number)) {
                let (by, object, number) = (seen.by, copies.object, lost.number);
                let what = format!("{by:?} pulled {object} after {number} was put in, and reads {:?}", seen.list);
                return wrong(Invariant::OwnCopies, what);
            }
        }
    }
    Ok(())
}

struct Copies<'a> {
    told: &'a Told,
    object: &'a ObjectName,
}

impl<'a> Copies<'a> {
    fn words(&self, word: &'static str) -> impl Iterator<Item = &'a WordTold> {
        let object = self.object;
        self.told.words.iter().filter(move |told| told.object == *object && told.word == word)
    }

    /// Whether the copy of a node may be another one at the end of this time.
    fn is_replaced(&self, (at, life): Process, from: Moment, to: Moment) -> bool {
        let is_pulled = self.words(PULL).any(|pull| {
            let is_over = pull.answered.as_ref().is_some_and(|(answered, _)| *answered < from);
            (pull.at, pull.life) == (at, life) && pull.asked <= to && !is_over
        });
        let is_here = |forgotten: &&(Moment, At, ObjectName)| forgotten.1 == at && forgotten.2 == *self.object;
        is_pulled || self.told.forgotten.iter().filter(is_here).any(|(moment, ..)| (from..=to).contains(moment))
    }

    /// The number is at the object, once a push has taken it there. Later pushes need not.
    fn pushed(&self, own: &Kept) -> Option<Kept> {
        let taken = |push: &WordTold| {
            let (answered, result) = push.answered.as_ref()?;
            let is_later = (push.at, push.life) == own.by && own.answered < push.asked;
            let is_taken = is_later && result.is_ok() && !self.is_replaced(own.by, own.ended, *answered);
            is_taken.then_some((*answered, push.asked))
        };
        let (answered, ended) = self.words(PUSH).filter_map(taken).min()?;
        Some(Kept { answered, ended, is_copy: false, ..own.clone() })
    }
}
