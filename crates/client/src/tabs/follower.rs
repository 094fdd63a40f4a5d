//! What a tab runs that does not lead: the same surface as `Client`, served from a mirror of the leader's state.
//!
//! Not part of the crate's module tree yet: it is being built (November 2026).
