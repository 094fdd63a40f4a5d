//! Violations for people: what is wrong in a sentence, then who did what when, then which must come before which and why.

mod reasons;
mod timeline;

use std::fmt::Write;

use crate::class::{Class, Pattern};
use crate::operation::Object;
use crate::own::{Basis, EdgeKind, Index};
use crate::violation::{TransactionNumber, Violation};

/// A dependency of a cycle: the first comes before the second, and why.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub from: TransactionNumber,
    pub to: TransactionNumber,
    pub kind: EdgeKind,
    pub basis: Basis,
    pub about: Option<Object>,
}

/// Something that is wrong by itself.
pub fn fact(index: &Index<'_>, class: Class, what: String, about: &[TransactionNumber]) -> Violation {
    let mut explanation = format!("{class}: {what}\n");
    timeline::write(index, about, &[], &mut explanation);
    Violation { class, pattern: None, transactions: about.to_vec(), explanation }
}

/// A cycle: each comes before the next, and the last before the first.
pub fn cycle(index: &Index<'_>, class: Class, links: Vec<Link>) -> Violation {
    let transactions: Vec<TransactionNumber> = links.iter().map(|link| link.from).collect();
    let pattern = pattern(index, &links);
    let name = pattern.map_or(String::new(), |pattern| format!(" ({pattern})"));
    let count = transactions.len();
    let mut explanation =
        format!("{class}{name}: no order of these {count} transactions agrees with what they saw and when\n");
    let objects: Vec<Object> = links.iter().filter_map(|link| link.about).collect();
    timeline::write(index, &transactions, &objects, &mut explanation);
    explanation.push_str("  because\n");
    for link in &links {
        let _infallible = writeln!(
            explanation,
            "    T{} before T{}  {:<9} {}",
            link.from.0,
            link.to.0,
            reasons::name(link.kind),
            reasons::reason(index, link)
        );
    }
    Violation { class, pattern, transactions, explanation }
}

/// What people call a cycle of two.
fn pattern(index: &Index<'_>, links: &[Link]) -> Option<Pattern> {
    use EdgeKind::{Follow, ReadWrite, RealTime, WriteRead, WriteWrite};
    let [one, other] = links else { return None };
    let (one, other) = if one.kind <= other.kind { (one, other) } else { (other, one) };
    let same = one.about.is_some() && one.about == other.about;
    let both_write = [one.from, one.to].iter().all(|&number| index.transaction(number).writes());
    match (one.kind, other.kind) {
        (WriteWrite | ReadWrite, ReadWrite) if same && both_write => Some(Pattern::LostUpdate),
        (ReadWrite, ReadWrite) => Some(Pattern::WriteSkew),
        (WriteWrite | WriteRead, ReadWrite) => Some(Pattern::TornRead),
        (ReadWrite, RealTime) => Some(Pattern::StaleRead),
        (WriteWrite | WriteRead, RealTime) => Some(Pattern::RealTimeInversion),
        (WriteWrite | WriteRead, WriteWrite | WriteRead)
        | (ReadWrite, WriteWrite | WriteRead)
        | (RealTime | Follow, _)
        | (_, Follow) => None,
    }
}
