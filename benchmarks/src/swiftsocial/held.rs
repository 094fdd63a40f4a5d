//! The pages that a client keeps current, so that reading them waits for nothing.
//!
//! Invariant: together they have so many rows at most, but for what comes between two looks; the user's own page goes last.

use iolite::{Client, Reaction, View};

use super::network::User;
use super::tables::page;

pub struct Held {
    pages: Vec<(User, Reaction<usize>)>,
    rows_max: usize,
}

impl Held {
    /// Fetches the pages of these people, as many as there is room for.
    ///
    /// # Errors
    /// When a page cannot be read.
    pub async fn fetch(client: &Client, people: &[User], rows_max: usize) -> anyhow::Result<Held> {
        let follow = |user: User| {
            let name = user.name();
            client.react(View::Confirmed, move |tx| page(tx, &name).map(|page| page.rows()))
        };
        // All are asked for before the first is there.
        let mut pages: Vec<_> = people.iter().take(rows_max).map(|user| (*user, follow(*user))).collect();
        for (_, followed) in &mut pages {
            followed.next().await?;
        }
        let mut held = Held { pages, rows_max };
        held.keep_within();
        Ok(held)
    }

    pub fn nothing() -> Held {
        Held { pages: Vec::new(), rows_max: 0 }
    }

    /// Lets go of pages until the others have so many rows at most.
    pub fn keep_within(&mut self) {
        while self.rows() > self.rows_max && self.pages.len() > 1 {
            self.pages.pop();
        }
    }

    pub fn people(&self) -> impl Iterator<Item = User> {
        self.pages.iter().map(|(user, _)| *user)
    }

    fn rows(&self) -> usize {
        self.pages.iter().filter_map(|(_, followed)| followed.latest()).map(|rows| *rows).sum()
    }
}
