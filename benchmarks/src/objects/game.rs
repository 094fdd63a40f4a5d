//! A word game of two players, whose one object is in the cloud or at the device of a player: `iolite bench object-game --delay-ms 20`.
//!
//! The methods are those of the paper's game: three that read, and two that write. Both players are far from the server.
//! Source: Sapphire (Zhang 2017, 2.7.4, "Peer-to-Peer Deployments"), the first two groups of Figure 2.9.

use std::fmt::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use iolite::objects::{CallError, Host, Methods, Ref, sapphire};
use serde_json::json;

use super::far::Far;
use super::side::nanos_since;
use crate::arguments::{AppWorkload, Arguments};
use crate::cells::Cells;
use crate::latency::Latencies;

/// Letters of a round.
const LETTERS: usize = 12;
const ALPHABET: &[u8; 26] = b"eariotnslcudpmhgbfywkvxzjq";
const OBJECT: &str = "duel";
/// The first player has the object after so many calls in a row, or it does not come.
const CALLS_UNTIL_IT_COMES: u32 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    ScrambleLetters,
    PlayerTurn,
    LastRoundStats,
    Play,
    Pass,
}

/// A class of the game, under other managers.
trait Game: Methods + Default {
    fn call(game: &Ref<Self>, method: Method, player: u8) -> impl Future<Output = Result<(), CallError>>;
}

macro_rules! game {
    ($class:ident, $name:tt, $devices:tt, $($managers:tt)*) => {
        #[sapphire(name = $name, managers = $($managers)*, devices = $devices)]
        #[derive(Default)]
        struct $class {
            round: u64,
            turn: u8,
            scores: [u64; 2],
            last: Option<(u8, String)>,
        }

        #[sapphire::methods]
        impl $class {
            #[read]
            fn scramble_letters(&self) -> String {
                letters(self.round)
            }

            #[read]
            fn player_turn(&self) -> u8 {
                self.turn
            }

            #[read]
            fn last_round_stats(&self) -> (u64, [u64; 2], Option<(u8, String)>) {
                (self.round, self.scores, self.last.clone())
            }

            fn play(&mut self, player: u8, word: String) -> bool {
                let is_made = word.bytes().all(|letter| letters(self.round).as_bytes().contains(&letter));
                if player != self.turn || !is_made {
                    return false;
                }
                self.scores[usize::from(player)] += word.len() as u64;
                self.last = Some((player, word));
                self.next()
            }

            fn pass(&mut self, player: u8) -> bool {
                player == self.turn && self.next()
            }
        }

        impl $class {
            fn next(&mut self) -> bool {
                (self.round, self.turn) = (self.round + 1, 1 - self.turn);
                true
            }
        }

        impl Game for $class {
            async fn call(game: &Ref<$class>, method: Method, player: u8) -> Result<(), CallError> {
                match method {
                    Method::ScrambleLetters => game.scramble_letters().await.map(drop),
                    Method::PlayerTurn => game.player_turn().await.map(drop),
                    Method::LastRoundStats => game.last_round_stats().await.map(drop),
                    // An empty word can be made of any letters.
                    Method::Play => taken(game.play(player, String::new()).await?),
                    Method::Pass => taken(game.pass(player).await?),
                }
            }
        }
    };
}

game!(InCloud, "GameInCloud", "call", []);
game!(OnDevice, "GameOnDevice", "hold", [KeepOnDevice]);

fn letters(round: u64) -> String {
    let mut drawn = round.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let letter = |_| {
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(ALPHABET[(drawn >> 33) as usize % ALPHABET.len()])
    };
    (0..LETTERS).map(letter).collect()
}

fn taken(is_taken: bool) -> Result<(), CallError> {
    let out_of_turn = || CallError::Broke { how: "a move was out of turn".to_owned() };
    is_taken.then_some(()).ok_or_else(out_of_turn)
}

struct Arm<T: Game> {
    name: &'static str,
    players: [Ref<T>; 2],
    /// By player and method.
    latencies: [Vec<Latencies>; 2],
    rounds: u64,
    /// From the first call of the first player until a call ran at its device.
    comes_ms: Option<f64>,
}

