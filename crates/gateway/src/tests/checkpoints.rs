//! Checkpoints of logs: what members say of their states, what is stored of it, and which pages go.

use std::collections::BTreeMap;

use iolite_logs::{PARTS_MAX, State};
use iolite_values::{Cell, Interest, KeyRange, LogCheckpoint, LogId, LogPages, Operation, Row, RowKey, Value, Write};
use iolite_wire::message::{FromClient, FromGateway, LogHash, LogPart, Verdict};

use super::world::*;
use crate::Input;
use crate::limits::LOG_BLOCKS_KEPT;

/// A store whose schema has a log, and members that follow it.
fn world(members: u64) -> World {
    let mut world = World::with_table(
        r#""cells":{"columns":{"sheet":{"type":"string"},"n":{"type":"counter"}},"key":["sheet"],"live":true,"consistency":"log","log":"sheet"}"#,
    );
    (1..=9).for_each(|block| close_page(&mut world, block * 8 - 1));
    (1..=members).for_each(|member| join(&mut world, member));
    world
}

/// The last page in front of a block is turned.
fn close_page(world: &mut World, page: u64) {
    let key = log().page(page).expect("short");
    let life = Write { cell: Cell::row(LogPages::table(), key.clone()), operation: Operation::Create };
    let closed = Write { cell: LogPages::closed(key), operation: Operation::Put(Value::Bool(true)) };
    world.commit(vec![life, closed]);
    world.take();
}

fn join(world: &mut World, session: u64) {
    world.open(session);
    world.say(session, FromClient::Hello(hello(session)));
    let heads = LogCheckpoint::heads(&log()).expect("short");
    world.subscribe(session, vec![(1, log().pages(0, 8).expect("short")), (2, heads)]);
    world.answer_all();
    world.take();
}

fn log() -> LogId {
    LogId::new("sheet", &Value::from("budget")).expect("short")
}

fn state(byte: u8) -> State {
    State::new(vec![byte; iolite_logs::PART_BYTES + 1])
}

fn hash(block: u64, state: &State) -> LogHash {
    LogHash { log: log(), block, index: block * 1024, hash: state.hash(), parts: state.parts() }
}

/// Everything that the gateway asks members for is given, and everything that it asks the store is answered.
fn give_all(world: &mut World, state: &State) -> Vec<Said> {
    let mut said = Vec::new();
    loop {
        world.answer_all();
        world.publish();
        let now = world.take();
        let wanted = now.iter().find_map(|said| match said {
            Said::To(session, FromGateway::LogWanted(part)) => Some((*session, part.clone())),
            Said::To(..) | Said::Closed(_) => None,
        });
        said.extend(now);
        let Some((session, part)) = wanted else { return said };
        let bytes = state.part(part.part).expect("it is one of them").to_vec();
        world.say(session, FromClient::LogPart(LogPart { state: bytes, ..part }));
    }
}

/// The heads and the parts that are in the store.
fn rows(world: &World) -> BTreeMap<RowKey, Row> {
    let all = Interest::Range { table: LogCheckpoint::table(), range: KeyRange::all() };
    world.store.rows(&all, world.position()).into_iter().map(|row| (row.key, row.row)).collect()
}

/// The changes that a session was told of.
fn changes(said: &[Said], session: u64) -> Vec<Write> {
    let told = said.iter().filter_map(|said| match said {
        Said::To(to, FromGateway::Advance(advance)) if *to == session => Some(advance.changes.clone()),
        Said::To(..) | Said::Closed(_) => None,
    });
    told.flatten().collect()
}

/// The head that a session was told of.
fn head(said: &[Said], session: u64) -> Option<LogCheckpoint> {
    let key = changes(said, session).into_iter().find(|write| write.operation == Operation::Create)?.cell.row;
    let mut row = Row::default();
    for write in changes(said, session).into_iter().filter(|write| write.cell.row == key) {
        row.apply(write.cell.column, &write.operation).expect("it fits");
    }
    LogCheckpoint::read_head(&key, &row)
}

fn removed_pages(said: &[Said], session: u64) -> Vec<u64> {
    let all = changes(said, session).into_iter().filter(|write| write.operation == Operation::Delete);
    all.filter_map(|write| LogPages::read_key(&write.cell.row).map(|(_, page)| page)).collect()
}

