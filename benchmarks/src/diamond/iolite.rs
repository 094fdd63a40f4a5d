//! The Twitter clone on Iolite: tables, named mutations, and a person with a client of their own.

use std::time::Duration;

use anyhow::{Context, anyhow};
use iolite::rights::{Allowed, Change, Rights, TableRules, everybody, new, ops, user};
use iolite::{CellState, Client, Id, MutationEnd, Mutators, Options, Result, Schema, Transaction, Value, View};
use serde::{Deserialize, Serialize};

use super::person::{Done, Person, Totals};
use super::plan::{Kind, Plan, first_followers, first_home, text_of};
use super::{Level, ListOrder};
use crate::child::Address;
use crate::rights::{Guard, of_user};

pub struct IolitePerson {
    client: Client,
    /// The name of the user, where people are users.
    name: Option<String>,
}

/// What every table of the app is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Tables {
    pub level: Level,
    pub lists: ListOrder,
    /// Whether people are users, and what guards the tables then. Tweets name the user who wrote them.
    pub guard: Option<Guard>,
}

#[derive(Serialize, Deserialize)]
struct Post {
    user: u32,
    text: String,
    by: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Follow {
    user: u32,
    follower: u32,
}

#[derive(Serialize, Deserialize)]
struct Like {
    user: u32,
    tweet: u32,
}

#[derive(Serialize, Deserialize)]
struct NewUser {
    name: String,
}

/// Users that are there from the beginning, of `all`.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct FirstUsers {
    from: u32,
    to: u32,
    all: u32,
    seed: u64,
}

/// How long the end of a transaction is waited for.
const END_WITHIN: Duration = Duration::from_secs(20);
/// Of one mutation, when users are made: each has about 25 operations.
const USERS_AT_ONCE: u32 = 50;
/// Mutations that are made at once, and clients that make them.
const LOADERS: u32 = 4;
/// Cells that are read at once at the end.
const READ_AT_ONCE: u32 = 200;

