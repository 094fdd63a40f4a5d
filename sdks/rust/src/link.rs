//! The link's task: carries frames between the core and a gateway.
//!
//! Invariant: frames that have arrived together are handed in together, so that pending mutations are rebased once for all of them.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use futures_util::FutureExt;
use iolite_client::{Gateway, Input};
use iolite_host::{Clock, Duplex, DuplexEvent};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::pump::LinkOrder;
use crate::shared::Shared;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;
type Connecting = Pin<Box<dyn Future<Output = Result<Box<Socket>, Box<Error>>> + Send>>;

pub(crate) enum Link {
    None,
    Connecting(Connecting),
    Open(Duplex<Box<Socket>, Message>),
}

/// Frames that are handed in together at most.
const FRAMES_AT_ONCE: usize = 256;
/// What is read at once. The socket zeroes so much before each read; most frames are far smaller, and a larger one is read in pieces of what it takes.
const READ_BUFFER_BYTES: usize = 8 << 10;

/// Runs until the client is dropped.
pub(crate) async fn run(client: Weak<Shared>, urls: Vec<String>, clock: Clock, wake: Arc<Notify>) {
    let mut link = Link::None;
    loop {
        let Some(shared) = client.upgrade() else { break };
        let work = shared.take_link_work();
        for order in work.orders {
            obey(order, &mut link, &urls, &shared);
        }
        drop(shared);
        let deadline = work.deadline.map(|at| clock.deadline(at));
        let mut events = Vec::new();
        tokio::select! {
            biased;
            event = link.event() => link.on_event(event, &mut events),
            () = wake.notified() => {}
            () = sleep_until(deadline) => {}
        }
        let due = deadline.is_some_and(|deadline| deadline <= tokio::time::Instant::now());
        if (due || !events.is_empty())
            && let Some(shared) = client.upgrade()
        {
            shared.heard(events.into_iter().map(|event| heard(event, &shared)).collect());
        }
    }
    link.close().await;
}

/// An event of a link, for the core.
pub(crate) enum LinkEvent {
    Linked,
    /// For people: why, if that is known.
    Lost(Option<String>),
    Frame(Vec<u8>),
}

pub(crate) enum Event {
    Connected(Result<Box<Socket>, Box<Error>>),
    Socket(DuplexEvent<Message, Error>),
}

fn obey(order: LinkOrder, link: &mut Link, urls: &[String], shared: &Shared) {
    match order {
        LinkOrder::Connect(Gateway(place)) => link.connect(urls[usize::from(place)].clone()),
        LinkOrder::Disconnect => link.drop_it(),
        LinkOrder::Send(frame) => {
            if link.is_open() {
                shared.traffic.sent(frame.len());
                link.send(frame);
            }
        }
    }
}

fn heard(event: LinkEvent, shared: &Shared) -> Input {
    match event {
        LinkEvent::Linked => Input::Linked,
        LinkEvent::Lost(_) => Input::LinkLost,
        LinkEvent::Frame(frame) => {
            shared.traffic.received(frame.len());
            Input::Frame(frame)
        }
    }
}

impl Link {
    pub(crate) fn connect(&mut self, url: String) {
        *self = Link::Connecting(connect(url));
    }

    pub(crate) fn drop_it(&mut self) {
        *self = Link::None;
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Link::Open(_))
    }

    /// Sends a frame. One for a link that has just ended is lost: the core hears of the end, and sends what matters again.
    pub(crate) fn send(&mut self, frame: Vec<u8>) {
        if let Link::Open(duplex) = self {
            duplex.push(Message::Binary(frame.into()));
        }
    }

    pub(crate) async fn event(&mut self) -> Event {
        match self {
            Link::None => std::future::pending().await,
            Link::Connecting(connecting) => Event::Connected(connecting.await),
            Link::Open(duplex) => Event::Socket(duplex.event().await),
        }
    }

    /// Takes an event and all others that are there already.
    pub(crate) fn on_event(&mut self, event: Event, events: &mut Vec<LinkEvent>) {
        let mut next = Some(event);
        while let Some(event) = next.take() {
            match event {
                Event::Connected(Ok(socket)) => {
                    *self = Link::Open(Duplex::new(socket));
                    events.push(LinkEvent::Linked);
                    return;
                }
                Event::Socket(DuplexEvent::Received(Message::Binary(frame))) => {
                    events.push(LinkEvent::Frame(frame.into()));
                }
                Event::Socket(DuplexEvent::Flushed)
                | Event::Socket(DuplexEvent::Received(
                    Message::Text(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_),
                )) => {}
                Event::Connected(Err(error)) => return self.lost(Some(*error), events),
                Event::Socket(DuplexEvent::Received(Message::Close(_))) => return self.lost(None, events),
                Event::Socket(DuplexEvent::Ended(error)) => return self.lost(error, events),
            }
            if events.len() < FRAMES_AT_ONCE {
                next = self.event().now_or_never();
            }
        }
    }

    fn lost(&mut self, error: Option<Error>, events: &mut Vec<LinkEvent>) {
        *self = Link::None;
        events.push(LinkEvent::Lost(error.map(|error| error.to_string())));
    }

    /// Sends what waits and says goodbye, as far as that goes at once.
    pub(crate) async fn close(self) {
        let Link::Open(mut duplex) = self else { return };
        duplex.push(Message::Close(None));
        let _ = duplex.event().now_or_never();
    }
}

fn connect(url: String) -> Connecting {
    Box::pin(async move {
        let bytes_max = iolite_wire::limits::FROM_GATEWAY.bytes.most;
        let config = WebSocketConfig::default().max_message_size(Some(bytes_max)).max_frame_size(Some(bytes_max));
        let config = config.read_buffer_size(READ_BUFFER_BYTES);
        let nodelay = true;
        let connected = tokio_tungstenite::connect_async_with_config(url, Some(config), nodelay).await;
        connected.map(|(socket, _)| Box::new(socket)).map_err(Box::new)
    })
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
