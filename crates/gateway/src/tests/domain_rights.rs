//! Rights of change sets and of tables that merge: each row is judged, and nobody hears of a conflict that the judge alone made.

use iolite_rights::{Rights, TableRules, at, everybody, old, row, user};
use iolite_store::Request;
use iolite_values::{
    Cell, ColumnId, Counter, Effect, HybridTime, LaneNumber, Lives, Mark, Operation, Schema, Stamp, TableId, Value,
    Write,
};
use iolite_wire::centres::CentreName;
use iolite_wire::message::{FromClient, Submit, Verdict};

use super::rights::{come_with, create, delete, denial, deploy_beside, name, ruled, verdict};
use super::world::*;
use crate::{Broken, Gateway, Input};

const PHOTOS: &str = r#""photos":{"columns":{"id":{"type":"int"},"author":{"type":"string"},"title":{"type":"string","default":""}},"key":["id"],"consistency":"eventual"}"#;
const MERGING: &str = r#"
    "members":{"columns":{"user":{"type":"string"}},"key":["user"],"consistency":"causal","onConflict":"merge"},
    "posts":{"columns":{"id":{"type":"int"},"by":{"type":"string"},"text":{"type":"register","of":"string"}},"key":["id"],"consistency":"causal","onConflict":"merge"}"#;

