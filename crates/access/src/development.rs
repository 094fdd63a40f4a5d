//! The development token: random, of one data directory. It may speak for a user: `<token> as <JSON object>`.
//!
//! Invariant: how long a comparison takes depends on the length of what was sent, and on nothing else.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;

use iolite_rights::Claims;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::claim::claim_of_any;
use crate::{AccessError, Identity, Subject, TOKEN_BYTES_MAX, User};

/// The issuer of users for whom the development token speaks.
pub const DEVELOPMENT_ISSUER: &str = "iolite dev";

/// Stands between the token and the user.
const AS: &str = " as ";

/// Kept as a digest, so that it cannot be printed by mistake.
#[derive(Clone)]
pub struct DevelopmentToken {
    digest: [u8; 32],
}

impl DevelopmentToken {
    pub fn new(token: &str) -> DevelopmentToken {
        DevelopmentToken { digest: Sha256::digest(token.as_bytes()).into() }
    }

    pub fn equals(&self, token: &str) -> bool {
        let other: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        // Every byte is looked at, also after the first difference; `black_box` keeps the compiler from stopping there.
        let differences = self.digest.iter().zip(other).fold(0, |all, (own, other)| black_box(all | (own ^ other)));
        differences == 0
    }

    /// The developer, or the user for whom the developer speaks. Such a user's token never runs out.
    ///
    /// # Errors
    /// [`AccessError::Wrong`], [`AccessError::TooLong`] and [`AccessError::BadAs`].
    pub(crate) fn check(&self, text: &str) -> Result<Identity, AccessError> {
        if text.len() > TOKEN_BYTES_MAX {
            return Err(AccessError::TooLong);
        }
        let (token, user) = match text.split_once(AS) {
            None => (text, None),
            Some((token, user)) => (token, Some(user)),
        };
        if !self.equals(token) {
            return Err(AccessError::Wrong);
        }
        match user {
            None => Ok(Identity::Developer),
            Some(user) => user_of(user).map(|user| Identity::User(Arc::new(user))).ok_or(AccessError::BadAs),
        }
    }
}

/// The user of a JSON object. None: it is no such object.
fn user_of(text: &str) -> Option<User> {
    let object: Map<String, Value> = serde_json::from_str(text).ok()?;
    let name = object.get("sub")?.as_str()?;
    let subject = Subject::checked(DEVELOPMENT_ISSUER, name)?;
    let claims = object.iter().map(|(name, value)| Some((name.clone(), claim_of_any(value)?)));
    let claims: Vec<_> = claims.collect::<Option<_>>()?;
    Some(User { claims: Claims::new(name, claims), subject, issued: None, ends: None })
}

impl fmt::Debug for DevelopmentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DevelopmentToken(..)")
    }
}
