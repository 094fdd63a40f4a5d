//! The feed: every segment reaches the sessions that it concerns, each with one advance.
//!
//! Invariants:
//! - segments are taken in order, and whole: one of which it has to be read first what came into queries holds up those behind it;
//! - those that wait behind it are one: they are taken at once, and their rows read as of the end of all of them. So who is read for catches up;
//! - what waits is bounded: past the bound nobody waits any longer for what the next one needs, and those who need it begin anew;
//! - of a row it is judged when its segment is next, and when it is to be read, whether it has to be read: not again with each row that comes;
//! - a change is told once to a session, however many of its interests include it.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Now;
use iolite_store::{Commit, ReadReply, Request, RequestId, Segment, TooOld};
use iolite_values::{Interest, KeyRange, Row, Timestamp};

use crate::following::index::Target;
use crate::following::load::News;
use crate::following::queries::{Changes, Place, Revision, Turnover};
use crate::sessions::farewell::Farewell;
use crate::sessions::session::{Flow, Open};
use crate::store::Purpose;
use crate::telling::routing::Touched;
use crate::without::Without;
use crate::{Gateway, SessionId, limits, size};

/// What is said to who needs a row that is not read in time.
const TOO_SLOW: &str = "the store is too slow to tell what queries answer: come back";

/// The segments that are not taken yet.
#[derive(Debug, Default)]
pub struct Feed {
    /// The one that is taken next.
    next: Option<Stretch>,
    /// Those behind it, put together.
    behind: Option<Behind>,
    /// How often it was judged of a row whether it has to be read.
    #[cfg(test)]
    pub judgements: usize,
}

/// Segments, and how much they hold.
#[derive(Debug)]
struct Behind {
    segment: Segment,
    bytes: usize,
}

/// A segment, and what was read for it.
#[derive(Debug)]
struct Stretch {
    segment: Segment,
    /// What it does.
    judged: Option<Judged>,
    /// As of its end.
    read: BTreeMap<Place, Row>,
    open: BTreeMap<RequestId, Place>,
    /// Rows that could not be read, and why: nobody can say whether they came into the queries for which they were to be read, also to who follows such a
    /// one since. The others go on without.
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
        (self.next, self.behind) = (None, None);
    }

    /// Up to where segments have come.
    fn end(&self) -> Option<Timestamp> {
        let behind = self.behind.as_ref().map(|own| own.segment.to);
        behind.or(self.next.as_ref().map(|own| own.segment.to))
    }

    fn push(&mut self, segment: Segment) {
        match (&self.next, &mut self.behind) {
            (None, _) => self.next = Some(Stretch::new(segment)),
            (Some(_), None) => self.behind = Some(Behind::new(segment)),
            (Some(_), Some(behind)) => behind.join(segment),
        }
    }

    /// What is behind it is next then.
    fn take_next(&mut self) -> Option<Stretch> {
        let behind = self.behind.take().map(|own| Stretch::new(own.segment));
        std::mem::replace(&mut self.next, behind)
    }

    /// How much waits behind the next one.
    fn behind_bytes(&self) -> usize {
        self.behind.as_ref().map_or(0, |own| own.bytes)
    }

    pub fn validate(&self, position: Timestamp) {
        let Some(next) = &self.next else {
            return assert!(self.behind.is_none(), "what waits has something to wait for");
        };
        assert!(!next.open.is_empty(), "the feed waits for something");
        assert_eq!(next.segment.from, position, "the next segment begins where the last one has ended");
        let Some(behind) = &self.behind else { return };
        assert_eq!(behind.segment.from, next.segment.to, "the segments that wait join");
        assert_eq!(behind.bytes, bytes_of(&behind.segment), "what waits is counted");
    }
}

impl Behind {
    fn new(segment: Segment) -> Behind {
        Behind { bytes: bytes_of(&segment), segment }
    }

    /// Takes the one that comes next.
    fn join(&mut self, segment: Segment) {
        self.bytes += bytes_of(&segment);
        self.segment.to = segment.to;
        self.segment.commits.extend(segment.commits);
    }
}

