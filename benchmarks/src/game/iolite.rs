//! The game in Iolite: three shared variables, moves as named mutations, and a reactive transaction that says whose turn it is.
//!
//! Source: Zhang 2017, Figure 3.3, as `examples/hundred-game/rust` has it.

use std::time::Duration;

use anyhow::{Context, anyhow};
use iolite::table::{Counter, Set};
use iolite::{Client, MutationEnd, Mutators, Options, Reaction, Result, Schema, Table, Transaction, View, abort};
use iolite_host::monotonic_nanos;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::check::{Found, GOAL};
use super::play::{Seat, Seen, Settled};
use crate::child::Address;

#[derive(Table)]
#[table(live)]
pub struct Players {
    #[key]
    key: String,
    value: Set<String>,
}

#[derive(Table)]
#[table(live)]
pub struct Sum {
    #[key]
    key: String,
    value: Counter,
}

#[derive(Table)]
#[table(live)]
pub struct Turn {
    #[key]
    key: String,
    value: Counter,
}

#[derive(Serialize, Deserialize)]
struct Move {
    game: String,
    player: String,
}

pub struct IoliteSeat {
    client: Client,
    me: String,
    game: String,
    seen: Option<Reaction<Seen>>,
    /// What each move came to, and how long after its call that was known.
    moves: JoinSet<(std::result::Result<(), MutationEnd>, u64)>,
    settled: Settled,
    /// Mutations that were called, joining among them.
    made: u64,
}

/// How long the end of a move is waited for when the time is up.
const END_WITHIN: Duration = Duration::from_secs(10);

impl IoliteSeat {
    pub async fn connect(url: &str, token: &str, me: &str) -> anyhow::Result<IoliteSeat> {
        let (settled, made) = (Settled::default(), 0);
        let client = connect(url, token).await?;
        let (game, moves) = (String::new(), JoinSet::new());
        Ok(IoliteSeat { client, me: me.to_owned(), game, seen: None, moves, settled, made })
    }

    fn take(&mut self, outcome: std::result::Result<(), MutationEnd>, nanos: u64) -> anyhow::Result<()> {
        outcome.context("a move in turn was refused")?;
        self.settled.commits.record(nanos);
        Ok(())
    }
}

impl Seat for IoliteSeat {
    async fn join(&mut self, game: u32) -> anyhow::Result<()> {
        self.game = name(game);
        self.client.live(Players::VALUE, &self.game)?.insert(self.me.clone())?;
        self.made += 1;
        let of = self.game.clone();
        self.seen = Some(self.client.react(View::Confirmed, move |tx| look(tx, &of)));
        Ok(())
    }

    async fn see(&mut self) -> anyhow::Result<Seen> {
        let seen = self.seen.as_mut().context("a player joins before it looks")?;
        Ok((*seen.next().await?).clone())
    }

    async fn make_move(&mut self) -> anyhow::Result<()> {
        let called = monotonic_nanos();
        let handle = self.client.mutate("move", &Move { game: self.game.clone(), player: self.me.clone() })?;
        self.made += 1;
        self.moves.spawn(async move { (handle.confirmed().await.map(drop), monotonic_nanos() - called) });
        while let Some(ended) = self.moves.try_join_next() {
            let (outcome, nanos) = ended?;
            self.take(outcome, nanos)?;
        }
        Ok(())
    }

    async fn settle(&mut self) -> anyhow::Result<Settled> {
        while !self.moves.is_empty() {
            match tokio::time::timeout(END_WITHIN, self.moves.join_next()).await {
                Ok(None) => break,
                Ok(Some(ended)) => {
                    let (outcome, nanos) = ended?;
                    self.take(outcome, nanos)?;
                }
                Err(_) => {
                    self.settled.unknown = self.moves.len() as u64;
                    break;
                }
            }
        }
        self.settled.repeated = self.client.attempts().saturating_sub(self.made);
        Ok(std::mem::take(&mut self.settled))
    }

    fn traffic(&self) -> (u64, u64) {
        let traffic = self.client.traffic();
        (traffic.bytes_up, traffic.bytes_down)
    }
}

/// What a fresh session finds.
pub async fn games(at: &Address, games: usize) -> anyhow::Result<Vec<Found>> {
    let client = connect(&at.url, &at.token).await?;
    let mut found = Vec::new();
    for game in 0..games {
        let of = name(game as u32);
        let read = client.read(View::Confirmed, move |tx| {
            let players = tx.at(Players::VALUE, &of).all()?.len();
            Ok(Found { sum: tx.at(Sum::VALUE, &of).get()?, turn: tx.at(Turn::VALUE, &of).get()?, players })
        });
        found.push(*read.await?);
    }
    client.close().await;
    Ok(found)
}

async fn connect(url: &str, token: &str) -> anyhow::Result<Client> {
    let options = Options::new().mutators(Mutators::new().with("move", make_move));
    let client = Client::connect(url, token, schema()?, options)?;
    client.online().await.map_err(|state| anyhow!("the server does not let the player in: {state:?}"))?;
    Ok(client)
}

fn schema() -> anyhow::Result<Schema> {
    Ok(iolite::schema().with::<Players>().with::<Sum>().with::<Turn>().build()?)
}

fn name(game: u32) -> String {
    format!("game-{game}")
}

fn look(tx: &mut Transaction<'_>, game: &str) -> Result<Seen> {
    let turn = tx.at(Turn::VALUE, game).get()?;
    let players = tx.at(Players::VALUE, game).all()?;
    let player = players.get(turn as usize % players.len().max(1)).cloned();
    Ok(Seen { sum: tx.at(Sum::VALUE, game).get()?, player, players: players.len() })
}

fn make_move(tx: &mut Transaction<'_>, Move { game, player }: Move) -> Result<()> {
    let seen = look(tx, &game)?;
    if seen.player != Some(player) || seen.sum >= GOAL {
        return Err(abort("not now"));
    }
    tx.at(Sum::VALUE, &game).add(1)?;
    if seen.sum + 1 < GOAL { tx.at(Turn::VALUE, &game).add(1) } else { Ok(()) }
}
