//! The 100 game while what it runs on is killed in turn.

use std::time::Duration;

use iolite_simulation::play;

/// The simulation's time, which passes as the seed says.
const AIM: Duration = Duration::from_secs(3);

#[test]
fn rounds_go_on_while_a_gateway_a_replica_and_a_client_are_killed_in_turn_and_each_is_played_once() {
    for seed in 1..=3 {
        let game = play(seed, 6).unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        assert!(game.rounds > 60 && game.sum >= game.rounds, "seed {seed}: {game:?}");
        assert!(game.pauses.iter().all(|(_, pause)| *pause < AIM), "seed {seed}: {game:?}");
    }
}
