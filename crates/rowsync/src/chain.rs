//! The kept effects of one row.
//!
//! Invariant: the base of a chain is the row that its first call had read. It moves only when a person has chosen, with the row before their eyes, or when a
//! chain is sent: then the next one rests on what was sent.

use std::collections::BTreeSet;

use iolite_values::{Counter, Row, Timestamp};

use crate::change::{Change, apply};
use crate::{Confirmed, RowVersion, Scheme, row_version};

/// The change that a call made of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Effects of a row stand in the order of their places.
    pub(crate) place: u64,
    pub(crate) call: Counter,
    pub(crate) change: Change,
}

/// The row that the calls of a chain had read, as a conflict shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    Row(Row),
    /// The app named a version that the device has no row of.
    Version(RowVersion),
}

/// Effects on one base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The row that the effects are shown upon: the base, unless the app named another one.
    pub(crate) onto: Row,
    /// The version of the base, where the app named it.
    pub(crate) given: Option<RowVersion>,
    /// The chain is judged when the confirmed rows are as of this time.
    pub(crate) judge_from: Timestamp,
    /// The chain came back from the store, so the row has to be looked at before it is sent again.
    pub(crate) came_back: bool,
    pub(crate) effects: Vec<Effect>,
}

/// The chains of one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The chain that the open change set carries.
    pub(crate) sent: Option<Chain>,
    pub(crate) waiting: Option<Chain>,
}

/// How a chain stands to the confirmed row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// The confirmed row is its base.
    Same,
    /// The confirmed row is another.
    Other,
    /// Too little is known.
    Open,
}

impl Chain {
    pub(crate) fn on(onto: Row) -> Chain {
        Chain { onto, given: None, judge_from: Timestamp::ZERO, came_back: false, effects: Vec::new() }
    }

    /// One change in place of all. None of an empty chain.
    pub(crate) fn fold(&self) -> Option<Change> {
        fold(&self.effects)
    }

    /// The row after its effects.
    pub(crate) fn shown(&self, scheme: Scheme) -> Row {
        shown_on(self.onto.clone(), scheme, &self.effects)
    }

    pub(crate) fn calls(&self) -> BTreeSet<Counter> {
        self.effects.iter().map(|effect| effect.call).collect()
    }

    pub(crate) fn base(&self) -> Base {
        self.given.map_or_else(|| Base::Row(self.onto.clone()), Base::Version)
    }

    /// Whether the row has to be subscribed to, or nobody would tell of a conflict. The store itself tells whether a row is there that is inserted.
    pub(crate) fn wants_row(&self) -> bool {
        self.onto.exists() || self.given.is_some() || self.came_back
    }

    pub(crate) fn judge(&self, position: Timestamp, confirmed: Confirmed<'_>) -> Judged {
        if position < self.judge_from {
            return Judged::Open;
        }
        let row = match confirmed {
            Confirmed::Unknown if self.wants_row() => return Judged::Open,
            Confirmed::Unknown => return Judged::Same,
            Confirmed::Absent => &Row::default(),
            Confirmed::There(row) => row,
        };
        let is_same = self.given.map_or_else(|| self.onto == *row, |version| row_version(row) == version);
        if is_same { Judged::Same } else { Judged::Other }
    }

    /// The version of the row as it was before any of the effects, or between two.
    pub(crate) fn has_shown(&self, scheme: Scheme, version: RowVersion) -> bool {
        let base = self.given.unwrap_or_else(|| row_version(&self.onto));
        let after = |count| shown_on(self.onto.clone(), scheme, &self.effects[..count]);
        base == version || (0..=self.effects.len()).any(|count| row_version(&after(count)) == version)
    }

    /// Whether each update of other calls has a row without this call.
    pub(crate) fn stands_without(&self, call: Counter) -> bool {
        let mut exists = self.onto.exists();
        self.effects.iter().filter(|effect| effect.call != call).all(|effect| match &effect.change {
            Change::Update(_) => exists,
            Change::Insert(_) => {
                exists = true;
                true
            }
            Change::Delete => {
                exists = false;
                true
            }
        })
    }

    /// One chain of this, which was sent, and of the one that began behind it.
    pub(crate) fn joined(mut self, behind: Option<Chain>) -> Chain {
        if let Some(behind) = behind {
            self.given = behind.given.or(self.given);
            self.effects.extend(behind.effects);
        }
        self
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.onto.size_bytes() + self.effects.iter().map(|effect| 24 + effect.change.size_bytes()).sum::<usize>()
    }
}

impl Kept {
    pub(crate) fn chains(&self) -> impl Iterator<Item = &Chain> {
        self.sent.iter().chain(&self.waiting)
    }

    pub(crate) fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.chains().flat_map(|chain| &chain.effects)
    }
}

pub(crate) fn fold<'a>(effects: impl IntoIterator<Item = &'a Effect>) -> Option<Change> {
    let mut changes = effects.into_iter().map(|effect| &effect.change);
    let first = changes.next()?.clone();
    Some(changes.fold(first, Change::then))
}

pub(crate) fn shown_on<'a>(mut row: Row, scheme: Scheme, effects: impl IntoIterator<Item = &'a Effect>) -> Row {
    if let Some(change) = fold(effects) {
        apply(&mut row, scheme, &change);
    }
    row
}
