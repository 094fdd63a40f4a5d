//! Lanes: pending mutations are submitted in the order of their lane, so many at a time as its window says.
//!
//! Invariants: a lane submits its first mutations, in order; what a strong one read names committed versions only; an
//! attempt is sent again unchanged until its outcome is known; the next attempt follows the last one's refusal; all lanes together stay below what a
//! gateway takes of a session.
//!
//! Source: Diamond's and Hercules' clients have one lane each; several are Iolite's: docs/decisions/0023-lanes.md.

use std::collections::VecDeque;

use iolite_values::{Attempt, Counter, Decision, Domain, Element, LogPages, Operation, Read, Schema, Timestamp, Write};
use iolite_wire::limits;
use iolite_wire::message::{Outcome, Rejection, Submit, Verdict};

use crate::Client;
use crate::cache::RowId;
use crate::interface::Broken;

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

/// Submissions that were sent and have no outcome yet.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    count: usize,
    bytes: usize,
}

/// Submissions of a lane that have no outcome yet, before a mutation of the lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ahead {
    /// The last of them: the mutation follows it.
    last: Option<Counter>,
    pub(crate) count: usize,
    pub(crate) bytes: usize,
    /// Whether one of them creates or closes a page of a log: what is sent behind it would be refused.
    pub(crate) turns: bool,
}

impl Queue {
    /// The next submission of any lane, if one is ready for it: saved, run, on a snapshot that is young enough, and `may_send` says nothing else.
    /// An earlier session may have left one of each of so many `lanes` at the store: a place is kept for each.
    pub(crate) fn next_submission(
        &mut self,
        at: Timestamp,
        lanes: usize,
        schema: &Schema,
        may_send: impl Fn(&Entry, &Ahead) -> bool,
        append: impl Fn(&Entry, &Ahead) -> Option<(Vec<Read>, Vec<Write>)>,
        name_leases: impl Fn(&mut Submit),
    ) -> Option<Submit> {
        let may_send = |next: &Counter| {
            let entry = self.entries.get(next);
            entry.is_some_and(|entry| may_send(entry, &self.ahead_of(entry)))
        };
        let next = self.lanes.each().filter_map(|lane| self.next_of(lane, at, schema)).filter(may_send).min()?;
        let sent = self.sent();
        if sent.count + 1 + lanes.max(self.lanes.len()) > limits::SUBMITS_OPEN.most {
            return None;
        }
        let ahead = self.ahead_of(self.entries.get(&next)?);
        let has_read_pending = self.entries.get(&next).is_some_and(|entry| self.has_read_pending(entry));
        let entry = self.entries.get_mut(&next)?;
        entry.has_read_pending |= has_read_pending && matches!(entry.stage, Stage::Saved);
        let submit = match &entry.stage {
            Stage::Unanswered(submit) => submit.clone(),
            Stage::Saving(_) if !self.broken.sends_unstored(entry) => return None,
            Stage::Saved | Stage::Saving(_) => {
                let mut submit = entry.attempt(at, schema, &ahead, append)?;
                name_leases(&mut submit);
                submit
            }
            Stage::Called | Stage::Submitted(_) | Stage::Committed { .. } => return None,
        };
        // One that is too large for any session is sent alone, and refused.
        if sent.count > 0 && sent.bytes + submit.size_bytes() > limits::SUBMITS_OPEN_BYTES.most {
            return None;
        }
        entry.note_submitted(submit.clone());
        self.undurable.remove(&next);
        Some(submit)
    }

    /// The next mutation of each lane that is ready to be sent.
    pub(crate) fn next_of_lanes(&self, at: Timestamp, schema: &Schema) -> impl Iterator<Item = &Entry> {
        let next = self.lanes.each().filter_map(move |lane| self.next_of(lane, at, schema));
        next.filter_map(|counter| self.entries.get(&counter))
    }

