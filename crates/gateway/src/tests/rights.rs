//! Rights of users: what they write is judged as of the feed's position, and what the judge looked at is validated by the store.

use std::sync::Arc;

use iolite_catalog::{Catalog, Deployment};
use iolite_rights::{
    Allowed, Change, Rights, Rule, TableRules, after, at, everybody, mine, old, ops, row, user, value,
};
use iolite_store::Request;
use iolite_values::{
    Attempt, Cell, ColumnId, Decision, Element, Interest, KeyRange, Operation, Query, Read, RowKey, Schema, TableId,
    Transaction, Value, Write,
};
use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason, Hello, Rejection, Submit, Verdict};

use super::world::*;
use crate::{Broken, Settings};

const ROOMS: &str = r#"{"tables":{
    "rooms":{"columns":{"id":{"type":"int"},"owner":{"type":"string"}},"key":["id"]},
    "members":{"columns":{"room":{"type":"int"},"user":{"type":"string"}},"key":["room","user"],"indexes":{"byUser":["user"]}},
    "notes":{"columns":{"id":{"type":"int"},"room":{"type":"int"},"author":{"type":"string"},"text":{"type":"string"},
        "likes":{"type":"counter"}},"key":["id"],"isolation":"read-committed"}}}"#;

pub(super) fn rules() -> Rights {
    let is_member = || at("members", [row("room"), user("sub")]).exists();
    let is_mine = || old("author").is(user("sub"));
    let by_author = is_mine().and(ops([("text", vec![Allowed::all(Change::Any)])]));
    let rooms = TableRules::default()
        .read(everybody())
        .create(row("owner").is(user("sub")).and(after("members", [row("id"), user("sub")]).exists()));
    let members = TableRules::default()
        .create(after("rooms", [row("room")]).column("owner").is(user("sub")))
        .delete(old("user").is(user("sub")))
        .read(row("user").is(user("sub")));
    let notes = TableRules::default()
        .read(everybody())
        .create(row("author").is(user("sub")).and(is_member()))
        .update(by_author.or(ops([("likes", vec![Allowed::add(1, 1)])])))
        .check(row("text").is_not(value("spam")));
    Rights::default().table("rooms", rooms).table("members", members).table("notes", notes)
}

/// A gateway whose store has the rooms and their rights. Ann owns room 1, and is its only member. Her note is 5.
pub(super) fn world() -> World {
    world_of(Broken::Nothing, &rules())
}

fn world_of(broken: Broken, rights: &Rights) -> World {
    let mut world = ruled(settings_of(broken), schema_of_rooms(), rights);
    world.commit(vec![create("rooms", &[1.into()]), put_in("rooms", &[1.into()], "owner", "ann")]);
    world.commit(vec![create("members", &[1.into(), "ann".into()])]);
    world.commit(note(5, 1, "ann"));
    world
}

pub fn schema_of_rooms() -> Schema {
    Schema::from_json(ROOMS).expect("a good schema")
}

/// A gateway whose store has a schema with rights.
pub fn ruled(settings: Settings, schema: Schema, rights: &Rights) -> World {
    let mut world = World::with(settings);
    world.store_comes();
    world.answer_all();
    deploy_beside(&mut world, schema, rights);
    world
}

pub fn deploy(world: &mut World, rights: &Rights) {
    deploy_beside(world, schema_of_rooms(), rights);
}

pub fn deploy_beside(world: &mut World, schema: Schema, rights: &Rights) {
    let deployment = Deployment { schema, rights: rights.clone() };
    let mut catalog = Catalog::new(iolite_catalog::SchemaPolicy::Fixed);
    let version = world.store.log.iter().filter(|commit| {
        commit.writes.iter().any(|write| write.cell.table == Catalog::table() && write.operation == Operation::Create)
    });
    let version = i64::try_from(version.count()).expect("few");
    catalog.fold(&[]).expect("nothing");
    let growth = catalog.deploy(&deployment, None, true).expect("good rights").expect("new");
    let Decision::Commit(writes) = (iolite_catalog::Growth { version: version + 1, ..growth }).decision() else {
        panic!("a commit")
    };
    world.commit(writes);
}

pub fn name(values: &[Value]) -> RowKey {
    RowKey::new(values).expect("short")
}

pub fn life(table: &str, key: &[Value]) -> Cell {
    Cell::row(TableId::of(table), name(key))
}

pub fn create(table: &str, key: &[Value]) -> Write {
    Write { cell: life(table, key), operation: Operation::Create }
}

