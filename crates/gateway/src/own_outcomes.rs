//! What became of a client's own mutations, told with the state that contains them.
//!
//! Invariant: what committed at or below `to` of a client is told as committed in the advance to `to`, or before it: also what another session submitted,
//! here or at another gateway. So nothing that a client shows as pending is in what it is sent, where it would be seen twice.
//! Most outcomes come in time as replies (`submit.rs`). The store's records are read for the others: when a session opens, and when the feed has a commit
//! of its client that nobody here was told of. Until they are there the session is told nothing.

use std::collections::BTreeSet;

use iolite_machine::Now;
use iolite_store::{Commit, Completion, CompletionDecision, Request, RequestId, TooOld};
use iolite_values::Counter;
use iolite_wire::message::{Outcome, Verdict};

use crate::interface::Broken;
use crate::limits;
use crate::session::Open;
use crate::store::Purpose;
use crate::{Gateway, SessionId};

/// Whether a session has been given what its client committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnOutcomes {
    /// All of it, up to the feed's position: told, or about to be.
    Known,
    /// To be read when the session takes anything again.
    Due,
    Reading(RequestId),
}

impl Gateway {
    /// Reads them if they are to be read and the session takes anything.
    pub(crate) fn read_due_outcomes(&mut self, id: SessionId) {
        let due = self.open(id).is_some_and(|open| open.own_outcomes == OwnOutcomes::Due && !open.is_behind());
        if due {
            self.read_own_outcomes(id);
        }
    }

    /// Reads what became of the client's mutations as of now.
    pub(crate) fn read_own_outcomes(&mut self, id: SessionId) {
        let at = self.position();
        let Some(open) = self.open(id) else { return };
        if self.settings.broken == Broken::TellOwnLater {
            return;
        }
        let (client, after) = (open.client, open.acknowledged);
        let question = Request::Completions { client, after, at, most: limits::OWN_OUTCOMES_MAX };
        let request = self.ask(Purpose::OwnOutcomes(id), question);
        if let Some(open) = self.open_mut(id) {
            open.own_outcomes = OwnOutcomes::Reading(request);
        }
    }

    pub(crate) fn on_completions(
        &mut self,
        now: Now,
        id: SessionId,
        request: RequestId,
        reply: Result<Vec<(Counter, Completion)>, TooOld>,
    ) {
        let Some(open) = self.open_mut(id) else { return };
        if open.own_outcomes != OwnOutcomes::Reading(request) {
            return;
        }
        let Ok(completions) = reply else {
            return self.read_own_outcomes(id);
        };
        open.own_outcomes = OwnOutcomes::Known;
        for (counter, completion) in completions {
            open.add_commit(counter, &completion);
        }
        self.finish_loads(now, id);
    }

    /// The sessions whose client has committed what they were not told of.
    pub(crate) fn surprised(&self, commits: &[Commit]) -> BTreeSet<SessionId> {
        let surprised = |commit: &Commit| {
            let id = self.clients.get(&commit.transaction.client)?;
            let counter = commit.transaction.counter;
            let known = self.open(*id)?.knows(counter) || self.published.contains_key(&commit.transaction);
            (!known && self.settings.broken != Broken::TellOwnLater).then_some(*id)
        };
        commits.iter().filter_map(surprised).collect()
    }

    /// Tells the session nothing more before its client's outcomes are read again. What its interests miss meanwhile is told as to one that comes back.
    pub(crate) fn await_own_outcomes(&mut self, id: SessionId) {
        let Some(open) = self.open_mut(id) else { return };
        let is_live = open.is_live();
        open.own_outcomes = OwnOutcomes::Due;
        if is_live {
            self.read_missed(id);
        }
    }
}

impl Open {
    /// Whether it is told, or about to be, that the mutation took effect, or its client needs no telling.
    fn knows(&self, counter: Counter) -> bool {
        let told = |outcome: &Outcome| outcome.counter == counter && matches!(outcome.verdict, Verdict::Committed(_));
        counter <= self.acknowledged || self.outcomes.iter().any(|(_, outcome)| told(outcome))
    }

    fn add_commit(&mut self, counter: Counter, completion: &Completion) {
        let Completion { attempt, at, decision } = *completion;
        if decision == CompletionDecision::Committed && !self.knows(counter) {
            self.outcomes.push_back((at, Outcome { counter, attempt, verdict: Verdict::Committed(at) }));
        }
    }
}
