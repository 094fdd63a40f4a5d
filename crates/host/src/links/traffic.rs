//! What links are measured by, and what the log says of refused ones.
//!
//! Invariant: neither metrics nor the log grow with what strangers do: names are counted up to a limit, lines by the second.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::refused::{REASONS, Refused};
use super::{LinkSide, NodeName};
use crate::{Metric, Metrics};

/// Peers that have metrics of their own. Those beyond share the name `others`.
pub(crate) const METERED_PEERS_MAX: usize = 1000;
/// Lines about refused connections in one second. Those beyond are only counted.
pub(crate) const LINES_MAX: u32 = 10;
const LINES_PERIOD: Duration = Duration::from_secs(1);

pub(crate) struct Traffic {
    metrics: Metrics,
    accepted: SideTraffic,
    dialled: SideTraffic,
    /// Messages to a link that is gone, or to a node that nobody knows.
    pub nowhere: Metric,
    peers: Mutex<BTreeMap<NodeName, PeerTraffic>>,
    /// Of those beyond [`METERED_PEERS_MAX`], once there are any.
    others: OnceLock<PeerTraffic>,
    lines: Mutex<Lines>,
}

/// Of all links that one side made.
struct SideTraffic {
    open: Metric,
    refused: [Metric; REASONS.len()],
}

/// Of all links with one peer.
#[derive(Clone, Debug)]
pub(crate) struct PeerTraffic {
    pub messages_in: Metric,
    pub messages_out: Metric,
    pub bytes_in: Metric,
    pub bytes_out: Metric,
    /// Dropped because too much waited.
    pub full: Metric,
    /// Dropped because there was no link.
    pub down: Metric,
    /// Dropped because they were no frame that the peer takes.
    pub unsendable: Metric,
    pub reconnects: Metric,
}

struct Lines {
    since: Instant,
    written: u32,
    left_out: u64,
}

impl Traffic {
    pub fn new(metrics: &Metrics) -> Traffic {
        let dropped = "Messages that were dropped.";
        Traffic {
            accepted: SideTraffic::new(metrics, LinkSide::Accepted),
            dialled: SideTraffic::new(metrics, LinkSide::Dialled),
            nowhere: metrics.counter_of("iolite_link_dropped_total", dropped, &[("peer", "none"), ("reason", "down")]),
            peers: Mutex::default(),
            others: OnceLock::new(),
            lines: Mutex::new(Lines { since: Instant::now(), written: 0, left_out: 0 }),
            metrics: metrics.clone(),
        }
    }

    pub fn of_peer(&self, name: &NodeName) -> PeerTraffic {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = peers.get(name) {
            return known.clone();
        }
        if peers.len() >= METERED_PEERS_MAX {
            return self.others.get_or_init(|| PeerTraffic::new(&self.metrics, "others")).clone();
        }
        let traffic = PeerTraffic::new(&self.metrics, name.as_str());
        peers.insert(name.clone(), traffic.clone());
        traffic
    }

    pub fn open(&self, side: LinkSide) -> &Metric {
        &self.side(side).open
    }

    /// Counts a connection of somebody that is no link, and says why.
    pub fn refused(&self, from: SocketAddr, refused: &Refused) {
        self.count_refused(LinkSide::Accepted, refused);
        let now = Instant::now();
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if now - lines.since >= LINES_PERIOD {
            let left_out = lines.left_out;
            *lines = Lines { since: now, written: 0, left_out: 0 };
            if left_out > 0 {
                tracing::warn!("{left_out} more connections were refused");
            }
        }
        if lines.written < LINES_MAX {
            lines.written += 1;
            tracing::warn!(%from, "a connection is refused: {refused}");
        } else {
            lines.left_out += 1;
        }
    }

    pub fn count_refused(&self, side: LinkSide, refused: &Refused) {
        self.side(side).refused[refused.reason()].add(1);
    }

    fn side(&self, side: LinkSide) -> &SideTraffic {
        match side {
            LinkSide::Accepted => &self.accepted,
            LinkSide::Dialled => &self.dialled,
        }
    }
}

impl SideTraffic {
    fn new(metrics: &Metrics, side: LinkSide) -> SideTraffic {
        let side = match side {
            LinkSide::Accepted => "accepted",
            LinkSide::Dialled => "dialled",
        };
        let refused = "Connections that did not become a link.";
        SideTraffic {
            open: metrics.gauge_of("iolite_links", "Links that are open.", &[("side", side)]),
            refused: REASONS.map(|reason| {
                metrics.counter_of("iolite_links_refused_total", refused, &[("side", side), ("reason", reason)])
            }),
        }
    }
}

impl PeerTraffic {
    fn new(metrics: &Metrics, peer: &str) -> PeerTraffic {
        let of = |name, help| metrics.counter_of(name, help, &[("peer", peer)]);
        let dropped = |reason| {
            let labels = [("peer", peer), ("reason", reason)];
            metrics.counter_of("iolite_link_dropped_total", "Messages that were dropped.", &labels)
        };
        PeerTraffic {
            messages_in: of("iolite_link_messages_received_total", "Messages from the peer."),
            messages_out: of("iolite_link_messages_sent_total", "Messages that were handed to the operating system."),
            bytes_in: of("iolite_link_received_bytes_total", "Bytes of frames from the peer."),
            bytes_out: of("iolite_link_sent_bytes_total", "Bytes of frames to the peer."),
            full: dropped("full"),
            down: dropped("down"),
            unsendable: dropped("unsendable"),
            reconnects: of("iolite_link_reconnects_total", "Links to the peer that replaced one that had ended."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_peers_have_metrics_of_their_own_and_the_rest_share() {
        let metrics = Metrics::default();
        let traffic = Traffic::new(&metrics);
        for number in 0..METERED_PEERS_MAX + 50 {
            let name = NodeName::new(&format!("node-{number}")).expect("a name");
            traffic.of_peer(&name).messages_in.add(1);
            traffic.of_peer(&name).messages_in.add(1);
        }
        let text = metrics.render();
        assert_eq!(text.matches("iolite_link_messages_received_total{").count(), METERED_PEERS_MAX + 1);
        assert!(text.contains("iolite_link_messages_received_total{peer=\"node-7\"} 2\n"));
        assert!(text.contains("iolite_link_messages_received_total{peer=\"others\"} 100\n"));
    }

    #[test]
    fn every_refusal_is_counted_by_its_reason_and_few_are_written() {
        let metrics = Metrics::default();
        let traffic = Traffic::new(&metrics);
        let from = ([127, 0, 0, 1], 7).into();
        (0..1000).for_each(|_| traffic.refused(from, &Refused::NoCertificate));
        let line = "iolite_links_refused_total{side=\"accepted\",reason=\"no-certificate\"} 1000\n";
        assert!(metrics.render().contains(line));
        assert!(traffic.lines.lock().expect("nobody panicked").written <= LINES_MAX);
    }
}
