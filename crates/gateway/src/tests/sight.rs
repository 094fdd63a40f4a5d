//! Read rules filter: what a user may see is told, and the rest is as if it were not there.

use std::sync::Arc;

use iolite_rights::{Rights, TableRules, mine, row, user};
use iolite_values::{
    Cell, ColumnId, Condition, Id, Interest, KeyRange, Operation, Query, Row, RowKey, TableId, Test, Timestamp, Value,
    Write,
};
use iolite_wire::message::{
    Advance, Declination, FromClient, FromGateway, Hello, Resume, RowSnapshot, Subscribe, SubscriptionId,
};

use super::fake_store::STORE;
use super::rights::{come, create, delete, deploy, name, note, put_in, ruled, schema_of_rooms};
use super::world::*;
use crate::{Broken, limits};

/// Members of a room see its notes, and each user the memberships that are the user's own.
pub fn rules() -> Rights {
    let notes = TableRules::default().read(row("room").within(mine("members", "room", [("user", user("sub"))])));
    let members = TableRules::default().read(row("user").is(user("sub")));
    let rooms = TableRules::default().create(row("owner").is(user("sub")));
    Rights::default().table("rooms", rooms).table("members", members).table("notes", notes)
}

/// Room 1 has note 5, and room 2 note 6. Ann is a member of room 1.
fn world() -> World {
    world_of(Broken::Nothing)
}

fn world_of(broken: Broken) -> World {
    let mut world = ruled(settings_of(broken), schema_of_rooms(), &rules());
    world.commit(note(5, 1, "ann"));
    world.commit(note(6, 2, "bob"));
    world.commit(vec![member(1, "ann")]);
    world
}

pub fn member(room: i64, who: &str) -> Write {
    create("members", &[room.into(), who.into()])
}

pub fn leaves(room: i64, who: &str) -> Write {
    delete("members", &[room.into(), who.into()])
}

pub fn all_notes() -> Interest {
    Interest::Range { table: TableId::of("notes"), range: KeyRange::all() }
}

pub fn notes_of(room: i64) -> Interest {
    let field = schema_of_rooms().table("notes").expect("declared").field("room").expect("declared");
    let conditions = vec![Condition { field, test: Test::Equal(Value::Int(room)) }];
    Interest::Query(Arc::new(Query { conditions, ..Query::all(TableId::of("notes"), false) }))
}

fn text_of(id: i64) -> Cell {
    put_in("notes", &[id.into()], "text", "").cell
}

fn key_of(id: i64) -> RowKey {
    name(&[id.into()])
}

/// The rows of a snapshot or of those that entered, by their ids, and those that are gone, all in words.
fn in_words(advance: &Advance) -> String {
    let id = |key: &RowKey| match &key.values().expect("a key")[0] {
        Value::Int(id) => id.to_string(),
        other => format!("{other:?}"),
    };
    let mut words = Vec::new();
    words.extend(advance.changes.iter().map(|own| format!("changed {}", id(&own.cell.row))));
    words.extend(advance.entered.iter().map(|own| format!("entered {}", id(&own.key))));
    words.extend(advance.gone.iter().map(|own| format!("gone {}", id(&own.key))));
    for own in &advance.snapshots {
        let rows: Vec<String> = own.rows.iter().map(|row| id(&row.key)).collect();
        words.push(format!("{}: [{}]", own.subscription.0, rows.join(" ")));
    }
    words.extend(advance.declined.iter().map(|own| format!("declined {}", own.subscription.0)));
    words.join(", ")
}

/// All that a session was told, once the store has answered everything.
fn heard(world: &mut World, session: u64) -> Vec<String> {
    world.answer_all();
    let advances = world.take().into_iter().filter_map(|said| match said {
        Said::To(to, FromGateway::Advance(advance)) if to == session => Some(in_words(&advance)),
        Said::To(..) | Said::Closed(_) => None,
    });
    advances.filter(|words| !words.is_empty()).collect()
}

fn asks(world: &mut World, session: u64, interests: Vec<(u32, Interest)>) -> Vec<String> {
    world.subscribe(session, interests);
    heard(world, session)
}

