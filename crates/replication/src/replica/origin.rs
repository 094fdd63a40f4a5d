//! The beginning of a shard that has a part of the rows of one that ended.
//!
//! Invariants:
//! - a replica begins when a majority of the group that ended is drained in one view, with all that committed there in its part: it says and accepts
//!   nothing before;
//! - it closes and accepts nothing at or below what any of these may have closed.
//!
//! Nothing is open in what is taken over, so each replica begins alone, with an empty record, in the first view.

use std::collections::BTreeMap;

use iolite_machine::Now;
use iolite_values::Timestamp;

use super::Replica;
use super::standing::Standing;
use crate::ir::Quorums;
use crate::node::{Drained, Epoch, Peer, RecordPart, ReplicaId, Split, View};

/// What has been heard of the group that ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Awaiting {
    heard: BTreeMap<ReplicaId, Drained>,
    /// Who was asked last for its state.
    asked: Option<ReplicaId>,
}

const FIRST_VIEW: View = View { epoch: Epoch(0), number: 0 };

impl Replica {
    pub(super) fn is_of_origin(&self, shard: crate::node::ShardId, epoch: Epoch) -> bool {
        let parent = self.settings.origin.as_ref().map(Split::parent);
        parent.is_some_and(|parent| parent.shard == shard && parent.epoch == epoch)
    }

    pub(super) fn on_parent(&mut self, now: Now, from: ReplicaId, peer: Peer) {
        if self.refuses_of_peer(now, from, &peer) {
            return;
        }
        match peer {
            Peer::Drained(drained) => self.on_drained(now, from, drained),
            Peer::StateChunk(part) if self.awaiting.is_some() => self.on_state_chunk(now, from, part),
            Peer::StateChunk(_)
            | Peer::Fetch { .. }
            | Peer::Segment { .. }
            | Peer::FetchedTooOld
            | Peer::FetchState { .. }
            | Peer::StartViewChange { .. }
            | Peer::DoViewChange { .. }
            | Peer::StartView { .. }
            | Peer::Configured { .. }
            | Peer::Begun { .. } => {}
        }
    }

    fn on_drained(&mut self, now: Now, from: ReplicaId, drained: Drained) {
        if !self.settings.origin.as_ref().is_some_and(|split| split.parent().contains(from)) {
            return;
        }
        let Some(awaiting) = &mut self.awaiting else {
            return self.tell_parent(from, Peer::Begun { view: FIRST_VIEW });
        };
        awaiting.heard.insert(from, drained);
        self.press_beginning(now);
    }

    pub(super) fn press_beginning(&mut self, now: Now) {
        let (Some(split), Some(awaiting)) = (&self.settings.origin, &self.awaiting) else { return };
        let Some(complete) = awaiting.complete(Quorums::of(split.parent())) else { return };
        if self.complete >= complete {
            return self.begin_part();
        }
        if self.catch_up.taking.is_none() {
            self.take_from_parent(now);
        }
    }

    /// Takes the state of one that has all.
    pub(super) fn take_from_parent(&mut self, now: Now) {
        let (Some(split), Some(awaiting)) = (&self.settings.origin, &mut self.awaiting) else { return };
        let Some(complete) = awaiting.complete(Quorums::of(split.parent())) else { return };
        let having = || awaiting.heard.iter().filter(|(_, own)| own.complete >= complete).map(|(replica, _)| *replica);
        // One after the other: the last one may be gone.
        let next = having().find(|replica| Some(*replica) > awaiting.asked).or_else(|| having().next());
        if let Some(from) = next {
            awaiting.asked = next;
            self.begin_taking(now, from);
        }
    }

    fn begin_part(&mut self) {
        let Some(awaiting) = self.awaiting.take() else { return };
        let barrier = awaiting.heard.values().map(|own| own.barrier).max().unwrap_or_default();
        for own in awaiting.heard.values() {
            self.register_all(&own.terms);
        }
        let terms = self.terms_in_order();
        let part = RecordPart { complete: self.complete, barrier, terms, ..RecordPart::empty(FIRST_VIEW) };
        self.install(&[part]);
        self.standing = Standing::Normal { view: FIRST_VIEW, master: None };
        for replica in awaiting.heard.into_keys() {
            self.tell_parent(replica, Peer::Begun { view: FIRST_VIEW });
        }
    }
}

impl Awaiting {
    /// All that committed is at or below this, once a majority is drained in one view: each of these has it.
    fn complete(&self, quorums: Quorums) -> Option<Timestamp> {
        let in_view = |view: View| self.heard.values().filter(move |own| own.view == view);
        let mut views = self.heard.values().map(|own| own.view);
        let view = views.find(|view| in_view(*view).count() >= quorums.majority())?;
        in_view(view).map(|own| own.complete).min()
    }
}
