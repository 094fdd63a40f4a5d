//! Requests that only read: each is put to one replica of every shard that it concerns, the nearest first, and to the next one if that is behind. What is
//! much comes piece by piece.
//!
//! Invariants:
//! - a request is answered with what one timestamp shows in all shards;
//! - no more is put together than passes what is wanted, by a piece of each shard;
//! - a part without an answer has one open question or one timer, so it is asked for once.

mod merging;
mod part;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use iolite_machine::{Instant, Now};
use iolite_store::{ChangesError, ReadLimit, Refusal, Reply, RequestId};
use iolite_values::{ClientId, Counter, Direction, Interest, KeyRange, Query, TableId, Timestamp};

pub(super) use part::PartId;
use part::{Part, first_piece_of};

use super::members::Work;
use super::questions::{Purpose, Target};
use super::timers::Timer;
use super::{Coordinator, Session};
use crate::completions::{completions_table, of_client, outcomes_after};
use crate::node::{Answer, Ask, MessageId, ShardId, Split};
use crate::shards::ShardMap;

/// So many rows of a table may be looked at for one piece, answers or not: so whoever asks for much does not hold others up for long.
pub const READ_LOOKS_MAX: usize = 2048;

/// When all replicas are behind, they are asked again after this long.
pub const READ_AGAIN_AFTER: Duration = Duration::from_millis(2);

/// So many rows are asked for at a time: with keys of any length they fit into a message.
pub const READ_ROWS_MAX: usize = 8192;

/// And so many bytes of them, as [`iolite_values::Row::size_bytes`] counts, with one row more: of values of any size they fit into a message.
pub const READ_BYTES_MAX: usize = 2 << 20;

#[derive(Clone, Debug, Default)]
pub(super) struct Readings {
    open: BTreeMap<RequestId, Reading>,
}

#[derive(Clone, Debug)]
struct Reading {
    kind: Kind,
    /// Whose answers are read.
    query: Option<Arc<Query>>,
    /// In the order of keys.
    parts: Vec<Part>,
    last_part: PartId,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Rows {
        at: Timestamp,
        limit: ReadLimit,
    },
    /// Rows of the table of completion records.
    Completions {
        at: Timestamp,
        limit: ReadLimit,
    },
    /// The last row of a client there.
    LastOutcome {
        at: Timestamp,
    },
    Changes {
        through: Timestamp,
        /// Of all commits.
        bytes_max: usize,
    },
}

/// The row that passes the limit is read, too.
const LAST_ROW: ReadLimit = ReadLimit { rows: 0, direction: Direction::Descending, ..ReadLimit::NONE };

impl Kind {
    /// What has to be settled.
    fn at(self) -> Timestamp {
        match self {
            Kind::Rows { at, limit: _ } | Kind::Completions { at, limit: _ } | Kind::LastOutcome { at } => at,
            Kind::Changes { through, bytes_max: _ } => through,
        }
    }

    /// How many rows are read, if rows are.
    fn limit(self) -> Option<ReadLimit> {
        match self {
            Kind::Rows { at: _, limit } | Kind::Completions { at: _, limit } => Some(limit),
            Kind::LastOutcome { at: _ } => Some(LAST_ROW),
            Kind::Changes { .. } => None,
        }
    }
}

impl Readings {
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// A part that has no answer yet.
    fn part(&mut self, request: RequestId, part: PartId) -> Option<&mut Part> {
        self.open.get_mut(&request)?.parts.iter_mut().find(|own| own.id == part && own.answer.is_none())
    }
}

impl Coordinator {
    pub(super) fn begin_read(
        &mut self,
        now: Now,
        request: RequestId,
        interest: &Interest,
        at: Timestamp,
        limit: ReadLimit,
    ) {
        self.begin_rows(now, request, interest, Kind::Rows { at, limit }, limit);
    }

    /// Asks every shard that has rows of an interest for its part.
    fn begin_rows(&mut self, now: Now, request: RequestId, interest: &Interest, kind: Kind, limit: ReadLimit) {
        let asks = parts_of(&self.settings.shards, interest);
        let query = match interest {
            Interest::Query(query) => Some(query.clone()),
            Interest::Cell(_) | Interest::Range { .. } => None,
        };
        let (at, limit, looks) = (kind.at(), first_piece_of(limit), self.settings.read_looks_max);
        let parts = asks.into_iter().map(|(shard, interest)| (shard, Ask::ReadAt { interest, at, limit, looks }));
        self.begin_reading(now, request, kind, query, parts.collect());
    }

    pub(super) fn begin_completions(
        &mut self,
        now: Now,
        request: RequestId,
        (client, after): (ClientId, Counter),
        at: Timestamp,
        most: usize,
    ) {
        // The row that passes the limit is read, too.
        let limit = ReadLimit { rows: most.saturating_sub(1), ..ReadLimit::NONE };
        let interest = Interest::Range { table: completions_table(), range: outcomes_after(client, after) };
        self.begin_rows(now, request, &interest, Kind::Completions { at, limit }, limit);
    }

