//! What clients of the Twitter clone do, as data: the same on every system.
//!
//! The paper gives the five transactions, their shares, keys and skew, and that users have 5 to 20 followers; how their tables look is ours.
//! Source: Zhang 2017, 3.5.3.

use std::sync::Arc;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::draws::{Random, Zipf};

/// One of the five transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
pub enum Kind {
    /// The newest tweets of a user's home timeline: reads only
    GetTimeline,
    /// A tweet, on the author's timeline and on all followers' home timelines
    PostTweet,
    /// A user follows another
    Follow,
    /// A new user, and one more in the count of all
    AddUser,
    /// One more like of a tweet, which the user keeps
    Like,
}

/// One transaction, with all that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    GetTimeline { user: u32 },
    PostTweet { user: u32, text: String },
    Follow { user: u32, follower: u32 },
    AddUser { name: String },
    Like { user: u32, tweet: u32 },
}

/// The plans of one client, one after the other.
#[derive(Debug)]
pub struct Plans {
    zipf: Arc<Zipf>,
    random: Random,
    only: Option<Kind>,
    client: u32,
    users_made: u32,
}

impl Kind {
    /// In percent, of the mix.
    pub const SHARES: [(Kind, u64); 5] =
        [(Kind::GetTimeline, 50), (Kind::PostTweet, 20), (Kind::Follow, 5), (Kind::AddUser, 1), (Kind::Like, 24)];

    /// Tweets that are read of a home timeline.
    pub const SHOWN: usize = 10;

    pub fn name(self) -> String {
        crate::arguments::name_of(&self)
    }
}

/// Who may follow a user; who does from the beginning are the first of them.
const FOLLOWERS_AT_LEAST: u64 = 5;
const FOLLOWERS_AT_MOST: u64 = 20;
/// Of a tweet.
const TEXT_BYTES: usize = 64;

/// Everybody who may ever follow a user: 20 others, so that posting costs the same in the end as in the beginning.
pub fn candidates(user: u32, users: u32, seed: u64) -> impl Iterator<Item = u32> {
    let mut random = Random::of(seed ^ 0xf0110, u64::from(user));
    (0..FOLLOWERS_AT_MOST).map(move |_| random.below(u64::from(users)) as u32)
}

/// Who follows a user at first.
pub fn first_followers(user: u32, users: u32, seed: u64) -> Vec<u32> {
    let mut random = Random::of(seed ^ 0xf1257, u64::from(user));
    let count = FOLLOWERS_AT_LEAST + random.below(FOLLOWERS_AT_MOST - FOLLOWERS_AT_LEAST + 1);
    let mut followers: Vec<u32> = candidates(user, users, seed).take(count as usize).collect();
    followers.sort_unstable();
    followers.dedup();
    followers
}

/// What a home timeline shows at first: tweets that were there before, each by the number of its author.
pub fn first_home(user: u32, users: u32, seed: u64) -> Vec<u32> {
    let mut random = Random::of(seed ^ 0x803e, u64::from(user));
    (0..Kind::SHOWN).map(|_| random.below(u64::from(users)) as u32).collect()
}

/// Of so many bytes that it is a tweet.
pub fn text_of(words: &str) -> String {
    format!("{words:.<TEXT_BYTES$}")
}

impl Plans {
    pub fn of(zipf: Arc<Zipf>, seed: u64, client: u32, only: Option<Kind>) -> Plans {
        Plans { zipf, random: Random::of(seed, u64::from(client)), only, client, users_made: 0 }
    }

    pub fn next(&mut self, seed: u64) -> Plan {
        let kind = self.only.unwrap_or_else(|| kind(self.random.below(100)));
        let user = self.zipf.key(&mut self.random).0;
        match kind {
            Kind::GetTimeline => Plan::GetTimeline { user },
            Kind::PostTweet => {
                let words = format!("{} from client {}", self.random.bits(), self.client);
                Plan::PostTweet { user, text: text_of(&words) }
            }
            Kind::Follow => {
                let place = self.random.below(FOLLOWERS_AT_MOST) as usize;
                let mut candidates = candidates(user, self.zipf.keys() as u32, seed);
                Plan::Follow { user, follower: candidates.nth(place).expect("there are so many") }
            }
            Kind::AddUser => {
                self.users_made += 1;
                Plan::AddUser { name: format!("user {} of client {}", self.users_made, self.client) }
            }
            Kind::Like => {
                let tweet = self.zipf.key(&mut self.random).0;
                Plan::Like { user, tweet }
            }
        }
    }
}

impl Plan {
    pub fn kind(&self) -> Kind {
        match self {
            Plan::GetTimeline { .. } => Kind::GetTimeline,
            Plan::PostTweet { .. } => Kind::PostTweet,
            Plan::Follow { .. } => Kind::Follow,
            Plan::AddUser { .. } => Kind::AddUser,
            Plan::Like { .. } => Kind::Like,
        }
    }
}

/// Of a number below 100.
fn kind(drawn: u64) -> Kind {
    let mut below = 0;
    let found = Kind::SHARES.into_iter().find(|(_, share)| {
        below += share;
        drawn < below
    });
    found.expect("the shares are a hundred").0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_shares_are_the_papers() {
        let mut counts: BTreeMap<Kind, u64> = BTreeMap::new();
        (0..100).for_each(|drawn| *counts.entry(kind(drawn)).or_default() += 1);
        assert_eq!(counts, BTreeMap::from(Kind::SHARES));
    }

    #[test]
    fn a_user_has_5_to_20_followers_at_every_time() {
        let (users, seed) = (1000, 1);
        for user in 0..users {
            let followers = first_followers(user, users, seed);
            assert!((4..=20).contains(&followers.len()), "two of five may be the same: {followers:?}");
            let candidates: Vec<u32> = candidates(user, users, seed).collect();
            assert!(followers.iter().all(|follower| candidates.contains(follower)));
        }
        let mut plans = Plans::of(Arc::new(Zipf::new(users.into(), 0.8)), seed, 3, Some(Kind::Follow));
        for _ in 0..100 {
            let Plan::Follow { user, follower } = plans.next(seed) else { panic!("only this one was asked for") };
            assert!(candidates(user, users, seed).any(|candidate| candidate == follower));
        }
    }

    #[test]
    fn equal_seeds_make_equal_plans() {
        let plans = |seed| {
            let mut plans = Plans::of(Arc::new(Zipf::new(100, 0.8)), seed, 1, None);
            (0..50).map(|_| plans.next(seed)).collect::<Vec<_>>()
        };
        assert_eq!(plans(1), plans(1));
        assert_ne!(plans(1), plans(2));
    }
}
