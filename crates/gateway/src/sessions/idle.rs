//! Advances for sessions that nothing touched: they tell that what the client holds is still true, so that its snapshots stay young.
//!
//! Invariant: at most one a session and period, and one in [`QUIET_PERIODS`] while nobody commits; none while the feed stands still.

use iolite_machine::{Instant, Now};

use crate::following::load::News;
use crate::limits::{IDLE_ADVANCE_PERIOD, QUIET_PERIODS};
use crate::sessions::session::Phase;
use crate::{Gateway, SessionId};

#[derive(Debug, Default)]
pub struct Idle {
    next: Option<Instant>,
    /// Whether anything committed since the last idle advance.
    commits: bool,
    quiet_periods: u32,
}

impl Idle {
    pub fn next(&self) -> Option<Instant> {
        self.next
    }

    pub fn note(&mut self, commits: bool) {
        self.commits |= commits;
    }

    /// Whether this period ends with advances.
    fn is_due(&mut self) -> bool {
        self.quiet_periods += 1;
        let due = self.commits || self.quiet_periods >= QUIET_PERIODS;
        if due {
            self.commits = false;
            self.quiet_periods = 0;
        }
        due
    }
}

impl Gateway {
    /// Sees to it that sessions are told of the feed's progress in a while.
    pub(crate) fn schedule_idle(&mut self, now: Now) {
        if self.idle.next.is_none() && !self.clients.is_empty() {
            self.idle.next = Some(now.instant + IDLE_ADVANCE_PERIOD);
        }
    }

    pub(crate) fn on_idle(&mut self, now: Now) {
        if self.idle.next.is_none_or(|at| at > now.instant) {
            return;
        }
        self.idle.next = None;
        let waiting = self.waiting_for_news();
        if waiting.is_empty() {
            // The next segment of the feed sets the timer again.
            return;
        }
        if self.idle.is_due() {
            for id in waiting {
                self.send_advance(now, id, News::default());
            }
        } else {
            self.schedule_idle(now);
        }
    }

    /// The sessions that the feed has left behind without touching them.
    fn waiting_for_news(&self) -> Vec<SessionId> {
        let position = self.position();
        let untouched = self.sessions.iter().filter(|(_, session)| match &session.phase {
            Phase::Open(open) => open.is_live() && open.seen < position && open.batch.is_empty(),
            Phase::Greeting | Phase::Held(_) | Phase::SchemaWanted(_) => false,
        });
        untouched.map(|(id, _)| *id).collect()
    }
}