#[test]
fn a_state_that_all_members_have_is_stored_and_its_head_comes_last() {
    let mut world = world(2);
    let own = state(1);
    world.say(1, FromClient::LogHash(hash(1, &own)));
    world.answer_all();
    assert_eq!(world.take(), [], "the other member has not come so far");
    world.say(2, FromClient::LogHash(hash(1, &own)));
    let said = give_all(&mut world, &own);
    let stored = LogCheckpoint { block: 1, index: 1024, hash: own.hash(), parts: own.parts(), pages_from: 0 };
    assert_eq!((head(&said, 1), head(&said, 2)), (Some(stored), Some(stored)));
    let asked: Vec<u64> = said.iter().filter_map(wanted_part).collect();
    assert_eq!(asked, [0, 1], "one after the other, of one member");
    let stored_rows = rows(&world);
    let part = |part| LogCheckpoint::part_key(&log(), 1, part).expect("short");
    let bytes = |key: &RowKey| stored_rows.get(key).and_then(LogCheckpoint::read_part).map(<[u8]>::to_vec);
    assert_eq!([bytes(&part(0)), bytes(&part(1))].map(|bytes| bytes.expect("it is stored")).concat(), own.bytes());
    assert!(world.gateway.log_differences() == 0);
}

fn wanted_part(said: &Said) -> Option<u64> {
    match said {
        Said::To(_, FromGateway::LogWanted(part)) => Some(part.part),
        Said::To(..) | Said::Closed(_) => None,
    }
}

#[test]
fn members_with_different_states_are_told_and_nothing_is_stored() {
    let mut world = world(2);
    world.say(1, FromClient::LogHash(hash(1, &state(1))));
    world.say(2, FromClient::LogHash(hash(1, &state(2))));
    let said = give_all(&mut world, &state(1));
    let told = |session, byte| Said::To(session, FromGateway::LogDiffers(hash(1, &state(byte))));
    assert!(said.contains(&told(1, 2)) && said.contains(&told(2, 1)), "{said:?}");
    assert_eq!(world.gateway.log_differences(), 1);
    assert!(rows(&world).is_empty());
}

#[test]
fn only_so_many_blocks_in_front_of_a_checkpoint_are_kept() {
    let mut world = world(1);
    for block in [1, LOG_BLOCKS_KEPT + 2, LOG_BLOCKS_KEPT + 3] {
        let own = state(block as u8);
        world.say(1, FromClient::LogHash(hash(block, &own)));
        let said = give_all(&mut world, &own);
        let from = block.saturating_sub(LOG_BLOCKS_KEPT) * 8;
        assert_eq!(head(&said, 1).map(|head| (head.block, head.pages_from)), Some((block, from)));
        let gone: Vec<u64> = (from.saturating_sub(if block == LOG_BLOCKS_KEPT + 2 { 16 } else { 8 })..from).collect();
        // The member follows the first block only.
        assert_eq!(removed_pages(&said, 1), gone.into_iter().filter(|page| *page < 8).collect::<Vec<_>>());
        let left: Vec<RowKey> = rows(&world).into_keys().collect();
        assert_eq!(left.len() as u64, 1 + own.parts(), "earlier ones are gone: {left:?}");
    }
}

#[test]
fn a_gateway_that_has_begun_anew_reads_which_checkpoint_is_the_last() {
    let mut world = world(1);
    world.say(1, FromClient::LogHash(hash(7, &state(7))));
    give_all(&mut world, &state(7));
    world.store_comes();
    world.answer_all();
    world.take();
    join(&mut world, 3);
    world.say(3, FromClient::LogHash(hash(6, &state(6))));
    assert!(
        give_all(&mut world, &state(6)).iter().all(|said| wanted_part(said).is_none()),
        "an earlier one is not stored"
    );
    world.say(3, FromClient::LogHash(hash(8, &state(8))));
    let said = give_all(&mut world, &state(8));
    assert_eq!(head(&said, 3).map(|head| (head.block, head.pages_from)), Some((8, 32)));
    let blocks = rows(&world).into_keys().filter_map(|key| key.values().ok());
    assert!(blocks.flatten().all(|value| value != Value::Int(7)), "the parts of the earlier one are gone");
}

