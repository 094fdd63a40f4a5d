//! A link that counts what goes over it and that can be cut: a proxy before a server.
//!
//! Invariants: bytes keep their order and are never changed. A frame counts when its header was read from its sender, also if a cut takes it away then.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolite_host::DelayProxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::counted::Counted;
use super::frames::{Frame, Frames};
use crate::child::Address;

/// Listens on a free port of loopback, until it is dropped.
#[derive(Debug)]
pub struct Wire {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
    _delay: Option<DelayProxy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Up,
    Down,
}

/// All that was counted since the link began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    pub up: Counted,
    pub down: Counted,
    /// The longest message to the server on `/sync`.
    pub longest_up: u64,
    /// Cuts that were made.
    pub cuts: u32,
}

#[derive(Debug, Default)]
struct Shared {
    log: Mutex<Log>,
    /// Whenever it is sent, all connections end.
    cut: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Log {
    carried: Carried,
    plan: Option<Plan>,
}

/// Cuts that are to come.
#[derive(Debug)]
struct Plan {
    direction: Direction,
    every: u64,
    left: u32,
    since_last: u64,
}

const PIECE_BYTES: usize = 64 << 10;

impl Wire {
    /// Each direction takes `one_way` longer.
    ///
    /// # Errors
    /// When no port can be listened on.
    pub async fn start(target: SocketAddr, one_way: Duration) -> std::io::Result<Wire> {
        let delay = if one_way.is_zero() { None } else { Some(DelayProxy::start(target, one_way).await?) };
        let target = delay.as_ref().map_or(target, DelayProxy::address);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, target, own.clone()));
            }
        });
        Ok(Wire { address, shared, task, _delay: delay })
    }

    /// Where a client connects to that is to be behind this link.
    pub fn to(&self, token: &str) -> Address {
        Address { url: format!("ws://{}/sync", self.address), token: token.to_owned() }
    }

    pub fn carried(&self) -> Carried {
        self.shared.log().carried
    }

    /// From now on looks for the longest message anew.
    pub fn forget_longest(&self) {
        self.shared.log().carried.longest_up = 0;
    }

    /// Cuts all connections whenever so many bytes went in a direction, so many times.
    pub fn cut(&self, direction: Direction, every: u64, times: u32) {
        self.shared.log().plan = Some(Plan { direction, every, left: times, since_last: 0 });
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.cut.send_replace(());
    }
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when the link is to be cut.
    fn count(&self, direction: Direction, bytes: usize, found: &[Frame], is_sync: bool) -> bool {
        let mut log = self.log();
        for frame in found {
            let carried = &mut log.carried;
            let counted = Counted::frame(*frame);
            match direction {
                Direction::Up => {
                    carried.up = carried.up + counted;
                    if is_sync {
                        carried.longest_up = carried.longest_up.max(frame.message);
                    }
                }
                Direction::Down => carried.down = carried.down + counted,
            }
        }
        let Some(plan) = log.plan.as_mut().filter(|plan| plan.direction == direction) else { return false };
        plan.since_last += bytes as u64;
        if plan.left == 0 || plan.since_last < plan.every {
            return false;
        }
        plan.left -= 1;
        plan.since_last = 0;
        log.carried.cuts += 1;
        true
    }
}

async fn carry(client: TcpStream, target: SocketAddr, shared: Arc<Shared>) {
    let mut cut = shared.cut.subscribe();
    let Ok(server) = TcpStream::connect(target).await else { return };
    for socket in [&client, &server] {
        let _ = socket.set_nodelay(true);
    }
    let (client_in, client_out) = client.into_split();
    let (server_in, server_out) = server.into_split();
    let there = one_direction(Direction::Up, client_in, server_out, &shared);
    let back = one_direction(Direction::Down, server_in, client_out, &shared);
    // Dropped sockets with bytes in them are reset, as by a network that is gone.
    tokio::select! {
        _ = cut.changed() => {}
        _ = async { tokio::join!(there, back) } => {}
    }
}

async fn one_direction(direction: Direction, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared) {
    let (mut frames, mut piece) = (Frames::new(), vec![0; PIECE_BYTES]);
    while let Ok(count) = from.read(&mut piece).await {
        if count == 0 {
            break;
        }
        let found = frames.feed(&piece[..count]);
        if shared.count(direction, count, &found, frames.is_on("/sync")) {
            shared.cut.send_replace(());
        }
        if to.write_all(&piece[..count]).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_link_is_cut_as_often_as_was_said_and_counts_frames() {
        let server = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let target = server.local_addr().expect("it listens");
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = server.accept().await {
                tokio::spawn(async move { tokio::io::copy(&mut socket, &mut tokio::io::sink()).await });
            }
        });
        let wire = Wire::start(target, Duration::ZERO).await.expect("a free port");
        wire.cut(Direction::Up, 100, 2);
        let mut sent = 0;
        while sent < 4 {
            let mut socket = TcpStream::connect(wire.address).await.expect("it listens");
            socket.write_all(b"GET /sync HTTP/1.1\r\n\r\n").await.expect("it takes them");
            socket.write_all(&[&[0x82, 126, 0, 200][..], &[7; 200]].concat()).await.expect("it takes them");
            sent += 1;
            if sent <= 2 {
                assert!(!matches!(socket.read(&mut [0]).await, Ok(1..)), "it is cut");
            } else {
                socket.shutdown().await.expect("it is open");
                assert_eq!(socket.read(&mut [0]).await.expect("it ends as it should"), 0);
            }
        }
        let carried = wire.carried();
        assert_eq!((carried.cuts, carried.up.messages, carried.up.message_bytes), (2, 4, 800));
        assert_eq!((carried.up.frame_bytes, carried.longest_up), (4 * 204, 200));
        assert_eq!(carried.up.network_bytes, 4 * (204 + 52));
    }
}