#[test]
fn a_range_and_a_query_have_what_may_be_seen() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    let told = asks(&mut world, 1, vec![(1, all_notes()), (2, notes_of(1)), (3, notes_of(2))]);
    assert_eq!(told, ["1: [5], 2: [5], 3: []"]);
    let told = asks(&mut world, 1, vec![(4, Interest::Cell(text_of(5))), (5, Interest::Cell(text_of(6)))]);
    assert_eq!(told, ["4: [5], 5: []"]);
    come(&mut world, 2, None);
    assert_eq!(asks(&mut world, 2, vec![(1, all_notes())]), ["1: [5 6]"], "the developer sees everything");
    world.commit(vec![put_in("notes", &[6.into()], "text", "secret")]);
    assert_eq!(heard(&mut world, 1), Vec::<String>::new());
    world.commit(vec![put_in("notes", &[5.into()], "text", "open")]);
    assert_eq!(heard(&mut world, 1), ["changed 5"]);
    world.commit(note(7, 2, "bob"));
    world.commit(note(8, 1, "bob"));
    assert_eq!(heard(&mut world, 1), ["entered 8"]);
}

#[test]
fn of_a_cell_its_row_comes_with_no_other_column() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    world.subscribe(1, vec![(1, Interest::Cell(text_of(5)))]);
    world.answer_all();
    let mut alone = Row::default();
    for (column, operation) in
        [(ColumnId::ROW, Operation::Create), (ColumnId::of("text"), Operation::Put("hello".into()))]
    {
        alone.apply(column, &operation).expect("one type a column");
    }
    let [Said::To(1, FromGateway::Advance(advance))] = &world.take()[..] else { panic!("one advance") };
    let told: Vec<&RowSnapshot> = advance.snapshots.iter().flat_map(|own| &own.rows).collect();
    assert_eq!(told, [&RowSnapshot { table: TableId::of("notes"), key: key_of(5), row: alone }]);
}

#[test]
fn a_row_that_goes_out_of_sight_is_gone_and_the_change_is_not_told() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    asks(&mut world, 1, vec![(1, all_notes()), (2, notes_of(1))]);
    world.commit(vec![put_in("notes", &[5.into()], "text", "secret"), put_in("notes", &[5.into()], "room", 2)]);
    assert_eq!(heard(&mut world, 1), ["gone 5"]);
    world.commit(vec![put_in("notes", &[5.into()], "text", "more secrets")]);
    assert_eq!(heard(&mut world, 1), Vec::<String>::new());
    world.commit(vec![put_in("notes", &[5.into()], "room", 1)]);
    assert_eq!(heard(&mut world, 1), ["entered 5"]);
    world.commit(vec![delete("notes", &[5.into()])]);
    assert_eq!(heard(&mut world, 1), ["gone 5"], "whatever made it leave");
}

#[test]
fn a_row_that_leaves_one_interest_for_another_is_told_by_its_changes() {
    let mut world = world();
    world.commit(vec![member(2, "ann")]);
    come(&mut world, 1, Some("ann"));
    asks(&mut world, 1, vec![(1, all_notes()), (2, notes_of(1))]);
    world.commit(vec![put_in("notes", &[5.into()], "room", 2)]);
    assert_eq!(heard(&mut world, 1), ["changed 5"]);
    world.commit(vec![put_in("notes", &[5.into()], "room", 3)]);
    assert_eq!(heard(&mut world, 1), ["gone 5"]);
}

#[test]
fn a_membership_that_comes_or_goes_opens_and_closes_the_room_in_one_advance() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    asks(&mut world, 1, vec![(1, all_notes()), (2, notes_of(2))]);
    world.commit([vec![member(2, "ann")], note(9, 2, "bob")].concat());
    assert_eq!(heard(&mut world, 1), ["1: [5 6 9], 2: [6 9]"]);
    world.commit(vec![leaves(2, "ann"), put_in("notes", &[6.into()], "text", "she is out")]);
    assert_eq!(heard(&mut world, 1), ["1: [5], 2: []"]);
    world.commit(vec![put_in("notes", &[6.into()], "text", "secret")]);
    assert_eq!(heard(&mut world, 1), Vec::<String>::new());
    world.commit(vec![member(2, "bob")]);
    assert_eq!(heard(&mut world, 1), Vec::<String>::new(), "those of others are nothing to her");
}

