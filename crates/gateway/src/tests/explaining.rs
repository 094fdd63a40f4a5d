//! Explanations: an operator is told what a user may do and why, as of one position, and nothing is committed.

use iolite_rights::{Right, Rights, Rule, TableRules, list_has, mine, nobody, row, user};
use iolite_store::{Event, Refusal, Reply, Request, TooOld};

use super::rights::{create, deploy, rules, world};
use super::world::*;
use crate::{AccessNews, Explain, ExplainId, Explained, Input};

const ID: ExplainId = ExplainId(3);

fn question(right: Right, table: &str, key: &str) -> Explain {
    Explain { user: "ann".into(), claims: None, right, table: table.into(), key: key.into(), with: None }
}

fn note_of(who: &str) -> Explain {
    let with = Some(format!(r#"{{"room": 1, "author": "{who}", "text": "hello"}}"#));
    Explain { user: who.into(), with, ..question(Right::Create, "notes", "6") }
}

fn ask(world: &mut World, explain: Explain) {
    world.input(Input::Explain(ID, Box::new(explain)));
}

fn answer(world: &mut World) -> Result<Explained, String> {
    match std::mem::take(&mut world.access).pop() {
        Some(AccessNews::Explained(ID, result)) => result,
        news => panic!("{news:?}"),
    }
}

fn explained(world: &mut World, explain: Explain) -> Explained {
    ask(world, explain);
    world.answer_all();
    answer(world).expect("no mistake")
}

fn problem(world: &mut World, explain: Explain) -> String {
    ask(world, explain);
    assert!(world.asked.is_empty(), "nothing is read for it");
    answer(world).expect_err("a mistake")
}

#[test]
fn an_explanation_reads_what_the_rules_look_at_and_commits_nothing() {
    let mut world = world();
    ask(&mut world, note_of("bob"));
    assert_eq!(world.access, [], "rows have to be read first");
    while let Some((_, request)) = world.asked.front() {
        let position = world.gateway.position();
        assert!(matches!(request, Request::ReadAt { at, .. } if *at == position), "{request:?}");
        world.answer(0);
    }
    let Explained { is_allowed, text } = answer(&mut world).expect("no mistake");
    let wanted = r#"denied: table "notes": the rule "create" does not let this user
rule "create" of table "notes": it does not hold
  no  (row.author = user.sub and at.members(row.room, user.sub) exists)
    yes row.author = user.sub
          row.author is "bob"
          user.sub is "bob"
    no  at.members(row.room, user.sub) exists
          row.room is 1
          user.sub is "bob"
          looked at members[1, "bob"]: whether it is there
rule "check" of table "notes": it holds
  yes row.text ≠ "spam"
        row.text is "hello"
"#;
    assert_eq!((is_allowed, text.as_str()), (false, wanted));
    assert!(explained(&mut world, note_of("ann")).is_allowed);
    world.commit(vec![create("members", &[1.into(), "bob".into()])]);
    assert!(explained(&mut world, note_of("bob")).is_allowed, "it is of the newest position");
}

#[test]
fn a_row_that_is_read_changed_or_deleted_is_explained() {
    let mut world = world();
    let read = explained(&mut world, question(Right::Read, "members", r#"[1, "ann"]"#));
    assert!(read.is_allowed && read.text.contains(r#"row.user is "ann""#), "{}", read.text);
    let other = Explain { user: "bob".into(), ..question(Right::Read, "members", r#"[1, "ann"]"#) };
    assert!(!explained(&mut world, other).is_allowed);
    let gone = explained(&mut world, question(Right::Read, "notes", "9"));
    assert_eq!(gone.text, "denied: table \"notes\": the row is not there\n");
    let likes = Some(r#"{"likes": {"add": 2}}"#.to_owned());
    let update = Explain { user: "bob".into(), with: likes, ..question(Right::Update, "notes", "5") };
    let update = explained(&mut world, update);
    assert!(!update.is_allowed && update.text.contains("no  it does likes: add 2"), "{}", update.text);
    let delete = explained(&mut world, question(Right::Delete, "notes", "5"));
    assert!(delete.text.starts_with("denied: table \"notes\" has no rule \"delete\""), "{}", delete.text);
}

fn with_read_of_notes(rule: Rule) -> Rights {
    rules().table("notes", TableRules::default().read(rule).create(nobody()))
}

#[test]
fn sets_and_claims_are_looked_at() {
    let mut world = world();
    let rule = row("room").within(mine("members", "room", [("user", user("sub"))]));
    deploy(&mut world, &with_read_of_notes(rule));
    assert!(explained(&mut world, question(Right::Read, "notes", "5")).is_allowed);
    let bob = explained(&mut world, Explain { user: "bob".into(), ..question(Right::Read, "notes", "5") });
    let looked = r#"looked at members: whether there is a row with user = "bob" and room = 1"#;
    assert!(!bob.is_allowed && bob.text.contains(looked), "{}", bob.text);
    deploy(&mut world, &with_read_of_notes(list_has("roles", "editor")));
    assert!(!explained(&mut world, question(Right::Read, "notes", "5")).is_allowed);
    let claims = Some(r#"{"roles": ["editor"]}"#.to_owned());
    assert!(explained(&mut world, Explain { claims, ..question(Right::Read, "notes", "5") }).is_allowed);
}

#[test]
fn what_an_operator_types_wrong_is_a_sentence_that_says_what_to_do() {
    let mut world = World::starting(crate::Broken::Nothing);
    assert!(problem(&mut world, note_of("ann")).contains("the store is not there yet"));
    world.store_comes();
    world.answer_all();
    world.access.clear();
    assert!(problem(&mut world, note_of("ann")).contains("no rights are in effect"));
    let mut world = super::rights::world();
    world.access.clear();
    let with = |with: &str| Explain { with: Some(with.into()), ..question(Right::Create, "notes", "6") };
    for (explain, wanted) in [
        (question(Right::Read, "note", "5"), "the schema has no table \"note\": there are "),
        (question(Right::Read, "notes", "five"), "table \"notes\", column \"id\": \"five\" is no value of type int"),
        (question(Right::Read, "members", "1"), "has 2 columns: write it as JSON, [\"room\", \"user\"]"),
        (with("[]"), "a row is an object of columns and values"),
        (with(r#"{"room": "kitchen"}"#), "column \"author\": it is required"),
        (with("hello"), "what --with names is no JSON"),
        (question(Right::Update, "notes", "5"), "say what changes: --with names a file"),
        (Explain { user: String::new(), ..note_of("ann") }, "say who asks"),
        (Explain { claims: Some("[]".into()), ..note_of("ann") }, "the claims are no object in JSON"),
    ] {
        let said = problem(&mut world, explain);
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

#[test]
fn every_question_is_answered_when_the_store_refuses_has_forgotten_or_starts_again() {
    let mut world = world();
    ask(&mut world, note_of("bob"));
    let (id, _) = world.asked.pop_front().expect("asked");
    let refusal = Refusal::TransactionTooLarge { bytes_max: 10 };
    world.input(Input::Store(Event::Reply(id, Reply::Refused(refusal.clone()))));
    assert_eq!(answer(&mut world), Err(refusal.to_string()));
    ask(&mut world, note_of("bob"));
    let (id, _) = world.asked.pop_front().expect("asked");
    let too_old = TooOld { low_watermark: world.gateway.position() };
    world.input(Input::Store(Event::Reply(id, Reply::ReadAt(Err(too_old)))));
    assert!(answer(&mut world).is_err_and(|why| why.contains("the store went on")));
    ask(&mut world, note_of("bob"));
    world.store_comes();
    let mut news = std::mem::take(&mut world.access).into_iter();
    let told = news.find(|own| matches!(own, AccessNews::Explained(ID, Err(why)) if why.contains("ask once more")));
    assert!(told.is_some(), "the store has started again");
}

#[test]
fn only_a_few_are_explained_at_once() {
    let mut world = world();
    for number in 0..9 {
        world.input(Input::Explain(ExplainId(number), Box::new(note_of("bob"))));
    }
    let [AccessNews::Explained(ExplainId(8), Err(busy))] = &world.access[..] else { panic!("{:?}", world.access) };
    assert!(busy.contains("ask again in a moment"), "{busy}");
    world.answer_all();
    assert_eq!(world.access.len(), 9, "the others are answered");
}
