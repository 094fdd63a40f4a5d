//! Each kind of problem, once.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Schema, Value};

use super::*;
use crate::{
    Allowed, Change, ClassRules, LogRules, TableRules, after, at, everybody, key, list_has, method, mine, nobody, now,
    old, operation, ops, row, user, value,
};

fn schema() -> Schema {
    let json = r#"{"tables":{
        "members":{"key":["room","user"],"columns":{"room":{"type":"id"},"user":{"type":"string"},"role":{"type":"string"}},"indexes":{"mine":["user"]}},
        "messages":{"key":["id"],"columns":{"id":{"type":"id"},"room":{"type":"id"},"author":{"type":"string"},"rank":{"type":"int","optional":true},
            "likes":{"type":"counter"},"tags":{"type":"set","of":"string"},"body":{"type":"text"}}},
        "cells":{"key":["sheet","at"],"consistency":"log","log":"sheets","columns":{"sheet":{"type":"id"},"at":{"type":"string"},"v":{"type":"register","of":"int"}}},
        "walls":{"key":["id"],"consistency":"causal","columns":{"id":{"type":"id"},"owner":{"type":"register","of":"string","optional":true}}}}}"#;
    Schema::from_json(json).expect("a good schema")
}

fn good() -> Rights {
    let rights = Rights::default().open("members").open("messages").open("walls");
    open(rights, "sheets", "Todo")
}

fn open(mut rights: Rights, log: &str, class: &str) -> Rights {
    rights.logs.insert(log.to_owned(), LogRights::Open);
    rights.objects.insert(class.to_owned(), ClassRights::Open);
    rights
}

