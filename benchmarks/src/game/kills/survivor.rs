//! A player's process that may be killed at any time, and goes on from its disk when it is started again.
//!
//! Invariants: it has one round on its way at most; that a round is stored, and what became of it, is told as soon as that is known, also of rounds
//! that were called before it was killed.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use iolite::{Client, MutationEnd, MutationHandle, Options, View};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::super::iolite::Players;
use super::rules::{self, GAME, Round, Standing};
use crate::part::{hear, say};

/// What the parent tells a player's process.
#[derive(Args, Debug)]
pub struct SurvivorArguments {
    /// Of each gateway
    #[arg(long, value_delimiter = ',', required = true)]
    urls: Vec<String>,
    #[arg(long)]
    token: String,
    #[arg(long)]
    name: String,
    /// How often it was started before
    #[arg(long)]
    life: u32,
    #[arg(long)]
    directory: PathBuf,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum ToSurvivor {
    End,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromSurvivor {
    Stored(String),
    Made(String),
    Refused(String),
    /// Everything that it called has come to its end.
    Ended,
}

/// Runs one player to its end.
///
/// # Errors
/// When the server or the parent does not do what it should.
pub fn run_survivor(arguments: &SurvivorArguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A thread waits for the parent, who may have nothing more to say.
    let outcome = runtime.block_on(play(arguments));
    runtime.shutdown_background();
    outcome
}

async fn play(arguments: &SurvivorArguments) -> anyhow::Result<()> {
    let options = Options::new().directory(&arguments.directory);
    let client = rules::open(&arguments.urls, &arguments.token, options)?;
    let mut rounds = follow_pending(&client)?;
    client.live(Players::VALUE, GAME)?.insert(arguments.name.clone())?;
    let mut seen = client.react(View::Confirmed, rules::look);
    let (mut called_at, mut number) = (None, 0);
    let mut end = std::pin::pin!(hear::<ToSurvivor>());
    loop {
        tokio::select! {
            Some(ended) = rounds.join_next() => ended??,
            standing = seen.next(), if rounds.is_empty() => {
                let Standing { turn, player } = (*standing?).clone();
                if player.as_ref() == Some(&arguments.name) && Some(turn) > called_at {
                    let name = format!("{}-{}-{number}", arguments.name, arguments.life);
                    (called_at, number) = (Some(turn), number + 1);
                    let round = Round { player: arguments.name.clone(), name: name.clone() };
                    rounds.spawn(follow(client.mutate("round", &round)?, name));
                }
            }
            told = &mut end => {
                let ToSurvivor::End = told?;
                break;
            }
        }
    }
    while let Some(ended) = rounds.join_next().await {
        ended??;
    }
    say(&FromSurvivor::Ended)?;
    client.close().await;
    Ok(())
}

/// What was called before this process was started.
fn follow_pending(client: &Client) -> anyhow::Result<JoinSet<anyhow::Result<()>>> {
    let mut rounds = JoinSet::new();
    for pending in client.pending().iter().filter(|pending| pending.name.as_deref() == Some("round")) {
        let round: Round = serde_json::from_str(pending.arguments.as_deref().unwrap_or_default())?;
        if let Some(handle) = client.mutation(pending.counter) {
            rounds.spawn(follow(handle, round.name));
        }
    }
    Ok(rounds)
}

/// Tells what becomes of a round.
async fn follow(handle: MutationHandle, name: String) -> anyhow::Result<()> {
    if handle.durable().await.is_ok() {
        say(&FromSurvivor::Stored(name.clone()))?;
    }
    match handle.confirmed().await {
        Ok(_) => say(&FromSurvivor::Made(name)),
        Err(MutationEnd::Rejected { .. } | MutationEnd::Cancelled { .. }) => say(&FromSurvivor::Refused(name)),
        Err(end @ (MutationEnd::Quarantined { .. } | MutationEnd::Overruled | MutationEnd::Closed)) => {
            bail!("the round {name} ended: {end}")
        }
    }
}