    /// Counts the submissions of a mutation's lane before it that have no outcome yet.
    fn ahead_of(&self, entry: &Entry) -> Ahead {
        let mut ahead = Ahead::default();
        let own = self.lanes.of(entry.lane).take_while(|counter| *counter < entry.counter());
        for before in own.filter_map(|counter| self.entries.get(&counter)) {
            let Stage::Submitted(submit) = &before.stage else { continue };
            ahead.last = Some(before.counter());
            ahead.count += 1;
            ahead.bytes += submit.size_bytes();
            ahead.turns |= before.domain != Domain::Strong && is_more_than_an_entry(submit.decision.writes());
        }
        ahead
    }

    /// The next mutation of a lane, if it is ready to be sent and the lane's window has a place for it.
    fn next_of(&self, lane: &VecDeque<Counter>, at: Timestamp, schema: &Schema) -> Option<Counter> {
        let window = self.windows.of(&self.entries.get(lane.front()?)?.domain);
        let mut first = lane.iter().take(window).filter_map(|counter| self.entries.get(counter));
        let next = first.find(|entry| match &entry.stage {
            Stage::Called | Stage::Saving(_) | Stage::Saved | Stage::Unanswered(_) => true,
            Stage::Submitted(_) | Stage::Committed { .. } => false,
        })?;
        let is_ready = match &next.stage {
            Stage::Unanswered(_) => true,
            Stage::Saving(_) if !self.broken.sends_unstored(next) => false,
            Stage::Saved if self.resaving.contains_key(&next.counter()) && !self.broken.sends_unstored(next) => false,
            Stage::Saved | Stage::Saving(_) => {
                let is_due = at >= next.wait_for && next.counter() <= self.settled;
                is_due
                    && self.stands_on_its_own(next)
                    && (self.is_first_of_lane(next) || !rests_on_its_snapshot(next, schema))
            }
            Stage::Called | Stage::Submitted(_) | Stage::Committed { .. } => false,
        };
        (is_ready && self.may_be_acknowledged_soon(next)).then(|| next.counter())
    }

    /// Whether its domain takes what it read: a strong mutation cannot have read what a pending one writes, as nobody knows that version yet.
    fn stands_on_its_own(&self, entry: &Entry) -> bool {
        let RunState::Done(ran) = &entry.state else {
            return matches!(entry.state, RunState::Frozen(_) | RunState::TookPlace(_));
        };
        match entry.domain {
            Domain::Strong => {}
            Domain::Rows(_) | Domain::Causal => return true,
            // What is sent is the call. Only that it gives up rests on what is pending.
            Domain::Log(_) => return matches!(ran.result, RunResult::Writes(_)) || self.is_first_of_lane(entry),
        }
        self.broken == Broken::SendWhatReadPending || !self.has_read_pending(entry)
    }

    /// Whether a strong mutation has read what a pending one before it writes.
    fn has_read_pending(&self, entry: &Entry) -> bool {
        let is_pending = |read: &Read| self.index.is_written_before(entry.counter(), read);
        let removes = entry.writes().iter().filter(|write| only_removes(&write.operation));
        let removed_from = removes.map(|write| Read::Cell { cell: write.cell.clone(), element: Element::Whole });
        entry.domain == Domain::Strong
            && (entry.reads().any(is_pending) || removed_from.into_iter().any(|read| is_pending(&read)))
    }

    fn is_first_of_lane(&self, entry: &Entry) -> bool {
        self.lanes.each().any(|lane| lane.front() == Some(&entry.counter()))
    }

    /// Whether every mutation of its lane before it is committed.
    pub(crate) fn is_first_undecided(&self, counter: Counter) -> bool {
        let Some(lane) = self.entries.get(&counter).map(|entry| entry.lane) else { return false };
        let is_undecided = |own: &Counter| self.entries.get(own).is_some_and(|entry| !entry.is_committed());
        self.lanes.of(lane).find(is_undecided) == Some(counter)
    }

    /// Outcomes are acknowledged up to the first pending mutation, so what is far above it waits: the store keeps outcomes until they are acknowledged.
    fn may_be_acknowledged_soon(&self, entry: &Entry) -> bool {
        let first = self.first_open().map_or(entry.counter(), Entry::counter);
        entry.counter().0 - first.0 < Client::UNACKNOWLEDGED_MAX
    }

