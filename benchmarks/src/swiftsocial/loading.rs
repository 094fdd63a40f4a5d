//! Makes the people before a run, next to the server.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::bail;
use iolite::{Options, View};

use super::network::{Network, User};
use super::person::settle;
use super::tables::{PersonRow, connect, register};
use crate::child::Address;

/// People of one transaction: each has a row and about 25 members of sets.
const AT_ONCE: u32 = 50;
/// Transactions that are on their way at once.
const WINDOW: usize = 4;
/// Rows stay in the loader's cache no longer than it needs them.
const CACHE_BYTES: usize = 8 << 20;
/// Until somebody who is in one data centre is in another.
const COME_WITHIN: Duration = Duration::from_secs(60);

/// # Errors
/// When a transaction ends without effect.
pub async fn fill(near: &Address, network: &Network) -> anyhow::Result<()> {
    let client = connect(near, Options::new().cache_bytes_max(CACHE_BYTES)).await?;
    let mut pending = VecDeque::new();
    for from in (0..network.users).step_by(AT_ONCE as usize) {
        let (client, network) = (client.clone(), *network);
        let users = from..network.users.min(from + AT_ONCE);
        let made = async move { client.transact(move |tx| register(tx, &network, users.clone())).await };
        pending.push_back(tokio::spawn(made));
        if pending.len() >= WINDOW
            && let Some(first) = pending.pop_front()
        {
            first.await??;
        }
    }
    for rest in pending {
        rest.await??;
    }
    settle(&client).await?;
    client.close().await;
    Ok(())
}

/// Waits until a data centre that was not filled itself has all people.
///
/// # Errors
/// When they do not come.
pub async fn wait_for_all(near: &Address, network: &Network) -> anyhow::Result<()> {
    let client = connect(near, Options::new().cache_bytes_max(CACHE_BYTES)).await?;
    // Those of one transaction come together.
    for first in (0..network.users).step_by(AT_ONCE as usize).map(User) {
        let begun = Instant::now();
        let name = first.name();
        let mut followed = client.react(View::Confirmed, move |tx| Ok(tx.get::<PersonRow>(&name)?.is_some()));
        while !*tokio::time::timeout(COME_WITHIN, followed.next()).await?? {
            if begun.elapsed() > COME_WITHIN {
                bail!("{} does not come to a data centre", first.name());
            }
        }
    }
    client.close().await;
    Ok(())
}
