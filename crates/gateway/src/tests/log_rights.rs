//! Rights of logs: who may join a log is told its pages, and who may run an operation appends it.

use iolite_logs::{Page, append_to};
use iolite_rights::{LogRules, Rights, TableRules, at, everybody, key, mine, operation, user, value};
use iolite_store::Request;
use iolite_values::{
    Cell, Decision, Interest, LaneNumber, LogCheckpoint, LogId, LogPages, Operation, Schema, Value, Write,
};
use iolite_wire::logs::LogEntry;
use iolite_wire::message::{Advance, Declination, FromClient, FromGateway, Submit, Verdict};

use super::rights::{come_with, create, delete, denial, ruled, verdict};
use super::world::*;
use crate::Broken;

fn schema() -> Schema {
    Schema::from_json(
        r#"{"tables":{
        "members":{"columns":{"room":{"type":"int"},"user":{"type":"string"}},"key":["room","user"],"indexes":{"byUser":["user"]}},
        "cells":{"columns":{"room":{"type":"int"},"n":{"type":"counter"}},"key":["room"],"live":true,"consistency":"log","log":"sheet"}}}"#,
    )
    .expect("a good schema")
}

/// Members of a room join its sheet, and set cells of it.
fn rules() -> Rights {
    let is_member = || at("members", [key(), user("sub")]).exists();
    let sheet = LogRules {
        join: Some(key().within(mine("members", "room", [("user", user("sub"))]))),
        run: Some(is_member().and(operation().is(value("set")))),
    };
    Rights::default().table("members", TableRules::default().read(everybody())).log("sheet", sheet)
}

/// Ann is a member of room 1, and has session 1. Session 2 is eve's.
fn world_of(rights: &Rights) -> World {
    let mut world = ruled(settings_of(Broken::Nothing), schema(), rights);
    world.commit(vec![member("ann")]);
    for (session, name) in [(1, "ann"), (2, "eve")] {
        come_with(&mut world, session, Some(name), &schema());
    }
    world
}

fn world() -> World {
    world_of(&rules())
}

fn member(name: &str) -> Write {
    create("members", &[1.into(), name.into()])
}

fn removed(name: &str) -> Write {
    delete("members", &[1.into(), name.into()])
}

fn log() -> LogId {
    LogId::new("sheet", &Value::Int(1)).expect("short")
}

fn pages() -> Interest {
    log().pages(0, 8).expect("short")
}

fn append(world: &World, counter: u64, operation: &str) -> Submit {
    let entry = LogEntry {
        origin: None,
        counter: iolite_values::Counter(counter),
        called_at_micros: 1,
        seed: [1; 16],
        operation: operation.into(),
        version: 0,
        arguments: "{}".into(),
        turns: false,
    };
    let (reads, writes) = append_to(&log(), 0, Page::of(None), entry).expect("it is small");
    let (snapshot, decision, lane) = (world.position(), Decision::Commit(writes), LaneNumber(1));
    Submit { snapshot, reads, decision, lane, ..blind(counter, Vec::new()) }
}

/// The writes of somebody who makes the first page.
fn begun() -> Vec<Write> {
    vec![
        Write { cell: Cell::row(LogPages::table(), log().page(0).expect("short")), operation: Operation::Create },
        appended(),
    ]
}

fn appended() -> Write {
    super::logs::first_append_to(&log())
}

/// All that a session was told, once the store has answered everything.
fn heard(world: &mut World, session: u64) -> Vec<Advance> {
    world.answer_all();
    let advances = world.take().into_iter().filter_map(|said| match said {
        Said::To(to, FromGateway::Advance(advance)) if to == session => Some(advance),
        Said::To(..) | Said::Closed(_) => None,
    });
    advances.collect()
}

fn declined(advances: &[Advance]) -> Vec<(u32, &str)> {
    let all = advances.iter().flat_map(|advance| &advance.declined);
    let denied = all.map(|own| match &own.why {
        Declination::Denied(why) => (own.subscription.0, &why[..]),
        other => panic!("denied was expected, not {other:?}"),
    });
    denied.collect()
}

fn entries(advances: &[Advance]) -> usize {
    let changed = advances.iter().flat_map(|own| &own.changes).filter(|own| own.cell.table == LogPages::table());
    let rows = advances.iter().flat_map(|own| &own.snapshots).flat_map(|own| &own.rows);
    let read = rows.filter(|own| own.table == LogPages::table()).map(|own| {
        let page = Page::of(Some(&own.row));
        (0..).take_while(|place| page.entry(*place).is_some()).count()
    });
    changed.filter(|own| own.cell.column == LogPages::entries_column()).count() + read.sum::<usize>()
}

