//! HTTP connections: accepted, served by a router, and ended in order.
//!
//! Invariants:
//! - a connection that does not send a whole request in time is closed, also between two requests. (What becomes a session has the
//!   deadlines of its machine instead.)
//! - nor does one stay that takes nothing of what is written to it;
//! - there are never so many that no file can be opened any more: a journal that cannot open its next segment ends the server.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Sleep;

use crate::Stop;
use crate::open_files::sockets_max;

/// Connections at one time, sessions included. Who comes beyond waits until another one ends.
const CONNECTIONS_MAX: usize = 10_000;
/// From one request, or the beginning, until the next one is there.
const REQUEST_WITHIN_MAX: Duration = Duration::from_secs(10);
/// How long bytes wait that the peer does not take.
const WRITE_WITHIN_MAX: Duration = Duration::from_secs(30);
/// Bytes of a request before its body.
const REQUEST_BYTES_MAX: usize = 64 << 10;
/// How long nobody is accepted after the operating system would not accept.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// Where a request's connection comes from. Every request that the router gets has it as an extension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub IpAddr);

impl Peer {
    /// Whether it is on this machine. (A proxy of this machine is, too, whoever asked it.)
    pub fn is_loopback(self) -> bool {
        self.0.to_canonical().is_loopback()
    }
}

/// Serves until it is told to stop, and then until the last request is answered.
pub(crate) async fn serve(listener: TcpListener, router: Router, mut stop: Stop) {
    let room = Arc::new(Semaphore::new(sockets_max(CONNECTIONS_MAX)));
    let (running, mut ended) = mpsc::channel::<()>(1);
    loop {
        let socket = tokio::select! {
            biased;
            () = stop.wait() => break,
            socket = accept(&listener, &room) => socket,
        };
        let (connection, running) = (serve_one(socket, router.clone(), stop.clone()), running.clone());
        tokio::spawn(async move {
            connection.await;
            drop(running);
        });
    }
    drop((listener, running));
    // Nothing is ever sent: it ends with the last connection.
    ended.recv().await;
}

async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Socket {
    let permit = room.clone().acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                // Frames are small and each counts: none waits for the next.
                let _ = stream.set_nodelay(true);
                return Socket::new(stream, from, permit);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
            }
        }
    }
}

async fn serve_one(socket: Socket, router: Router, mut stop: Stop) {
    let mut settings = http1::Builder::new();
    settings.timer(TokioTimer::new()).header_read_timeout(REQUEST_WITHIN_MAX).max_buf_size(REQUEST_BYTES_MAX);
    let (peer, router) = (socket.peer, TowerToHyperService::new(router));
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        router.call(request)
    });
    let connection = settings.serve_connection(TokioIo::new(socket), service).with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.wait() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection has ended");
    }
}

/// A connection's socket, which makes room for another when it is dropped: by a request's connection, or by the session that it became.
struct Socket {
    stream: TcpStream,
    peer: Peer,
    write_within: Duration,
    /// While the peer takes nothing: when that has lasted too long.
    stuck: Option<Pin<Box<Sleep>>>,
    _permit: OwnedSemaphorePermit,
}

impl Socket {
    fn new(stream: TcpStream, from: SocketAddr, permit: OwnedSemaphorePermit) -> Socket {
        Socket { stream, peer: Peer(from.ip()), write_within: WRITE_WITHIN_MAX, stuck: None, _permit: permit }
    }

    /// Passes on what came of writing, unless that has waited too long.
    fn watched<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.write_within)));
        stuck.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, into)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        let written = Pin::new(&mut own.stream).poll_write(context, bytes);
        own.watched(context, written)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        let written = Pin::new(&mut own.stream).poll_write_vectored(context, parts);
        own.watched(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    /// A connection, from both ends.
    async fn connected() -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let peer = TcpStream::connect(listener.local_addr().expect("bound")).await.expect("it listens");
        (accept(&listener, &Arc::new(Semaphore::new(1))).await, peer)
    }

    #[tokio::test]
    async fn a_peer_that_takes_nothing_is_given_up() {
        let (mut socket, _peer) = connected().await;
        socket.write_within = Duration::from_millis(50);
        let error = socket.write_all(&vec![0; 64 << 20]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
