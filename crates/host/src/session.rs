//! Sessions: WebSocket connections, each with a task that decodes what comes and encodes what goes.
//!
//! Invariants:
//! - a session is opened once and closed once, and nothing of it comes before or after;
//! - of the messages that a machine sends to a session, only those that its socket has taken are called drained.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::mailbox::Share;
use crate::{Duplex, DuplexEvent, Mailbox, Metric, Metrics, Stop};

/// Names a session. Never used again in this process.
pub type SessionNumber = u64;

/// What happens to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEvent<M> {
    Opened,
    Message(M),
    /// A frame that is no message, and why. Nothing that comes after it is read.
    Garbled(String),
    /// The socket took this many more messages.
    Drained(usize),
    Closed,
}

/// One session's translation between frames and messages.
pub trait Codec: Send + 'static {
    type Incoming: Send + 'static;
    type Outgoing: Send + 'static;

    /// # Errors
    /// What is wrong with the frame, for people.
    fn decode(&mut self, frame: &[u8]) -> Result<Self::Incoming, String>;

    /// # Errors
    /// Why the message cannot be sent. The session is closed, since its other side would miss something.
    fn encode(&mut self, message: &Self::Outgoing) -> Result<Vec<u8>, String>;

    /// Appends what [`Codec::encode`] gives to bytes that wait to be sent. To be written where many small messages are worth it.
    ///
    /// # Errors
    /// As [`Codec::encode`]. What was appended by then is taken off again.
    fn encode_into(&mut self, message: &Self::Outgoing, bytes: &mut Vec<u8>) -> Result<(), String> {
        bytes.extend_from_slice(&self.encode(message)?);
        Ok(())
    }
}

/// What sessions are made with.
pub trait SessionHandler: Clone + Send + Sync + 'static {
    type Codec: Codec;
    type Input: Send + 'static;

    fn codec(&self) -> Self::Codec;

    fn input(&self, session: SessionNumber, event: SessionEvent<Incoming<Self>>) -> Self::Input;

    /// Bytes of the largest frame that is looked at. A socket with a larger one is closed without another word.
    fn frame_bytes_max(&self) -> usize;
}

type Incoming<H> = <<H as SessionHandler>::Codec as Codec>::Incoming;
type Outgoing<H> = <<H as SessionHandler>::Codec as Codec>::Outgoing;

/// All sessions of one listener.
pub struct Endpoint<H: SessionHandler> {
    handler: H,
    mailbox: Mailbox<H::Input>,
    outboxes: Arc<Outboxes<Outgoing<H>>>,
    last: Arc<AtomicU64>,
    traffic: Traffic,
    stop: Stop,
}

type Outboxes<M> = Mutex<BTreeMap<SessionNumber, mpsc::UnboundedSender<ToSession<M>>>>;

#[derive(Debug)]
enum ToSession<M> {
    Message(M),
    Close,
}

#[derive(Clone, Debug)]
struct Traffic {
    sessions: Metric,
    opened: Metric,
    frames_in: Metric,
    frames_out: Metric,
    bytes_in: Metric,
    bytes_out: Metric,
}

impl Traffic {
    fn of_sync(metrics: &Metrics) -> Traffic {
        Traffic {
            sessions: metrics.gauge("iolite_sessions", "Sessions that are open."),
            opened: metrics.counter("iolite_sessions_opened_total", "Sessions that were opened."),
            frames_in: metrics.counter("iolite_frames_received_total", "Frames from clients."),
            frames_out: metrics.counter("iolite_frames_sent_total", "Frames to clients."),
            bytes_in: metrics.counter("iolite_payload_received_bytes_total", "Payload of frames from clients."),
            bytes_out: metrics.counter("iolite_payload_sent_bytes_total", "Payload of frames to clients."),
        }
    }

    fn of_blobs(metrics: &Metrics) -> Traffic {
        Traffic {
            sessions: metrics.gauge("iolite_blob_connections", "Connections to /blobs that are open."),
            opened: metrics.counter("iolite_blob_connections_opened_total", "Connections to /blobs that were opened."),
            frames_in: metrics.counter("iolite_blob_frames_received_total", "Frames from clients on /blobs."),
            frames_out: metrics.counter("iolite_blob_frames_sent_total", "Frames to clients on /blobs."),
            bytes_in: metrics.counter("iolite_blob_received_bytes_total", "Payload of frames from clients on /blobs."),
            bytes_out: metrics.counter("iolite_blob_sent_bytes_total", "Payload of frames to clients on /blobs."),
        }
    }

