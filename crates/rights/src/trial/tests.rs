//! Trials of the rights of a chat.

use iolite_values::{CellState, ColumnId, Id, Value};
use serde_json::{Value as Json, json};

use super::*;
use crate::{
    Allowed, Change, Claim, ClaimType, Claims, ClassRules, LogRules, Right, TableRules, after, at, everybody, flag,
    key, method, mine, object_id, old, operation, ops, row, user, value,
};

fn schema() -> Schema {
    let json = r#"{"tables":{
        "rooms":{"key":["id"],"columns":{"id":{"type":"string"},"owner":{"type":"string"}}},
        "members":{"key":["room","user"],"indexes":{"byUser":["user"]},"columns":{"room":{"type":"string"},"user":{"type":"string"}}},
        "messages":{"key":["id"],"columns":{"id":{"type":"int"},"room":{"type":"string"},"author":{"type":"string"},
            "text":{"type":"register","of":"string"},"likes":{"type":"counter"},"tags":{"type":"set","of":"string"},
            "lines":{"type":"list","of":"string","order":"commit"},"notes":{"type":"map","of":"int"},"body":{"type":"text"},
            "rank":{"type":"int","optional":true}}},
        "live":{"key":["key"],"live":true,"columns":{"key":{"type":"id"},"value":{"type":"counter"}}},
        "cells":{"key":["room"],"live":true,"consistency":"log","log":"sheet","columns":{"room":{"type":"string"},"n":{"type":"counter"}}},
        "walls":{"key":["id"],"consistency":"causal","columns":{"id":{"type":"string"}}}}}"#;
    Schema::from_json(json).expect("a good schema")
}

fn rights() -> Rights {
    let own_rooms = || mine("members", "room", [("user", user("sub"))]);
    let messages = TableRules::default()
        .read(row("room").within(own_rooms()))
        .create(row("author").is(user("sub")).and(at("members", [row("room"), user("sub")]).exists()))
        .update(
            ops([("likes", vec![Allowed::add(1, 1)])])
                .or(old("author").is(user("sub")).and(ops([("text", vec![Allowed::all(Change::Any)])]))),
        )
        .delete(flag("staff"))
        .check(row("likes").at_least(value(0)));
    let rooms = TableRules::default()
        .read(everybody())
        .create(row("owner").is(user("sub")).and(after("members", [row("id"), user("sub")]).exists()));
    let members = TableRules::default().create(after("rooms", [row("room")]).column("owner").is(user("sub")));
    let live = TableRules::default().read(everybody()).update(ops([("value", vec![Allowed::add(1, 5)])]));
    let rights = Rights::default().table("messages", messages).table("rooms", rooms).table("members", members);
    let is_member = || at("members", [key(), user("sub")]).exists();
    let sheet =
        LogRules { join: Some(key().within(own_rooms())), run: Some(is_member().and(operation().is(value("set")))) };
    let lists = ClassRules {
        call: Some(at("members", [object_id(), user("sub")]).exists().and(method().is(value("add")))),
        read: None,
        hold: Some(flag("staff")),
    };
    rights.table("live", live).open("walls").log("sheet", sheet).class("List", lists)
}

fn give(trial: &mut Trial, table: &str, row: Json) {
    let writes = Wanted::row(trial.schema(), table, &row).expect("a row");
    trial.give(&writes).expect("it fits");
}

/// Ann is a member of the room, in which she has written.
fn trial() -> Trial {
    let mut trial = Trial::new(schema(), rights()).expect("good rights");
    give(&mut trial, "members", json!({ "room": "r", "user": "ann" }));
    give(&mut trial, "messages", json!({ "id": 1, "room": "r", "author": "ann", "text": "hello", "tags": ["a"] }));
    give(&mut trial, "messages", json!({ "id": 2, "room": "q", "author": "bob", "text": "secret" }));
    trial
}

fn asked(trial: &Trial, who: &str, json: Json) -> Result<Explanation, Mistake> {
    let wanted = Wanted::from_json(trial.schema(), &json)?;
    let caller = Caller { claims: Claims::new(who, [("staff".to_owned(), Claim::Flag(who == "root"))]), now_ms: 0 };
    match wanted {
        Wanted::Commit(writes) => trial.may(&caller, &writes),
        Wanted::Join(log) => Ok(trial.may_join(&caller, &log)),
        Wanted::Run(log, operation) => Ok(trial.may_run(&caller, &log, &operation)),
        Wanted::Use(object, right, method) => Ok(trial.may_use(&caller, &object, right, method.as_deref())),
        Wanted::See(_) => panic!("it reads"),
    }
}

fn may(who: &str, json: Json) -> bool {
    asked(&trial(), who, json).expect("no mistake").is_allowed()
}

