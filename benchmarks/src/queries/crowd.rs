//! Others who watch the same table, each by a query of its own that no row answers: the same condition, on the column that changes, with another constant.

use iolite::{Client, Options, Reaction, View};

use super::table::{Item, connect};
use crate::child::Address;

/// Queries of one session. It may have more interests, but one that waits for so many answers is enough.
const OF_A_SESSION: u32 = 2_000;

/// They are there as long as this is.
pub struct Crowd(Vec<(Client, Vec<Reaction<usize>>)>);

impl Crowd {
    /// Comes when all are answered.
    ///
    /// # Errors
    /// When the server does not let a session in, or declines a query.
    pub async fn gather(at: &Address, queries: u32) -> anyhow::Result<Crowd> {
        let mut all = Vec::new();
        for first in (0..queries).step_by(OF_A_SESSION as usize) {
            let client = connect(at, Options::new()).await?;
            let numbers = first..queries.min(first + OF_A_SESSION);
            let mut reactions: Vec<Reaction<usize>> = numbers.map(|number| watch(&client, number)).collect();
            for reaction in &mut reactions {
                reaction.next().await?;
            }
            all.push((client, reactions));
        }
        Ok(Crowd(all))
    }

    pub async fn leave(self) {
        for (client, reactions) in self.0 {
            drop(reactions);
            client.close().await;
        }
    }
}

fn watch(client: &Client, number: u32) -> Reaction<usize> {
    let label = format!("of watcher {number}");
    client.react(View::Confirmed, move |tx| Ok(tx.query::<Item>().filter(Item::LABEL.eq(label.clone())).all()?.len()))
}
