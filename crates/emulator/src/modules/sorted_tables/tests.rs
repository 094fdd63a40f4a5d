//! Tables of one disk, and the module over them: what is found where, what a merge keeps, and how room is used again.

use super::table::{Found, Inserted, Slot, Table};
use super::*;
use crate::engine::{Asked, Key, OperationId, Version};
use crate::testing::site;
use crate::workload::request;

fn content(digest: u64) -> Content {
    Content { digest, length: 36 }
}

/// A table that is large with three objects of 100 bytes.
fn table(bytes: u64) -> Table {
    Table::new(bytes, 300)
}

fn put(table: &mut Table, key: u64, version: u64) -> Inserted {
    table.insert(Key(key), Version(version), content(version))
}

/// The version of an object, and whether it is on disk.
fn found(table: &mut Table, key: u64) -> Option<(u64, bool)> {
    match table.find(Key(key)).0 {
        Found::Memory(version, _) => Some((version.0, false)),
        Found::Disk(Slot { version, offset, .. }) => {
            table.release(offset);
            Some((version.0, true))
        }
        Found::Missing => None,
    }
}

/// Writes the table in memory with these versions of objects 1 to 3.
fn flush(table: &mut Table, versions: [u64; 3]) {
    for (key, version) in (1..).zip(versions) {
        put(table, key, version);
    }
    let piece = table.seal().expect("there is something to write");
    table.publish(piece.offset);
}

#[test]
fn what_is_being_written_is_found_in_memory_and_then_on_disk() {
    let mut table = table(10_000);
    assert_eq!([1, 2, 3].map(|key| put(&mut table, key, key)), [Inserted::Taken, Inserted::Taken, Inserted::Large]);
    let piece = table.seal().expect("there is something to write");
    assert_eq!((found(&mut table, 2), table.seal()), (Some((2, false)), None));
    assert_eq!(table.written(piece.offset).map(|run| run.slots.len()), Some(3));
    table.publish(piece.offset);
    assert_eq!((found(&mut table, 2), found(&mut table, 9)), (Some((2, true)), None));
}

#[test]
fn an_older_version_that_comes_late_hides_nothing() {
    let mut table = table(10_000);
    flush(&mut table, [5, 6, 7]);
    put(&mut table, 1, 4);
    put(&mut table, 2, 8);
    put(&mut table, 2, 3);
    assert_eq!([1, 2, 3].map(|key| found(&mut table, key)), [Some((5, true)), Some((8, false)), Some((7, true))]);
}

#[test]
fn four_tables_of_a_size_become_one_with_the_newest_versions() {
    let mut table = table(10_000);
    for version in [1, 2, 3] {
        flush(&mut table, [10 - version, 10 + version, 20]);
    }
    assert_eq!(table.merge(), None);
    flush(&mut table, [1, 30, 2]);
    let (room, pieces) = table.merge().expect("there are four");
    assert_eq!((room.length, pieces.len(), table.merge()), (300, 4, None));
    assert_eq!(found(&mut table, 2), Some((30, true)));
    table.publish(room.offset);
    assert_eq!(table.runs(), 1);
    assert_eq!([1, 2, 3].map(|key| found(&mut table, key)), [Some((9, true)), Some((30, true)), Some((20, true))]);
}

#[test]
fn the_room_of_a_table_that_was_replaced_is_free_when_its_last_reader_has_gone() {
    let mut table = table(1_800);
    (1..=4).for_each(|version| flush(&mut table, [version; 3]));
    let Found::Disk(slot) = table.find(Key(1)).0 else { panic!("it is on disk") };
    let (room, _) = table.merge().expect("there are four");
    table.publish(room.offset);
    // Of 1,800 bytes the merged table takes 300, and the one that is read another 300.
    let mut takes =
        |key: u64, bytes: u64| table.insert(Key(key), Version(9), Content { digest: 9, length: bytes - 64 });
    assert_eq!(takes(4, 900), Inserted::Large);
    assert_eq!(takes(5, 300), Inserted::Full);
    table.release(slot.offset);
    assert_eq!(table.insert(Key(5), Version(9), Content { digest: 9, length: 236 }), Inserted::Large);
}

#[test]
fn a_full_disk_refuses_and_what_was_taken_can_be_written() {
    let mut table = table(1_000);
    let taken = (0..20).take_while(|key| put(&mut table, *key, 1) != Inserted::Full).count();
    assert_eq!(taken, 10);
    let piece = table.seal().expect("there is something to write");
    table.publish(piece.offset);
    assert_eq!(put(&mut table, 30, 1), Inserted::Full);
    assert!((0..10).all(|key| found(&mut table, key) == Some((1, true))));
}

#[test]
fn a_get_reads_an_index_block_of_each_table_that_may_have_a_newer_version() {
    let mut table = table(100_000);
    flush(&mut table, [1, 2, 3]);
    flush(&mut table, [11, 12, 13]);
    assert_eq!(table.find(Key(1)).1.index.len(), 1);
    // An object that only the older table has.
    for key in 4..=6 {
        put(&mut table, key, key + 20);
    }
    let piece = table.seal().expect("there is something to write");
    table.publish(piece.offset);
    let looked: usize = (1..=3).map(|key| table.find(Key(key)).1.index.len()).sum();
    assert!((3..=4).contains(&looked), "{looked}");
}

#[test]
fn a_table_is_written_in_pieces_that_hold_all_of_it() {
    let section = Section::parse("a.toml", "memtable = \"4 MB\"").expect("this is TOML");
    let mut module = SortedTables::build(&section, &site()).expect("these parameters are right");
    let work = |key: u64| {
        let value = Content { digest: key + 1, length: 300_000 };
        let mut work = Work::new(request(OperationId(key), Asked::Put, Key(key), Some(value), 0));
        (work.message.version, work.placed) = (Some(Version(key + 1)), Some(Placed { disk: 1, log: 0 }));
        work
    };
    let mut run = |call: &str, work: &mut Work| {
        let mut out = Outputs::default();
        let Outcome(result) = module.run(Instant::default(), call, work, &mut out);
        (result, out.taken().1)
    };
    let results: Vec<&str> = (0..7).map(|key| run("insert", &mut work(key)).0).collect();
    assert_eq!(results, ["ok", "ok", "ok", "ok", "ok", "ok", "large"]);
    let mut last = work(6);
    assert_eq!(run("seal", &mut last).0, "ok");
    let orders = run("write", &mut last).1;
    let lengths: Vec<u64> = orders.iter().map(|order| order.length).collect();
    assert_eq!(lengths, [4 * 300_064, 3 * 300_064]);
    assert!(orders.iter().all(|order| order.disk == 1));
    assert_eq!(orders[1].offset, orders[0].offset + orders[0].length);
    run("publish", &mut last);
    let mut get = work(3);
    assert_eq!(run("find", &mut get), ("found", run("find", &mut work(3)).1));
    assert_eq!(get.position.map(|position| position.length), Some(300_064));
}
