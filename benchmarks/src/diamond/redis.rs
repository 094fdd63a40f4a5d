//! The Twitter clone on Redis: keys, commands, and each transaction in as few round trips as it can be.
//!
//! Writes of a transaction are one MULTI and EXEC, and are answered when a replica has them (WAIT 1). What was read before is not guarded, as in the
//! paper's baseline: WAIT neither orders nor isolates.

use anyhow::{Context, bail, ensure};
use iolite_host::random_id;

use super::person::Totals;
use super::plan::{Kind, first_followers, first_home, text_of};
use crate::redis::{Connection, Reply};

/// How long WAIT waits for a replica.
const WAIT: &[&[u8]] = &[b"WAIT", b"1", b"5000"];
/// Users that are made with one message.
const USERS_AT_ONCE: u32 = 200;

/// The app's functions, over one connection.
pub struct App {
    connection: Connection,
}

impl App {
    pub fn on(connection: Connection) -> App {
        App { connection }
    }

    /// Two round trips: the list, then all texts.
    pub async fn get_timeline(&mut self, user: u32) -> anyhow::Result<Vec<String>> {
        let (home, newest) = (format!("home:{user}"), format!("-{}", Kind::SHOWN));
        self.connection.send(&[&[b"LRANGE", home.as_bytes(), newest.as_bytes(), b"-1"]]).await?;
        let tweets = self.texts().await?;
        for tweet in &tweets {
            let key = format!("tweet:{tweet}");
            self.connection.write(&[b"HGET", key.as_bytes(), b"text"]).await?;
        }
        if tweets.is_empty() {
            return Ok(tweets);
        }
        self.connection.send(&[]).await?;
        let mut texts = Vec::with_capacity(tweets.len());
        for _ in &tweets {
            texts.push(text(self.connection.receive().await?)?);
        }
        Ok(texts)
    }

    /// Two round trips: the followers, then everything.
    pub async fn post_tweet(&mut self, user: u32, text: &str) -> anyhow::Result<()> {
        let followers = format!("followers:{user}");
        self.connection.send(&[&[b"SMEMBERS", followers.as_bytes()]]).await?;
        let followers = self.texts().await?;
        let (author, tweet) = (user.to_string(), format!("{:032x}", random_id()));
        let (key, posts) = (format!("tweet:{tweet}"), format!("posts:{user}"));
        self.connection.write(&[b"MULTI"]).await?;
        let fields = [b"author", author.as_bytes(), b"text", text.as_bytes()];
        self.connection.write(&[&[b"HSET", key.as_bytes()][..], &fields].concat()).await?;
        self.connection.write(&[b"RPUSH", posts.as_bytes(), tweet.as_bytes()]).await?;
        for follower in &followers {
            let home = format!("home:{follower}");
            self.connection.write(&[b"RPUSH", home.as_bytes(), tweet.as_bytes()]).await?;
        }
        self.commit(2 + followers.len()).await
    }

    /// One round trip.
    pub async fn follow(&mut self, user: u32, follower: u32) -> anyhow::Result<()> {
        let (followers, following) = (format!("followers:{user}"), format!("following:{follower}"));
        let (user, follower) = (user.to_string(), follower.to_string());
        let pairs = [(followers.as_bytes(), follower.as_bytes()), (following.as_bytes(), user.as_bytes())];
        for (key, member) in pairs {
            self.connection.write(&[b"SISMEMBER", key, member]).await?;
        }
        self.connection.write(&[b"MULTI"]).await?;
        for (key, member) in pairs {
            self.connection.write(&[b"SADD", key, member]).await?;
        }
        self.connection.send(&[&[b"EXEC"], WAIT]).await?;
        for _ in pairs {
            let Reply::Integer(_) = self.connection.receive().await? else { bail!("SISMEMBER has no answer") };
        }
        self.committed(pairs.len()).await
    }

    /// One round trip.
    pub async fn add_user(&mut self, name: &str, joined: u64) -> anyhow::Result<()> {
        let (key, joined, password) = (format!("user:{name}"), joined.to_string(), text_of("a hash of it"));
        let fields = [b"password", password.as_bytes(), b"joined", joined.as_bytes()];
        self.connection.write(&[b"MULTI"]).await?;
        self.connection.write(&[&[b"HSET", key.as_bytes()][..], &fields].concat()).await?;
        self.connection.write(&[b"INCR", b"users"]).await?;
        self.commit(2).await
    }

