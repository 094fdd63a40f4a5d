//! Bytes of an update: on its client's link, between data centres, and in the journals of stores.
//!
//! Invariant: as many updates, as many of them at once, whatever the numbers of clients and data centres are. So only metadata can make a difference.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use iolite::{Client, Options, Reaction, View};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::group::{Bytes, Group};
use super::network::{Network, User};
use super::tables::{Status, connect, page};
use crate::cells::Cells;

/// A client that changes its own status, and its page, which it holds.
struct Writer {
    client: Client,
    user: User,
    _page: Reaction<usize>,
    /// One call after the other: each has the frames of its time for itself.
    calls: Mutex<()>,
}

/// Bytes on a client's link from a call until it is confirmed.
struct Spent {
    up: u64,
    down: u64,
}

/// Updates of one cell, for each second that was asked for.
const UPDATES_A_SECOND: u32 = 200;
/// Updates that are on their way at once.
const AT_ONCE: usize = 10;
/// Clients that come at the same time.
const ARRIVE_TOGETHER: usize = 16;
/// Until data centres have taken what is confirmed, and told so.
const CALM: Duration = Duration::from_secs(1);

/// Measures one cell: clients that come to the data centres in turn, and write in turn.
///
/// # Errors
/// When a client is refused, or an update ends without effect.
pub async fn measure(group: &Group, network: &Network, clients: u32, seconds: u32) -> anyhow::Result<Value> {
    let updates = UPDATES_A_SECOND * seconds;
    let nears: Vec<_> = group.nears().collect();
    let coming = stream::iter(0..clients).map(|number| {
        let near = nears[number as usize % nears.len()];
        async move { Writer::arrive(near, network.played_by(number, clients)).await }
    });
    let writers: Vec<Writer> = coming.buffered(ARRIVE_TOGETHER).try_collect().await?;
    // A client's first update has more to say than those that follow.
    let first = stream::iter(&writers).map(|writer| writer.write(0));
    first.buffer_unordered(AT_ONCE).try_for_each(|_| async { Ok(()) }).await?;
    tokio::time::sleep(CALM).await;
    let before = group.bytes()?;
    let writing = stream::iter(0..updates).map(|number| writers[(number % clients) as usize].write(number));
    let spent: Vec<Spent> = writing.buffer_unordered(AT_ONCE).try_collect().await?;
    tokio::time::sleep(CALM).await;
    let after = group.bytes()?;
    let each = |bytes: u64| bytes as f64 / f64::from(updates);
    let centres = nears.len() as f64;
    Ok(json!({
        "of": "metadata", "centres": nears.len(), "clients": clients, "updates": updates,
        "client_bytes_up": each(spent.iter().map(|spent| spent.up).sum()),
        "client_bytes_down": each(spent.iter().map(|spent| spent.down).sum()),
        "bytes_to_each_centre": each(after.between - before.between) / centres,
        "journaled_bytes_of_each_centre": each(after.journaled - before.journaled) / centres,
    }))
}

/// Bytes with the most clients, of those with the fewest, of one number of data centres.
pub fn ratios(cells: &mut Cells, measured: &[Value]) {
    let [first, .., last] = measured else { return };
    let names = ["client_bytes_up", "client_bytes_down", "bytes_to_each_centre", "journaled_bytes_of_each_centre"];
    for name in names {
        let of = |cell: &Value| cell[name].as_f64().unwrap_or_default();
        let told = format!("{name}, {} centres, {} clients of {}", first["centres"], last["clients"], first["clients"]);
        cells.ratio(&told, of(last), of(first));
    }
}

impl Writer {
    async fn arrive(near: &crate::child::Address, user: User) -> anyhow::Result<Writer> {
        let client = connect(near, Options::new().user(user.name())).await?;
        let name = user.name();
        let mut held = client.react(View::Confirmed, move |tx| page(tx, &name).map(|page| page.rows()));
        held.next().await?;
        Ok(Writer { client, user, _page: held, calls: Mutex::new(()) })
    }

    async fn write(&self, number: u32) -> anyhow::Result<Spent> {
        let _alone = self.calls.lock().await;
        // All texts are equally long.
        let status = Status { by: self.user.name(), text: format!("status {number:08}") };
        let before = self.client.traffic();
        self.client.mutate("status", &status)?.confirmed().await?;
        let after = self.client.traffic();
        Ok(Spent { up: after.bytes_up - before.bytes_up, down: after.bytes_down - before.bytes_down })
    }
}

impl Bytes {
    /// Adds what a process tells of itself. Links between data centres have the peer's name, which begins with `centre-`.
    pub fn add(&mut self, metrics: &str) {
        let sum = |name: &str| -> u64 {
            let lines =
                metrics.lines().filter_map(|line| line.strip_prefix(name)?.rsplit(' ').next()?.parse::<f64>().ok());
            lines.sum::<f64>() as u64
        };
        self.between += sum("iolite_link_sent_bytes_total{peer=\"centre-");
        self.journaled += sum("iolite_replica_journaled_bytes_total");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_between_data_centres_are_told_from_those_within_one() {
        let mut bytes = Bytes::default();
        bytes.add(
            "iolite_link_sent_bytes_total{peer=\"centre-b\"} 10\niolite_link_sent_bytes_total{peer=\"centre-c\"} 5\n\
             iolite_link_sent_bytes_total{peer=\"shard-0/replica-0\"} 100\niolite_link_received_bytes_total{peer=\"centre-b\"} 7\n",
        );
        bytes.add("# HELP iolite_replica_journaled_bytes_total Bytes\niolite_replica_journaled_bytes_total 3\n");
        assert_eq!(bytes, Bytes { between: 15, journaled: 3 });
    }
}