/// # Errors
/// When a host does not start, or a call fails. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (delay_ms, seconds) = (arguments.delay_ms(), Duration::from_secs(arguments.seconds.into()));
    let settings = json!({"seconds": arguments.seconds, "delay_ms": delay_ms});
    let mut cells = Cells::new(&AppWorkload::ObjectGame.name(), settings);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let delay = Duration::from_millis(delay_ms.into());
    let (cloud, device) = runtime.block_on(measure(delay, seconds))?;
    let mut table = format!("{:<14} {:<18} {:>13} {:>13}\n", "", "", "first p50 ms", "second p50 ms");
    let cloud = cloud.report(&mut cells, &mut table);
    let device = device.report(&mut cells, &mut table);
    for (index, method) in Method::ALL.into_iter().enumerate() {
        for (player, who) in ["first", "second"].into_iter().enumerate() {
            let name = format!("{} of the {who} player: KeepOnDevice, of none", method.name());
            cells.ratio(&name, device[player][index], cloud[player][index]);
        }
    }
    cells.print_table(&table, arguments.json)
}

async fn measure(delay: Duration, seconds: Duration) -> anyhow::Result<(Arm<InCloud>, Arm<OnDevice>)> {
    let server = Host::embedded().class::<InCloud>().class::<OnDevice>().start().await?;
    let mut far = Far::new(&server, delay)?;
    let first = far.connect().await?.class::<InCloud>().class::<OnDevice>().start().await?;
    let second = far.connect().await?.class::<InCloud>().class::<OnDevice>().start().await?;
    let mut cloud = Arm::<InCloud>::new("none", &server, [&first, &second]).await?;
    let mut device = Arm::<OnDevice>::new("KeepOnDevice", &server, [&first, &second]).await?;
    device.come(delay).await?;
    let begun = Instant::now();
    while begun.elapsed() < seconds {
        cloud.round().await?;
        device.round().await?;
    }
    Ok((cloud, device))
}

impl<T: Game> Arm<T> {
    async fn new(name: &'static str, server: &Host, hosts: [&Host; 2]) -> anyhow::Result<Arm<T>> {
        server.create(OBJECT, T::default()).await?;
        let find = async |host: &Host| host.find(OBJECT).await?.context("a player does not find the game");
        let players = [find(hosts[0]).await?, find(hosts[1]).await?];
        let latencies = [(); 2].map(|()| vec![Latencies::default(); Method::ALL.len()]);
        Ok(Arm { name, players, latencies, rounds: 0, comes_ms: None })
    }

    /// The first player calls until the object is at its device: until a call takes less than the link alone does.
    async fn come(&mut self, delay: Duration) -> anyhow::Result<()> {
        let begun = Instant::now();
        for _ in 0..CALLS_UNTIL_IT_COMES {
            let called = Instant::now();
            T::call(&self.players[0], Method::PlayerTurn, 0).await?;
            if called.elapsed() < delay / 2 {
                self.comes_ms = Some(begun.elapsed().as_secs_f64() * 1000.0);
                return Ok(());
            }
        }
        ensure!(delay.is_zero(), "the game has not come to the device that plays it");
        Ok(())
    }

    /// Each method once by each player, in turn. So nobody calls several times in a row, and the object stays where it is.
    async fn round(&mut self) -> anyhow::Result<()> {
        for (index, method) in Method::ALL.into_iter().enumerate() {
            for player in 0..2_u8 {
                let place = usize::from(player);
                let called = Instant::now();
                T::call(&self.players[place], method, player).await?;
                self.latencies[place][index].record(nanos_since(called));
            }
        }
        self.rounds += 1;
        Ok(())
    }

    /// The medians of each player and method.
    fn report(&self, cells: &mut Cells, table: &mut String) -> [Vec<f64>; 2] {
        let mut medians = [(); 2].map(|()| Vec::new());
        for (index, method) in Method::ALL.into_iter().enumerate() {
            let latencies = self.latencies.each_ref().map(|of| of[index].percentiles());
            for (player, latency) in ["first", "second"].into_iter().zip(latencies) {
                cells.push(json!({
                    "managers": self.name, "method": method.name(), "player": player, "calls": self.rounds, "latency_ms": latency,
                    "comes_ms": self.comes_ms,
                }));
            }
            let [first, second] = latencies.map(|latency| latency.p50);
            let _ = writeln!(table, "{:<14} {:<18} {first:>13.3} {second:>13.3}", self.name, method.name());
            medians[0].push(first);
            medians[1].push(second);
        }
        if self.rounds == 0 {
            cells.fault(format!("{}: no round was played", self.name));
        }
        medians
    }
}

impl Method {
    const ALL: [Method; 5] =
        [Method::ScrambleLetters, Method::PlayerTurn, Method::LastRoundStats, Method::Play, Method::Pass];

    /// As the paper has it.
    fn name(self) -> &'static str {
        match self {
            Method::ScrambleLetters => "getScrambleLetters",
            Method::PlayerTurn => "getPlayerTurn",
            Method::LastRoundStats => "getLastRoundStats",
            Method::Play => "play",
            Method::Pass => "pass",
        }
    }
}
