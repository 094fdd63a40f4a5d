//! Links that can be cut: proxies that carry nothing while the gate is shut.
//!
//! Invariants: bytes keep their order and are never changed or lost; what comes while the gate is shut is carried once it opens, as TCP would send it again.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Proxies on a thread of their own, which are shut and opened together.
#[derive(Debug)]
pub struct Gate {
    is_open: watch::Sender<bool>,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

const CHUNK_BYTES: usize = 16 << 10;

impl Gate {
    /// An open gate, with no link through it yet.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn open() -> anyhow::Result<Gate> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Gate { is_open: watch::Sender::new(true), runtime: Some(runtime) })
    }

    /// Where to connect to, to reach an address through the gate.
    ///
    /// # Errors
    /// When no port can be listened on.
    pub async fn to(&self, target: SocketAddr) -> anyhow::Result<SocketAddr> {
        let runtime = self.runtime.as_ref().expect("it is there until this is dropped");
        let is_open = self.is_open.subscribe();
        let listener = runtime.spawn(TcpListener::bind(("127.0.0.1", 0))).await??;
        let address = listener.local_addr()?;
        runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, target, is_open.clone()));
            }
        });
        Ok(address)
    }

    pub fn cut(&self) {
        self.is_open.send_replace(false);
    }

    pub fn heal(&self) {
        self.is_open.send_replace(true);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // Dropping a runtime waits, which is forbidden inside of another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn carry(client: TcpStream, target: SocketAddr, mut is_open: watch::Receiver<bool>) {
    if is_open.wait_for(|is_open| *is_open).await.is_err() {
        return;
    }
    let Ok(server) = TcpStream::connect(target).await else { return };
    for socket in [&client, &server] {
        let _ = socket.set_nodelay(true);
    }
    let (client_in, client_out) = client.into_split();
    let (server_in, server_out) = server.into_split();
    tokio::join!(one_direction(client_in, server_out, is_open.clone()), one_direction(server_in, client_out, is_open));
}

/// Also the end of a connection is carried only while the gate is open.
async fn one_direction(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_open: watch::Receiver<bool>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = from.read(&mut chunk).await.unwrap_or_default();
        if is_open.wait_for(|is_open| *is_open).await.is_err() {
            return;
        }
        if count == 0 || to.write_all(&chunk[..count]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn what_is_sent_while_it_is_cut_comes_once_it_is_healed() {
        let server = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let gate = Gate::open().expect("a thread");
        let address = gate.to(server.local_addr().expect("it listens")).await.expect("a free port");
        let mut client = TcpStream::connect(address).await.expect("it listens");
        let (mut served, _) = server.accept().await.expect("the gate connects");
        let mut got = [0; 2];
        client.write_all(b"ab").await.expect("it takes them");
        served.read_exact(&mut got).await.expect("they come");
        gate.cut();
        client.write_all(b"cd").await.expect("it takes them");
        let nothing = tokio::time::timeout(Duration::from_millis(50), served.read_exact(&mut got)).await;
        assert!(nothing.is_err(), "the gate is shut: {got:?}");
        gate.heal();
        served.read_exact(&mut got).await.expect("they come");
        assert_eq!(&got, b"cd");
        drop(client);
        assert_eq!(served.read(&mut got).await.expect("it is open"), 0, "the end comes, too");
    }
}
