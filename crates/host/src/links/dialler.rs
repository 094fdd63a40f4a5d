//! Keeps one link to a peer, as long as it is wanted.
//!
//! Invariant: tries are apart by a random pause that grows while they fail, so a peer that comes back is not met by all others at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::connections::Connections;
use super::handshake::Agreed;
use super::refused::Refused;
use super::shared::Shared;
use super::{LinkHandler, LinkSide, NodeName};
use crate::random_seed;

/// A link that lasted for so long was a good one: the next pause is the first again.
const STEADY_AFTER: Duration = Duration::from_secs(5);

pub(crate) struct Dialler<H: LinkHandler> {
    shared: Arc<Shared<H>>,
    peer: NodeName,
    /// Where it is; closed when it is not wanted any more.
    address: watch::Receiver<String>,
    pause: Duration,
    links: u64,
    /// What was last told of failures.
    told: Option<usize>,
}

/// Whether to go on dialling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Yes,
    No,
}

/// Dials until nobody wants the peer any more, or the node stops.
pub(crate) async fn dial<H: LinkHandler>(shared: Arc<Shared<H>>, peer: NodeName, address: watch::Receiver<String>) {
    let mut stop = shared.stop.clone();
    let mut dialler = Dialler::new(shared, peer, address);
    while dialler.one_link().await == Wanted::Yes {
        let pause = dialler.next_pause();
        tokio::select! {
            biased;
            () = stop.wait() => return,
            changed = dialler.address.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(pause) => {}
        }
    }
}

impl<H: LinkHandler> Dialler<H> {
    pub fn new(shared: Arc<Shared<H>>, peer: NodeName, address: watch::Receiver<String>) -> Dialler<H> {
        let pause = shared.limits.retry_first;
        Dialler { shared, peer, address, pause, links: 0, told: None }
    }

    /// One try, and the link that comes of it to its end.
    async fn one_link(&mut self) -> Wanted {
        let address = self.address.borrow_and_update().clone();
        let mut stop = self.shared.stop.clone();
        let connected = tokio::select! {
            biased;
            () = stop.wait() => return Wanted::No,
            changed = self.address.changed() => return wanted(&changed),
            connected = connect(&self.shared, &self.peer, &address) => connected,
        };
        match connected {
            Ok(agreed) => self.run(agreed, &address).await,
            Err(refused) => {
                self.tell(&refused, &address);
                Wanted::Yes
            }
        }
    }

    async fn run(&mut self, agreed: Agreed, address: &str) -> Wanted {
        tracing::info!(peer = %self.peer, address, "a link is open");
        self.told = None;
        self.links += 1;
        if self.links > 1 {
            self.shared.traffic.of_peer(&self.peer).reconnects.add(1);
        }
        let begun = Instant::now();
        let open = self.shared.open(agreed);
        let post = open.post.clone();
        let mut link = std::pin::pin!(self.shared.run(open));
        let (end, wanted) = tokio::select! {
            biased;
            end = link.as_mut() => (end, Wanted::Yes),
            changed = self.address.changed() => {
                post.outbox.close("the peer is looked for elsewhere");
                (link.as_mut().await, wanted(&changed))
            }
        };
        tracing::info!(peer = %self.peer, side = ?LinkSide::Dialled, "a link has ended: {end}");
        if begun.elapsed() >= STEADY_AFTER {
            self.pause = self.shared.limits.retry_first;
        }
        wanted
    }

    /// Half of a pause to all of it.
    pub fn next_pause(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (pause * 2).min(self.shared.limits.retry_last);
        pause.mul_f64(0.5 + 0.5 * (random_seed() as f64 / u64::MAX as f64))
    }

    /// The same again is no news.
    fn tell(&mut self, refused: &Refused, address: &str) {
        self.shared.traffic.count_refused(LinkSide::Dialled, refused);
        if self.told.replace(refused.reason()) == Some(refused.reason()) {
            tracing::debug!(peer = %self.peer, address, "still no link: {refused}");
        } else {
            tracing::warn!(peer = %self.peer, address, "no link, tried again until there is: {refused}");
        }
    }
}

fn wanted(changed: &Result<(), watch::error::RecvError>) -> Wanted {
    match changed {
        Ok(()) => Wanted::Yes,
        Err(_) => Wanted::No,
    }
}

async fn connect<H: LinkHandler>(shared: &Shared<H>, peer: &NodeName, address: &str) -> Result<Agreed, Refused> {
    // A name is looked up at every try: what it stands for may change.
    let found = timeout(shared.limits.hello_within, tokio::net::lookup_host(address)).await;
    let addresses = found.unwrap_or_else(|late| Err(late.into())).map_err(Refused::Unreachable)?;
    connect_to_any(shared, peer, addresses.collect()).await
}

/// A link by the first of these addresses that leads to one, in the time that a hello may take: the look-up took none of it. Of several
/// failures it tells the one that says most.
pub(crate) async fn connect_to_any<H: LinkHandler>(
    shared: &Shared<H>,
    peer: &NodeName,
    addresses: Vec<SocketAddr>,
) -> Result<Agreed, Refused> {
    let until = Instant::now() + shared.limits.hello_within;
    let mut failure: Option<Refused> = None;
    let mut connections = Connections::new(addresses, shared.terms.identity.is_none());
    while let Some(connected) =
        timeout_at(until, connections.next()).await.unwrap_or_else(|_| Some(Err(Refused::TooSlow)))
    {
        // Who accepts and says nothing leaves the others their part of the time.
        let rest = until.saturating_duration_since(Instant::now());
        let part = rest / (1 + connections.left());
        let agreed = match connected {
            Ok(stream) => timeout(part, shared.terms.dial(stream, peer)).await.unwrap_or(Err(Refused::TooSlow)),
            Err(refused) => Err(refused),
        };
        match agreed {
            Ok(agreed) => return Ok(agreed),
            Err(refused) if failure.as_ref().is_none_or(|known| refused.weight() > known.weight()) => {
                failure = Some(refused);
            }
            Err(_) => {}
        }
        if rest.is_zero() {
            break;
        }
    }
    Err(failure.unwrap_or_else(|| Refused::Unreachable(std::io::ErrorKind::NotFound.into())))
}
