//! The feed: every segment reaches the sessions that it concerns, each with one advance.
//!
//! Invariants:
//! - segments are taken in order, and whole: one of which it has to be read first what came into queries holds up those behind it;
//! - a change is told once to a session, however many of its interests include it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iolite_machine::Now;
use iolite_store::{Commit, ReadReply, Request, RequestId, Segment, TooOld};
use iolite_values::{Interest, KeyRange, Row, Timestamp};

use crate::farewell::Farewell;
use crate::load::News;
use crate::queries::{Place, Turnover};
use crate::routing::Touched;
use crate::store::Purpose;
use crate::without::Without;
use crate::{Gateway, SessionId, limits};

/// The segments that are not taken yet.
#[derive(Debug, Default)]
pub struct Feed {
    waiting: VecDeque<Stretch>,
}

/// A segment, and what was read for it.
#[derive(Debug)]
struct Stretch {
    segment: Segment,
    /// As of its end.
    read: BTreeMap<Place, Row>,
    open: BTreeMap<RequestId, Place>,
}

impl Feed {
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Up to where segments have come.
    fn end(&self) -> Option<Timestamp> {
        self.waiting.back().map(|own| own.segment.to)
    }

    fn push(&mut self, segment: Segment) {
        self.waiting.push_back(Stretch { segment, read: BTreeMap::new(), open: BTreeMap::new() });
    }

    pub fn validate(&self, position: Timestamp) {
        let mut at = position;
        for own in &self.waiting {
            assert_eq!(own.segment.from, at, "the segments that wait join");
            at = own.segment.to;
        }
        assert!(self.waiting.front().is_none_or(|own| !own.open.is_empty()), "the feed waits for something");
    }
}

impl Gateway {
    pub(crate) fn on_segment(&mut self, now: Now, segment: Segment) {
        assert_eq!(segment.from, self.feed.end().unwrap_or(self.position()), "the feed's segments join");
        assert!(segment.to >= segment.from, "the feed goes forward");
        self.feed.push(segment);
        self.follow_feed(now);
    }

    /// Takes the segments whose rows are read, and asks for those of the next one.
    pub(crate) fn follow_feed(&mut self, now: Now) {
        loop {
            if self.feed.waiting.is_empty() && self.queries.is_lacking() {
                let (from, to) = (self.position(), self.position());
                self.feed.push(Segment { from, to, commits: Vec::new() });
            }
            let Some(next) = self.feed.waiting.front() else { return };
            let changes = self.queries.changes(&next.segment.commits);
            let mut unknown = self.queries.unknown(&changes);
            unknown.retain(|place| !next.read.contains_key(place));
            if !unknown.is_empty() {
                return self.read_rows(unknown);
            }
            let Some(Stretch { segment, read, .. }) = self.feed.waiting.pop_front() else { return };
            let turnover = self.queries.turn(&changes, &read);
            self.take_segment(now, &segment, turnover);
        }
    }

    /// Reads rows as of the end of the next segment, so many at a time.
    fn read_rows(&mut self, unknown: BTreeSet<Place>) {
        let Some(next) = self.feed.waiting.front() else { return };
        let (at, open) = (next.segment.to, next.open.len());
        let asked: BTreeSet<&Place> = next.open.values().collect();
        let new = unknown.iter().filter(|place| !asked.contains(place));
        let new: Vec<Place> = new.take(limits::ROWS_OPEN_MAX.saturating_sub(open)).cloned().collect();
        for (table, key) in new {
            let interest = Interest::Range { table, range: KeyRange::one(&key) };
            let limit = self.settings.limits.read_share;
            let request = self.ask(Purpose::Row, Request::ReadAt { interest, at, limit });
            if let Some(next) = self.feed.waiting.front_mut() {
                next.open.insert(request, (table, key));
            }
        }
    }

