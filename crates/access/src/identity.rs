//! The identity for which a session speaks: a developer, or a user whom a token names.
//!
//! Invariant: the id of a client belongs to one subject. It is a digest of issuer, subject and what the device drew, so somebody else's token never
//! leads to it. There is no key, hence nothing to share among gateways, to back up or to rotate: to hit an id of another subject is to find a second
//! preimage of 128 bits.

use std::sync::Arc;
use std::time::Duration;

use iolite_machine::WallTime;
use iolite_rights::Claims;
use iolite_values::{ClientId, Id};
use sha2::{Digest, Sha256};

use crate::{AccessError, LEEWAY};

/// Somebody who has been let in. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Holds the development token, and may do everything that the schema allows.
    Developer,
    /// Holds a token that names a user.
    User(Arc<User>),
}

/// A user, as a token names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub subject: Subject,
    /// The claims that the operator has named. Rules see these and no others.
    pub claims: Claims,
    /// When the token was issued, if it says so.
    pub issued: Option<WallTime>,
    /// When the token runs out. None: never, which is so of the development token only.
    pub ends: Option<WallTime>,
}

/// The name of a user: who says so, and how that one names them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    pub issuer: String,
    pub name: String,
}

/// Bytes of a user's name. Names of callers have as many on the wire.
pub(crate) const SUBJECT_BYTES_MAX: usize = 256;

impl Identity {
    /// The user, if a token names one.
    pub fn user(&self) -> Option<&User> {
        match self {
            Identity::Developer => None,
            Identity::User(user) => Some(user),
        }
    }

    /// The id of the client that this identity has on a device, or of the node that the device is. With the development token it is what the
    /// device drew.
    pub fn bound(&self, device: Id) -> Id {
        match self {
            Identity::Developer => device,
            Identity::User(user) => user.subject.digest_with(b"iolite client", &device.to_bytes()),
        }
    }

    /// The same of the id of a client.
    pub fn client(&self, ClientId(device): ClientId) -> ClientId {
        ClientId(self.bound(device))
    }

    /// When it is to show another token, if ever.
    pub fn ends(&self) -> Option<WallTime> {
        self.user().and_then(|user| user.ends)
    }

    /// For how long its token is good yet. None: it does not run out.
    pub fn left(&self, now: WallTime) -> Option<Duration> {
        let left = self.ends()?.as_micros().saturating_sub(now.as_micros());
        Some(Duration::from_micros(left))
    }

    /// For how long it may stay: past the end of its token by the [`LEEWAY`]. None: for ever.
    pub fn stays(&self, now: WallTime) -> Option<Duration> {
        let ends = Duration::from_micros(self.ends()?.as_micros()) + LEEWAY;
        Some(ends.saturating_sub(Duration::from_micros(now.as_micros())))
    }

    /// Why a token is refused that an operator has revoked.
    pub fn revoked(&self) -> AccessError {
        match self.user() {
            Some(user) if user.issued.is_none() => AccessError::RevokedUndated,
            Some(_) | None => AccessError::Revoked,
        }
    }

    /// Whether rules see the same claims.
    pub fn has_claims_of(&self, other: &Identity) -> bool {
        match (self, other) {
            (Identity::Developer, Identity::Developer) => true,
            (Identity::User(own), Identity::User(other)) => own.claims == other.claims,
            (Identity::Developer, Identity::User(_)) | (Identity::User(_), Identity::Developer) => false,
        }
    }

    /// Whether it speaks for the same user as another one, so that a session may go on with it.
    pub fn is_same_user(&self, other: &Identity) -> bool {
        match (self, other) {
            (Identity::Developer, Identity::Developer) => true,
            (Identity::User(own), Identity::User(other)) => own.subject == other.subject,
            (Identity::Developer, Identity::User(_)) | (Identity::User(_), Identity::Developer) => false,
        }
    }
}

impl Subject {
    /// None: the name is empty or too long.
    pub(crate) fn checked(issuer: &str, name: &str) -> Option<Subject> {
        let is_good = !name.is_empty() && name.len() <= SUBJECT_BYTES_MAX;
        is_good.then(|| Subject { issuer: issuer.to_owned(), name: name.to_owned() })
    }

    /// A name of the subject that says nothing about it: devices keep it, and it is the key of revocations.
    pub fn digest(&self) -> Id {
        self.digest_with(b"iolite subject", b"")
    }

    /// A digest of this user and something else, for one purpose.
    pub fn digest_with(&self, purpose: &[u8], rest: &[u8]) -> Id {
        let mut digest = Sha256::new();
        digest.update(purpose);
        for part in [&self.issuer, &self.name] {
            digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            digest.update(part.as_bytes());
        }
        digest.update(rest);
        let digest: [u8; 32] = digest.finalize().into();
        let (id, _) = digest.split_first_chunk().expect("SHA-256 has 32 bytes");
        Id::from_bytes(*id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn user(issuer: &str, name: &str) -> Identity {
        let subject = Subject { issuer: issuer.to_owned(), name: name.to_owned() };
        Identity::User(Arc::new(User { subject, claims: Claims::new(name, []), issued: None, ends: None }))
    }

    #[test]
    fn a_client_id_belongs_to_one_subject_on_one_device() {
        let (one, two) = (Id::from_u128(1), Id::from_u128(2));
        let ids = [
            user("a", "ann").bound(one),
            user("a", "ann").bound(two),
            user("a", "bob").bound(one),
            user("b", "ann").bound(one),
            // The lengths are part of it.
            user("aa", "nn").bound(one),
            user("a", "ann").user().expect("a user").subject.digest(),
            Identity::Developer.bound(one),
        ];
        assert_eq!(BTreeSet::from(ids).len(), ids.len());
        assert_eq!(user("a", "ann").bound(one), ids[0], "the same at every gateway, and after every start");
        assert_eq!(Identity::Developer.bound(one), one);
    }

    #[test]
    fn a_session_goes_on_with_a_token_of_the_same_user_only() {
        assert!(user("a", "ann").is_same_user(&user("a", "ann")));
        assert!(Identity::Developer.is_same_user(&Identity::Developer));
        for other in [user("a", "bob"), user("b", "ann"), Identity::Developer] {
            assert!(!user("a", "ann").is_same_user(&other) && !other.is_same_user(&user("a", "ann")));
        }
    }
}
