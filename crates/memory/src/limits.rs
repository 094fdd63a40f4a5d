//! How much there may be of everything: docs/limits.md has a row for each.

/// Objects of one region.
pub const ENTRIES_MAX: u32 = 4_000_000;
/// The bytes of one object.
pub const OBJECT_BYTES_MAX: u64 = 64 << 20;
/// The bytes of all objects of one region.
pub const REGION_BYTES_MAX: u64 = 64 << 30;
/// Pools of one region that exist at the same time: each thread that reads needs one.
pub const POOLS_MAX: u32 = 1024;
/// Guards of one pool that exist at the same time.
pub const GUARDS_MAX: usize = 4;
/// The bytes of one message between a program and the daemon, with its end of line.
pub const MESSAGE_BYTES_MAX: usize = 4096;

/// The unit of places in a region.
pub(crate) const PAGE_BYTES: u64 = 4096;
/// Objects below so many bytes are put together in bundles.
pub(crate) const SMALL_BYTES: u64 = 2048;
/// The bytes of a bundle.
pub(crate) const BUNDLE_BYTES: u64 = 64 << 10;
/// The unit in which holes are cheap.
pub(crate) const EXTENT_BYTES: u64 = 2 << 20;
pub(crate) const EXTENT_PAGES: u64 = EXTENT_BYTES / PAGE_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_those_of_the_page() {
        let page = include_str!("../../../docs/limits.md");
        let rows = [
            ("ENTRIES_MAX", u64::from(ENTRIES_MAX)),
            ("OBJECT_BYTES_MAX", OBJECT_BYTES_MAX),
            ("REGION_BYTES_MAX", REGION_BYTES_MAX),
            ("POOLS_MAX", u64::from(POOLS_MAX)),
            ("GUARDS_MAX", GUARDS_MAX as u64),
            ("MESSAGE_BYTES_MAX", MESSAGE_BYTES_MAX as u64),
        ];
        for (name, value) in rows {
            let row = format!("| `memory::{name}` | {value} |");
            assert!(page.contains(&row), "docs/limits.md has no row that begins with {row}");
        }
    }
}