    fn of_objects(metrics: &Metrics) -> Traffic {
        Traffic {
            sessions: metrics.gauge("iolite_object_connections", "Connections to /objects that are open."),
            opened: metrics
                .counter("iolite_object_connections_opened_total", "Connections to /objects that were opened."),
            frames_in: metrics.counter("iolite_object_frames_received_total", "Frames from nodes on /objects."),
            frames_out: metrics.counter("iolite_object_frames_sent_total", "Frames to nodes on /objects."),
            bytes_in: metrics
                .counter("iolite_object_received_bytes_total", "Payload of frames from nodes on /objects."),
            bytes_out: metrics.counter("iolite_object_sent_bytes_total", "Payload of frames to nodes on /objects."),
        }
    }
}

/// Frames that are encoded ahead of what the socket has taken.
const FRAMES_AHEAD: usize = 64;
/// Messages after which the machine is told that they are drained. What is not told yet is little beside what a machine allows a session.
const TELL_DRAINED: usize = 64;
/// Bytes after which it is told at once.
const TELL_DRAINED_BYTES: usize = 64 << 10;
/// Time after which it is told in any case: what is little on the wire may count for much with the machine, which then waits to hear of it.
const TELL_DRAINED_WITHIN: Duration = Duration::from_secs(1);
/// Bytes of one session's messages that wait for the machine, and one message that is larger. However much a client sends, others wait behind no more of it.
const SESSION_INBOX_BYTES_MAX: usize = 128 << 10;
/// How long a closing session may take to send its last messages.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

impl<H: SessionHandler> Clone for Endpoint<H> {
    fn clone(&self) -> Endpoint<H> {
        Endpoint {
            handler: self.handler.clone(),
            mailbox: self.mailbox.clone(),
            outboxes: self.outboxes.clone(),
            last: self.last.clone(),
            traffic: self.traffic.clone(),
            stop: self.stop.clone(),
        }
    }
}

impl<H: SessionHandler> Endpoint<H> {
    /// Sessions of `/sync`.
    pub fn new(handler: H, mailbox: Mailbox<H::Input>, metrics: &Metrics, stop: Stop) -> Endpoint<H> {
        Endpoint::of(handler, mailbox, Traffic::of_sync(metrics), stop)
    }

    /// Connections to `/blobs`, which metrics count apart.
    pub fn for_blobs(handler: H, mailbox: Mailbox<H::Input>, metrics: &Metrics, stop: Stop) -> Endpoint<H> {
        Endpoint::of(handler, mailbox, Traffic::of_blobs(metrics), stop)
    }

    /// Connections to `/objects`, which metrics count apart.
    pub fn for_objects(handler: H, mailbox: Mailbox<H::Input>, metrics: &Metrics, stop: Stop) -> Endpoint<H> {
        Endpoint::of(handler, mailbox, Traffic::of_objects(metrics), stop)
    }

    fn of(handler: H, mailbox: Mailbox<H::Input>, traffic: Traffic, stop: Stop) -> Endpoint<H> {
        Endpoint { handler, mailbox, outboxes: Arc::default(), last: Arc::default(), traffic, stop }
    }

    /// Sends a message to a session, if it is still there.
    pub fn send(&self, session: SessionNumber, message: Outgoing<H>) {
        self.post(session, ToSession::Message(message));
    }

    /// Closes a session once its messages are sent, or after a second.
    pub fn close(&self, session: SessionNumber) {
        self.post(session, ToSession::Close);
    }

    pub(crate) fn frame_bytes_max(&self) -> usize {
        self.handler.frame_bytes_max()
    }

    /// Serves one connection to its end.
    pub(crate) async fn serve(self, socket: WebSocket) {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (outbox, messages) = mpsc::unbounded_channel();
        self.outboxes.lock().unwrap_or_else(PoisonError::into_inner).insert(number, outbox);
        self.traffic.sessions.add(1);
        self.traffic.opened.add(1);
        self.mailbox.send(self.handler.input(number, SessionEvent::Opened));
        let session = Session {
            endpoint: &self,
            number,
            codec: self.handler.codec(),
            inbox: self.mailbox.share(SESSION_INBOX_BYTES_MAX),
            reading: Reading::Open,
            duplex: Duplex::new(socket),
            untold_bytes: 0,
            untold: 0,
            tell_at: Instant::now(),
        };
        session.run(messages).await;
        self.outboxes.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        self.traffic.sessions.subtract(1);
        self.mailbox.send(self.handler.input(number, SessionEvent::Closed));
    }

