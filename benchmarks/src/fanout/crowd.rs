//! A process with many sessions, each a whole client with a reactive transaction, that says when the last of them has seen a total.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::anyhow;
use clap::Args;
use iolite::{Client, Options, Reaction, View};
use iolite_host::monotonic_nanos;
use tokio::task::LocalSet;

use crate::child::{Address, ClientProcess};
use crate::part::{PartProcess, hear_now, say};
use crate::schema::schema;
use crate::talk::{FromClient, RunResult, ToClient};
use crate::workloads;

#[derive(Args, Debug)]
pub struct FanArguments {
    #[arg(long)]
    url: String,
    #[arg(long)]
    token: String,
    #[arg(long)]
    sessions: u32,
}

/// Starts one of these processes.
pub fn start(address: &Address, sessions: u32) -> anyhow::Result<ClientProcess> {
    let sessions = sessions.to_string();
    let at = ["bench-part", "fans", "--url", &address.url, "--token", &address.token];
    Ok(ClientProcess::of(PartProcess::start(&[&at[..], &["--sessions", &sessions]].concat())?))
}

/// Of each total, how many sessions have seen it.
type Seen = Rc<RefCell<BTreeMap<i64, u32>>>;

/// Runs all sessions until the parent says that it was all.
///
/// # Errors
/// When the server or the parent does not do what it should.
pub fn run_fans(arguments: &FanArguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let (seen, all) = (Seen::default(), arguments.sessions);
        let mut clients = Vec::new();
        let mut follows = Vec::new();
        for _ in 0..all {
            let client = Client::connect(&arguments.url, &arguments.token, schema(), Options::new())?;
            client.online().await.map_err(|state| anyhow!("the server does not let a session in: {state:?}"))?;
            let mut reaction = client.react(View::Confirmed, workloads::total);
            reaction.next().await?;
            follows.push(follow(reaction, seen.clone(), all));
            clients.push(client);
        }
        let before: Vec<_> = clients.iter().map(Client::traffic).collect();
        for follow in follows {
            tokio::task::spawn_local(follow);
        }
        say(&FromClient::Ready)?;
        tokio::task::spawn_blocking(hear_now::<ToClient>).await??;
        let mut result = RunResult::default();
        for (client, before) in clients.iter().zip(before) {
            let after = client.traffic();
            result.bytes_up += after.bytes_up - before.bytes_up;
            result.bytes_down += after.bytes_down - before.bytes_down;
        }
        say(&FromClient::Result(Box::new(result)))
    })
}

/// Until the client is closed, or the parent is gone.
async fn follow(mut reaction: Reaction<i64>, seen: Seen, all: u32) {
    while let Ok(total) = reaction.next().await {
        let mut seen = seen.borrow_mut();
        let count = seen.entry(*total).or_default();
        *count += 1;
        if *count == all {
            seen.remove(&total);
            if say(&FromClient::Ran { total: *total, at_nanos: monotonic_nanos() }).is_err() {
                return;
            }
        }
    }
}
