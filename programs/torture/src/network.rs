//! The network between processes: every connection of one to another goes through a proxy that can be cut, each way for itself.
//!
//! Invariant: what is cut is held, and neither changed nor dropped: whether a link outlives that is for those at its ends. A connection's end is
//! held like everything else. A way that was cut several times is whole again when each of the cuts has healed.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::callers::Callers;
use crate::party::Party;

/// From one process to another.
pub type Way = (Party, Party);

#[derive(Debug, Default)]
pub struct Network {
    /// How many cuts last of each.
    ways: BTreeMap<Way, watch::Sender<u32>>,
    proxies: Vec<JoinHandle<()>>,
}

const CHUNK_BYTES: usize = 16 << 10;

impl Network {
    /// Where `from` is to dial to reach `to`, which listens there.
    pub async fn link(&mut self, from: Party, to: Party, target: SocketAddr) -> anyhow::Result<SocketAddr> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port for a proxy")?;
        let address = listener.local_addr()?;
        let (up, down) = (self.cuts((from, to)), self.cuts((to, from)));
        self.proxies.push(tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, target, up.clone(), down.clone()));
            }
        }));
        Ok(address)
    }

    /// Where a process is to dial to reach any of these. Each of its connections goes to the next one.
    pub async fn gate(&mut self, from: Party, targets: &[(Party, SocketAddr)]) -> anyhow::Result<SocketAddr> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port for a proxy")?;
        let address = listener.local_addr()?;
        let ends = targets.iter().map(|&(to, target)| (target, self.cuts((from, to)), self.cuts((to, from))));
        let ends: Vec<_> = ends.collect();
        self.proxies.push(tokio::spawn(async move {
            for (target, up, down) in ends.iter().cycle() {
                let Ok((client, _)) = listener.accept().await else { return };
                tokio::spawn(carry(client, *target, up.clone(), down.clone()));
            }
        }));
        Ok(address)
    }

    /// Where each of the others is to dial to reach this one. A connection is found to be of the process that has its other end.
    pub async fn answer(
        &mut self,
        to: Party,
        others: &[Party],
        target: SocketAddr,
        callers: Callers,
    ) -> anyhow::Result<SocketAddr> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port for a proxy")?;
        let address = listener.local_addr()?;
        let ends = others.iter().map(|&from| (from, (self.cuts((from, to)), self.cuts((to, from)))));
        let ends: BTreeMap<Party, _> = ends.collect();
        self.proxies.push(tokio::spawn(async move {
            while let Ok((client, caller)) = listener.accept().await {
                // One of which nobody knows whose it is would pass by every cut: it ends, and is dialled again.
                if let Some((up, down)) = callers.of(caller).and_then(|from| ends.get(&from)) {
                    tokio::spawn(carry(client, target, up.clone(), down.clone()));
                }
            }
        }));
        Ok(address)
    }

    fn cuts(&mut self, way: Way) -> watch::Receiver<u32> {
        self.ways.entry(way).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    pub fn cut(&self, way: Way) {
        self.change(way, |cuts| cuts + 1);
    }

    /// Ends one cut of a way.
    pub fn heal(&self, way: Way) {
        self.change(way, |cuts| cuts.checked_sub(1).expect("each cut heals once"));
    }

    fn change(&self, way: Way, change: impl FnOnce(u32) -> u32) {
        if let Some(own) = self.ways.get(&way) {
            own.send_modify(|cuts| *cuts = change(*cuts));
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.proxies.iter().for_each(JoinHandle::abort);
    }
}

async fn carry(client: TcpStream, target: SocketAddr, up: watch::Receiver<u32>, down: watch::Receiver<u32>) {
    // Whoever dials finds out by the connection's end.
    let Ok(server) = TcpStream::connect(target).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::join!(pump(from_client, to_server, up), pump(from_server, to_client, down));
}

/// Ends with the connection.
async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut cuts: watch::Receiver<u32>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = from.read(&mut chunk).await.unwrap_or(0);
        if cuts.wait_for(|cuts| *cuts == 0).await.is_err() {
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

    /// A connection through a network from one node to another: the network, the way, and both ends.
    async fn connected() -> (Network, Way, TcpStream, TcpStream) {
        let parties = ["store-0", "store-1"]
            .map(|name| NodeRole::of(&iolite_host::NodeName::new(name).expect("a name")).expect("a node"))
            .map(Party::Node);
        let (from, to) = (parties[0], parties[1]);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let mut network = Network::default();
        let address = network.link(from, to, listener.local_addr().expect("it listens")).await.expect("a free port");
        let client = TcpStream::connect(address).await.expect("it listens");
        let (server, _) = listener.accept().await.expect("it was dialled");
        (network, (from, to), client, server)
    }

    async fn expect_held(server: &mut TcpStream) {
        let held = tokio::time::timeout(Duration::from_millis(100), server.read_exact(&mut [0])).await;
        assert!(held.is_err(), "it came through");
    }

    #[tokio::test]
    async fn a_way_that_is_cut_holds_what_is_sent_and_the_other_goes_on() {
        let (network, way, mut client, mut server) = connected().await;
        let mut byte = [0];
        network.cut(way);
        client.write_all(b"a").await.expect("it is open");
        server.write_all(b"b").await.expect("it is open");
        client.read_exact(&mut byte).await.expect("this way is whole");
        assert_eq!(&byte, b"b");
        expect_held(&mut server).await;
        network.heal(way);
        server.read_exact(&mut byte).await.expect("it was held");
        assert_eq!(&byte, b"a");
    }

    #[tokio::test]
    async fn a_way_that_was_cut_twice_is_whole_when_both_cuts_have_healed() {
        let (network, way, mut client, mut server) = connected().await;
        network.cut(way);
        network.cut(way);
        network.heal(way);
        client.write_all(b"a").await.expect("it is open");
        expect_held(&mut server).await;
        network.heal(way);
        let mut byte = [0];
        server.read_exact(&mut byte).await.expect("it was held");
        assert_eq!(&byte, b"a");
    }

    #[tokio::test]
    async fn each_connection_of_a_gate_goes_to_the_next_one_and_is_cut_from_that_alone() {
        let device = Party::Device(0);
        let (mut listeners, mut targets) = (Vec::new(), Vec::new());
        for number in 0..2 {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
            targets.push((Party::Host(number), listener.local_addr().expect("it listens")));
            listeners.push(listener);
        }
        let mut network = Network::default();
        let gate = network.gate(device, &targets).await.expect("a free port");
        network.cut((device, Party::Host(1)));
        for (listener, is_cut) in listeners.iter().zip([false, true]) {
            let mut client = TcpStream::connect(gate).await.expect("it listens");
            let (mut server, _) = listener.accept().await.expect("it was dialled");
            client.write_all(b"a").await.expect("it is open");
            if is_cut {
                expect_held(&mut server).await;
            } else {
                server.read_exact(&mut [0]).await.expect("it is whole");
            }
        }
    }
}
