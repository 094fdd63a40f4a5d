//! The rules of kept calls, one a test.

mod device;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use device::{Device, PHOTO, PIN, TEXT, confirmed, create, delete, ended, key, note, put, table};
use iolite_rowsync::*;
use iolite_values::*;

fn texts(set: &ChangeSet) -> Vec<&Write> {
    set.writes.iter().filter(|write| write.cell.column == TEXT).collect()
}

#[test]
fn effects_of_one_row_are_sent_as_one() {
    let mut device = Device::causal();
    device.other(1, Some(note("a", 0)));
    let calls = [put(1, TEXT, "b"), put(1, PIN, 1), put(1, TEXT, "c")].map(|write| device.call(&[write]));
    let set = device.send();
    assert_eq!(set.writes, [put(1, TEXT, "c"), put(1, PIN, 1)]);
    assert_eq!(set.reads, [Read::Range { table: table(), range: KeyRange::one(&key(1)) }]);
    assert_eq!(set.calls, BTreeSet::from(calls));
    let endings = device.commit(&set);
    assert_eq!(endings, calls.map(|call| ended(call, How::Confirmed(Some(device.at())))));
}

#[test]
fn what_takes_itself_back_is_not_sent() {
    let mut device = Device::causal();
    let calls = [vec![create(1), put(1, TEXT, "a")], vec![delete(1)]].map(|writes| device.call(&writes));
    assert_eq!(device.due(), None);
    assert_eq!(device.advance(), calls.map(|call| ended(call, How::Confirmed(None))));
}

#[test]
fn calls_that_share_a_row_are_sent_together_or_not_at_all() {
    let mut device = Device::causal();
    (1..=4).for_each(|row| device.other(row, Some(note("a", 0))));
    device.call(&[put(1, TEXT, "b"), put(2, TEXT, "b")]);
    device.call(&[put(2, TEXT, "c"), put(3, TEXT, "c")]);
    let other = device.call(&[put(4, TEXT, "d")]);
    device.other(1, Some(note("theirs", 0)));
    assert_eq!(device.due().expect("the other group").calls, BTreeSet::from([other]));
}

#[test]
fn a_chain_behind_what_was_sent_rests_on_what_was_sent() {
    let mut device = Device::causal();
    device.other(1, Some(note("a", 0)));
    let first = device.call(&[put(1, TEXT, "b")]);
    let set = device.send();
    let second = device.call(&[put(1, PIN, 1)]);
    assert_eq!((device.due(), device.shown(1)), (None, Some(note("b", 1))));
    assert_eq!(device.commit(&set).len(), 1);
    assert_eq!((device.shown(1), device.rows.calls().collect::<Vec<_>>()), (Some(note("b", 1)), vec![second]));
    assert_eq!(device.send().writes, [put(1, PIN, 1)]);
    assert_ne!(first, second);
}

#[test]
fn a_chain_that_comes_back_stands_before_the_one_behind_it() {
    let mut device = Device::causal();
    device.other(1, Some(note("a", 0)));
    device.call(&[put(1, TEXT, "b")]);
    device.send();
    device.call(&[put(1, TEXT, "c")]);
    device.other(1, Some(note("theirs", 0)));
    device.rows.conflict(device.at());
    device.close();
    let conflict = device.conflicts().remove(0);
    assert_eq!((conflict.base, conflict.local), (Base::Row(note("a", 0)), Some(note("c", 0))));
    assert_eq!(conflict.calls.len(), 2);
}

#[test]
fn a_conflict_that_the_rows_do_not_show_is_sent_again() {
    let mut device = Device::causal();
    device.other(1, Some(note("a", 0)));
    device.call(&[put(1, TEXT, "b")]);
    device.send();
    device.rows.conflict(Timestamp::from_u64(device.now + 5));
    device.close();
    assert_eq!((device.due(), device.conflicts()), (None, vec![]), "the rows are not as of the time told");
    device.now += 5;
    assert!(device.due().is_some());
}

#[test]
fn a_conflict_ends_by_itself_when_the_row_is_again_what_was_read() {
    let mut device = Device::causal();
    device.other(1, Some(note("a", 0)));
    device.call(&[put(1, TEXT, "b")]);
    device.other(1, Some(note("theirs", 0)));
    assert_eq!((device.conflicts().len(), device.due()), (1, None));
    device.other(1, Some(note("a", 0)));
    assert_eq!((device.conflicts().len(), device.due().is_some()), (0, true));
}

