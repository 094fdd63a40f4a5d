//! One side of a system in Rust, a process of its own, and what sides and their parent say to each other. Java's sides say the same (Side.java).

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::arguments::name_of;
use crate::latency::{Latencies, LatencyCounts};
use crate::part::{PartProcess, hear, say};

use super::{echo, own, rest};

/// A server's first words.
#[derive(Debug, Serialize, Deserialize)]
pub struct Listening {
    pub port: u16,
    /// Lets clients of Iolite in; others need none.
    #[serde(default)]
    pub token: String,
}

/// A client's first word.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ready {
    #[serde(rename = "ready")]
    Ready,
}

/// To a client: call for so long.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Part {
    millis: u64,
}

/// A client's answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Looped {
    pub latency: LatencyCounts,
    /// From before the first call until the last one had come back.
    pub nanos: u64,
}

/// A server's answer to anything: the calls that it ran.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ran(pub u64);

/// A system whose sides are this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Native {
    Iolite,
    Echo,
    Rest,
}

#[derive(Args, Clone, Debug)]
pub struct NullArguments {
    #[arg(long)]
    of: Native,
    /// Where the server is; none is said to the server
    #[arg(long)]
    port: Option<u16>,
    #[arg(long, default_value_t)]
    token: String,
    #[arg(long, default_value_t = 1)]
    in_flight: u32,
    #[arg(long, default_value_t = 1)]
    frame_bytes: usize,
}

/// Calls that a server ran.
#[derive(Clone, Debug, Default)]
pub struct Count(Arc<AtomicU64>);

/// A client that is connected.
enum Caller {
    Iolite(own::Caller),
    Echo(Box<echo::Caller>),
    Rest(rest::Caller),
}

impl Native {
    /// Files of the server are in this folder.
    pub fn server(self, folder: &Path) -> anyhow::Result<PartProcess> {
        let mut command = Command::new(std::env::current_exe()?);
        // A server of objects has its data where temporary files are. It is killed at the end, so that it removes none of it.
        command.args(["bench-part", "null-call", "--of", &name_of(&self)]).env("TMPDIR", folder);
        PartProcess::start_by(command)
    }

    pub fn client(self, server: &Listening, in_flight: u32, frame_bytes: u64) -> anyhow::Result<PartProcess> {
        let [port, in_flight, frame_bytes] =
            [server.port.into(), in_flight.into(), frame_bytes].map(|word: u64| word.to_string());
        let token = &server.token;
        let what = ["--port", &port, "--token", token, "--in-flight", &in_flight, "--frame-bytes", &frame_bytes];
        PartProcess::start(&[&["bench-part", "null-call", "--of", &name_of(&self)], &what[..]].concat())
    }
}

impl Listening {
    fn at(port: u16) -> Listening {
        Listening { port, token: String::new() }
    }
}

impl Part {
    pub fn of(time: Duration) -> Part {
        Part { millis: time.as_millis() as u64 }
    }

    pub fn time(&self) -> Duration {
        Duration::from_millis(self.millis)
    }
}

impl Count {
    pub fn ran_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn ran(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Tells the parent each time that it asks, until it is gone.
    async fn tell(&self) -> anyhow::Result<()> {
        while hear::<()>().await.is_ok() {
            say(&Ran(self.ran()))?;
        }
        Ok(())
    }
}

impl Caller {
    async fn connect(arguments: &NullArguments, port: u16) -> anyhow::Result<Caller> {
        let NullArguments { of, port: _, token, in_flight, frame_bytes } = arguments;
        Ok(match of {
            Native::Iolite => Caller::Iolite(own::Caller::connect(port, token, *in_flight).await?),
            Native::Echo => Caller::Echo(Box::new(echo::Caller::connect(port, *in_flight, *frame_bytes).await?)),
            Native::Rest => Caller::Rest(rest::Caller::connect(port).await?),
        })
    }
}

/// Runs one side until its parent is gone.
///
/// # Errors
/// When no port can be listened on, or the other side breaks.
pub fn run_null(arguments: NullArguments) -> anyhow::Result<()> {
    // A node has one thread too, and runs its work as a task of it (programs/server/src/serve.rs).
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = match arguments.port {
        None => runtime.block_on(runtime.spawn(serve(arguments.of))),
        Some(port) => runtime.block_on(runtime.spawn(call(arguments, port))),
    };
    ended?
}

async fn serve(of: Native) -> anyhow::Result<()> {
    let count = Count::default();
    match of {
        Native::Iolite => {
            let host = own::serve(count.clone()).await?;
            say(&Listening { port: own::port_of(&host)?, token: host.token().to_owned() })?;
            count.tell().await?;
            Ok(host.stop().await?)
        }
        Native::Echo => {
            say(&Listening::at(echo::serve(count.clone()).await?))?;
            count.tell().await
        }
        Native::Rest => {
            say(&Listening::at(rest::serve(count.clone()).await?))?;
            count.tell().await
        }
    }
}

async fn call(arguments: NullArguments, port: u16) -> anyhow::Result<()> {
    let mut caller = Caller::connect(&arguments, port).await?;
    say(&Ready::Ready)?;
    while let Ok(part) = hear::<Part>().await {
        let mut latencies = Latencies::default();
        let begun = Instant::now();
        let until = begun + part.time();
        match &mut caller {
            Caller::Iolite(caller) => caller.run(until, &mut latencies).await?,
            Caller::Echo(caller) => caller.run(until, &mut latencies).await?,
            Caller::Rest(caller) => caller.run(until, &mut latencies).await?,
        }
        say(&Looped { latency: latencies.counts(), nanos: nanos_since(begun) })?;
    }
    Ok(())
}

pub fn nanos_since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