    /// One round trip.
    pub async fn like(&mut self, user: u32, tweet: u32) -> anyhow::Result<()> {
        let (key, liked, tweet) = (format!("tweet:{tweet}"), format!("liked:{user}"), tweet.to_string());
        self.connection.write(&[b"HMGET", key.as_bytes(), b"author", b"text"]).await?;
        self.connection.write(&[b"MULTI"]).await?;
        self.connection.write(&[b"HINCRBY", key.as_bytes(), b"likes", b"1"]).await?;
        self.connection.write(&[b"SADD", liked.as_bytes(), tweet.as_bytes()]).await?;
        self.connection.send(&[&[b"EXEC"], WAIT]).await?;
        ensure!(self.texts().await?.len() == 2, "a tweet has an author and a text");
        self.committed(2).await
    }

    async fn commit(&mut self, commands: usize) -> anyhow::Result<()> {
        self.connection.send(&[&[b"EXEC"], WAIT]).await?;
        self.committed(commands).await
    }

    /// The answers to MULTI, so many commands, EXEC and WAIT.
    async fn committed(&mut self, commands: usize) -> anyhow::Result<()> {
        for _ in 0..=commands {
            let Reply::Simple(_) = self.connection.receive().await? else { bail!("a command was refused") };
        }
        let Reply::Array(Some(_)) = self.connection.receive().await? else { bail!("EXEC did nothing") };
        match self.connection.receive().await? {
            Reply::Integer(replicas) if replicas > 0 => Ok(()),
            other => bail!("no replica has it: {other:?}"),
        }
    }

    async fn texts(&mut self) -> anyhow::Result<Vec<String>> {
        let Reply::Array(Some(found)) = self.connection.receive().await? else { bail!("no list") };
        found.into_iter().map(text).collect()
    }

    /// Makes the first users, whom they follow and what was said before.
    pub async fn prepare(&mut self, users: u32, seed: u64) -> anyhow::Result<()> {
        for from in (0..users).step_by(USERS_AT_ONCE as usize) {
            let to = users.min(from + USERS_AT_ONCE);
            for user in from..to {
                self.write_first(user, users, seed).await?;
            }
            self.connection.send(&[]).await?;
            for _ in 0..3 * (to - from) {
                let Reply::Integer(_) = self.connection.receive().await? else { bail!("a user cannot be made") };
            }
        }
        self.connection.send(&[WAIT]).await?;
        let Reply::Integer(1..) = self.connection.receive().await? else { bail!("no replica has the first users") };
        Ok(())
    }

    async fn write_first(&mut self, user: u32, users: u32, seed: u64) -> anyhow::Result<()> {
        let words = |numbers: Vec<u32>| numbers.iter().map(u32::to_string).collect::<Vec<_>>();
        let (key, author) = (format!("tweet:{user}"), user.to_string());
        let text = text_of(&format!("the first words of user {user}"));
        let fields = [b"author", author.as_bytes(), b"text", text.as_bytes()];
        self.connection.write(&[&[b"HSET", key.as_bytes()][..], &fields].concat()).await?;
        let followers = words(first_followers(user, users, seed));
        let home = words(first_home(user, users, seed));
        for (command, name, members) in [(&b"SADD"[..], "followers", followers), (b"RPUSH", "home", home)] {
            let key = format!("{name}:{user}");
            let members = members.iter().map(String::as_bytes);
            let command: Vec<&[u8]> = [command, key.as_bytes()].into_iter().chain(members).collect();
            self.connection.write(&command).await?;
        }
        Ok(())
    }

    /// What is kept, over all users.
    pub async fn totals(&mut self, users: u32) -> anyhow::Result<Totals> {
        self.connection.send(&[&[b"GET", b"users"]]).await?;
        let mut totals = Totals { users: number(self.connection.receive().await?)?, ..Totals::default() };
        for from in (0..users).step_by(USERS_AT_ONCE as usize) {
            let to = users.min(from + USERS_AT_ONCE);
            for user in from..to {
                let (tweet, posts) = (format!("tweet:{user}"), format!("posts:{user}"));
                self.connection.write(&[b"HGET", tweet.as_bytes(), b"likes"]).await?;
                self.connection.write(&[b"LLEN", posts.as_bytes()]).await?;
            }
            self.connection.send(&[]).await?;
            for _ in from..to {
                totals.likes += number(self.connection.receive().await?)?;
                totals.posts += number(self.connection.receive().await?)?;
            }
        }
        Ok(totals)
    }
}

fn text(reply: Reply) -> anyhow::Result<String> {
    match reply {
        Reply::Bulk(Some(bytes)) => String::from_utf8(bytes).context("a text is UTF-8"),
        other => bail!("{other:?} in the place of a text"),
    }
}

fn number(reply: Reply) -> anyhow::Result<i64> {
    match reply {
        Reply::Integer(number) => Ok(number),
        Reply::Bulk(None) => Ok(0),
        other => Ok(text(other)?.parse()?),
    }
}
