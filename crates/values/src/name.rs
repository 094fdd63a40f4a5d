//! Tables and columns as numbers.
//!
//! A number is a hash of the name, so that every client and server has the same one without asking, offline too, and after the
//! schema grew. Two names of one schema with equal numbers are a schema error. See docs/decisions/0001-names-as-numbers.md.

/// A table: the hash of its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TableId(pub u32);

impl TableId {
    pub fn of(name: &str) -> TableId {
        TableId(fnv1a(name))
    }
}

/// A column of a table: the hash of its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ColumnId(pub u32);

impl ColumnId {
    /// The cell that says whether the row exists. No column has this number.
    pub const ROW: ColumnId = ColumnId(0);

    pub fn of(name: &str) -> ColumnId {
        ColumnId(fnv1a(name))
    }
}

/// The 32-bit FNV-1a hash.
fn fnv1a(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(TableId::of("a"), TableId(0xe40c_292c));
        assert_eq!(ColumnId::of("foobar"), ColumnId(0xbf9c_f968));
    }
}
