//! Frames that come back over Iolite's own links, without a kernel on either side: what the links alone take.
//!
//! The server's side is an `Endpoint` of a `Site`, and a mailbox that one loop empties, as a machine's host does (crates/host/src/event_loop.rs). The client's
//! side is as sdks/rust/src/link.rs: frames that have arrived together are taken together, and answered then.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{bail, ensure};
use futures_util::FutureExt;
use iolite_host::{
    Codec, Duplex, DuplexEvent, Endpoint, Inbox, Metrics, Origins, Probes, SessionEvent, SessionHandler, SessionNumber,
    Shutdown, Site, mailbox,
};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::latency::Latencies;

use super::FRAME_BYTES_MOST;
use super::side::{Count, nanos_since};

/// Bytes that wait for the loop at most.
const MAILBOX_BYTES: usize = 16 << 20;
/// As a client of Iolite has it (sdks/rust/src/link.rs).
const READ_BUFFER_BYTES: usize = 8 << 10;

/// Frames as they are.
#[derive(Clone)]
struct Frames;

type News = (SessionNumber, SessionEvent<Vec<u8>>);

impl Codec for Frames {
    type Incoming = Vec<u8>;
    type Outgoing = Vec<u8>;

    fn decode(&mut self, frame: &[u8]) -> Result<Vec<u8>, String> {
        Ok(frame.to_vec())
    }

    fn encode(&mut self, frame: &Vec<u8>) -> Result<Vec<u8>, String> {
        Ok(frame.clone())
    }
}

impl SessionHandler for Frames {
    type Codec = Frames;
    type Input = News;

    fn codec(&self) -> Frames {
        Frames
    }

    fn input(&self, session: SessionNumber, event: SessionEvent<Vec<u8>>) -> News {
        (session, event)
    }

    fn frame_bytes_max(&self) -> usize {
        FRAME_BYTES_MOST as usize
    }
}

impl Probes for Frames {
    fn is_ready(&self) -> bool {
        true
    }
}

/// Starts to serve, and gives the port.
pub async fn serve(count: Count) -> anyhow::Result<u16> {
    let (mailbox, inbox) = mailbox(MAILBOX_BYTES);
    let (metrics, shutdown) = (Metrics::default(), Shutdown::new());
    let endpoint = Endpoint::new(Frames, mailbox, &metrics, shutdown.listen());
    let listener = iolite_host::bind(([127, 0, 0, 1], 0).into()).await?;
    let port = listener.local_addr()?.port();
    let site = Site::new(metrics, Arc::new(Frames)).with_sessions(endpoint.clone(), Origins::new(&[])?);
    tokio::spawn(site.serve(listener, shutdown.listen()));
    tokio::spawn(async move {
        give_back(inbox, endpoint, count).await;
        drop(shutdown);
    });
    Ok(port)
}

async fn give_back(mut inbox: Inbox<News>, endpoint: Endpoint<Frames>, count: Count) {
    while inbox.wait().await {
        for (session, event) in inbox.take() {
            match event {
                SessionEvent::Message(frame) => {
                    count.ran_one();
                    endpoint.send(session, frame);
                }
                SessionEvent::Opened | SessionEvent::Garbled(_) | SessionEvent::Drained(_) | SessionEvent::Closed => {}
            }
        }
    }
}

/// A client, with so many frames on their way at once.
pub struct Caller {
    duplex: Duplex<WebSocketStream<MaybeTlsStream<TcpStream>>, Message>,
    in_flight: u32,
    frame: Vec<u8>,
    /// When each frame that is on its way was sent.
    sent: VecDeque<Instant>,
}

impl Caller {
    pub async fn connect(port: u16, in_flight: u32, frame_bytes: usize) -> anyhow::Result<Caller> {
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER_BYTES);
        let (url, nodelay) = (format!("ws://127.0.0.1:{port}/sync"), true);
        let (socket, _) = tokio_tungstenite::connect_async_with_config(url, Some(config), nodelay).await?;
        let frame = (0..frame_bytes).map(|index| index as u8).collect();
        Ok(Caller { duplex: Duplex::new(socket), in_flight, frame, sent: VecDeque::new() })
    }

    /// Sends frames until then, and waits for those that are on their way.
    pub async fn run(&mut self, until: Instant, latencies: &mut Latencies) -> anyhow::Result<()> {
        (0..self.in_flight).for_each(|_| self.send());
        while !self.sent.is_empty() {
            let returned = self.returned(latencies).await?;
            if Instant::now() < until {
                (0..returned).for_each(|_| self.send());
            }
        }
        Ok(())
    }

    fn send(&mut self) {
        self.duplex.push(Message::Binary(self.frame.clone().into()));
        self.sent.push_back(Instant::now());
    }

    /// Takes the next frame, if one is next, and all that have arrived with it.
    async fn returned(&mut self, latencies: &mut Latencies) -> anyhow::Result<u32> {
        let mut returned = 0;
        let mut next = Some(self.duplex.event().await);
        while let Some(event) = next.take() {
            match event {
                DuplexEvent::Received(Message::Binary(frame)) => {
                    ensure!(frame == self.frame, "another frame came back than was sent");
                    let Some(sent) = self.sent.pop_front() else { bail!("a frame came back that was not sent") };
                    latencies.record(nanos_since(sent));
                    returned += 1;
                }
                DuplexEvent::Flushed
                | DuplexEvent::Received(Message::Text(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {
                }
                DuplexEvent::Received(Message::Close(_)) | DuplexEvent::Ended(_) => bail!("the echo's server is gone"),
            }
            next = self.duplex.event().now_or_never();
        }
        Ok(returned)
    }
}
