//! Which questions may be much to read. Those wait at a replica (replica/waiting_reads.rs), and how long they take says nothing of how far it is.

use iolite_values::Interest;

use crate::node::Ask;

/// Whether more than one row may have to be looked at.
pub(crate) fn may_be_much(ask: &Ask) -> bool {
    let is_much = |interest: &Interest| match interest {
        Interest::Cell(_) => false,
        Interest::Range { table: _, range } => !range.is_of_one_row(),
        Interest::Query(_) => true,
    };
    matches!(ask, Ask::Changes { .. }) || interests_of(ask).iter().any(is_much)
}

/// What is read.
pub(crate) fn interests_of(ask: &Ask) -> &[Interest] {
    match ask {
        Ask::ReadAt { interest, .. } => std::slice::from_ref(interest),
        Ask::Changes { interests, .. } => interests,
        Ask::Open
        | Ask::Begin
        | Ask::Prepare { .. }
        | Ask::Finalise { .. }
        | Ask::Poll { .. }
        | Ask::Outcome { .. }
        | Ask::Close { .. }
        | Ask::Resolved { .. }
        | Ask::Validate { .. }
        | Ask::Acknowledge { .. }
        | Ask::Report
        | Ask::Configured { .. } => &[],
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iolite_store::ReadLimit;
    use iolite_values::{KeyRange, Query, TableId, Timestamp};

    use super::*;

    fn read(interest: Interest) -> Ask {
        Ask::ReadAt { interest, at: Timestamp::ZERO, limit: ReadLimit::NONE, looks: 1 }
    }

    #[test]
    fn one_row_is_not_much() {
        let one = KeyRange { lower: Arc::new([7]), upper: Some(Arc::new([7, 0])) };
        let none = KeyRange::none();
        for range in [one, none] {
            assert!(!may_be_much(&read(Interest::Range { table: TableId(1), range })));
        }
        assert!(may_be_much(&read(Interest::Range { table: TableId(1), range: KeyRange::all() })));
        assert!(may_be_much(&read(Interest::Query(Arc::new(Query::all(TableId(1), true))))));
    }
}
