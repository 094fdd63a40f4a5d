//! What no node that works says: it is counted and does nothing, whoever says it.
//!
//! Invariant: no single message takes a view or a term further than days of work would, or the time by more than a day, so the next ones can still follow.
//! Source: Iolite's own. Nodes are trusted to follow the protocol; this is for one that is broken, of another time, or stolen.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::Now;
use iolite_values::{CoordinatorId, Timestamp};

use super::Replica;
use crate::node::{
    Ask, Group, Outcome, Peer, RecordPart, RecordedEntry, ReplicaId, Split, Term, ToReplica, View, Vote,
};

/// How far ahead of its own clock, of all that it has seen, and of what two nodes say, a replica is told that something is decided or closed. (Its clock
/// may be wrong by much, and has to be no reason for staying behind.)
pub const DECIDED_LEAD_MAX: Duration = Duration::from_secs(24 * 3600);

/// How many views ahead others may be: a view lasts a second at least, and so this is about twelve days without any that works.
pub const VIEWS_AHEAD_MAX: u32 = 1 << 20;

/// How many lives a coordinator may have had of which this replica knows nothing.
pub const TERMS_AHEAD_MAX: u32 = 1 << 20;

/// Who vouches for a time that is far ahead: it says that the store is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Witness {
    Replica(ReplicaId),
    Coordinator(CoordinatorId),
}

/// Times that are far ahead, and who said them.
///
/// If the clocks of most replicas are years ahead, then so is the store, and whoever was away comes back to what it would call absurd. So what two nodes
/// say is believed: more than one is hardly broken, and the other one is there. A replica's word counts, and that a coordinator calls something resolved, for
/// which it has the word of f + 1 replicas; its other questions may only pass on what one replica said. Who has no vote in the epoch yet believes one
/// replica, for perhaps only one can tell it what there is: so it also takes all rows of one.
#[derive(Clone, Debug, Default)]
pub(super) struct FarTimes(BTreeMap<Witness, Timestamp>);

impl FarTimes {
    fn hear(&mut self, witness: Witness, at: Timestamp) {
        let highest = self.0.entry(witness).or_default();
        *highest = at.max(*highest);
    }

    /// The store is there at least.
    fn said_by_two(&self) -> Timestamp {
        let mut said: Vec<Timestamp> = self.0.values().copied().collect();
        said.sort_unstable_by(|one, other| other.cmp(one));
        said.get(1).copied().unwrap_or_default()
    }

    /// The highest that any replica said.
    fn said_by_a_replica(&self) -> Timestamp {
        let replicas = self.0.iter().filter(|(witness, _)| matches!(witness, Witness::Replica(_)));
        replicas.map(|(_, at)| *at).max().unwrap_or_default()
    }
}

impl Replica {
    /// Of a coordinator, about the group that this replica is in.
    pub(super) fn refuses(&mut self, now: Now, message: &ToReplica) -> bool {
        let is_absurd = self.is_absurd(now, message);
        self.absurd += u64::from(is_absurd);
        if is_absurd && matches!(message.ask, Ask::Resolved { .. }) {
            self.ask_for_witnesses(now);
        }
        is_absurd
    }

    /// Of another replica of the shard, or of the one that it is a part of.
    pub(super) fn refuses_of_peer(&mut self, now: Now, from: ReplicaId, peer: &Peer) -> bool {
        let is_absurd = self.is_absurd_of_peer(now, from, peer);
        self.absurd += u64::from(is_absurd);
        is_absurd
    }

    fn is_absurd(&mut self, now: Now, message: &ToReplica) -> bool {
        let known = self.terms.get(&message.from).map_or(Term(0), |(term, _)| *term);
        if self.is_absurd_view(message.view) || message.term.0 > known.0.saturating_add(TERMS_AHEAD_MAX) {
            return true;
        }
        let is_vouched = matches!(message.ask, Ask::Resolved { .. });
        let witness = is_vouched.then_some(Witness::Coordinator(message.from));
        says_decided(&message.ask).is_some_and(|at| self.is_far(now, witness, at))
    }

