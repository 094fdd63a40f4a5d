//! WriteThroughCaching: one order of writes, which each node reads forward, with its own writes; in the end all nodes read the same.
//!
//! Calls that ran beside the object itself are linear.

use iolite_values::ObjectName;

use super::{OfObject, Seen, kept, wrong};
use crate::checker::{Invariant, Violation};
use crate::history::Moment;

pub fn check(object: &ObjectName, of: &OfObject) -> Result<(), Violation> {
    kept::check_prefixes(object, &of.seen)?;
    kept::check(object, &of.beside())?;
    let begun = |birth: u64| of.births.get(&birth).copied();
    for later in &of.seen {
        let of_node = |by, answered| by == later.by && answered < later.asked;
        for earlier in of.seen.iter().filter(|earlier| of_node(earlier.by, earlier.answered)) {
            let is_shorter = earlier.birth == later.birth && later.list.len() < earlier.list.len();
            if is_shorter || begun(later.birth) < begun(earlier.birth) {
                let (earlier, list) = (&earlier.list, &later.list);
                let what = format!("{:?} reads {object} as {earlier:?}, and later as {list:?}", later.by);
                return wrong(Invariant::Forward, what);
            }
        }
        for own in of.kept.iter().filter(|own| of_node(own.by, own.answered)) {
            let is_missing = own.birth == later.birth && !later.list.contains(&own.number);
            if is_missing || begun(later.birth) < begun(own.birth) {
                let (number, list) = (own.number, &later.list);
                let what = format!("{:?} has put {number} into {object}, and reads {list:?}", later.by);
                return wrong(Invariant::Forward, what);
            }
        }
    }
    Ok(())
}

/// All nodes read the same, once everything rests.
pub fn check_same(object: &ObjectName, seen: &[Seen], rested: Moment) -> Result<(), Violation> {
    let last: Vec<&Seen> = seen.iter().filter(|seen| seen.asked >= rested).collect();
    let other = last.windows(2).find(|pair| pair[0].list != pair[1].list);
    other.map_or(Ok(()), |pair| {
        let [one, other] = [pair[0], pair[1]].map(|seen| (seen.by, &seen.list));
        wrong(Invariant::Forward, format!("in the end {object} is read as {one:?} and as {other:?}"))
    })
}
