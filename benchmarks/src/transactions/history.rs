//! What clients wrote, and whether it is all there at the end.
//!
//! Every value names its writer, so an increment says which value it was made from. In a serial order each value is followed by at most
//! one other. Invariants of a system that keeps its promise: no two committed increments were made from the same value; each was made
//! from one that a transaction wrote which committed, or may have; and the last value is such a one that no increment replaced.
//! A put of a key that was not read may replace any value, so a put that is itself lost goes unnoticed.

use std::collections::{BTreeMap, BTreeSet};

use crate::transactions::workload::{KeyNumber, Value, Writer};
use crate::verify::Findings;

/// One key that one transaction wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    pub key: KeyNumber,
    pub writer: Writer,
    pub kind: WriteKind,
    pub certainty: Certainty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    Increment { of: Writer },
    Put,
}

/// What the client was told of the transaction. Writes of aborted ones are in no history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    Committed,
    Unknown,
}

/// Compares all writes with what a fresh session finds, a value a key.
pub fn verify(writes: &[Write], found: &[Option<Value>]) -> Findings {
    let mut of_keys: BTreeMap<KeyNumber, Vec<&Write>> = BTreeMap::new();
    for write in writes {
        of_keys.entry(write.key).or_default().push(write);
    }
    let mut findings = Findings::default();
    for (index, last) in (0..).zip(found) {
        let writes = of_keys.get(&KeyNumber(index)).map_or(&[][..], Vec::as_slice);
        let Findings { lost_updates, violations } = verify_key(writes, *last);
        findings.lost_updates += lost_updates;
        findings.violations += violations;
    }
    findings
}

fn verify_key(writes: &[&Write], last: Option<Value>) -> Findings {
    let committed = |write: &&&Write| write.certainty == Certainty::Committed;
    let Some(last) = last else {
        return Findings { lost_updates: writes.iter().filter(committed).count() as u64, violations: 1 };
    };
    let writers: BTreeSet<Writer> = writes.iter().map(|write| write.writer).chain([Writer::LOADER]).collect();
    let mut replaced: BTreeMap<Writer, u64> = BTreeMap::new();
    for write in writes.iter().filter(committed) {
        if let WriteKind::Increment { of } = write.kind {
            *replaced.entry(of).or_default() += 1;
        }
    }
    let twice: u64 = replaced.values().map(|times| times - 1).sum();
    let undone = u64::from(replaced.contains_key(&last.writer));
    let foreign = replaced.keys().filter(|of| !writers.contains(of)).count() as u64;
    let counted = verify_count(writes, last.count);
    Findings {
        lost_updates: counted.lost_updates.max(twice + undone),
        violations: counted.violations + foreign + u64::from(!writers.contains(&last.writer)),
    }
}

/// The count is that of the increments; where a put may have begun it anew, not more than that.
fn verify_count(writes: &[&Write], count: u64) -> Findings {
    let (mut committed, mut unknown, mut puts) = (0, 0, 0);
    for write in writes {
        match (write.kind, write.certainty) {
            (WriteKind::Put, Certainty::Committed | Certainty::Unknown) => puts += 1,
            (WriteKind::Increment { .. }, Certainty::Committed) => committed += 1,
            (WriteKind::Increment { .. }, Certainty::Unknown) => unknown += 1,
        }
    }
    let lost_updates = if puts == 0 { u64::saturating_sub(committed, count) } else { 0 };
    Findings { lost_updates, violations: count.saturating_sub(committed + unknown) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: KeyNumber = KeyNumber(0);

    fn writer(attempt: u64) -> Writer {
        Writer::of(1, attempt)
    }

    /// An increment of the value that another attempt wrote; 0 is the loader.
    fn increment(attempt: u64, of: u64) -> Write {
        let of = if of == 0 { Writer::LOADER } else { writer(of) };
        Write { key: KEY, writer: writer(attempt), kind: WriteKind::Increment { of }, certainty: Certainty::Committed }
    }

    fn put(attempt: u64) -> Write {
        Write { kind: WriteKind::Put, ..increment(attempt, 0) }
    }

    fn unknown(write: Write) -> Write {
        Write { certainty: Certainty::Unknown, ..write }
    }

    fn check(writes: &[Write], count: u64, last: u64) -> (u64, u64) {
        let last = if last == 0 { Writer::LOADER } else { writer(last) };
        let Findings { lost_updates, violations } = verify(writes, &[Some(Value { count, writer: last })]);
        (lost_updates, violations)
    }

    #[test]
    fn a_chain_of_increments_loses_nothing() {
        assert_eq!(check(&[], 0, 0), (0, 0));
        assert_eq!(check(&[increment(1, 0), increment(2, 1)], 2, 2), (0, 0));
        assert_eq!(check(&[increment(1, 0), put(2), increment(3, 2)], 1, 3), (0, 0));
    }

    #[test]
    fn two_increments_of_one_value_are_a_lost_update() {
        assert_eq!(check(&[increment(1, 0), increment(2, 0)], 1, 2), (1, 0));
        // A put afterwards hides nothing.
        assert_eq!(check(&[increment(1, 0), increment(2, 0), put(3)], 0, 3), (1, 0));
    }

    #[test]
    fn an_acknowledged_increment_that_is_gone_at_the_end_is_lost() {
        assert_eq!(check(&[increment(1, 0), increment(2, 1)], 1, 1), (1, 0));
        assert_eq!(check(&[put(1), increment(2, 1)], 0, 1), (1, 0));
        assert_eq!(verify(&[increment(1, 0)], &[None]), Findings { lost_updates: 1, violations: 1 });
    }

    #[test]
    fn an_unknown_outcome_may_have_happened_or_not() {
        assert_eq!(check(&[increment(1, 0), unknown(increment(2, 1))], 1, 1), (0, 0));
        assert_eq!(check(&[increment(1, 0), unknown(increment(2, 1))], 2, 2), (0, 0));
        assert_eq!(check(&[increment(1, 0), unknown(increment(2, 1)), increment(3, 2)], 3, 3), (0, 0));
    }

    #[test]
    fn a_value_that_nobody_wrote_or_an_increment_of_one_is_a_violation() {
        assert_eq!(check(&[increment(1, 0)], 1, 9), (0, 1));
        assert_eq!(check(&[increment(1, 0), increment(2, 9)], 2, 2), (0, 1));
        assert_eq!(check(&[increment(1, 0)], 3, 1), (0, 2));
        // A key that no client wrote has to be as it was loaded.
        assert_eq!(check(&[], 0, 1), (0, 1));
    }
}
