//! Rights: who may do what with the rows of a schema, as data that servers judge. And a kit to test them without a server.
//!
//! A rule says who may do something; a table without a rule for it lets nobody. [`deployment`] is the file that `iolite schema apply` takes. Write a test
//! for each rule that has to refuse: a rule without one is the usual way in.
//!
//! ```
//! use iolite::rights::{Allowed, Rights, RightsTest, TableRules, at, create, mine, old, ops, row, update, user};
//! use iolite::table::{Counter, Operation};
//! use iolite::{Table, schema};
//!
//! #[derive(Table, Clone, Debug, PartialEq)]
//! #[table(name = "members", index(by_user = [user]))]
//! struct Member {
//!     #[key]
//!     room: String,
//!     #[key]
//!     user: String,
//! }
//!
//! #[derive(Table, Clone, Debug, PartialEq)]
//! #[table(name = "messages")]
//! struct Message {
//!     #[key]
//!     id: i64,
//!     room: String,
//!     author: String,
//!     likes: Counter,
//! }
//!
//! let schema = schema().with::<Member>().with::<Message>().build()?;
//! let own_rooms = || mine("members", "room", [("user", user("sub"))]);
//! let members = TableRules::default().read(row("room").within(own_rooms()));
//! let messages = TableRules::default()
//!     .read(row("room").within(own_rooms()))
//!     .create(row("author").is(user("sub")).and(at("members", [row("room"), user("sub")]).exists()))
//!     .update(ops([("likes", vec![Allowed::add(1, 1)])]).and(at("members", [old("room"), user("sub")]).exists()));
//! let rights = Rights::default().table("members", members).table("messages", messages);
//!
//! let hello = Message { id: 1, room: "kitchen".into(), author: "ann".into(), likes: Counter(0) };
//! let test = RightsTest::new(&schema, &rights)?
//!     .given([Member { room: "kitchen".into(), user: "ann".into() }])?
//!     .given([hello.clone()])?;
//! let (ann, bob) = (test.user("ann"), test.user("bob"));
//!
//! ann.may(create(&Message { id: 2, ..hello.clone() }))?;
//! bob.may_not(create(&Message { id: 2, ..hello.clone() }))?;
//! ann.may(update(Message::LIKES, &1, Operation::Add(1)))?;
//! ann.may_not(update(Message::LIKES, &1, Operation::Add(2)))?;
//! assert_eq!(ann.sees::<Message>()?, [hello]);
//! assert_eq!(bob.sees::<Message>()?, []);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod kit;
mod writes;

pub use iolite_rights::{
    Allowed, Change, Claim, ClassRights, ClassRules, LogRights, LogRules, Operand, Reference, Relation, Rights, Rule,
    Set, TableRights, TableRules, after, at, class_name, everybody, flag, key, list_has, method, mine, new, nobody,
    now, object_id, old, operation, ops, row, user, value,
};
pub use kit::{RightsTest, RightsTestError, TestUser};
pub use writes::{Writes, create, delete, update};

/// Schema and rights as JSON: the file that `iolite schema plan` and `iolite schema apply` take. Both come into effect together.
pub fn deployment(schema: &iolite_values::Schema, rights: &Rights) -> String {
    format!(r#"{{"rights":{},"schema":{}}}"#, rights.to_json(), schema.to_json())
}