fn mistake(json: Json) -> String {
    asked(&trial(), "ann", json).expect_err("a mistake").to_string()
}

#[test]
fn logs_and_objects_are_tried_by_their_rules_and_explained() {
    for (who, asked, is_allowed) in [
        ("ann", json!(["join", "sheet", "r"]), true),
        ("bob", json!(["join", "sheet", "r"]), false),
        ("ann", json!(["join", "sheet", "q"]), false),
        ("ann", json!(["run", "sheet", "r", "set"]), true),
        ("ann", json!(["run", "sheet", "r", "clear"]), false),
        ("bob", json!([["run", "sheet", "r", "set"]]), false),
        ("ann", json!(["call", "List", "r", "add"]), true),
        ("ann", json!(["call", "List", "r", "clear"]), false),
        ("bob", json!(["call", "List", "r", "add"]), false),
        ("ann", json!(["copy", "List", "r"]), false),
        ("ann", json!(["hold", "List", "r"]), false),
        ("root", json!(["hold", "List", "r"]), true),
    ] {
        assert_eq!(may(who, asked.clone()), is_allowed, "{who} {asked}");
    }
    let text = asked(&trial(), "bob", json!(["run", "sheet", "r", "set"])).expect("no mistake").text(&schema());
    assert!(text.contains("rule \"run\" of log \"sheet\": it does not hold"), "{text}");
    assert!(text.contains("looked at members[\"r\", \"bob\"]: whether it is there"), "{text}");
    let text = asked(&trial(), "bob", json!(["hold", "List", "r"])).expect("no mistake").text(&schema());
    assert!(text.contains("rule \"hold\" of class \"List\": it does not hold"), "{text}");
}

#[test]
fn a_user_may_what_a_rule_allows_and_nothing_else() {
    let message = |author: &str| json!(["create", "messages", { "id": 3, "room": "r", "author": author, "text": "" }]);
    assert!(may("ann", message("ann")) && !may("ann", message("bob")) && !may("bob", message("bob")));
    assert!(may("bob", json!(["update", "messages", 1, { "likes": { "add": 1 } }])));
    assert!(!may("bob", json!(["update", "messages", 1, { "likes": [{ "add": 1 }, { "add": 1 }] }])));
    assert!(may("ann", json!(["update", "messages", [1], { "text": "new" }])));
    assert!(!may("bob", json!(["update", "messages", 1, { "text": "new" }])));
    assert!(may("root", json!(["delete", "messages", 1])) && !may("ann", json!(["delete", "messages", 1])));
    assert!(!may("ann", json!(["update", "messages", 9, { "likes": { "add": 1 } }])), "it is not there");
    let id = Id::from_bytes([7; 16]).to_string();
    assert!(may("ann", json!(["update", "live", id, { "value": { "add": 5 } }])));
    assert!(!may("ann", json!(["update", "live", id, { "value": 5 }])));
}

#[test]
fn writes_of_one_mutation_vouch_for_each_other() {
    let room = json!(["create", "rooms", { "id": "n", "owner": "ann" }]);
    let member = json!(["create", "members", { "room": "n", "user": "ann" }]);
    assert!(may("ann", json!([room, member])));
    assert!(!may("ann", room) && !may("ann", member));
}

#[test]
fn a_user_sees_what_the_read_rule_allows() {
    let trial = trial();
    let seen = |who: &str, table: &str| {
        let rows = trial.sees(&Caller::named(who), table).expect("a table");
        rows.into_iter().map(|(key, _)| key.values().expect("a key")).collect::<Vec<_>>()
    };
    assert_eq!(seen("ann", "messages"), [[Value::Int(1)]]);
    assert_eq!(seen("bob", "messages"), [[]; 0]);
    assert_eq!(seen("ann", "members"), [[]; 0], "there is no rule");
    assert!(trial.sees(&Caller::named("ann"), "mesages").is_err());
    let see = |id: i64| {
        let row = RowName { table: TableId::of("messages"), key: RowKey::new(&[Value::Int(id)]).expect("short") };
        trial.may_see(&Caller::named("ann"), &row).is_allowed()
    };
    assert!(see(1) && !see(2) && !see(9));
}

#[test]
fn a_row_that_is_given_twice_is_the_second_one() {
    let mut trial = trial();
    let key = Id::from_bytes([7; 16]).to_string();
    give(&mut trial, "live", json!({ "key": key, "value": 2 }));
    give(&mut trial, "live", json!({ "key": key, "value": 3 }));
    let seen = trial.sees(&Caller::named("ann"), "live").expect("a table");
    let values = seen.iter().map(|(_, row)| row.cell(ColumnId::of("value")).cloned());
    assert_eq!(values.collect::<Vec<_>>(), [Some(CellState::Counter(3))]);
}

