//! The 100 game without an end: three players in turn, and a list of who made which round.
//!
//! Invariant: a round is one strict transaction, which takes effect only if it is its player's turn.
//! Source: Zhang 2017, Figure 3.3, as `examples/hundred-game/rust` has it.

use iolite::table::List;
use iolite::{Client, Mutators, Options, Result, Schema, Table, Transaction, abort};
use serde::{Deserialize, Serialize};

use super::super::iolite::{Players, Sum, Turn};

/// Rounds as they were made, a hundred in a row: what a row may hold has a limit.
#[derive(Table)]
#[table(live)]
struct Rounds {
    #[key]
    key: String,
    value: List<String>,
}

/// In the order in which they take turns.
pub const PLAYERS: [&str; 3] = ["ada", "ben", "cleo"];
pub const GAME: &str = "game";
const ROUNDS_IN_ROW: i64 = 100;

/// A round that is to be made. Its name is used once: it begins with the player's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Round {
    pub player: String,
    pub name: String,
}

/// Whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub turn: i64,
    /// `None` until all are here.
    pub player: Option<String>,
}

/// All that was kept of a game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    pub rounds: Vec<String>,
    pub turn: i64,
    pub sum: i64,
}

/// A client that knows these gateways.
pub fn open(urls: &[String], token: &str, options: Options) -> anyhow::Result<Client> {
    let mutators = Mutators::new().with("round", make_round).with("last", |tx, ()| {
        // That the turn is read and written puts this behind every round that was made.
        let turn = tx.at(Turn::VALUE, GAME).get()?;
        tx.at(Turn::VALUE, "last").add(turn)
    });
    Ok(Client::connect_to_one_of(urls, token, schema()?, options.mutators(mutators))?)
}

fn schema() -> anyhow::Result<Schema> {
    Ok(iolite::schema().with::<Players>().with::<Sum>().with::<Turn>().with::<Rounds>().build()?)
}

pub fn look(tx: &mut Transaction<'_>) -> Result<Standing> {
    let turn = tx.at(Turn::VALUE, GAME).get()?;
    let players = tx.at(Players::VALUE, GAME).all()?;
    let player = (players.len() == PLAYERS.len()).then(|| players[turn as usize % PLAYERS.len()].clone());
    Ok(Standing { turn, player })
}

fn make_round(tx: &mut Transaction<'_>, round: Round) -> Result<()> {
    let Standing { turn, player } = look(tx)?;
    if player != Some(round.player) {
        return Err(abort("not now"));
    }
    tx.at(Sum::VALUE, GAME).add(amount(turn))?;
    tx.at(Turn::VALUE, GAME).add(1)?;
    tx.at(Rounds::VALUE, row_of(turn)).push(round.name)
}

/// What a round adds to the sum.
pub fn amount(turn: i64) -> i64 {
    1 + turn % 10
}

fn row_of(turn: i64) -> String {
    format!("{}", turn / ROUNDS_IN_ROW)
}

/// All that there is, of one moment, and of none before any round that was made.
pub async fn read(client: &Client) -> anyhow::Result<Chain> {
    client.mutate("last", &())?.confirmed().await?;
    let read = client.read(iolite::View::Confirmed, |tx| {
        let (turn, sum) = (tx.at(Turn::VALUE, GAME).get()?, tx.at(Sum::VALUE, GAME).get()?);
        // What is of a round that was not counted would be in the next row, or behind the others.
        let rows = tx.rows("rounds", &[])?;
        let mut parts = Vec::new();
        for row in &rows {
            let key = row.key().first().cloned();
            parts.push((key, row.list("value")?));
        }
        Ok((turn, sum, parts))
    });
    let (turn, sum, parts) = (*read.await?).clone();
    let mut rows = Vec::new();
    for (key, values) in parts {
        let Some(iolite::Value::String(key)) = key else { anyhow::bail!("a row has the key {key:?}") };
        rows.push((key.parse::<i64>()?, values));
    }
    rows.sort_by_key(|(number, _)| *number);
    let text = |value| match value {
        iolite::Value::String(text) => Ok(text.to_string()),
        other => Err(anyhow::anyhow!("a round is called {other:?}")),
    };
    let rounds = rows.into_iter().flat_map(|(_, values)| values).map(text).collect::<anyhow::Result<_>>()?;
    Ok(Chain { rounds, turn, sum })
}