    pub(crate) fn on_row(&mut self, now: Now, request: RequestId, reply: Result<ReadReply, TooOld>) {
        let Some(next) = self.feed.waiting.front_mut() else { return };
        let Some(place) = next.open.remove(&request) else { return };
        let rows = reply.map(|reply| reply.rows);
        let row = rows.as_ref().map(|rows| rows.first().map(|own| own.row.clone()).unwrap_or_default());
        next.read.insert(place.clone(), row.unwrap_or_default());
        if rows.is_err() {
            self.give_up_queries(&place, "the store is too slow to tell what queries answer: come back");
        }
        self.follow_feed(now);
    }

    /// The store refuses to tell what a row holds.
    pub(crate) fn on_row_refused(&mut self, now: Now, request: RequestId, problem: &str) {
        let Some(next) = self.feed.waiting.front_mut() else { return };
        let Some(place) = next.open.remove(&request) else { return };
        next.read.insert(place.clone(), Row::default());
        self.give_up_queries(&place, problem);
        self.follow_feed(now);
    }

    /// Ends the sessions to which nobody can say whether a row came into their queries. They come back and have them read.
    fn give_up_queries(&mut self, place: &Place, problem: &str) {
        let sessions: BTreeSet<SessionId> =
            self.queries.who_asks_for(place).into_iter().map(|target| target.session).collect();
        for id in sessions {
            self.end(id, &Farewell::Unavailable(problem.to_owned()));
        }
    }

    fn take_segment(&mut self, now: Now, segment: &Segment, turnover: Turnover) {
        let surprised = self.surprised(&segment.commits);
        for (id, after) in &surprised {
            self.await_own_outcomes(*id, *after);
        }
        let touched = self.route(&segment.commits, turnover);
        self.watch_schemas(&segment.commits);
        self.home.set_position(segment.to);
        for commit in &segment.commits {
            self.published.remove(&commit.transaction);
        }
        let mut due = self.due.take(segment.to);
        for (id, touched) in touched {
            due.remove(&id);
            self.deliver(now, id, touched);
        }
        for id in due {
            self.finish_loads(now, id);
        }
        for id in surprised.into_keys() {
            self.read_own_outcomes(id);
        }
        self.finish_growth();
        self.retry_held(now);
        self.idle.note(!segment.commits.is_empty());
        self.schedule_idle(now);
    }

    fn deliver(&mut self, now: Now, id: SessionId, mut touched: Touched) {
        let buffer_bytes_max = self.settings.limits.load_buffer_bytes_max;
        let Some(open) = self.open_mut(id) else { return };
        let mut touched_loads = Vec::new();
        for (load, news) in std::mem::take(&mut touched.loads) {
            let own = open.loads.get_mut(&load).expect("a loading subscription has a load");
            own.push(news);
            touched_loads.push(load);
        }
        if open.buffer_bytes() > buffer_bytes_max {
            touched_loads.into_iter().for_each(|load| self.read_snapshots(id, load));
        }
        let Touched { changes, entered, queries, loads: _ } = touched;
        match self.settings.without {
            _ if changes.is_empty() && entered.is_empty() => {}
            Without::DataPush => self.send_notice(now, id, &changes, queries),
            Without::Nothing | Without::DataTypes if entered.is_empty() => self.tell_changes(now, id, changes),
            // What waits is told with it: it is of rows that the client held before.
            Without::Nothing | Without::DataTypes => {
                self.send_advance(now, id, News { changes, entered, ..News::default() });
            }
        }
        self.finish_loads(now, id);
    }

    /// What no gateway should do: tells a commit before the feed does. (But not who comes and goes in queries.)
    pub(crate) fn publish_early(&mut self, now: Now, commit: &Commit) {
        let touched = self.route(std::slice::from_ref(commit), Turnover::default());
        let live = touched.into_iter().filter(|(_, own)| !own.changes.is_empty());
        let live: Vec<_> = live.filter(|(id, _)| self.open(*id).is_some_and(crate::session::Open::is_live)).collect();
        let told = live.iter().map(|(id, _)| *id).collect();
        self.published.insert(commit.transaction, told);
        for (id, touched) in live {
            if let Some(open) = self.open_mut(id) {
                open.seen = open.seen.max(commit.at);
            }
            self.send_advance(now, id, News { changes: touched.changes, ..News::default() });
        }
    }
}
