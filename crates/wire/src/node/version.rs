//! Versions of the messages between nodes, and how two nodes agree on one.

use crate::generated::{proto, shapes};
use crate::limits::NODES_HELLO;
use crate::{DecodeError, EncodeError, frame};

/// A version of the messages between nodes. A frame does not carry it: it is agreed on with the link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodesVersion(pub u32);

impl NodesVersion {
    pub const CURRENT: NodesVersion = NodesVersion(4);
    pub const OLDEST_SUPPORTED: NodesVersion = NodesVersion(1);
}

/// Which versions a node speaks: what both sides of a link say in its hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodesHello {
    pub oldest: NodesVersion,
    pub newest: NodesVersion,
}

impl NodesHello {
    /// This release's.
    pub const OWN: NodesHello = NodesHello { oldest: NodesVersion::OLDEST_SUPPORTED, newest: NodesVersion::CURRENT };

    /// The newest version that both sides speak, whichever of them is asked; `None`: refuse the link.
    pub fn negotiate(self, other: NodesHello) -> Option<NodesVersion> {
        let newest = self.newest.min(other.newest);
        (self.oldest.max(other.oldest) <= newest).then_some(newest)
    }

    /// # Errors
    /// None of this version: it is small.
    pub fn encode(self) -> Result<Vec<u8>, EncodeError> {
        let hello = proto::NodesHello { oldest_version: self.oldest.0, newest_version: self.newest.0 };
        frame::encode(&hello, shapes::NODES_HELLO, NODES_HELLO)
    }

    /// # Errors
    /// [`DecodeError`]: the peer is no node of this system.
    pub fn decode(bytes: &[u8]) -> Result<NodesHello, DecodeError> {
        let hello: proto::NodesHello = frame::decode(bytes, shapes::NODES_HELLO, NODES_HELLO)?;
        if hello.oldest_version == 0 {
            return Err(DecodeError::malformed("a hello without a version"));
        }
        Ok(NodesHello { oldest: NodesVersion(hello.oldest_version), newest: NodesVersion(hello.newest_version) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_take_the_newest_version_that_both_speak() {
        let hello = |oldest, newest| NodesHello { oldest: NodesVersion(oldest), newest: NodesVersion(newest) };
        for (one, other, agreed) in [
            (hello(1, 1), hello(1, 1), Some(1)),
            (hello(1, 3), hello(2, 5), Some(3)),
            (hello(1, 2), hello(2, 2), Some(2)),
            (hello(1, 2), hello(3, 4), None),
            (hello(2, 1), hello(1, 4), None),
        ] {
            assert_eq!(one.negotiate(other), agreed.map(NodesVersion), "{one:?} {other:?}");
            assert_eq!(other.negotiate(one), agreed.map(NodesVersion), "{one:?} {other:?}");
        }
    }

    #[test]
    fn what_says_no_version_is_no_hello() {
        assert_eq!(NodesHello::decode(&[]), Err(DecodeError::malformed("a hello without a version")));
        assert_eq!(NodesHello::decode(b"epoch 7").map(drop).map_err(|_| ()), Err(()));
    }
}
