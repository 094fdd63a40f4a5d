//! How much one table keeps on the device, and how much it sends at once. docs/limits.md has each with its test.

/// Bytes of the writes and reads of a change set. A group that is larger is sent alone.
pub const SET_BYTES_MAX: usize = 256 << 10;
/// Bytes of a group: rows that calls share are sent at once, and a frame has to hold them. The call that would make it larger is refused.
pub const GROUP_BYTES_MAX: usize = 512 << 10;
/// Writes of a change set, and of a group. A call that would give a group more is refused. A run writes no more, and a frame has to hold them with their reads.
pub const SET_WRITES_MAX: usize = 2000;
/// Calls of a table that are kept.
pub const KEPT_CALLS_MAX: usize = 10_000;
/// Rows of a table with kept effects. Each may need an interest of its own.
pub const KEPT_ROWS_MAX: usize = 4096;
/// Bytes of the kept effects of a table and of the rows that they rest on.
pub const KEPT_BYTES_MAX: usize = 64 << 20;