    fn post(&self, session: SessionNumber, message: ToSession<Outgoing<H>>) {
        let outboxes = self.outboxes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outbox) = outboxes.get(&session) {
            // Its task has just ended, and is about to say so.
            let _ = outbox.send(message);
        }
    }
}

struct Session<'a, H: SessionHandler> {
    endpoint: &'a Endpoint<H>,
    number: SessionNumber,
    codec: H::Codec,
    /// Where its messages wait for the machine.
    inbox: Share<H::Input>,
    reading: Reading,
    duplex: Duplex<WebSocket, Message>,
    /// Bytes and messages that the socket took and the machine was not told of.
    untold_bytes: usize,
    untold: usize,
    /// When it is told of these, if no more come.
    tell_at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Open,
    /// A frame made no sense: the rest is not read, and the machine says goodbye.
    Garbled,
}

/// Whether a session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    GoOn,
    /// Its last frames are on their way.
    Close,
    /// Its socket is gone.
    Gone,
}

impl<H: SessionHandler> Session<'_, H> {
    async fn run(mut self, mut outbox: mpsc::UnboundedReceiver<ToSession<Outgoing<H>>>) {
        let mut batch = Vec::new();
        let mut stop = self.endpoint.stop.clone();
        loop {
            let room = FRAMES_AHEAD.saturating_sub(self.duplex.waiting());
            let step = tokio::select! {
                biased;
                () = stop.wait() => Step::Close,
                count = outbox.recv_many(&mut batch, room), if room > 0 => match count {
                    0 => Step::Close,
                    _ => self.take(&mut batch),
                },
                event = self.duplex.event() => self.on_event(event).await,
                () = tokio::time::sleep_until(self.tell_at), if self.untold > 0 => Step::GoOn,
            };
            match step {
                Step::GoOn => self.note_drained(),
                Step::Close => return self.close().await,
                Step::Gone => return,
            }
        }
    }

    fn take(&mut self, batch: &mut Vec<ToSession<Outgoing<H>>>) -> Step {
        for item in batch.drain(..) {
            let ToSession::Message(message) = item else { return Step::Close };
            let frame = match self.codec.encode(&message) {
                Ok(frame) => frame,
                Err(problem) => {
                    tracing::error!(session = self.number, problem, "a message cannot be sent: its session is closed");
                    return Step::Close;
                }
            };
            self.endpoint.traffic.frames_out.add(1);
            self.endpoint.traffic.bytes_out.add(frame.len() as u64);
            self.untold_bytes += frame.len();
            self.duplex.push(Message::Binary(frame.into()));
        }
        Step::GoOn
    }

    async fn on_event(&mut self, event: DuplexEvent<Message, axum::Error>) -> Step {
        match event {
            DuplexEvent::Received(Message::Binary(frame)) => {
                self.on_frame(&frame).await;
                Step::GoOn
            }
            DuplexEvent::Received(Message::Ping(_) | Message::Pong(_)) | DuplexEvent::Flushed => Step::GoOn,
            // Frames are binary: whoever sends text speaks another protocol.
            DuplexEvent::Received(Message::Text(_)) => Step::Close,
            DuplexEvent::Received(Message::Close(_)) | DuplexEvent::Ended(_) => Step::Gone,
        }
    }

    async fn on_frame(&mut self, frame: &[u8]) {
        if self.reading == Reading::Garbled {
            return;
        }
        self.endpoint.traffic.frames_in.add(1);
        self.endpoint.traffic.bytes_in.add(frame.len() as u64);
        match self.codec.decode(frame) {
            Ok(message) => {
                let input = self.input(SessionEvent::Message(message));
                self.inbox.send_sized(frame.len(), input).await;
            }
            Err(problem) => {
                self.reading = Reading::Garbled;
                self.endpoint.mailbox.send(self.input(SessionEvent::Garbled(problem)));
            }
        }
    }

    fn note_drained(&mut self) {
        let taken = self.duplex.take_taken();
        if self.untold == 0 && taken > 0 {
            self.tell_at = Instant::now() + TELL_DRAINED_WITHIN;
        }
        self.untold += taken;
        let many = self.untold >= TELL_DRAINED || self.untold_bytes >= TELL_DRAINED_BYTES;
        if self.untold > 0 && (many || Instant::now() >= self.tell_at) {
            let drained = std::mem::take(&mut self.untold);
            self.untold_bytes = 0;
            self.endpoint.mailbox.send(self.input(SessionEvent::Drained(drained)));
        }
    }

    fn input(&self, event: SessionEvent<Incoming<H>>) -> H::Input {
        self.endpoint.handler.input(self.number, event)
    }

    async fn close(mut self) {
        self.duplex.push(Message::Close(None));
        let sent = async {
            loop {
                match self.duplex.event().await {
                    DuplexEvent::Received(Message::Close(_)) | DuplexEvent::Ended(_) => return,
                    DuplexEvent::Received(_) | DuplexEvent::Flushed => {}
                }
            }
        };
        let _ = tokio::time::timeout(CLOSE_WITHIN, sent).await;
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::{Inbox, Origins, Probes, Shutdown, Site, bind, mailbox};

    #[derive(Clone)]
    struct Bytes;

    impl Codec for Bytes {
        type Incoming = Vec<u8>;
        type Outgoing = Vec<u8>;

        fn decode(&mut self, frame: &[u8]) -> Result<Vec<u8>, String> {
            Ok(frame.to_vec())
        }

        fn encode(&mut self, message: &Vec<u8>) -> Result<Vec<u8>, String> {
            Ok(message.clone())
        }
    }

    impl SessionHandler for Bytes {
        type Codec = Bytes;
        type Input = SessionEvent<Vec<u8>>;

        fn codec(&self) -> Bytes {
            Bytes
        }

        fn input(&self, _session: SessionNumber, event: SessionEvent<Vec<u8>>) -> SessionEvent<Vec<u8>> {
            event
        }

        fn frame_bytes_max(&self) -> usize {
            100
        }
    }

    impl Probes for Bytes {
        fn is_ready(&self) -> bool {
            true
        }
    }

    async fn next(inbox: &mut Inbox<SessionEvent<Vec<u8>>>) -> Vec<SessionEvent<Vec<u8>>> {
        assert!(inbox.wait().await);
        inbox.take().collect()
    }

    /// Asks for a session from a page of this origin, and gives the status that it gets.
    async fn ask(address: SocketAddr, origin: &str) -> (TcpStream, u16) {
        let mut socket = TcpStream::connect(address).await.expect("it listens");
        let upgrade = format!(
            "GET /sync HTTP/1.1\r\nHost: gateway.example\r\nOrigin: {origin}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        socket.write_all(upgrade.as_bytes()).await.expect("it reads");
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).await.expect("it answers");
        let status = str::from_utf8(&answer).ok().and_then(|answer| answer.strip_prefix("HTTP/1.1 "));
        (socket, status.and_then(|status| status.parse().ok()).expect("a status"))
    }

    /// Where sessions of programs and of pages of one more site are served.
    async fn serve() -> (SocketAddr, Inbox<SessionEvent<Vec<u8>>>, Shutdown) {
        let (mailbox, inbox) = mailbox(1000);
        let (metrics, shutdown) = (Metrics::default(), Shutdown::new());
        let endpoint = Endpoint::new(Bytes, mailbox, &metrics, shutdown.listen());
        let listener = bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let origins = Origins::new(&["https://app.example".to_owned()]).expect("an origin");
        let site = Site::new(metrics, Arc::new(Bytes)).with_sessions(endpoint, origins);
        tokio::spawn(site.serve(listener, shutdown.listen()));
        (address, inbox, shutdown)
    }

    #[tokio::test]
    async fn pages_of_this_port_and_of_named_origins_get_a_session() {
        let (address, _inbox, _shutdown) = serve().await;
        for (origin, status) in [
            ("http://gateway.example", 101),
            ("https://app.example", 101),
            ("http://app.example", 403),
            ("https://evil.example", 403),
        ] {
            assert_eq!(ask(address, origin).await.1, status, "{origin}");
        }
    }

    #[tokio::test]
    async fn a_session_whose_connection_breaks_without_a_word_is_closed() {
        let (address, mut inbox, _shutdown) = serve().await;
        let (socket, status) = ask(address, "http://gateway.example").await;
        assert_eq!(status, 101);
        assert_eq!(next(&mut inbox).await, [SessionEvent::Opened]);
        drop(socket);
        let closed = tokio::time::timeout(CLOSE_WITHIN * 10, next(&mut inbox)).await;
        assert_eq!(closed.expect("it is told"), [SessionEvent::Closed]);
    }
}
