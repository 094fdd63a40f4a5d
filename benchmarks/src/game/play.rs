//! A player's process: it moves as soon as it is its turn, and begins another game when one has ended.

use std::time::{Duration, Instant};

use iolite_host::monotonic_nanos;

use super::check::GOAL;
use super::iolite::IoliteSeat;
use super::redis::{Moves, RedisSeat};
use super::{FromPlayer, Kept, Played, PlayerArguments, ToPlayer};
use crate::intervals::Intervals;
use crate::latency::Latencies;
use crate::part::{hear, say};

/// A game as a player sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub sum: i64,
    /// Whose turn it is.
    pub player: Option<String>,
    pub players: usize,
}

/// A player's place at a game, wherever that is kept.
pub trait Seat {
    /// Joins a game; what is seen from now on is of it.
    async fn join(&mut self, game: u32) -> anyhow::Result<()>;
    /// Waits until something is seen that was not seen before.
    async fn see(&mut self) -> anyhow::Result<Seen>;
    /// Adds one. May return before the move is known to be made.
    async fn make_move(&mut self) -> anyhow::Result<()>;
    /// Waits for every move that was made.
    async fn settle(&mut self) -> anyhow::Result<Settled>;
    /// Bytes to the server and from it, up to now.
    fn traffic(&self) -> (u64, u64);
}

/// What became of the moves of a seat.
#[derive(Debug, Default)]
pub struct Settled {
    pub repeated: u64,
    pub unknown: u64,
    pub commits: Latencies,
}

/// How long two players and their first game are waited for.
const JOINED_WITHIN: Duration = Duration::from_secs(60);
/// Rounds before those that count: links and caches are warm then.
const WARM_UP: u64 = 5;

/// Runs one player to its end.
///
/// # Errors
/// When the server or the parent does not do what it should.
pub fn run_player(arguments: &PlayerArguments) -> anyhow::Result<()> {
    // One thread: between a call and its frame there is no other to wake.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (at, me) = (&arguments.address, &arguments.name);
        match arguments.kept {
            Kept::Iolite => play(&mut IoliteSeat::connect(at, &arguments.token, me).await?, me).await,
            Kept::Redis => play(&mut RedisSeat::connect(at.parse()?, me, Moves::Watched).await?, me).await,
            Kept::RedisScript => play(&mut RedisSeat::connect(at.parse()?, me, Moves::Script).await?, me).await,
        }
    })
}

async fn play<S: Seat>(seat: &mut S, me: &str) -> anyhow::Result<()> {
    seat.join(0).await?;
    let ready = tokio::time::timeout(JOINED_WITHIN, async {
        while seat.see().await?.players < 2 {}
        anyhow::Ok(())
    });
    ready.await??;
    say(&FromPlayer::Ready)?;
    let ToPlayer::Play { seconds } = hear().await?;
    let (begun, whole) = (Instant::now(), Duration::from_secs(u64::from(seconds)));
    let end = begun + whole;
    let (up, down) = seat.traffic();
    let mut game = Game { me, played: Played { moves: vec![0], ..Played::default() }, moved: None, rounds: 0 };
    let (mut latencies, mut intervals) = (Latencies::default(), Intervals::default());
    // What was seen last may be what was waited for.
    seat.join(0).await?;
    while let Ok(seen) = tokio::time::timeout_at(end.into(), seat.see()).await {
        let before = game.moved;
        match game.step(&seen?, &mut latencies) {
            Step::Wait => {}
            Step::Move => {
                // The first move of a game has none before it.
                let nanos = before.map_or(0, |(called, _)| monotonic_nanos() - called);
                intervals.record(begun.elapsed(), whole, nanos);
                seat.make_move().await?;
            }
            Step::Join(next) => seat.join(next).await?,
        }
    }
    let settled = seat.settle().await?;
    let after = seat.traffic();
    let Game { mut played, .. } = game;
    played.rounds = latencies.counts();
    played.commits = settled.commits.counts();
    played.intervals = intervals.counts();
    (played.repeated, played.unknown) = (settled.repeated, settled.unknown);
    (played.bytes_up, played.bytes_down) = (after.0 - up, after.1 - down);
    say(&FromPlayer::Played(played))
}

/// What a player does next.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Wait,
    Move,
    Join(u32),
}

struct Game<'a> {
    me: &'a str,
    played: Played,
    /// When the last move was called, and the sum that it was called at.
    moved: Option<(u64, i64)>,
    rounds: u64,
}

impl Game<'_> {
    fn step(&mut self, seen: &Seen, latencies: &mut Latencies) -> Step {
        if seen.sum >= GOAL {
            self.moved = None;
            self.played.moves.push(0);
            return Step::Join(self.played.moves.len() as u32 - 1);
        }
        let own_turn = seen.player.as_deref() == Some(self.me) && seen.players == 2;
        if !own_turn || self.moved.is_some_and(|(_, at)| seen.sum <= at) {
            return Step::Wait;
        }
        let now = monotonic_nanos();
        if let Some((called, _)) = self.moved {
            self.rounds += 1;
            if self.rounds > WARM_UP {
                latencies.record(now - called);
            }
        }
        self.moved = Some((now, seen.sum));
        *self.played.moves.last_mut().expect("there is a first game") += 1;
        Step::Move
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(sum: i64, player: &str) -> Seen {
        Seen { sum, player: Some(player.to_owned()), players: 2 }
    }

    #[test]
    fn a_player_moves_once_a_turn_and_joins_the_next_game() {
        let mut latencies = Latencies::default();
        let mut game =
            Game { me: "ada", played: Played { moves: vec![0], ..Played::default() }, moved: None, rounds: WARM_UP };
        let mut step = |seen: &Seen| game.step(seen, &mut latencies);
        assert_eq!(step(&Seen { players: 1, ..seen(0, "ada") }), Step::Wait);
        assert_eq!(step(&seen(0, "ada")), Step::Move);
        assert_eq!(step(&seen(0, "ada")), Step::Wait, "its own move is not seen yet");
        assert_eq!(step(&seen(1, "ben")), Step::Wait);
        assert_eq!(step(&seen(2, "ada")), Step::Move);
        assert_eq!(step(&seen(GOAL, "ada")), Step::Join(1));
        assert_eq!(game.played.moves, [2, 0]);
        assert_eq!(latencies.counts().count(), 1);
    }
}
