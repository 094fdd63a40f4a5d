//! Strangers who write past the mutators of an app, in raw frames. The rights of the examples deny it, and let through what the apps themselves do.

use std::collections::BTreeSet;
use std::path::PathBuf;

use iolite_catalog::Deployment;
use iolite_values::{Id, ListOrder, Operation, RowKey, TableId, Value, Write};
use iolite_wire::message::Advance;

use crate::support::dev::{Dev, Folder};
use crate::support::tokens::Issuer;
use crate::support::users::{HOUR, User, delete, insert, put, write};

struct Stage {
    server: Dev,
    _folder: Folder,
    issuer: Issuer,
    deployment: Deployment,
}

impl Stage {
    /// A server with the rights of an example, as its TypeScript makes them.
    fn of(example: &str) -> Stage {
        let folder = Folder::new(&format!("attack-strangers-{example}"));
        let issuer = Issuer::new(&folder.0.join("issuer"));
        let rights = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../sdks/golden/rights/{example}.json"));
        let text = std::fs::read_to_string(&rights).expect("it is there");
        let deployment = Deployment::from_json(&text).expect("a deployment");
        let [tokens, file] = issuer.options();
        let rights = rights.to_str().expect("plain");
        let server = Dev::start_with(&folder.0.join("data"), &[&tokens, &file, "--rights", rights]);
        Stage { server, _folder: folder, issuer, deployment }
    }

    async fn user(&self, name: &str) -> User {
        let token = self.issuer.token(name, HOUR);
        User::come(&self.server.sync_url(), &token, self.deployment.schema.hash()).await
    }
}

fn line(id: &str, by: &str) -> Vec<Write> {
    let columns = [("author", by.into()), ("by", by.into()), ("text", "hi".into()), ("at", 1.into())];
    insert("lines", &[id.into()], &columns)
}

fn append(room: &str) -> Vec<Write> {
    let operation = Operation::Append { value: "l1".into(), order: ListOrder::Commit };
    vec![write("logs", &[room.into()], "value", operation)]
}

#[tokio::test]
async fn strangers_in_the_chat_speak_as_nobody_else_and_change_nothing_that_was_said() {
    let stage = Stage::of("chat");
    let (mut ann, mut mallory) = (stage.user("ann").await, stage.user("mallory").await);
    let (room, key) = ([Value::from("r")], |id: &str| [Value::from("r"), id.into()]);
    let count = |amount| vec![write("rooms", &room, "count", Operation::Add(amount))];
    let name = |id: &str| vec![write("people", &key(id), "name", Operation::Assign("x".into()))];
    ann.may("open a room", insert("rooms", &room, &[])).await;
    ann.may("say a line", [line("l1", "ann"), append("r"), count(1)].concat()).await;
    ann.may("be there", insert("people", &key("ann"), &[])).await;

    for (what, writes) in [
        ("speak as ann", line("l2", "ann")),
        ("change what she said", vec![put("lines", &["l1".into()], "text", "stolen")]),
        ("take her line for oneself", vec![put("lines", &["l1".into()], "by", "mallory")]),
        ("take it back", delete("lines", &["l1".into()])),
        ("take it back, and say it anew", [delete("lines", &["l1".into()]), line("l1", "mallory")].concat()),
        ("rename her", name("ann")),
        ("send her away", delete("people", &key("ann"))),
        ("be there as ben", insert("people", &key("ben"), &[])),
        ("count twice", count(2)),
        ("count back", count(-1)),
        ("rename the room", vec![write("rooms", &room, "name", Operation::Assign("mine".into()))]),
        ("close the room", delete("rooms", &room)),
        ("speak where there is no room", append("nowhere")),
        (
            "write over what stands there",
            vec![write("logs", &room, "value", Operation::SetAt { index: 0, value: "x".into() })],
        ),
        ("hide a forged line behind a good one", [line("l3", "mallory"), line("l4", "ann")].concat()),
    ] {
        mallory.may_not(what, writes).await;
    }
    mallory.may("say a line", [line("l2", "mallory"), append("r"), count(1)].concat()).await;
    mallory.may("be there", insert("people", &key("mallory"), &[])).await;
    mallory.may("have a name", name("mallory")).await;
    mallory.may("go", delete("people", &key("mallory"))).await;
}

fn player(id: &str, seat: i64, score: i64) -> Vec<Write> {
    let columns = [("seat", seat.into()), ("name", id.into()), ("rack", "ABC".into()), ("score", score.into())];
    insert("players", &["g".into(), id.into()], &columns)
}