#[test]
fn each_session_of_a_user_loses_the_room() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    come(&mut world, 2, Some("ann"));
    for session in [1, 2] {
        assert_eq!(asks(&mut world, session, vec![(1, all_notes())]), ["1: [5]"]);
    }
    world.commit(vec![leaves(1, "ann"), put_in("notes", &[5.into()], "text", "she is out")]);
    world.answer_all();
    let said = world.take();
    let advances = said.into_iter().filter_map(|own| match own {
        Said::To(to, FromGateway::Advance(advance)) => Some((to, in_words(&advance))),
        Said::To(..) | Said::Closed(_) => None,
    });
    let advances: Vec<_> = advances.filter(|(_, words)| !words.is_empty()).collect();
    assert_eq!(advances, [(1, "1: []".to_owned()), (2, "1: []".to_owned())]);
    world.say(1, FromClient::Unsubscribe(vec![SubscriptionId(1)]));
    world.commit(vec![member(1, "ann")]);
    assert_eq!(heard(&mut world, 2), ["1: [5]"], "the first one of them does not hold the set alone");
}

#[test]
fn a_right_that_goes_while_an_answer_is_read_leaves_nothing_in_the_answer() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    world.subscribe(1, vec![(1, all_notes())]);
    // The set is known, and the notes are being read.
    world.answer(0);
    world.commit(vec![leaves(1, "ann")]);
    assert_eq!(heard(&mut world, 1), ["1: []"]);
}

#[test]
fn a_set_that_changes_while_it_is_read_is_known_as_it_is_then() {
    for (write, told) in [(leaves(1, "ann"), "1: []"), (member(2, "ann"), "1: [5 6]")] {
        let mut world = world();
        come(&mut world, 1, Some("ann"));
        world.subscribe(1, vec![(1, all_notes())]);
        world.commit(vec![write]);
        assert_eq!(heard(&mut world, 1), [told]);
    }
}

#[test]
fn what_a_client_says_of_its_interests_keeps_its_order_while_a_set_is_read() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    world.subscribe(1, vec![(1, all_notes())]);
    world.say(1, unsubscribe(&[1]));
    world.subscribe(1, vec![(2, notes_of(1))]);
    assert_eq!(heard(&mut world, 1), ["2: [5]"]);
}

#[test]
fn interests_that_wait_have_a_limit() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    world.subscribe(1, vec![(1, all_notes())]);
    for _ in 0..limits::INTERESTS_MAX {
        world.say(1, unsubscribe(&[1]));
    }
    let (_, why) = world.goodbye(1);
    assert!(why.contains("wait at one time"), "{why}");
}

#[test]
fn who_comes_back_has_all_of_it_read_again() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    asks(&mut world, 1, vec![(1, all_notes())]);
    let at = world.position();
    world.input(crate::Input::SessionClosed(crate::SessionId(1)));
    world.commit(vec![leaves(1, "ann")]);
    world.open(2);
    let token = format!("{TOKEN} as {{\"sub\":\"ann\"}}");
    let resume = Some(Resume { store: STORE, at, rights: None });
    world.say(2, FromClient::Hello(Hello { token, resume, schema: schema_of_rooms().hash(), ..hello(1) }));
    let interests = vec![(SubscriptionId(1), all_notes())];
    world.say(2, FromClient::Subscribe(Subscribe { held: true, interests, first: [].into() }));
    // Something that is said behind it does not take its place.
    world.say(2, FromClient::Acknowledge(iolite_values::Counter(0)));
    assert_eq!(heard(&mut world, 2), ["1: []"]);
}

/// The last digest of rights that a session was told.
fn digest(world: &mut World, session: u64) -> Option<Id> {
    world.answer_all();
    let told = world.take().into_iter().filter_map(|said| match said {
        Said::To(to, FromGateway::Advance(advance)) if to == session => advance.rights,
        Said::To(..) | Said::Closed(_) => None,
    });
    told.last()
}

/// A session of ann who holds all notes as of a moment and by a digest. Returns what it is told.
fn comes_back(world: &mut World, session: u64, at: Timestamp, rights: Option<Id>) -> Vec<String> {
    world.open(session);
    let token = format!("{TOKEN} as {{\"sub\":\"ann\"}}");
    let resume = Some(Resume { store: STORE, at, rights });
    world.say(session, FromClient::Hello(Hello { token, resume, schema: schema_of_rooms().hash(), ..hello(1) }));
    let interests = vec![(SubscriptionId(1), all_notes())];
    world.say(session, FromClient::Subscribe(Subscribe { held: true, interests, first: [].into() }));
    heard(world, session)
}

