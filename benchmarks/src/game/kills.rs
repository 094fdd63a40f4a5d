//! The 100 game without an end, while what it runs on is killed in turn: `iolite bench game --kill gateway,replica,client`.
//!
//! Three players, each a process with its store on disk, before two gateways and three replicas; all know both gateways. A gateway or a replica
//! is down for half of the time until the next kill, a player is killed in the middle of a round and started again at once. The simulated twin is `crates/simulation/src/game.rs`.
//! Invariant: at the end there is every round that was acknowledged or stored, once, and in turn.

mod chain;
mod report;
mod rules;
mod seat;
mod survivor;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use iolite::Options;
use iolite_node::NodeRole;
use iolite_node::config::WithoutWord;
use rustix::process::Signal;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use super::{Kill, delay};
use crate::arguments::Arguments;
use crate::front::{FrontCluster, FrontSetup};
use crate::system_run;
use chain::Told;
use report::{AfterKill, KillsReport};
use rules::PLAYERS;
use seat::{Heard, Seat};
use survivor::{FromSurvivor, ToSurvivor};

pub use survivor::{SurvivorArguments, run_survivor};

const GATEWAYS: u16 = 2;
/// Far more than anything takes: a game that stands still so long is not waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// # Errors
/// When options do not fit together, servers or players do not start, or no round is made any more. What is wrong with the rounds is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.game.no_push || !arguments.transactions.beside.is_empty() {
        bail!("--kill is measured on Iolite as it is: without --no-push and --beside");
    }
    if arguments.game.kill.contains(&Kill::Member) {
        bail!("game has no members: views has --kill member");
    }
    let report = system_run::block_on(measure(arguments))?;
    iolite_host::print(&report.text(arguments.json)?)?;
    Ok(if report.findings.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn measure(arguments: &Arguments) -> anyhow::Result<KillsReport> {
    let mut table = Table::start(arguments).await?;
    let window = Duration::from_secs(arguments.seconds.into());
    table.play(window).await?;
    let undisturbed = table.longest;
    let mut kills = Vec::new();
    for (number, kill) in arguments.game.kill.iter().enumerate() {
        let earlier = arguments.game.kill[..number].iter().filter(|other| *other == kill).count();
        kills.push(table.kill(*kill, earlier, window).await?);
    }
    table.end().await?;
    let near = table.cluster.near().clone();
    let client = rules::open(&[near.url], &near.token, Options::new())?;
    let chain = timeout(PATIENCE, rules::read(&client)).await.context("the rounds cannot be read")??;
    client.close().await;
    Ok(KillsReport {
        seconds: arguments.seconds,
        delay_ms: arguments.delay_ms(),
        durability: arguments.durability.name(),
        undisturbed,
        kills,
        rounds: chain.rounds.len() as u64,
        findings: chain::check(&table.told, &chain),
    })
}

/// What one player was told is with the others, at whichever gateway, long before this.
const PUSHED_WITHIN: Duration = Duration::from_secs(3);

/// The cluster, the players, and what was heard of them.
struct Table {
    // Players end before their servers.
    seats: Vec<Seat>,
    cluster: FrontCluster,
    heard: UnboundedReceiver<Heard>,
    told: Told,
    /// When the last round was made,
    last: Instant,
    /// and the longest time without one, since a moment that the caller chose.
    longest: Duration,
    /// Who called a round that is not known to be made.
    calls: Option<String>,
    ended: usize,
}

impl Table {
    async fn start(arguments: &Arguments) -> anyhow::Result<Table> {
        let (durability, delay) = (arguments.durability, delay(arguments));
        let setup = FrontSetup { durability, delay, replicas: 3, without: WithoutWord::Nothing, second_shard: None };
        let cluster = FrontCluster::with_gateways(setup, GATEWAYS).await?;
        let urls: Vec<String> = cluster.addresses().iter().map(|address| address.url.clone()).collect();
        let token = cluster.address().token.clone();
        let (telling, heard) = unbounded_channel();
        let seat = |player| anyhow::Ok(Seat::new(player, cluster.folder(player)?, &urls, &token, telling.clone()));
        let mut seats = PLAYERS.iter().map(|player| seat(*player)).collect::<anyhow::Result<Vec<_>>>()?;
        seats.iter_mut().try_for_each(Seat::start)?;
        let (last, longest) = (Instant::now(), Duration::ZERO);
        let (told, calls, ended) = (Told::default(), None, 0);
        let mut table = Table { seats, cluster, heard, told, last, longest, calls, ended };
        table.hear_until("the players do not come to the game", |table| table.told.made.len() >= PLAYERS.len()).await?;
        table.longest = Duration::ZERO;
        Ok(table)
    }

    /// Kills one, and plays for so long, half of it without what was killed.
    async fn kill(&mut self, kill: Kill, earlier: usize, window: Duration) -> anyhow::Result<AfterKill> {
        let before = self.told.made.len();
        self.longest = Duration::ZERO;
        let victim = match kill {
            Kill::Gateway => self.kill_node(|role| matches!(role, NodeRole::Gateway(_)), earlier, window).await?,
            Kill::Replica => self.kill_node(|role| matches!(role, NodeRole::Store(_)), earlier, window).await?,
            Kill::Client => self.kill_player(earlier, window).await?,
            Kill::ClientCutOff => self.kill_player_cut_off(earlier, window).await?,
            Kill::Member => unreachable!("it was refused before the game began"),
        };
        let rounds = (self.told.made.len() - before) as u64;
        Ok(AfterKill { victim, pause: self.longest, rounds })
    }

    async fn kill_node(
        &mut self,
        is_meant: fn(&NodeRole) -> bool,
        earlier: usize,
        window: Duration,
    ) -> anyhow::Result<String> {
        let roles: Vec<NodeRole> = self.cluster.roles().filter(is_meant).collect();
        let role = roles[earlier % roles.len()];
        self.cluster.kill(role)?;
        self.play(window / 2).await?;
        self.hear_more(&format!("no round is made without {role}")).await?;
        self.cluster.bring_back(&[role]).await?;
        self.play(window / 2).await?;
        self.hear_more(&format!("no round is made after {role} is back")).await?;
        Ok(role.to_string())
    }

    /// In the middle of a round of its own, of which it does not know the end: it may be made already, or not have been sent.
    async fn kill_player(&mut self, earlier: usize, window: Duration) -> anyhow::Result<String> {
        let place = earlier % PLAYERS.len();
        let player = PLAYERS[place];
        self.hear_until(&format!("{player} calls no round"), |table| table.calls.as_deref() == Some(player)).await?;
        self.seats[place].kill()?;
        self.seats[place].start()?;
        self.play(window).await?;
        self.hear_more(&format!("no round is made after {player} was killed")).await?;
        Ok(player.to_owned())
    }

    /// It hears that it is its turn, and stores its round, when no gateway is there to take it: only its disk has it.
    async fn kill_player_cut_off(&mut self, earlier: usize, window: Duration) -> anyhow::Result<String> {
        let place = earlier % PLAYERS.len();
        let [player, before, after] = [0, PLAYERS.len() - 1, 1].map(|step| PLAYERS[(place + step) % PLAYERS.len()]);
        let calls = |whose: &'static str| move |table: &Table| table.calls.as_deref() == Some(whose);
        self.hear_until(&format!("{after} calls no round"), calls(after)).await?;
        self.seats[place].signal(Signal::STOP)?;
        self.hear_until(&format!("{before} calls no round"), calls(before)).await?;
        self.hear_until(&format!("{before} makes no round"), |table| table.calls.is_none()).await?;
        self.play(PUSHED_WITHIN).await?;
        let gateways: Vec<NodeRole> =
            self.cluster.roles().filter(|role| matches!(role, NodeRole::Gateway(_))).collect();
        // The pause before was made here.
        (self.last, self.longest) = (Instant::now(), Duration::ZERO);
        gateways.iter().try_for_each(|role| self.cluster.kill(*role))?;
        self.seats[place].signal(Signal::CONT)?;
        self.hear_until(&format!("{player} calls no round"), calls(player)).await?;
        self.seats[place].kill()?;
        self.cluster.bring_back(&gateways).await?;
        self.seats[place].start()?;
        self.play(window).await?;
        self.hear_more(&format!("no round is made after {player} was killed with all gateways")).await?;
        Ok(format!("{player} and all gateways"))
    }

    /// Lets them play for so long.
    async fn play(&mut self, time: Duration) -> anyhow::Result<()> {
        let end = Instant::now() + time;
        while let Ok(heard) = tokio::time::timeout_at(end.into(), self.heard.recv()).await {
            self.take(heard.context("players tell as long as this listens")?);
        }
        self.longest = self.longest.max(self.last.elapsed());
        Ok(())
    }

    /// Every player makes rounds still.
    async fn hear_more(&mut self, otherwise: &str) -> anyhow::Result<()> {
        let enough = self.told.made.len() + 2 * PLAYERS.len();
        self.hear_until(otherwise, |table| table.told.made.len() >= enough).await
    }

    async fn hear_until(&mut self, otherwise: &str, is_so: impl Fn(&Table) -> bool) -> anyhow::Result<()> {
        let end = Instant::now() + PATIENCE;
        while !is_so(self) {
            let heard = tokio::time::timeout_at(end.into(), self.heard.recv()).await;
            self.take(
                heard
                    .with_context(|| format!("{otherwise} within {PATIENCE:?}"))?
                    .context("players tell as long as this listens")?,
            );
        }
        Ok(())
    }

    fn take(&mut self, heard: Heard) {
        match heard.told {
            FromSurvivor::Stored(name) => {
                self.calls = Some(chain::player_of(&name).to_owned());
                self.told.stored.insert(name);
            }
            FromSurvivor::Refused(name) => drop(self.told.refused.insert(name)),
            // Who was killed before it had stored the end of a round is told of it once more.
            FromSurvivor::Made(name) => {
                self.calls = None;
                if self.told.made.insert(name) {
                    self.longest = self.longest.max(heard.at.saturating_duration_since(self.last));
                    self.last = heard.at;
                }
            }
            FromSurvivor::Ended => self.ended += 1,
        }
    }

    /// Every player ends what it began.
    async fn end(&mut self) -> anyhow::Result<()> {
        self.seats.iter_mut().try_for_each(|seat| seat.tell(ToSurvivor::End))?;
        self.hear_until("a round that was called does not come to its end", |table| table.ended == PLAYERS.len()).await
    }
}
