//! The app of rooms with members, and the rights that operators deploy for it.
//!
//! Its mutators check little: what they let through, the rights have to refuse.

use std::sync::{Arc, LazyLock};

use iolite_rights::{
    Allowed, Change, Rights, Rule, TableRules, after, at, everybody, nobody, old, ops, row, user, value,
};
use iolite_values::{Cell, ColumnId, KeyRange, Operation, RowKey, Schema, TableId, Value};
use serde::{Deserialize, Serialize};

use super::person::{Person, Speaker};
use crate::app::{Handle, Stop};
use crate::random::Random;

pub const ROOMS: u64 = 4;
/// Messages are written and read about so far back.
const MESSAGES_BACK: u64 = 12;
/// In this room one member speaks often, and is removed and let in again just as often.
const BUSY_ROOM: i64 = 0;
/// How often operators and that member do so, in thousandths.
const BUSY: u64 = 700;
/// An account is paid out of at most so much at a time by its owner.
pub const PAY_MOST: i64 = 20;

pub const SCHEMA: &str = r#"{"tables":{
  "rooms":{"columns":{"id":{"type":"int"},"owner":{"type":"string"}},"key":["id"]},
  "members":{"columns":{"room":{"type":"int"},"user":{"type":"string"}},"key":["room","user"],"indexes":{"byUser":["user"]}},
  "messages":{"columns":{"id":{"type":"int"},"room":{"type":"int"},"author":{"type":"string"},"text":{"type":"string"},
    "likes":{"type":"counter"}},"key":["id"],"isolation":"read-committed"},
  "accounts":{"columns":{"user":{"type":"string"},"balance":{"type":"counter"}},"key":["user"],"live":true}
}}"#;

static READ: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(Schema::from_json(SCHEMA).expect("it is tested")));

pub fn schema() -> Arc<Schema> {
    READ.clone()
}

/// Rights that operators deploy, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Regime {
    /// Members write, authors edit, members like.
    Members,
    /// Only owners of rooms write, and only they remove members.
    Owners,
    /// No user writes. Everybody likes, and deletes what is their own.
    Quiet,
}

impl Regime {
    pub const ALL: [Regime; 3] = [Regime::Members, Regime::Owners, Regime::Quiet];

    /// As gateways are given them. `rules.rs` says the same in another way.
    pub fn rights(self) -> Rights {
        let is_member = |room: iolite_rights::Operand| at("members", [room, user("sub")]).exists();
        let owns = |room| at("rooms", [room]).column("owner").is(user("sub"));
        let is_author = || old("author").is(user("sub"));
        let edits = || is_author().and(ops([("text", vec![Allowed::all(Change::Any)])]));
        let likes = || ops([("likes", vec![Allowed::add(1, 1)])]);
        let leaves = || old("user").is(user("sub"));
        let says = |may: Rule| row("author").is(user("sub")).and(may).and(row("likes").is(value(0)));
        let (create, update, unsay, leave) = match self {
            Regime::Members => (
                says(is_member(row("room"))),
                is_member(old("room")).and(likes().or(edits())),
                is_author().and(is_member(old("room"))),
                leaves().or(owns(old("room"))),
            ),
            Regime::Owners => (says(owns(row("room"))), edits(), nobody(), owns(old("room"))),
            Regime::Quiet => (nobody(), likes(), is_author(), leaves()),
        };
        let rooms = TableRules::default()
            .read(everybody())
            .create(row("owner").is(user("sub")).and(after("members", [row("id"), user("sub")]).exists()))
            .delete(old("owner").is(user("sub")));
        let members = TableRules::default()
            .read(everybody())
            .create(after("rooms", [row("room")]).column("owner").is(user("sub")))
            .delete(leave);
        let mine = || iolite_rights::mine("members", "room", [("user", user("sub"))]);
        let read = match self {
            Regime::Members | Regime::Owners => row("room").within(mine()),
            Regime::Quiet => everybody(),
        };
        let messages = TableRules::default()
            .read(read)
            .create(create)
            .update(update)
            .delete(unsay)
            .check(row("text").is_not(value("spam")));
        let pays = ops([("balance", vec![Allowed::add(-PAY_MOST, PAY_MOST)])]);
        let accounts = TableRules::default()
            .read(row("user").is(user("sub")))
            .update(row("user").is(user("sub")).and(pays))
            .check(row("balance").at_least(value(0)));
        Rights::default()
            .table("rooms", rooms)
            .table("members", members)
            .table("messages", messages)
            .table("accounts", accounts)
    }

