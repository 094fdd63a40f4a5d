//! The people of this world, and the tokens by which gateways know them.
//!
//! Invariant: each device belongs to one speaker for the whole run. Somebody else may hold it for a while.

use iolite_access::{Access, DevelopmentToken};
use iolite_machine::WallTime;
use iolite_values::ClientId;
use serde::{Deserialize, Serialize};

use crate::history::ClientIndex;
use crate::random::Random;
use crate::world::TOKEN;

/// A user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Person(pub u8);

/// This device of a user has the owner of the first one.
const SECOND_DEVICE: usize = 4;

/// The one for whom a session speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Speaker {
    /// Holds the development token. Only checks apply.
    Operator,
    User(Person),
}

impl Person {
    pub const COUNT: u8 = 8;
    /// Has two devices, and is in the busy room.
    pub const BUSY: Person = Person(0);
    /// Sends what no client sends.
    pub const HOSTILE: Person = Person(Person::COUNT - 1);

    pub fn all() -> impl Iterator<Item = Person> {
        (0..Person::COUNT).map(Person)
    }

    pub fn random(random: &mut Random) -> Person {
        Person(random.below(u64::from(Person::COUNT)) as u8)
    }

    /// The subject of the person's token.
    pub fn name(self) -> String {
        format!("user{}", self.0)
    }
}

impl Speaker {
    /// The owner of a device.
    pub fn of(ClientIndex(index): ClientIndex) -> Speaker {
        match index {
            0 => Speaker::Operator,
            SECOND_DEVICE => Speaker::User(Person::BUSY),
            1..SECOND_DEVICE => Speaker::User(Person(index as u8 - 1)),
            _ => Speaker::User(Person(index as u8 - 2)),
        }
    }

    pub fn all() -> impl Iterator<Item = Speaker> {
        Person::all().map(Speaker::User).chain([Speaker::Operator])
    }

    pub fn token(self) -> String {
        match self {
            Speaker::Operator => TOKEN.to_owned(),
            Speaker::User(person) => format!(r#"{TOKEN} as {{"sub":"{}"}}"#, person.name()),
        }
    }

    /// The one whose token this is.
    pub fn of_token(token: &str) -> Option<Speaker> {
        Speaker::all().find(|own| own.token() == token)
    }

    /// The id that gateways have to give this speaker on a device.
    pub fn client_on(self, device: ClientId) -> ClientId {
        let access = Access::Development(DevelopmentToken::new(TOKEN));
        let identity = access.check(&self.token(), WallTime::from_micros(0));
        identity.expect("the token is good").client(device)
    }
}
