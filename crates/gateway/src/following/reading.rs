//! The rows of one load while they are read: a few interests at a time, each first up to a share of what a session may be sent.
//!
//! Invariants:
//! - what the store reads for a session at one time is bounded, however many interests it has and however large they are;
//! - all rows of a load are read as of one timestamp.

use std::collections::{BTreeMap, BTreeSet};

use iolite_store::{ReadLimit, ReadReply, RequestId, RowAt};
use iolite_values::Timestamp;
use iolite_wire::message::{First, SubscriptionId};

use crate::following::answer::Answer;
use crate::following::load::AnswerSize;
use crate::limits;

/// How much of an interest is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So little that all of a session's reads together are not too much.
    Share,
    /// As much as a session may be sent. One read of a session at a time.
    Whole,
}

#[derive(Debug)]
pub struct Reading {
    at: Timestamp,
    share: ReadLimit,
    /// Not asked for yet.
    waiting: BTreeSet<SubscriptionId>,
    open: BTreeMap<RequestId, (SubscriptionId, Amount, Option<First>)>,
    /// More than a share.
    large: BTreeSet<SubscriptionId>,
    /// Of cells and ranges.
    read: BTreeMap<SubscriptionId, Vec<RowAt>>,
    /// Of queries: kept up to date from then on.
    pub answers: BTreeMap<SubscriptionId, Answer>,
    size: AnswerSize,
}

/// The rows of an interest that are wanted.
#[derive(Debug)]
pub struct Wanted {
    pub subscription: SubscriptionId,
    pub rows: Vec<RowAt>,
    pub extent: Extent,
}

/// How many of an interest's rows there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    All,
    /// There are more, and only the first ones are wanted.
    First(First),
    /// There are more, and they are more than a session may be sent.
    TooMany,
}

impl Reading {
    pub fn new(at: Timestamp, share: ReadLimit, subscriptions: BTreeSet<SubscriptionId>) -> Reading {
        Reading {
            at,
            share,
            waiting: subscriptions,
            open: BTreeMap::new(),
            large: BTreeSet::new(),
            read: BTreeMap::new(),
            answers: BTreeMap::new(),
            size: AnswerSize::default(),
        }
    }

    /// As of when everything is read.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    pub fn limit(&self, amount: Amount, first: Option<First>) -> ReadLimit {
        let most = match amount {
            Amount::Share => self.share,
            Amount::Whole => {
                ReadLimit { rows: limits::ANSWER_ROWS_MAX, bytes: limits::ANSWER_BYTES_MAX, ..ReadLimit::NONE }
            }
        };
        match first {
            None => most,
            Some(own) => ReadLimit { rows: most.rows.min(rows_of(own)), direction: own.direction, ..most },
        }
    }

    /// How many reads of an amount are open.
    pub fn open(&self, amount: Amount) -> usize {
        self.open.values().filter(|(_, own, _)| *own == amount).count()
    }

    /// What is to be read next by this amount.
    pub fn next(&mut self, amount: Amount) -> Option<SubscriptionId> {
        match amount {
            Amount::Share => self.waiting.pop_first(),
            // The others first: they tell how much room is left.
            Amount::Whole if self.waiting.is_empty() && self.open.is_empty() => self.large.pop_first(),
            Amount::Whole => None,
        }
    }

    pub fn asked(&mut self, request: RequestId, subscription: SubscriptionId, amount: Amount, first: Option<First>) {
        self.open.insert(request, (subscription, amount, first));
    }

    /// The rows of an interest, if they are all that are wanted; one that needs more than its share is read again later.
    pub fn take(&mut self, request: RequestId, reply: ReadReply) -> Option<Wanted> {
        let ReadReply { at: _, mut rows, is_cut } = reply;
        let (subscription, amount, first) = self.open.remove(&request)?;
        let extent = match first.filter(|own| rows.len() > rows_of(*own)) {
            Some(own) => Extent::First(own),
            None if is_cut => Extent::TooMany,
            None => Extent::All,
        };
        if amount == Amount::Share && extent == Extent::TooMany {
            self.large.insert(subscription);
            return None;
        }
        rows.truncate(first.map_or(usize::MAX, rows_of));
        Some(Wanted { subscription, rows, extent })
    }

    pub fn answer(&mut self, subscription: SubscriptionId, size: AnswerSize, answer: Answer) {
        self.size = self.size.plus(size);
        self.answers.insert(subscription, answer);
    }

    pub fn keep(&mut self, subscription: SubscriptionId, rows: Vec<RowAt>) {
        self.size = self.size.plus(AnswerSize::of(&rows));
        self.read.insert(subscription, rows);
    }

    pub fn waits_for(&self, request: RequestId) -> bool {
        self.open.contains_key(&request)
    }

    pub fn is_answered(&self) -> bool {
        self.waiting.is_empty()
            && self.open.is_empty()
            && self.large.is_empty()
            && self.answers.values().all(Answer::is_whole)
    }

    pub fn size(&self) -> AnswerSize {
        self.size
    }

    /// The reads that are open.
    pub fn requests(&self) -> impl Iterator<Item = RequestId> {
        self.open.keys().copied()
    }

    /// Returns the reads of it that were open.
    pub fn leave_out(&mut self, subscription: SubscriptionId) -> Vec<RequestId> {
        self.waiting.remove(&subscription);
        self.large.remove(&subscription);
        self.read.remove(&subscription);
        self.answers.remove(&subscription);
        let of_it = self.open.iter().filter(|(_, (own, _, _))| *own == subscription).map(|(request, _)| *request);
        let of_it: Vec<RequestId> = of_it.collect();
        self.open.retain(|_, (own, _, _)| *own != subscription);
        of_it
    }

    pub fn into_parts(self) -> (BTreeMap<SubscriptionId, Vec<RowAt>>, BTreeMap<SubscriptionId, Answer>) {
        (self.read, self.answers)
    }
}

fn rows_of(first: First) -> usize {
    usize::try_from(first.rows).unwrap_or(usize::MAX)
}