pub fn delete(table: &str, key: &[Value]) -> Write {
    Write { cell: life(table, key), operation: Operation::Delete }
}

pub fn put_in(table: &str, key: &[Value], column: &str, value: impl Into<Value>) -> Write {
    let cell = Cell { column: ColumnId::of(column), ..life(table, key) };
    Write { cell, operation: Operation::Put(value.into()) }
}

pub fn note(id: i64, room: i64, author: &str) -> Vec<Write> {
    let key = [Value::Int(id)];
    vec![
        create("notes", &key),
        put_in("notes", &key, "room", room),
        put_in("notes", &key, "author", author),
        put_in("notes", &key, "text", "hello"),
    ]
}

fn like(id: i64, amount: i64) -> Write {
    let cell = Cell { column: ColumnId::of("likes"), ..life("notes", &[id.into()]) };
    Write { cell, operation: Operation::Add(amount) }
}

/// Opens a session of a user, or of the developer.
pub fn come(world: &mut World, session: u64, name: Option<&str>) {
    come_with(world, session, name, &schema_of_rooms());
}

pub fn come_with(world: &mut World, session: u64, name: Option<&str>, schema: &Schema) {
    let token = name.map_or(TOKEN.to_owned(), |name| format!("{TOKEN} as {{\"sub\":\"{name}\"}}"));
    world.open(session);
    world.say(session, FromClient::Hello(Hello { token, schema: schema.hash(), ..hello(session) }));
    assert!(matches!(&world.take()[..], [Said::To(_, FromGateway::Welcome(_))]));
}

/// Submits with what was seen at the feed's position, and returns what became of it.
fn ended(world: &mut World, session: u64, counter: u64, writes: Vec<Write>) -> Verdict {
    let snapshot = world.position();
    world.say(session, FromClient::Submit(Submit { snapshot, ..blind(counter, writes) }));
    verdict(world, session)
}

pub fn verdict(world: &mut World, session: u64) -> Verdict {
    world.answer_all();
    // The feed reaches an abort with the next commit.
    world.commit(vec![add(7, 1)]);
    let outcomes = world.take().into_iter().flat_map(|said| match said {
        Said::To(to, FromGateway::Advance(advance)) if to == session => advance.outcomes,
        Said::To(..) | Said::Closed(_) => Vec::new(),
    });
    let outcomes: Vec<_> = outcomes.collect();
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    outcomes.into_iter().next().expect("one").verdict
}

pub fn denial(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Rejected(Rejection::Denied(reason)) => reason,
        other => panic!("denied was expected, not {other:?}"),
    }
}

fn is_committed(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Committed(_))
}

#[test]
fn who_writes_in_the_name_of_somebody_else_is_denied_and_the_lane_goes_on() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    let forged = ended(&mut world, 1, 1, note(6, 1, "ben"));
    assert_eq!(denial(&forged), r#"table "notes": the rule "create" does not let this user"#);
    assert!(is_committed(&ended(&mut world, 1, 2, note(6, 1, "ann"))));
}

#[test]
fn a_denial_is_recorded_so_no_earlier_attempt_takes_effect() {
    let mut world = world();
    come(&mut world, 1, Some("ben"));
    denial(&ended(&mut world, 1, 1, note(6, 1, "ben")));
    world.commit(vec![create("members", &[1.into(), "ben".into()])]);
    // He is a member now, and his client did not hear of the denial.
    let again = ended(&mut world, 1, 1, note(6, 1, "ben"));
    assert_eq!(again, Verdict::Aborted);
}

#[test]
fn a_mutation_that_was_denied_is_told_no_other_reason_when_a_later_attempt_would_be_denied_for_it() {
    let mut world = world();
    come(&mut world, 1, Some("ben"));
    denial(&ended(&mut world, 1, 1, note(6, 1, "ben")));
    // His client did not hear of that, and runs the mutation again.
    let snapshot = world.position();
    let again = vec![delete("members", &[1.into(), "ann".into()])];
    world.say(1, FromClient::Submit(Submit { attempt: Attempt(2), snapshot, ..blind(1, again) }));
    assert_eq!(verdict(&mut world, 1), Verdict::Aborted);
}

