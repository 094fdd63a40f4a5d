//! How large a rule may be. docs/limits.md says what happens past each.

use crate::{Rights, Rule};

impl Rule {
    /// Tests of one rule, those of its operations and of rows that it follows included.
    pub const LEAVES_MAX: usize = 64;
    /// Alternatives of a read rule, when it is written as alternatives.
    pub const ALTERNATIVES_MAX: usize = 8;
    /// Rows that are read one after the other, each found by the one before.
    pub const REFERENCES_MAX: usize = 3;
}

impl Rights {
    /// Bytes of rights in JSON.
    pub const JSON_BYTES_MAX: usize = 512 << 10;
}
