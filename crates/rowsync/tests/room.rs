//! The limits of kept calls, met and passed by one.

mod device;

use std::collections::BTreeMap;

use device::{Device, PIN, TEXT, create, note, put, table};
use iolite_rowsync::limits::{
    GROUP_BYTES_MAX, KEPT_BYTES_MAX, KEPT_CALLS_MAX, KEPT_ROWS_MAX, SET_BYTES_MAX, SET_WRITES_MAX,
};
use iolite_rowsync::*;
use iolite_values::*;

fn long(bytes: usize) -> Value {
    Value::from("x".repeat(bytes))
}

#[test]
fn a_set_has_so_many_bytes_or_one_group() {
    let mut device = Device::causal();
    for row in 1..=3 {
        device.call(&[create(row), put(row, TEXT, long(SET_BYTES_MAX / 2 - 100))]);
    }
    device.call(&[create(4), put(4, TEXT, long(SET_BYTES_MAX + 1))]);
    let mut sets = Vec::new();
    while device.due().is_some() {
        let set = device.send();
        sets.push(set.calls.len());
        device.commit(&set);
    }
    assert_eq!(sets, [2, 1, 1]);
}

#[test]
fn a_set_and_a_group_have_so_many_writes() {
    let mut device = Device::causal();
    let rows = |from: i64, count: i64| (from..from + count).map(create).collect::<Vec<_>>();
    let half = SET_WRITES_MAX as i64 / 2;
    device.call(&rows(0, half));
    device.call(&rows(5000, half));
    device.call(&[create(9000)]);
    assert_eq!(device.due().expect("two of them").writes.len(), SET_WRITES_MAX);
    let call = device.counter();
    let kept = device.rows.keep(call, &rows(10_000, half * 2 + 1), |_| Row::default(), &BTreeMap::new());
    assert_eq!(kept, Err(KeepError::GroupTooLarge));
}

#[test]
fn a_group_has_so_many_bytes() {
    let mut device = Device::causal();
    let half = GROUP_BYTES_MAX / 2 - 200;
    device.call(&[create(1), put(1, TEXT, long(half))]);
    device.call(&[create(2), put(2, TEXT, long(half))]);
    device.call(&[put(1, PIN, 1), put(2, PIN, 1)]);
    let keep = |device: &mut Device, writes: &[Write]| {
        let call = device.counter();
        device.rows.keep(call, writes, |_| Row::default(), &BTreeMap::new())
    };
    let (kept, before) = (device.rows.entries(), device.rows.calls().count());
    let writes = [put(1, PIN, 2), create(3), put(3, TEXT, long(1000))];
    assert_eq!(keep(&mut device, &writes), Err(KeepError::GroupTooLarge));
    assert_eq!((device.rows.entries(), device.rows.calls().count()), (kept, before));
    assert_eq!(keep(&mut device, &writes[1..]), Ok(()), "by itself it fits");
}

#[test]
fn a_decision_about_more_than_a_set_holds_is_refused_and_ends_no_call() {
    let mut device = Device::causal();
    for row in 1..=3 {
        device.other(row, Some(note("a", 0)));
        device.call(&[put(row, TEXT, long(GROUP_BYTES_MAX / 2 - 200))]);
        device.other(row, Some(note("theirs", 0)));
    }
    let found = device.conflicts().into_iter();
    let choices: Vec<Choice> =
        found.map(|own| Choice { key: own.key, server: own.server_version, keep: Keep::Local }).collect();
    assert_eq!(device.choose(&choices), Err(ResolveError::TooLarge));
    assert_eq!(device.conflicts().len(), 3);
    assert!(device.choose(&choices[..2]).expect("these fit").is_kept);
}

#[test]
fn a_table_keeps_so_many_calls_rows_and_bytes() {
    let mut rows = RowSync::new(table(), Scheme::Causal);
    let mut next = 0;
    let mut keep = |rows: &mut RowSync, row: i64, value: Value| {
        next += 1;
        rows.keep(Counter(next), &[put(row, TEXT, value)], |_| note("", 0), &BTreeMap::new())
    };
    let many = KEPT_ROWS_MAX as i64;
    (0..many).for_each(|row| keep(&mut rows, row, Value::Null).expect("there is room"));
    assert_eq!(keep(&mut rows, many, Value::Null), Err(KeepError::TooManyRows));
    for call in KEPT_ROWS_MAX..KEPT_CALLS_MAX {
        keep(&mut rows, call as i64 % many, Value::Null).expect("there is room");
    }
    assert_eq!(keep(&mut rows, 1, Value::Null), Err(KeepError::TooManyCalls));
    let mut full = RowSync::new(table(), Scheme::Causal);
    let large = GROUP_BYTES_MAX - 1000;
    let taken = (0..).take_while(|row| keep(&mut full, *row, long(large)).is_ok()).count();
    assert!(taken * large < KEPT_BYTES_MAX && (taken + 1) * GROUP_BYTES_MAX > KEPT_BYTES_MAX, "{taken}");
    assert_eq!(keep(&mut full, 999, long(large)), Err(KeepError::TooManyBytes));
}
