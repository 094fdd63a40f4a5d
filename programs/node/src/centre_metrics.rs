//! The part of `/metrics` about other data centres.

use std::collections::BTreeMap;

use iolite_causal::{CentreName, Figures, PeerState};
use iolite_host::{Metric, Metrics};

use crate::config::CentreConfig;

pub(crate) struct CentreMetrics {
    behind: Metric,
    held: Metric,
    last: Metric,
    outbox: Metric,
    peers: BTreeMap<CentreName, Peer>,
}

struct Peer {
    following: Metric,
    stopped: Metric,
    /// The peer lacks what was deleted here, and the other way round.
    lost: Metric,
    lost_here: Metric,
    taken: Metric,
    applied: Metric,
    differing: Metric,
    /// Transactions that were last said to differ.
    told_differing: u64,
    /// Why it was last said to be stopped.
    told: Option<String>,
}

impl CentreMetrics {
    pub fn new(metrics: &Metrics, config: &CentreConfig) -> CentreMetrics {
        metrics.fact("iolite_centre", "The data centre of this gateway.", "name", config.name.as_str());
        let peer = |name: &CentreName| {
            let of = |metric, help| metrics.gauge_of(metric, help, &[("peer", name.as_str())]);
            Peer {
                following: of("iolite_centre_following", "Whether this gateway takes the outbox of a peer."),
                stopped: of(
                    "iolite_centre_stopped",
                    "Whether nothing more is taken from a peer until people have looked.",
                ),
                lost: of(
                    "iolite_centre_lost",
                    "Whether a peer lacks what was deleted of this outbox: it has to be made anew.",
                ),
                lost_here: of(
                    "iolite_centre_lost_here",
                    "Whether this data centre lacks what a peer has deleted: it serves no client, and has to be made anew.",
                ),
                taken: of("iolite_centre_taken", "The place through which the outbox of a peer is here."),
                applied: of("iolite_centre_applied", "The place through which a peer has this outbox."),
                differing: of(
                    "iolite_centre_differing",
                    "Transactions of a peer that have other effects here, since the start: a client sent two contents under one id.",
                ),
                told_differing: 0,
                told: None,
            }
        };
        CentreMetrics {
            behind: metrics.gauge(
                "iolite_centre_behind_milliseconds",
                "By how much what clients see is behind what is committed here, because too few data centres have it.",
            ),
            held: metrics.gauge("iolite_centre_held_bytes", "Bytes of the feed that are held back for that."),
            last: metrics.gauge("iolite_centre_last", "The place of the last entry of this outbox."),
            outbox: metrics.gauge("iolite_centre_outbox_bytes", "Bytes of the entries that this outbox keeps, about."),
            peers: config.peers.keys().map(|name| (name.clone(), peer(name))).collect(),
        }
    }

    /// Sets the figures, and logs why a peer is stopped when that is news.
    pub fn set(&mut self, figures: &Figures) {
        self.behind.set(figures.shown_behind.as_millis() as u64);
        self.held.set(figures.held_bytes as u64);
        self.last.set(figures.last.0);
        self.outbox.set(figures.outbox_bytes);
        for peer in &figures.peers {
            let Some(metrics) = self.peers.get_mut(&peer.name) else { continue };
            let reason = match &peer.state {
                PeerState::Stopped { reason } => Some(reason),
                PeerState::Away | PeerState::Following | PeerState::LostHere => None,
            };
            if let Some(reason) = reason.filter(|reason| metrics.told.as_ref() != Some(reason)) {
                tracing::warn!(peer = %peer.name, %reason, "nothing more is taken from a data centre");
                metrics.told = Some(reason.clone());
            }
            if peer.differing > metrics.told_differing {
                let (peer, count) = (&peer.name, peer.differing);
                tracing::warn!(%peer, %count, "a client sent two contents under one id: rows that it wrote differ between data centres");
                metrics.told_differing = count;
            }
            metrics.differing.set(peer.differing);
            metrics.following.set(u64::from(peer.state == PeerState::Following));
            metrics.stopped.set(u64::from(matches!(peer.state, PeerState::Stopped { .. })));
            metrics.lost.set(u64::from(peer.is_lost));
            metrics.lost_here.set(u64::from(peer.state == PeerState::LostHere));
            metrics.taken.set(peer.taken.0);
            metrics.applied.set(peer.applied.0);
        }
    }
}
