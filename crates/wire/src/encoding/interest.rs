//! Ranges and interests.

use std::sync::Arc;

use iolite_values::{Interest, KeyRange, TableId};

use crate::DecodeError;
use crate::generated::proto;
use crate::limits::RANGE_BOUND;
use crate::message::SubscriptionId;

use super::{Reader, Writer};

impl Writer {
    pub(crate) fn subscription(&mut self, id: SubscriptionId, interest: &Interest) -> proto::Subscription {
        let proto::NodeInterest { cell, name, range } = self.interest(interest);
        proto::Subscription { id: id.0, cell, name, range }
    }

    /// An interest that is no subscription.
    pub(crate) fn interest(&mut self, interest: &Interest) -> proto::NodeInterest {
        match interest {
            Interest::Cell(cell) => {
                let cell = self.cell(cell);
                proto::NodeInterest { cell: cell.number, name: cell.name, range: None }
            }
            Interest::Range { table, range } => {
                proto::NodeInterest { cell: 0, name: None, range: Some(Box::new(self.range(*table, range))) }
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
    ) -> Result<(SubscriptionId, Interest), DecodeError> {
        let proto::Subscription { id, cell, name, range } = subscription;
        Ok((SubscriptionId(id), self.interest(proto::NodeInterest { cell, name, range })?))
    }

    pub(crate) fn interest(&mut self, interest: proto::NodeInterest) -> Result<Interest, DecodeError> {
        let proto::NodeInterest { cell, name, range } = interest;
        Ok(match range {
            Some(_) if cell != 0 || name.is_some() => {
                return Err(DecodeError::malformed("an interest is in a cell or in a range"));
            }
            Some(range) => {
                let (table, range) = self.range(*range)?;
                Interest::Range { table, range }
            }
            None => Interest::Cell(self.cell(cell, name)?),
        })
    }

    pub(crate) fn range(&self, range: proto::TableRange) -> Result<(TableId, KeyRange), DecodeError> {
        self.count(range.lower.len(), RANGE_BOUND)?;
        self.count(range.upper.as_ref().map_or(0, Vec::len), RANGE_BOUND)?;
        let range_of_keys = KeyRange { lower: Arc::from(range.lower), upper: range.upper.map(Arc::from) };
        Ok((TableId(range.table), range_of_keys))
    }
}
