//! The scenarios of Table 3.1 (Perkins 2015) that kept calls alone can tell, each under the scheme that makes it right, and what `eventual` loses there.

mod device;

use device::{Device, PIN, TEXT, create, delete, key, note, put};
use iolite_rowsync::{Cells, Choice, Confirmed, How, Keep, ResolveError, row_version};
use iolite_values::Value;
use std::collections::BTreeMap;

/// Fetchnotes, Hiyu, TomDroid, Tumblr: one deletes a note while another edits it, both online. Nothing comes back by half, and nothing is lost unseen.
#[test]
fn concurrent_delete_and_update_both_online() {
    let mut device = Device::causal();
    device.other(1, Some(note("milk", 0)));
    let call = device.call(&[put(1, TEXT, "milk, bread")]);
    let _set = device.send();
    device.other(1, None);
    device.rows.conflict(device.at());
    assert!(device.conflicts().is_empty(), "no judgement before the set is closed");
    assert!(device.close().is_empty());
    let conflicts = device.conflicts();
    assert_eq!((conflicts[0].local.clone(), conflicts[0].server.clone()), (Some(note("milk, bread", 0)), None));
    assert_eq!(device.due(), None);
    assert!(device.resolve(&Keep::Local).endings.is_empty());
    let endings = device.sync();
    assert!(endings.iter().any(|ending| ending.call == call && matches!(ending.how, How::Confirmed(Some(_)))));
    assert_eq!(device.server[&key(1)], note("milk, bread", 0), "a whole row, not half of one");
}

/// The same in an eventual table: the update is refused and told, and brings nothing back.
#[test]
fn an_eventual_update_of_a_deleted_row_is_no_resurrection() {
    let mut device = Device::eventual();
    device.other(1, Some(note("milk", 0)));
    let call = device.call(&[put(1, TEXT, "milk, bread")]);
    device.other(1, None);
    assert_eq!(device.due(), None, "it is not sent in part");
    let endings = device.advance();
    assert!(matches!(&endings[..], [ending] if ending.call == call && matches!(ending.how, How::Refused(_))));
    assert_eq!((device.shown(1), device.server.len()), (None, 0));
}

/// The delete was made offline, and the update is confirmed first.
#[test]
fn concurrent_update_and_delete_one_offline() {
    let mut device = Device::causal();
    device.other(1, Some(note("milk", 0)));
    let call = device.call(&[delete(1)]);
    assert_eq!(device.shown(1), None);
    device.other(1, Some(note("milk for Ann's birthday", 0)));
    assert_eq!(device.due(), None, "a delete does not cover what its person never saw");
    let resolved = device.resolve(&Keep::Server);
    assert_eq!((resolved.endings, resolved.is_kept), (vec![device::ended(call, How::Overruled)], false));
    assert_eq!(device.shown(1), Some(note("milk for Ann's birthday", 0)));
}

/// Both devices were offline and edited one note. The second to come online is told.
#[test]
fn concurrent_updates_both_offline() {
    let (mut first, mut second) = (Device::causal(), Device::causal());
    for device in [&mut first, &mut second] {
        device.other(1, Some(note("milk", 0)));
    }
    first.call(&[put(1, TEXT, "milk, bread")]);
    second.call(&[put(1, TEXT, "milk, eggs")]);
    first.sync();
    second.other(1, Some(first.server[&key(1)].clone()));
    assert_eq!(second.conflicts().len(), 1);
    second.resolve(&Keep::Values(Cells::from([(TEXT, Value::from("milk, bread, eggs"))])));
    second.sync();
    assert_eq!(second.server[&key(1)], note("milk, bread, eggs", 0));
    assert_eq!(second.rows.calls().count(), 0);
}

/// The same in an eventual table: the later text stands, the earlier one is lost, and different columns both stay.
#[test]
fn eventual_updates_both_offline_keep_the_later_one() {
    let mut device = Device::eventual();
    device.other(1, Some(registers("milk", 0)));
    device.call(&[put(1, TEXT, "milk, eggs")]);
    device.other(1, Some(registers("milk, bread", 5)));
    assert!(device.conflicts().is_empty());
    device.sync();
    assert_eq!(device.server[&key(1)], registers("milk, eggs", 5));
}

