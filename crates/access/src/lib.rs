//! Who a session speaks for: it shows a token at its hello, and what it may write and read follows from that.
//!
//! Source: Iolite's own; the papers leave authentication out. Access lists per table and row rules join here, and so do JWTs: as further
//! variants of [`Access`] and [`Identity`], so that a gateway does not change.

mod development;
mod may_read;
mod may_use;
mod may_write;

pub use development::DevelopmentToken;
pub use may_read::MayRead;
pub use may_use::{MayUse, ObjectRight};
pub use may_write::MayWrite;

/// How tokens are judged.
#[derive(Clone, Debug)]
pub enum Access {
    /// One shared token, made when the data directory was made, and printed at start.
    Development(DevelopmentToken),
}

/// Who has been let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Holds the development token, and may do everything that the schema allows.
    Developer,
}

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    #[error("no token was sent: pass the development token that the server printed at start")]
    Missing,
    #[error(
        "the token is wrong: pass the development token that the server printed at start, it belongs to the data directory"
    )]
    Wrong,
}

impl Access {
    /// # Errors
    /// [`AccessError`], whose message says what to do and nothing about the right token.
    pub fn check(&self, token: &str) -> Result<Identity, AccessError> {
        if token.is_empty() {
            return Err(AccessError::Missing);
        }
        match self {
            Access::Development(own) if own.equals(token) => Ok(Identity::Developer),
            Access::Development(_) => Err(AccessError::Wrong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access::Development(DevelopmentToken::new("6f2a"))
    }

    #[test]
    fn the_right_token_lets_in() {
        assert_eq!(access().check("6f2a"), Ok(Identity::Developer));
    }

    #[test]
    fn every_other_token_is_refused_with_what_to_do() {
        assert_eq!(access().check(""), Err(AccessError::Missing));
        for wrong in ["6f2", "6f2a ", "6f2b", "6F2A", "\u{0}"] {
            assert_eq!(access().check(wrong), Err(AccessError::Wrong), "{wrong:?}");
        }
        assert!(AccessError::Wrong.to_string().contains("the server printed"));
    }
}
