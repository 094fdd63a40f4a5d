//! The rows that a shard has: from one place to another.
//!
//! Invariant: a shard's extent never changes: one that is split ends, and its parts are shards of their own.

use iolite_values::{KeyRange, RowKey, TableId};

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
        self.has_row(place.table, &place.key)
    }

    pub fn has_row(&self, table: TableId, key: &RowKey) -> bool {
        let is_before = |end: &Place| (table, key) < (end.table, &end.key);
        !is_before(&self.from) && self.until.as_ref().is_none_or(is_before)
    }

    /// Whether nothing of the range lies outside.
    pub fn has_range(&self, table: TableId, range: &KeyRange) -> bool {
        let ends = |until: &Place| match &range.upper {
            Some(upper) => (table, &RowKey::bound(upper)) <= (until.table, &until.key),
            None => table < until.table,
        };
        self.has_row(table, &RowKey::bound(&range.lower)) && self.until.as_ref().is_none_or(ends)
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

    #[test]
    fn a_range_is_in_an_extent_with_all_of_its_rows() {
        let range = |lower: &[u8], upper: Option<&[u8]>| KeyRange { lower: lower.into(), upper: upper.map(Into::into) };
        let extent = Extent { from: place(5, &[3]), until: Some(place(6, &[8])) };
        let has = |table, lower: &[u8], upper: Option<&[u8]>| extent.has_range(TableId(table), &range(lower, upper));
        assert!(has(5, &[3], None) && has(6, &[], Some(&[8])));
        assert!(!has(5, &[2], None) && !has(5, &[], None) && !has(6, &[], Some(&[9])) && !has(6, &[], None));
        assert!(Extent::everything().has_range(TableId(6), &range(&[], None)));
    }
}
