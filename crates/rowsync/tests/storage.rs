//! The entries of a device: golden bytes, and bytes that are none.

mod device;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use device::{Device, PIN, TEXT, create, delete, key, note, put, table};
use iolite_rowsync::*;
use iolite_values::*;
use proptest::prelude::*;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// A set that was sent, a chain behind it, a chain that came back, a base that the app named, and a call that is sent alone.
fn full() -> Device {
    let mut device = Device::causal();
    (1..=4).for_each(|row| device.other(row, Some(note("a", 0))));
    device.call(&[put(1, TEXT, "b"), delete(2)]);
    device.call(&[create(5), put(5, TEXT, "new")]);
    device.send();
    device.rows.refused("too large".into());
    device.close();
    device.send();
    device.call(&[put(1, PIN, 2)]);
    let seen = row_version(&note("seen", 0));
    device.call_on(&[put(3, TEXT, "c")], &BTreeMap::from([(key(3), seen)]));
    device
}

fn restore(entries: &Entries) -> Result<RowSync, RestoreError> {
    let entries = entries.iter().map(|(key, value)| (&key[..], &value[..]));
    RowSync::restore(table(), Scheme::Causal, entries)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes it");
        text
    })
}

#[test]
fn entries_have_these_bytes() {
    let lines: Vec<String> =
        full().rows.entries().iter().map(|(key, value)| format!("{} {}", hex(key), hex(value))).collect();
    assert_eq!(lines.join("\n"), include_str!("golden/entries.txt").trim_end());
}

#[test]
fn what_is_restored_is_what_was_stored() {
    for device in [full(), Device::causal()] {
        let entries = device.rows.entries();
        let mut rows = restore(&entries).expect("its own");
        rows.validate();
        let changes = rows.take_changes();
        assert!(changes.iter().all(|change| change.key.last() == Some(&b's')), "only a set that was sent is closed");
        let mut after = entries;
        after.extend(changes.into_iter().map(|change| (change.key, change.value.expect("a set"))));
        assert_eq!(rows.entries(), after);
        assert!(rows.calls().eq(device.rows.calls()));
    }
}

#[test]
fn the_changes_are_all_that_storage_needs() {
    let mut stored = Entries::new();
    let mut device = Device::causal();
    let mut check = |rows: &mut RowSync| {
        for change in rows.take_changes() {
            match change.value {
                Some(value) => drop(stored.insert(change.key, value)),
                None => drop(stored.remove(&change.key)),
            }
        }
        assert_eq!(stored, rows.entries());
    };
    let keep = |rows: &mut RowSync, call, writes: &[Write]| {
        rows.keep(Counter(call), writes, |_| note("a", 0), &BTreeMap::new()).expect("taken");
        rows.saved(Counter(call));
    };
    keep(&mut device.rows, 1, &[put(1, TEXT, "b"), put(2, TEXT, "b")]);
    check(&mut device.rows);
    (1..=2).for_each(|row| device.other(row, Some(note("a", 0))));
    let set = device.due().expect("it is due");
    device.rows.send(Counter(2), set);
    check(&mut device.rows);
    device.rows.conflict(device.at());
    check(&mut device.rows);
    device.rows.closed();
    check(&mut device.rows);
    device.other(1, Some(note("theirs", 0)));
    let server = device.conflicts()[0].server_version;
    let (now, rows) = (device.at(), device.server.clone());
    let choice = Choice { key: key(1), server, keep: Keep::Server };
    device.rows.resolve(Counter(3), &[choice], now, |key| device::confirmed(&rows, key)).expect("as it was");
    check(&mut device.rows);
    assert!(!stored.is_empty());
}

#[test]
fn entries_that_do_not_fit_each_other_are_refused_whole() {
    let entries = full().rows.entries();
    for gone in entries.keys() {
        let some: Entries =
            entries.iter().filter(|(key, _)| *key != gone).map(|(key, value)| (key.clone(), value.clone())).collect();
        assert!(matches!(restore(&some), Err(RestoreError::Inconsistent(_))), "without {gone:02x?}");
    }
    let changed = |change: &dyn Fn(&mut Vec<u8>, &mut Vec<u8>)| {
        let (mut key, mut value) =
            entries.first_key_value().map(|(key, value)| (key.clone(), value.clone())).expect("one");
        change(&mut key, &mut value);
        restore(&Entries::from([(key, value)])).map(|rows| rows.calls().count())
    };
    assert_eq!(
        changed(&|_, value| value[0] = FORMAT_VERSION + 1),
        Err(RestoreError::UnknownVersion(FORMAT_VERSION + 1))
    );
    assert!(matches!(changed(&|key, _| key[5] = b'?'), Err(RestoreError::UnknownKey(_))));
    assert!(matches!(changed(&|key, _| key[1] ^= 1), Err(RestoreError::Inconsistent(_))));
    assert!(matches!(changed(&|_, value| value.truncate(9)), Err(RestoreError::Malformed(_))));
    assert!(matches!(changed(&|_, value| value.clear()), Err(RestoreError::Malformed(_))));
    assert_eq!(RowSync::table_of_entry(entries.first_key_value().expect("one").0), Some(table()));
}

proptest! {
    /// No bytes make it panic; what it takes keeps all invariants and is stored as it was, but for a set that is closed.
    #[test]
    fn damaged_entries_are_restored_whole_or_refused(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..2),
    ) {
        let mut entries: Vec<(Vec<u8>, Vec<u8>)> = full().rows.entries().into_iter().collect();
        for (entry, place, byte) in damage {
            let at = entry.index(entries.len());
            let value = &mut entries[at].1;
            if !value.is_empty() {
                let place = place.index(value.len());
                value[place] = byte;
            }
        }
        for (entry, place) in cuts {
            let at = entry.index(entries.len());
            let value = &mut entries[at].1;
            value.truncate(place.index(value.len() + 1));
        }
        if let Ok(rows) = restore(&entries.into_iter().collect()) {
            rows.validate();
            prop_assert!(restore(&rows.entries()).is_ok());
        }
    }

    #[test]
    fn any_bytes_are_refused_or_restored(
        bytes in prop::collection::vec(any::<u8>(), 0..80), kind in 0u8..3, name in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let sort = [b'c', b'r', b's'][usize::from(kind)];
        let name = match sort { b'c' => 7u64.to_be_bytes().to_vec(), b's' => Vec::new(), _ => name };
        let key = [&[KIND][..], &table().0.to_be_bytes(), &[sort], &name].concat();
        let value = [&[FORMAT_VERSION][..], &bytes].concat();
        if let Ok(rows) = restore(&Entries::from([(key, value)])) {
            rows.validate();
        }
    }
}
