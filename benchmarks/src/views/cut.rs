//! A link that can be cut: a proxy that holds back all bytes of both directions while it is cut, and lets them go afterwards, as a network does.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Listens on a free port of loopback, until it is dropped.
#[derive(Debug)]
pub struct CutProxy {
    address: SocketAddr,
    is_cut: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl CutProxy {
    /// # Errors
    /// When no port can be listened on.
    pub async fn start(target: SocketAddr) -> std::io::Result<CutProxy> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (is_cut, cut) = watch::channel(false);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, target, cut.clone()));
            }
        });
        Ok(CutProxy { address, is_cut, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn cut(&self, is_cut: bool) {
        self.is_cut.send_replace(is_cut);
    }
}

impl Drop for CutProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(client: TcpStream, target: SocketAddr, mut cut: watch::Receiver<bool>) {
    if cut.wait_for(|is_cut| !is_cut).await.is_err() {
        return;
    }
    let Ok(server) = TcpStream::connect(target).await else { return };
    for socket in [&client, &server] {
        let _ = socket.set_nodelay(true);
    }
    let (client_in, client_out) = client.into_split();
    let (server_in, server_out) = server.into_split();
    tokio::join!(one_direction(client_in, server_out, cut.clone()), one_direction(server_in, client_out, cut));
}

async fn one_direction(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut cut: watch::Receiver<bool>) {
    let mut chunk = vec![0; 16 << 10];
    loop {
        let count = from.read(&mut chunk).await.unwrap_or(0);
        // An end is held back as well: the other side hears nothing of it meanwhile.
        if cut.wait_for(|is_cut| !is_cut).await.is_err() {
            return;
        }
        if count == 0 || to.write_all(&chunk[..count]).await.is_err() {
            let _ = to.shutdown().await;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_wait_while_the_link_is_cut_and_come_in_order_afterwards() {
        let server = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let proxy = CutProxy::start(server.local_addr().expect("it listens")).await.expect("a free port");
        let mut client = TcpStream::connect(proxy.address()).await.expect("it listens");
        let (mut there, _) = server.accept().await.expect("it connects");
        let mut byte = [0; 1];
        client.write_all(b"a").await.expect("open");
        there.read_exact(&mut byte).await.expect("it comes");
        proxy.cut(true);
        client.write_all(b"b").await.expect("open");
        // The proxy has read it when its own task has run as often as it can.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(there.try_read(&mut byte).is_err(), "it is held back");
        client.write_all(b"c").await.expect("open");
        proxy.cut(false);
        let mut both = [0; 2];
        there.read_exact(&mut both).await.expect("they come");
        assert_eq!(&both, b"bc");
    }
}
