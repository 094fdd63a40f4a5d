//! People who write one thing after the other, and count what became of it.

use anyhow::{Context, bail};
use iolite::{Abort, Client, MutationEnd, Result, Transaction, Value, View};
use iolite_host::monotonic_nanos;
use serde::{Deserialize, Serialize};

use super::cast::user_client;
use super::tables::{History, Note, Purse, Tally, Topic};
use crate::child::Address;
use crate::draws::Random;
use crate::latency::Latencies;
use crate::part::{hear, say};
use crate::talk::{FromClient, RunResult, ToClient};

/// The thing that they write, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Speech {
    /// Each reads one of the room's topics and writes it, so two of the same topic conflict.
    Topics { room: i64, topics: i64 },
    /// Each appends to the history of the room. Nothing is read, so nothing on the device keeps anybody from it.
    History { room: i64 },
    /// Each adds one to the note of their own room: the first of them that of this room, and so on.
    Notes { first_room: i64 },
    /// Each adds one to the same counter, which has a check.
    Purse,
    /// Each adds one to the same counter, which has none.
    Tally,
}

const SEED: u64 = 1;
/// The name of the counters.
pub const COMMON: &str = "common";

#[derive(Debug, Serialize, Deserialize)]
pub struct Discussed {
    room: i64,
    number: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Told {
    room: i64,
    words: String,
}

pub fn discuss(tx: &mut Transaction<'_>, Discussed { room, number }: Discussed) -> Result<()> {
    let topic: Option<Topic> = tx.get((room, number))?;
    let topic = topic.ok_or_else(|| Abort::Mistake(format!("no topic {number} in room {room}")))?;
    tx.at(Topic::VALUE, (room, number)).set(topic.value + 1)
}

pub fn tell(tx: &mut Transaction<'_>, Told { room, words }: Told) -> Result<()> {
    tx.at(History::SAID, room).push(words)
}

pub fn earn(tx: &mut Transaction<'_>, (): ()) -> Result<()> {
    tx.at(Purse::BALANCE, COMMON).add(1)
}

pub fn count(tx: &mut Transaction<'_>, (): ()) -> Result<()> {
    tx.at(Tally::BALANCE, COMMON).add(1)
}

/// Each time that it is told to run, all of them write for so long. Then it says what they came to together.
pub async fn speak(at: &Address, users: &[String], speech: Speech) -> anyhow::Result<()> {
    let mut speakers = Vec::new();
    let mut held = Vec::new();
    for (place, user) in (0..).zip(users) {
        let client = user_client(at, user).await?;
        if let Speech::Topics { room, .. } = speech {
            // What they read is on the device, as in a page that shows it.
            let mut topics = client
                .react(View::Confirmed, move |tx| Ok(tx.query::<Topic>().filter(Topic::ROOM.eq(room)).all()?.len()));
            topics.next().await?;
            held.push(topics);
        }
        let own_room = match speech {
            Speech::Notes { first_room } => first_room + place,
            Speech::Topics { room, .. } | Speech::History { room } => room,
            Speech::Purse | Speech::Tally => 0,
        };
        if let Speech::Notes { .. } = speech {
            let mut notes = client
                .react(View::Confirmed, move |tx| Ok(tx.query::<Note>().filter(Note::ROOM.eq(own_room)).all()?.len()));
            notes.next().await?;
            held.push(notes);
        }
        // Everybody draws differently, and the same in each run.
        let number = user.bytes().fold(0u64, |number, byte| number.wrapping_mul(31) + u64::from(byte));
        let random = Random::of(SEED, number);
        speakers.push(Speaker { client, user: user.clone(), own_room, random, spoken: 0 });
    }
    say(&FromClient::Ready)?;
    loop {
        match hear().await? {
            ToClient::Run { seconds } => {
                let end = monotonic_nanos() + u64::from(seconds) * 1_000_000_000;
                let mut sum = RunResult::default();
                let mut latencies = Latencies::default();
                let runs = speakers.iter_mut().map(|speaker| speaker.run(speech, end));
                for result in futures_util::future::join_all(runs).await {
                    let result = result?;
                    sum.committed += result.committed;
                    sum.attempts += result.attempts;
                    sum.rejected += result.rejected;
                    latencies.add(&result.commit_latency);
                }
                sum.commit_latency = latencies.counts();
                say(&FromClient::Result(Box::new(sum)))?;
            }
            ToClient::End => return Ok(()),
            ToClient::Call => bail!("speakers run for as long as they are told to"),
        }
    }
}

struct Speaker {
    client: Client,
    user: String,
    own_room: i64,
    random: Random,
    spoken: u64,
}

impl Speaker {
    async fn run(&mut self, speech: Speech, end: u64) -> anyhow::Result<RunResult> {
        let mut result = RunResult::default();
        let mut latencies = Latencies::default();
        let before = self.client.attempts();
        while monotonic_nanos() < end {
            let called = monotonic_nanos();
            match self.call(speech).await? {
                Ok(()) => {
                    result.committed += 1;
                    latencies.record(monotonic_nanos() - called);
                }
                Err(MutationEnd::Quarantined { reason }) if reason.contains(DENIED) => result.rejected += 1,
                Err(other) => return Err(other).context("a mutation ended as none should"),
            }
        }
        result.attempts = self.client.attempts() - before;
        result.commit_latency = latencies.counts();
        Ok(result)
    }

