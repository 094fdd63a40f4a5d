//! Randomness from the operating system.

/// 128 random bits: an identity that nobody else has.
///
/// # Panics
/// When the operating system has no randomness to give: without it, identities would repeat.
pub fn random_id() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system gives randomness");
    u128::from_ne_bytes(bytes)
}

/// 64 random bits.
///
/// # Panics
/// As [`random_id`].
pub fn random_seed() -> u64 {
    random_id() as u64
}
