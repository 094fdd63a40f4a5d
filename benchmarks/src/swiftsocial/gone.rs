//! Memory of data centres for clients that wrote once, were acknowledged, and went.
//!
//! Invariant: it is measured when no store keeps an outcome any more and no history of the updates is kept. A store that is idle forgets nothing, so a few
//! updates come before each look. Few clients, who stay, make as many updates first: what those take is not the clients'.

use std::time::{Duration, Instant};

use anyhow::bail;
use futures_util::{StreamExt, TryStreamExt, stream};
use iolite::{Client, Options};
use serde_json::{Value, json};

use super::group::{Group, Memory};
use super::network::{Network, User};
use super::tables::{Status, connect};
use crate::cells::Cells;
use crate::child::Address;

/// Clients that are there at the same time.
const TOGETHER: u32 = 500;
/// Clients that come at the same time, and updates that are on their way at once.
const AT_ONCE: usize = 16;
/// Clients that write in place of all the others, for comparison.
const FEW: u32 = 16;
/// Stores keep history for a minute.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(75);
/// Updates that make stores forget, and the pause after them.
const LAST_UPDATES: u32 = 400;
const LAST_PAUSE: Duration = Duration::from_secs(5);
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Measures after updates by few clients, and then after each number of clients.
///
/// # Errors
/// When a client is refused, or outcomes are kept.
pub async fn measure(cells: &mut Cells, group: &Group, network: &Network, numbers: &[u32]) -> anyhow::Result<()> {
    let [first, .., last] = numbers else { bail!("--gone has two numbers of clients and more, such as 5000,35000") };
    let updates = last.saturating_sub(*first);
    let nears: Vec<&Address> = group.nears().collect();
    // Who made the people went without acknowledging the last ones.
    let base = outcomes(group)?;
    let mut steps = vec![settled(group, network, &nears, base).await?];
    write_by_few(group, network, &nears, base, updates).await?;
    steps.push(settled(group, network, &nears, base).await?);
    push(cells, "few clients", updates, steps.last());
    let mut written = 0;
    for number in numbers {
        while written < *number {
            let next = (*number).min(written + TOGETHER);
            come_and_go(group, network, &nears, base, written..next).await?;
            written = next;
        }
        steps.push(settled(group, network, &nears, base).await?);
        push(cells, "many clients", *number, steps.last());
    }
    let [begun, few, many, .., end] = &steps[..] else { return Ok(()) };
    for (place, end) in end.iter().enumerate() {
        let mut ratio = |name: &str, bytes: u64, before: u64| {
            let told = format!("{name}, data centre {place}");
            cells.ratio(&told, bytes as f64 - before as f64, f64::from(updates));
        };
        ratio("bytes_of_a_client", end.resident(), many[place].resident());
        ratio("bytes_of_a_client_in_the_gateway", end.gateway, many[place].gateway);
        ratio("bytes_of_a_client_in_the_store", end.store, many[place].store);
        ratio("bytes_of_an_update_of_few", few[place].resident(), begun[place].resident());
    }
    Ok(())
}

/// Clients come, write once, and go when no store keeps an outcome of theirs.
async fn come_and_go(
    group: &Group,
    network: &Network,
    nears: &[&Address],
    base: f64,
    numbers: std::ops::Range<u32>,
) -> anyhow::Result<()> {
    let coming = stream::iter(numbers).map(|number| async move {
        let client = connect(nears[number as usize % nears.len()], Options::new()).await?;
        write(&client, User(number % network.users), number).await?;
        anyhow::Ok(client)
    });
    let clients: Vec<Client> = coming.buffer_unordered(AT_ONCE).try_collect().await?;
    acknowledged(group, base).await?;
    for client in clients {
        client.close().await;
    }
    Ok(())
}

async fn write_by_few(
    group: &Group,
    network: &Network,
    nears: &[&Address],
    base: f64,
    updates: u32,
) -> anyhow::Result<()> {
    let mut clients = Vec::new();
    for number in 0..FEW {
        clients.push(connect(nears[number as usize % nears.len()], Options::new()).await?);
    }
    let clients = &clients;
    let writing = stream::iter(0..updates).map(|number| async move {
        write(&clients[(number % FEW) as usize], User(number % network.users), number).await
    });
    writing.buffer_unordered(AT_ONCE).try_for_each(|()| async { Ok(()) }).await?;
    acknowledged(group, base).await
}

async fn write(client: &Client, user: User, number: u32) -> anyhow::Result<()> {
    let status = Status { by: user.name(), text: format!("status {number:08}") };
    client.mutate("status", &status)?.confirmed().await?;
    Ok(())
}

/// Outcomes that all stores keep.
fn outcomes(group: &Group) -> anyhow::Result<f64> {
    Ok(group.memory()?.iter().map(|memory| memory.outcomes).sum())
}

/// Waits until no store keeps an outcome of these clients.
async fn acknowledged(group: &Group, base: f64) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let kept = outcomes(group)?;
        if kept <= base {
            return Ok(());
        }
        if begun.elapsed() > ACKNOWLEDGED_WITHIN {
            bail!("{kept} outcomes are kept that clients have acknowledged");
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn settled(group: &Group, network: &Network, nears: &[&Address], base: f64) -> anyhow::Result<Vec<Memory>> {
    tokio::time::sleep(FORGOTTEN_AFTER).await;
    write_by_few(group, network, nears, base, LAST_UPDATES).await?;
    tokio::time::sleep(LAST_PAUSE).await;
    group.memory()
}

fn push(cells: &mut Cells, of: &str, updates: u32, memory: Option<&Vec<Memory>>) {
    let each = |memory: &Memory| {
        json!({
            "gateway_bytes": memory.gateway, "store_bytes": memory.store, "clients": memory.clients, "outcomes": memory.outcomes,
        })
    };
    let each: Vec<Value> = memory.into_iter().flatten().map(each).collect();
    cells.push(json!({"of": format!("memory, {of}"), "updates": updates, "data_centres": each}));
}