#[test]
fn a_membership_that_ends_before_the_commit_is_a_conflict_and_then_a_denial() {
    for (broken, is_allowed) in
        [(Broken::Nothing, false), (Broken::JudgeWithoutReads, true), (Broken::RulesBeforeGuarded, true)]
    {
        let mut world = world_of(broken, &rules());
        come(&mut world, 1, Some("ann"));
        let snapshot = world.position();
        world.say(1, FromClient::Submit(Submit { snapshot, ..blind(1, note(6, 1, "ann")) }));
        while !matches!(world.asked.front(), Some((_, Request::Commit { .. }))) {
            world.answer(0);
        }
        // The feed has not told of it.
        world.store.write(vec![delete("members", &[1.into(), "ann".into()])]);
        let ended = verdict(&mut world, 1);
        assert_eq!(is_committed(&ended), is_allowed, "{broken:?}: {ended:?}");
        if !is_allowed {
            let snapshot = world.position();
            let again = Submit { attempt: Attempt(2), snapshot, ..blind(1, note(6, 1, "ann")) };
            world.say(1, FromClient::Submit(again));
            assert!(denial(&verdict(&mut world, 1)).contains("create"));
        }
    }
}

/// The transaction that the store is asked to commit, once everything was read.
fn asked(world: &mut World) -> Transaction {
    loop {
        match world.asked.front() {
            Some((_, Request::Commit { transaction, .. })) => return transaction.clone(),
            Some(_) => world.answer(0),
            None => panic!("nothing is asked"),
        }
    }
}

fn whole(cell: Cell) -> Read {
    Read::Cell { cell, element: Element::Whole }
}

#[test]
fn what_the_judge_looked_at_is_validated_whatever_the_level_of_the_tables() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    let snapshot = world.position();
    world.say(1, FromClient::Submit(Submit { snapshot, ..blind(1, note(6, 1, "ann")) }));
    let transaction = asked(&mut world);
    assert_eq!(transaction.level, iolite_values::Level::ReadCommitted, "a table that a rule looks at lifts no level");
    let expected = [whole(life("members", &[1.into(), "ann".into()])), whole(life("notes", &[6.into()]))];
    assert_eq!(transaction.reads, expected);
}

#[test]
fn a_blind_mutation_that_was_made_long_ago_is_judged_as_of_now() {
    let mut world = world();
    let long_ago = world.position();
    world.commit(vec![delete("members", &[1.into(), "ann".into()])]);
    world.commit(vec![create("members", &[1.into(), "ann".into()])]);
    come(&mut world, 1, Some("ann"));
    world.say(1, FromClient::Submit(Submit { snapshot: long_ago, ..blind(1, note(6, 1, "ann")) }));
    assert!(is_committed(&verdict(&mut world, 1)), "nothing that it rests on is older");
}

#[test]
fn a_transaction_is_judged_as_a_whole() {
    let mut world = world();
    come(&mut world, 1, Some("ben"));
    let room = |member: &str| {
        let owner = put_in("rooms", &[2.into()], "owner", "ben");
        vec![create("rooms", &[2.into()]), owner, create("members", &[2.into(), member.into()])]
    };
    denial(&ended(&mut world, 1, 1, room("cem")));
    assert!(is_committed(&ended(&mut world, 1, 2, room("ben"))));
}

#[test]
fn operations_are_judged_by_what_they_do() {
    let mut world = world();
    come(&mut world, 1, Some("ben"));
    assert!(is_committed(&ended(&mut world, 1, 1, vec![like(5, 1)])));
    denial(&ended(&mut world, 1, 2, vec![like(5, 1), like(5, 1)]));
    denial(&ended(&mut world, 1, 3, vec![put_in("notes", &[5.into()], "text", "stolen")]));
    denial(&ended(&mut world, 1, 4, vec![delete("notes", &[5.into()])]));
    come(&mut world, 2, Some("ann"));
    assert!(is_committed(&ended(&mut world, 2, 1, vec![put_in("notes", &[5.into()], "text", "mine")])));
}

#[test]
fn a_check_holds_for_developers_too_and_no_other_rule_does() {
    let mut world = world();
    come(&mut world, 1, None);
    assert!(is_committed(&ended(&mut world, 1, 1, note(6, 9, "anybody"))));
    let spam = ended(&mut world, 1, 2, vec![put_in("notes", &[6.into()], "text", "spam")]);
    assert!(denial(&spam).contains("would not satisfy the rule \"check\""));
    // Nothing is judged where no row is in the end, or no check.
    assert!(is_committed(&ended(&mut world, 1, 3, vec![put_in("notes", &[9.into()], "text", "spam")])));
    assert!(is_committed(&ended(&mut world, 1, 4, vec![create("members", &[1.into(), "ann".into()])])));
    denial(&ended(&mut world, 1, 5, note(6, 9, "anybody")));
}