fn schema_of(tables: &str) -> Schema {
    Schema::from_json(&format!(r#"{{"tables":{{{tables}}}}}"#)).expect("a good schema")
}

fn schema() -> Schema {
    schema_of(&format!("{PHOTOS},{MERGING}"))
}

/// Authors write photos and posts. Only members write posts.
fn rules() -> Rights {
    let is_mine = || old("author").is(user("sub"));
    let photos = TableRules::default()
        .read(everybody())
        .create(row("author").is(user("sub")))
        .update(is_mine())
        .delete(is_mine());
    let is_member = || at("members", [user("sub")]).exists();
    let posts = TableRules::default()
        .read(everybody())
        .create(row("by").is(user("sub")).and(is_member()))
        .update(old("by").is(user("sub")).and(is_member()));
    let members = TableRules::default().read(everybody());
    Rights::default().table("photos", photos).table("posts", posts).table("members", members)
}

/// Sessions 1 and 2 are Ann's and Ben's. Ann is a member.
fn world() -> World {
    begun(ruled(settings_of(Broken::Nothing), schema(), &rules()), &schema())
}

/// The same of one of several data centres.
fn in_group() -> World {
    let mut world = World::with(settings_of(Broken::Nothing));
    world.gateway = Gateway::new(settings_of(Broken::Nothing)).in_group(CentreName::new("eu").expect("a name"));
    world.store_comes();
    world.answer_all();
    let (schema, mut rules) = (schema_of(MERGING), rules());
    rules.tables.retain(|name, _| name != "photos");
    deploy_beside(&mut world, schema.clone(), &rules);
    begun(world, &schema)
}

fn begun(mut world: World, schema: &Schema) -> World {
    world.commit(member());
    for (session, name) in [(1, "ann"), (2, "ben")] {
        come_with(&mut world, session, Some(name), schema);
    }
    world
}

/// A mark of a transaction of nobody here.
fn others(index: u32) -> Mark {
    Mark::of(client(99).0, Counter(1), index)
}

fn member() -> Vec<Write> {
    let cell = Cell::row(TableId::of("members"), name(&["ann".into()]));
    vec![Write { cell, operation: Operation::Merge(Lives::insertion(others(1)).into()) }]
}

fn removed() -> Vec<Write> {
    let cell = Cell::row(TableId::of("members"), name(&["ann".into()]));
    vec![Write { cell, operation: Operation::Merge(Effect::Bury { seen: [others(1)].into() }.into()) }]
}

fn photo(id: i64, author: &str) -> Vec<Write> {
    vec![create("photos", &[id.into()]), assigned(id, "author", author)]
}

fn assigned(id: i64, column: &str, value: &str) -> Write {
    let cell = Cell { table: TableId::of("photos"), row: name(&[id.into()]), column: ColumnId::of(column) };
    Write { cell, operation: Operation::Assign(value.into()) }
}

/// The effects of a session's transaction: it inserts a post, if it says by whom, and sets its text.
fn post(session: u64, counter: u64, by: Option<&str>) -> Vec<Write> {
    let key = name(&[1.into()]);
    let mark = |index| Mark::of(client(session).0, Counter(counter), index);
    let cell = |column: &str| Cell { table: TableId::of("posts"), row: key.clone(), column: ColumnId::of(column) };
    let stamp = |index| Stamp { time: HybridTime(1), mark: mark(index) };
    let assign = |column: &str, index, text: &str| {
        let effect = Effect::Assign { stamp: stamp(index), value: Value::from(text) };
        Write { cell: cell(column), operation: Operation::Merge(effect.into()) }
    };
    let Some(by) = by else { return vec![assign("text", 1, "changed")] };
    let life = Cell::row(TableId::of("posts"), key.clone());
    let insertion = Write { cell: life, operation: Operation::Merge(Lives::insertion(mark(1)).into()) };
    vec![insertion, assign("by", 2, by), assign("text", 3, "hello")]
}

fn say(world: &mut World, session: u64, counter: u64, lane: u32, writes: Vec<Write>) {
    let submit = Submit { lane: LaneNumber(lane), ..blind(counter, writes) };
    world.say(session, FromClient::Submit(submit));
}

fn ended(world: &mut World, session: u64, counter: u64, lane: u32, writes: Vec<Write>) -> Verdict {
    say(world, session, counter, lane, writes);
    verdict(world, session)
}

fn is_committed(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Committed(_))
}

#[test]
fn a_change_set_is_judged_row_by_row() {
    let mut world = world();
    let set = [photo(1, "ann"), photo(2, "ben"), photo(3, "ann")].concat();
    assert!(denial(&ended(&mut world, 1, 1, 1, set)).contains("rule \"create\""));
    assert!(is_committed(&ended(&mut world, 1, 2, 1, [photo(1, "ann"), photo(3, "ann")].concat())));
    let stolen = vec![assigned(1, "title", "mine")];
    assert!(denial(&ended(&mut world, 2, 1, 1, stolen)).contains("rule \"update\""));
    assert!(denial(&ended(&mut world, 2, 2, 1, vec![delete("photos", &[1.into()])])).contains("rule \"delete\""));
}

/// The rule looks at the author, whom another writer sets again at the same time.
#[test]
fn a_change_set_of_an_eventual_table_never_conflicts_because_of_its_rule() {
    let mut world = world();
    assert!(is_committed(&ended(&mut world, 1, 1, 1, photo(1, "ann"))));
    say(&mut world, 1, 2, 1, vec![assigned(1, "title", "second")]);
    while !world.asked.iter().any(|(_, request)| matches!(request, Request::Commit { .. })) {
        world.answer(0);
    }
    world.store.write(vec![assigned(1, "author", "ann")]);
    world.answer(0);
    world.publish();
    assert!(is_committed(&verdict(&mut world, 1)));
}

#[test]
fn effects_are_judged_by_whoever_made_the_row_and_by_rows_that_merge() {
    let mut world = world();
    assert!(denial(&ended(&mut world, 2, 1, 1, post(2, 1, Some("ben")))).contains("rule \"create\""));
    assert!(is_committed(&ended(&mut world, 1, 1, 1, post(1, 1, Some("ann")))));
    assert!(is_committed(&ended(&mut world, 1, 2, 1, post(1, 2, None))));
    assert!(denial(&ended(&mut world, 2, 2, 1, post(2, 2, None))).contains("rule \"update\""));
    world.commit(removed());
    assert!(denial(&ended(&mut world, 1, 3, 1, post(1, 3, None))).contains("rule \"update\""));
}

/// Clients go on although their gateway holds back from them all that other data centres do not have yet.
#[test]
fn in_a_group_effects_are_judged_as_of_what_their_client_has_committed_here() {
    let mut world = in_group();
    say(&mut world, 1, 1, 1, post(1, 1, Some("ann")));
    world.answer_all();
    let held_back = world.store.publish();
    say(&mut world, 1, 2, 1, post(1, 2, None));
    world.answer_all();
    let own = world.store.log.iter().filter(|commit| commit.transaction.client == bound(&world)).count();
    assert_eq!(own, 2, "its second transaction rests on the row that its first one made");
    world.input(Input::Store(held_back));
}

/// The client of Ann's session, as commits name it.
fn bound(world: &World) -> iolite_values::ClientId {
    world.store.log.last().expect("something was committed").transaction.client
}

/// The client hears of no conflict, and the membership that went meanwhile counts.
#[test]
fn effects_that_meet_a_change_of_rights_are_judged_again() {
    for is_removed in [true, false] {
        let mut world = world();
        assert!(is_committed(&ended(&mut world, 1, 1, 1, post(1, 1, Some("ann")))));
        say(&mut world, 1, 2, 1, post(1, 2, None));
        while !world.asked.iter().any(|(_, request)| matches!(request, Request::Commit { .. })) {
            world.answer(0);
        }
        world.store.write(removed());
        if !is_removed {
            let cell = Cell::row(TableId::of("members"), name(&["ann".into()]));
            world.store.write(vec![Write { cell, operation: Operation::Merge(Lives::insertion(others(2)).into()) }]);
        }
        world.answer(0);
        world.publish();
        let verdict = verdict(&mut world, 1);
        match is_removed {
            true => assert!(denial(&verdict).contains("rule \"update\"")),
            false => assert!(is_committed(&verdict), "{verdict:?}"),
        }
    }
}