#[test]
fn a_refused_set_is_sent_group_by_group_and_only_the_refused_group_ends() {
    let mut device = Device::causal();
    let calls = [1, 2, 3].map(|row| device.call(&[create(row), put(row, TEXT, "a")]));
    assert_eq!(device.send().calls.len(), 3);
    device.rows.refused("too large".into());
    assert_eq!((device.close(), device.rows.calls().count()), (vec![], 3));
    device.restart();
    for call in calls {
        let set = device.send();
        assert_eq!(set.calls, BTreeSet::from([call]), "one by one, also after a restart");
        if call == calls[1] {
            device.rows.refused("too large".into());
            assert_eq!(device.close(), [ended(call, How::Refused("too large".into()))]);
        } else {
            device.commit(&set);
        }
    }
    assert_eq!((device.rows.calls().count(), device.server.len()), (0, 2));
}

#[test]
fn a_group_that_is_sent_alone_goes_before_others() {
    let mut device = Device::causal();
    device.other(1, Some(note("a", 0)));
    device.call(&[put(1, TEXT, "b")]);
    device.other(1, Some(note("theirs", 0)));
    let [second, _] = [2, 3].map(|row| device.call(&[create(row)]));
    device.send();
    device.rows.refused("denied".into());
    device.close();
    device.other(1, Some(note("a", 0)));
    assert_eq!(device.due().expect("the first of the refused set").calls, BTreeSet::from([second]));
}

#[test]
fn an_eventual_call_is_sent_with_all_of_its_rows_or_refused() {
    let mut device = Device::eventual();
    device.other(1, Some(note("a", 0)));
    let call = device.call(&[put(1, TEXT, "b"), create(2)]);
    let other = device.call(&[put(2, TEXT, "c"), create(3)]);
    let apart = device.call(&[create(4)]);
    device.other(1, None);
    assert_eq!(device.due().expect("the row apart").calls, BTreeSet::from([apart]));
    let ends: Vec<Counter> = device.advance().into_iter().map(|ending| ending.call).collect();
    assert_eq!(ends, [call, other], "the second one updates the row that the first one was to make");
}

#[test]
fn what_rests_on_a_refused_call_is_in_conflict() {
    let mut device = Device::causal();
    device.other(1, Some(note("a", 0)));
    device.call(&[put(1, TEXT, "b")]);
    device.send();
    let behind = device.call(&[put(1, PIN, 1)]);
    device.rows.refused("denied".into());
    device.close();
    let conflict = device.conflicts().remove(0);
    assert_eq!((conflict.base, conflict.calls), (Base::Row(note("b", 0)), BTreeSet::from([behind])));
}

#[test]
fn after_a_restart_a_set_without_an_outcome_is_closed_first() {
    let mut device = Device::causal();
    device.other(1, Some(note("a", 0)));
    device.call(&[put(1, TEXT, "b")]);
    let set = device.send();
    // The store took it, and the app ended before it knew.
    device.now += 1;
    device.server.insert(key(1), note("b", 0));
    device.restart();
    assert_eq!(device.rows.closing(), device.rows.open_set());
    assert!(device.rows.closing().is_some());
    assert_eq!((device.conflicts(), device.due()), (vec![], None), "its own row is no conflict");
    // The abort's answer: it was committed.
    device.rows.committed(device.at());
    assert_eq!(device.advance().len(), set.calls.len());
    assert!(device.rows.entries().is_empty());
}

#[test]
fn a_call_ends_when_the_confirmed_rows_contain_it_and_not_before() {
    let mut device = Device::causal();
    device.other(1, Some(note("a", 0)));
    device.call(&[put(1, TEXT, "b")]);
    device.send();
    device.rows.committed(Timestamp::from_u64(device.now + 2));
    assert_eq!(device.advance(), []);
    device.restart();
    assert_eq!((device.rows.closing(), device.shown(1)), (None, Some(note("b", 0))));
    device.now += 2;
    device.server.insert(key(1), note("b", 0));
    assert_eq!(device.advance().len(), 1);
}

