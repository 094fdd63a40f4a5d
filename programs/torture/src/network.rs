//! The network between nodes: every link of one node to another goes through a proxy that can be cut, each way for itself.
//!
//! Invariant: what is cut is held, and neither changed nor dropped: whether a link outlives that is for those at its ends. A connection's end is
//! held like everything else.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::Context;
use iolite_node::NodeRole;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// From one node to another.
pub type Way = (NodeRole, NodeRole);

#[derive(Debug, Default)]
pub struct Network {
    ways: BTreeMap<Way, watch::Sender<bool>>,
    proxies: Vec<JoinHandle<()>>,
}

const CHUNK_BYTES: usize = 16 << 10;

impl Network {
    /// Where `from` is to dial to reach `to`, which listens there.
    pub async fn link(&mut self, from: NodeRole, to: NodeRole, target: SocketAddr) -> anyhow::Result<SocketAddr> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port for a proxy")?;
        let address = listener.local_addr()?;
        let (up, down) = (self.is_cut((from, to)), self.is_cut((to, from)));
        self.proxies.push(tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, target, up.clone(), down.clone()));
            }
        }));
        Ok(address)
    }

    fn is_cut(&mut self, way: Way) -> watch::Receiver<bool> {
        self.ways.entry(way).or_insert_with(|| watch::channel(false).0).subscribe()
    }

    pub fn cut(&self, way: Way) {
        self.set(way, true);
    }

    pub fn heal(&self, way: Way) {
        self.set(way, false);
    }

    fn set(&self, way: Way, is_cut: bool) {
        if let Some(own) = self.ways.get(&way) {
            own.send_replace(is_cut);
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.proxies.iter().for_each(JoinHandle::abort);
    }
}

async fn carry(client: TcpStream, target: SocketAddr, up: watch::Receiver<bool>, down: watch::Receiver<bool>) {
    // Whoever dials finds out by the connection's end.
    let Ok(server) = TcpStream::connect(target).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::join!(pump(from_client, to_server, up), pump(from_server, to_client, down));
}

/// Ends with the connection.
async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_cut: watch::Receiver<bool>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = from.read(&mut chunk).await.unwrap_or(0);
        if is_cut.wait_for(|is_cut| !is_cut).await.is_err() {
            return;
        }
        if read == 0 || to.write_all(&chunk[..read]).await.is_err() {
            let _ = to.shutdown().await;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use iolite_node::NodeRole;

    use super::*;

    #[tokio::test]
    async fn a_way_that_is_cut_holds_what_is_sent_and_the_other_goes_on() {
        let roles = ["store-0", "store-1"]
            .map(|name| NodeRole::of(&iolite_host::NodeName::new(name).expect("a name")).expect("a node"));
        let (from, to) = (roles[0], roles[1]);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let mut network = Network::default();
        let address = network.link(from, to, listener.local_addr().expect("it listens")).await.expect("a free port");
        let mut client = TcpStream::connect(address).await.expect("it listens");
        let (mut server, _) = listener.accept().await.expect("it was dialled");
        let mut byte = [0];
        network.cut((from, to));
        client.write_all(b"a").await.expect("it is open");
        server.write_all(b"b").await.expect("it is open");
        client.read_exact(&mut byte).await.expect("this way is whole");
        assert_eq!(&byte, b"b");
        let held = tokio::time::timeout(Duration::from_millis(100), server.read_exact(&mut byte)).await;
        assert!(held.is_err(), "it came through");
        network.heal((from, to));
        server.read_exact(&mut byte).await.expect("it was held");
        assert_eq!(&byte, b"a");
    }
}
