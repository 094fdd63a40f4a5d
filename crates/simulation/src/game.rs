//! The 100 game (examples/hundred-game) without an end, while what it runs on is killed: a gateway, a replica, a client, in turn.
//!
//! Players are at any of three gateways, before a shard of three replicas; one more client looks on. Whoever made the last move may be the one who is killed.
//! Beside what every run is checked for, every round is played once, and the sum is that of the moves.

use std::time::Duration;

use crate::broken::Broken;
use crate::checker::{Invariant, Violation};
use crate::history::{ClientIndex, Moment};
use crate::needs::Needs;
use crate::run::{catching, live};
use crate::world::{Score, Victim, World};

const SECOND: Moment = 1_000_000_000;
/// Between two kills. What was killed is back before the next one.
const KILL_EVERY: Moment = 5 * SECOND;
const DOWN_MS: u64 = 4_000;
/// Who looks on.
const ONLOOKER: ClientIndex = ClientIndex(2);

/// A game that was played.
#[derive(Clone, Debug)]
pub struct Game {
    pub rounds: i64,
    pub sum: i64,
    /// The longest time in which the onlooker saw no new round, after each kill.
    pub pauses: Vec<(Victim, Duration)>,
}

/// Plays while this many are killed.
///
/// # Errors
/// [`Violation`], of any invariant that every run has, or of the game's rules.
pub fn play(seed: u64, kills: usize) -> Result<Game, Violation> {
    catching(|| play_whole(seed, kills))
}

fn play_whole(seed: u64, kills: usize) -> Result<Game, Violation> {
    let mut world = World::new(seed, Broken::Nothing, Needs::Game);
    world.watch_game();
    let mut pauses = Vec::new();
    play_for(&mut world, KILL_EVERY);
    for kill in 0..kills {
        let player = ClientIndex(kill / 3 % 2);
        let victim = match kill % 3 {
            0 => Victim::GatewayOf(player),
            1 => Victim::Replica(kill / 3 % 3),
            _ => Victim::Client(player),
        };
        world.kill(victim, DOWN_MS);
        pauses.push((victim, play_for(&mut world, KILL_EVERY)));
    }
    world.end_game();
    live(&mut world)?;
    let Score { rounds, sum } = world.score_at(ONLOOKER).unwrap_or_default();
    let moves = world.moves();
    let is_once = moves.iter().map(|(round, _)| *round).eq(0..rounds);
    if !is_once || moves.iter().map(|(_, amount)| amount).sum::<i64>() != sum {
        let told = format!("{rounds} rounds with the sum {sum} were seen of {moves:?}");
        return Err(Violation::new(Invariant::LastState, told));
    }
    Ok(Game { rounds, sum, pauses })
}

/// The longest time without a new round, that at the end included.
fn play_for(world: &mut World, time: Moment) -> Duration {
    let end = world.moment() + time;
    let (mut score, mut since, mut longest) = (world.score_at(ONLOOKER), world.moment(), 0);
    while world.moment() < end && world.step() {
        longest = longest.max(world.moment() - since);
        let now = world.score_at(ONLOOKER);
        if now > score {
            (score, since) = (now, world.moment());
        }
    }
    Duration::from_nanos(longest)
}
