//! A link with a delay: a proxy that holds every byte for a while, in both directions. For measurements.
//!
//! A thread holds them: the runtime's timer counts whole milliseconds, which would more than double a short delay.
//!
//! Invariant: bytes keep their order and are never changed; a connection that ends on one side ends on the other, as late.

use std::net::SocketAddr;
use std::sync::mpsc as line;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Listens on a free port of loopback, until it is dropped.
#[derive(Debug)]
pub struct DelayProxy {
    address: SocketAddr,
    task: JoinHandle<()>,
}

/// A chunk on its way, and its place behind the link.
struct Held {
    due: Instant,
    chunk: Vec<u8>,
    place: mpsc::OwnedPermit<Vec<u8>>,
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
        let (held, holder) = line::channel();
        std::thread::Builder::new().name("delay".to_owned()).spawn(move || hold(&holder))?;
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, target, one_way, held.clone()));
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

/// Lets each chunk go when it is due. All are held equally long, so they are due in the order in which they come.
fn hold(held: &line::Receiver<Held>) {
    for Held { due, chunk, place } in held {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        place.send(chunk);
    }
}

async fn carry(client: TcpStream, target: SocketAddr, one_way: Duration, held: line::Sender<Held>) {
    let Ok(server) = TcpStream::connect(target).await else { return };
    for socket in [&client, &server] {
        let _ = socket.set_nodelay(true);
    }
    let (client_in, client_out) = client.into_split();
    let (server_in, server_out) = server.into_split();
    let there = one_direction(client_in, server_out, one_way, held.clone());
    tokio::join!(there, one_direction(server_in, client_out, one_way, held));
}

async fn one_direction(from: OwnedReadHalf, to: OwnedWriteHalf, delay: Duration, held: line::Sender<Held>) {
    let (sender, receiver) = mpsc::channel(CHUNKS_MAX);
    tokio::join!(read(from, sender, delay, held), write(receiver, to));
}

async fn read(mut from: OwnedReadHalf, sender: mpsc::Sender<Vec<u8>>, delay: Duration, held: line::Sender<Held>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(count) = from.read(&mut chunk).await {
        let due = Instant::now() + delay;
        let Ok(place) = sender.clone().reserve_owned().await else { return };
        if count == 0 || held.send(Held { due, chunk: chunk[..count].to_vec(), place }).is_err() {
            return;
        }
    }
}

async fn write(mut receiver: mpsc::Receiver<Vec<u8>>, mut to: OwnedWriteHalf) {
    while let Some(chunk) = receiver.recv().await {
        if to.write_all(&chunk).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that says everything back, behind a link.
    async fn echo_behind(one_way: Duration) -> (DelayProxy, JoinHandle<()>) {
        let server = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let target = server.local_addr().expect("it listens");
        let echo = tokio::spawn(async move {
            let (socket, _) = server.accept().await.expect("the proxy connects");
            socket.set_nodelay(true).expect("it is open");
            let (mut from, mut to) = socket.into_split();
            tokio::io::copy(&mut from, &mut to).await.expect("it echoes");
        });
        (DelayProxy::start(target, one_way).await.expect("a free port"), echo)
    }

    #[tokio::test]
    async fn bytes_come_through_in_order_and_no_earlier_than_the_delay() {
        let one_way = Duration::from_millis(20);
        let (proxy, echo) = echo_behind(one_way).await;
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

    #[tokio::test]
    async fn a_short_delay_is_not_rounded_up_to_the_milliseconds_of_the_runtime() {
        let one_way = Duration::from_micros(500);
        let (proxy, _echo) = echo_behind(one_way).await;
        let mut socket = TcpStream::connect(proxy.address()).await.expect("it listens");
        socket.set_nodelay(true).expect("it is open");
        let mut shortest = Duration::MAX;
        for _ in 0..50 {
            let begun = Instant::now();
            socket.write_all(b"x").await.expect("it takes it");
            socket.read_exact(&mut [0]).await.expect("it comes back");
            shortest = shortest.min(begun.elapsed());
        }
        // Another process may have the processor most of the time, but not always.
        assert!(shortest >= 2 * one_way && shortest < Duration::from_micros(1900), "{shortest:?}");
    }
}
