//! Rooms behind two gateways of one store: their owner is at the one, and a member at the other.
//!
//! Members are keyed by the user first, since a set needs such a key where the store has no indexes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use iolite::{Client, Options, View};
use iolite_catalog::Deployment;
use iolite_values::{Id, Interest, Operation, RowKey, SchemaHash, TableId, Timestamp, Value, Write};
use iolite_wire::message::{Advance, FromClient, FromGateway, GoodbyeReason, Resume, Subscribe, SubscriptionId};

use super::folder::{PATIENCE, PROGRAM};
use super::tokens::Issuer;
use super::users::{HOUR, User, all_of, delete, insert, write};

/// The room that is hidden from who is no member, and the one that both are in.
const LAB: u128 = 1;
const HALL: u128 = 2;

/// Two gateways of one store, and the rooms that are behind them.
pub struct Rooms<'a> {
    /// Addresses as `127.0.0.1:7777`.
    pub gateways: [String; 2],
    pub issuer: &'a Issuer,
    /// The operator's token.
    pub token_file: PathBuf,
    /// A folder of the test's own.
    pub folder: &'a Path,
}

/// The deployment of the guide's rooms, as its TypeScript makes it.
pub fn guides_rooms() -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../sdks/golden/rights/rooms.json");
    std::fs::read_to_string(file).expect("it is there")
}

