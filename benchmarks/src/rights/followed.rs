//! A rule that follows one membership, which is in another shard than the row that is written: what its shard costs a commit.

use std::time::Duration;

use iolite::Options;
use iolite::table::Counter;
use iolite_node::config::WithoutWord;
use iolite_values::TableId;
use serde_json::json;

use super::cast::{Part, start};
use super::revoke::result;
use super::room::{fill, name_of};
use super::served::{connect, put_into_effect};
use super::speakers::{Speech, added};
use super::tables::{Guard, Member, Note, Room, tables};
use crate::arguments::Arguments;
use crate::cells::Cells;
use crate::child::{Address, ClientProcess};
use crate::front::{FrontCluster, FrontSetup};
use crate::latency::Latencies;
use crate::talk::{RunResult, ToClient};
use crate::{metrics, system_run};

/// How long people write on one cluster, before it is the turn of the other.
const TURN_SECONDS: u32 = 1;
const WRITERS_OF_A_PROCESS: u32 = 16;

/// One cluster, the writers who come to it, and what their turns came to.
struct Side {
    guard: Guard,
    cluster: FrontCluster,
    clients: Vec<ClientProcess>,
    sum: RunResult,
    latency: Latencies,
    messages: f64,
    gateway: Duration,
    seconds: u32,
}

/// # Errors
/// When a server or a client fails.
pub fn measure(arguments: &Arguments, cells: &mut Cells) -> anyhow::Result<()> {
    system_run::block_on(async {
        let mut sides = Vec::new();
        for guard in Guard::BOTH {
            sides.push(Side::start(arguments, guard).await?);
        }
        for _ in 0..arguments.seconds.div_ceil(TURN_SECONDS) {
            sides.iter_mut().try_for_each(Side::turn)?;
        }
        for side in &mut sides {
            side.report(arguments.rights.writers, cells).await?;
        }
        let [rules, open] = &sides[..] else { anyhow::bail!("both guards are measured") };
        cells.ratio("followed: op/s with rules of open", rules.throughput_per_s(), open.throughput_per_s());
        cells.ratio("followed: messages a commit with rules of open", rules.messages_per_op(), open.messages_per_op());
        Ok(())
    })
}

/// Two shards of three replicas. The memberships are in one, and the notes in the other.
async fn cluster(arguments: &Arguments) -> anyhow::Result<FrontCluster> {
    let later = if TableId::of("members") > TableId::of("notes") { "members" } else { "notes" };
    let delay = Duration::from_millis(u64::from(arguments.delay_ms()));
    let (durability, without) = (arguments.durability, WithoutWord::Nothing);
    FrontCluster::start(FrontSetup { durability, delay, replicas: 3, without, second_shard: Some(later) }).await
}

/// Each writer has a room, and a note in it.
async fn prepare(near: &Address, writers: u32) -> anyhow::Result<()> {
    let operator = connect(near, tables(), Options::new()).await?;
    let rooms = || (0..writers).map(|number| (i64::from(number), name_of(number)));
    fill(&operator, rooms().map(|(id, owner)| Room { id, owner }).collect()).await?;
    fill(&operator, rooms().map(|(room, user)| Member { room, user }).collect()).await?;
    let note = |(room, author)| Note { room, number: 0, author, count: Counter(0) };
    fill(&operator, rooms().map(note).collect()).await?;
    operator.close().await;
    Ok(())
}

impl Side {
    async fn start(arguments: &Arguments, guard: Guard) -> anyhow::Result<Side> {
        let (cluster, writers) = (cluster(arguments).await?, arguments.rights.writers);
        put_into_effect(cluster.near(), arguments.durability, &tables(), &guard.rights())?;
        prepare(cluster.near(), writers).await?;
        let mut clients = Vec::new();
        for first in (0..writers).step_by(WRITERS_OF_A_PROCESS as usize) {
            let users = (first..writers.min(first + WRITERS_OF_A_PROCESS)).map(name_of).collect();
            let speech = Speech::Notes { first_room: i64::from(first) };
            clients.push(start(cluster.address(), Part::Speakers { users, speech })?);
        }
        clients.iter_mut().try_for_each(ClientProcess::expect_ready)?;
        let (sum, latency) = (RunResult::default(), Latencies::default());
        Ok(Side { guard, cluster, clients, sum, latency, messages: 0.0, gateway: Duration::ZERO, seconds: 0 })
    }

    fn turn(&mut self) -> anyhow::Result<()> {
        let (messages, gateway) = (self.messages()?, self.cluster.gateway().tree_cpu());
        self.clients.iter_mut().try_for_each(|client| client.tell(&ToClient::Run { seconds: TURN_SECONDS }))?;
        for client in &mut self.clients {
            let result = result(client)?;
            self.latency.add(&result.commit_latency);
            self.sum.committed += result.committed;
            self.sum.attempts += result.attempts;
            self.sum.rejected += result.rejected;
        }
        self.messages += self.messages()? - messages;
        self.gateway += self.cluster.gateway().tree_cpu().saturating_sub(gateway);
        self.seconds += TURN_SECONDS;
        Ok(())
    }

    /// Between the gateway and all replicas, in both directions, up to now.
    fn messages(&self) -> anyhow::Result<f64> {
        let text = self.cluster.metrics()?;
        let of = |name| metrics::sum(&text, name);
        Ok(of("iolite_link_messages_sent_total") + of("iolite_link_messages_received_total"))
    }

    fn throughput_per_s(&self) -> f64 {
        self.sum.committed as f64 / f64::from(self.seconds)
    }

    fn messages_per_op(&self) -> f64 {
        self.messages / (self.sum.committed as f64).max(1.0)
    }

    async fn report(&self, writers: u32, cells: &mut Cells) -> anyhow::Result<()> {
        let RunResult { committed, attempts, rejected, .. } = self.sum;
        let guard = self.guard.name();
        cells.push(json!({
            "of": "followed", "guard": guard, "cluster": "2x3", "writers": writers, "committed": committed,
            "attempts": attempts, "throughput_per_s": self.throughput_per_s(), "commit_latency_ms": self.latency.percentiles(),
            "messages_per_op": self.messages_per_op(),
            "gateway_cpu_us_per_op": self.gateway.as_secs_f64() * 1e6 / (committed as f64).max(1.0),
        }));
        let operator = connect(self.cluster.near(), tables(), Options::new()).await?;
        let total = added(&operator).await?;
        if u64::try_from(total).ok() != Some(committed) || rejected > 0 {
            cells.fault(format!(
                "followed {guard}: {committed} committed, {rejected} were denied, and all notes have {total}"
            ));
        }
        operator.close().await;
        Ok(())
    }
}