#[test]
fn only_what_is_stored_is_sent_and_in_the_durable_view() {
    let server = BTreeMap::from([(key(1), note("a", 0))]);
    let mut device = Device::causal();
    device.server.clone_from(&server);
    device.call(&[put(1, TEXT, "b")]);
    let call = device.counter();
    device.rows.keep(call, &[put(1, PIN, 1)], |_| note("b", 0), &BTreeMap::new()).expect("taken");
    assert_eq!(device.due(), None);
    let shown = |which| device.rows.shown(&key(1), which, confirmed(&server, &key(1)));
    assert_eq!((shown(Which::All), shown(Which::Durable)), (Some(note("b", 1)), Some(note("b", 0))));
    device.save();
    assert!(device.due().is_some());
}

#[test]
fn rows_that_are_not_held_are_neither_judged_nor_written_over() {
    let mut device = Device::causal();
    device.other(1, Some(note("a", 0)));
    device.call(&[put(1, TEXT, "b")]);
    assert_eq!(device.rows.wanted().collect::<Vec<_>>(), [&key(1)]);
    let as_it_is = |_: &RowKey, _, blob: &Arc<Blob>| Some(blob.clone());
    assert_eq!(device.rows.due(device.at(), |_| Confirmed::Unknown, as_it_is), None);
    assert_eq!(device.rows.conflicts(device.at(), |_| Confirmed::Unknown), []);
    device.call(&[create(2), put(2, TEXT, "new")]);
    let set = device.rows.due(device.at(), |_| Confirmed::Unknown, as_it_is).expect("an insert");
    assert_eq!(texts(&set), [&put(2, TEXT, "new")]);
}

#[test]
fn a_base_of_the_apps_own_may_be_any_row_that_the_device_showed() {
    let mut device = Device::causal();
    device.other(1, Some(note("a", 0)));
    let [first, other] = [note("a", 0), note("x", 0)].map(|row| row_version(&row));
    device.call(&[put(1, TEXT, "b")]);
    device.call_on(&[put(1, TEXT, "c")], &BTreeMap::from([(key(1), first)]));
    device.call_on(&[put(1, TEXT, "d")], &BTreeMap::from([(key(1), row_version(&note("b", 0)))]));
    assert!(device.due().is_some());
    device.call_on(&[put(1, TEXT, "e")], &BTreeMap::from([(key(1), other)]));
    assert_eq!(device.conflicts()[0].base, Base::Version(other));
    device.restart();
    assert_eq!(device.conflicts()[0].base, Base::Version(other));
    device.other(1, Some(note("x", 0)));
    assert!(device.due().is_some(), "the row is what the user saw");
}

#[test]
fn a_base_of_the_apps_own_stands_when_the_chain_before_it_comes_back() {
    let mut device = Device::causal();
    device.other(1, Some(note("a", 0)));
    device.call(&[put(1, PIN, 1)]);
    device.send();
    let seen = row_version(&note("seen", 0));
    device.call_on(&[put(1, TEXT, "b")], &BTreeMap::from([(key(1), seen)]));
    device.rows.conflict(device.at());
    device.close();
    assert_eq!(device.conflicts()[0].base, Base::Version(seen));
}

#[test]
fn all_choices_count_or_none() {
    let mut device = Device::causal();
    (1..=2).for_each(|row| device.other(row, Some(note("a", 0))));
    let calls = [1, 2].map(|row| device.call(&[put(row, TEXT, "b")]));
    (1..=2).for_each(|row| device.other(row, Some(note("theirs", 0))));
    let mut choices: Vec<Choice> = device
        .conflicts()
        .into_iter()
        .map(|conflict| Choice { key: conflict.key, server: conflict.server_version, keep: Keep::Server })
        .collect();
    let good = choices[1].server;
    choices[1].server = row_version(&Row::default());
    assert_eq!(device.choose(&choices), Err(ResolveError::Moved(key(2))));
    assert_eq!(device.conflicts().len(), 2);
    choices[1].server = good;
    assert_eq!(device.choose(&[choices[0].clone(), choices[0].clone()]), Err(ResolveError::Twice(key(1))));
    let missing = Choice { key: key(3), ..choices[0].clone() };
    assert_eq!(device.choose(&[choices[0].clone(), missing]), Err(ResolveError::NoConflict(key(3))));
    let resolved = device.choose(&choices).expect("as they were looked at");
    assert_eq!(resolved, Resolved { endings: calls.map(|call| ended(call, How::Overruled)).into(), is_kept: false });
}

