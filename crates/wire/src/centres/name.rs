//! The name of a data centre.

use std::fmt;
use std::sync::Arc;

/// Names a data centre within its group. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CentreName(Arc<str>);

/// Why a text is no name of a data centre.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no name for a data centre: take 1 to {max} lower-case letters, digits and hyphens, beginning with a letter and ending with a letter or digit",
    max = CentreName::BYTES_MAX
)]
pub struct CentreNameError(String);

impl CentreName {
    pub const BYTES_MAX: usize = 32;

    /// # Errors
    /// [`CentreNameError`], which says what a name looks like.
    pub fn new(name: &str) -> Result<CentreName, CentreNameError> {
        let bytes = name.as_bytes();
        let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        let begins = bytes.first().is_some_and(u8::is_ascii_lowercase);
        if bytes.len() <= CentreName::BYTES_MAX && begins && bytes.last() != Some(&b'-') && bytes.iter().all(inner) {
            Ok(CentreName(name.into()))
        } else {
            // Cut: it may come from anybody.
            Err(CentreNameError(name.chars().take(CentreName::BYTES_MAX + 1).collect()))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CentreName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        for name in ["eu", "us-east-1", "a", &"a".repeat(CentreName::BYTES_MAX)] {
            assert!(CentreName::new(name).is_ok(), "{name}");
        }
        for name in ["", "EU", "1a", "a-", "a.b", "ä", &"a".repeat(CentreName::BYTES_MAX + 1)] {
            assert!(CentreName::new(name).is_err(), "{name}");
        }
    }
}
