//! One process of a run with objects: a host, or a device. It is told what to be by a file, and ends when its input does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use iolite::objects::{CreateError, Host, HostBuilder, HostError};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::sleep;

use super::classes::{List, of_kind};
use super::device;
use super::kind::{Kind, Place};
use super::record::{Record, Recorder};
use crate::moment::moment;

/// The work of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodePlan {
    pub url: String,
    pub token: String,
    pub part: Part,
    pub generations: Generations,
    pub record: PathBuf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Part {
    /// Has its share of the objects.
    Host { number: u32, hosts: u32 },
    /// Calls all of them. Its life says the how manieth process of the run it is: two never have the same.
    Device { life: u32, seed: u64, moves_to: Vec<String> },
}

/// When which objects are used.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Generations {
    pub count: u32,
    pub begun: u64,
    pub each_ms: u64,
}

impl Generations {
    pub fn now(self) -> u32 {
        let passed = moment().0.saturating_sub(self.begun) / 1_000_000;
        u32::try_from(passed / self.each_ms).unwrap_or(u32::MAX).min(self.count - 1)
    }

    pub fn places(self) -> impl Iterator<Item = Place> {
        (0..self.count).flat_map(|generation| Kind::ALL.map(|kind| Place { kind, generation }))
    }
}

/// How long a call may take. It is longer than most faults.
pub const CALL_TIME: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(50);

/// Runs a process of `iolite torture --objects`, which the file describes, until its input ends.
///
/// # Errors
/// A file that cannot be read or written, and a server that sends it away.
pub async fn run_node(file: &Path) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let plan: NodePlan = serde_json::from_str(&text).with_context(|| format!("{} is no plan", file.display()))?;
    let recorder = Arc::new(Recorder::create(&plan.record)?);
    let ends = end_of_input();
    match &plan.part {
        Part::Host { number, hosts } => be_host(&plan, *number, *hosts, &recorder, ends).await,
        Part::Device { life, seed, moves_to } => {
            let host = connected(|| with_classes(&plan)).await?;
            device::run(&host, plan.generations, device::Own { life: *life, seed: *seed, moves_to }, &recorder, &ends)
                .await
        }
    }
}

/// True from when the process is asked to end.
fn end_of_input() -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    // A thread of its own: a runtime does not end while it reads.
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        // Who is gone does not wait.
        let _ = sender.send(true);
    });
    receiver
}

/// A host that knows all classes.
pub fn with_classes(plan: &NodePlan) -> HostBuilder {
    let builder = Host::connect(&plan.url, &plan.token).call_time(CALL_TIME);
    Kind::ALL.into_iter().fold(builder, |builder, kind| of_kind!(kind, Class => builder.class::<Class>()))
}

/// Started, however long no gateway is there.
///
/// # Errors
/// All others.
pub async fn connected(builder: impl Fn() -> HostBuilder) -> anyhow::Result<Host> {
    loop {
        match builder().start().await {
            Ok(host) => return Ok(host),
            Err(HostError::NoAnswer { .. }) => {}
            Err(error) => bail!("{error}"),
        }
    }
}

async fn be_host(
    plan: &NodePlan,
    number: u32,
    hosts: u32,
    recorder: &Recorder,
    mut ends: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let host = connected(|| with_classes(plan).serves()).await?;
    for place in plan.generations.places().filter(|place| place.host(hosts) == number) {
        of_kind!(place.kind, Class => begin::<Class>(&host, place).await)?;
    }
    let node = host.node_id().context("it was let in")?.to_string();
    recorder.say(&Record::Ready { node })?;
    // The sender is gone with its thread, if that has ended.
    let _ = ends.wait_for(|ends| *ends).await;
    Ok(())
}

/// Begins a list. Its number says when it began, and is another one if it begins anew.
async fn begin<T: List>(host: &Host, place: Place) -> anyhow::Result<()> {
    loop {
        match host.get(&place.id(), || T::begun(moment().0)).await {
            Ok(_) => return Ok(()),
            Err(CreateError::Call(_) | CreateError::Late { .. }) => sleep(PAUSE).await,
            Err(error @ (CreateError::Exists { .. } | CreateError::Name(_) | CreateError::State { .. })) => {
                return Err(error.into());
            }
        }
    }
}
