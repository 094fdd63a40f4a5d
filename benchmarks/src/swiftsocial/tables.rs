//! The tables of SwiftSocial, its named mutations, and its reads.
//!
//! Invariant: a post and its count are one transaction, so a page has as many messages as its owner has visits.

use std::collections::BTreeSet;

use iolite::table::{Counter, Register, Set};
use iolite::{Abort, Client, Id, Mutators, Options, Result, Schema, Table, Transaction, Value, schema};
use serde::{Deserialize, Serialize};

use super::network::{Network, User};
use crate::child::Address;

#[derive(Table)]
#[table(name = "people", causal)]
pub struct PersonRow {
    #[key]
    id: String,
    name: Register<String>,
    status: Register<String>,
    friends: Set<String>,
    requests: Set<String>,
    visits: Counter,
}

#[derive(Table)]
#[table(name = "wall", causal)]
pub struct Message {
    #[key]
    of: String,
    #[key]
    id: Id,
    by: String,
    text: String,
}

/// A person's page, as one transaction read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    pub status: String,
    pub friends: BTreeSet<String>,
    pub requests: BTreeSet<String>,
    pub visits: i64,
    /// Authors and texts.
    pub wall: BTreeSet<(String, String)>,
    /// Rows of the wall, which differ from its texts only when something is wrong.
    pub messages: usize,
}

/// A friend in a person's list of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Friend {
    pub id: String,
    pub name: String,
    pub status: String,
}

/// Arguments of `post`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Post {
    pub by: String,
    pub to: String,
    pub text: String,
}

/// Arguments of `status`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Status {
    pub by: String,
    pub text: String,
}

/// Arguments of `befriend`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Befriend {
    pub one: String,
    pub other: String,
}

/// The consistency of the tables, as reports say it.
pub const CONSISTENCY: &str = "causal";
/// Everybody's status at the beginning.
pub const FIRST_STATUS: &str = "new here";

impl Page {
    /// Rows that it takes in a cache.
    pub fn rows(&self) -> usize {
        1 + self.messages
    }

    /// Whether a transaction is there as a whole.
    pub fn is_whole(&self) -> bool {
        usize::try_from(self.visits).is_ok_and(|visits| visits == self.messages) && self.wall.len() == self.messages
    }

    /// Names what another page has in another way, with numbers in place of texts.
    pub fn difference(&self, wanted: &Page) -> String {
        let missing = wanted.wall.difference(&self.wall).count();
        let added = self.wall.difference(&wanted.wall).count();
        let parts = [
            (self.status != wanted.status, format!("status {:?} for {:?}", self.status, wanted.status)),
            (self.friends != wanted.friends, format!("friends {:?} for {:?}", self.friends, wanted.friends)),
            (self.requests != wanted.requests, format!("requests {:?} for {:?}", self.requests, wanted.requests)),
            (self.visits != wanted.visits, format!("visits {} for {}", self.visits, wanted.visits)),
            (self.messages != wanted.messages, format!("{} messages for {}", self.messages, wanted.messages)),
            (missing + added > 0, format!("{missing} texts missing, {added} too many")),
        ];
        let told = parts.into_iter().filter_map(|(is_told, text)| is_told.then_some(text));
        told.collect::<Vec<_>>().join(", ")
    }

    pub fn first(network: &Network, user: User) -> Page {
        Page {
            status: FIRST_STATUS.to_owned(),
            friends: network.first_friends(user),
            requests: network.first_requests(user),
            ..Page::default()
        }
    }
}

pub fn tables() -> Schema {
    schema().with::<PersonRow>().with::<Message>().build().expect("the tables of SwiftSocial are valid")
}

/// # Errors
/// When the server refuses the client.
pub async fn connect(at: &Address, options: Options) -> anyhow::Result<Client> {
    let client = Client::connect(&at.url, &at.token, tables(), options.mutators(mutators()))?;
    client.online().await.map_err(|state| anyhow::anyhow!("the server does not let a client in: {state:?}"))?;
    Ok(client)
}

fn mutators() -> Mutators {
    Mutators::new().with("post", post).with("status", status).with("befriend", befriend)
}

/// The row and its wall are asked for at once, so a page that is not here takes one round trip.
///
/// # Errors
/// While something of it is fetched, and when there is no such person.
pub fn page(tx: &mut Transaction<'_>, of: &str) -> Result<Page> {
    let row = tx.get::<PersonRow>(of);
    let wall = tx.all_with::<Message>(&[Value::from(of)]);
    let (row, wall) = (row?, wall?);
    let row = row.ok_or_else(|| Abort::Mistake(format!("there is no {of}")))?;
    Ok(Page {
        status: row.status.0,
        friends: row.friends.0.into_iter().collect(),
        requests: row.requests.0.into_iter().collect(),
        visits: row.visits.0,
        messages: wall.len(),
        wall: wall.into_iter().map(|message| (message.by, message.text)).collect(),
    })
}

/// Names and statuses of the friends of a person.
///
/// # Errors
/// While something of it is fetched.
pub fn friends(tx: &mut Transaction<'_>, of: &str) -> Result<Vec<Friend>> {
    let friends = tx.at(PersonRow::FRIENDS, of).all()?;
    let rows = tx.get_all::<PersonRow, _>(friends)?;
    let friend = |row: PersonRow| Friend { id: row.id, name: row.name.0, status: row.status.0 };
    Ok(rows.into_iter().flatten().map(friend).collect())
}

/// Makes the rows of people who are not there yet.
///
/// # Errors
/// When one is there.
pub fn register(tx: &mut Transaction<'_>, network: &Network, users: std::ops::Range<u32>) -> Result<()> {
    for user in users.map(User) {
        let Page { status, friends, requests, .. } = Page::first(network, user);
        tx.create(&PersonRow {
            id: user.name(),
            name: Register(format!("person {}", user.0)),
            status: Register(status),
            friends: Set(friends.into_iter().collect()),
            requests: Set(requests.into_iter().collect()),
            visits: Counter(0),
        })?;
    }
    Ok(())
}

fn status(tx: &mut Transaction<'_>, Status { by, text }: Status) -> Result<()> {
    tx.at(PersonRow::STATUS, by).set(text)
}

fn post(tx: &mut Transaction<'_>, Post { by, to, text }: Post) -> Result<()> {
    let id = tx.new_id();
    tx.create(&Message { of: to.clone(), id, by, text })?;
    tx.at(PersonRow::VISITS, to).add(1)
}

/// Each becomes a friend of the other, and nobody asks any more.
fn befriend(tx: &mut Transaction<'_>, Befriend { one, other }: Befriend) -> Result<()> {
    for (own, friend) in [(&one, &other), (&other, &one)] {
        tx.at(PersonRow::FRIENDS, own).insert(friend.as_str())?;
        tx.at(PersonRow::REQUESTS, own).remove(friend.as_str())?;
    }
    Ok(())
}