fn said_with(rights: &Rights, has_indexes: bool) -> String {
    let claims = BTreeMap::from([("roles".to_owned(), ClaimType::Texts), ("level".to_owned(), ClaimType::Number)]);
    let (schema, classes) = (schema(), BTreeSet::from(["Todo".to_owned()]));
    let context = Context { schema: &schema, claims: Some(&claims), classes: Some(&classes), has_indexes };
    let lines: Vec<_> = rights.problems(&context).iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn said(rights: &Rights) -> String {
    said_with(rights, true)
}

fn of(rules: TableRules) -> String {
    said(&good().table("messages", rules))
}

fn rules() -> TableRules {
    TableRules::default()
}

/// Rooms of the caller.
fn my_rooms() -> crate::Set {
    mine("members", "room", [("user", user("sub"))])
}

#[test]
fn good_rights_have_no_problem() {
    let member = || at("members", [row("room"), user("sub")]);
    let whole = rules()
        .read(row("room").within(my_rooms()).or(list_has("roles", "admin")))
        .create(row("author").is(user("sub")).and(member().exists()))
        .update(member().exists().and(ops([("likes", vec![Allowed::add(1, 1)])]).or(
            old("author").is(user("sub")).and(ops([
                ("body", vec![Allowed::all(Change::Any)]),
                ("tags", vec![Allowed::with(Change::Insert, user("sub"))]),
            ])),
        )))
        .delete(old("author").is(user("sub")).or(member().column("role").one_of(["owner"])))
        .check(row("likes").at_least(value(0)).and(row("rank").is(value_null()).or(row("rank").less(now()))));
    assert_eq!(of(whole), "");
    let run = at("members", [key(), user("sub")]).exists().and(operation().one_of(["setCell"]));
    let rights = good().log("sheets", LogRules { join: Some(key().within(my_rooms())), run: Some(run) });
    let call = method().is(value("add"));
    assert_eq!(said(&rights.class("Todo", ClassRules { call: Some(call), ..ClassRules::default() })), "");
}

fn value_null() -> crate::Operand {
    crate::Operand::Literal(Value::Null)
}

#[test]
fn what_has_no_rule_and_what_is_not_there_is_named_all_at_once() {
    let rights =
        Rights::default().open("rooms").open("cells").table("messages", rules()).log("sheet", LogRules::default());
    let lines = said(&rights);
    for wanted in [
        r#"table "members": it has no rights: write "open" if everybody may do everything"#,
        r#"table "messages": nobody may do anything with it"#,
        r#"table "cells": it is of log "sheets": give rights to the log"#,
        r#"table "rooms": there is no such table"#,
        r#"log "sheets": it has no rights"#,
        r#"log "sheet": there is no such log"#,
        r#"class "Todo": it has no rights"#,
    ] {
        assert!(lines.contains(wanted), "{lines}");
    }
    assert_eq!(said(&good()), "");
}

#[test]
fn a_claim_that_hides_the_subject_is_named() {
    let (schema, claims) = (schema(), BTreeMap::from([("sub".to_owned(), ClaimType::Number)]));
    let context = Context { schema: &schema, claims: Some(&claims), classes: None, has_indexes: true };
    assert!(good().problems(&context)[0].to_string().starts_with(r#"claim "sub": it is always the text"#));
}

#[test]
fn a_developer_may_say_any_claim_of_any_type() {
    let claim = |name| crate::Set::Claim(name);
    let rules = rules()
        .create(row("author").is(user("org")))
        .update(row("author").within(claim("teams".into())).and(crate::flag("staff")))
        .delete(row("room").is(user("sub")));
    let rights = good().table("messages", rules);
    let (schema, classes) = (schema(), BTreeSet::from(["Todo".to_owned()]));
    let context = Context { schema: &schema, claims: None, classes: Some(&classes), has_indexes: true };
    let found: Vec<_> = rights.problems(&context).iter().map(ToString::to_string).collect();
    assert!(matches!(&found[..], [only] if only.contains("row.room = user.sub never matches")), "{found:?}");
}

#[test]
fn each_bad_leaf_is_a_sentence_with_table_rule_and_remedy() {
    let to_room = |deep: crate::Operand| at("messages", [deep]).column("room");
    let deep = at("members", [to_room(to_room(to_room(row("id")))), user("sub")]).exists();
    for (rules, wanted) in [
        (
            rules().create(row("autor").is(user("sub"))),
            r#"table "messages", rule "create": table "messages" has no column "autor": correct"#,
        ),
        (rules().create(row("author").is(user("org"))), r#"there is no claim "org": name it with its type"#),
        (
            rules().create(row("room").is(user("sub"))),
            "row.room = user.sub never matches, since row.room is of type id",
        ),
        (rules().create(row("author").is(value_null())), "never matches"),
        (
            rules().create(row("body").is(value("x"))),
            r#"column "body" of table "messages" is a text, which no rule can compare"#,
        ),
        (rules().create(at("room", [row("room")]).exists()), r#"there is no table "room": correct its name"#),
        (rules().create(at("members", [row("room")]).exists()), "names 1 columns of a key that has 2"),
        (rules().create(at("members", [row("author"), user("sub")]).exists()), "no row matches"),
        (
            rules().create(at("cells", [row("room"), row("author")]).exists()),
            r#"is of log "sheets", so no server has its rows"#,
        ),
        (rules().create(deep), "follows more than 3 rows, one after the other"),
        (rules().create(old("author").is(user("sub"))), r#"it has no row "old": write row.author"#),
        (rules().delete(ops([])), r#"it limits operations, which only updates have"#),
        (rules().update(ops([("likes", vec![])]).negated()), "it negates a list of operations"),
        (
            rules().update(ops([("likes", vec![Allowed::all(Change::Append)])])),
            r#"is a counter, to which nothing does "append""#,
        ),
        (rules().update(ops([("body", vec![Allowed::with(Change::Edit, value("x"))])])), "has no one value to compare"),
        (rules().update(ops([("id", vec![])])), r#"has no column "id" that an update changes"#),
        (rules().create(row("author").within(my_rooms())), "is never in mine(members.room where user = user.sub)"),
        (rules().create(row("author").within(crate::Set::Claim("level".into()))), "is a number, and no list"),
        (
            rules().create(row("room").within(mine("members", "room", [("role", user("sub"))]))),
            "names the user: add an index",
        ),
        (rules().create(operation().is(value("x"))), r#"there is no "operation" in this rule"#),
    ] {
        let lines = of(rules);
        assert!(lines.contains(wanted) && lines.starts_with(r#"table "messages", rule "#), "{wanted}: {lines}");
    }
}

#[test]
fn a_read_rule_has_to_be_a_query() {
    let any = |count: usize| (0..count).fold(nobody(), |rule, number| rule.or(row("rank").is(value(number as i64))));
    for (rule, wanted) in [
        (
            at("members", [row("room"), user("sub")]).exists(),
            "a read rule cannot follow at.members(row.room, user.sub)",
        ),
        (row("rank").less(now()), "cannot look at the time"),
        (row("author").is(row("author")), "compares two columns"),
        (row("room").within(my_rooms()).negated(), "it negates a test of mine("),
        (row("tags").contains(user("sub")).negated(), "it negates row.tags contains user.sub"),
        (any(3).and(any(3)).or(nobody()), "more than 8 alternatives"),
        (old("author").is(user("sub")), r#"it has no row "old""#),
    ] {
        let lines = of(rules().read(rule));
        assert!(lines.contains(wanted), "{wanted}: {lines}");
    }
    assert_eq!(of(rules().read(any(Rule::ALTERNATIVES_MAX))), "");
    assert!(of(rules().read(any(Rule::ALTERNATIVES_MAX + 1))).contains("more than 8 alternatives"));
}

#[test]
fn a_set_needs_a_key_where_there_are_no_indexes() {
    let rights = good().table("messages", rules().read(row("room").within(my_rooms())));
    assert_eq!(said_with(&rights, true), "");
    assert!(
        said_with(&rights, false)
            .contains(r#"table "members" has no key that begins with the column that names the user: this store has no indexes, so put that column first in the key"#)
    );
}

#[test]
fn a_table_that_merges_is_judged_by_such_tables() {
    let rule = at("members", [row("id"), user("sub")]).exists();
    let lines = said(&good().table("walls", rules().create(rule)));
    assert!(lines.contains(r#"judged by tables that merge only, and "members" does not"#), "{lines}");
    let own = after("walls", [row("id")]).column("owner").is(user("sub"));
    assert_eq!(said(&good().table("walls", rules().create(own))), "");
}

#[test]
fn a_rule_has_so_many_tests() {
    let of_leaves = |count: usize| of(rules().create(Rule::And(vec![row("author").is(user("sub")); count])));
    assert_eq!(of_leaves(Rule::LEAVES_MAX), "");
    assert!(of_leaves(Rule::LEAVES_MAX + 1).contains("it has 65 tests, and at most 64 are allowed"));
    let to_room = |deep: crate::Operand| at("messages", [deep]).column("room");
    let deepest = at("members", [to_room(to_room(row("id"))), user("sub")]).exists();
    assert_eq!(of(rules().create(deepest.and(everybody()))), "", "three rows are allowed");
}
