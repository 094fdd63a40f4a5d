//! Whether reads respect causes: what a session did before, and what the writers of the values that it saw had seen.
//!
//! An operation comes causally before another if it ended before the other began in the same session, or if the other read its value, or by way of a
//! third. A history is causal if that order has no circle, and no read sees a value when another one of the object comes between: causally after the
//! value's write, and before the read.
//! Source: Bouajjani, Enea, Guerraoui and Hamza, "On verifying causal consistency" (2017): the bad patterns of causal consistency.

use std::collections::BTreeMap;

use super::operation::{self, Act, NEVER, Operation, Value, seconds, told};
use crate::engine::{Content, Key};
use crate::workload::Recorded;

/// Past this many, the rest of a history is not judged: the memory that it takes grows with the square.
const OPERATIONS: usize = 20_000;

/// Numbers of operations, a bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Numbers(Vec<u64>);

impl Numbers {
    fn none(count: usize) -> Numbers {
        Numbers(vec![0; count.div_ceil(64)])
    }

    fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn extend(&mut self, others: &Numbers) {
        self.0.iter_mut().zip(&others.0).for_each(|(own, other)| *own |= other);
    }
}

#[derive(Debug)]
struct History {
    keys: Vec<Key>,
    operations: Vec<Operation>,
    /// For each operation, those right before it.
    before: Vec<Vec<usize>>,
    /// The write of each value.
    writes: BTreeMap<(Key, Value), usize>,
}

pub(super) fn check(history: &[Recorded], first: &impl Fn(Key) -> Option<Content>) -> Result<(), (Key, String)> {
    let read = History::read(&history[..history.len().min(OPERATIONS)]);
    let is_whole = history.len() <= OPERATIONS;
    let pasts = read.pasts();
    for (number, operation) in read.operations.iter().enumerate() {
        let key = read.keys[number];
        if pasts[number].has(number) {
            return Err((key, format!("what began at {} comes causally before itself", seconds(operation.start))));
        }
        let Act::Read(value) = operation.act else { continue };
        let is_first = first(key).map(|content| content.digest) == value;
        let write = read.writes.get(&(key, value)).copied();
        if write.is_none() && !is_first {
            if is_whole {
                let [start, end] = [operation.start, operation.end].map(seconds);
                return Err((
                    key,
                    format!("a get from {start} to {end} saw {}, which no put had written", told(value)),
                ));
            }
            continue;
        }
        if let Some(between) = read.between(key, write, &pasts[number], &pasts) {
            return Err((key, read.explained(number, value, between)));
        }
    }
    Ok(())
}

impl History {
    fn read(history: &[Recorded]) -> History {
        let known: Vec<(&Recorded, Operation)> =
            history.iter().filter_map(|one| Some((one, operation::operation(one)?))).collect();
        let operations: Vec<Operation> = known.iter().map(|(_, operation)| *operation).collect();
        let keys: Vec<Key> = known.iter().map(|(one, _)| one.key).collect();
        let mut writes = BTreeMap::new();
        for (number, operation) in operations.iter().enumerate() {
            if let Act::Write(value) = operation.act {
                writes.insert((keys[number], value), number);
            }
        }
        let mut sessions: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (number, (one, _)) in known.iter().enumerate() {
            sessions.entry(one.session).or_default().push(number);
        }
        let mut before = vec![Vec::new(); operations.len()];
        for numbers in sessions.values_mut() {
            numbers.sort_by_key(|number| operations[*number].end);
            for number in numbers.iter() {
                before[*number] = last_before(numbers, &operations, operations[*number].start);
            }
        }
        for (number, operation) in operations.iter().enumerate() {
            if let Act::Read(value) = operation.act {
                before[number].extend(writes.get(&(keys[number], value)));
            }
        }
        History { keys, operations, before, writes }
    }

