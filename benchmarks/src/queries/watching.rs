//! Who changes rows, who watches the query, and what it takes.

use std::time::{Duration, Instant};

use anyhow::Context;
use iolite::{Client, Options, Reaction, Value, View};

use super::crowd::Crowd;
use super::table::{ANSWERS, Item, connect, fill};
use super::{Changes, Point};
use crate::accounting::{Pid, own_cpu};
use crate::latency::Latencies;
use crate::server::Server;

/// The answers, from the highest.
type Seen = Vec<(i64, String)>;

/// The row that changes, and its rank where the query has none.
const MOVED: (i64, i64) = (0, 0);
const OUT: i64 = -1;
/// Changes before those that count.
const WARM_UP: u64 = 20;

/// Who changes and who watches, in this process; the server is another one.
struct Pair {
    writer: Client,
    watcher: Client,
    seen: Reaction<Seen>,
    server: Pid,
    /// Above all ranks of others.
    top: i64,
    /// Whether the row that is moved is the highest now.
    is_in: bool,
}

/// # Errors
/// When the server or a client fails.
pub async fn measure(server: &Server, rows: u32, watchers: u32, seconds: u32) -> anyhow::Result<Point> {
    let at = server.clients_address();
    let pid = server.pid().context("query starts servers of its own")?;
    let begun = Instant::now();
    fill(&at, rows).await?;
    let load_seconds = begun.elapsed().as_secs_f64();
    let (writer, watcher) = (connect(&at, Options::new()).await?, connect(&at, Options::new()).await?);
    // The row that it changes is held.
    let mut own = writer.react(View::Confirmed, |tx| Ok(tx.rows("items", &[Value::Int(0)])?.len()));
    own.next().await?;
    let (seen, first_answer_ms) = watch(&watcher).await?;
    let crowd = Crowd::gather(&at, watchers).await?;
    let mut pair = Pair { writer, watcher, seen, server: pid, top: i64::from(rows), is_in: false };
    let time = Duration::from_secs(u64::from(seconds));
    let moved = pair.changes(time, Kind::Moved).await?;
    if !pair.is_in {
        pair.once(Kind::Moved, 0).await?;
    }
    let changed = pair.changes(time, Kind::Changed).await?;
    let fresh = connect(&at, Options::new()).await?;
    let (mut again, second_answer_ms) = watch(&fresh).await?;
    let last = pair.seen.wait_for(|seen| !seen.is_empty()).await?;
    let is_as_seen = again.wait_for(|seen| !seen.is_empty()).await? == last;
    let memory_bytes = pid.resident_bytes();
    crowd.leave().await;
    let violations = u32::from(!is_as_seen);
    Ok(Point { rows, load_seconds, memory_bytes, first_answer_ms, second_answer_ms, changed, moved, violations })
}

/// Until the answer is there, and how long that took.
async fn watch(client: &Client) -> anyhow::Result<(Reaction<Seen>, f64)> {
    let begun = Instant::now();
    let mut reaction = client.react(View::Confirmed, |tx| {
        let highest = tx.query::<Item>().filter(Item::RANK.at_least(0)).order_by_descending(Item::RANK);
        Ok(highest.limit(ANSWERS).all()?.into_iter().map(|item| (item.rank, item.label)).collect())
    });
    reaction.wait_for(|seen: &Seen| seen.len() == ANSWERS).await?;
    Ok((reaction, begun.elapsed().as_secs_f64() * 1e3))
}

#[derive(Clone, Copy)]
enum Kind {
    Changed,
    Moved,
}

impl Pair {
    async fn changes(&mut self, time: Duration, kind: Kind) -> anyhow::Result<Changes> {
        for number in 0..WARM_UP {
            self.once(kind, number).await?;
        }
        let (server, clients, down) = (self.server.tree_cpu(), own_cpu(), self.watcher.traffic().bytes_down);
        let mut latencies = Latencies::default();
        let begun = Instant::now();
        let mut count = 0;
        while begun.elapsed() < time {
            let called = Instant::now();
            self.once(kind, WARM_UP + count).await?;
            latencies.record(u64::try_from(called.elapsed().as_nanos()).unwrap_or(u64::MAX));
            count += 1;
        }
        let each = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
        Ok(Changes {
            count,
            latency_ms: latencies.percentiles(),
            server_cpu_us_per_op: each(self.server.tree_cpu().saturating_sub(server)),
            clients_cpu_us_per_op: each(own_cpu().saturating_sub(clients)),
            bytes_down_per_op: (self.watcher.traffic().bytes_down - down) as f64 / count as f64,
        })
    }

    /// One change, until it is seen.
    async fn once(&mut self, kind: Kind, number: u64) -> anyhow::Result<()> {
        match kind {
            Kind::Moved => {
                self.is_in = !self.is_in;
                let (is_in, top) = (self.is_in, self.top);
                let rank = if is_in { top } else { OUT };
                let moved = self.writer.transact(move |tx| tx.at(Item::RANK, MOVED).set(rank));
                let seen = self.seen.wait_for(|seen| (seen[0].0 == top) == is_in);
                let (moved, seen) = tokio::join!(moved, seen);
                moved?;
                seen?;
            }
            Kind::Changed => {
                let label = format!("item {number}");
                let text = label.clone();
                let named = self.writer.transact(move |tx| tx.at(Item::LABEL, MOVED).set(text.clone()));
                let (named, seen) = tokio::join!(named, self.seen.wait_for(|seen| seen[0].1 == label));
                named?;
                seen?;
            }
        }
        Ok(())
    }
}
