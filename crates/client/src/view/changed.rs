//! What may be another than when something last looked.

use std::collections::BTreeSet;

use iolite_values::{KeyRange, Read, RowKey, TableId};

use crate::cache::RowId;

#[derive(Clone, Debug)]
pub(crate) enum Changed {
    /// These rows.
    Rows(BTreeSet<RowId>),
    /// Anything, and what was held may be held no more.
    Everything,
}

impl Default for Changed {
    fn default() -> Changed {
        Changed::Rows(BTreeSet::new())
    }
}

impl Changed {
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Changed::Rows(rows) => rows.is_empty(),
            Changed::Everything => false,
        }
    }

    pub(crate) fn add(&mut self, more: impl IntoIterator<Item = RowId>) {
        match self {
            Changed::Rows(rows) => rows.extend(more),
            Changed::Everything => {}
        }
    }

    pub(crate) fn merge(&mut self, more: Changed) {
        match more {
            Changed::Rows(rows) => self.add(rows),
            Changed::Everything => *self = Changed::Everything,
        }
    }

    pub(crate) fn concerns_row(&self, id: &RowId) -> bool {
        match self {
            Changed::Rows(rows) => rows.contains(id),
            Changed::Everything => true,
        }
    }

    /// Whether a read may be answered otherwise, or not at all.
    pub(crate) fn concerns(&self, read: &Read) -> bool {
        let rows = match self {
            Changed::Rows(rows) => rows,
            Changed::Everything => return true,
        };
        match read {
            Read::Cell { cell, element: _ } => rows.contains(&(cell.table, cell.row.clone())),
            Read::Range { table, range } => any_in(rows, *table, range),
            Read::Query(query) => any_in(rows, query.table, &query.keys),
        }
    }
}

fn any_in(rows: &BTreeSet<RowId>, table: TableId, range: &KeyRange) -> bool {
    let first = rows.range((table, RowKey::bound(&range.lower))..).next();
    first.is_some_and(|(own, key)| *own == table && range.contains(key))
}
