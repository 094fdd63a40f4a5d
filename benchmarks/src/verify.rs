//! Compares what clients were told with what a fresh session finds.
//!
//! Invariants: every committed mutation is there once, nothing else is, and every read was of what then was there.

use std::collections::{BTreeMap, BTreeSet};

use crate::arguments::Workload;
use crate::talk::{RunResult, State};
use crate::workloads::{SUM, digest};

/// What is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub lost_updates: u64,
    pub violations: u64,
}

pub fn verify(workload: Workload, results: &[RunResult], before: &State, after: &State) -> Findings {
    match workload {
        Workload::Append => appends(results, before, after),
        Workload::Bank => {
            let counted = total(results, before, after);
            Findings { violations: counted.violations + u64::from(after.sum != SUM), ..counted }
        }
        Workload::Counter | Workload::Rmw | Workload::Propagate => total(results, before, after),
    }
}

/// Each mutation adds one. Those without a known end may or may not have.
fn total(results: &[RunResult], before: &State, after: &State) -> Findings {
    let committed: u64 = results.iter().map(|result| result.committed).sum();
    let unknown: u64 = results.iter().map(|result| result.unknown).sum();
    let found = u64::try_from(after.total - before.total).unwrap_or(0);
    Findings { lost_updates: committed.saturating_sub(found), violations: found.saturating_sub(committed + unknown) }
}

fn appends(results: &[RunResult], before: &State, after: &State) -> Findings {
    let mut findings = Findings::default();
    let mut known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for append in results.iter().flat_map(|result| &result.appends) {
        known.entry(&append.list).or_default().insert(&append.element);
        let list = after.lists.get(&append.list).map_or(&[][..], Vec::as_slice);
        if !list.contains(&append.element) {
            findings.lost_updates += 1;
            continue;
        }
        let saw_a_prefix = list.get(..append.seen).is_some_and(|seen| digest(seen) == append.digest);
        if !saw_a_prefix || list.get(append.seen) != Some(&append.element) {
            findings.violations += 1;
        }
    }
    let mut unknown: u64 = results.iter().map(|result| result.unknown).sum();
    for (name, list) in &after.lists {
        let kept = before.lists.get(name).map_or(&[][..], Vec::as_slice);
        let Some(new) = list.strip_prefix(kept) else {
            findings.violations += 1;
            continue;
        };
        let distinct: BTreeSet<&str> = new.iter().map(String::as_str).collect();
        findings.violations += (new.len() - distinct.len()) as u64;
        let own = known.get(name.as_str());
        let foreign = distinct.iter().filter(|element| own.is_none_or(|own| !own.contains(*element))).count() as u64;
        // Whose end is not known may be there.
        findings.violations += foreign.saturating_sub(unknown);
        unknown = unknown.saturating_sub(foreign);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talk::Append;

    fn committed(committed: u64, unknown: u64) -> Vec<RunResult> {
        vec![RunResult { committed, unknown, ..RunResult::default() }]
    }

    fn with_total(total: i64) -> State {
        State { total, sum: SUM, ..State::default() }
    }

    fn lists(elements: &[&str]) -> State {
        let elements = elements.iter().map(|element| (*element).to_owned()).collect();
        State { lists: [("a".to_owned(), elements)].into(), ..State::default() }
    }

    fn appended(element: &str, seen: &[&str]) -> Vec<RunResult> {
        let seen: Vec<String> = seen.iter().map(|element| (*element).to_owned()).collect();
        let append = Append { list: "a".into(), element: element.into(), seen: seen.len(), digest: digest(&seen) };
        vec![RunResult { appends: vec![append], committed: 1, ..RunResult::default() }]
    }

    #[test]
    fn missing_increments_are_lost_and_extra_ones_violations() {
        let check = |committed_, unknown, found| {
            verify(
                Workload::Counter,
                &committed(committed_, unknown),
                &with_total(5),
                &with_total(5 + i64::from(found)),
            )
        };
        assert_eq!(check(10, 0, 10), Findings::default());
        assert_eq!(check(10, 0, 8), Findings { lost_updates: 2, violations: 0 });
        assert_eq!(check(10, 0, 13), Findings { lost_updates: 0, violations: 3 });
        assert_eq!(check(10, 2, 12), Findings::default());
    }

    #[test]
    fn a_bank_whose_sum_changed_is_a_violation() {
        let after = State { sum: SUM - 1, ..with_total(1) };
        assert_eq!(verify(Workload::Bank, &committed(1, 0), &with_total(0), &after).violations, 1);
    }

    #[test]
    fn lists_hold_what_was_appended_once_and_behind_what_was_seen() {
        let before = lists(&["old"]);
        let check = |results: &[RunResult], after: &[&str]| verify(Workload::Append, results, &before, &lists(after));
        let results = appended("x", &["old"]);
        assert_eq!(check(&results, &["old", "x"]), Findings::default());
        assert_eq!(check(&results, &["old"]).lost_updates, 1);
        assert!(check(&results, &["old", "x", "x"]).violations > 0);
        assert!(check(&results, &["old", "y", "x"]).violations > 0);
        assert!(check(&results, &["x"]).violations > 0);
        assert!(check(&appended("x", &[]), &["old", "x"]).violations > 0);
    }
}
