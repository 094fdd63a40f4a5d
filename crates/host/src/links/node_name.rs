//! The name of a node: what its certificate is made out to, and what it says at the beginning of a link.
//!
//! Invariant: a name is one that a certificate can hold as a DNS name, so two spellings never mean one node.

use std::fmt;
use std::sync::Arc;

/// Names a node within its cluster. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName(Arc<str>);

/// Why a text is no name of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no name for a node: take 1 to {max} lower-case letters, digits, hyphens and dots, each part between dots beginning with \
     a letter and ending with a letter or digit",
    max = NodeName::BYTES_MAX
)]
pub struct NodeNameError(String);

impl NodeName {
    /// Bytes of a name: what one part of a DNS name may have.
    pub const BYTES_MAX: usize = 63;

    /// # Errors
    /// [`NodeNameError`], which says what a name looks like.
    pub fn new(name: &str) -> Result<NodeName, NodeNameError> {
        if name.len() <= NodeName::BYTES_MAX && name.split('.').all(is_label) {
            Ok(NodeName(name.into()))
        } else {
            // Cut: it may come from anybody.
            Err(NodeNameError(name.chars().take(NodeName::BYTES_MAX + 1).collect()))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    bytes.first().is_some_and(u8::is_ascii_lowercase) && bytes.last() != Some(&b'-') && bytes.iter().all(inner)
}

impl fmt::Display for NodeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodes_name_has_a_length() {
        assert!(NodeName::new(&"a".repeat(NodeName::BYTES_MAX)).is_ok());
        assert!(NodeName::new(&"a".repeat(NodeName::BYTES_MAX + 1)).is_err());
    }

    #[test]
    fn a_name_is_one_that_a_certificate_can_hold() {
        for name in ["a", "store-0-2", "gateway-1", "store-0.iolite.example", "s3"] {
            assert_eq!(NodeName::new(name).map(|name| name.to_string()), Ok(name.to_owned()));
        }
        for name in ["", ".", "a.", "A", "a_b", "a b", "*", "*.a", "-a", "a-", "127.0.0.1", "1a", "a\n", "ä", "a..b"] {
            assert!(NodeName::new(name).is_err(), "{name}");
        }
    }
}
