//! A mutation that is being judged: the rows that are known, and those that are asked for.
//!
//! Invariant: all rows are as of one position of the store, which the mutation is judged at. Only whether a row was there before is as of its snapshot.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use iolite_rights::{Denial, Needs, RowName, Rows};
use iolite_store::{ReadLimit, ReadReply, Request, RequestId, TooOld};
use iolite_values::{Cell, Interest, KeyRange, Query, Read, Row, RowKey, Timestamp};

use crate::limits;

/// Something that has to be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Row(RowName),
    /// All answers of a query of somebody's own rows.
    Set(Arc<Query>),
    /// Whether a row was there when the client looked.
    Before(RowName, Timestamp),
}

#[derive(Debug)]
pub struct Case {
    /// The position that the mutation is judged at.
    at: Timestamp,
    pub known: Known,
    waiting: VecDeque<Wanted>,
    open: BTreeMap<RequestId, Wanted>,
}

/// Rows and sets that were read.
#[derive(Debug, Default)]
pub struct Known {
    rows: BTreeMap<RowName, Row>,
    sets: BTreeMap<Query, Vec<(RowKey, Row)>>,
    /// None: the store keeps nothing that old.
    before: BTreeMap<RowName, Option<bool>>,
    /// A set has more rows than are looked at.
    pub has_too_large_a_set: bool,
}

impl Wanted {
    pub fn all(needs: Needs) -> Vec<Wanted> {
        let rows = needs.rows.into_iter().map(Wanted::Row);
        rows.chain(needs.sets.into_iter().map(Wanted::Set)).collect()
    }

    fn request(&self, position: Timestamp) -> Request {
        let row = |name: &RowName| Interest::Range { table: name.table, range: KeyRange::one(&name.key) };
        let (interest, at, rows) = match self {
            Wanted::Row(name) => (row(name), position, usize::MAX),
            Wanted::Before(name, snapshot) => (row(name), *snapshot, usize::MAX),
            Wanted::Set(query) => (Interest::Query(Arc::clone(query)), position, limits::SET_KEYS_MAX),
        };
        Request::ReadAt { interest, at, limit: ReadLimit { rows, ..ReadLimit::NONE } }
    }
}

impl Case {
    pub fn new(at: Timestamp) -> Case {
        Case { at, known: Known::default(), waiting: VecDeque::new(), open: BTreeMap::new() }
    }

    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Notes what else has to be known. `followed` has the rows of a set as of some moment, if the gateway follows it. Whether all is known by that.
    pub fn wants(
        &mut self,
        wanted: Vec<Wanted>,
        followed: impl Fn(&Query) -> Option<(Timestamp, Vec<(RowKey, Row)>)>,
    ) -> bool {
        for own in wanted {
            let rows = match &own {
                Wanted::Set(query) => followed(query).filter(|(at, _)| *at == self.at).map(|(_, rows)| (query, rows)),
                Wanted::Row(_) | Wanted::Before(..) => None,
            };
            match rows {
                Some((query, rows)) => drop(self.known.sets.insert((**query).clone(), rows)),
                None => self.waiting.push_back(own),
            }
        }
        self.waiting.is_empty()
    }

    /// The next request for the store, a few at a time.
    pub fn next(&mut self) -> Option<(Wanted, Request)> {
        if self.open.len() >= limits::JUDGE_READS_OPEN_MAX {
            return None;
        }
        let wanted = self.waiting.pop_front()?;
        let request = wanted.request(self.at);
        Some((wanted, request))
    }

    pub fn asked(&mut self, request: RequestId, wanted: Wanted) {
        self.open.insert(request, wanted);
    }

    /// Takes a reply. Whether all is known that was wanted.
    ///
    /// # Errors
    /// The store keeps nothing of the position any more.
    pub fn take(&mut self, request: RequestId, reply: Result<ReadReply, TooOld>) -> Result<bool, TooOld> {
        let Some(wanted) = self.open.remove(&request) else { return Ok(false) };
        match wanted {
            Wanted::Row(name) => {
                let row = reply?.rows.into_iter().next().map(|own| own.row).unwrap_or_default();
                self.known.rows.insert(name, row);
            }
            Wanted::Set(query) => {
                let reply = reply?;
                self.known.has_too_large_a_set |= reply.is_cut;
                let rows = reply.rows.into_iter().map(|own| (own.key, own.row)).collect();
                self.known.sets.insert((*query).clone(), rows);
            }
            Wanted::Before(name, _) => {
                let was_there = reply.ok().map(|reply| reply.rows.iter().any(|own| own.row.exists()));
                self.known.before.insert(name, was_there);
            }
        }
        Ok(self.open.is_empty() && self.waiting.is_empty())
    }

    /// The requests that are open.
    pub fn requests(&self) -> Vec<RequestId> {
        self.open.keys().copied().collect()
    }
}

impl Known {
    /// Whether a row was there when the client looked. None: not asked yet. `Some(None)`: nobody knows any more.
    pub fn was_there(&self, row: &RowName) -> Option<Option<bool>> {
        self.before.get(row).copied()
    }

    /// The sets that were looked at.
    pub fn sets(&self) -> impl Iterator<Item = Read> {
        self.sets.keys().map(|query| Read::Query(Arc::new(query.clone())))
    }
}

impl Rows for Known {
    fn row(&self, row: &RowName) -> Option<Cow<'_, Row>> {
        self.rows.get(row).map(Cow::Borrowed)
    }

    fn answers(&self, query: &Query) -> Option<Vec<(RowKey, Cow<'_, Row>)>> {
        let rows = self.sets.get(query)?.iter();
        Some(rows.map(|(key, row)| (key.clone(), Cow::Borrowed(row))).collect())
    }
}

/// The row that is there, or is not, against what a mutation presumes.
pub fn row_of(denial: &Denial) -> Option<RowName> {
    denial.reads.iter().find_map(|read| match read {
        Read::Cell { cell: Cell { table, row, column: _ }, element: _ } => {
            Some(RowName { table: *table, key: row.clone() })
        }
        Read::Range { .. } | Read::Query(_) => None,
    })
}