fn with_photo(text: &str, photo: Value) -> Row {
    let cells = note(text, 0).cells().map(|(column, state)| (column, state.clone())).collect::<Vec<_>>();
    Row::from_parts(true, cells.into_iter().chain([(PHOTO, CellState::Scalar(photo))]))
}

#[test]
fn a_blob_that_the_server_has_no_more_cannot_be_kept_and_nothing_is_lost() {
    for server in [None, Some(with_photo("theirs", leased(2, Some(2))))] {
        let mut device = Device::causal();
        device.other(1, Some(with_photo("a", leased(1, Some(1)))));
        device.call(&[put(1, TEXT, "mine")]);
        device.other(1, server.clone());
        let found = device.conflicts().remove(0);
        let choice = |keep| Choice { key: key(1), server: found.server_version, keep };
        assert_eq!(device.choose(&[choice(Keep::Local)]), Err(ResolveError::BlobReplaced(key(1))));
        assert_eq!(device.conflicts().len(), 1, "it stays until somebody decides otherwise");
        let photo = server.map_or(leased(3, None), |_| leased(2, Some(2)));
        let values = Cells::from([(TEXT, Value::from("mine")), (PIN, Value::Int(0)), (PHOTO, photo)]);
        device.choose(&[choice(Keep::Values(values))]).expect("its own content, or the server's");
        assert!(device.due().is_some());
    }
}

#[test]
fn what_an_overruled_call_wrote_elsewhere_stays_with_the_resolution() {
    let mut device = Device::causal();
    (1..=2).for_each(|row| device.other(row, Some(note("a", 0))));
    let call = device.call(&[put(1, TEXT, "b"), put(2, TEXT, "b")]);
    device.other(1, Some(note("theirs", 0)));
    let resolved = device.resolve(&Keep::Server);
    assert_eq!((resolved.endings, resolved.is_kept), (vec![ended(call, How::Overruled)], true));
    device.restart();
    device.sync();
    assert_eq!((&device.server[&key(1)], &device.server[&key(2)]), (&note("theirs", 0), &note("b", 0)));
}

#[test]
fn an_eventual_insert_where_a_row_is_becomes_assigns_of_all_columns() {
    let mut device = Device::eventual();
    device.call(&[create(1), put(1, TEXT, "mine")]);
    let at = |column| Cell { table: table(), row: key(1), column };
    let assign = |column, value| Write { cell: at(column), operation: Operation::Assign(value) };
    assert_eq!(device.due().expect("an insert").writes, [create(1), assign(TEXT, Value::from("mine"))]);
    let row = [(TEXT, Value::from("theirs")), (PIN, Value::Int(2))];
    let row = row.map(|(column, value)| (column, CellState::Register(value)));
    device.other(1, Some(Row::from_parts(true, row)));
    let writes = device.due().expect("assigns").writes;
    assert_eq!(writes, [assign(TEXT, Value::from("mine")), assign(PIN, Value::Null)]);
}

#[test]
fn an_eventual_table_keeps_only_blobs_of_a_base() {
    let mut device = Device::eventual();
    let blob = Value::from(Blob::inline(*b"photo").expect("short"));
    let cells = [(TEXT, Value::from("a long text")), (PHOTO, blob.clone())];
    let row = Row::from_parts(true, cells.map(|(column, value)| (column, CellState::Register(value))));
    device.other(1, Some(row));
    device.call(&[put(1, TEXT, "b")]);
    assert_eq!(device.rows.blobs().map(Blob::length).collect::<Vec<_>>(), [5]);
    let stored: Vec<u8> = device.rows.entries().into_values().flatten().collect();
    assert!(!stored.windows(4).any(|bytes| bytes == b"long"));
}

/// A photo under this lease, or one that waits for a lease.
fn leased(content: u8, lease: Option<u128>) -> Value {
    let leases = lease.map(|lease| LeaseName(Id::from_u128(lease))).into_iter().collect();
    Value::Blob(photo_of(content, leases))
}

