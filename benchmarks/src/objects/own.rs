//! A null call of Iolite's own objects: a server with one object, and a host that dials it and calls.
//!
//! The class has no manager, and its method is one that may change its object, as methods are if nothing is said.

use std::sync::OnceLock;
use std::time::Instant;

use anyhow::Context;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use iolite::objects::{Host, Ref, sapphire};

use crate::latency::Latencies;

use super::side::{Count, nanos_since};

/// The id of the object.
const OBJECT: &str = "counted";

/// Runs of this process's object. An object's state is what can travel, so the count is no part of it.
static COUNT: OnceLock<Count> = OnceLock::new();

#[sapphire(name = "Null")]
#[derive(Default)]
struct Null {}

#[sapphire::methods]
impl Null {
    fn call(&mut self) {
        COUNT.get().expect("a server sets it before the object is there").ran_one();
    }
}

/// Starts a server with the object. The server ends when the host is dropped.
pub async fn serve(count: Count) -> anyhow::Result<Host> {
    COUNT.get_or_init(|| count);
    let host = Host::embedded().class::<Null>().start().await?;
    host.create(OBJECT, Null::default()).await?;
    Ok(host)
}

/// The port that a server listens at.
pub fn port_of(server: &Host) -> anyhow::Result<u16> {
    let port = server.url().strip_suffix("/sync").and_then(|url| url.rsplit_once(':'));
    let (_, port) = port.with_context(|| format!("{} has no port", server.url()))?;
    Ok(port.parse()?)
}

/// A client with one connection, and so many calls on their way at once.
pub struct Caller {
    /// The connection, which ends with it.
    _host: Host,
    null: Ref<Null>,
    in_flight: u32,
}

impl Caller {
    pub async fn connect(port: u16, token: &str, in_flight: u32) -> anyhow::Result<Caller> {
        let host = Host::connect(&format!("ws://127.0.0.1:{port}/sync"), token).start().await?;
        let null = host.find(OBJECT).await?.context("the server has no object to call")?;
        Ok(Caller { _host: host, null, in_flight })
    }

    /// Calls until then, and waits for the calls that are on their way.
    pub async fn run(&mut self, until: Instant, latencies: &mut Latencies) -> anyhow::Result<()> {
        let mut open: FuturesUnordered<_> = (0..self.in_flight).map(|_| self.call()).collect();
        while let Some(nanos) = open.next().await {
            latencies.record(nanos?);
            if Instant::now() < until {
                open.push(self.call());
            }
        }
        Ok(())
    }

    /// The nanoseconds of one call.
    async fn call(&self) -> anyhow::Result<u64> {
        let called = Instant::now();
        self.null.call().await?;
        Ok(nanos_since(called))
    }
}
