//! The tables of rooms, and the two ways to guard them: by rules, or by none.
//!
//! Invariant: both have the same tables and the same users with tokens, so nothing but the rules differs between two runs.

use iolite::rights::{
    Allowed, Reference, Rights, Rule, Set, TableRules, at, everybody, mine, old, ops, row, user, value,
};
use iolite::table::{Counter, List};
use iolite::{Schema, Table, schema};
use serde::{Deserialize, Serialize};

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "rooms")]
pub struct Room {
    #[key]
    pub id: i64,
    pub owner: String,
}

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "members", index(by_user = [user]))]
pub struct Member {
    #[key]
    pub room: i64,
    #[key]
    pub user: String,
}

/// A note of a room, to which its author adds.
#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "notes")]
pub struct Note {
    #[key]
    pub room: i64,
    #[key]
    pub number: i64,
    pub author: String,
    pub count: Counter,
}

/// Read and written by all members.
#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "topics")]
pub struct Topic {
    #[key]
    pub room: i64,
    #[key]
    pub number: i64,
    pub value: i64,
}

/// The things that happened in a room, in the order of their commits.
#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "histories", live)]
pub struct History {
    #[key]
    pub room: i64,
    #[column(order = "commit")]
    pub said: List<String>,
}

/// A counter with a check: it never goes below zero.
#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "purses", live)]
pub struct Purse {
    #[key]
    pub name: String,
    pub balance: Counter,
}

/// The same counter without a check.
#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "tallies", live)]
pub struct Tally {
    #[key]
    pub name: String,
    pub balance: Counter,
}

/// How the tables are guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Guard {
    Rules,
    /// Everybody may do everything.
    Open,
}

pub fn tables() -> Schema {
    let rooms = schema().with::<Room>().with::<Member>().with::<Note>().with::<Topic>().with::<History>();
    rooms.with::<Purse>().with::<Tally>().build().expect("the tables of the benchmark are valid")
}

fn my_rooms() -> Set {
    mine("members", "room", [("user", user("sub"))])
}

/// The caller's membership of a room.
fn membership(room: iolite::rights::Operand) -> Reference {
    at("members", [room, user("sub")])
}

fn is_owner(room: iolite::rights::Operand) -> Rule {
    at("rooms", [room]).column("owner").is(user("sub"))
}

impl Guard {
    pub const BOTH: [Guard; 2] = [Guard::Rules, Guard::Open];

    pub fn name(self) -> &'static str {
        match self {
            Guard::Rules => "rules",
            Guard::Open => "open",
        }
    }

    pub fn rights(self) -> Rights {
        match self {
            Guard::Rules => rules(),
            Guard::Open => {
                let all = ["rooms", "members", "notes", "topics", "histories", "purses", "tallies"];
                all.into_iter().fold(Rights::default(), Rights::open)
            }
        }
    }
}

/// Members of a room see all of it. An author adds to their own notes while they are a member.
fn rules() -> Rights {
    let rooms = TableRules::default().read(row("id").within(my_rooms()));
    let members = TableRules::default()
        .read(row("room").within(my_rooms()))
        .create(is_owner(row("room")))
        .delete(is_owner(old("room")));
    let notes = TableRules::default()
        .read(row("room").within(my_rooms()))
        .create(row("author").is(user("sub")).and(membership(row("room")).exists()))
        .update(
            old("author")
                .is(user("sub"))
                .and(membership(old("room")).exists())
                .and(ops([("count", vec![Allowed::add(1, 1)])])),
        );
    let topics = TableRules::default().read(row("room").within(my_rooms())).update(membership(old("room")).exists());
    let histories = TableRules::default()
        .read(row("room").within(my_rooms()))
        .update(membership(row("room")).exists().or(is_owner(row("room"))));
    let add = || TableRules::default().read(everybody()).update(ops([("balance", vec![Allowed::add(1, 1)])]));
    Rights::default()
        .table("purses", add().check(row("balance").at_least(value(0i64))))
        .table("tallies", add())
        .table("rooms", rooms)
        .table("members", members)
        .table("notes", notes)
        .table("topics", topics)
        .table("histories", histories)
}

#[cfg(test)]
mod tests {
    use iolite::rights::{RightsTest, RightsTestError, delete, update};
    use iolite::table::Operation;

    use super::*;

    fn member(room: i64, user: &str) -> Member {
        Member { room, user: user.to_owned() }
    }

    fn note(author: &str) -> Note {
        Note { room: 1, number: 0, author: author.to_owned(), count: Counter(0) }
    }

    fn a_room(guard: Guard) -> Result<RightsTest, RightsTestError> {
        RightsTest::new(&tables(), &guard.rights())?
            .given([Room { id: 1, owner: "owner".to_owned() }])?
            .given([member(1, "ann"), member(1, "owner")])?
            .given([note("ann")])
    }

    #[test]
    fn rules_keep_out_who_is_no_member() -> Result<(), RightsTestError> {
        let test = a_room(Guard::Rules)?;
        let (ann, eve, owner) = (test.user("ann"), test.user("eve"), test.user("owner"));
        let add = || update(Note::COUNT, (1i64, 0i64), Operation::Add(1));
        ann.may(add())?;
        owner.may_not(add())?;
        eve.may_not(add())?;
        owner.may(delete::<Member>((1i64, "ann")))?;
        ann.may_not(delete::<Member>((1i64, "ann")))?;
        assert_eq!(ann.sees::<Note>()?, [note("ann")]);
        assert_eq!(eve.sees::<Note>()?, []);
        Ok(())
    }

    #[test]
    fn open_tables_keep_out_nobody() -> Result<(), RightsTestError> {
        let test = a_room(Guard::Open)?;
        test.user("eve").may(update(Note::COUNT, (1i64, 0i64), Operation::Add(1)))?;
        assert_eq!(test.user("eve").sees::<Note>()?, [note("ann")]);
        Ok(())
    }
}