#[test]
fn who_creates_a_row_that_came_meanwhile_runs_again_and_who_saw_it_is_denied() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    let before = world.position();
    world.commit(note(6, 1, "ann"));
    world.say(1, FromClient::Submit(Submit { snapshot: before, ..blind(1, note(6, 1, "ann")) }));
    assert!(matches!(verdict(&mut world, 1), Verdict::Conflict(_)));
    let snapshot = world.position();
    world.say(1, FromClient::Submit(Submit { attempt: Attempt(2), snapshot, ..blind(1, note(6, 1, "ann")) }));
    assert!(denial(&verdict(&mut world, 1)).contains("that key is taken"));
}

#[test]
fn who_changes_a_row_that_went_meanwhile_runs_again_and_who_saw_that_is_denied() {
    let mut world = world();
    come(&mut world, 1, Some("ben"));
    let before = world.position();
    world.commit(vec![delete("notes", &[5.into()])]);
    world.say(1, FromClient::Submit(Submit { snapshot: before, ..blind(1, vec![like(5, 1)]) }));
    assert!(matches!(verdict(&mut world, 1), Verdict::Conflict(_)));
    denial(&ended(&mut world, 1, 2, vec![like(5, 1)]));
}

#[test]
fn a_key_that_a_hidden_row_has_taken_is_denied_at_once() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    let before = world.position();
    world.commit(vec![create("members", &[1.into(), "ben".into()])]);
    world.say(
        1,
        FromClient::Submit(Submit { snapshot: before, ..blind(1, vec![create("members", &[1.into(), "ben".into()])]) }),
    );
    assert!(denial(&verdict(&mut world, 1)).contains("that key is taken"));
}

#[test]
fn nobody_learns_by_a_conflict_that_a_hidden_row_came() {
    for (broken, is_told) in [(Broken::Nothing, false), (Broken::ReadsUnchecked, true)] {
        let mut world = world_of(broken, &rules());
        come(&mut world, 1, Some("ann"));
        let snapshot = world.position();
        world.commit(vec![create("members", &[1.into(), "ben".into()])]);
        let reads = vec![
            whole(life("members", &[1.into(), "ben".into()])),
            Read::Range { table: TableId::of("members"), range: KeyRange::all() },
            Read::Query(Arc::new(Query::all(TableId::of("members"), false))),
        ];
        for (counter, read) in (1..).zip(reads) {
            // A strict table makes all its reads count.
            let submit = Submit { snapshot, reads: vec![read], ..blind(counter, Vec::new()) };
            world.say(1, FromClient::Submit(submit));
            let ended = verdict(&mut world, 1);
            assert_eq!(matches!(ended, Verdict::Conflict(_)), is_told, "{broken:?} {counter}: {ended:?}");
        }
    }
}

#[test]
fn rows_that_a_user_sees_count_as_before() {
    let mut world = world();
    come(&mut world, 1, Some("ben"));
    let snapshot = world.position();
    world.commit(vec![create("members", &[1.into(), "ben".into()])]);
    let reads = vec![whole(life("members", &[1.into(), "ben".into()]))];
    world.say(1, FromClient::Submit(Submit { snapshot, reads, ..blind(1, Vec::new()) }));
    assert!(matches!(verdict(&mut world, 1), Verdict::Conflict(_)));
}

#[test]
fn new_rights_end_the_sessions_of_users_and_judge_what_comes_then() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    come(&mut world, 2, None);
    let open = Rights::default().open("rooms").open("members").open("notes");
    deploy(&mut world, &open);
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Unavailable);
    come(&mut world, 3, Some("ben"));
    assert!(is_committed(&ended(&mut world, 3, 1, note(6, 1, "ann"))));
}

#[test]
fn no_user_comes_before_there_are_rights_where_these_are_required() {
    let mut world = World::with(Settings { rights_required: true, ..settings_of(Broken::Nothing) });
    world.store_comes();
    world.answer_all();
    let greeting = || FromClient::Hello(Hello { token: format!("{TOKEN} as {{\"sub\":\"ann\"}}"), ..hello(1) });
    world.open(1);
    world.say(1, greeting());
    let (reason, message) = world.goodbye(1);
    assert!(reason == GoodbyeReason::Unavailable && message.contains("no rights yet"), "{message}");
    deploy(&mut world, &rules());
    come(&mut world, 2, Some("ann"));
}

