//! How much work is done on histories that are far from valid. Nothing here matters for a valid one, or for whether a history is found valid.

/// Clusters of a register that are related one by one to another one. More than that many lie within one only if more clients than that were
/// active at once, or the register is violated, which the first of them show.
pub const KEPT_OF_A_CLUSTER: usize = 256;

/// Edges that the search for short cycles follows, in all. Past it the cycle may be longer than need be, and its class weaker.
pub const SEARCH_STEPS: u64 = 10_000_000;
/// Cycles of a class that are shown and counted.
pub const CYCLES_OF_A_CLASS: usize = 100;

/// Work for one total, in words of 64 sums, within which all choices among the additions that may be in it are tried. Past it only the least
/// and the greatest sum count.
pub const CHOICE_WORDS: u128 = 1 << 10;
/// With more additions of unknown outcome to one total, likewise, and it is not compared with earlier reads either.
pub const OPEN_AT_ONCE: usize = 24;
