//! Following the feed: one Close at a time, on demand while anything commits, and now and then otherwise.
//!
//! Invariant: each segment begins where the one before ended, since the cursor moves only with a segment and only one Close is open.

use std::time::Duration;

use iolite_machine::{Instant, Now};
use iolite_store::{Event, Segment, TooOld};
use iolite_values::Timestamp;

use super::questions::{Purpose, Questions};
use super::{Coordinator, CoordinatorOutput, CoordinatorSettings, Session};
use crate::messages::{Ask, Closed};

/// Without demand, this much of the recent past stays open, for proposals of slower clocks and links.
pub const IDLE_CLOSE_BEHIND: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Feed {
    cursor: Timestamp,
    /// There is something here to be fetched.
    wanted: Timestamp,
    closing: Closing,
    idle_after: Duration,
    idle_after_min: Duration,
    idle_after_max: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// A Close waits for its answer.
    Asked,
    /// The next one comes with demand, or at this time.
    Idle(Instant),
}

impl Feed {
    pub fn new(now: Instant, settings: CoordinatorSettings) -> Feed {
        Feed {
            cursor: Timestamp::ZERO,
            wanted: Timestamp::ZERO,
            closing: Closing::Idle(now + settings.idle_close_after),
            idle_after: settings.idle_close_after,
            idle_after_min: settings.idle_close_after,
            idle_after_max: settings.idle_close_after_max,
        }
    }

    /// Something committed at `at`, so the feed has to get there.
    pub fn want(&mut self, at: Timestamp) {
        self.wanted = self.wanted.max(at);
    }

    /// Begins at `resolved`, whatever was before.
    pub fn begin(&mut self, now: Instant, resolved: Timestamp) {
        self.cursor = resolved;
        self.wanted = resolved;
        self.idle_after = self.idle_after_min;
        self.closing = Closing::Idle(now + self.idle_after);
    }

    /// Forgets the open Close, whose answer would be of no use.
    pub fn stop(&mut self, now: Instant) {
        self.closing = Closing::Idle(now + self.idle_after);
    }

    pub fn idle_deadline(&self) -> Option<Instant> {
        match self.closing {
            Closing::Asked => None,
            Closing::Idle(at) => Some(at),
        }
    }

    /// Moves on by one answer.
    fn advance(&mut self, now: Instant, closed: Closed) -> Option<Segment> {
        let quiet = closed.commits.is_empty() && self.wanted <= self.cursor;
        self.idle_after = if quiet { (self.idle_after * 2).min(self.idle_after_max) } else { self.idle_after_min };
        self.closing = Closing::Idle(now + self.idle_after);
        let from = self.cursor;
        if closed.through <= from {
            return None;
        }
        self.cursor = closed.through;
        Some(Segment { from, to: closed.through, commits: closed.commits })
    }

    /// # Panics
    /// When an invariant of this module is broken.
    pub fn validate(&self, questions: &Questions) {
        let open = questions.count(|purpose| *purpose == Purpose::Close);
        assert_eq!(open, usize::from(self.closing == Closing::Asked), "one Close at a time");
    }
}

impl Coordinator {
    /// Closes at what is wanted, if nothing is being closed.
    pub(super) fn drive_feed(&mut self, now: Now) {
        if self.feed.wanted > self.feed.cursor {
            self.close(now, self.feed.wanted);
        }
    }

    pub(super) fn close_when_idle(&mut self, now: Now) {
        if self.feed.idle_deadline().is_some_and(|at| at <= now.instant) {
            let through = self.proposals.clock(now, IDLE_CLOSE_BEHIND).max(self.feed.wanted);
            self.close(now, through);
        }
    }

    fn close(&mut self, now: Now, through: Timestamp) {
        match (self.session, self.feed.closing) {
            (Session::Opening, _) | (Session::Open { .. }, Closing::Asked) => {}
            (Session::Open { .. }, Closing::Idle(_)) => {
                self.feed.closing = Closing::Asked;
                self.ask(now, Purpose::Close, Ask::Close { through, cursor: self.feed.cursor });
            }
        }
    }

    pub(super) fn on_closed(&mut self, now: Now, closed: Result<Closed, TooOld>, highest: Timestamp) {
        match closed {
            Ok(closed) => {
                let resolved = closed.resolved;
                let segment = self.feed.advance(now.instant, closed);
                // The rest of a long stretch; and others' commits, of which nobody else tells.
                self.feed.want(resolved.max(highest));
                if let Some(segment) = segment {
                    self.emit(CoordinatorOutput::Event(Event::Feed(segment)));
                }
            }
            Err(TooOld { .. }) => self.reopen(now),
        }
    }
}