impl Stretch {
    fn new(segment: Segment) -> Stretch {
        let (read, open, failed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Stretch { segment, judged: None, read, open, failed }
    }
}

fn bytes_of(segment: &Segment) -> usize {
    segment.commits.iter().map(size::commit).sum()
}

impl Gateway {
    pub(crate) fn on_segment(&mut self, now: Now, segment: Segment) {
        assert_eq!(segment.from, self.feed.end().unwrap_or(self.position()), "the feed's segments join");
        assert!(segment.to >= segment.from, "the feed goes forward");
        self.feed.push(segment);
        self.follow_feed(now);
    }

    /// Takes the segments whose rows are read, or waited for no longer, and asks for those of the next one.
    pub(crate) fn follow_feed(&mut self, now: Now) {
        loop {
            if self.feed.next.is_none() && self.queries.is_lacking() {
                let (from, to) = (self.position(), self.position());
                self.feed.push(Segment { from, to, commits: Vec::new() });
            }
            self.judge_next();
            if self.feed.behind_bytes() > self.settings.limits.feed_waiting_bytes_max {
                self.give_up_rows();
            }
            self.read_rows();
            if self.feed.next.as_ref().is_none_or(|next| !next.open.is_empty()) {
                return;
            }
            let Some(Stretch { segment, judged, read, .. }) = self.feed.take_next() else { return };
            let changes = judged.expect("the next one was judged").changes;
            let turnover = self.queries.turn(&changes, &read);
            self.take_segment(now, &segment, turnover);
        }
    }

    /// Finds out which rows have to be read for the next segment: once, unless there is more to be known since.
    fn judge_next(&mut self) {
        let Some(next) = self.feed.next.as_ref() else { return };
        if next.judged.as_ref().is_some_and(|own| own.by == self.queries.revision()) {
            return;
        }
        let changes = self.queries.changes(&next.segment.commits);
        for (place, problem) in next.failed.clone() {
            self.give_up_sessions(self.queries.who_needs(&changes, &place), &problem);
        }
        let Some(next) = self.feed.next.as_mut() else { return };
        let by = self.queries.revision();
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
            if let Some(next) = self.feed.next.as_mut() {
                next.open.insert(request, (table, key));
            }
        }
    }

