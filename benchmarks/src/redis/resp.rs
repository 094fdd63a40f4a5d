//! Redis's protocol, as much of it as transactions need.
//!
//! Source: the RESP2 specification in Redis's documentation.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};

use crate::accounting::{Counted, Traffic};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Simple(String),
    Error(String),
    Integer(i64),
    Bulk(Option<Vec<u8>>),
    /// `None` where EXEC did nothing.
    Array(Option<Vec<Reply>>),
}

#[derive(Debug)]
pub struct Connection {
    stream: BufStream<Counted>,
    traffic: Arc<Traffic>,
}

/// Of one bulk string or array; what is larger is no answer to a client of ours.
const LENGTH_MOST: i64 = 1 << 20;

impl Connection {
    pub async fn open(address: SocketAddr, traffic: Arc<Traffic>) -> anyhow::Result<Connection> {
        let socket = Counted::connect(address, traffic.clone()).await?;
        Ok(Connection { stream: BufStream::with_capacity(32 << 10, 32 << 10, socket), traffic })
    }

    /// Sends commands in one piece: one message, answered by one.
    pub async fn send(&mut self, commands: &[&[&[u8]]]) -> std::io::Result<()> {
        for command in commands {
            self.write(command).await?;
        }
        self.traffic.exchanged();
        self.stream.flush().await
    }

    /// Writes a command that [`Self::send`] sends with those after it.
    pub async fn write(&mut self, command: &[&[u8]]) -> std::io::Result<()> {
        let mut bytes = format!("*{}\r\n", command.len()).into_bytes();
        for word in command {
            bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(b"\r\n");
        }
        self.stream.write_all(&bytes).await
    }

    /// The next reply, whose elements may be arrays themselves: what EXEC answers when it has read sets or lists.
    pub async fn receive_nested(&mut self) -> anyhow::Result<Reply> {
        let line = self.line().await?;
        let Some(count) = line.strip_prefix('*') else { return self.element(line).await };
        let Some(count) = length(count)? else { return Ok(Reply::Array(None)) };
        let mut elements = Vec::new();
        for _ in 0..count {
            elements.push(self.receive().await?);
        }
        Ok(Reply::Array(Some(elements)))
    }

    /// The next reply; an array's elements are never arrays here.
    pub async fn receive(&mut self) -> anyhow::Result<Reply> {
        let line = self.line().await?;
        let Some(count) = line.strip_prefix('*') else { return self.element(line).await };
        let Some(count) = length(count)? else { return Ok(Reply::Array(None)) };
        let mut elements = Vec::new();
        for _ in 0..count {
            let line = self.line().await?;
            elements.push(self.element(line).await?);
        }
        Ok(Reply::Array(Some(elements)))
    }

    async fn element(&mut self, line: String) -> anyhow::Result<Reply> {
        let (kind, rest) = line.split_at_checked(1).context("an empty reply")?;
        Ok(match kind {
            "+" => Reply::Simple(rest.to_owned()),
            "-" => Reply::Error(rest.to_owned()),
            ":" => Reply::Integer(rest.parse()?),
            "$" => Reply::Bulk(match length(rest)? {
                None => None,
                Some(count) => {
                    let mut bytes = vec![0; count + 2];
                    self.stream.read_exact(&mut bytes).await?;
                    bytes.truncate(count);
                    Some(bytes)
                }
            }),
            other => bail!("a reply begins with {other:?}"),
        })
    }

    async fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await? == 0 {
            bail!("redis closed the connection");
        }
        line.truncate(line.trim_end_matches(['\r', '\n']).len());
        Ok(line)
    }
}

/// -1 is none.
fn length(text: &str) -> anyhow::Result<Option<usize>> {
    match text.parse::<i64>()? {
        -1 => Ok(None),
        length @ 0..=LENGTH_MOST => Ok(Some(usize::try_from(length)?)),
        other => bail!("a reply of {other} parts"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a command to a server that answers with these bytes.
    async fn exchange(answer: &'static [u8]) -> (Vec<u8>, anyhow::Result<Reply>) {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let mut connection = Connection::open(address, Arc::default()).await.expect("it listens");
        let (mut server, _) = listener.accept().await.expect("it connects");
        connection.send(&[&[b"GET", b"key"]]).await.expect("it is open");
        let mut asked = vec![0; 22];
        server.read_exact(&mut asked).await.expect("it comes");
        server.write_all(answer).await.expect("it is open");
        drop(server);
        (asked, connection.receive().await)
    }

    #[tokio::test]
    async fn commands_and_replies_are_those_of_the_protocol() {
        let (asked, reply) = exchange(b"*3\r\n$2\r\na\n\r\n$-1\r\n:-7\r\n").await;
        assert_eq!(asked, b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
        let elements = vec![Reply::Bulk(Some(b"a\n".to_vec())), Reply::Bulk(None), Reply::Integer(-7)];
        assert_eq!(reply.expect("it is one"), Reply::Array(Some(elements)));
        for (bytes, wanted) in [
            (&b"*-1\r\n"[..], Reply::Array(None)),
            (&b"+OK\r\n"[..], Reply::Simple("OK".into())),
            (&b"-ERR no\r\n"[..], Reply::Error("ERR no".into())),
        ] {
            assert_eq!(exchange(bytes).await.1.expect("it is one"), wanted);
        }
        for broken in [&b""[..], b"\r\n", b"!\r\n", b"$9\r\nab", b"*99999999\r\n", b"$-2\r\n"] {
            assert!(exchange(broken).await.1.is_err(), "{broken:?}");
        }
    }
}
