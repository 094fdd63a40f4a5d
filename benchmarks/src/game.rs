//! How long a round of the 100 game takes: `iolite bench game`.
//!
//! A round is one move by each of two players. It is measured at one of them, from the call of its move until it has seen the other's answer, in
//! a game in which both move as soon as it is their turn. With `--kill`, how long no round is made when something is killed (`kills`).
//! Source: Zhang 2017, 3.5.3 and Figure 3.9.

mod check;
mod iolite;
mod kills;
mod play;
mod redis;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, ValueEnum};
use iolite_node::config::WithoutWord;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use crate::arguments::Arguments;
use crate::beside::{Beside, Line, Record};
use crate::front::{FrontCluster, FrontSetup};
use crate::intervals::IntervalCounts;
use crate::latency::{Latencies, LatencyCounts};
use crate::part::PartProcess;
use crate::peer::Peer;
use crate::redis::{Delays, RedisServers};
use crate::report::Report;
use crate::{probe, system_run};

pub use kills::{SurvivorArguments, run_survivor};
pub use play::run_player;

#[derive(Args, Debug)]
pub struct GameOptions {
    /// Of game: measure it also with a gateway that only tells what has changed, so that clients ask for it
    #[arg(long)]
    pub no_push: bool,
    /// Of game: play without an end before two gateways, kill these in turn, and measure how long no round is made. Of views: kill a member
    #[arg(long, value_delimiter = ',')]
    pub kill: Vec<Kill>,
}

/// A process that can be killed under a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kill {
    /// One of the two gateways
    Gateway,
    /// One of the three replicas
    Replica,
    /// One of the three players, whose store is on disk
    Client,
    /// Such a player, in a round that no gateway has seen, and both gateways with it
    ClientCutOff,
    /// For views: one of the members, other than the one that is measured
    Member,
}

impl GameOptions {
    /// What was asked for that only this workload has.
    pub fn name_of_any(&self) -> Option<&'static str> {
        self.no_push.then_some("--no-push")
    }

    /// `views` has it as well.
    pub fn name_of_kill(&self) -> Option<&'static str> {
        (!self.kill.is_empty()).then_some("--kill")
    }
}

/// Where a game is kept, as its players see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kept {
    /// By Iolite's client.
    Iolite,
    /// In Redis: WATCH and reads, then MULTI, EXEC and WAIT; news carry the new state.
    Redis,
    /// In Redis: a move is a script that the server runs.
    RedisScript,
}