/// The same, with the user first in the key of members.
pub fn rooms_by_user() -> String {
    let mut text = guides_rooms();
    for (of, by) in [
        (r#"{"row":"room"},{"claim":"sub"}"#, r#"{"claim":"sub"},{"row":"room"}"#),
        (r#"{"old":"room"},{"claim":"sub"}"#, r#"{"claim":"sub"},{"old":"room"}"#),
        (r#"{"row":"id"},{"claim":"sub"}"#, r#"{"claim":"sub"},{"row":"id"}"#),
        (r#""key":["room","user"]"#, r#""key":["user","room"]"#),
    ] {
        assert!(text.contains(of), "{of} is not in {text}");
        text = text.replace(of, by);
    }
    text
}

fn id(number: u128) -> Value {
    Value::Id(Id::from_u128(number))
}

fn found(room: u128) -> Vec<Write> {
    let named = write("rooms", &[id(room)], "name", Operation::Assign("a room".into()));
    [insert("rooms", &[id(room)], &[("owner", "ann".into())]), vec![named], invite(room, "ann")].concat()
}

fn invite(room: u128, user: &str) -> Vec<Write> {
    insert("members", &[user.into(), id(room)], &[])
}

fn remove(room: u128, user: &str) -> Vec<Write> {
    delete("members", &[user.into(), id(room)])
}

fn say(number: u128, room: u128, author: &str) -> Vec<Write> {
    insert("messages", &[id(number)], &[("room", id(room)), ("author", author.into())])
}

fn like(number: u128) -> Vec<Write> {
    vec![write("messages", &[id(number)], "likes", Operation::Add(1))]
}

/// Everything that there is, as interests. The first one of each table has all of it.
fn everything() -> Vec<(SubscriptionId, Interest)> {
    let rooms = all_of(10, "rooms", &[id(LAB)], Some("name"));
    let members = all_of(20, "members", &["ben".into(), id(LAB)], None);
    [rooms, members, all_of(30, "messages", &[id(100)], Some("likes"))].concat()
}

/// In words as in `messages 100`.
fn words(table: TableId, key: &RowKey) -> String {
    let part = |value: &Value| match value {
        Value::Id(id) => (0..300).find(|number| Id::from_u128(*number) == *id).expect("a small one").to_string(),
        Value::String(text) => text.to_string(),
        other => format!("{other:?}"),
    };
    let parts: Vec<String> = key.values().expect("a key").iter().map(part).collect();
    format!("{} {}", name_of(table), parts.join(" "))
}

fn name_of(table: TableId) -> &'static str {
    ["rooms", "members", "messages"].into_iter().find(|name| TableId::of(name) == table).expect("a table of the rooms")
}

/// The rows that a session holds, in words, by the interest.
#[derive(Clone, Default)]
struct Held(BTreeMap<SubscriptionId, BTreeSet<String>>);

impl Held {
    fn apply(&mut self, advance: &Advance) {
        assert!(advance.declined.is_empty(), "{:?}", advance.declined);
        for own in &advance.snapshots {
            let rows = own.rows.iter().map(|row| words(row.table, &row.key));
            self.0.insert(own.subscription, rows.collect());
        }
        for row in &advance.entered {
            let of_all = match name_of(row.table) {
                "rooms" => 10,
                "members" => 20,
                _ => 30,
            };
            self.0.entry(SubscriptionId(of_all)).or_default().insert(words(row.table, &row.key));
        }
        for row in &advance.gone {
            let gone = words(row.table, &row.key);
            self.0.values_mut().for_each(|rows| {
                rows.remove(&gone);
            });
        }
    }

    fn all(&self) -> BTreeSet<String> {
        self.0.values().flatten().cloned().collect()
    }
}

/// Each row that an advance tells something of, apart from those that are gone.
fn told_of(advance: &Advance) -> BTreeSet<String> {
    let changed = advance.changes.iter().map(|own| words(own.cell.table, &own.cell.row));
    let rows = advance.snapshots.iter().flat_map(|own| &own.rows).chain(&advance.entered);
    changed.chain(rows.map(|row| words(row.table, &row.key))).collect()
}

fn set(rows: &[&str]) -> BTreeSet<String> {
    rows.iter().map(|row| (*row).to_owned()).collect()
}

/// The rows of the hall, and of the lab while one message was said there.
const OF_HALL: [&str; 3] = ["rooms 2", "members ann 2", "members ben 2"];
const OF_LAB: [&str; 4] = ["rooms 1", "members ann 1", "members ben 1", "messages 100"];

/// A user in a raw session who asks for everything, with all that is held by it.
struct Follower {
    user: User,
    held: Held,
    at: Timestamp,
    /// The digest of rights that was told last.
    rights: Option<Id>,
}

/// The rows that somebody holds whose session has ended, and as of when.
struct Away {
    held: Held,
    resume: Resume,
}

impl Follower {
    async fn come(rooms: &Rooms<'_>, gateway: usize, name: &str, away: Option<Away>) -> Follower {
        let resume = away.as_ref().map(|own| own.resume);
        let (url, token) = (rooms.url(gateway), rooms.issuer.token(name, HOUR));
        let mut user = User::come_back(&url, &token, rooms.schema(), resume).await;
        assert_eq!(user.welcome.resumed, resume.is_some());
        let subscribe = Subscribe { held: resume.is_some(), interests: everything(), first: [].into() };
        user.session.say(&FromClient::Subscribe(subscribe)).await;
        let held = away.map_or_else(Held::default, |own| own.held);
        Follower { user, held, at: Timestamp::ZERO, rights: resume.and_then(|own| own.rights) }
    }

    fn leave(self) -> Away {
        let resume = Resume { store: self.user.welcome.store, at: self.at, rights: self.rights };
        Away { resume, held: self.held }
    }

    /// Hears until a row is held. Returns what was held after each advance that changed that, and every row that was told of.
    async fn hears_of(&mut self, row: &str) -> (Vec<BTreeSet<String>>, Vec<BTreeSet<String>>) {
        let (mut steps, mut told) = (vec![self.held.all()], Vec::new());
        let mut heard = std::mem::take(&mut self.user.heard).into_iter();
        while !self.held.all().contains(row) {
            let advance = match heard.next() {
                Some(advance) => advance,
                None => match self.user.session.hear().await {
                    Some(FromGateway::Advance(advance)) => advance,
                    other => panic!("{other:?} before {row:?}"),
                },
            };
            assert!(!advance.more, "it is little");
            self.held.apply(&advance);
            (self.at, self.rights) = (advance.to, advance.rights.or(self.rights));
            told.push(told_of(&advance));
            if steps.last() != Some(&self.held.all()) {
                steps.push(self.held.all());
            }
        }
        self.user.heard.extend(heard);
        steps.remove(0);
        (steps, told)
    }
}

impl Rooms<'_> {
    fn url(&self, gateway: usize) -> String {
        format!("ws://{}/sync", self.gateways[gateway])
    }

    fn schema(&self) -> SchemaHash {
        Deployment::from_json(&rooms_by_user()).expect("a deployment").schema.hash()
    }

    /// `iolite schema plan` or `apply` at a gateway: whether it succeeded, and what it said.
    pub fn deploy(&self, gateway: usize, command: &str, deployment: &str) -> (bool, String) {
        let file = self.folder.join("deployment.json");
        std::fs::write(&file, deployment).expect("it can be written");
        let mut program = Command::new(PROGRAM);
        program.args(["schema", command]).arg(&file).arg("--token-file").arg(&self.token_file);
        let output = program.args(["--target", &self.gateways[gateway]]).output().expect("the program can be run");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    /// All of it: who is a member at one gateway and removed at the other holds nothing of the room, wherever the member is then.
    pub async fn are_kept(&self) {
        let (done, said) = self.deploy(0, "apply", &rooms_by_user());
        assert!(done, "{said}");
        let mut ann = User::come(&self.url(0), &self.issuer.token("ann", HOUR), self.schema()).await;
        ann.may("found the lab", found(LAB)).await;
        ann.may("found the hall", found(HALL)).await;
        ann.may("let him in there", invite(HALL, "ben")).await;
        ann.may("say something in the lab", say(100, LAB, "ann")).await;
        let ben = self.are_told_and_taken_away(&mut ann).await;
        self.are_gone_at_the_other_gateway(&mut ann, ben).await;
        self.are_gone_from_a_disk(&mut ann).await;
        self.are_gone_by_new_rights(ann).await;
    }

    /// In the order of the commits, and nothing of the room after the member is out.
    async fn are_told_and_taken_away(&self, ann: &mut User) -> Follower {
        let mut ben = Follower::come(self, 1, "ben", None).await;
        let (steps, _) = ben.hears_of("members ben 2").await;
        assert_eq!(steps, [set(&OF_HALL)]);
        ann.may("let him in", invite(LAB, "ben")).await;
        let (steps, _) = ben.hears_of("members ben 1").await;
        let both = [&OF_HALL[..], &OF_LAB].concat();
        assert_eq!(steps, [set(&both)], "the room comes whole");
        ann.may("say more", say(101, LAB, "ann")).await;
        let (steps, told) = ben.hears_of("messages 101").await;
        assert_eq!(
            (steps, told.last()),
            (vec![set(&[&both[..], &["messages 101"]].concat())], Some(&set(&["messages 101"])))
        );

        ann.may("send him away", remove(LAB, "ben")).await;
        // His gateway may not have heard of it. The store has.
        ben.user.may_not("say something", say(102, LAB, "ben")).await;
        ann.may("like what was said", like(100)).await;
        ann.may("say what he may not hear", say(103, LAB, "ann")).await;
        ann.may("say something in the hall", say(200, HALL, "ann")).await;
        let (steps, told) = ben.hears_of("messages 200").await;
        let hall = [&OF_HALL[..], &["messages 200"]].concat();
        assert_eq!(steps.last(), Some(&set(&hall)));
        let without = |rows: &BTreeSet<String>| *rows == set(&OF_HALL) || *rows == set(&hall);
        assert!(steps.iter().all(without), "the room goes whole: {steps:?}");
        let of_lab =
            |row: &String| OF_LAB.contains(&row.as_str()) || ["messages 101", "messages 103"].contains(&row.as_str());
        assert!(!told.iter().flatten().any(of_lab), "nothing of it is told: {told:?}");
        ben
    }

    /// Ben is away when he is removed. He comes back at the other gateway, with what he holds.
    async fn are_gone_at_the_other_gateway(&self, ann: &mut User, mut ben: Follower) {
        ann.may("let him in again", invite(LAB, "ben")).await;
        ben.hears_of("members ben 1").await;
        assert!(ben.held.all().contains("messages 103"));
        let away = ben.leave();
        ann.may("send him away again", remove(LAB, "ben")).await;
        ann.may("say what he may not hear", say(104, LAB, "ann")).await;
        ann.may("say something in the hall", say(201, HALL, "ann")).await;
        let mut ben = Follower::come(self, 0, "ben", Some(away)).await;
        let (steps, told) = ben.hears_of("messages 201").await;
        let hall = [&OF_HALL[..], &["messages 200", "messages 201"]].concat();
        assert_eq!(steps.last(), Some(&set(&hall)));
        let is_of_lab = |row: &String| row.ends_with(" 1") || row == "messages 104";
        assert!(!steps.iter().chain(&told).flatten().any(is_of_lab), "{steps:?}, {told:?}");
        ben.user.may_not("say something", say(105, LAB, "ben")).await;
    }

    /// A client with a disk: it holds the room while it is away, and loses it at the other gateway.
    async fn are_gone_from_a_disk(&self, ann: &mut User) {
        let open = |gateway: usize| {
            let schema = Deployment::from_json(&rooms_by_user()).expect("a deployment").schema;
            let options = Options::new().directory(self.folder.join("bens")).user("ben");
            Client::connect(&self.url(gateway), self.issuer.token("ben", HOUR), schema, options).expect("it opens")
        };
        let shows = async |client: &Client, wanted: &[u128]| {
            let mut shown = client.react(View::Confirmed, |tx| {
                let rows = tx.rows("messages", &[])?;
                Ok(rows.iter().flat_map(|row| row.key().to_vec()).collect::<BTreeSet<Value>>())
            });
            let wanted: BTreeSet<Value> = wanted.iter().map(|number| id(*number)).collect();
            let comes = async { while *shown.next().await.expect("it can be read") != wanted {} };
            assert!(tokio::time::timeout(PATIENCE, comes).await.is_ok(), "{:?} and not {wanted:?}", shown.latest());
        };
        ann.may("let him in once more", invite(LAB, "ben")).await;
        let client = open(1);
        shows(&client, &[100, 101, 103, 104, 200, 201]).await;
        client.close().await;
        ann.may("send him away once more", remove(LAB, "ben")).await;
        ann.may("say what he may not hear", say(106, LAB, "ann")).await;
        let client = open(0);
        shows(&client, &[200, 201]).await;
        client.close().await;
    }

    /// New rights of one gateway are those of the other one: sessions end there, and come back to them.
    async fn are_gone_by_new_rights(&self, mut ann: User) {
        let mut hidden: serde_json::Value = serde_json::from_str(&rooms_by_user()).expect("it is JSON");
        hidden["rights"]["tables"]["messages"]["read"] = serde_json::json!({ "or": [] });
        let (done, said) = self.deploy(1, "apply", &hidden.to_string());
        assert!(done && said.contains(r#"table "messages", rule "read""#), "{said}");
        loop {
            match ann.session.hear().await {
                Some(FromGateway::Goodbye(told)) if told.reason == GoodbyeReason::Unavailable => break,
                Some(FromGateway::Advance(_)) => {}
                other => panic!("{other:?} before the end of her session"),
            }
        }
        let mut ann = Follower::come(self, 0, "ann", None).await;
        ann.hears_of("rooms 1").await;
        assert!(!ann.held.all().iter().any(|row| row.starts_with("messages")), "{:?}", ann.held.all());
    }
}
