//! The same transactions run by a server process in the data centre: one call a transaction, over a connection for each person.
//!
//! Invariant: one transaction of a connection runs after the other, on a client of its own next to the gateway.
//! Source: the "Cloud" configurations of SwiftCloud (Zawirski 2013), section 6.1: its clients, placed in the data centre.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use iolite::{Client, Options};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, BufStream};
use tokio::net::{TcpListener, TcpStream};

use super::network::User;
use super::seat::{Call, ROW_BYTES, read_friends, read_page};
use super::tables::{Friend, Page, connect};
use super::waiting::Waited;
use crate::accounting::Pid;
use crate::child::Address;
use crate::part::{PartProcess, hear, say};

#[derive(Args, Debug)]
pub struct CloudArguments {
    /// The gateway beside it
    #[arg(long)]
    url: String,
    #[arg(long)]
    token: String,
    /// Rows that it caches for each connection
    #[arg(long)]
    rows: usize,
}

/// The server process of one data centre; killed when it is dropped.
#[derive(Debug)]
pub struct CloudProcess {
    process: PartProcess,
    pub address: SocketAddr,
}

/// A person's connection to it.
pub struct Caller {
    stream: BufStream<TcpStream>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Listening {
    address: SocketAddr,
}

#[derive(Debug, Serialize, Deserialize)]
enum Request {
    Page(String),
    Friends(String),
    Write(Call),
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Page(Page, Waited),
    Friends(Vec<Friend>, Waited),
    /// K data centres have it.
    Written(Waited),
    Failed(String),
}

impl CloudProcess {
    pub fn start(near: &Address, rows: u32) -> anyhow::Result<CloudProcess> {
        let rows = rows.to_string();
        let words = ["bench-part", "social-cloud", "--url", &near.url, "--token", &near.token, "--rows", &rows];
        let mut process = PartProcess::start(&words)?;
        let Listening { address } = process.hear()?;
        Ok(CloudProcess { process, address })
    }

    pub fn pid(&self) -> Pid {
        self.process.pid()
    }
}

impl Caller {
    /// # Errors
    /// When nobody listens.
    pub async fn connect(at: SocketAddr) -> anyhow::Result<Caller> {
        let socket = TcpStream::connect(at).await?;
        socket.set_nodelay(true)?;
        Ok(Caller { stream: BufStream::new(socket) })
    }

    pub async fn page(&mut self, of: User) -> anyhow::Result<(Page, Waited)> {
        match self.ask(&Request::Page(of.name())).await? {
            Answer::Page(page, waited) => Ok((page, waited)),
            other => bail!("no page of {}: {other:?}", of.name()),
        }
    }

    pub async fn friends(&mut self, of: User) -> anyhow::Result<(Vec<Friend>, Waited)> {
        match self.ask(&Request::Friends(of.name())).await? {
            Answer::Friends(friends, waited) => Ok((friends, waited)),
            other => bail!("no friends of {}: {other:?}", of.name()),
        }
    }

    pub async fn write(&mut self, call: &Call) -> anyhow::Result<Waited> {
        let mut line = serde_json::to_vec(&WriteRequest::Write(call))?;
        match self.exchange(&mut line).await? {
            Answer::Written(waited) => Ok(waited),
            other => bail!("{call:?}: {other:?}"),
        }
    }

    async fn ask(&mut self, request: &Request) -> anyhow::Result<Answer> {
        self.exchange(&mut serde_json::to_vec(request)?).await
    }

    async fn exchange(&mut self, line: &mut Vec<u8>) -> anyhow::Result<Answer> {
        line.push(b'\n');
        self.stream.write_all(line).await?;
        self.stream.flush().await?;
        let mut answer = String::new();
        if self.stream.read_line(&mut answer).await? == 0 {
            bail!("the server process closed the connection");
        }
        Ok(serde_json::from_str(&answer)?)
    }
}

/// [`Request::Write`], of a call that is kept.
#[derive(Serialize)]
enum WriteRequest<'a> {
    Write(&'a Call),
}

/// Serves until its parent is gone.
///
/// # Errors
/// When no port can be listened on.
pub fn run_cloud(arguments: &CloudArguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let near = Arc::new(Address { url: arguments.url.clone(), token: arguments.token.clone() });
    let rows = arguments.rows;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        say(&Listening { address: listener.local_addr()? })?;
        // Nothing is ever said: it is heard when the parent is gone.
        let mut parent = tokio::spawn(hear::<()>());
        loop {
            tokio::select! {
                _ = &mut parent => return Ok(()),
                accepted = listener.accept() => {
                    let (socket, near) = (accepted?.0, near.clone());
                    tokio::spawn(async move {
                        if let Err(error) = serve(socket, &near, rows).await {
                            iolite_host::warn(&format!("a connection ended: {error:#}"));
                        }
                    });
                }
            }
        }
    })
}

async fn serve(socket: TcpStream, near: &Address, rows: usize) -> anyhow::Result<()> {
    socket.set_nodelay(true)?;
    let client = connect(near, Options::new().cache_bytes_max(rows * ROW_BYTES)).await?;
    let (input, mut output) = socket.into_split();
    let mut lines = BufReader::new(input).lines();
    while let Some(line) = lines.next_line().await? {
        let request = serde_json::from_str(&line).context("a request is not as it should be")?;
        let answer = run(&client, request).await.unwrap_or_else(|error| Answer::Failed(format!("{error:#}")));
        let mut answer = serde_json::to_vec(&answer)?;
        answer.push(b'\n');
        output.write_all(&answer).await?;
    }
    client.close().await;
    Ok(())
}

async fn run(client: &Client, request: Request) -> anyhow::Result<Answer> {
    Ok(match request {
        Request::Page(of) => {
            let (page, waited) = read_page(client, &of).await?;
            Answer::Page(page, waited)
        }
        Request::Friends(of) => {
            let (friends, waited) = read_friends(client, &of).await?;
            Answer::Friends(friends, waited)
        }
        Request::Write(call) => {
            let (handle, waited) = call.on(client)?;
            handle.confirmed().await?;
            Answer::Written(waited)
        }
    })
}
