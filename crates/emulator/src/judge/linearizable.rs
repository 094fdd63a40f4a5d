//! Whether the operations on one object could have happened one at a time, each between its start and its end.
//!
//! Values are unique, so each read belongs to one write. A write and its reads are a cluster: they come one after the other, and no other write
//! comes between. Cluster A must come before B if an operation of A ends before one of B starts; the history is linearizable if no two clusters
//! must each come before the other, and no read ends before its write starts.
//! Source: Gibbons and Korach, "Testing shared memories" (1997), for the case in which the reads-from relation is known.

use std::collections::BTreeMap;

use super::operation::{Act, NEVER, Operation, Time, Value, seconds, told};

/// A write and the reads of its value.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    write: Operation,
    value: Value,
    has_reads: bool,
    /// The first end and the last start in it.
    first_end: Time,
    last_start: Time,
}

pub(super) fn check(operations: &[Operation]) -> Result<(), String> {
    let mut clusters: BTreeMap<Value, Cluster> = BTreeMap::new();
    for operation in operations {
        if let Act::Write(value) = operation.act {
            let (first_end, last_start) = (operation.end, operation.start);
            clusters.insert(value, Cluster { write: *operation, value, has_reads: false, first_end, last_start });
        }
    }
    for read in operations {
        let Act::Read(value) = read.act else { continue };
        let Some(cluster) = clusters.get_mut(&value).filter(|cluster| cluster.write.start <= read.end) else {
            return Err(format!(
                "a get from {} to {} saw {}, which no put had written",
                seconds(read.start),
                seconds(read.end),
                told(value)
            ));
        };
        cluster.has_reads = true;
        cluster.first_end = cluster.first_end.min(read.end);
        cluster.last_start = cluster.last_start.max(read.start);
    }
    // What was neither answered nor seen need not have happened.
    let mut clusters: Vec<Cluster> =
        clusters.into_values().filter(|cluster| cluster.has_reads || cluster.write.end != NEVER).collect();
    clusters.sort_by_key(|cluster| cluster.first_end);
    conflict(&clusters).map_or(Ok(()), |(one, other)| Err(explained(one, other)))
}

/// Two clusters that must each come before the other.
fn conflict(clusters: &[Cluster]) -> Option<(&Cluster, &Cluster)> {
    for (place, one) in clusters.iter().enumerate() {
        // Only those whose first end is before the last start of this one can follow it and come before it.
        let others = clusters[place + 1..].iter().take_while(|other| other.first_end < one.last_start);
        if let Some(other) = others.into_iter().find(|other| one.first_end < other.last_start) {
            return Some((one, other));
        }
    }
    None
}

fn explained(one: &Cluster, other: &Cluster) -> String {
    let told = |cluster: &Cluster| {
        let Cluster { write, value, first_end, last_start, .. } = cluster;
        format!(
            "{} (put from {} to {}, certainly there by {} and last seen by what began at {})",
            told(*value),
            seconds(write.start),
            seconds(write.end),
            seconds(*first_end),
            seconds(*last_start)
        )
    };
    format!("two values must each be older than the other: {} and {}", told(one), told(other))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::operation::BEFORE;
    use super::*;

    /// Tries all orders: what the check must agree with, by another way.
    fn has_order(left: &mut Vec<Operation>, value: Value) -> bool {
        if left.iter().all(|operation| operation.end == NEVER) {
            return true;
        }
        let first_end = left.iter().map(|operation| operation.end).min().unwrap_or(NEVER);
        for place in 0..left.len() {
            let operation = left[place];
            if operation.start > first_end {
                continue;
            }
            let after = match operation.act {
                Act::Write(written) => written,
                Act::Read(read) if read == value => value,
                Act::Read(_) => continue,
            };
            let taken = left.remove(place);
            let has_order = has_order(left, after);
            left.insert(place, taken);
            if has_order {
                return true;
            }
        }
        false
    }

    fn histories() -> impl Strategy<Value = Vec<Operation>> {
        let operation = (0..20_i64, 1..10_i64, any::<bool>(), 0..5_u64, 0..8_u8);
        proptest::collection::vec(operation, 1..7).prop_map(|drawn| {
            let first = Operation { start: BEFORE, end: BEFORE, act: Act::Write(Some(0)) };
            let rest = drawn.into_iter().enumerate().map(|(place, (start, length, is_write, value, unanswered))| {
                let act = match is_write {
                    true => Act::Write(Some(place as u64 + 1)),
                    false => Act::Read(Some(value)),
                };
                let end = if is_write && unanswered == 0 { NEVER } else { start + length };
                Operation { start, end, act }
            });
            std::iter::once(first).chain(rest).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn the_check_agrees_with_trying_all_orders(history in histories()) {
            prop_assert_eq!(check(&history).is_ok(), has_order(&mut history.clone(), None), "{:?}", history);
        }
    }

    #[test]
    fn a_new_value_followed_by_the_old_one_is_found() {
        let history = [
            Operation { start: BEFORE, end: BEFORE, act: Act::Write(Some(1)) },
            Operation { start: 0, end: 100, act: Act::Write(Some(2)) },
            Operation { start: 10, end: 20, act: Act::Read(Some(2)) },
            Operation { start: 30, end: 40, act: Act::Read(Some(1)) },
        ];
        assert!(check(&history).is_err_and(|what| what.contains("each be older than the other")));
        assert_eq!(check(&history[..3]), Ok(()));
    }
}