    /// Submissions of this session, in all lanes, that have no outcome yet: the gateway keeps each until its outcome is told. Of each lane it may keep one
    /// more, which an earlier session gave to the store.
    fn sent(&self) -> Sent {
        let first = self.lanes.each().flat_map(|lane| {
            let domain = lane.front().and_then(|first| self.entries.get(first)).map(|entry| &entry.domain);
            lane.iter().take(domain.map_or(0, |domain| self.windows.reach_of(domain)))
        });
        first.filter_map(|counter| self.entries.get(counter)).fold(Sent::default(), |sum, entry| match &entry.stage {
            Stage::Submitted(submit) => Sent { count: sum.count + 1, bytes: sum.bytes + submit.size_bytes() },
            Stage::Called | Stage::Saving(_) | Stage::Saved | Stage::Unanswered(_) | Stage::Committed { .. } => sum,
        })
    }

    pub(super) fn validate_windows(&self) {
        for lane in self.lanes.each() {
            let own = || lane.iter().filter_map(|counter| self.entries.get(counter));
            let window = own().next().map_or(0, |first| self.windows.reach_of(&first.domain));
            let sent = own().skip(window).filter(|entry| entry.open_attempt().is_some()).count();
            assert_eq!(sent, 0, "a lane submits its first mutations, so many as its window says");
            assert!(own().all(|entry| !entry.has_read_pending), "what was sent has read committed versions only");
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
        let is_first = self.is_first_undecided(outcome.counter);
        let entry = self.entries.get_mut(&outcome.counter)?;
        match entry.domain {
            // One that conflicts runs again on a later state, and is told its end by the state that contains it.
            Domain::Strong => {}
            // One that conflicts is appended to another page, and is told its end when it is replayed.
            Domain::Log(_) => {}
            // One that conflicts is closed. What it carried is judged, and sent again in another one.
            Domain::Rows(_) => {}
            // Effects conflict with nothing.
            Domain::Causal => {}
        }
        match (&outcome.verdict, entry.open_attempt()) {
            (Verdict::Committed(at), _) if entry.may_be_committed() => {
                entry.stage = Stage::Committed { at: *at, attempt: outcome.attempt };
                if entry.leaves_when_contained() {
                    self.committed.insert(outcome.counter);
                }
                Some(Decided::Committed(*at))
            }
            (Verdict::Aborted, Some(_)) => Some(Decided::GivenUp(entry.why_given_up(outcome.attempt))),
            (Verdict::Conflict(at_least), Some(attempt)) if outcome.attempt == attempt => {
                entry.stage = Stage::Saved;
                entry.wait_for = *at_least;
                let rows: Vec<RowId> = entry.rows().collect();
                self.index.remove(entry);
                // What follows one that conflicted was not tried.
                let doubts = is_first && entry.doubts_lives();
                self.index.add(entry);
                if doubts {
                    self.touched.extend(rows.iter().cloned());
                    self.look_again(rows);
                }
                Some(Decided::Again)
            }
            (Verdict::Rejected(rejection), Some(_)) => Some(Decided::Rejected(rejection.clone())),
            (Verdict::Committed(_) | Verdict::Conflict(_) | Verdict::Aborted | Verdict::Rejected(_), _) => None,
        }
    }

    /// The mutations that an advance with these outcomes makes the confirmed state contain.
    pub(crate) fn about_to_contain(&self, outcomes: &[Outcome], to: Timestamp) -> Vec<(Counter, Timestamp)> {
        let mut own = self.contained(to);
        for outcome in outcomes {
            if let (Verdict::Committed(at), Some(entry)) = (&outcome.verdict, self.entries.get(&outcome.counter))
                && *at <= to
                && entry.leaves_when_contained()
                && entry.may_be_committed()
                // Its outcome may be told once more.
                && own.iter().all(|(counter, _)| *counter != outcome.counter)
            {
                own.push((outcome.counter, *at));
            }
        }
        own
    }

    /// The mutations that the confirmed state contains: perhaps behind one that has ended as well, whose end an earlier life of the app did not get to store.
    pub(crate) fn contained(&self, at: Timestamp) -> Vec<(Counter, Timestamp)> {
        let committed = self.committed.iter().filter_map(|counter| self.entries.get(counter));
        let committed = committed.filter_map(|entry| match entry.stage {
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
        self.committed.clear();
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

/// Whether an operation removes from a text and puts nothing in. It has read nothing, and rests on what it removes.
fn only_removes(operation: &Operation) -> bool {
    matches!(operation, Operation::Edit(edit) if edit.inserted.is_none())
}

/// Whether it has read what its level does not guard. That is promised to be of no moment before its client's last commit, so it waits for that.
fn rests_on_its_snapshot(entry: &Entry, schema: &Schema) -> bool {
    let RunState::Done(ran) = &entry.state else { return false };
    let reads: Vec<Read> = ran.reads.iter().map(|(read, _)| read.clone()).collect();
    let level = schema.level(&reads, ran.writes());
    entry.domain == Domain::Strong && level.guarded(&reads, ran.writes()).len() < reads.len()
}

fn is_more_than_an_entry(writes: &[Write]) -> bool {
    writes.iter().any(|write| write.cell.column != LogPages::entries_column())
}

/// What the gateway has to know of what was read. It comes to the same level by that.
fn guarded(ran: &Ran, schema: &Schema) -> Vec<Read> {
    let reads: Vec<Read> = ran.reads.iter().map(|(read, _)| read.clone()).collect();
    let level = schema.level(&reads, ran.writes());
    let guarded = level.guarded(&reads, ran.writes()).into_owned();
    if schema.level(&guarded, ran.writes()) == level { guarded } else { reads }
}

impl Entry {
    /// Its next attempt. Its run holds at `at`, because it was compared with the state there when it was settled.
    fn attempt(
        &self,
        at: Timestamp,
        schema: &Schema,
        ahead: &Ahead,
        append: impl Fn(&Entry, &Ahead) -> Option<(Vec<Read>, Vec<Write>)>,
    ) -> Option<Submit> {
        let (reads, decision) = match &self.state {
            RunState::Due | RunState::Missing(_) => return None,
            RunState::Frozen(frozen) => (frozen.reads.clone(), Decision::Commit(frozen.writes.clone())),
            RunState::TookPlace(writes) => (Vec::new(), Decision::Commit(writes.clone())),
            RunState::Done(ran) => match (&self.domain, &ran.result) {
                (Domain::Strong, _) => (guarded(ran, schema), ran.decision()),
                (Domain::Rows(_) | Domain::Causal, _) | (Domain::Log(_), RunResult::GivenUp(_)) => {
                    (Vec::new(), ran.decision())
                }
                (Domain::Log(_), RunResult::Writes(_)) => {
                    let (reads, writes) = append(self, ahead)?;
                    (reads, Decision::Commit(writes))
                }
            },
        };
        Some(Submit {
            counter: self.mutation.counter,
            attempt: self.attempts.next(),
            snapshot: at,
            reads,
            decision,
            acknowledged: None,
            lane: self.lane,
            follows: ahead.last,
        })
    }

    /// This attempt is sent: the next one, or the last one once more.
    fn note_submitted(&mut self, submit: Submit) {
        if submit.attempt > self.attempts
            && let RunState::Done(Ran { result: RunResult::GivenUp(given_up), .. }) = &self.state
        {
            self.given_up.insert(submit.attempt, given_up.clone());
        }
        self.attempts = self.attempts.max(submit.attempt);
        self.trail = Trail::MaybeSent;
        self.stage = Stage::Submitted(submit);
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
        if let Some(known) = self.given_up.get(&attempt) {
            return known.clone();
        }
        match &self.stage {
            Stage::Submitted(submit) | Stage::Unanswered(submit)
                if submit.attempt == attempt && matches!(submit.decision, Decision::Commit(_)) =>
            {
                GivenUp::ByClient("the server has refused it, and told an earlier session why".into())
            }
            Stage::Submitted(_)
            | Stage::Unanswered(_)
            | Stage::Called
            | Stage::Saving(_)
            | Stage::Saved
            | Stage::Committed { .. } => GivenUp::ByApp("it was aborted before the app was started again".into()),
        }
    }
}
