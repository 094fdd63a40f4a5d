//! A link with a delay: a proxy that holds every byte for a while, in both directions. For measurements.
//!
//! Invariant: bytes keep their order and are never changed; a connection that ends on one side ends on the other, as late.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Listens on a free port of loopback, until it is dropped.
#[derive(Debug)]
pub struct DelayProxy {
    address: SocketAddr,
    task: JoinHandle<()>,
}

/// Chunks on their way: what a link of this speed can hold.
const CHUNKS_MAX: usize = 4096;
const CHUNK_BYTES: usize = 16 << 10;

impl DelayProxy {
    /// Each direction takes `one_way` longer.
    ///
    /// # Errors
    /// When no port can be listened on.
    pub async fn start(target: SocketAddr, one_way: Duration) -> std::io::Result<DelayProxy> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, target, one_way));
            }
        });
        Ok(DelayProxy { address, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for DelayProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(client: TcpStream, target: SocketAddr, one_way: Duration) {
    let Ok(server) = TcpStream::connect(target).await else { return };
    for socket in [&client, &server] {
        let _ = socket.set_nodelay(true);
    }
    let (client_in, client_out) = client.into_split();
    let (server_in, server_out) = server.into_split();
    tokio::join!(one_direction(client_in, server_out, one_way), one_direction(server_in, client_out, one_way));
}

async fn one_direction(from: OwnedReadHalf, to: OwnedWriteHalf, delay: Duration) {
    let (sender, receiver) = mpsc::channel(CHUNKS_MAX);
    tokio::join!(read(from, sender, delay), write(receiver, to));
}

async fn read(mut from: OwnedReadHalf, sender: mpsc::Sender<(Instant, Vec<u8>)>, delay: Duration) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(count) = from.read(&mut chunk).await {
        let due = Instant::now() + delay;
        if count == 0 || sender.send((due, chunk[..count].to_vec())).await.is_err() {
            return;
        }
    }
}

async fn write(mut receiver: mpsc::Receiver<(Instant, Vec<u8>)>, mut to: OwnedWriteHalf) {
    let mut ready = VecDeque::new();
    while let Some((due, chunk)) = receiver.recv().await {
        ready.push_back(chunk);
        tokio::time::sleep_until(due).await;
        for chunk in ready.drain(..) {
            if to.write_all(&chunk).await.is_err() {
                return;
            }
        }
    }
    let _ = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_come_through_in_order_and_no_earlier_than_the_delay() {
        let server = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let target = server.local_addr().expect("it listens");
        let echo = tokio::spawn(async move {
            let (socket, _) = server.accept().await.expect("the proxy connects");
            let (mut from, mut to) = socket.into_split();
            tokio::io::copy(&mut from, &mut to).await.expect("it echoes");
        });
        let one_way = Duration::from_millis(20);
        let proxy = DelayProxy::start(target, one_way).await.expect("a free port");
        let mut socket = TcpStream::connect(proxy.address()).await.expect("it listens");
        let sent: Vec<u8> = (0..100_000u32).map(|number| number as u8).collect();
        let begun = Instant::now();
        socket.write_all(&sent).await.expect("it takes them");
        socket.shutdown().await.expect("it is open");
        let mut received = Vec::new();
        socket.read_to_end(&mut received).await.expect("they come back");
        assert!(begun.elapsed() >= 2 * one_way);
        assert_eq!(received, sent);
        echo.await.expect("it did not panic");
    }
}
