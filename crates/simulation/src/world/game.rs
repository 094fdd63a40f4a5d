//! A game of players in turn, and those who kill what it runs on.

use super::{Process, World};
use crate::app::{Call, Watcher};
use crate::history::{ClientIndex, EndedAs, Moment};

const MILLISECOND: Moment = 1_000_000;

/// What can be killed under a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The gateway that a client has its link to.
    GatewayOf(ClientIndex),
    Replica(usize),
    Client(ClientIndex),
}

/// How far a game is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score {
    pub rounds: i64,
    pub sum: i64,
}

impl World {
    /// All clients see the game.
    pub fn watch_game(&mut self) {
        for node in &mut self.clients {
            node.watch(Watcher::Game, iolite_client::View::Confirmed);
        }
    }

    /// What a client has seen of the game.
    pub fn score_at(&self, client: ClientIndex) -> Option<Score> {
        let mut seen = self.clients[client.0].last_seen();
        let text = seen.find_map(|(watcher, text)| text.filter(|_| watcher == Watcher::Game))?;
        let (rounds, sum) = text.split_once(' ').expect("two numbers");
        let number = |text: &str| text.parse().expect("a number");
        Some(Score { rounds: number(rounds), sum: number(sum) })
    }

    /// The player makes its move, if it is its turn as far as it knows.
    pub(super) fn take_turn(&mut self, client: ClientIndex, players: usize) {
        let Some(Score { rounds, .. }) = self.score_at(client) else { return };
        let node = &self.clients[client.0];
        let is_next = client.0 < players && rounds as usize % players == client.0;
        if is_next && node.client.pending().next().is_none() {
            let amount = self.random.between(1, 10) as i64;
            let now = self.now_of_client(client);
            let call = Call::Move { round: rounds, amount };
            self.clients[client.0].call(now, self.moment, call, &mut self.history);
        }
    }

    /// A process is killed, without a word, and is back after a while. A client is back at once.
    pub fn kill(&mut self, victim: Victim, down_ms: u64) {
        let down = down_ms * MILLISECOND;
        match victim {
            Victim::GatewayOf(client) => {
                let front = usize::from(self.clients[client.0].client.gateway().0);
                assert!(matches!(self.fronts[front], Process::Up(_)), "nobody is at a gateway that is down");
                self.stop_front(front, down);
            }
            Victim::Replica(place) => {
                let id = *self.stores.keys().nth(place).expect("there is one");
                self.crash_replica(id, true, false, down);
            }
            Victim::Client(client) => {
                self.restart_client(client);
                self.clients[client.0].watch(Watcher::Game, iolite_client::View::Confirmed);
            }
        }
    }

    /// The rounds that took effect, each as often as it did, with what it added.
    pub fn moves(&self) -> Vec<(i64, i64)> {
        let calls = self.history.calls.values();
        let confirmed = calls.filter(|called| called.ends.values().any(|end| matches!(end.how, EndedAs::Confirmed(_))));
        let moves = confirmed.filter_map(|called| match called.call {
            Call::Move { round, amount } => Some((round, amount)),
            _ => None,
        });
        let mut moves: Vec<(i64, i64)> = moves.collect();
        moves.sort_unstable();
        moves
    }

    /// Nobody moves any more.
    pub fn end_game(&mut self) {
        self.calls_left.fill(0);
    }
}
