//! Transactions and how often each comes.
//!
//! Invariant: everything but reading a stranger's page is about the user and the people whom the user knows.
//! Source: SwiftCloud (Zawirski 2013), section 6.2; the shares within reads and updates are those of the authors' `Workload.java`.

use super::network::{Network, User};
use crate::draws::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Reads the page of the user or of somebody whom the user knows.
    Page,
    /// Reads names and statuses of all friends of the user.
    Friends,
    /// Reads anybody's page.
    Stranger,
    /// Sets the user's own status.
    Status,
    /// Posts a message on the wall of somebody whom the user knows.
    Post,
    /// Makes two people friends of each other.
    Befriend,
}

/// A transaction that a person runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub kind: Kind,
    /// The person whom it is about; the user, where it is about nobody else.
    pub target: User,
}

/// Shares of all transactions, in percent.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    pub updates: u32,
    /// Updates are a part of it.
    pub locality: u32,
}

#[derive(Debug)]
pub struct Plans {
    mix: Mix,
    users: u32,
    user: User,
    known: Vec<User>,
    random: Random,
}

/// Shares of 12 updates.
const STATUSES: u64 = 5;
const POSTS: u64 = 5;
const BEFRIENDINGS: u64 = 2;
/// Shares of 88 reads.
const PAGES: u64 = 80;
const FRIENDS: u64 = 8;

impl Kind {
    pub const ALL: [Kind; 6] = [Kind::Page, Kind::Friends, Kind::Stranger, Kind::Status, Kind::Post, Kind::Befriend];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Page => "page",
            Kind::Friends => "friends",
            Kind::Stranger => "stranger",
            Kind::Status => "status",
            Kind::Post => "post",
            Kind::Befriend => "befriend",
        }
    }

    pub fn writes(self) -> bool {
        match self {
            Kind::Page | Kind::Friends | Kind::Stranger => false,
            Kind::Status | Kind::Post | Kind::Befriend => true,
        }
    }
}

impl Plans {
    pub fn of(network: &Network, mix: Mix, user: User) -> Plans {
        let random = Random::of(network.seed, u64::from(user.0));
        Plans { mix, users: network.users, user, known: network.known(user), random }
    }

    pub fn next(&mut self) -> Plan {
        let percent = self.random.below(100) as u32;
        if percent < self.mix.updates {
            self.update()
        } else if percent < self.mix.locality {
            self.read()
        } else {
            Plan { kind: Kind::Stranger, target: User(self.random.below(u64::from(self.users)) as u32) }
        }
    }

    fn update(&mut self) -> Plan {
        let drawn = self.random.below(STATUSES + POSTS + BEFRIENDINGS);
        if drawn < STATUSES {
            Plan { kind: Kind::Status, target: self.user }
        } else {
            let kind = if drawn < STATUSES + POSTS { Kind::Post } else { Kind::Befriend };
            Plan { kind, target: self.somebody_known() }
        }
    }

    fn read(&mut self) -> Plan {
        if self.random.below(PAGES + FRIENDS) < FRIENDS {
            return Plan { kind: Kind::Friends, target: self.user };
        }
        let is_own = self.random.below(self.known.len() as u64 + 1) == 0;
        Plan { kind: Kind::Page, target: if is_own { self.user } else { self.somebody_known() } }
    }

    fn somebody_known(&mut self) -> User {
        self.known[self.random.below(self.known.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_come_as_often_as_the_mix_says_and_only_strangers_are_anybody() {
        let network = Network { users: 1_000, friends: 25, seed: 3 };
        let user = User(7);
        let known = network.known(user);
        let mut plans = Plans::of(&network, Mix { updates: 10, locality: 90 }, user);
        let drawn: Vec<Plan> = (0..20_000).map(|_| plans.next()).collect();
        for plan in &drawn {
            let is_near = plan.target == user || known.contains(&plan.target);
            assert!(plan.kind == Kind::Stranger || is_near, "{plan:?}");
            assert!(plan.kind != Kind::Post || plan.target != user, "{plan:?}");
        }
        // Of 20,000, four standard deviations are below 250.
        let near = |found: usize, wanted: f64| (found as f64 - wanted).abs() < 250.0;
        let of = |kind: Kind| drawn.iter().filter(|plan| plan.kind == kind).count();
        assert!(near(drawn.iter().filter(|plan| plan.kind.writes()).count(), 2_000.0));
        assert!(near(of(Kind::Stranger), 2_000.0) && near(of(Kind::Friends), 16_000.0 / 11.0));
        assert!(near(of(Kind::Befriend), 2_000.0 / 6.0) && near(of(Kind::Status), 2_000.0 * 5.0 / 12.0));
    }
}