    pub(super) fn begin_last_outcome(&mut self, now: Now, request: RequestId, client: ClientId, at: Timestamp) {
        let interest = Interest::Range { table: completions_table(), range: of_client(client) };
        self.begin_rows(now, request, &interest, Kind::LastOutcome { at }, LAST_ROW);
    }

    pub(super) fn begin_changes(
        &mut self,
        now: Now,
        request: RequestId,
        interests: &[Interest],
        after: Timestamp,
        kind: Kind,
    ) {
        // A commit is told whole, so every shard is asked.
        let ask = Ask::Changes { interests: interests.to_vec(), after, through: kind.at() };
        let parts = self.shards().into_iter().map(|shard| (shard, ask.clone()));
        self.begin_reading(now, request, kind, None, parts.collect());
    }

    fn begin_reading(
        &mut self,
        now: Now,
        request: RequestId,
        kind: Kind,
        query: Option<Arc<Query>>,
        asks: Vec<(ShardId, Ask)>,
    ) {
        let (asked, resolved) = (kind.at(), self.feed.position());
        if asked > resolved {
            return self.reply(request, Reply::Refused(Refusal::NotResolved { asked, resolved }));
        }
        let mut reading = Reading { kind, query, parts: Vec::new(), last_part: PartId::default() };
        reading.parts = asks.into_iter().map(|(shard, ask)| reading.asking(shard, ask)).collect();
        let parts: Vec<PartId> = reading.parts.iter().map(|part| part.id).collect();
        self.readings.open.insert(request, reading);
        for part in parts {
            self.ask_next(now, request, part);
        }
    }

    /// Tells every replica that the store is read at `at`: reading none of the completion records says that, and is enough.
    pub(super) fn hold(&mut self, at: Timestamp) {
        let range = KeyRange::none();
        let interest = Interest::Range { table: completions_table(), range };
        let limit = ReadLimit { rows: 0, bytes: 0, direction: Direction::Ascending };
        for shard in self.shards() {
            for replica in self.replicas(shard) {
                let ask = Ask::ReadAt { interest: interest.clone(), at, limit, looks: self.settings.read_looks_max };
                self.say(Target { shard, replica }, ask);
            }
        }
    }

    /// Asks the next replica for a part.
    pub(super) fn ask_next(&mut self, now: Now, request: RequestId, part: PartId) {
        self.timers.clear(Timer::Reading(request, part));
        let Some(to) = self.next_for(request, part) else { return };
        let Some(own) = self.readings.part(request, part) else { return };
        let ask = own.ask.clone();
        let question = self.ask(now, to, Purpose::Reading { request, part }, ask);
        if let Some(own) = self.readings.part(request, part) {
            own.question = Some(question);
        }
    }

    /// Nothing more is asked for it.
    pub(super) fn end_reading(&mut self, request: RequestId) {
        let Some(reading) = self.readings.open.remove(&request) else { return };
        for part in reading.parts {
            if let Some((number, question)) = part.question.and_then(|own| Some((own, self.questions.take(own)?))) {
                self.unask(number, question.others(None));
            }
            self.timers.clear(Timer::Reading(request, part.id));
        }
    }

    /// Nobody waits for what these were asked: where a read waits, a question for nothing under its number takes its place.
    pub(super) fn unask(&mut self, number: u64, asked: Vec<Target>) {
        if matches!(self.session, Session::Open { .. }) {
            asked.into_iter().for_each(|to| self.post(to, number, nothing()));
        }
    }

    /// Who was asked is behind, and others may have it still: it goes to the next one that was not asked yet.
    pub(super) fn pass_on(&mut self, now: Instant, id: MessageId, from: Target) {
        let Some(question) = self.questions.find(id).filter(|question| question.to == from) else { return };
        let Purpose::Reading { request, part } = question.purpose else { return };
        let is_next_new = self.readings.part(request, part).is_some_and(|own| !own.next.is_empty());
        if is_next_new && let Some(to) = self.next_for(request, part) {
            self.questions.redirect(now, id.number, to);
            self.send(id.number);
        }
    }

    /// Whose turn it is to be asked for a part.
    pub(super) fn next_for(&mut self, request: RequestId, part: PartId) -> Option<Target> {
        let own = self.readings.part(request, part)?;
        if own.next.is_empty() {
            let all = self.settings.shards.group(own.shard).map_or_else(Vec::new, |group| group.members().to_vec());
            own.next = self.members.by_distance(all, Work::of(&own.ask));
            own.next.reverse();
        }
        Some(Target { shard: own.shard, replica: own.next.pop()? })
    }

    /// The shard has another group, which is read from now.
    pub(super) fn read_in_epoch(&mut self, now: Now, shard: ShardId) {
        let mut again = Vec::new();
        for (request, reading) in &mut self.readings.open {
            for part in reading.parts.iter_mut().filter(|part| part.shard == shard && part.answer.is_none()) {
                part.next.clear();
                again.push((*request, part.id));
            }
        }
        for (request, part) in again {
            self.ask_next(now, request, part);
        }
    }

