//! A person with a connection to the baseline's front end: as much of HTTP/1.1 as that needs.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};

use super::person::{Done, Person};
use super::plan::Plan;
use crate::accounting::{Counted, Traffic};

pub struct HttpPerson {
    stream: BufStream<Counted>,
    traffic: Arc<Traffic>,
    line: String,
    body: Vec<u8>,
}

impl HttpPerson {
    pub async fn connect(front: SocketAddr) -> anyhow::Result<HttpPerson> {
        let traffic = Arc::new(Traffic::default());
        let stream = BufStream::new(Counted::connect(front, traffic.clone()).await?);
        Ok(HttpPerson { stream, traffic, line: String::new(), body: Vec::new() })
    }

    async fn request(&mut self, method: &str, target: &str, body: &str) -> anyhow::Result<()> {
        let length = body.len();
        let request = format!("{method} {target} HTTP/1.1\r\nhost: retwis\r\ncontent-length: {length}\r\n\r\n{body}");
        self.stream.write_all(request.as_bytes()).await?;
        self.stream.flush().await?;
        let status = self.head().await?;
        if status != "200" {
            bail!("{method} {target}: {status}: {}", String::from_utf8_lossy(&self.body));
        }
        Ok(())
    }

    /// The status of an answer, whose body is read.
    async fn head(&mut self) -> anyhow::Result<String> {
        let status = self.next_line().await?.split(' ').nth(1).context("an answer has a status")?.to_owned();
        let mut length = 0;
        while let Some((name, value)) = self.next_line().await?.split_once(':') {
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).await?;
        Ok(status)
    }

    async fn next_line(&mut self) -> anyhow::Result<&str> {
        self.line.clear();
        if self.stream.read_line(&mut self.line).await? == 0 {
            bail!("the front end closed the connection");
        }
        Ok(self.line.trim_end())
    }
}

impl Person for HttpPerson {
    async fn run(&mut self, plan: &Plan) -> anyhow::Result<Done> {
        match plan {
            Plan::GetTimeline { user } => {
                self.request("GET", &format!("/timeline?user={user}"), "").await?;
                // As a page would: what is not read costs nothing.
                let _: Vec<String> = serde_json::from_slice(&self.body)?;
            }
            Plan::PostTweet { user, text } => self.request("POST", &format!("/tweet?user={user}"), text).await?,
            Plan::Follow { user, follower } => {
                self.request("POST", &format!("/follow?user={user}&follower={follower}"), "").await?;
            }
            Plan::AddUser { name } => self.request("POST", "/user", name).await?,
            Plan::Like { user, tweet } => {
                self.request("POST", &format!("/like?user={user}&tweet={tweet}"), "").await?;
            }
        }
        Ok(Done::Committed)
    }

    /// Nothing is ever made again.
    fn attempts(&self) -> impl Fn() -> u64 + 'static {
        || 0
    }

    fn traffic(&self) -> (u64, u64) {
        let counts = self.traffic.counts();
        (counts.bytes_up, counts.bytes_down)
    }
}
