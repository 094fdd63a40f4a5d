//! Users without a name: the gateway issues their tokens itself.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use iolite_machine::WallTime;
use iolite_rights::Claim;
use iolite_values::Id;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::key::Key;
use super::provider;
use crate::TOKEN_BYTES_MAX;

/// The issuer of anonymous users.
pub const ANONYMOUS_ISSUER: &str = "iolite anonymous";

/// How long after its end the token of an anonymous user is exchanged for another one.
pub const RENEWED_WITHIN: Duration = Duration::from_secs(90 * 24 * 3600);

/// The claim that all of them have, and rules see.
pub(super) const ANONYMOUS: &str = "anonymous";

/// A key that signs the tokens of anonymous users, of Ed25519. It is never printed.
#[derive(Clone)]
pub struct AnonymousKey {
    pair: Arc<Ed25519KeyPair>,
    kid: String,
    key: Key,
}

impl AnonymousKey {
    /// The key that these 32 random bytes make.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> AnonymousKey {
        provider::install();
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("a seed of Ed25519 has 32 bytes");
        let public = pair.public_key().as_ref();
        let digest: [u8; 32] = Sha256::digest(public).into();
        let kid = format!("{ANONYMOUS_ISSUER} {}", URL_SAFE_NO_PAD.encode(&digest[..9]));
        let key = Key::ed25519(Some(kid.clone()), public).expect("a public key of Ed25519 has 32 bytes");
        AnonymousKey { pair: Arc::new(pair), kid, key }
    }

    /// A token of the anonymous user with this random name, for this audience.
    #[must_use]
    pub fn token(&self, subject: Id, audience: &str, now: WallTime, life: Duration) -> String {
        let issued = now.as_micros() / 1_000_000;
        let part = |json: serde_json::Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let header = part(json!({ "typ": "JWT", "alg": "EdDSA", "kid": self.kid }));
        let statement = part(json!({
            "iss": ANONYMOUS_ISSUER,
            "aud": audience,
            "sub": subject.to_string(),
            "iat": issued,
            "exp": issued.saturating_add(life.as_secs()),
            ANONYMOUS: true,
        }));
        let signed = format!("{header}.{statement}");
        let signature = URL_SAFE_NO_PAD.encode(self.pair.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// The user whom a token names that this key has signed, and when it was issued. It may have run out, but not [`RENEWED_WITHIN`] ago: who has it is
    /// that user, and gets another one. None: it is no such token.
    pub fn named_by(&self, token: &str, audience: &str, now: WallTime) -> Option<(Id, WallTime)> {
        let payload = self.key.verify(token).filter(|_| token.len() <= TOKEN_BYTES_MAX)?;
        let text = |name: &str| payload.get(name).and_then(serde_json::Value::as_str);
        let second = |name: &str| payload.get(name).and_then(serde_json::Value::as_u64);
        let is_ours = text("iss") == Some(ANONYMOUS_ISSUER) && text("aud") == Some(audience);
        let ends = second("exp").filter(|_| is_ours)?;
        let is_recent = now.as_micros() / 1_000_000 <= ends.saturating_add(RENEWED_WITHIN.as_secs());
        let issued = WallTime::from_micros(second("iat").filter(|_| is_recent)?.saturating_mul(1_000_000));
        Some((text("sub")?.parse().ok()?, issued))
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }
}

/// The claims of each anonymous user.
pub(super) fn claims() -> BTreeMap<String, Claim> {
    BTreeMap::from([(ANONYMOUS.to_owned(), Claim::Flag(true))])
}

impl PartialEq for AnonymousKey {
    fn eq(&self, other: &AnonymousKey) -> bool {
        self.kid == other.kid
    }
}

impl Eq for AnonymousKey {}

impl fmt::Debug for AnonymousKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnonymousKey").field("kid", &self.kid).finish_non_exhaustive()
    }
}
