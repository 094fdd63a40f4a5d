//! Makes the people before a run, next to the server.

use std::collections::VecDeque;

use iolite::Options;

use super::network::Network;
use super::person::settle;
use super::tables::{connect, register};
use crate::child::Address;

/// People of one transaction: each has a row and about 25 members of sets.
const AT_ONCE: u32 = 50;
/// Transactions that are on their way at once.
const WINDOW: usize = 4;
/// Rows stay in the loader's cache no longer than it needs them.
const CACHE_BYTES: usize = 8 << 20;

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
