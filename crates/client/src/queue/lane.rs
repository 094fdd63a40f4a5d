//! The lane: submits pending mutations in order, one at a time.
//!
//! Invariants: only the first entry is submitted, so what it read names committed versions only; an attempt is sent again unchanged until its
//! outcome is known; the next attempt follows the last one's refusal.

use iolite_values::{Attempt, Counter, Read, Schema, Timestamp};
use iolite_wire::message::{Outcome, Rejection, Submit, Verdict};

use crate::cache::RowId;

use super::{Entry, GivenUp, Queue, Ran, RunResult, RunState, Stage, Trail};

/// What an outcome means for its mutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decided {
    /// It leaves the queue once the confirmed state has reached its timestamp.
    Committed(Timestamp),
    /// It was given up, and the store has recorded that.
    GivenUp(GivenUp),
    /// Another attempt will follow.
    Again,
    Rejected(Rejection),
}

impl Queue {
    /// The next submission, if the first entry is ready for one: saved, run, and on a snapshot that is young enough.
    pub(crate) fn next_submission(&mut self, at: Timestamp, schema: &Schema) -> Option<Submit> {
        let settled = self.settled;
        let entry = self.entries.first_entry()?.into_mut();
        match &entry.stage {
            Stage::Unanswered(submit) => {
                let submit = submit.clone();
                entry.stage = Stage::Submitted(submit.clone());
                Some(submit)
            }
            Stage::Saved if at >= entry.wait_for && entry.counter() <= settled => entry.submit(at, schema),
            Stage::Saved | Stage::Called | Stage::Saving(_) | Stage::Submitted(_) | Stage::Committed { .. } => None,
        }
    }

    /// The submission could not be sent.
    pub(crate) fn take_back(&mut self, counter: Counter) {
        if let Some(entry) = self.entries.get_mut(&counter) {
            entry.stage = Stage::Saved;
        }
    }

    /// Takes an outcome; `None` when it is of no pending mutation (a repetition).
    pub(crate) fn decide(&mut self, outcome: &Outcome) -> Option<Decided> {
        let entry = self.entries.get_mut(&outcome.counter)?;
        match (&outcome.verdict, entry.open_attempt()) {
            (Verdict::Committed(at), _) if entry.may_be_committed() => {
                entry.stage = Stage::Committed { at: *at, attempt: outcome.attempt };
                Some(Decided::Committed(*at))
            }
            (Verdict::Aborted, Some(_)) => Some(Decided::GivenUp(entry.why_given_up(outcome.attempt))),
            (Verdict::Conflict(at_least), Some(attempt)) if outcome.attempt == attempt => {
                entry.stage = Stage::Saved;
                entry.wait_for = *at_least;
                let rows: Vec<RowId> = entry.rows().collect();
                if entry.doubts_lives() {
                    self.touched.extend(rows.iter().cloned());
                    self.unsettle(rows);
                }
                Some(Decided::Again)
            }
            (Verdict::Rejected(rejection), Some(_)) => Some(Decided::Rejected(rejection.clone())),
            (Verdict::Committed(_) | Verdict::Conflict(_) | Verdict::Aborted | Verdict::Rejected(_), _) => None,
        }
    }

    /// The mutations that the confirmed state contains: perhaps behind one that has ended as well, whose end an earlier life of the app did not get to store.
    pub(crate) fn contained(&self, at: Timestamp) -> Vec<(Counter, Timestamp)> {
        let committed = self.entries.values().filter_map(|entry| match entry.stage {
            Stage::Committed { at, .. } => Some((entry.counter(), at)),
            Stage::Called | Stage::Saving(_) | Stage::Saved | Stage::Submitted(_) | Stage::Unanswered(_) => None,
        });
        committed.filter(|(_, own)| *own <= at).collect()
    }

    /// The store's history is another one: what was read, sent or committed in the old one says nothing about it.
    pub(crate) fn history_lost(&mut self) {
        for entry in self.entries.values_mut() {
            entry.wait_for = Timestamp::ZERO;
            if matches!(entry.stage, Stage::Submitted(_) | Stage::Unanswered(_) | Stage::Committed { .. }) {
                entry.stage = Stage::Saved;
            }
        }
        self.unsettle_all();
    }

    /// The session that carried the submissions is gone.
    pub(crate) fn session_lost(&mut self) {
        for entry in self.entries.values_mut() {
            if let Stage::Submitted(submit) = &entry.stage {
                entry.stage = Stage::Unanswered(submit.clone());
            }
        }
    }
}

/// What the gateway has to know of what was read. It comes to the same level by that.
fn guarded(ran: &Ran, schema: &Schema) -> Vec<Read> {
    let reads: Vec<Read> = ran.reads.iter().map(|(read, _)| read.clone()).collect();
    let level = schema.level(&reads, ran.writes());
    let guarded = level.guarded(&reads, ran.writes()).into_owned();
    if schema.level(&guarded, ran.writes()) == level { guarded } else { reads }
}

impl Entry {
    /// Its run holds at `at`, because it was compared with the state there when it was settled.
    fn submit(&mut self, at: Timestamp, schema: &Schema) -> Option<Submit> {
        let RunState::Done(ran) = &self.state else { return None };
        self.attempts = self.attempts.next();
        let submit = Submit {
            counter: self.mutation.counter,
            attempt: self.attempts,
            snapshot: at,
            reads: guarded(ran, schema),
            decision: ran.decision(),
            acknowledged: None,
        };
        if let RunResult::GivenUp(given_up) = &ran.result {
            self.given_up.insert(self.attempts, given_up.clone());
        }
        self.trail = Trail::MaybeSent;
        self.stage = Stage::Submitted(submit.clone());
        Some(submit)
    }

    /// The attempt that was sent and has no outcome yet.
    pub(super) fn open_attempt(&self) -> Option<Attempt> {
        match &self.stage {
            Stage::Submitted(submit) | Stage::Unanswered(submit) => Some(submit.attempt),
            Stage::Called | Stage::Saving(_) | Stage::Saved | Stage::Committed { .. } => None,
        }
    }

    /// Whether an attempt may turn out to be committed: the open one, or one of an earlier life of the app.
    fn may_be_committed(&self) -> bool {
        !self.is_unsent() && !matches!(self.stage, Stage::Committed { .. })
    }

    /// Why it was given up in an attempt. What is decided may be an earlier attempt than the last, and one of an earlier life of the app.
    fn why_given_up(&self, attempt: Attempt) -> GivenUp {
        let known = self.given_up.get(&attempt).cloned();
        known.unwrap_or_else(|| GivenUp::ByApp("it was aborted before the app was started again".into()))
    }
}
