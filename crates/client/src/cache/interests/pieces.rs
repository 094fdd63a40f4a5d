//! A range of primary keys, as far as it is held, in pieces.
//!
//! Invariants: the pieces lie one behind the other without a gap, from one end of the range on; one interest holds all of each; and no fewer pieces reach
//! as far.

use iolite_values::{Direction, KeyRange, TableId};

use super::Interests;

impl Interests {
    /// As many pieces as there are, but for those behind `most`.
    pub(crate) fn pieces_of(
        &self,
        table: TableId,
        range: &KeyRange,
        direction: Direction,
        most: usize,
    ) -> Vec<KeyRange> {
        let (mut pieces, mut rest) = (Vec::new(), range.clone());
        while pieces.len() < most
            && !rest.is_empty()
            && let Some(piece) = self.first_piece(table, &rest, direction)
        {
            rest = rest.behind_part(&piece, direction);
            pieces.push(piece);
        }
        pieces
    }

    /// The longest one.
    fn first_piece(&self, table: TableId, range: &KeyRange, direction: Direction) -> Option<KeyRange> {
        let of_queries = self.live_queries.of_all_rows(table).map(|query| query.row_keys());
        let holders = of_queries.chain(self.live_ranges.at_beginning(table, range, direction));
        let pieces = holders.filter_map(|own| own.beginning_of(range, direction));
        pieces.reduce(|one, other| if one.covers(&other) { one } else { other })
    }
}
