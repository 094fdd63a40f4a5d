//! What no node that works says: it is counted and does nothing, whoever says it.
//!
//! Invariant: no single message takes a view, a term or the time further than years of work would, so the next ones can still follow.
//! Source: Iolite's own. Nodes are trusted to follow the protocol; this is for those that are broken, of another time, or stolen.

use std::time::Duration;

use iolite_machine::Now;
use iolite_values::Timestamp;

use super::Replica;
use crate::node::{Ask, Outcome, Peer, Term, ToReplica, View, Vote};

/// How far ahead of its own clock, and of all that it has seen, a replica is told that something is decided or closed. (Its clock may be wrong
/// by much, and has to be no reason for staying behind.)
pub const DECIDED_LEAD_MAX: Duration = Duration::from_secs(24 * 3600);

/// How many views ahead others may be: a view lasts a second at least, and so this is about twelve days without any that works.
pub const VIEWS_AHEAD_MAX: u32 = 1 << 20;

/// How many lives a coordinator may have had of which this replica knows nothing.
pub const TERMS_AHEAD_MAX: u32 = 1 << 20;

impl Replica {
    /// Of a coordinator, about the group that this replica is in.
    pub(super) fn is_absurd(&self, now: Now, message: &ToReplica) -> bool {
        let known = self.terms.get(&message.from).map_or(Term(0), |(term, _)| *term);
        self.is_absurd_view(message.view)
            || message.term.0 > known.0.saturating_add(TERMS_AHEAD_MAX)
            || says_decided(&message.ask).is_some_and(|at| at > self.decided_limit(now))
    }

    /// Of another replica of the shard.
    pub(super) fn is_absurd_of_peer(&self, now: Now, peer: &Peer) -> bool {
        match peer {
            Peer::StartViewChange { view } | Peer::Begun { view } => self.is_absurd_view(*view),
            Peer::DoViewChange { last_normal: _, part } | Peer::StartView { part } => {
                self.is_absurd_view(part.view)
                    || part.complete > self.decided_limit(now)
                    || part.barrier > self.decided_limit(now)
            }
            Peer::Segment { after: _, through, commits: _ } => *through > self.decided_limit(now),
            Peer::Drained(drained) => drained.complete > self.decided_limit(now),
            Peer::Fetch { .. }
            | Peer::FetchedTooOld
            | Peer::FetchState { .. }
            | Peer::StateChunk(_)
            | Peer::Configured { .. } => false,
        }
    }

    /// Of the epoch that this replica is in; others are another matter.
    fn is_absurd_view(&self, view: View) -> bool {
        let own = self.standing.view();
        view.epoch == own.epoch && view.number > own.number.saturating_add(VIEWS_AHEAD_MAX)
    }

    fn decided_limit(&self, now: Now) -> Timestamp {
        let lead = u64::try_from(DECIDED_LEAD_MAX.as_micros()).unwrap_or(u64::MAX);
        let seen = now.wall.as_micros().max(self.highest().micros());
        Timestamp::end_of(seen.saturating_add(lead))
    }
}

/// The timestamp that a question calls decided or closed, or would have recorded as if it could be.
fn says_decided(ask: &Ask) -> Option<Timestamp> {
    match ask {
        // That something came to nothing moves nobody. It is how a proposal ends that was too far ahead.
        Ask::Finalise { vote: Vote::No, .. } | Ask::Outcome { outcome: Outcome::Aborted, .. } => None,
        Ask::Finalise { id, vote: Vote::Ok, .. }
        | Ask::Outcome { id, outcome: Outcome::Committed, .. }
        | Ask::Poll { id, .. } => Some(id.at),
        Ask::CloseList { through, .. } | Ask::Resolved { through, .. } => Some(*through),
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
