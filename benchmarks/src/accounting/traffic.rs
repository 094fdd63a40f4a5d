//! What clients and one server said to each other, counted by the clients.

use std::io;
use std::ops::Sub;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Counts of one server, of all its clients.
#[derive(Debug, Default)]
pub struct Traffic {
    messages: AtomicU64,
    bytes_up: AtomicU64,
    bytes_down: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficCounts {
    /// Requests and replies: whatever is sent in one piece, however many commands or frames are in it.
    pub messages: u64,
    pub bytes_up: u64,
    pub bytes_down: u64,
}

impl Traffic {
    /// A request that was answered.
    pub fn exchanged(&self) {
        self.messages.fetch_add(2, Ordering::Relaxed);
    }

    /// What a client counted itself.
    pub fn carried(&self, messages: u64, bytes_up: u64, bytes_down: u64) {
        self.messages.fetch_add(messages, Ordering::Relaxed);
        self.bytes_up.fetch_add(bytes_up, Ordering::Relaxed);
        self.bytes_down.fetch_add(bytes_down, Ordering::Relaxed);
    }

    pub fn counts(&self) -> TrafficCounts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        TrafficCounts { messages: of(&self.messages), bytes_up: of(&self.bytes_up), bytes_down: of(&self.bytes_down) }
    }
}

impl Sub for TrafficCounts {
    type Output = TrafficCounts;

    fn sub(self, before: TrafficCounts) -> TrafficCounts {
        TrafficCounts {
            messages: self.messages - before.messages,
            bytes_up: self.bytes_up - before.bytes_up,
            bytes_down: self.bytes_down - before.bytes_down,
        }
    }
}

/// A socket whose bytes are counted.
#[derive(Debug)]
pub struct Counted {
    socket: TcpStream,
    traffic: Arc<Traffic>,
}

impl Counted {
    pub async fn connect(address: std::net::SocketAddr, traffic: Arc<Traffic>) -> io::Result<Counted> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Counted { socket, traffic })
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.socket).poll_read(context, buffer);
        self.traffic.bytes_down.fetch_add((buffer.filled().len() - before) as u64, Ordering::Relaxed);
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = polled {
            self.traffic.bytes_up.fetch_add(count as u64, Ordering::Relaxed);
        }
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        if let Poll::Ready(Ok(count)) = polled {
            self.traffic.bytes_up.fetch_add(count as u64, Ordering::Relaxed);
        }
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn bytes_of_both_directions_are_counted() {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let traffic = Arc::new(Traffic::default());
        let mut client = Counted::connect(address, traffic.clone()).await.expect("it listens");
        let (mut server, _) = listener.accept().await.expect("it connects");
        client.write_all(b"ask").await.expect("it is open");
        let mut asked = [0; 3];
        server.read_exact(&mut asked).await.expect("it comes");
        server.write_all(b"answer").await.expect("it is open");
        let mut answer = [0; 6];
        client.read_exact(&mut answer).await.expect("it comes");
        traffic.exchanged();
        assert_eq!(traffic.counts(), TrafficCounts { messages: 2, bytes_up: 3, bytes_down: 6 });
    }
}
