//! Reads see the latest write that was acknowledged before they began, or one that no acknowledged write follows yet.

use std::collections::BTreeMap;

use super::operation::{Act, Operation, Value, seconds, told};

pub(super) fn check(operations: &[Operation]) -> Result<(), String> {
    let writes: BTreeMap<Value, &Operation> = operations
        .iter()
        .filter_map(|operation| match operation.act {
            Act::Write(value) => Some((value, operation)),
            Act::Read(_) => None,
        })
        .collect();
    for read in operations {
        let Act::Read(value) = read.act else { continue };
        let Some(write) = writes.get(&value).filter(|write| write.start <= read.end) else {
            return Err(format!(
                "a get from {} to {} saw {}, which no put had written",
                seconds(read.start),
                seconds(read.end),
                told(value)
            ));
        };
        let follows = |later: &&&Operation| later.start > write.end && later.end < read.start;
        if let Some(later) = writes.values().find(follows) {
            let Act::Write(newer) = later.act else { continue };
            return Err(format!(
                "a get from {} to {} saw {}, but {} was written after it, and acknowledged at {}",
                seconds(read.start),
                seconds(read.end),
                told(value),
                told(newer),
                seconds(later.end)
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::operation::{BEFORE, NEVER};
    use super::*;

    fn write(start: i64, end: i64, value: u64) -> Operation {
        Operation { start, end, act: Act::Write(Some(value)) }
    }

    fn read(start: i64, end: i64, value: Value) -> Operation {
        Operation { start, end, act: Act::Read(value) }
    }

    #[test]
    fn what_is_not_acknowledged_yet_may_be_seen_or_not() {
        let writes = [write(BEFORE, BEFORE, 1), write(10, 20, 2)];
        for value in [1, 2] {
            assert_eq!(check(&[&writes[..], &[read(15, 25, Some(value))]].concat()), Ok(()));
        }
        assert_eq!(check(&[&writes[..], &[read(21, 25, Some(2))]].concat()), Ok(()));
    }

    #[test]
    fn an_old_value_after_a_newer_one_was_acknowledged_is_found() {
        let history = [write(BEFORE, BEFORE, 1), write(10, 20, 2), read(21, 25, Some(1))];
        assert!(check(&history).is_err_and(|what| what.contains("acknowledged at 0.000000 s")));
        let unanswered = [write(BEFORE, BEFORE, 1), write(10, NEVER, 2), read(21, 25, Some(1))];
        assert_eq!(check(&unanswered), Ok(()));
    }

    #[test]
    fn what_nobody_wrote_is_found() {
        for value in [None, Some(0), Some(7)] {
            let history = [write(BEFORE, BEFORE, 1), read(21, 25, value)];
            assert!(check(&history).is_err_and(|what| what.contains("no put had written")));
        }
        assert!(check(&[write(BEFORE, BEFORE, 1), write(30, 40, 2), read(21, 25, Some(2))]).is_err());
    }
}
