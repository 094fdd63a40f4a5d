//! Versions of the session protocol, and how two sides agree on one.

/// A version of the session protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProtocolVersion(pub u32);

impl ProtocolVersion {
    pub const CURRENT: ProtocolVersion = ProtocolVersion(7);
    /// Older clients do not learn their own ids, which their tokens decide.
    pub const OLDEST_SUPPORTED: ProtocolVersion = ProtocolVersion(7);

    /// The newest version that both sides speak; `None`: say [`super::GoodbyeReason::Version`].
    pub fn negotiate(client_oldest: ProtocolVersion, client_newest: ProtocolVersion) -> Option<ProtocolVersion> {
        let newest = client_newest.min(ProtocolVersion::CURRENT);
        let oldest = client_oldest.max(ProtocolVersion::OLDEST_SUPPORTED);
        (oldest <= newest).then_some(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_version_is_taken() {
        let negotiate = |oldest, newest| ProtocolVersion::negotiate(ProtocolVersion(oldest), ProtocolVersion(newest));
        let current = ProtocolVersion::CURRENT;
        assert_eq!(negotiate(current.0, current.0), Some(current));
        assert_eq!(negotiate(0, u32::MAX), Some(current));
        assert_eq!(negotiate(current.0 + 1, u32::MAX), None);
        assert_eq!(negotiate(0, ProtocolVersion::OLDEST_SUPPORTED.0 - 1), None);
        assert_eq!(negotiate(current.0 + 1, current.0), None);
    }
}