    /// As a version of the catalog has them.
    pub fn of_json(json: &str) -> Option<Regime> {
        static TEXTS: LazyLock<[String; 3]> = LazyLock::new(|| Regime::ALL.map(|own| own.rights().to_json()));
        let place = TEXTS.iter().position(|text| text == json)?;
        Some(Regime::ALL[place])
    }
}

/// The calls of the app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfRights {
    Open {
        room: i64,
        owner: Person,
    },
    Close {
        room: i64,
    },
    Invite {
        room: i64,
        person: Person,
    },
    Leave {
        room: i64,
        person: Person,
    },
    /// Asks whether the author is a member if it is `careful`.
    Say {
        room: i64,
        id: i64,
        author: Person,
        careful: bool,
        spam: bool,
    },
    Edit {
        id: i64,
        text: i64,
    },
    Like {
        id: i64,
    },
    Unsay {
        id: i64,
    },
    /// Operators move messages from room to room: the one in this place of all.
    Move {
        place: u64,
        room: i64,
    },
    /// Adds to an account that nobody else reads, without reading.
    Pay {
        person: Person,
        amount: i64,
    },
}

impl OfRights {
    /// A call of a speaker. No other one has its `element`.
    pub fn random(random: &mut Random, speaker: Speaker, element: i64) -> OfRights {
        let is_busy = random.chance(BUSY);
        let (room, other) = match (is_busy, speaker) {
            (true, Speaker::Operator) => (BUSY_ROOM, Person::BUSY),
            (true, Speaker::User(Person::BUSY)) => (BUSY_ROOM, Person::random(random)),
            _ => (random.below(ROOMS) as i64, Person::random(random)),
        };
        let person = match speaker {
            Speaker::Operator => other,
            Speaker::User(person) => person,
        };
        let id = recent(random, element);
        match (random.below(20), speaker) {
            (0 | 1, _) => OfRights::Open { room, owner: person },
            (2, _) => OfRights::Close { room },
            (3..=8, Speaker::Operator) | (3 | 4, _) => OfRights::Invite { room, person: other },
            (9..=11, Speaker::Operator) | (5, _) => OfRights::Leave { room, person },
            (6..=11, _) => {
                let (careful, spam) = (random.chance(600), random.chance(50));
                OfRights::Say { room, id: element, author: person, careful, spam }
            }
            (12..=15, Speaker::Operator) => OfRights::Move { place: random.below(1_000), room },
            (12, _) => OfRights::Edit { id, text: element },
            (13 | 14, _) => OfRights::Like { id },
            (15, _) => OfRights::Unsay { id },
            _ => OfRights::Pay { person, amount: random.between(0, 2 * PAY_MOST as u64) as i64 - PAY_MOST / 2 },
        }
    }