#[tokio::test]
async fn strangers_at_the_word_board_change_no_game_without_a_seat_and_nobody_elses_points() {
    let stage = Stage::of("word-board");
    let (mut ann, mut mallory) = (stage.user("ann").await, stage.user("mallory").await);
    let (game, anns) = ([Value::from("g")], [Value::from("g"), "ann".into()]);
    let open = |id: &str| insert("games", &[id.into()], &[("bag", "XYZ".into())]);
    let square = |at: i64| insert("squares", &["g".into(), at.into()], &[("letter", "A".into())]);
    let laid = |at: i64| vec![write("laid", &game, "value", Operation::Insert(at.into()))];
    let turn = || vec![put("games", &game, "turn", 1)];
    ann.may("open a table", [open("g"), player("ann", 0, 0)].concat()).await;
    ann.may("lay a tile", [square(60), laid(60), vec![put("players", &anns, "rack", "BC")]].concat()).await;

    for (what, writes) in [
        ("open a table without a seat", open("h")),
        ("end a turn", turn()),
        ("lay a tile", square(61)),
        ("take a tile away", delete("squares", &["g".into(), 60.into()])),
        ("say that a tile was laid", laid(61)),
        ("give her points", vec![put("players", &anns, "score", 0)]),
        ("take her tiles", vec![put("players", &anns, "rack", "")]),
        ("send her away", delete("players", &anns)),
        ("take a seat for somebody else", player("ben", 1, 0)),
        ("take a fifth seat", player("mallory", 4, 0)),
        ("begin with points", player("mallory", 1, 50)),
        ("take the table away", delete("games", &game)),
    ] {
        mallory.may_not(what, writes).await;
    }
    mallory.may("take a seat", player("mallory", 1, 0)).await;
    mallory.may("end a turn", turn()).await;
    mallory.may_not("give her points", vec![put("players", &anns, "score", 50)]).await;
    mallory.may_not("rename her", vec![put("players", &anns, "name", "x")]).await;
}

fn id(number: u128) -> Value {
    Value::Id(Id::from_u128(number))
}

fn room(number: u128, owner: &str, name: &str) -> Vec<Write> {
    let founded = insert("rooms", &[id(number)], &[("owner", owner.into())]);
    let named = write("rooms", &[id(number)], "name", Operation::Assign(name.into()));
    let member = insert("members", &[id(number), owner.into()], &[]);
    [founded, vec![named], member].concat()
}

fn message(number: u128, room: u128, author: &str) -> Vec<Write> {
    insert("messages", &[id(number)], &[("room", id(room)), ("author", author.into())])
}

fn like(number: u128) -> Vec<Write> {
    vec![write("messages", &[id(number)], "likes", Operation::Add(1))]
}

/// Everything that Mallory is told while Ann writes in a room of which he is no member. Then he is let into another one.
async fn told_to_mallory(hidden_name: &str, hidden_messages: u128) -> Vec<Advance> {
    let stage = Stage::of("rooms");
    let (mut ann, mut mallory) = (stage.user("ann").await, stage.user("mallory").await);
    ann.may("found a room", room(1, "ann", hidden_name)).await;
    for number in 0..hidden_messages {
        ann.may("say something", message(100 + number, 1, "ann")).await;
    }
    mallory.follow(10, "rooms", &[id(1)], Some("name")).await;
    mallory.follow(20, "members", &[id(1), "ann".into()], None).await;
    mallory.follow(30, "messages", &[id(100)], Some("likes")).await;
    for number in 0..hidden_messages {
        ann.may("like it", like(100 + number)).await;
    }
    ann.may("say more", message(99, 1, "ann")).await;
    ann.may("found another room", room(2, "ann", "open")).await;
    ann.may("say hello there", message(200, 2, "ann")).await;
    ann.may("let him in", insert("members", &[id(2), "mallory".into()], &[])).await;
    mallory.told_until(&[id(200)]).await
}

#[tokio::test]
async fn what_an_outsider_is_told_is_the_same_whatever_is_hidden() {
    let (one, other) = (told_to_mallory("a", 1).await, told_to_mallory("a far longer name", 7).await);
    assert_eq!(one, other);
    let rows = one.last().into_iter().flat_map(|last| &last.snapshots).flat_map(|own| &own.rows);
    let rooms: BTreeSet<&RowKey> = rows.filter(|own| own.table == TableId::of("rooms")).map(|own| &own.key).collect();
    assert_eq!(rooms, BTreeSet::from([&RowKey::new(&[id(2)]).expect("short")]), "he sees the room that he is in");
    assert!(one.iter().all(|own| own.changes.is_empty() && own.declined.is_empty()), "{one:?}");
}

#[tokio::test]
async fn a_member_who_is_removed_loses_the_room_in_the_next_advance() {
    let stage = Stage::of("rooms");
    let (mut ann, mut ben) = (stage.user("ann").await, stage.user("ben").await);
    ann.may("found a room", room(1, "ann", "lab")).await;
    ben.follow(10, "rooms", &[id(1)], Some("name")).await;
    ann.may("let him in", insert("members", &[id(1), "ben".into()], &[])).await;
    ben.told_until(&[id(1)]).await;
    ann.may("send him away", delete("members", &[id(1), "ben".into()])).await;
    ann.may("say something", message(1, 1, "ann")).await;
    ben.may_not("say something", message(2, 1, "ben")).await;
    let rest = ben.heard.iter().filter(|own| !own.snapshots.is_empty());
    let rest: Vec<usize> = rest.map(|own| own.snapshots.iter().map(|own| own.rows.len()).sum()).collect();
    assert_eq!(rest, [0], "one advance takes everything away: {:?}", ben.heard);
}
