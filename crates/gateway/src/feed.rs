//! The feed: every segment reaches the sessions that it concerns, each with one advance.
//!
//! Invariants:
//! - segments are taken in order, and whole: one of which it has to be read first what came into queries holds up those behind it;
//! - of a row it is judged when its segment is next, and when it is to be read, whether it has to be read: not again with each row that comes;
//! - a change is told once to a session, however many of its interests include it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iolite_machine::Now;
use iolite_store::{Commit, ReadReply, Request, RequestId, Segment, TooOld};
use iolite_values::{Interest, KeyRange, Row, Timestamp};

use crate::farewell::Farewell;
use crate::load::News;
use crate::queries::{Changes, Place, Revision, Turnover};
use crate::routing::Touched;
use crate::session::Open;
use crate::store::Purpose;
use crate::without::Without;
use crate::{Gateway, SessionId, limits};

/// The segments that are not taken yet.
#[derive(Debug, Default)]
pub struct Feed {
    waiting: VecDeque<Stretch>,
    /// How often it was judged of a row whether it has to be read.
    #[cfg(test)]
    pub judgements: usize,
}

/// A segment, and what was read for it.
#[derive(Debug)]
struct Stretch {
    segment: Segment,
    /// Of the next one, what it does.
    judged: Option<Judged>,
    /// As of its end.
    read: BTreeMap<Place, Row>,
    open: BTreeMap<RequestId, Place>,
    /// Rows that could not be read, and why: nobody can say whether they came into a query, also to who follows one since.
    failed: BTreeMap<Place, String>,
}

#[derive(Debug)]
struct Judged {
    by: Revision,
    changes: Changes,
    /// Rows that are not asked for yet.
    unread: BTreeSet<Place>,
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
        let (read, open, failed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        self.waiting.push_back(Stretch { segment, judged: None, read, open, failed });
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
            self.judge_next();
            self.read_rows();
            if self.feed.waiting.front().is_none_or(|next| !next.open.is_empty()) {
                return;
            }
            let Some(Stretch { segment, judged, read, .. }) = self.feed.waiting.pop_front() else { return };
            let changes = judged.expect("the next one was judged").changes;
            let turnover = self.queries.turn(&changes, &read);
            self.take_segment(now, &segment, turnover);
        }
    }

    /// Finds out which rows have to be read for the next segment: once, unless there is more to be known since.
    fn judge_next(&mut self) {
        let Some(next) = self.feed.waiting.front() else { return };
        if next.judged.as_ref().is_some_and(|own| own.by == self.queries.revision()) {
            return;
        }
        for (place, problem) in next.failed.clone() {
            self.give_up_queries(&place, &problem);
        }
        let Some(next) = self.feed.waiting.front_mut() else { return };
        let by = self.queries.revision();
        let changes = self.queries.changes(&next.segment.commits);
        let mut unread = self.queries.unknown(&changes);
        for known in next.read.keys().chain(next.open.values()) {
            unread.remove(known);
        }
        #[cfg(test)]
        {
            self.feed.judgements += changes.len();
        }
        next.judged = Some(Judged { by, changes, unread });
    }

    /// Reads rows as of the end of the next segment, so many at a time.
    fn read_rows(&mut self) {
        while let Some(((table, key), at)) = self.next_unread() {
            let interest = Interest::Range { table, range: KeyRange::one(&key) };
            let limit = self.settings.limits.read_share;
            let request = self.ask(Purpose::Row, Request::ReadAt { interest, at, limit });
            if let Some(next) = self.feed.waiting.front_mut() {
                next.open.insert(request, (table, key));
            }
        }
    }

    /// A row that is to be read now. Those whose followers are gone since need not be.
    fn next_unread(&mut self) -> Option<(Place, Timestamp)> {
        let next = self.feed.waiting.front_mut()?;
        let judged = next.judged.as_mut()?;
        while next.open.len() < limits::ROWS_OPEN_MAX {
            let place = judged.unread.pop_first()?;
            #[cfg(test)]
            {
                self.feed.judgements += 1;
            }
            if self.queries.is_unknown(&judged.changes, &place) {
                return Some((place, next.segment.to));
            }
        }
        None
    }

    pub(crate) fn on_row(&mut self, now: Now, request: RequestId, reply: Result<ReadReply, TooOld>) {
        let Ok(reply) = reply else {
            return self.on_row_refused(now, request, "the store is too slow to tell what queries answer: come back");
        };
        let Some(next) = self.feed.waiting.front_mut() else { return };
        let Some(place) = next.open.remove(&request) else { return };
        let row = reply.rows.into_iter().next().map(|own| own.row);
        next.read.insert(place, row.unwrap_or_default());
        self.follow_feed(now);
    }

    /// The store cannot tell what a row holds.
    pub(crate) fn on_row_refused(&mut self, now: Now, request: RequestId, problem: &str) {
        let Some(next) = self.feed.waiting.front_mut() else { return };
        let Some(place) = next.open.remove(&request) else { return };
        next.read.insert(place.clone(), Row::default());
        next.failed.insert(place.clone(), problem.to_owned());
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
        let Some(open) = self.open_mut(id) else { return };
        for (load, news) in std::mem::take(&mut touched.loads) {
            let own = open.loads.get_mut(&load).expect("a loading subscription has a load");
            own.push(news);
        }
        self.make_room_in_buffers(id);
        if !touched.changes.is_empty() || !touched.entered.is_empty() {
            match self.open(id).is_some_and(Open::is_live) {
                true => self.tell(now, id, self.position(), touched),
                false => self.hold_back(id, touched),
            }
        }
        self.finish_loads(now, id);
    }

    /// Tells a live session what was sorted for it.
    pub(crate) fn tell(&mut self, now: Now, id: SessionId, to: Timestamp, touched: Touched) {
        let Touched { changes, entered, has_left, queries, loads: _ } = touched;
        match self.settings.without {
            Without::DataPush => self.send_notice(now, id, to, &changes, queries),
            Without::Nothing | Without::DataTypes if entered.is_empty() && !has_left => {
                self.tell_changes(now, id, changes);
            }
            // What waits is told with it: it is of rows that the client held before. Nothing may come behind the change by which a row
            // leaves before that is told: put together, the row may look like an answer again, though not all of it was followed.
            Without::Nothing | Without::DataTypes => {
                self.send_advance_to(now, id, to, News { changes, entered, ..News::default() });
            }
        }
    }

    /// What no gateway should do: tells a commit before the feed does. (But not who comes and goes in queries.)
    pub(crate) fn publish_early(&mut self, now: Now, commit: &Commit) {
        let touched = self.route(std::slice::from_ref(commit), Turnover::default());
        let live = touched.into_iter().filter(|(_, own)| !own.changes.is_empty());
        let live: Vec<_> = live.filter(|(id, _)| self.open(*id).is_some_and(Open::is_live)).collect();
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
