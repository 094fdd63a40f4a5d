//! The people, their names, and their friends.
//!
//! Invariant: the friends of a person are different people, drawn uniformly and the same in every run.

use std::collections::BTreeSet;

use crate::draws::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct User(pub u32);

#[derive(Clone, Copy, Debug)]
pub struct Network {
    pub users: u32,
    pub friends: u32,
    pub seed: u64,
}

/// The stream of chance of the first person's friends, after those of clients.
const STREAMS: u64 = 1 << 32;

impl User {
    /// The key of the person's row.
    pub fn name(self) -> String {
        format!("user-{}", self.0)
    }
}

impl Network {
    pub fn all(&self) -> impl Iterator<Item = User> + use<> {
        (0..self.users).map(User)
    }

    /// The people whom a person knows: friends, and those who asked to become one.
    pub fn known(&self, user: User) -> Vec<User> {
        let mut random = Random::of(self.seed, STREAMS + u64::from(user.0));
        let mut known = BTreeSet::new();
        while known.len() < self.friends as usize {
            let other = User(random.below(u64::from(self.users)) as u32);
            if other != user {
                known.insert(other);
            }
        }
        known.into_iter().collect()
    }

    /// The friends at the beginning: every other one of those who are known.
    pub fn first_friends(&self, user: User) -> BTreeSet<String> {
        self.known(user).into_iter().step_by(2).map(User::name).collect()
    }

    /// The requests at the beginning: all others who are known.
    pub fn first_requests(&self, user: User) -> BTreeSet<String> {
        self.known(user).into_iter().skip(1).step_by(2).map(User::name).collect()
    }

    /// The person whom a client plays. Clients play different ones.
    pub fn played_by(&self, client: u32, clients: u32) -> User {
        User((u64::from(client) * u64::from(self.users) / u64::from(clients)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_knows_so_many_others_and_the_same_ones_again() {
        let network = Network { users: 8, friends: 7, seed: 1 };
        for user in network.all() {
            let known = network.known(user);
            assert_eq!((known.len(), known.contains(&user)), (7, false));
            let (friends, requests) = (network.first_friends(user), network.first_requests(user));
            assert_eq!((friends.len(), requests.len()), (4, 3));
            assert!(friends.is_disjoint(&requests));
        }
        let large = Network { users: 1_000, friends: 25, seed: 1 };
        assert_eq!(large.known(User(5)), large.known(User(5)));
        assert_ne!(large.known(User(5)), large.known(User(6)));
    }

    #[test]
    fn clients_play_different_people() {
        let network = Network { users: 10, friends: 2, seed: 1 };
        let played: BTreeSet<_> = (0..10).map(|client| network.played_by(client, 10)).collect();
        assert_eq!(played.len(), 10);
    }
}
