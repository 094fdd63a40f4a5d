//! A member of the array: calls an operation each so often, looks at the view after each call, and waits until all operations of all members are here.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::Args;
use iolite::{Client, Log, Value, View};
use iolite_host::monotonic_nanos;
use serde::{Deserialize, Serialize};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::array::{INSTANCE, Ints, LOG, SIZE, fill_count, fills, settings};
use crate::latency::{Latencies, LatencyCounts};
use crate::part::{hear, say};

/// Arguments that the parent gives a member's process.
#[derive(Args, Debug)]
pub struct MemberArguments {
    #[arg(long)]
    url: String,
    #[arg(long)]
    token: String,
    #[arg(long)]
    number: u32,
    #[arg(long)]
    directory: PathBuf,
    #[arg(long)]
    batch_ms: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToMember {
    /// Fill the array, which is empty.
    Fill,
    /// Say when the filled array is here.
    Load,
    /// Call, and wait until all of all members is here, or the time is over.
    Run(Work),
    End,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Work {
    pub members: u32,
    pub operations: u32,
    pub increments: u32,
    pub every_ms: u32,
    pub within_seconds: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromMember {
    Ready,
    Ran(Box<Ran>),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ran {
    pub begun_nanos: u64,
    pub ended_nanos: u64,
    /// Own operations that are known to be delivered.
    pub delivered: u32,
    /// Operations of all members that are replayed here.
    pub replayed: u64,
    pub sum: i64,
    /// A digest of all values, so that members can be compared.
    pub digest: u64,
    pub peek: LatencyCounts,
}

const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Runs a member until the parent says that it was all.
///
/// # Errors
/// When the server or the parent does not do what it should.
pub fn run_member(arguments: &MemberArguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (schema, options) = settings()?;
        let options = options.directory(&arguments.directory);
        let client = Client::connect(&arguments.url, &arguments.token, schema, options)?;
        client.online().await.map_err(|state| anyhow!("the server does not let the member in: {state:?}"))?;
        let log = client.log(LOG, INSTANCE)?;
        log.rebase_every(Duration::from_millis(arguments.batch_ms.into()))?;
        loop {
            match hear().await? {
                ToMember::Fill => {
                    for from in fills() {
                        log.run("fill", &from)?.confirmed().await?;
                    }
                    say(&FromMember::Ready)?;
                }
                ToMember::Load => {
                    while log.position() < fill_count() {
                        tokio::time::sleep(LOOK_AGAIN).await;
                    }
                    say(&FromMember::Ready)?;
                }
                ToMember::Run(work) => {
                    let ran = run(&client, &log, arguments.number, work).await?;
                    say(&FromMember::Ran(Box::new(ran)))?;
                }
                ToMember::End => return Ok(()),
            }
        }
    })
}

async fn run(client: &Client, log: &Log, number: u32, work: Work) -> anyhow::Result<Ran> {
    let mut ran = Ran { begun_nanos: monotonic_nanos(), ..Ran::default() };
    let within = Duration::from_secs(u64::from(work.within_seconds));
    let all = async {
        let peeks = call_all(client, log, number, work, &mut ran.delivered).await?;
        let last = fill_count() + u64::from(work.members) * u64::from(work.operations);
        while log.position() < last {
            if let Some(reason) = log.stopped() {
                bail!("the log stands still at a member: {reason}");
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        anyhow::Ok(peeks)
    };
    // Past its time the member says how far it is.
    if let Ok(peeks) = timeout(within, all).await {
        ran.peek = peeks?;
    }
    ran.ended_nanos = monotonic_nanos();
    ran.replayed = log.position().saturating_sub(fill_count());
    let rows = client.peek(View::Confirmed, |tx| tx.all_with::<Ints>(&[Value::from(INSTANCE)]))?;
    ran.sum = rows.iter().map(|row| row.value).sum();
    ran.digest = rows.iter().fold(0, |digest: u64, row| digest.rotate_left(7) ^ row.value.unsigned_abs());
    Ok(ran)
}

/// Calls steadily, then waits until each call is delivered.
async fn call_all(
    client: &Client,
    log: &Log,
    number: u32,
    work: Work,
    delivered: &mut u32,
) -> anyhow::Result<LatencyCounts> {
    let mut ticks = interval(Duration::from_millis(u64::from(work.every_ms)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut peeks = Latencies::default();
    let mut handles = Vec::new();
    for call in 0..work.operations {
        ticks.tick().await;
        let from = place(number, call);
        handles.push(log.run("add", &(from, work.increments))?);
        let begun = monotonic_nanos();
        client.peek(View::Optimistic, |tx| tx.at(Ints::VALUE, (INSTANCE, from)).get())?;
        peeks.record(monotonic_nanos() - begun);
    }
    for handle in handles {
        handle.delivered().await?;
        *delivered += 1;
    }
    Ok(peeks.counts())
}

/// Where an operation begins: spread over the array, the same in each run.
fn place(number: u32, call: u32) -> i64 {
    let mixed = (u64::from(number) << 32 | u64::from(call)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 20) % SIZE.unsigned_abs()).cast_signed()
}