#[test]
fn who_may_join_is_told_the_pages_and_others_are_told_why_not() {
    let mut world = world();
    world.commit(begun());
    world.subscribe(1, vec![(1, pages()), (2, LogCheckpoint::heads(&log()).expect("short"))]);
    let told = heard(&mut world, 1);
    assert_eq!((entries(&told), declined(&told)), (1, vec![]));
    world.subscribe(2, vec![(1, pages()), (2, LogCheckpoint::heads(&log()).expect("short"))]);
    let told = heard(&mut world, 2);
    let why = "log \"sheet\": the rule \"join\" does not let this user";
    assert_eq!((entries(&told), declined(&told)), (0, vec![(1, why), (2, why)]));
}

#[test]
fn pages_of_several_logs_are_for_nobody() {
    let mut world = world();
    let all = Interest::Range { table: LogPages::table(), range: iolite_values::KeyRange::all() };
    world.subscribe(1, vec![(1, all)]);
    let told = heard(&mut world, 1);
    assert_eq!(declined(&told).len(), 1);
    assert!(declined(&told)[0].1.contains("pages are of several logs"));
}

/// Also by a rule that follows a row by its key.
#[test]
fn who_is_removed_loses_the_log_in_the_advance_that_tells_it_and_nothing_is_told_after() {
    let by_key = LogRules { join: Some(at("members", [key(), user("sub")]).exists()), run: Some(everybody()) };
    for rights in [rules(), Rights { logs: [].into(), ..rules() }.log("sheet", by_key)] {
        let mut world = world_of(&rights);
        world.subscribe(1, vec![(1, pages())]);
        assert_eq!(declined(&heard(&mut world, 1)), []);
        world.commit(begun());
        assert_eq!(entries(&heard(&mut world, 1)), 1);
        world.commit(vec![removed("ann"), appended()]);
        let told = heard(&mut world, 1);
        assert_eq!((entries(&told), declined(&told).len()), (0, 1), "{told:?}");
        world.commit(vec![appended()]);
        assert_eq!(heard(&mut world, 1), []);
        // Whoever comes back is let in by asking again.
        world.commit(vec![member("ann")]);
        world.subscribe(1, vec![(2, pages())]);
        let told = heard(&mut world, 1);
        assert_eq!((entries(&told), declined(&told)), (3, vec![]));
    }
}

#[test]
fn who_may_run_an_operation_appends_it_and_no_other() {
    let mut world = world();
    let submit = append(&world, 1, "set");
    world.say(1, FromClient::Submit(submit));
    assert!(matches!(verdict(&mut world, 1), Verdict::Committed(_)));
    let submit = append(&world, 2, "clear");
    world.say(1, FromClient::Submit(submit));
    assert_eq!(denial(&verdict(&mut world, 1)), "log \"sheet\": the rule \"run\" does not let this user");
    let submit = append(&world, 1, "set");
    world.say(2, FromClient::Submit(submit));
    assert_eq!(denial(&verdict(&mut world, 2)), "log \"sheet\": the rule \"run\" does not let this user");
}

/// The commits that the store is to answer.
fn asked_to_commit(world: &World) -> usize {
    world.asked.iter().filter(|(_, request)| matches!(request, Request::Commit { .. })).count()
}

/// The client sees nothing of the conflict, and its append takes effect, or is denied by what is the case then.
#[test]
fn an_append_that_conflicts_with_a_change_of_rights_is_judged_again() {
    for is_let_in_again in [true, false] {
        let mut world = world();
        let submit = append(&world, 1, "set");
        world.say(1, FromClient::Submit(submit));
        while asked_to_commit(&world) == 0 {
            world.answer(0);
        }
        let at = world.store.write(vec![removed("ann")]);
        if is_let_in_again {
            world.store.write(vec![member("ann")]);
        }
        world.answer(0);
        assert_eq!(world.asked.len(), 0, "it waits until the feed has passed {at:?}");
        world.publish();
        let verdict = verdict(&mut world, 1);
        match is_let_in_again {
            true => assert!(matches!(verdict, Verdict::Committed(_)), "{verdict:?}"),
            false => assert!(denial(&verdict).contains("rule \"run\"")),
        }
    }
}

/// The client turns to the next page.
#[test]
fn an_append_to_a_page_that_was_closed_meanwhile_conflicts() {
    let mut world = world();
    let submit = append(&world, 1, "set");
    let page = log().page(0).expect("short");
    let closing = Write { cell: LogPages::closed(page), operation: Operation::Put(true.into()) };
    world.store.write([begun(), vec![closing]].concat());
    world.say(1, FromClient::Submit(submit));
    world.answer_all();
    world.publish();
    assert!(matches!(verdict(&mut world, 1), Verdict::Conflict(_)));
}