fn registers(text: &str, pin: i64) -> iolite_values::Row {
    let cells = [(TEXT, Value::from(text)), (PIN, Value::Int(pin))];
    let cells = cells.map(|(column, value)| (column, iolite_values::CellState::Register(value)));
    iolite_values::Row::from_parts(true, cells)
}

/// Township: the game saves in the background over a state that it showed before another device played on.
#[test]
fn background_auto_save_over_a_row_that_moved_below_it() {
    let mut device = Device::causal();
    device.other(1, Some(note("level 3", 0)));
    let opened = row_version(&note("level 3", 0));
    device.other(1, Some(note("level 9", 0)));
    device.advance();
    device.call_on(&[put(1, TEXT, "level 4")], &BTreeMap::from([(key(1), opened)]));
    assert_eq!((device.due(), device.conflicts().len()), (None, 1), "the person saw level 3, whatever had arrived");
    // Without the base the row as shown counts, and level 9 would be lost.
    let mut without = Device::causal();
    without.other(1, Some(note("level 9", 0)));
    without.call(&[put(1, TEXT, "level 4")]);
    assert!(without.due().is_some());
}

/// Keepass2Android, UPM: one device changes accounts A and B, another one B and C. One conflict, B; A and C are kept.
#[test]
fn password_merge_of_three_accounts() {
    let mut device = Device::causal();
    for row in 1..=3 {
        device.other(row, Some(note("old", 0)));
    }
    let a = device.call(&[put(1, TEXT, "A, from here")]);
    let b = device.call(&[put(2, TEXT, "B, from here")]);
    device.other(2, Some(note("B, from there", 0)));
    device.other(3, Some(note("C, from there", 0)));
    let endings = device.sync();
    assert_eq!(endings.iter().map(|ending| ending.call).collect::<Vec<_>>(), [a]);
    let conflicts = device.conflicts();
    assert_eq!((conflicts.len(), conflicts[0].key.clone()), (1, key(2)));
    assert_eq!(conflicts[0].calls, [b].into());
    device.resolve(&Keep::Local);
    device.sync();
    let texts = ["A, from here", "B, from here", "C, from there"];
    for (row, text) in (1..).zip(texts) {
        assert_eq!(device.server[&key(row)], note(text, 0));
    }
}

/// Syncboxapp: two devices make one key offline. The first stands, and the second is told instead of covering it.
#[test]
fn first_writer_wins_offline() {
    let mut device = Device::causal();
    device.call(&[create(1), put(1, TEXT, "mine"), put(1, PIN, 1)]);
    assert!(device.rows.wanted().next().is_none(), "the store itself tells of a row that is there");
    device.send();
    device.other(1, Some(note("theirs", 2)));
    device.rows.conflict(device.at());
    device.close();
    assert_eq!(device.rows.wanted().count(), 1);
    let unknown = device.rows.due(device.at(), |_| Confirmed::Unknown, |_, _, blob| Some(blob.clone()));
    assert_eq!(unknown, None, "it is not sent again before the row is here");
    assert_eq!(device.conflicts()[0].server, Some(note("theirs", 2)));
    assert!(!device.resolve(&Keep::Server).is_kept);
    assert_eq!(device.shown(1), Some(note("theirs", 2)));
}

/// Dropbox, Box, Google Drive: a rename against a delete. The person looked at a row that has moved since, so the choice does not count.
#[test]
fn rename_against_delete_is_chosen_for_the_row_that_was_looked_at() {
    let mut device = Device::causal();
    device.other(1, Some(note("report", 0)));
    device.call(&[put(1, TEXT, "final report")]);
    device.other(1, None);
    let conflict = device.conflicts().remove(0);
    device.other(1, Some(note("report 2", 0)));
    let choice = Choice { key: key(1), server: conflict.server_version, keep: Keep::Local };
    assert_eq!(device.choose(&[choice]), Err(ResolveError::Moved(key(1))));
    assert_eq!(device.conflicts()[0].server, Some(note("report 2", 0)));
}