    fn is_absurd_of_peer(&mut self, now: Now, from: ReplicaId, peer: &Peer) -> bool {
        let witness = self.keepers().any(|group| group.contains(from)).then_some(Witness::Replica(from));
        match peer {
            Peer::StartViewChange { view } | Peer::Begun { view } => self.is_absurd_view(*view),
            Peer::DoViewChange { last_normal: _, part } | Peer::StartView { part } => {
                self.is_absurd_view(part.view) || self.is_far(now, witness, latest_in(part))
            }
            Peer::Segment { after: _, through, commits } => {
                let latest = commits.iter().map(|commit| commit.at).max();
                self.is_far(now, witness, latest.unwrap_or_default().max(*through))
            }
            Peer::StateChunk(chunk) => self.is_far(now, witness, chunk.complete),
            Peer::Drained(drained) => self.is_far(now, witness, drained.complete.max(drained.barrier)),
            Peer::Fetch { .. } | Peer::FetchedTooOld | Peer::FetchState { .. } | Peer::Configured { .. } => false,
        }
    }

    /// A coordinator calls something resolved that is too far ahead to be believed of it alone. Other replicas are asked what they have: this one is perhaps not told
    /// of it otherwise.
    fn ask_for_witnesses(&mut self, now: Now) {
        self.fall_behind(now, Timestamp::from_u64(self.complete.as_u64().saturating_add(1)));
    }

    /// Whether a time is further ahead than is believed, now that this witness says it too.
    fn is_far(&mut self, now: Now, witness: Option<Witness>, at: Timestamp) -> bool {
        if !self.is_too_far(now, at) {
            return false;
        }
        let Some(witness) = witness else { return true };
        self.far_times.hear(witness, at);
        self.is_too_far(now, at)
    }

    pub(super) fn is_too_far(&self, now: Now, at: Timestamp) -> bool {
        at > self.decided_limit(now)
    }

    /// Of the epoch that this replica is in; others are another matter.
    fn is_absurd_view(&self, view: View) -> bool {
        let own = self.standing.view();
        view.epoch == own.epoch && view.number > own.number.saturating_add(VIEWS_AHEAD_MAX)
    }

    /// Who keeps the shard; and until that has begun here, who did before, and who kept the one that it is a part of.
    fn keepers(&self) -> impl Iterator<Item = &Group> {
        let before = [self.configuration.previous(), self.settings.origin.as_ref().map(Split::parent)];
        let before = before.into_iter().flatten().filter(|_| !self.has_vote());
        [self.group()].into_iter().chain(before)
    }

    /// Whether it has taken part in the epoch.
    fn has_vote(&self) -> bool {
        self.awaiting.is_none() && !self.follows() && self.has_begun()
    }

    fn decided_limit(&self, now: Now) -> Timestamp {
        let lead = u64::try_from(DECIDED_LEAD_MAX.as_micros()).unwrap_or(u64::MAX);
        let believed = if self.has_vote() { self.far_times.said_by_two() } else { self.far_times.said_by_a_replica() };
        let seen = now.wall.as_micros().max(self.highest().micros()).max(believed.micros());
        Timestamp::end_of(seen.saturating_add(lead))
    }
}

/// The highest timestamp that a part of a record calls decided or closed. What one replica alone voted OK is not: a merge gives it up.
fn latest_in(part: &RecordPart) -> Timestamp {
    let is_decided = |entry: &&RecordedEntry| {
        entry.outcome == Some(Outcome::Committed) || entry.vote == Vote::Ok && entry.finalised.is_some()
    };
    let decided = part.entries.iter().filter(is_decided).map(|entry| entry.id.at);
    decided.chain([part.complete, part.barrier]).max().unwrap_or_default()
}

/// The timestamp that a question calls decided or closed, or would have recorded as if it could be.
fn says_decided(ask: &Ask) -> Option<Timestamp> {
    match ask {
        // That something came to nothing moves nobody. It is how a proposal ends that was too far ahead.
        Ask::Finalise { vote: Vote::No, .. } | Ask::Outcome { outcome: Outcome::Aborted, .. } => None,
        Ask::Finalise { id, vote: Vote::Ok, .. }
        | Ask::Outcome { id, outcome: Outcome::Committed, .. }
        | Ask::Poll { id, .. } => Some(id.at),
        Ask::Resolved { through, .. } => Some(*through),
        // These are held to where clocks and the store are already.
        Ask::Prepare { after, .. } => after.map(|dead| dead.at),
        Ask::Close { .. } => None,
        Ask::Open
        | Ask::Begin
        | Ask::ReadAt { .. }
        | Ask::Changes { .. }
        | Ask::Validate { .. }
        | Ask::Acknowledge { .. }
        | Ask::Report
        | Ask::Configured { .. } => None,
    }
}
