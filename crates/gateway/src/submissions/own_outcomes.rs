//! What became of a client's own mutations, told with the state that contains them.
//!
//! Invariant: what committed at or below `to` of a client is told as committed in the advance to `to`, or before it: also what another session submitted,
//! here or at another gateway. So nothing that a client shows as pending is in what it is sent, where it would be seen twice.
//! Most outcomes come in time as replies (`submit.rs`). The store's records are read for the others: when a session opens, and when the feed has a commit
//! of its client that nobody here was told of. Until they are there the session is told nothing.
//! Source: ours (docs/decisions/0006-outcomes-with-the-state.md).

use std::collections::BTreeMap;

use iolite_machine::Now;
use iolite_store::{Commit, Completion, CompletionDecision, Request, RequestId, TooOld};
use iolite_values::Counter;
use iolite_wire::message::{Outcome, Verdict};

use crate::interface::Broken;
use crate::limits;
use crate::sessions::session::Open;
use crate::store::Purpose;
use crate::{Gateway, SessionId};

/// Whether a session has been given what its client committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnOutcomes {
    /// All of it, up to the feed's position: told, or about to be.
    Known,
    /// Those above a counter are to be read, when the session takes anything again, or the feed is where the store keeps what it holds.
    Due {
        after: Counter,
    },
    Reading {
        request: RequestId,
        after: Counter,
    },
}

impl OwnOutcomes {
    /// By which they are read.
    pub fn request(self) -> Option<RequestId> {
        match self {
            OwnOutcomes::Known | OwnOutcomes::Due { .. } => None,
            OwnOutcomes::Reading { request, after: _ } => Some(request),
        }
    }
}

impl Gateway {
    /// Reads what became of the client's mutations as of now, if that is to be read and the session takes anything.
    pub(crate) fn read_own_outcomes(&mut self, id: SessionId) {
        let at = self.position();
        let Some(open) = self.open(id) else { return };
        let (OwnOutcomes::Due { after }, false) = (open.own_outcomes, open.is_behind()) else { return };
        let question = Request::Completions { client: open.client, after, at, most: limits::OWN_OUTCOMES_MAX };
        let request = self.ask(Purpose::OwnOutcomes(id), question);
        if let Some(open) = self.open_mut(id) {
            open.own_outcomes = OwnOutcomes::Reading { request, after };
        }
    }

    pub(crate) fn on_completions(
        &mut self,
        now: Now,
        id: SessionId,
        reply_to: RequestId,
        reply: Result<Vec<(Counter, Completion)>, TooOld>,
    ) {
        let Some(open) = self.open_mut(id) else { return };
        let OwnOutcomes::Reading { request, after } = open.own_outcomes else { return };
        if request != reply_to {
            return;
        }
        match reply {
            Ok(completions) => {
                open.own_outcomes = OwnOutcomes::Known;
                let last = completions.last().map(|(counter, _)| *counter);
                open.add_commits(completions);
                self.on_last_outcome(id, last);
                self.tell_held_back(now, id);
                self.finish_loads(now, id);
            }
            Err(TooOld { low_watermark }) => {
                open.own_outcomes = OwnOutcomes::Due { after };
                match low_watermark <= self.position() {
                    true => self.read_own_outcomes(id),
                    false => self.due.insert(low_watermark, id),
                }
            }
        }
    }

    /// The sessions whose client has committed what they were not told of, each with a counter below it.
    pub(crate) fn surprised(&self, commits: &[Commit]) -> BTreeMap<SessionId, Counter> {
        let mut surprised: BTreeMap<SessionId, Counter> = BTreeMap::new();
        for Commit { transaction, .. } in commits {
            let Some(id) = self.clients.get(&transaction.client) else { continue };
            let known = self.open(*id).is_none_or(|open| open.knows(transaction.counter));
            if !known && !self.published.contains_key(transaction) {
                let before = Counter(transaction.counter.0.saturating_sub(1));
                surprised.entry(*id).and_modify(|after| *after = before.min(*after)).or_insert(before);
            }
        }
        surprised
    }

    /// Tells the session nothing more before its client's outcomes above a counter are read. What changes meanwhile is told with them.
    pub(crate) fn await_own_outcomes(&mut self, id: SessionId, after: Counter) {
        if self.settings.broken == Broken::TellOwnLater {
            return;
        }
        let Some(open) = self.open_mut(id) else { return };
        let after = match open.own_outcomes {
            OwnOutcomes::Known => after,
            OwnOutcomes::Due { after: own } | OwnOutcomes::Reading { request: _, after: own } => own.min(after),
        };
        let earlier = std::mem::replace(&mut open.own_outcomes, OwnOutcomes::Due { after });
        self.give_up(earlier.request());
    }
}

impl Open {
    /// Whether it is told, or about to be, that the mutation took effect, or its client needs no telling.
    fn knows(&self, counter: Counter) -> bool {
        let told = |outcome: &Outcome| outcome.counter == counter && matches!(outcome.verdict, Verdict::Committed(_));
        counter <= self.acknowledged.said || self.outcomes.iter().any(|(_, outcome)| told(outcome))
    }

    fn add_commits(&mut self, completions: Vec<(Counter, Completion)>) {
        for (counter, Completion { attempt, at, decision }) in completions {
            let has_room = self.outcomes.len() < limits::SUBMITS_OPEN_MAX + limits::OWN_OUTCOMES_MAX;
            if has_room && decision == CompletionDecision::Committed && !self.knows(counter) {
                self.outcomes.push_back((at, Outcome { counter, attempt, verdict: Verdict::Committed(at) }));
            }
        }
    }
}