#[test]
fn who_comes_back_by_the_same_rights_is_told_what_has_changed() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    world.subscribe(1, vec![(1, all_notes())]);
    let rights = digest(&mut world, 1);
    assert!(rights.is_some());
    let at = world.position();
    world.commit(vec![member(2, "bob")]);
    assert_eq!(comes_back(&mut world, 2, at, rights), Vec::<String>::new(), "memberships of others are nothing to her");
    world.commit(vec![member(2, "ann")]);
    let with_room = digest(&mut world, 2);
    assert!(with_room.is_some() && with_room != rights);
    let later = world.position();
    assert_eq!(comes_back(&mut world, 3, at, rights), ["1: [5 6]"]);
    world.commit(vec![put_in("notes", &[6.into()], "text", "new")]);
    heard(&mut world, 3);
    assert_eq!(comes_back(&mut world, 4, later, with_room), ["1: [5 6]"], "something has changed");
    world.commit(vec![leaves(2, "ann")]);
    assert_eq!(digest(&mut world, 4), rights);
    assert_eq!(comes_back(&mut world, 5, later, with_room), ["1: [5]"]);
    let at = world.position();
    deploy(&mut world, &rules().table("rooms", TableRules::default().read(iolite_rights::everybody())));
    assert_eq!(comes_back(&mut world, 6, at, rights), ["1: [5]"], "rights are others now");
}

#[test]
fn who_was_too_slow_is_told_what_may_be_seen_now() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    asks(&mut world, 1, vec![(1, all_notes())]);
    world.sockets_take = false;
    let large = "x".repeat(limits::UNDRAINED_BYTES_MAX / 4);
    for _ in 0..6 {
        world.commit(vec![put_in("notes", &[5.into()], "text", large.as_str())]);
    }
    heard(&mut world, 1);
    world.commit(vec![leaves(1, "ann"), member(2, "ann")]);
    world.sockets_take = true;
    world.input(crate::Input::Drained { session: crate::SessionId(1), messages: 100 });
    assert_eq!(heard(&mut world, 1), ["1: [6]"]);
}

#[test]
fn a_table_without_a_read_rule_is_declined_with_a_sentence() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    world.subscribe(1, vec![(1, Interest::Range { table: TableId::of("rooms"), range: KeyRange::all() })]);
    world.answer_all();
    let [Said::To(1, FromGateway::Advance(advance))] = &world.take()[..] else { panic!("one advance") };
    let [declined] = &advance.declined[..] else { panic!("one is declined") };
    assert_eq!(
        declined.why,
        Declination::Denied("table \"rooms\" has no rule \"read\", so nobody may see a row of it".into())
    );
}

#[test]
fn what_waits_to_be_told_of_a_row_is_dropped_when_it_goes() {
    let mut world = world();
    world.open(1);
    let token = format!("{TOKEN} as {{\"sub\":\"ann\"}}");
    let batch = std::time::Duration::from_secs(5);
    world.say(1, FromClient::Hello(Hello { token, batch, schema: schema_of_rooms().hash(), ..hello(1) }));
    world.take();
    asks(&mut world, 1, vec![(1, all_notes())]);
    world.commit(vec![put_in("notes", &[5.into()], "text", "one")]);
    assert_eq!(heard(&mut world, 1), ["changed 5"]);
    world.commit(vec![put_in("notes", &[5.into()], "text", "two")]);
    world.commit(vec![put_in("notes", &[5.into()], "room", 2)]);
    assert_eq!(heard(&mut world, 1), ["gone 5"]);
}

#[test]
fn the_store_that_cannot_read_a_set_ends_the_session_that_needs_it() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    world.subscribe(1, vec![(1, all_notes())]);
    let (id, _) = world.asked.pop_front().expect("the set is read");
    let refusal = iolite_store::Refusal::TransactionTooLarge { bytes_max: 7 };
    world.input(crate::Input::Store(iolite_store::Event::Reply(id, iolite_store::Reply::Refused(refusal))));
    assert!(world.goodbye(1).1.contains("7 bytes"));
}