    async fn call(&mut self, speech: Speech) -> anyhow::Result<std::result::Result<(), MutationEnd>> {
        self.spoken += 1;
        let handle = match speech {
            Speech::Topics { room, topics } => {
                let number = self.random.below(topics as u64) as i64;
                self.client.mutate("discuss", &Discussed { room, number })?
            }
            Speech::History { room } => {
                let words = format!("{} {}", self.user, self.spoken);
                self.client.mutate("tell", &Told { room, words })?
            }
            Speech::Notes { .. } => self.client.mutate("add", &self.own_room)?,
            Speech::Purse => self.client.mutate("earn", &())?,
            Speech::Tally => self.client.mutate("count", &())?,
        };
        Ok(handle.confirmed().await.map(|_| ()))
    }
}

/// A word of the reason of every denial.
const DENIED: &str = "denied";

/// All elements of a room's history, as a session of the operator reads it.
pub async fn history(operator: &Client, room: i64) -> anyhow::Result<Vec<String>> {
    let said = operator.read(View::Confirmed, move |tx| tx.at(History::SAID, room).all()).await?;
    Ok(said.to_vec())
}

/// The totals of the counter with a check and of the one without.
pub async fn totals(operator: &Client) -> anyhow::Result<(i64, i64)> {
    let read =
        |tx: &mut Transaction<'_>| Ok((tx.at(Purse::BALANCE, COMMON).get()?, tx.at(Tally::BALANCE, COMMON).get()?));
    Ok(*operator.read(View::Confirmed, read).await?)
}

/// Topics of a room, so many.
pub fn topics(room: i64, count: i64) -> Vec<Topic> {
    (0..count).map(|number| Topic { room, number, value: 0 }).collect()
}

/// The sum of all topics of a room.
pub async fn discussed(operator: &Client, room: i64) -> anyhow::Result<i64> {
    let read = move |tx: &mut Transaction<'_>| {
        Ok(tx.all_with::<Topic>(&[Value::Int(room)])?.iter().map(|topic| topic.value).sum::<i64>())
    };
    Ok(*operator.read(View::Confirmed, read).await?)
}

/// The sum of all that was added to notes.
pub async fn added(operator: &Client) -> anyhow::Result<i64> {
    let read = |tx: &mut Transaction<'_>| Ok(tx.all::<Note>()?.iter().map(|note| note.count.0).sum::<i64>());
    Ok(*operator.read(View::Confirmed, read).await?)
}