    /// Runs the closure.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn run(&self, tx: &mut dyn Handle) -> Result<(), Stop> {
        match self {
            OfRights::Open { room, owner } => {
                let put = (ColumnId::of("owner"), vec![Operation::Put(Value::string(owner.name()))]);
                tx.insert(rooms(), &room_key(*room), [put].into())?;
                // Whoever was a member of an earlier room of this number is one still.
                let member = member_key(*room, *owner);
                if tx.exists(members(), &member)? { Ok(()) } else { tx.insert(members(), &member, [].into()) }
            }
            OfRights::Close { room } => tx.delete(rooms(), &room_key(*room)),
            OfRights::Invite { room, person } => tx.insert(members(), &member_key(*room, *person), [].into()),
            OfRights::Leave { room, person } => tx.delete(members(), &member_key(*room, *person)),
            OfRights::Say { room, id, author, careful, spam } => {
                if *careful && !tx.exists(members(), &member_key(*room, *author))? {
                    return Err(Stop::Abort("no member".into()));
                }
                let put = |column: &str, value: Value| (ColumnId::of(column), vec![Operation::Put(value)]);
                let text = if *spam { "spam".to_owned() } else { format!("text {id}") };
                let content = [
                    put("room", Value::Int(*room)),
                    put("author", Value::string(author.name())),
                    put("text", Value::string(text)),
                ];
                tx.insert(messages(), &message_key(*id), content.into())
            }
            OfRights::Edit { id, text } => {
                tx.write(message_cell(*id, "text"), Operation::Put(Value::string(format!("text {text}"))))
            }
            OfRights::Move { place, room } => {
                let all = tx.range(messages(), &KeyRange::all(), None, false)?;
                let chosen = usize::try_from(*place).ok().and_then(|place| all.get(place.checked_rem(all.len())?));
                let (key, _) = chosen.ok_or_else(|| Stop::Abort("no message".into()))?;
                let cell = Cell { table: messages(), row: key.clone(), column: ColumnId::of("room") };
                tx.write(cell, Operation::Put(Value::Int(*room)))
            }
            OfRights::Like { id } => tx.write(message_cell(*id, "likes"), Operation::Add(1)),
            OfRights::Unsay { id } => tx.delete(messages(), &message_key(*id)),
            OfRights::Pay { person, amount } => tx.write(balance(*person), Operation::Add(*amount)),
        }
    }
}

/// The number of a message that was written not long ago, perhaps.
pub fn recent(random: &mut Random, element: i64) -> i64 {
    (element - random.between(1, MESSAGES_BACK) as i64).max(1)
}

/// All that is shown of what somebody may read, in words.
pub fn look(tx: &mut dyn Handle) -> Result<String, Stop> {
    let rows: Result<Vec<_>, Stop> = [rooms(), members(), messages()]
        .into_iter()
        .map(|table| tx.range(table, &KeyRange::all(), None, false))
        .collect();
    Ok(format!("{:?}", rows?))
}

pub fn rooms() -> TableId {
    TableId::of("rooms")
}

pub fn members() -> TableId {
    TableId::of("members")
}

pub fn messages() -> TableId {
    TableId::of("messages")
}

pub fn accounts() -> TableId {
    TableId::of("accounts")
}

fn key(values: &[Value]) -> RowKey {
    RowKey::new(values).expect("short")
}

pub fn room_key(room: i64) -> RowKey {
    key(&[Value::Int(room)])
}

pub fn member_key(room: i64, person: Person) -> RowKey {
    key(&[Value::Int(room), Value::string(person.name())])
}

pub fn message_key(id: i64) -> RowKey {
    key(&[Value::Int(id)])
}

pub fn account_key(person: Person) -> RowKey {
    key(&[Value::string(person.name())])
}

pub fn message_cell(id: i64, column: &str) -> Cell {
    Cell { table: messages(), row: message_key(id), column: ColumnId::of(column) }
}

pub fn balance(person: Person) -> Cell {
    Cell { table: accounts(), row: account_key(person), column: ColumnId::of("balance") }
}

#[cfg(test)]
mod tests {
    use iolite_catalog::{Catalog, Deployment, SchemaPolicy};

    use super::*;

    #[test]
    fn every_regime_can_be_deployed_and_is_known_again() {
        for regime in Regime::ALL {
            let deployment = Deployment { schema: (*schema()).clone(), rights: regime.rights() };
            let mut catalog = Catalog::new(SchemaPolicy::Grow);
            catalog.fold(&[]).expect("nothing");
            assert!(catalog.deploy(&deployment, None, true).expect("good rights").is_some());
            assert_eq!(Regime::of_json(&regime.rights().to_json()), Some(regime));
        }
    }
}