fn photo(lease: bool) -> Arc<Blob> {
    photo_of(0, if lease { vec![LeaseName(Id::from_u128(9))] } else { Vec::new() })
}

fn photo_of(content: u8, leases: Vec<LeaseName>) -> Arc<Blob> {
    let root: Vec<_> = (0..4u8).map(|at| ChunkName { lease: 0, id: ChunkId::of(&[content, at]) }).collect();
    let digest = BlobDigest::of(Cutting::Fixed64K, root.iter().map(|name| name.id), 200_000);
    let tree = Tree::new(Cutting::Fixed64K, 0, leases, root).expect("a tree");
    Arc::new(Blob::tree(200_000, digest, tree).expect("a blob"))
}

#[test]
fn a_group_waits_until_its_blobs_are_sealed() {
    let mut device = Device::causal();
    device.call(&[create(1), put(1, PHOTO, Value::Blob(photo(false)))]);
    let text = device.call(&[create(2), put(2, TEXT, "a")]);
    let none = |_: &RowKey, _, _: &Arc<Blob>| None;
    let absent = |_: &RowKey| Confirmed::Absent;
    assert_eq!(device.rows.due(device.at(), absent, none).expect("the text").calls, BTreeSet::from([text]));
    let unsealed = device.rows.unsealed(device.at(), absent, none);
    assert_eq!(unsealed, [Unsealed { key: key(1), column: PHOTO, blob: photo(false), from: None }]);
    let set = device.rows.due(device.at(), absent, |_, _, _| Some(photo(true))).expect("both");
    let sent = set.writes.iter().find_map(|write| match &write.operation {
        Operation::Put(Value::Blob(blob)) => Some(blob.chunks().clone()),
        _ => None,
    });
    assert_eq!(sent, Some(photo(true).chunks().clone()), "the lease is filled in");
}

#[test]
fn the_version_of_a_row_is_of_its_content_and_not_of_leases() {
    let with = |blob| Row::from_parts(true, [(PHOTO, CellState::Scalar(Value::Blob(blob)))]);
    assert_eq!(row_version(&with(photo(false))), row_version(&with(photo(true))));
    assert_ne!(row_version(&note("a", 0)), row_version(&note("a", 1)));
    assert_ne!(row_version(&Row::default()), row_version(&Row::from_parts(true, [])));
    // Stored by devices and named by apps: it never changes.
    assert_eq!(format!("{:?}", row_version(&note("milk", 1))), VERSION);
}

const VERSION: &str = "40060ce54c0b25179c49c5d57d9f852e";

#[test]
fn a_call_that_writes_no_scalar_or_another_table_is_not_kept() {
    let mut rows = RowSync::new(table(), Scheme::Causal);
    let mut other = put(1, TEXT, "a");
    other.cell.table = TableId::of("others");
    let add = Write { operation: Operation::Add(1), ..put(1, PIN, 1) };
    for write in [other, add] {
        let error = rows.keep(Counter(1), &[put(2, TEXT, "a"), write], |_| Row::default(), &BTreeMap::new());
        assert!(matches!(error, Err(KeepError::Operation(_))), "{error:?}");
    }
    let list = Row::from_parts(true, [(TEXT, CellState::List(Vec::new()))]);
    assert_eq!(rows.keep(Counter(1), &[put(2, TEXT, "a")], |_| list.clone(), &BTreeMap::new()), Err(KeepError::Row));
    assert_eq!((rows.calls().count(), rows.take_changes()), (0, vec![]));
    let keep = |rows: &mut RowSync| rows.keep(Counter(1), &[create(1)], |_| Row::default(), &BTreeMap::new());
    assert_eq!((keep(&mut rows), keep(&mut rows)), (Ok(()), Err(KeepError::Twice(Counter(1)))));
}

#[test]
fn a_call_that_inserted_a_row_is_not_taken_back_from_under_an_update_of_it() {
    let mut device = Device::causal();
    let insert = device.call(&[create(1), put(1, TEXT, "milk")]);
    let update = device.call(&[put(1, TEXT, "bread")]);
    assert!(!device.rows.take_back(insert), "the update would have no effect, and yet be confirmed");
    assert!(device.rows.take_back(update) && device.rows.take_back(insert));
    device.rows.validate();
    assert!(device.shown(1).is_none() && device.rows.is_empty());
}
