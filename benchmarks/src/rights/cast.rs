//! The people of a run: what a process is told to be, and what it then does.
//!
//! Invariant: a process says `Ran` once for each new state of a room, when all of its readers of that room have seen that state.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::bail;
use iolite::{Client, Mutators, Options, Reaction, Result, Transaction, Value, View};
use iolite_host::monotonic_nanos;
use serde::{Deserialize, Serialize};
use tokio::task::LocalSet;

use super::history::{IN, OUT};
use super::served::{connect, of_user};
use super::speakers::{Speech, count, discuss, earn, speak, tell};
use super::tables::{History, Member, Note, tables};
use crate::child::{Address, ClientProcess};
use crate::part::{PartProcess, hear, hear_now, say};
use crate::talk::{Called, FromClient, RunResult, ToClient};

/// The part that a process plays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Part {
    /// Adds one to their own note of a room, whenever they are told to.
    Author { user: String, room: i64 },
    /// Takes a member into a room and puts them out, in turn, whenever they are told to. The history of the room may have it, too.
    Owner { user: String, room: i64, member: String, has_history: bool },
    /// Write one thing after the other, each with one mutation outstanding, for as long as they are told to.
    Speakers { users: Vec<String>, speech: Speech },
    /// Follow rooms.
    Readers(Vec<Reader>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reader {
    pub user: String,
    /// A run with these is told.
    pub watched: Vec<i64>,
    /// Followed too, and no run is told.
    pub beside: Vec<i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Cast {
    at: Address,
    part: Part,
}

/// A membership.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Place {
    room: i64,
    user: String,
    has_history: bool,
}

/// Starts a process. It is ready when it says so.
///
/// # Errors
/// When the program cannot be started.
pub fn start(at: &Address, part: Part) -> anyhow::Result<ClientProcess> {
    let mut process = PartProcess::start(&["bench-part", "rights"])?;
    process.tell(&Cast { at: at.clone(), part })?;
    Ok(ClientProcess::of(process))
}

/// Runs one process to its end.
///
/// # Errors
/// When the server or the parent does not do what it should.
pub fn run_cast() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let Cast { at, part } = hear().await?;
        match part {
            Part::Author { user, room } => author(&at, &user, room).await,
            Part::Owner { user, room, member, has_history } => {
                owner(&at, &user, Place { room, user: member, has_history }).await
            }
            Part::Speakers { users, speech } => speak(&at, &users, speech).await,
            Part::Readers(readers) => read(&at, &readers).await,
        }
    })
}

fn mutators() -> Mutators {
    let own = Mutators::new().with("add", add).with("admit", admit).with("expel", expel);
    own.with("discuss", discuss).with("tell", tell).with("earn", earn).with("count", count)
}

fn add(tx: &mut Transaction<'_>, room: i64) -> Result<()> {
    tx.at(Note::COUNT, (room, 0i64)).add(1)
}

fn admit(tx: &mut Transaction<'_>, Place { room, user, has_history }: Place) -> Result<()> {
    tx.create(&Member { room, user })?;
    if has_history { tx.at(History::SAID, room).push(IN) } else { Ok(()) }
}

fn expel(tx: &mut Transaction<'_>, Place { room, user, has_history }: Place) -> Result<()> {
    tx.delete("members", (room, user))?;
    if has_history { tx.at(History::SAID, room).push(OUT) } else { Ok(()) }
}

pub async fn user_client(at: &Address, user: &str) -> anyhow::Result<Client> {
    connect(&of_user(at, user), tables(), Options::new().mutators(mutators())).await
}

async fn author(at: &Address, user: &str, room: i64) -> anyhow::Result<()> {
    let client = user_client(at, user).await?;
    let mut own = client.react(View::Confirmed, move |tx| seen(tx, room));
    if own.next().await?.0 != 1 {
        bail!("{user} does not see their own note");
    }
    call_when_told(&client, |_| ("add", Call::Room(room))).await
}

async fn owner(at: &Address, user: &str, place: Place) -> anyhow::Result<()> {
    let client = user_client(at, user).await?;
    let room = place.room;
    let mut own = client.react(View::Confirmed, move |tx| Ok(tx.all_with::<Member>(&[Value::Int(room)])?.len()));
    own.next().await?;
    call_when_told(&client, |number| (if number % 2 == 0 { "admit" } else { "expel" }, Call::Place(place.clone())))
        .await
}

#[derive(Serialize)]
#[serde(untagged)]
enum Call {
    Room(i64),
    Place(Place),
}

/// Each call waits until it is confirmed. It is chosen by its number.
async fn call_when_told(client: &Client, choose: impl Fn(u64) -> (&'static str, Call)) -> anyhow::Result<()> {
    say(&FromClient::Ready)?;
    let mut result = RunResult::default();
    loop {
        match hear().await? {
            ToClient::Call => {
                let (name, call) = choose(result.committed);
                let called_nanos = monotonic_nanos();
                client.mutate(name, &call)?.confirmed().await?;
                result.committed += 1;
                say(&FromClient::Called(Called { called_nanos, confirmed_nanos: monotonic_nanos() }))?;
            }
            ToClient::End => break,
            ToClient::Run { .. } => bail!("this one calls when it is told to"),
        }
    }
    result.attempts = client.attempts();
    say(&FromClient::Result(Box::new(result)))
}

/// The state of a room that readers look at: how many notes they see, and what was added to them.
type Seen = (usize, i64);

fn seen(tx: &mut Transaction<'_>, room: i64) -> Result<Seen> {
    let notes = tx.query::<Note>().filter(Note::ROOM.eq(room)).all()?;
    Ok((notes.len(), notes.iter().map(|note| note.count.0).sum()))
}

/// The readers who have seen each state of a room, as a number.
type Counts = Rc<RefCell<BTreeMap<(i64, Seen), u32>>>;

async fn read(at: &Address, readers: &[Reader]) -> anyhow::Result<()> {
    let mut of_room: BTreeMap<i64, u32> = BTreeMap::new();
    for room in readers.iter().flat_map(|reader| &reader.watched) {
        *of_room.entry(*room).or_default() += 1;
    }
    let counts = Counts::default();
    let (mut clients, mut follows, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for reader in readers {
        let client = user_client(at, &reader.user).await?;
        let react = |room: i64| client.react(View::Confirmed, move |tx| seen(tx, room));
        for &room in &reader.watched {
            let mut reaction = react(room);
            let first = *reaction.next().await?;
            follows.push(follow(reaction, room, first, counts.clone(), of_room[&room]));
        }
        let mut others: Vec<_> = reader.beside.iter().map(|room| react(*room)).collect();
        for reaction in &mut others {
            reaction.next().await?;
        }
        beside.extend(others);
        clients.push(client);
    }
    for follow in follows {
        tokio::task::spawn_local(follow);
    }
    say(&FromClient::Ready)?;
    tokio::task::spawn_blocking(hear_now::<ToClient>).await??;
    say(&FromClient::Result(Box::default()))
}

/// Until the client is closed, or the parent is gone.
async fn follow(mut reaction: Reaction<Seen>, room: i64, first: Seen, counts: Counts, all: u32) {
    let mut last = first;
    while let Ok(seen) = reaction.next().await {
        // A run that comes to the same is no new state.
        if std::mem::replace(&mut last, *seen) == *seen {
            continue;
        }
        let mut counts = counts.borrow_mut();
        let count = counts.entry((room, *seen)).or_default();
        *count += 1;
        if *count == all {
            counts.remove(&(room, *seen));
            if say(&FromClient::Ran { total: seen.1, at_nanos: monotonic_nanos() }).is_err() {
                return;
            }
        }
    }
}