#[test]
fn a_denial_is_explained_as_a_tree() {
    let create = json!(["create", "messages", { "id": 3, "room": "r", "author": "bob", "text": "" }]);
    let explanation = asked(&trial(), "bob", create).expect("no mistake");
    let wanted = r#"denied: table "messages": the rule "create" does not let this user
rule "create" of table "messages": it does not hold
  no  (row.author = user.sub and at.members(row.room, user.sub) exists)
    yes row.author = user.sub
          row.author is "bob"
          user.sub is "bob"
    no  at.members(row.room, user.sub) exists
          row.room is "r"
          user.sub is "bob"
          looked at members["r", "bob"]: whether it is there
rule "check" of table "messages": it holds
  yes row.likes ≥ 0
        row.likes is 0
"#;
    assert_eq!(explanation.text(&schema()), wanted);
    let update = json!(["update", "messages", 2, { "text": "new", "likes": { "add": 1 } }]);
    let text = asked(&trial(), "ann", update).expect("no mistake").text(&schema());
    for line in [
        r#"yes it does likes: add 1"#,
        r#"no  it does text: put "new""#,
        r#"looked at messages[2].author"#,
        r#"old.author is "bob""#,
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let row = RowName { table: TableId::of("messages"), key: RowKey::new(&[Value::Int(2)]).expect("short") };
    let read = trial().may_see(&Caller::named("ann"), &row).text(&schema());
    let wanted = r#"looked at members: whether there is a row with user = "ann" and room = "q""#;
    assert!(read.contains(wanted), "{read}");
}

#[test]
fn a_mistake_is_a_sentence_that_says_what_to_write() {
    let row = |column: &str, value: Json| {
        let mut row = json!({ "id": 3, "room": "r", "author": "ann", "text": "" });
        row[column] = value;
        json!(["create", "messages", row])
    };
    let change = |column: &str, value: Json| json!(["update", "messages", 1, { column: value }]);
    for (asked, wanted) in [
        (json!(["make", "messages", 1]), "say what is written: \"create\" with a table and a row"),
        (json!([]), "nothing is written"),
        (
            json!(["delete", "mesages", 1]),
            r#"the schema has no table "mesages": there are cells, live, members, messages"#,
        ),
        (json!(["delete", "cells", "r"]), r#"table "cells" is of log "sheet", so nobody writes it: ask about "join""#),
        (json!(["join", "shet", "r"]), r#"the schema has no log "shet": there are sheet"#),
        (json!(["join", "sheet", 1]), r#"table "cells", column "room": 1 is no value of type string"#),
        (json!(["run", "sheet", "r"]), "say which log"),
        (json!(["call", "List", "r"]), "say which object"),
        (json!(["delete", "walls", "w"]), r#"table "walls" merges, and rules of such tables are not tried yet"#),
        (json!(["delete", "members", "r"]), r#"the key of table "members" has 2 columns (room, user), and 1 values"#),
        (json!(["delete", "messages", "x"]), r#"table "messages", column "id": "x" is no value of type int"#),
        (json!(["delete", "live", "x"]), r#"table "live", column "key": "x" is no value of type id"#),
        (json!(["create", "messages", 1]), r#"table "messages": a row is an object of columns and values, not 1"#),
        (json!(["create", "messages", { "id": 3 }]), r#"column "author": it is required, so give it a value"#),
        (json!(["create", "messages", {}]), r#"column "id": it is of the key, so give it a value"#),
        (row("rom", json!("r")), r#"has no column "rom": there are author, body, id, likes"#),
        (row("text", json!(null)), r#"column "text": null is no value of type string"#),
        (row("likes", json!("many")), r#"column "likes": "many" is no value of type int"#),
        (row("tags", json!("a")), r#"column "tags": "a" is no array"#),
        (row("notes", json!([1])), r#"column "notes": [1] is no object"#),
        (row("body", json!(1)), r#"column "body": 1 is no text"#),
        (change("id", json!(2)), "it is of the key, which no update changes"),
        (change("tags", json!("a")), "a set is changed by an operation: add, insert"),
        (change("likes", json!({ "insert": 1 })), r#"nothing does "insert" to a counter"#),
        (change("lines", json!({ "setAt": 1 })), "setAt takes an array of two"),
        (change("lines", json!({ "setAt": ["x", "y"] })), r#""x" is no place in a list"#),
        (json!(["update", "messages", 1, {}]), "no column changes"),
    ] {
        let said = mistake(asked);
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    let bad = Trial::new(schema(), Rights::default().open("rooms")).expect_err("tables without rights").to_string();
    assert!(bad.lines().count() == 5 && bad.contains(r#"table "messages": it has no rights"#), "{bad}");
}

#[test]
fn every_operation_of_a_column_is_there() {
    for changes in [
        json!({ "tags": [{ "insert": "b" }, { "remove": "a" }] }),
        json!({ "lines": [{ "append": "b" }, { "setAt": [0, "c"] }] }),
        json!({ "notes": [{ "putEntry": ["k", 1] }, { "removeEntry": "k" }] }),
        json!({ "body": { "edit": "b" } }),
        json!({ "rank": null, "likes": 3, "text": "t" }),
    ] {
        let wanted = Wanted::from_json(&schema(), &json!(["update", "messages", 1, changes])).expect("changes");
        let Wanted::Commit(writes) = wanted else { panic!("it reads") };
        writes.iter().for_each(|write| schema().check_write(write).expect("of its type"));
        assert!(writes.len() >= changes.as_object().map_or(0, serde_json::Map::len));
    }
}

#[test]
fn an_operator_types_a_key_and_what_changes() {
    let typed = |right, table: &str, key: &str, with: Option<&str>| Wanted::typed(&schema(), right, table, key, with);
    let read = |json: Json| Wanted::from_json(&schema(), &json);
    let message = r#"{ "room": "r", "author": "ann", "text": "" }"#;
    let row = json!(["create", "messages", { "id": 3, "room": "r", "author": "ann", "text": "" }]);
    assert_eq!(typed(Right::Create, "messages", "3", Some(message)), read(row));
    let member = json!(["create", "members", { "room": "r", "user": "bob" }]);
    assert_eq!(typed(Right::Create, "members", r#"["r", "bob"]"#, None), read(member));
    assert_eq!(typed(Right::Delete, "rooms", "r", None), read(json!(["delete", "rooms", "r"])));
    let like = json!(["update", "messages", 1, { "likes": { "add": 1 } }]);
    assert_eq!(typed(Right::Update, "messages", "1", Some(r#"{"likes":{"add":1}}"#)), read(like));
    assert!(matches!(typed(Right::Read, "rooms", "r", None), Ok(Wanted::See(_))));
    for (right, table, key, with, wanted) in [
        (Right::Read, "room", "r", None, "the schema has no table \"room\""),
        (Right::Read, "members", "r", None, "write it as JSON, [\"room\", \"user\"]"),
        (Right::Read, "messages", "one", None, "\"one\" is no value of type int"),
        (Right::Read, "rooms", "r", Some("{}"), "leave --with out"),
        (Right::Update, "messages", "1", None, "say what changes: --with names a file"),
        (Right::Update, "messages", "1", Some("likes"), "what --with names is no JSON"),
        (Right::Create, "messages", "3", Some(r#"{"id":4}"#), "another value of \"id\" than the key"),
        (Right::Create, "messages", "3", Some("[]"), "a row is an object of columns and values, not []"),
        (Right::Check, "messages", "3", None, "check is not asked of a row"),
    ] {
        let said = typed(right, table, key, with).expect_err(wanted).to_string();
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

#[test]
fn claims_are_of_the_types_that_the_operator_names() {
    let json = json!({ "sub": "eve", "team": "red", "level": 3, "staff": true, "roles": ["lead"] });
    let claims = json.as_object().expect("an object");
    let all = [
        ("team", Claim::Text("red".into()), ClaimType::Text),
        ("level", Claim::Number(3), ClaimType::Number),
        ("staff", Claim::Flag(true), ClaimType::Flag),
        ("roles", Claim::Texts(["lead".to_owned()].into()), ClaimType::Texts),
    ];
    let wanted = Claims::new("ann", all.clone().map(|(name, claim, _)| (name.to_owned(), claim)));
    let mut types = all.map(|(name, _, own)| (name.to_owned(), own)).into();
    assert_eq!(Claims::from_json("ann", claims, None), Ok(wanted.clone()), "the name is the one that is asked about");
    assert_eq!(Claims::from_json("ann", claims, Some(&types)), Ok(wanted));
    types.insert("team".into(), ClaimType::Flag);
    let problem = |json: Json, types| {
        let claims = json.as_object().expect("an object");
        Claims::from_json("ann", claims, types).expect_err("a mistake").to_string()
    };
    let wrong = problem(json!({ "team": "red" }), Some(&types));
    assert_eq!(wrong, r#"claim "team": it is true or false, and not "red""#);
    assert!(problem(json!({ "tam": "red" }), Some(&types)).contains("name no claim \"tam\""));
    assert!(problem(json!({ "level": 1.5 }), None).contains("a text, a whole number"));
}
