//! Operations as checks see them: on one object, with times that can be compared, each value by its number.

use std::collections::BTreeMap;

use crate::engine::{Answer, Asked, Content, Key};
use crate::workload::Recorded;

/// Nanoseconds. What was there before the run was written before 0; what was never answered ends at the last moment.
pub(super) type Time = i64;

pub(super) const BEFORE: Time = -1;
pub(super) const NEVER: Time = Time::MAX;

/// A value, or that there is none.
pub(super) type Value = Option<u64>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub start: Time,
    pub end: Time,
    pub act: Act,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Write(Value),
    Read(Value),
}

/// All operations of each object; the first writes what was there before.
pub(super) fn by_object(
    history: &[Recorded],
    before: impl Fn(Key) -> Option<Content>,
) -> BTreeMap<Key, Vec<Operation>> {
    let mut objects: BTreeMap<Key, Vec<Operation>> = BTreeMap::new();
    for one in history {
        let first = || {
            let value = before(one.key).map(|content| content.digest);
            vec![Operation { start: BEFORE, end: BEFORE, act: Act::Write(value) }]
        };
        let operations = objects.entry(one.key).or_insert_with(first);
        operations.extend(operation(one));
    }
    objects
}

/// A put that was refused may have been done; a get that was refused saw nothing.
fn operation(one: &Recorded) -> Option<Operation> {
    let [start, end] = [one.start, one.end].map(|at| Time::try_from(at.as_nanos()).unwrap_or(NEVER));
    let (act, end) = match (one.asked, one.answer) {
        (Asked::Put, Answer::Stored) => (Act::Write(one.wrote.map(|content| content.digest)), end),
        (Asked::Put, Answer::Found | Answer::Missing | Answer::Refused(_)) => {
            (Act::Write(one.wrote.map(|content| content.digest)), NEVER)
        }
        (Asked::Get, Answer::Found | Answer::Stored) => (Act::Read(one.read.map(|content| content.digest)), end),
        (Asked::Get, Answer::Missing) => (Act::Read(None), end),
        (Asked::Get, Answer::Refused(_)) => return None,
    };
    Some(Operation { start, end, act })
}

/// As people read it.
pub(super) fn told(value: Value) -> String {
    match value {
        None => "that there is no such object".to_owned(),
        Some(0) => "bytes that nobody wrote".to_owned(),
        Some(value) => format!("value {value:016x}"),
    }
}

pub(super) fn seconds(time: Time) -> String {
    match time {
        NEVER => "never".to_owned(),
        time if time < 0 => "before the run".to_owned(),
        time => format!("{:.6} s", time as f64 / 1e9),
    }
}