    /// A row that is to be read now. Those whose followers are gone since need not be.
    fn next_unread(&mut self) -> Option<(Place, Timestamp)> {
        let next = self.feed.next.as_mut()?;
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
            return self.on_row_refused(now, request, TOO_SLOW);
        };
        let Some(next) = self.feed.next.as_mut() else { return };
        let Some(place) = next.open.remove(&request) else { return };
        let row = reply.rows.into_iter().next().map(|own| own.row);
        next.read.insert(place, row.unwrap_or_default());
        self.follow_feed(now);
    }

    /// The store cannot tell what a row holds.
    pub(crate) fn on_row_refused(&mut self, now: Now, request: RequestId, problem: &str) {
        let Some(next) = self.feed.next.as_mut() else { return };
        let Some(place) = next.open.remove(&request) else { return };
        self.give_up_row(place, problem);
        self.follow_feed(now);
    }

    /// Nobody waits any longer for the rows of the next stretch.
    fn give_up_rows(&mut self) {
        let Some(next) = self.feed.next.as_mut() else { return };
        let unread = next.judged.as_mut().map(|own| std::mem::take(&mut own.unread)).unwrap_or_default();
        let open = std::mem::take(&mut next.open);
        self.give_up(open.keys().copied());
        for place in unread.into_iter().chain(open.into_values()) {
            // With who needed those before, all who need this one may be gone.
            if self.is_needed(&place) {
                self.give_up_row(place, TOO_SLOW);
            }
        }
    }

    /// Whether a row has to be read for the next stretch.
    fn is_needed(&self, place: &Place) -> bool {
        let judged = self.feed.next.as_ref().and_then(|next| next.judged.as_ref());
        judged.is_some_and(|own| self.queries.is_unknown(&own.changes, place))
    }

    /// Goes on without a row: who needs it begins anew.
    fn give_up_row(&mut self, place: Place, problem: &str) {
        let Some(next) = self.feed.next.as_mut() else { return };
        let who = next.judged.as_ref().map(|own| self.queries.who_needs(&own.changes, &place)).unwrap_or_default();
        next.failed.insert(place, problem.to_owned());
        self.give_up_sessions(who, problem);
    }

    /// Ends the sessions to which nobody can say whether a row came into their queries. They come back and have them read.
    fn give_up_sessions(&mut self, who: BTreeSet<Target>, problem: &str) {
        let sessions = who.into_iter().filter(|target| !self.give_up_set(*target, problem));
        let sessions: BTreeSet<SessionId> = sessions.map(|target| target.session).collect();
        for id in sessions {
            self.end(id, &Farewell::Unavailable(problem.to_owned()));
        }
    }

    fn take_segment(&mut self, now: Now, segment: &Segment, mut turnover: Turnover) {
        let resighted = self.change_sets(&segment.commits, &mut turnover);
        self.watch_access(&segment.commits);
        let surprised = self.surprised(&segment.commits);
        for (id, after) in &surprised {
            self.await_own_outcomes(*id, *after);
        }
        self.note_owed(now, &segment.commits, &turnover);
        let mut touched = self.route(&segment.commits, turnover);
        self.watch_schemas(&segment.commits);
        self.watch_leases(&segment.commits);
        self.home.set_position(segment.to);
        if let Some(group) = &mut self.group {
            group.advance(segment.to);
        }
        self.advance_leases();
        for commit in &segment.commits {
            self.published.remove(&commit.transaction);
        }
        for id in resighted {
            self.resight(id, touched.entry(id).or_default());
        }
        self.read_early_sets();
        let due = self.due.take(segment.to);
        let untouched: Vec<SessionId> = due.iter().filter(|id| !touched.contains_key(id)).copied().collect();
        for (id, touched) in touched {
            self.deliver(now, id, touched);
        }
        for id in untouched {
            self.finish_loads(now, id);
        }
        for id in surprised.into_keys().chain(due) {
            self.read_own_outcomes(id);
        }
        self.finish_growth();
        self.read_leases();
        self.read_access();
        self.tell_committed_rows(now);
        self.retry_held(now);
        self.ask_early_devices();
        self.judge_early(now);
        self.idle.note(!segment.commits.is_empty());
        self.schedule_idle(now);
    }

    /// A session whose sets have changed is told of the segment by what is read for it.
    fn resight(&mut self, id: SessionId, touched: &mut Touched) {
        let anew = self.review(id);
        touched.loads.retain(|load, _| !anew.contains(load));
        if self.open(id).is_some_and(|open| matches!(open.flow, Flow::CatchingUp(_))) {
            *touched = Touched { loads: std::mem::take(&mut touched.loads), ..Touched::default() };
        }
    }

    fn deliver(&mut self, now: Now, id: SessionId, mut touched: Touched) {
        let Some(open) = self.open_mut(id) else { return };
        for (load, news) in std::mem::take(&mut touched.loads) {
            let own = open.loads.get_mut(&load).expect("a loading subscription has a load");
            own.push(news);
        }
        self.make_room_in_buffers(id);
        if !touched.changes.is_empty() || !touched.entered.is_empty() || !touched.gone.is_empty() {
            match self.open(id).is_some_and(Open::is_live) {
                true => self.tell(now, id, self.position(), touched),
                false => self.hold_back(id, touched),
            }
        }
        self.finish_loads(now, id);
    }

    /// Tells a live session what was sorted for it.
    pub(crate) fn tell(&mut self, now: Now, id: SessionId, to: Timestamp, touched: Touched) {
        let Touched { changes, entered, has_left, gone, queries, loads: _ } = touched;
        match self.settings.without {
            Without::DataPush => self.send_notice(now, id, to, &changes, queries),
            Without::Nothing | Without::DataTypes if entered.is_empty() && gone.is_empty() && !has_left => {
                self.tell_changes(now, id, changes);
            }
            // What waits is told with it: it is of rows that the client held before. Nothing may come behind the change by which a row
            // leaves before that is told: put together, the row may look like an answer again, though not all of it was followed.
            Without::Nothing | Without::DataTypes => {
                self.send_advance_to(now, id, to, News { changes, entered, gone, ..News::default() });
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