    /// The shard has ended, and its parts are read from.
    pub(super) fn read_in_parts(&mut self, now: Now, split: &Split) {
        let mut new = Vec::new();
        for (request, reading) in &mut self.readings.open {
            let parts = reading.cut(&self.settings.shards, split).into_iter();
            new.extend(parts.map(|part| (*request, part)));
        }
        for (request, part) in new {
            self.ask_next(now, request, part);
        }
    }

    pub(super) fn on_reading(&mut self, now: Now, request: RequestId, part: PartId, answer: Answer) {
        let Some(reading) = self.readings.open.get_mut(&request) else { return };
        let Some(own) = reading.parts.iter_mut().find(|own| own.id == part && own.answer.is_none()) else { return };
        match answer {
            Answer::Read(_) | Answer::Changes(_) => {
                let goes_on = own.take(reading.kind, answer);
                if reading.is_too_much() {
                    self.end_reading(request);
                    return self.reply(request, Reply::Changes(Err(ChangesError::TooMuch)));
                }
                if goes_on {
                    return self.ask_next(now, request, part);
                }
            }
            // The next one; or when all are behind, the first one again in a moment.
            Answer::Behind { .. } if own.next.is_empty() => {
                return self.set_timer(now.instant + READ_AGAIN_AFTER, Timer::Reading(request, part));
            }
            Answer::Behind { .. } => return self.ask_next(now, request, part),
            Answer::Refused(refusal) => {
                self.end_reading(request);
                return self.reply(request, Reply::Refused(refusal));
            }
            _ => return,
        }
        if reading.parts.iter().all(|part| part.answer.is_some())
            && let Some(reading) = self.readings.open.remove(&request)
        {
            self.reply(request, reading.reply());
        }
    }
}

impl Reading {
    fn asking(&mut self, shard: ShardId, ask: Ask) -> Part {
        self.last_part = self.last_part.next();
        Part::new(self.last_part, shard, ask)
    }

    /// Returns the parts that are to be asked for now. What has come of the shard that has ended stays.
    fn cut(&mut self, map: &ShardMap, split: &Split) -> Vec<PartId> {
        let (mut parts, mut new) = (Vec::new(), Vec::new());
        for part in std::mem::take(&mut self.parts) {
            if part.shard != split.parent().shard || part.answer.is_some() {
                parts.push(part);
                continue;
            }
            let asks = part.asks_in_parts(map, split);
            parts.extend(part.ended());
            for (shard, ask) in asks {
                let part = self.asking(shard, ask);
                new.push(part.id);
                parts.push(part);
            }
        }
        self.parts = parts;
        new
    }

    /// Whether more commits have come than are wanted.
    fn is_too_much(&self) -> bool {
        match self.kind {
            Kind::Rows { .. } | Kind::Completions { .. } | Kind::LastOutcome { .. } => false,
            Kind::Changes { through: _, bytes_max } => {
                self.parts.iter().map(|part| part.commits_bytes).sum::<usize>() > bytes_max
            }
        }
    }

    fn reply(self) -> Reply {
        let found = self.parts.into_iter().filter_map(|part| part.answer);
        match self.kind {
            Kind::Rows { at, limit } => Reply::ReadAt(merging::rows(at, limit, self.query.as_deref(), found)),
            Kind::Completions { at, limit } => {
                Reply::Completions(merging::rows(at, limit, None, found).map(merging::completions))
            }
            Kind::LastOutcome { at } => {
                Reply::LastOutcome(merging::rows(at, LAST_ROW, None, found).map(|reply| merging::last_outcome(&reply)))
            }
            Kind::Changes { .. } => Reply::Changes(merging::changes(found).map_err(ChangesError::from)),
        }
    }
}

/// A read of no rows, which is answered at once.
fn nothing() -> Ask {
    let range = KeyRange::none();
    let (interest, limit) = (Interest::Range { table: TableId(0), range }, ReadLimit { rows: 0, ..ReadLimit::NONE });
    Ask::ReadAt { interest, at: Timestamp::ZERO, limit, looks: 1 }
}

/// The parts of an interest that shards have.
fn parts_of(map: &ShardMap, interest: &Interest) -> Vec<(ShardId, Interest)> {
    match interest {
        Interest::Cell(cell) => vec![(map.of_row(cell.table, &cell.row), interest.clone())],
        Interest::Range { table, range } => {
            let parts = map.of_range(*table, range).into_iter();
            parts.map(|(shard, range)| (shard, Interest::Range { table: *table, range })).collect()
        }
        Interest::Query(query) => {
            let parts = map.of_range(query.table, &query.row_keys()).into_iter();
            parts.map(|(shard, keys)| (shard, Interest::Query(Arc::new(query.within(&keys))))).collect()
        }
    }
}
