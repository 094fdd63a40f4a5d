//! One part of a reading: what is asked of one shard, piece by piece.
//!
//! Invariant: what is asked for next is what lies behind that which has come.

use std::sync::Arc;

use iolite_store::{Commit, ReadLimit, ReadReply, RowAt, TooOld};
use iolite_values::{Direction, Interest};

use super::{Kind, READ_BYTES_MAX, READ_ROWS_MAX, parts_of};
use crate::node::{Answer, Ask, Changed, Piece, ReplicaId, ShardId, Split};
use crate::shards::ShardMap;

/// Names a part among those of its reading. Never used again in it: when a shard ends, what is to come of it comes in parts of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::coordinator) struct PartId(usize);

impl PartId {
    pub(super) fn next(self) -> PartId {
        PartId(self.0 + 1)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Part {
    pub id: PartId,
    pub shard: ShardId,
    pub ask: Ask,
    /// Whom to ask next.
    pub next: Vec<ReplicaId>,
    /// The last question for it.
    pub question: Option<u64>,
    /// What has come, and what is asked for follows.
    begun: Begun,
    /// Of all commits that have come.
    pub commits_bytes: usize,
    pub answer: Option<Found>,
}

/// The pieces that have come.
#[derive(Clone, Debug, Default)]
struct Begun {
    rows: Vec<RowAt>,
    /// Of the rows.
    size: Size,
    commits: Vec<Commit>,
}

/// How much rows are.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    rows: usize,
    bytes: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Found {
    Rows(Result<ReadReply, TooOld>),
    Changes(Result<Vec<Commit>, TooOld>),
}

impl Part {
    pub fn new(id: PartId, shard: ShardId, ask: Ask) -> Part {
        Part {
            id,
            shard,
            ask,
            next: Vec::new(),
            question: None,
            begun: Begun::default(),
            commits_bytes: 0,
            answer: None,
        }
    }

    /// Takes a piece. Says whether the next one is to be asked for.
    pub fn take(&mut self, kind: Kind, answer: Answer) -> bool {
        let rest = match answer {
            Answer::Read(Ok(piece)) => self.take_rows(kind, piece),
            Answer::Changes(Ok(changed)) => self.take_commits(kind, changed),
            Answer::Read(Err(too_old)) => {
                self.answer = Some(Found::Rows(Err(too_old)));
                None
            }
            Answer::Changes(Err(too_old)) => {
                self.answer = Some(Found::Changes(Err(too_old)));
                None
            }
            _ => None,
        };
        let Some(rest) = rest else { return false };
        self.ask = rest;
        self.next.clear();
        true
    }

    fn take_rows(&mut self, kind: Kind, Piece { reply, looked_through }: Piece) -> Option<Ask> {
        let (at, Some(whole), Ask::ReadAt { interest, limit, looks, .. }) = (kind.at(), kind.limit(), &self.ask) else {
            return None;
        };
        let size = Size::of(&reply.rows);
        // A replica of the release before does not say it.
        let is_cut = reply.is_cut || size.is_past(*limit);
        let last = reply.rows.last().filter(|_| is_cut);
        let rest = match (last, looked_through) {
            (Some(last), _) => rest_of(interest, last, limit.direction),
            (None, Some(place)) => rest_behind(interest, &place, limit.direction),
            (None, None) => None,
        };
        self.begun.add(reply.rows, size);
        let come = self.begun.size;
        let rest = rest.filter(|_| !come.is_past(whole));
        let rest = rest.map(|interest| Ask::ReadAt { interest, at, limit: piece_of(whole, come), looks: *looks });
        if rest.is_none() {
            let (rows, is_cut) = (std::mem::take(&mut self.begun.rows), come.is_past(whole));
            self.answer = Some(Found::Rows(Ok(ReadReply { at, rows, is_cut })));
        }
        rest
    }

    fn take_commits(&mut self, kind: Kind, changed: Changed) -> Option<Ask> {
        let (Kind::Changes { through, .. }, Ask::Changes { interests, after, .. }) = (kind, &self.ask) else {
            return None;
        };
        self.commits_bytes += changed.commits.iter().map(Commit::size_bytes).sum::<usize>();
        self.begun.commits.extend(changed.commits);
        if changed.through < through && changed.through > *after {
            return Some(Ask::Changes { interests: interests.clone(), after: changed.through, through });
        }
        self.answer = Some(Found::Changes(Ok(std::mem::take(&mut self.begun.commits))));
        None
    }

    /// What is to come of it, of the shards that have its rows now.
    pub fn asks_in_parts(&self, map: &ShardMap, split: &Split) -> Vec<(ShardId, Ask)> {
        match &self.ask {
            Ask::ReadAt { interest, at, limit, looks } => {
                let (at, limit, looks) = (*at, *limit, *looks);
                let parts = parts_of(map, interest).into_iter();
                parts.map(|(shard, interest)| (shard, Ask::ReadAt { interest, at, limit, looks })).collect()
            }
            _ => [split.lower(), split.upper()].map(|group| (group.shard, self.ask.clone())).into(),
        }
    }

    /// What has come of it is all of it, if anything has.
    pub fn ended(mut self) -> Option<Part> {
        let Begun { rows, size: _, commits } = std::mem::take(&mut self.begun);
        let found = match &self.ask {
            Ask::ReadAt { at, .. } if !rows.is_empty() => Found::Rows(Ok(ReadReply { at: *at, rows, is_cut: false })),
            Ask::Changes { .. } if !commits.is_empty() => Found::Changes(Ok(commits)),
            _ => return None,
        };
        Some(Part { answer: Some(found), ..self })
    }
}

impl Begun {
    fn add(&mut self, rows: Vec<RowAt>, size: Size) {
        self.rows.extend(rows);
        self.size = Size { rows: self.size.rows + size.rows, bytes: self.size.bytes + size.bytes };
    }
}

impl Size {
    fn of(rows: &[RowAt]) -> Size {
        Size { rows: rows.len(), bytes: rows.iter().map(|row| row.row.size_bytes()).sum() }
    }

    /// Whether it passes a limit, so that there may be more.
    fn is_past(self, limit: ReadLimit) -> bool {
        self.rows > limit.rows || self.bytes > limit.bytes
    }
}

/// What of a limit is asked for at first.
pub(super) fn first_piece_of(limit: ReadLimit) -> ReadLimit {
    piece_of(limit, Size::default())
}

/// What of a limit is asked for at a time, when so much has come.
fn piece_of(limit: ReadLimit, come: Size) -> ReadLimit {
    ReadLimit {
        rows: limit.rows.saturating_sub(come.rows).min(READ_ROWS_MAX),
        bytes: limit.bytes.saturating_sub(come.bytes).min(READ_BYTES_MAX),
        direction: limit.direction,
    }
}

/// What of an interest comes behind a row of it.
fn rest_of(interest: &Interest, last: &RowAt, direction: Direction) -> Option<Interest> {
    match interest {
        Interest::Cell(_) | Interest::Range { .. } => rest_behind(interest, last.key.as_bytes(), direction),
        Interest::Query(query) => rest_behind(interest, query.index_key(&last.key, &last.row).as_bytes(), direction),
    }
}

/// What of an interest comes behind a place in its order.
fn rest_behind(interest: &Interest, place: &[u8], direction: Direction) -> Option<Interest> {
    match interest {
        Interest::Cell(_) => None,
        Interest::Range { table, range } => {
            Some(Interest::Range { table: *table, range: range.behind(place, direction) })
        }
        Interest::Query(query) => {
            Some(Interest::Query(Arc::new(query.with_range(query.range.behind(place, direction)))))
        }
    }
}
