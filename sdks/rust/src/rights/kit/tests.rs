//! Rights of structs, tested by structs.

use iolite_values::Operation;

use super::*;
use crate::rights::{
    ClassRules, LogRules, TableRules, after, create, delete, list_has, nobody, now, old, operation, row, update, user,
    value,
};
use crate::table::{Counter, Text};

#[derive(iolite::Table, Clone, Debug, PartialEq)]
#[table(name = "notes", eventual)]
struct Note {
    #[key]
    id: String,
    owner: String,
    title: String,
}

#[derive(iolite::Table, Clone, Debug, PartialEq)]
#[table(name = "pages")]
struct Page {
    #[key]
    id: String,
    body: Text,
    ends: i64,
}

#[derive(iolite::Table, Clone, Debug, PartialEq)]
#[table(name = "likes", live)]
struct Likes {
    #[key]
    key: String,
    value: Counter,
}

fn test() -> RightsTest {
    let schema = iolite::schema().with::<Note>().with::<Page>().with::<Likes>().build().expect("a schema");
    let notes = TableRules::default()
        .read(row("owner").is(user("sub")))
        .create(row("owner").is(user("sub")).and(after("pages", [row("id")]).exists()))
        .update(old("owner").is(user("sub")))
        .delete(nobody());
    let pages = TableRules::default()
        .read(nobody())
        .create(after("notes", [row("id")]).exists())
        .update(now().less(old("ends")))
        .delete(list_has("roles", "editor"));
    let likes = TableRules::default().update(row("value").at_least(value(1)));
    let rights = Rights::default().table("notes", notes).table("pages", pages).table("likes", likes);
    RightsTest::new(&schema, &rights).expect("good rights")
}

fn note() -> Note {
    Note { id: "n".into(), owner: "ann".into(), title: "First".into() }
}

fn page() -> Page {
    Page { id: "n".into(), body: Text("It begins.".into()), ends: 10 }
}

#[test]
fn rows_of_one_mutation_vouch_for_each_other() {
    let test = test();
    let ann = test.user("ann");
    ann.may(create(&note()).and(create(&page()))).expect("each vouches for the other");
    ann.may_not(create(&note())).expect("there is no page");
    test.user("bob").may_not(create(&note()).and(create(&page()))).expect("it is not his");
}

#[test]
fn scalars_texts_and_live_rows_are_written_as_apps_write_them() {
    let likes = Likes { key: "x".into(), value: Counter(2) };
    let test = test().given([note()]).and_then(|test| test.given([page()])).and_then(|test| test.given([likes]));
    let test = test.expect("they fit");
    let (ann, bob) = (test.user("ann"), test.user("bob"));
    ann.may(update(Note::OWNER, "n", Operation::Put("bob".into()))).expect("hers, and eventual");
    bob.may_not(update(Note::OWNER, "n", Operation::Put("bob".into()))).expect("hers");
    assert_eq!(ann.sees::<Note>().expect("a table"), [note()]);
    assert_eq!((bob.sees::<Note>(), ann.sees::<Page>()), (Ok(vec![]), Ok(vec![])));
    bob.may(update(Page::ENDS, "n", Operation::Put(20.into()))).expect("in time");
    bob.clone().at(10).may_not(update(Page::ENDS, "n", Operation::Put(20.into()))).expect("too late");
    bob.may(update(Likes::VALUE, "x", Operation::Add(-1))).expect("one is left");
    bob.may_not(update(Likes::VALUE, "x", Operation::Add(-2))).expect("none is left");
    bob.clone().role("reader").role("editor").may(delete::<Page>("n")).expect("an editor");
    bob.role("reader").may_not(delete::<Page>("n")).expect("a reader");
}

#[test]
fn a_test_that_fails_shows_the_rule_as_a_tree() {
    let test = test().given([note()]).expect("it fits");
    let denied = test.user("bob").may(update(Note::OWNER, "n", Operation::Put("bob".into()))).expect_err("hers");
    let wanted = r#"bob may not do this: denied: table "notes": the rule "update" does not let this user
rule "update" of table "notes": it does not hold
  no  old.owner = user.sub
        old.owner is "ann"
        user.sub is "bob"
        looked at notes["n"].owner
"#;
    assert_eq!(format!("{denied:?}"), wanted);
    let allowed = test.user("ann").may_not(update(Note::OWNER, "n", Operation::Put("bob".into()))).expect_err("hers");
    assert!(allowed.to_string().starts_with("ann may do this, and should not: allowed\nrule \"update\""), "{allowed}");
    let mistake = test.user("ann").may(update(Note::OWNER, "n", Operation::Add(1))).expect_err("a mistake");
    assert!(matches!(&mistake, RightsTestError::Mistake(text) if text.contains(r#"table "notes""#)), "{mistake}");
    let schema = iolite::schema().with::<Note>().build().expect("a schema");
    let mistake = RightsTest::new(&schema, &Rights::default()).expect_err("no rights");
    assert!(mistake.to_string().contains(r#"table "notes": it has no rights"#), "{mistake}");
}

#[derive(iolite::Table, Clone, Debug, PartialEq)]
#[table(name = "marks", log = "board")]
struct Mark {
    #[key]
    room: String,
    #[key]
    at: String,
}

#[test]
fn logs_and_objects_are_tried_by_their_rules() {
    let schema = iolite::schema().with::<Mark>().build().expect("a schema");
    let is_ann = || user("sub").is(value("ann"));
    let board = LogRules { join: Some(is_ann()), run: Some(is_ann().and(operation().is(value("draw")))) };
    let lists = ClassRules { call: Some(is_ann()), read: None, hold: Some(list_has("roles", "editor")) };
    let test = RightsTest::new(&schema, &Rights::default().log("board", board).class("List", lists)).expect("good");
    let (ann, bob) = (test.user("ann"), test.user("bob").role("editor"));
    ann.may_join("board", "lab").expect("she may");
    ann.may_run("board", "lab", "draw").expect("she may");
    ann.may_not_run("board", "lab", "erase").expect("nobody may");
    ann.may_call("List", "l", "add").expect("she may");
    ann.may_not_hold("List", "l").expect("she is no editor");
    bob.may_not_join("board", "lab").expect("he is not Ann");
    bob.may_not_call("List", "l", "add").expect("he is not Ann");
    bob.may_hold("List", "l").expect("he is an editor");
    let unknown = ann.may_join("bord", "lab").expect_err("a mistake").to_string();
    assert!(unknown.contains("the schema has no log \"bord\""), "{unknown}");
}