#[test]
fn the_first_rows_that_come_in_sight_are_the_first_that_were_asked_for() {
    let mut world = world();
    come(&mut world, 1, Some("eve"));
    assert_eq!(asks(&mut world, 1, vec![(1, all_notes())]), ["1: []"]);
    let query = Interest::Query(Arc::new(Query::all(TableId::of("notes"), false)));
    let first = iolite_wire::message::First { rows: 1, direction: iolite_values::Direction::Ascending };
    let (interests, first) = (vec![(SubscriptionId(2), query)], [(SubscriptionId(2), first)].into());
    world.say(1, FromClient::Subscribe(Subscribe { held: false, interests, first }));
    assert_eq!(heard(&mut world, 1), ["2: []"]);
    world.commit([vec![member(1, "eve")], note(7, 1, "bob")].concat());
    assert_eq!(heard(&mut world, 1), ["1: [5 7], 2: [5]"]);
}

#[test]
fn a_set_with_too_many_rows_declines_what_rests_on_it_until_it_has_fewer() {
    let mut world = world();
    let rooms = i64::try_from(limits::SET_KEYS_MAX).expect("few") + 1;
    world.commit((1..=rooms).map(|room| member(room, "eve")).collect());
    come(&mut world, 1, Some("eve"));
    assert_eq!(asks(&mut world, 1, vec![(1, notes_of(1))]), ["declined 1"]);
    world.commit(vec![leaves(rooms, "eve")]);
    assert_eq!(asks(&mut world, 1, vec![(2, notes_of(1))]), ["2: [5]"]);
    world.commit(vec![member(rooms, "eve")]);
    assert_eq!(heard(&mut world, 1), ["declined 2"]);
}

#[test]
fn claims_that_a_new_token_has_open_and_close_what_rests_on_them() {
    let mut world = world();
    let notes = TableRules::default().read(row("text").is(user("motto")));
    let others = || TableRules::default().read(row("user").is(user("sub")));
    let rooms = TableRules::default().create(row("owner").is(user("sub")));
    let rights = Rights::default().table("rooms", rooms).table("members", others()).table("notes", notes);
    deploy(&mut world, &rights);
    let token = |motto: &str| format!("{TOKEN} as {{\"sub\":\"ann\",\"motto\":\"{motto}\"}}");
    world.open(1);
    world.say(1, FromClient::Hello(Hello { token: token("no"), schema: schema_of_rooms().hash(), ..hello(1) }));
    world.take();
    assert_eq!(asks(&mut world, 1, vec![(1, all_notes())]), ["1: []"]);
    world.say(1, FromClient::Token(token("hello")));
    assert_eq!(heard(&mut world, 1), ["1: [5 6]"]);
    world.say(1, FromClient::Token(token("hello")));
    assert_eq!(heard(&mut world, 1), Vec::<String>::new(), "the same claims change nothing");
}

/// Each broken gateway gives something away.
#[test]
fn broken_gateways_tell_what_is_hidden() {
    let mut leaving = world_of(Broken::TellTheLeavingChange);
    come(&mut leaving, 1, Some("ann"));
    asks(&mut leaving, 1, vec![(1, all_notes())]);
    leaving.commit(vec![put_in("notes", &[5.into()], "text", "secret"), put_in("notes", &[5.into()], "room", 2)]);
    assert_eq!(heard(&mut leaving, 1), ["changed 5, changed 5"]);

    let mut keeping = world_of(Broken::KeepFollowing);
    come(&mut keeping, 1, Some("ann"));
    asks(&mut keeping, 1, vec![(1, all_notes())]);
    keeping.commit(vec![leaves(1, "ann")]);
    keeping.commit(vec![put_in("notes", &[5.into()], "text", "secret")]);
    assert_eq!(heard(&mut keeping, 1), ["changed 5"]);

    let mut resuming = world_of(Broken::ResumeWithOldRights);
    let at = resuming.position();
    resuming.commit(vec![leaves(1, "ann")]);
    resuming.open(2);
    let token = format!("{TOKEN} as {{\"sub\":\"ann\"}}");
    let resume = Some(Resume { store: STORE, at, rights: None });
    resuming.say(2, FromClient::Hello(Hello { token, resume, schema: schema_of_rooms().hash(), ..hello(1) }));
    let interests = vec![(SubscriptionId(1), all_notes())];
    resuming.say(2, FromClient::Subscribe(Subscribe { held: true, interests, first: [].into() }));
    assert_eq!(heard(&mut resuming, 2), Vec::<String>::new(), "the client goes on showing note 5");
}