#[test]
fn who_lies_about_its_state_or_speaks_of_others_logs_gets_nothing_stored() {
    let mut world = world(1);
    let own = state(1);
    // It gives another state than it has said.
    world.say(1, FromClient::LogHash(hash(1, &own)));
    give_all(&mut world, &state(2));
    let is_head = |key: &RowKey| key.values().is_ok_and(|values| values[2] == Value::Int(0));
    assert!(!rows(&world).keys().any(is_head));
    // Parts that nobody has asked for, of logs that it does not follow, in front of the first block, too many.
    let part = LogPart { log: log(), block: 3, part: 0, state: vec![1] };
    world.say(1, FromClient::LogPart(part));
    let other = LogId::new("sheet", &Value::from("other")).expect("short");
    world.say(1, FromClient::LogHash(LogHash { log: other, ..hash(1, &own) }));
    world.say(1, FromClient::LogHash(hash(0, &own)));
    world.say(1, FromClient::LogHash(LogHash { parts: PARTS_MAX + 1, ..hash(2, &own) }));
    world.say(1, FromClient::LogHash(LogHash { block: u64::MAX, ..hash(2, &own) }));
    world.say(1, FromClient::LogHash(LogHash { parts: 0, ..hash(2, &own) }));
    world.say(1, FromClient::LogHash(LogHash { index: 15, ..hash(2, &own) }));
    world.say(1, FromClient::LogHash(LogHash { index: u64::MAX, ..hash(2, &own) }));
    assert_eq!(give_all(&mut world, &own), []);
    // A block in front of which not every page is turned: there are entries that it cannot have.
    world.say(1, FromClient::LogHash(hash(50, &own)));
    give_all(&mut world, &own);
    assert!(!rows(&world).keys().any(is_head));
    // It can be done right afterwards.
    world.say(1, FromClient::LogHash(hash(2, &own)));
    assert_eq!(head(&give_all(&mut world, &own), 1).map(|head| head.block), Some(2));
}

#[test]
fn a_member_that_is_gone_is_not_waited_for() {
    let mut world = world(2);
    let own = state(1);
    world.say(1, FromClient::LogHash(hash(1, &own)));
    world.say(2, FromClient::LogHash(hash(1, &own)));
    world.answer_all();
    let asked = world.take().iter().find_map(|said| match said {
        Said::To(session, FromGateway::LogWanted(_)) => Some(*session),
        Said::To(..) | Said::Closed(_) => None,
    });
    let (gone, other) = if asked == Some(1) { (1, 2) } else { (2, 1) };
    world.input(Input::SessionClosed(crate::SessionId(gone)));
    world.say(other, FromClient::LogHash(hash(2, &own)));
    assert_eq!(head(&give_all(&mut world, &own), other).map(|head| head.block), Some(2));
}

#[test]
fn who_follows_only_the_heads_and_who_has_left_are_not_asked() {
    let mut world = world(1);
    let own = state(1);
    world.open(5);
    world.say(5, FromClient::Hello(hello(5)));
    world.subscribe(5, vec![(2, LogCheckpoint::heads(&log()).expect("short"))]);
    world.answer_all();
    world.take();
    world.say(5, FromClient::LogHash(hash(1, &state(5))));
    join(&mut world, 2);
    world.say(2, FromClient::LogHash(hash(1, &state(2))));
    world.input(Input::SessionClosed(crate::SessionId(2)));
    world.say(1, FromClient::LogHash(hash(1, &own)));
    assert_eq!(head(&give_all(&mut world, &own), 1).map(|head| head.hash), Some(own.hash()));
    assert_eq!(world.gateway.log_differences(), 0);
}

#[test]
fn a_member_that_comes_back_is_asked_again() {
    let mut world = world(1);
    let own = state(1);
    world.say(1, FromClient::LogHash(hash(1, &own)));
    world.answer_all();
    assert_eq!(world.take().iter().filter_map(wanted_part).collect::<Vec<_>>(), [0]);
    // The question is lost with its session, or was for a state that it has no more.
    world.say(1, FromClient::LogHash(hash(1, &own)));
    assert_eq!(head(&give_all(&mut world, &own), 1).map(|head| head.block), Some(1));
}

#[test]
fn clients_write_no_checkpoints() {
    let mut world = world(1);
    let key = LogCheckpoint::head_key(&log(), 1).expect("short");
    let forged = LogCheckpoint { block: 1, index: 1, hash: [0; 32], parts: 1, pages_from: 8 }.write_head(&key);
    let removed = vec![Write { cell: Cell::row(LogCheckpoint::table(), key), operation: Operation::Delete }];
    for (counter, writes) in [(1, forged), (2, removed)] {
        world.say(1, submit(counter, writes));
        world.answer_all();
        world.commit(vec![add(1, 1)]);
        let said = world.take();
        let rejected = said.iter().any(|said| match said {
            Said::To(1, FromGateway::Advance(advance)) => {
                advance.outcomes.iter().any(|outcome| matches!(outcome.verdict, Verdict::Rejected(_)))
            }
            Said::To(..) | Said::Closed(_) => false,
        });
        assert!(rejected, "{said:?}");
    }
    assert!(rows(&world).is_empty());
}
