//! All that clients called, and what every page has to show because of it.
//!
//! Invariant: a page that shows anything else at a fresh session, or at a client that holds it, is a fault. So counters are exact, and all clients converge.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use iolite::{Client, Options};

use super::network::{Network, User};
use super::person::confirmed_page;
use super::tables::{Page, Post, connect};
use crate::cells::Cells;
use crate::child::Address;

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The last one of each person: nobody else sets it.
    statuses: BTreeMap<User, String>,
    posts: Vec<(User, String, String)>,
    befriended: Vec<(User, User)>,
}

/// A client, and the people whose pages it holds.
pub type Holder = (Client, Vec<User>);

/// Until a client that holds a page shows the end of it.
const CONVERGES_WITHIN: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Faults that are told one by one.
const TOLD_MAX: usize = 5;

impl Ledger {
    pub fn status(&mut self, by: User, text: &str) {
        self.statuses.insert(by, text.to_owned());
    }

    pub fn post(&mut self, to: User, post: &Post) {
        self.posts.push((to, post.by.clone(), post.text.clone()));
    }

    pub fn befriend(&mut self, one: User, other: User) {
        self.befriended.push((one, other));
    }

    pub fn add(&mut self, other: &Ledger) {
        self.statuses.extend(other.statuses.clone());
        self.posts.extend(other.posts.iter().cloned());
        self.befriended.extend(&other.befriended);
    }

    /// The pages of all people as they have to be in the end.
    fn pages(&self, network: &Network) -> BTreeMap<User, Page> {
        let mut pages: BTreeMap<User, Page> = network.all().map(|user| (user, Page::first(network, user))).collect();
        let mut at = |user: User, change: &mut dyn FnMut(&mut Page)| pages.get_mut(&user).into_iter().for_each(change);
        for (by, text) in &self.statuses {
            at(*by, &mut |page| page.status.clone_from(text));
        }
        for (to, by, text) in &self.posts {
            at(*to, &mut |page| {
                page.wall.insert((by.clone(), text.clone()));
                page.visits += 1;
                page.messages += 1;
            });
        }
        for (one, other) in &self.befriended {
            for (own, friend) in [(*one, *other), (*other, *one)] {
                at(own, &mut |page| {
                    page.requests.remove(&friend.name());
                    page.friends.insert(friend.name());
                });
            }
        }
        pages
    }
}

/// The place of a fresh session that reads all pages at the end.
#[derive(Debug)]
pub struct FreshAt<'a> {
    pub near: &'a Address,
    /// The time that a page may take to come to the right end. None in the data centre that confirmed all.
    pub within: Duration,
}

impl<'a> FreshAt<'a> {
    /// In the only data centre.
    pub fn one(near: &'a Address) -> FreshAt<'a> {
        FreshAt { near, within: Duration::ZERO }
    }

    /// In one of several data centres.
    pub fn of_several(near: &'a Address) -> FreshAt<'a> {
        FreshAt { near, within: CONVERGES_WITHIN }
    }
}

/// Compares all pages at fresh sessions, and those that clients hold, with what was called.
///
/// # Errors
/// When a page cannot be read.
pub async fn check(
    cells: &mut Cells,
    ledger: &Ledger,
    network: &Network,
    fresh: &[FreshAt<'_>],
    holders: Vec<Holder>,
) -> anyhow::Result<()> {
    let wanted = ledger.pages(network);
    let mut wrong = Vec::new();
    for (number, FreshAt { near, within }) in fresh.iter().enumerate() {
        let session = connect(near, Options::new()).await?;
        for (user, page) in &wanted {
            if let Some(found) = other_than(&session, *user, page, *within).await? {
                let told = found.difference(page);
                wrong.push(format!("a fresh session of data centre {number} finds of {}: {told}", user.name()));
            }
        }
        session.close().await;
    }
    for (number, (client, people)) in holders.iter().enumerate() {
        for user in people {
            if let Some(found) = other_than(client, *user, &wanted[user], CONVERGES_WITHIN).await? {
                let told = found.difference(&wanted[user]);
                wrong.push(format!("client {number} holds of {}: {told}", user.name()));
            }
        }
    }
    if wrong.len() > TOLD_MAX {
        cells.fault(format!("{} pages are wrong; the first of them follow", wrong.len()));
    }
    wrong.into_iter().take(TOLD_MAX).for_each(|fault| cells.fault(fault));
    Ok(())
}

/// The page that a client shows in place of the right one, if it still does after a while.
async fn other_than(client: &Client, user: User, wanted: &Page, within: Duration) -> anyhow::Result<Option<Page>> {
    let begun = Instant::now();
    loop {
        let found = confirmed_page(client, user).await?;
        if found == *wanted {
            return Ok(None);
        }
        if begun.elapsed() > within {
            return Ok(Some(found));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_every_call_once_and_of_a_status_the_last_one() {
        let network = Network { users: 4, friends: 3, seed: 1 };
        let (ann, bob) = (User(0), User(3));
        assert!(network.first_requests(ann).contains(&User(2).name()));
        let mut ledger = Ledger::default();
        ledger.status(ann, "first");
        ledger.status(ann, "last");
        for text in ["one", "two"] {
            ledger.post(bob, &Post { by: ann.name(), to: bob.name(), text: text.to_owned() });
        }
        let mut other = Ledger::default();
        other.befriend(ann, User(2));
        other.befriend(User(2), ann);
        ledger.add(&other);
        let pages = ledger.pages(&network);
        assert_eq!(pages[&ann].status, "last");
        assert_eq!((pages[&bob].visits, pages[&bob].messages, pages[&bob].wall.len()), (2, 2, 2));
        assert!(pages[&bob].is_whole());
        assert!(pages[&ann].friends.contains("user-2") && !pages[&ann].requests.contains("user-2"));
        assert!(pages[&User(2)].friends.contains("user-0") && !pages[&User(2)].requests.contains("user-0"));
        assert_eq!(pages[&User(1)], Page::first(&network, User(1)));
    }
}
