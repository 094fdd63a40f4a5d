//! Ranges and interests.

use std::sync::Arc;

use iolite_values::{Direction, Interest, KeyRange, TableId};

use crate::DecodeError;
use crate::generated::proto;
use crate::limits::RANGE_BOUND;
use crate::message::{First, SubscriptionId};

use super::{Reader, Writer, read_direction};

impl Writer {
    pub(crate) fn subscription(
        &mut self,
        id: SubscriptionId,
        interest: &Interest,
        first: Option<First>,
    ) -> proto::Subscription {
        let proto::NodeInterest { cell, name, range, query } = self.interest(interest);
        let descending = first.is_some_and(|first| first.direction == Direction::Descending);
        let first = first.map(|first| first.rows);
        proto::Subscription { id: id.0, cell, name, range, query, first, descending }
    }

    /// An interest that is no subscription.
    pub(crate) fn interest(&mut self, interest: &Interest) -> proto::NodeInterest {
        match interest {
            Interest::Cell(cell) => {
                let cell = self.cell(cell);
                proto::NodeInterest { cell: cell.number, name: cell.name, range: None, query: None }
            }
            Interest::Range { table, range } => {
                let range = Some(Box::new(self.range(*table, range)));
                proto::NodeInterest { cell: 0, name: None, range, query: None }
            }
            Interest::Query(query) => {
                let query = Some(Box::new(self.query(query)));
                proto::NodeInterest { cell: 0, name: None, range: None, query }
            }
        }
    }

    pub(crate) fn range(&mut self, table: TableId, range: &KeyRange) -> proto::TableRange {
        self.count(range.lower.len(), RANGE_BOUND);
        self.count(range.upper.as_ref().map_or(0, |upper| upper.len()), RANGE_BOUND);
        let upper = range.upper.as_ref().map(|upper| upper.to_vec());
        proto::TableRange { table: table.0, lower: range.lower.to_vec(), upper }
    }
}

impl Reader {
    pub(crate) fn subscription(
        &mut self,
        subscription: proto::Subscription,
    ) -> Result<(SubscriptionId, Interest, Option<First>), DecodeError> {
        let proto::Subscription { id, cell, name, range, query, first, descending } = subscription;
        let direction = read_direction(descending);
        if descending && first.is_none() {
            return Err(DecodeError::malformed("an order of all rows of an interest"));
        }
        let interest = self.interest(proto::NodeInterest { cell, name, range, query })?;
        Ok((SubscriptionId(id), interest, first.map(|rows| First { rows, direction })))
    }

    pub(crate) fn interest(&mut self, interest: proto::NodeInterest) -> Result<Interest, DecodeError> {
        let proto::NodeInterest { cell, name, range, query } = interest;
        let names_a_cell = cell != 0 || name.is_some();
        Ok(match (range, query) {
            (None, None) => Interest::Cell(self.cell(cell, name)?),
            (Some(range), None) if !names_a_cell => {
                let (table, range) = self.range(*range)?;
                Interest::Range { table, range }
            }
            (None, Some(query)) if !names_a_cell => Interest::Query(self.query(*query)?),
            (Some(_), _) | (_, Some(_)) => {
                return Err(DecodeError::malformed("an interest is in a cell, in a range or in a query"));
            }
        })
    }

    pub(crate) fn range(&self, range: proto::TableRange) -> Result<(TableId, KeyRange), DecodeError> {
        self.count(range.lower.len(), RANGE_BOUND)?;
        self.count(range.upper.as_ref().map_or(0, Vec::len), RANGE_BOUND)?;
        let range_of_keys = KeyRange { lower: Arc::from(range.lower), upper: range.upper.map(Arc::from) };
        Ok((TableId(range.table), range_of_keys))
    }
}
