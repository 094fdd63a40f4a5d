//! Numbers that were put in and acknowledged are in every later list, and lists grow at their end only.
//!
//! The lists of one beginning of an object are prefixes of each other. A later list is never shorter, and has all that was acknowledged before it was asked for.
//! Another beginning comes after it, and then none of the first one's numbers was acknowledged that was put in later.

use iolite_values::ObjectName;

use super::{Kept, OfObject, Seen, wrong};
use crate::checker::{Invariant, Violation};

pub fn check(object: &ObjectName, of: &OfObject) -> Result<(), Violation> {
    check_prefixes(object, &of.seen)?;
    check_forward(object, &of.seen)?;
    check_kept(object, of)
}

pub fn check_prefixes(object: &ObjectName, seen: &[Seen]) -> Result<(), Violation> {
    let mut by_length: Vec<&Seen> = seen.iter().collect();
    by_length.sort_by_key(|seen| (seen.birth, seen.list.len()));
    for pair in by_length.windows(2) {
        let [shorter, longer] = pair else { continue };
        if shorter.birth == longer.birth && !longer.list.starts_with(&shorter.list) {
            let (shorter, longer) = (&shorter.list, &longer.list);
            return wrong(Invariant::KeptWrites, format!("{object} was {shorter:?}, and {longer:?}"));
        }
    }
    Ok(())
}

fn check_forward(object: &ObjectName, seen: &[Seen]) -> Result<(), Violation> {
    for (earlier, later) in seen.iter().flat_map(|one| seen.iter().map(move |other| (one, other))) {
        let is_before = earlier.answered < later.asked && earlier.birth == later.birth;
        if is_before && later.list.len() < earlier.list.len() {
            let (earlier, later) = (&earlier.list, &later.list);
            return wrong(Invariant::KeptWrites, format!("{object} was {earlier:?}, and later {later:?}"));
        }
    }
    Ok(())
}

pub fn check_kept(object: &ObjectName, of: &OfObject) -> Result<(), Violation> {
    let begun = |birth: u64| of.births.get(&birth).copied();
    for kept in &of.kept {
        for seen in of.seen.iter().filter(|seen| seen.asked > kept.answered) {
            check_seen(object, of, kept, seen)?;
        }
        let next = of.births.values().copied().filter(|at| Some(*at) > begun(kept.birth)).min();
        if next.is_some_and(|next| kept.ended > next) {
            let what = format!("{} was put into {object} and acknowledged, after it had begun anew", kept.number);
            return wrong(Invariant::KeptWrites, what);
        }
    }
    Ok(())
}

/// A list that was asked for after a number was acknowledged.
pub fn check_seen(object: &ObjectName, of: &OfObject, kept: &Kept, seen: &Seen) -> Result<(), Violation> {
    let begun = |birth: u64| of.births.get(&birth).copied();
    if seen.birth == kept.birth && !seen.list.contains(&kept.number) {
        let what = format!("{} was put into {object} and acknowledged, and not read: {:?}", kept.number, seen.list);
        return wrong(Invariant::KeptWrites, what);
    }
    if seen.birth != kept.birth && begun(seen.birth) < begun(kept.birth) {
        let what = format!("{object} is read as it was before it began anew: {:?}", seen.list);
        return wrong(Invariant::KeptWrites, what);
    }
    Ok(())
}
