//! The rows that a shard has: from one place to another.
//!
//! Invariant: a shard's extent never changes: one that is split ends, and its parts are shards of their own.

use crate::node::Split;
use crate::shards::Place;

/// From `from` to below `until`; none: to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    pub from: Place,
    pub until: Option<Place>,
}

impl Extent {
    pub fn everything() -> Extent {
        Extent { from: Place::first(), until: None }
    }

    pub fn has(&self, place: &Place) -> bool {
        self.from <= *place && self.until.as_ref().is_none_or(|until| place < until)
    }

    /// Whether both parts have room for rows.
    pub fn is_cut_by(&self, split: &Split) -> bool {
        let (table, key) = split.at();
        let at = Place { table, key: key.clone() };
        self.has(&at) && at != self.from
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::{RowKey, TableId};

    use super::*;

    fn place(table: u32, key: &[u8]) -> Place {
        Place { table: TableId(table), key: RowKey::bound(key) }
    }

    #[test]
    fn an_extent_has_its_beginning_and_not_its_end() {
        let extent = Extent { from: place(5, &[3]), until: Some(place(6, &[])) };
        let has = |table, key: &[u8]| extent.has(&place(table, key));
        assert_eq!([has(5, &[2]), has(5, &[3]), has(5, &[9]), has(6, &[])], [false, true, true, false]);
        assert!(Extent::everything().has(&Place::first()) && Extent::everything().has(&place(u32::MAX, &[255])));
    }
}
