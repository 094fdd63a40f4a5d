//! Accepts links from other nodes.
//!
//! Invariants:
//! - what is no link yet is bounded in number and time: the oldest gives way to the newest, so that strangers who say nothing keep nobody out;
//! - nothing that a stranger does ends the listening.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::handshake::Agreed;
use super::refused::Refused;
use super::shared::Shared;
use super::{LinkHandler, LinkSide};

/// How long nobody is accepted after the operating system would not accept.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// Connections that are not links yet, in the order in which they came.
#[derive(Clone, Default)]
struct Handshakes(Arc<Mutex<BTreeMap<u64, (SocketAddr, AbortHandle)>>>);

/// Serves until it is told to stop, and then until the last link is closed.
pub(crate) async fn listen<H: LinkHandler>(shared: Arc<Shared<H>>, listener: TcpListener) {
    let mut stop = shared.stop.clone();
    let handshakes = Handshakes::default();
    let (running, mut ended) = mpsc::channel::<()>(1);
    for number in 0.. {
        let (stream, from) = tokio::select! {
            biased;
            () = stop.wait() => break,
            accepted = accept(&listener) => accepted,
        };
        handshakes.make_room(&shared);
        // Held while it begins, so that its end cannot come before it is entered.
        let mut open = handshakes.lock();
        let (one, running) = (serve(shared.clone(), handshakes.clone(), number, stream, from), running.clone());
        let task = tokio::spawn(async move {
            one.await;
            drop(running);
        });
        open.insert(number, (from, task.abort_handle()));
    }
    drop((listener, running));
    handshakes.lock().values().for_each(|(_, task)| task.abort());
    // Nothing is ever sent: it ends with the last link.
    ended.recv().await;
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection of a node cannot be accepted");
                tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
            }
        }
    }
}

async fn serve<H: LinkHandler>(
    shared: Arc<Shared<H>>,
    handshakes: Handshakes,
    number: u64,
    stream: TcpStream,
    from: SocketAddr,
) {
    // Frames are written together already: none waits for the next.
    let _ = stream.set_nodelay(true);
    let mut place = None;
    let room = || {
        place = shared.room.clone().try_acquire_owned().ok();
        place.as_ref().map(|_| ()).ok_or(Refused::Full("as many links are open as may be"))
    };
    let agreed = tokio::time::timeout(shared.limits.hello_within, shared.terms.accept(stream, room)).await;
    // Who has given way is counted already.
    if !handshakes.is_over(number) {
        return;
    }
    match agreed.unwrap_or(Err(Refused::TooSlow)) {
        Ok(agreed) => {
            run(&shared, agreed, from).await;
            drop(place);
        }
        Err(refused) => shared.traffic.refused(from, &refused),
    }
}

async fn run<H: LinkHandler>(shared: &Shared<H>, agreed: Agreed, from: SocketAddr) {
    let name = agreed.peer.name.clone();
    tracing::info!(peer = %name, %from, "a node has opened a link");
    let end = shared.run(shared.open(agreed)).await;
    tracing::info!(peer = %name, side = ?LinkSide::Accepted, "a link has ended: {end}");
}

impl Handshakes {
    /// Ends the oldest if there are as many as may be.
    fn make_room<H: LinkHandler>(&self, shared: &Shared<H>) {
        let mut open = self.lock();
        if open.len() >= shared.sockets.handshakes
            && let Some((_, (from, task))) = open.pop_first()
        {
            task.abort();
            drop(open);
            shared.traffic.refused(from, &Refused::Full("too many others connect, and it was the slowest"));
        }
    }

    /// Takes one out; false when it had to give way before.
    fn is_over(&self, number: u64) -> bool {
        self.lock().remove(&number).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, (SocketAddr, AbortHandle)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