#[test]
fn a_rule_that_nobody_can_satisfy_denies_without_reading_anything() {
    let closed = Rights::default()
        .open("rooms")
        .open("members")
        .table("notes", TableRules::default().read(everybody()).create(Rule::Or(Vec::new())));
    let mut world = world_of(Broken::Nothing, &closed);
    come(&mut world, 1, Some("ann"));
    denial(&ended(&mut world, 1, 1, note(6, 1, "ann")));
}

#[test]
fn so_many_rows_are_read_at_a_time_to_judge_a_mutation() {
    let mut world = world();
    for id in 100..200 {
        world.store.write(note(id, 1, "ann"));
    }
    world.publish();
    come(&mut world, 1, Some("ben"));
    let snapshot = world.position();
    let likes = (100..200).map(|id| like(id, 1)).collect();
    world.say(1, FromClient::Submit(Submit { snapshot, ..blind(1, likes) }));
    assert_eq!(world.asked.len(), crate::limits::JUDGE_READS_OPEN_MAX);
    assert!(is_committed(&verdict(&mut world, 1)));
}

#[test]
fn a_set_of_more_rows_than_are_looked_at_denies() {
    let of_mine = row("room").within(mine("members", "room", [("user", user("sub"))]));
    let rights = Rights::default()
        .open("rooms")
        .open("members")
        .table("notes", TableRules::default().read(everybody()).create(of_mine));
    let most = i64::try_from(crate::limits::SET_KEYS_MAX).expect("few");
    for (rooms, is_allowed) in [(most, true), (most + 1, false)] {
        let mut world = world_of(Broken::Nothing, &rights);
        let members = (1..=rooms).map(|room| create("members", &[room.into(), "ben".into()])).collect();
        world.commit(members);
        come(&mut world, 1, Some("ben"));
        let ended = ended(&mut world, 1, 1, note(6, 1, "ben"));
        assert_eq!(is_committed(&ended), is_allowed, "{ended:?}");
    }
}

#[test]
fn who_leaves_while_a_mutation_is_judged_has_nothing_read_and_sends_it_again() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    let snapshot = world.position();
    let submit = FromClient::Submit(Submit { snapshot, ..blind(1, note(6, 1, "ann")) });
    world.say(1, submit.clone());
    assert!(matches!(world.asked.front(), Some((_, Request::ReadAt { .. }))));
    world.input(crate::Input::SessionClosed(crate::SessionId(1)));
    world.answer_all();
    assert!(world.store.log.iter().all(|own| own.transaction.client == iolite_values::ClientId::default()));
    world.open(2);
    let token = format!("{TOKEN} as {{\"sub\":\"ann\"}}");
    world.say(2, FromClient::Hello(Hello { token, schema: schema_of_rooms().hash(), ..hello(1) }));
    world.take();
    world.say(2, submit);
    assert!(is_committed(&verdict(&mut world, 2)));
}

#[test]
fn what_follows_in_a_lane_is_judged_as_of_what_the_lane_has_committed() {
    let mut world = world();
    come(&mut world, 1, Some("ben"));
    let snapshot = world.position();
    let room = [create("rooms", &[2.into()]), put_in("rooms", &[2.into()], "owner", "ben")];
    let opened = [&room[..], &[create("members", &[2.into(), "ben".into()])]].concat();
    world.say(1, FromClient::Submit(Submit { snapshot, ..blind(1, opened) }));
    world.say(1, FromClient::Submit(Submit { snapshot, ..blind(2, note(6, 2, "ben")) }));
    world.answer_all();
    assert!(counters_told(1, &world.take()).is_empty(), "the feed has told of neither");
    world.publish();
    assert_eq!(counters_told(1, &world.take()), [1]);
    assert!(is_committed(&verdict(&mut world, 1)));
    assert_eq!(world.store.rows(&one_note(6), world.position()).len(), 1);
}

fn one_note(id: i64) -> Interest {
    Interest::Range { table: TableId::of("notes"), range: KeyRange::one(&name(&[id.into()])) }
}

#[test]
fn who_leaves_while_a_mutation_waits_for_the_feed_sends_it_again() {
    let mut world = world();
    come(&mut world, 1, Some("ann"));
    let snapshot = world.position();
    for counter in 1..=2 {
        let writes = note(5 + i64::try_from(counter).expect("few"), 1, "ann");
        world.say(1, FromClient::Submit(Submit { snapshot, ..blind(counter, writes) }));
    }
    world.answer_all();
    world.input(crate::Input::SessionClosed(crate::SessionId(1)));
    world.publish();
    assert_eq!((world.asked.len(), world.store.rows(&one_note(7), world.position()).len()), (0, 0));
}