/// What the parent tells a player's process.
#[derive(Args, Debug)]
pub struct PlayerArguments {
    #[arg(long)]
    kept: Kept,
    /// A URL of Iolite, an address of Redis
    #[arg(long)]
    address: String,
    #[arg(long, default_value = "")]
    token: String,
    #[arg(long)]
    name: String,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum ToPlayer {
    Play { seconds: u32 },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum FromPlayer {
    Ready,
    Played(Played),
}

/// What a player did, and saw.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Played {
    /// Of each game, how many moves it made.
    moves: Vec<u64>,
    /// Moves that were refused, or had to be made again.
    repeated: u64,
    /// Moves whose end was not known in time.
    unknown: u64,
    rounds: LatencyCounts,
    /// From the call of a move until it was known to be made.
    commits: LatencyCounts,
    /// Its moves, with the time since its move before in the same game.
    intervals: IntervalCounts,
    bytes_up: u64,
    bytes_down: u64,
}

const NAMES: [&str; 2] = ["ada", "ben"];

const LINES: &[Line] = &[("rounds", "/rounds"), ("games", "/games")];

/// One way to keep the game, with what it is called in the report.
struct Measured {
    system: String,
    version: String,
    durability_setting: String,
    played: [Played; 2],
    findings: crate::verify::Findings,
}

/// # Errors
/// When options do not fit together, or servers or players do not start or fail. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(other) = arguments.transactions.beside.iter().find(|peer| kept(**peer).is_none()) {
        bail!("game is not kept in {}, which is beside {}: --beside redis,redis-script", other.name(), other.beside());
    }
    if !arguments.game.kill.is_empty() {
        return kills::run(arguments);
    }
    let beside = system_run::block_on(measure_all(arguments))?;
    iolite_host::print(&beside.text(arguments.json)?)?;
    Ok(if beside.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn kept(peer: Peer) -> Option<Kept> {
    match peer {
        Peer::Redis => Some(Kept::Redis),
        Peer::RedisScript => Some(Kept::RedisScript),
        Peer::Hocuspocus
        | Peer::Etcd
        | Peer::Postgres
        | Peer::OccStore
        | Peer::LockStore
        | Peer::OccStoreUnbatched
        | Peer::LockStoreUnbatched
        | Peer::Cloud
        | Peer::CloudFt
        | Peer::NaiveFt
        | Peer::Echo
        | Peer::Rmi
        | Peer::Thrift
        | Peer::Rest => None,
    }
}

async fn measure_all(arguments: &Arguments) -> anyhow::Result<Beside> {
    let mut records = vec![record(arguments, on_iolite(arguments, WithoutWord::Nothing).await?)?];
    if arguments.game.no_push {
        records.push(record(arguments, on_iolite(arguments, WithoutWord::DataPush).await?)?);
    }
    for kept in arguments.transactions.beside.iter().filter_map(|peer| kept(*peer)) {
        records.push(record(arguments, on_redis(arguments, kept).await?)?);
    }
    let settings = vec![("workload", json!("game")), ("delay_ms", json!(arguments.delay_ms()))];
    Ok(Beside { settings, records, lines: LINES })
}

fn delay(arguments: &Arguments) -> Duration {
    Duration::from_millis(u64::from(arguments.delay_ms()))
}

async fn on_iolite(arguments: &Arguments, without: WithoutWord) -> anyhow::Result<Measured> {
    let (durability, delay) = (arguments.durability, delay(arguments));
    let cluster =
        FrontCluster::start(FrontSetup { durability, delay, replicas: 3, without, second_shard: None }).await?;
    let at = cluster.address();
    let played = play(arguments, Kept::Iolite, &at.url, &at.token).await?;
    let found = iolite::games(at, played.iter().map(|one| one.moves.len()).max().unwrap_or(0)).await?;
    Ok(Measured {
        system: match without {
            WithoutWord::DataPush => "iolite --no-push".to_owned(),
            WithoutWord::Nothing | WithoutWord::DataTypes => "iolite".to_owned(),
        },
        version: env!("CARGO_PKG_VERSION").to_owned(),
        durability_setting: cluster.setting().to_owned(),
        findings: check::check(&played, &found),
        played,
    })
}

async fn on_redis(arguments: &Arguments, kept: Kept) -> anyhow::Result<Measured> {
    let delays = Delays { of_clients: delay(arguments), between_servers: Duration::ZERO };
    let servers = RedisServers::start(arguments.durability, delays).await?;
    let played = play(arguments, kept, &servers.clients_address().to_string(), "").await?;
    let games = played.iter().map(|one| one.moves.len()).max().unwrap_or(0);
    let found = redis::games(&mut servers.connect().await?, games).await?;
    Ok(Measured {
        system: crate::arguments::name_of(&kept),
        version: servers.version().to_owned(),
        durability_setting: servers.setting().to_owned(),
        findings: check::check(&played, &found),
        played,
    })
}

/// Has both players play for as long as was asked for.
async fn play(arguments: &Arguments, kept: Kept, address: &str, token: &str) -> anyhow::Result<[Played; 2]> {
    let kept = crate::arguments::name_of(&kept);
    let start = |name| {
        let who = ["bench-part", "player", "--kept", &kept, "--name", name];
        PartProcess::start(&[&who[..], &["--address", address, "--token", token]].concat())
    };
    let mut players = [start(NAMES[0])?, start(NAMES[1])?];
    let seconds = arguments.seconds;
    tokio::task::spawn_blocking(move || {
        for player in &mut players {
            let FromPlayer::Ready = player.hear()? else { bail!("a player played before it was told to") };
        }
        for player in &mut players {
            player.tell(&ToPlayer::Play { seconds })?;
        }
        let mut played = |index: usize| match players[index].hear()? {
            FromPlayer::Played(played) => Ok(played),
            FromPlayer::Ready => bail!("a player is ready twice"),
        };
        Ok([played(0)?, played(1)?])
    })
    .await?
}

fn record(arguments: &Arguments, measured: Measured) -> anyhow::Result<Record> {
    let Measured { system, version, durability_setting, played, findings } = measured;
    let [mut rounds, mut commits] = [Latencies::default(), Latencies::default()];
    // As in the paper, of one player.
    rounds.add(&played[0].rounds);
    played.iter().for_each(|one| commits.add(&one.commits));
    let mut intervals = IntervalCounts::default();
    played.iter().for_each(|one| intervals.add(&one.intervals));
    let total = |of: fn(&Played) -> u64| played.iter().map(of).sum::<u64>();
    let moves = total(|one| one.moves.iter().sum());
    let per_move = |bytes: u64| if moves == 0 { 0.0 } else { bytes as f64 / moves as f64 };
    let seconds = f64::from(arguments.seconds);
    let report = Report {
        workload: "game".to_owned(),
        seconds,
        throughput_per_s: moves as f64 / seconds,
        by_interval: intervals.report(seconds),
        latency_ms: rounds.percentiles(),
        commit_latency_ms: commits.percentiles(),
        committed: moves,
        aborts: total(|one| one.repeated),
        retries: total(|one| one.repeated),
        unknown: total(|one| one.unknown),
        lost_updates: findings.lost_updates,
        violations: findings.violations,
        bytes_up_per_op: per_move(total(|one| one.bytes_up)),
        bytes_down_per_op: per_move(total(|one| one.bytes_down)),
        durability: arguments.durability.name(),
        fsync_ms: probe::sync_ms(arguments.durability)?.into(),
    };
    let games = played.iter().map(|one| one.moves.len()).max().unwrap_or(0);
    let more =
        Map::from_iter([("rounds".to_owned(), json!(played[0].rounds.count())), ("games".to_owned(), json!(games))]);
    Ok(Record { system, version, durability_setting, report, more })
}