    /// All that comes causally before each operation.
    fn pasts(&self) -> Vec<Numbers> {
        let count = self.operations.len();
        let mut pasts = vec![Numbers::none(count); count];
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|number| (self.operations[*number].end, self.operations[*number].start));
        loop {
            let mut has_changed = false;
            for number in &order {
                let mut past = pasts[*number].clone();
                for before in &self.before[*number] {
                    past.insert(*before);
                    past.extend(&pasts[*before]);
                }
                has_changed |= past != pasts[*number];
                pasts[*number] = past;
            }
            if !has_changed {
                return pasts;
            }
        }
    }

    /// A write of the object that is in the past, and has the write that was read in its own; without one, what was read is the first value.
    fn between(&self, key: Key, write: Option<usize>, past: &Numbers, pasts: &[Numbers]) -> Option<usize> {
        let writes = self.writes.range((key, None)..=(key, Some(u64::MAX))).map(|(_, number)| *number);
        let mut writes = writes.filter(|number| Some(*number) != write && past.has(*number));
        writes.find(|number| write.is_none_or(|write| pasts[*number].has(write)))
    }

    fn explained(&self, read: usize, value: Value, between: usize) -> String {
        let (read, between) = (self.operations[read], self.operations[between]);
        let Act::Write(newer) = between.act else { unreachable!("it is a write") };
        format!(
            "a get from {} to {} saw {}, but its session had seen what came after {}, which replaced that value (put from {} to {})",
            seconds(read.start),
            seconds(read.end),
            told(value),
            told(newer),
            seconds(between.start),
            seconds(between.end)
        )
    }
}

/// The operations of a session, given in the order of their ends, that ended before `start` and no other one that did followed.
fn last_before(numbers: &[usize], operations: &[Operation], start: i64) -> Vec<usize> {
    let ended = &numbers[..numbers.partition_point(|number| operations[*number].end < start)];
    let mut latest_start = i64::MIN;
    let mut last = Vec::new();
    for number in ended.iter().rev() {
        let Operation { start, end, .. } = operations[*number];
        if end < latest_start {
            break;
        }
        debug_assert!(end != NEVER, "what never ended is before nothing");
        latest_start = latest_start.max(start);
        last.push(*number);
    }
    last
}

#[cfg(test)]
mod tests {
    use iolite_machine::Instant;

    use super::*;
    use crate::engine::{Answer, Asked, Session};

    fn content(digest: u64) -> Content {
        Content { digest, length: 1 }
    }

    fn one(session: u32, asked: Asked, key: u64, value: u64, start: u64) -> Recorded {
        let [start, end] = [start, start + 5].map(Instant::from_nanos);
        let (wrote, read, answer) = match asked {
            Asked::Put => (Some(content(value)), None, Answer::Stored),
            Asked::Get => (None, Some(content(value)), Answer::Found),
        };
        Recorded { session: Session(session), key: Key(key), asked, wrote, due: start, start, end, answer, read }
    }

    fn put(session: u32, key: u64, value: u64, start: u64) -> Recorded {
        one(session, Asked::Put, key, value, start)
    }

    fn get(session: u32, key: u64, value: u64, start: u64) -> Recorded {
        one(session, Asked::Get, key, value, start)
    }

    fn found(history: &[Recorded]) -> Result<(), (Key, String)> {
        check(history, &|key| Some(content(100 + key.0)))
    }

    #[test]
    fn who_sees_an_effect_sees_its_cause() {
        let history = [put(1, 1, 11, 0), put(1, 2, 12, 10), get(2, 2, 12, 30), get(2, 1, 101, 40)];
        let (key, what) = found(&history).expect_err("the cause is missing");
        assert!(key == Key(1) && what.contains("replaced that value"), "{what}");
        // Another session, which has not seen the effect, may see the old value.
        assert_eq!(found(&[&history[..3], &[get(3, 1, 101, 40)]].concat()), Ok(()));
        // Through a third session.
        let far = [&history[..3], &[put(2, 3, 13, 40), get(3, 3, 13, 50), get(3, 1, 101, 60)]].concat();
        assert!(found(&far).is_err());
    }

    #[test]
    fn a_session_sees_its_own_writes_and_never_goes_back() {
        assert!(found(&[put(1, 1, 11, 0), get(1, 1, 101, 10)]).is_err());
        assert_eq!(found(&[put(1, 1, 11, 0), get(1, 1, 101, 3)]), Ok(()));
        assert!(found(&[put(1, 1, 11, 0), put(1, 1, 12, 10), get(2, 1, 12, 30), get(2, 1, 11, 40)]).is_err());
        // Writes that do not know of each other may be seen in either order.
        assert_eq!(found(&[put(1, 1, 11, 0), put(2, 1, 12, 10), get(3, 1, 12, 30), get(3, 1, 11, 40)]), Ok(()));
    }

    #[test]
    fn what_nobody_wrote_and_causes_that_go_round_are_found() {
        assert!(found(&[get(1, 1, 7, 0)]).is_err_and(|(_, what)| what.contains("no put had written")));
        let round = [get(1, 1, 12, 0), put(1, 2, 11, 10), get(2, 2, 11, 20), put(2, 1, 12, 30)];
        assert!(found(&round).is_err_and(|(_, what)| what.contains("before itself")));
    }
}