impl Tables {
    pub fn schema(self) -> Schema {
        let Tables { level, lists, guard } = self;
        let by = if guard.is_some() { r#", "by": {"type": "string", "optional": true}"# } else { "" };
        let (isolation, order) = (level.isolation(), lists.word());
        let columns = [
            (
                "users",
                "name",
                "string",
                r#""password": {"type": "string", "optional": true}, "joined": {"type": "int", "optional": true}"#
                    .to_owned(),
            ),
            ("site", "name", "string", r#""users": {"type": "counter"}"#.to_owned()),
            (
                "follows",
                "user",
                "int",
                ["followers", "following"]
                    .map(|name| format!(r#""{name}": {{"type": "set", "of": "int"}}"#))
                    .join(", "),
            ),
            (
                "timelines",
                "user",
                "int",
                ["posts", "home"]
                    .map(|name| format!(r#""{name}": {{"type": "list", "of": "id", "order": "{order}"}}"#))
                    .join(", "),
            ),
            (
                "tweets",
                "tweet",
                "id",
                format!(
                    r#""author": {{"type": "int", "optional": true}}, "text": {{"type": "string", "optional": true}}, "likes": {{"type": "counter"}}{by}"#
                ),
            ),
            ("liked", "user", "int", r#""tweets": {"type": "set", "of": "id"}"#.to_owned()),
        ];
        let tables = columns.map(|(table, key, of, columns)| {
            format!(r#""{table}": {{"key": ["{key}"], "live": true, "isolation": "{isolation}", "columns": {{"{key}": {{"type": "{of}"}}, {columns}}}}}"#)
        });
        Schema::from_json(&format!(r#"{{"tables": {{{}}}}}"#, tables.join(", ")))
            .expect("the schema of the app is valid")
    }

    /// The rights of these tables, where people are users. Rules look at own columns only: a tweet is by its user, and likes come one by one.
    pub fn rights(self) -> Option<Rights> {
        let all = ["users", "site", "follows", "timelines", "tweets", "liked"];
        if self.guard? == Guard::Open {
            return Some(all.into_iter().fold(Rights::default(), Rights::open));
        }
        let only = |columns: &[(&'static str, Allowed)]| {
            let columns = columns.iter().map(|(column, allowed)| (*column, vec![allowed.clone()]));
            TableRules::default().read(everybody()).update(ops(columns))
        };
        let [put, insert, append] = [Change::Put, Change::Insert, Change::Append].map(Allowed::all);
        let like = ops([("likes", vec![Allowed::add(1, 1)])]);
        let tweets = TableRules::default().read(everybody()).update(like.or(new("by").is(user("sub"))));
        Some(
            Rights::default()
                .table("users", only(&[("password", put.clone()), ("joined", put)]))
                .table("site", only(&[("users", Allowed::add(1, 1))]))
                .table("follows", only(&[("followers", insert.clone()), ("following", insert.clone())]))
                .table("timelines", only(&[("posts", append.clone()), ("home", append)]))
                .table("liked", only(&[("tweets", insert)]))
                .table("tweets", tweets),
        )
    }
}

impl IolitePerson {
    /// The person of this number; nobody's number is the operator's.
    pub async fn connect(at: &Address, tables: Tables, number: Option<u32>) -> anyhow::Result<IolitePerson> {
        let name = tables.guard.and(number).map(|number| format!("person {number}"));
        let at = name.as_ref().map_or_else(|| at.clone(), |name| of_user(at, name));
        let mutators = Mutators::new().with("post", post).with("follow", follow).with("like", like);
        let mutators = mutators.with("add-user", add_user).with("load", load);
        let client = Client::connect(&at.url, &*at.token, tables.schema(), Options::new().mutators(mutators))?;
        client.online().await.map_err(|state| anyhow!("the server does not let the client in: {state:?}"))?;
        Ok(IolitePerson { client, name })
    }

    async fn call(&self, plan: &Plan) -> anyhow::Result<()> {
        let handle = match plan.clone() {
            Plan::GetTimeline { user } => {
                self.client.read(View::Confirmed, move |tx| timeline(tx, user)).await?;
                return Ok(());
            }
            Plan::PostTweet { user, text } => {
                self.client.mutate("post", &Post { user, text, by: self.name.clone() })?
            }
            Plan::Follow { user, follower } => self.client.mutate("follow", &Follow { user, follower })?,
            Plan::AddUser { name } => self.client.mutate("add-user", &NewUser { name })?,
            Plan::Like { user, tweet } => self.client.mutate("like", &Like { user, tweet })?,
        };
        match handle.confirmed().await {
            Ok(_) => Ok(()),
            Err(
                end @ (MutationEnd::Rejected { .. }
                | MutationEnd::Quarantined { .. }
                | MutationEnd::Cancelled { .. }
                | MutationEnd::Overruled
                | MutationEnd::Closed),
            ) => Err(anyhow!(end).context("a transaction of the app has no reason to give up")),
        }
    }
}

impl Person for IolitePerson {
    async fn run(&mut self, plan: &Plan) -> anyhow::Result<Done> {
        match tokio::time::timeout(END_WITHIN, self.call(plan)).await {
            Err(_) => Ok(Done::Unknown),
            Ok(Err(error)) => Err(error),
            Ok(Ok(())) => Ok(Done::Committed),
        }
    }

    fn attempts(&self) -> impl Fn() -> u64 + 'static {
        let client = self.client.clone();
        move || client.attempts()
    }

    fn traffic(&self) -> (u64, u64) {
        let traffic = self.client.traffic();
        (traffic.bytes_up, traffic.bytes_down)
    }
}

/// Makes the first users, whom they follow and what was said before.
pub async fn prepare(at: &Address, tables: Tables, users: u32, seed: u64) -> anyhow::Result<()> {
    let mut loaders = Vec::new();
    for number in 0..LOADERS {
        let person = IolitePerson::connect(at, tables, None).await?;
        let share = |number: u32| (u64::from(users) * u64::from(number) / u64::from(LOADERS)) as u32;
        loaders.push(tokio::spawn(load_share(person, share(number), share(number + 1), users, seed)));
    }
    for loader in loaders {
        loader.await??;
    }
    Ok(())
}

async fn load_share(person: IolitePerson, from: u32, to: u32, all: u32, seed: u64) -> anyhow::Result<()> {
    let mut pending = std::collections::VecDeque::new();
    for from in (from..to).step_by(USERS_AT_ONCE as usize) {
        let part = FirstUsers { from, to: to.min(from + USERS_AT_ONCE), all, seed };
        pending.push_back(person.client.mutate("load", &part)?);
        if pending.len() >= LOADERS as usize {
            pending.pop_front().context("there are some")?.confirmed().await?;
        }
    }
    for handle in pending {
        handle.confirmed().await?;
    }
    Ok(())
}

/// What a fresh session finds.
pub async fn totals(at: &Address, tables: Tables, users: u32) -> anyhow::Result<Totals> {
    let person = IolitePerson::connect(at, tables, None).await?;
    let counted = person.client.read(View::Confirmed, |tx| tx.counter("site", "all", "users")).await?;
    let mut totals = Totals { users: *counted, ..Totals::default() };
    for from in (0..users).step_by(READ_AT_ONCE as usize) {
        let to = users.min(from + READ_AT_ONCE);
        let part = person.client.read(View::Confirmed, move |tx| totals_of(tx, from, to)).await?;
        totals.likes += part.likes;
        totals.posts += part.posts;
    }
    person.client.close().await;
    Ok(totals)
}

fn totals_of(tx: &mut Transaction<'_>, from: u32, to: u32) -> Result<Totals> {
    let likes: Vec<_> = (from..to).map(|tweet| tx.counter("tweets", tweet_of(tweet), "likes")).collect();
    let posts: Vec<_> = (from..to).map(|user| ids(tx, user, "posts")).collect();
    let mut totals = Totals::default();
    for (likes, posts) in likes.into_iter().zip(posts) {
        (totals.likes, totals.posts) = (totals.likes + likes?, totals.posts + posts?.len() as i64);
    }
    Ok(totals)
}

/// All that is missing is asked for at once, so a timeline takes two round trips when nothing of it is here.
fn timeline(tx: &mut Transaction<'_>, user: u32) -> Result<Vec<String>> {
    let home = ids(tx, user, "home")?;
    let shown = &home[home.len().saturating_sub(Kind::SHOWN)..];
    let texts: Vec<Result<String>> = shown.iter().map(|tweet| text(tx, *tweet)).collect();
    texts.into_iter().collect()
}

fn post(tx: &mut Transaction<'_>, Post { user, text, by }: Post) -> Result<()> {
    let followers = followers(tx, user)?;
    let tweet = tx.new_id();
    tx.set("tweets", tweet, "author", i64::from(user))?;
    tx.set("tweets", tweet, "text", text)?;
    if let Some(by) = by {
        tx.set("tweets", tweet, "by", by)?;
    }
    tx.append("timelines", i64::from(user), "posts", tweet)?;
    followers.into_iter().try_for_each(|follower| tx.append("timelines", follower, "home", tweet))
}

fn follow(tx: &mut Transaction<'_>, Follow { user, follower }: Follow) -> Result<()> {
    let (user, follower) = (i64::from(user), i64::from(follower));
    let known = tx.contains("follows", user, "followers", follower);
    let knows = tx.contains("follows", follower, "following", user);
    let _: (bool, bool) = (known?, knows?);
    tx.insert_member("follows", user, "followers", follower)?;
    tx.insert_member("follows", follower, "following", user)
}

fn like(tx: &mut Transaction<'_>, Like { user, tweet }: Like) -> Result<()> {
    let tweet = tweet_of(tweet);
    let author = tx.cell("tweets", tweet, "author");
    let text = text(tx, tweet);
    let _: (Option<CellState>, String) = (author?, text?);
    tx.add("tweets", tweet, "likes", 1)?;
    tx.insert_member("liked", i64::from(user), "tweets", tweet)
}

fn add_user(tx: &mut Transaction<'_>, NewUser { name }: NewUser) -> Result<()> {
    let joined = i64::try_from(tx.now_micros()).unwrap_or(i64::MAX);
    tx.set("users", &*name, "password", text_of("a hash of it"))?;
    tx.set("users", &*name, "joined", joined)?;
    tx.add("site", "all", "users", 1)
}

fn load(tx: &mut Transaction<'_>, FirstUsers { from, to, all, seed }: FirstUsers) -> Result<()> {
    for user in from..to {
        let key = i64::from(user);
        for follower in first_followers(user, all, seed) {
            tx.insert_member("follows", key, "followers", i64::from(follower))?;
        }
        tx.set("tweets", tweet_of(user), "author", key)?;
        tx.set("tweets", tweet_of(user), "text", text_of(&format!("the first words of user {user}")))?;
        for author in first_home(user, all, seed) {
            tx.append("timelines", key, "home", tweet_of(author))?;
        }
    }
    Ok(())
}

/// The tweet that each of the first users has.
fn tweet_of(user: u32) -> Id {
    Id::from_u128(u128::from(user))
}

fn text(tx: &mut Transaction<'_>, tweet: Id) -> Result<String> {
    match tx.cell("tweets", tweet, "text")? {
        Some(CellState::Scalar(Value::String(text))) => Ok(text.to_string()),
        other => Err(iolite::Abort::Mistake(format!("{other:?} in the place of a tweet"))),
    }
}

fn ids(tx: &mut Transaction<'_>, user: u32, list: &str) -> Result<Vec<Id>> {
    let state = tx.cell("timelines", i64::from(user), list)?;
    let Some(CellState::List(found)) = state else { return Ok(Vec::new()) };
    Ok(found.iter().filter_map(|value| if let Value::Id(id) = value { Some(*id) } else { None }).collect())
}

fn followers(tx: &mut Transaction<'_>, user: u32) -> Result<Vec<i64>> {
    let state = tx.cell("follows", i64::from(user), "followers")?;
    let Some(CellState::Set(found)) = state else { return Ok(Vec::new()) };
    Ok(found.iter().filter_map(|value| if let Value::Int(user) = value { Some(*user) } else { None }).collect())
}

#[cfg(test)]
mod tests {
    use iolite::Table;
    use iolite::rights::{RightsTest, update};
    use iolite::table::{Counter, Operation};

    use super::*;

    /// As much of the table as the test writes.
    #[derive(Table)]
    #[table(name = "tweets", live)]
    struct Tweet {
        #[key]
        tweet: Id,
        by: Option<String>,
        likes: Counter,
    }

    #[test]
    fn a_tweet_is_by_its_user_and_likes_come_one_by_one() -> anyhow::Result<()> {
        let tables = Tables { level: Level::Rc, lists: ListOrder::Commit, guard: Some(Guard::Rules) };
        let (schema, rights) = (tables.schema(), tables.rights().context("people are users")?);
        let test = RightsTest::new(&schema, &rights)?;
        let person = test.user("person 1");
        let by = |name: &str| update(Tweet::BY, tweet_of(1), Operation::Put(name.into()));
        let likes = |count| update(Tweet::LIKES, tweet_of(1), Operation::Add(count));
        person.may(by("person 1"))?;
        person.may_not(by("person 2"))?;
        person.may(likes(1))?;
        person.may_not(likes(2))?;
        Ok(())
    }

    #[test]
    fn tables_are_of_the_level_and_lists_of_the_order_that_are_asked_for() {
        for (level, lists) in
            [(Level::Rc, ListOrder::Commit), (Level::Si, ListOrder::Strict), (Level::Ss, ListOrder::Commit)]
        {
            let schema = Tables { level, lists, guard: None }.schema().to_json();
            assert_eq!(schema.matches(&format!("\"isolation\":\"{}\"", level.isolation())).count(), 6, "{schema}");
            assert_eq!(schema.matches(&format!("\"order\":\"{}\"", lists.word())).count(), 2, "{schema}");
        }
    }
}
